"""ge compile, run, inspect, verify, coverage and export, called in this process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import ge_core
from ge_core.cli.app import build
from ge_core.cli.exit_codes import ExitCode
from ge_core.ir import Builder, Graph, symbol

MODULE = """
import numpy as np
from ge_core.ir import Builder, Graph, symbol

def net():
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1), 4))
    b.outputs(b.Relu(b.Add(b.MatMul(x, b.constant(np.eye(4, dtype=np.float32))), 1.0)))
    return graph

def broken():
    raise RuntimeError("no weights")
"""


def ge(*arguments: object) -> Result:
    return CliRunner().invoke(build(), [str(a) for a in arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module that makes a graph."""
    (tmp_path / "clinet.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / "cache"))
    sys.modules.pop("clinet", None)
    return tmp_path


@pytest.fixture
def model(folder: Path) -> Path:
    """An offline model of that graph on the reference target."""
    done = ge("compile", "clinet:net", "-o", "net.om", "--target", "reference")
    assert done.exit_code == ExitCode.OK, done.output
    assert "arena" in done.output
    return folder / "net.om"


def test_run_writes_the_outputs(model: Path) -> None:
    np.save("x.npy", np.full((3, 4), -2, np.float32))
    done = ge("run", model, "-i", "x=x.npy", "-o", "y.npz")
    assert done.exit_code == ExitCode.OK, done.output
    (result,) = np.load("y.npz").values()
    np.testing.assert_array_equal(result, np.zeros((3, 4)))


def test_run_makes_example_data_of_the_named_sizes(model: Path) -> None:
    done = ge("run", model, "--size", "batch=5", "--repeat", 3, "--json", "--profile")
    assert done.exit_code == ExitCode.OK, done.output
    data = json.loads(done.stdout)
    assert data["outputs"][0]["shape"] == [5, 4]
    assert data["steps"] and data["seconds"]["fastest"] <= data["seconds"]["median"]


def test_inspect_shows_what_is_in_the_file(model: Path) -> None:
    shown = ge("inspect", model, "--graph", "--verify-weights")
    assert shown.exit_code == ExitCode.OK, shown.output
    assert "x: float32[batch, 4]" in shown.output and "MODEL_DEF" in shown.output
    assert "MatMul" in shown.output
    data = json.loads(ge("inspect", model, "--json").stdout)
    assert data["metadata"]["target"] == "reference"
    assert len(data["sha256"]["WEIGHTS_DATA"]) == 64
    assert ge("inspect", model, "--plan").exit_code == ExitCode.OK


def test_coverage_counts_operators(folder: Path) -> None:
    data = json.loads(ge("coverage", "clinet:net", "--target", "reference", "--json").stdout)
    assert data["complete"] and data["operators"]["Relu"] == 1


def test_options_reach_the_compiler(folder: Path) -> None:
    done = ge("compile", "clinet:net", "-o", "n.om", "--target", "reference", "--optimize", "none", "--json")
    assert json.loads(done.stdout)["report"]["switches"] == []
    assert ge("compile", "clinet:net", "-o", "n.om", "--optimize", "sometimes").exit_code == ExitCode.USAGE
    assert ge("compile", "clinet:net", "-o", "n.om", "--set", "nothing").exit_code == ExitCode.USAGE
    unknown = ge("compile", "clinet:net", "-o", "n.om", "--target", "reference", "--set", "share_weight=true")
    assert unknown.exit_code == ExitCode.USAGE and "share_weights" in unknown.output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["compile", "nothing.xyz", "-o", "n.om"], ExitCode.MODEL),
        (["compile", "clinet:nothing", "-o", "n.om"], ExitCode.MODEL),
        (["compile", "clinet:broken", "-o", "n.om"], ExitCode.MODEL),
        (["compile", "clinet:net", "-o", "missing/n.om", "--target", "reference"], ExitCode.OFFLINE_MODEL),
        (["compile", "clinet:net", "-o", "n.om", "--target", "abacus"], ExitCode.PLUGIN),
        (["compile", "clinet:net", "-o", "n.om", "-i", "x=float32(3)"], ExitCode.INPUT),
        (["run", "nothing.om"], ExitCode.OFFLINE_MODEL),
        (["run", "clinet.py"], ExitCode.OFFLINE_MODEL),
        (["inspect", "clinet.py"], ExitCode.OFFLINE_MODEL),
        (["run"], ExitCode.USAGE),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_failures_have_their_codes(folder: Path, arguments: list[str], code: ExitCode) -> None:
    done = ge(*arguments)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output


def test_wrong_inputs_are_named(model: Path) -> None:
    np.save("bad.npy", np.zeros((3, 5), np.float32))
    done = ge("run", model, "-i", "x=bad.npy", "--json")
    assert done.exit_code == ExitCode.INPUT and json.loads(done.stdout)["error"]["code"] == "GE900"
    assert ge("run", model, "-i", "y=bad.npy").exit_code == ExitCode.INPUT
    Path("junk.npy").write_bytes(b"\x93NUMPY junk")
    assert ge("run", model, "-i", "x=junk.npy").exit_code == ExitCode.INPUT


def test_verify_needs_an_original(folder: Path) -> None:
    done = ge("verify", "clinet:net", "--target", "reference", "-i", "x=float32[2,4]")
    assert done.exit_code != ExitCode.OK and "Traceback" not in done.output


def test_a_reference_graph_compiles_through_the_api(folder: Path) -> None:
    graph = Graph("g")
    b = Builder(graph)
    b.outputs(b.Neg(b.input("x", "float32", (symbol("n", 1),))))
    compiled = ge_core.compile(graph, target="reference")
    np.testing.assert_array_equal(compiled(np.ones(3, np.float32)), -np.ones(3, np.float32))
