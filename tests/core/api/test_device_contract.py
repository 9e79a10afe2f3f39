"""The optional parts of a backend: files of its own, checks, descriptions, emulation."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import ge_core
import ge_core.api
import ge_core.model_store
import ge_core.plugins
import ge_core.verification
from ge_core.cli.app import build
from ge_core.cli.arguments import plugin_options
from ge_core.cli.exit_codes import ExitCode
from ge_core.errors import BackendError, OptionError
from ge_core.plugins import PluginHost, Switches
from ge_core.plugins.discovery import BUILT_IN
from tests.core.api import toy_device, toy_frontend, toys

EXAMPLE = (toys.Tensor(np.ones((2, 4), np.float32)),)


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with the toy framework and the toy device."""
    points = [
        BUILT_IN,
        EntryPoint("toy", toy_frontend.__name__, "ge_core.frontends"),
        EntryPoint("toydevice", toy_device.__name__, "ge_core.backends"),
    ]
    host = PluginHost(Switches(), points=points)
    for module in (ge_core.plugins, ge_core.api, ge_core.model_store, ge_core.verification):
        monkeypatch.setattr(module, "host", lambda: host)


def ge(*arguments: object) -> Result:
    return CliRunner().invoke(build(), [str(a) for a in arguments])


def test_save_writes_the_targets_own_form_with_its_options(tmp_path: Path) -> None:
    compiled = ge_core.compile(toys.Model(), EXAMPLE, target="toydevice", options={"loss": 0.25})
    compiled.save(tmp_path / "net.toy")
    assert (tmp_path / "net.toy").read_text() == "loss 0.25"
    with pytest.raises(BackendError, match=r"no \.toy file"):
        compiled.save(tmp_path / "net.om")


def test_what_a_backend_chose_is_in_the_report() -> None:
    compiled = ge_core.compile(toys.Model(), EXAMPLE, target="toydevice")
    assert "the device loses a part" in compiled.report.notices


def test_verify_compares_the_emulated_results_within_the_predicted_error() -> None:
    report = ge_core.verify(toys.Model(), EXAMPLE, target="toydevice", options={"loss": 0.01})
    assert report.passed
    assert any("1.00e-02 of its scale" in line for line in report.predicted)
    assert any("Add" in line and "net.py:1" in line for line in report.predicted)
    strict = ge_core.verify(toys.Model(), EXAMPLE, target="toydevice", options={"loss": 0.01}, tolerance=1e-3)
    assert not strict.passed


def test_check_prints_findings_and_tells_errors_by_its_exit_code(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toy", tmp_path / "bad.toy"
    good.write_text("loss 1")
    bad.write_text("gain 1")
    assert ge("check", good, "--target", "toydevice").exit_code == ExitCode.OK
    told = ge("check", bad, "--target", "toydevice")
    assert told.exit_code == ExitCode.TARGET
    assert "it says no loss: write it again" in told.output
    assert ge("check", bad, "--target", "reference").exit_code == ExitCode.TARGET


def test_options_that_the_command_does_not_know_go_to_the_plugins() -> None:
    assert plugin_options(["--loss", "0.5", "--allow-much", "--mode=fast"]) == {
        "loss": 0.5,
        "allow_much": True,
        "mode": "fast",
    }
    with pytest.raises(OptionError, match="unexpected argument 'stray'"):
        plugin_options(["stray"])
    assert plugin_options(["--gears", '{"batch": [1, 8]}']) == {"gears": {"batch": [1, 8]}}
    with pytest.raises(OptionError, match="is no JSON"):
        plugin_options(["--gears", "{batch: 1}"])


def test_report_prints_what_the_target_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "from ge_core.ir import Builder, Graph\n\ndef net():\n    graph = Graph('net')\n    b = Builder(graph)\n"
    module += "    b.outputs(b.Relu(b.input('x', 'float32', (2,))))\n    return graph\n"
    (tmp_path / "devicenet.py").write_text(module)
    monkeypatch.chdir(tmp_path)
    told = ge("report", "devicenet:net", "--target", "toydevice", "--loss", "0.125")
    assert told.exit_code == ExitCode.OK, told.output
    assert "loses 0.125" in told.output and "the device loses a part" in told.output
    wrong = ge("report", "devicenet:net", "--target", "toydevice", "--los", "0.125")
    assert wrong.exit_code == ExitCode.USAGE and "loss" in wrong.output


def test_a_target_belongs_to_the_backend_whose_name_it_starts_with() -> None:
    compiled = ge_core.compile(toys.Model(), EXAMPLE, target="toydevice_b")
    assert (compiled.target, compiled.provenance.backend) == ("toydevice_b", "toydevice")
    with pytest.raises(OptionError, match="no target 'toydevice_c'"):
        ge_core.compile(toys.Model(), EXAMPLE, target="toydevice_c")
