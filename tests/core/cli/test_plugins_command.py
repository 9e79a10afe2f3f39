"""`ge plugins` and the command line's frame, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ge_core.cli.app import COMMANDS, build
from ge_core.cli.exit_codes import MEANING, ExitCode, exit_code
from ge_core.errors import GeError, InputError, PluginError, UnsupportedError

ROOT = Path(__file__).parents[3]


def ge(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ge_core.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=60,
    )


def test_json_lists_every_plugin_with_its_state():
    done = ge("plugins", "--json", GE_LOAD_PLUGINS="")
    assert done.returncode == ExitCode.OK, done.stderr
    data = json.loads(done.stdout)
    assert data["api"] == {"oldest": 1, "newest": 1}
    (reference,) = [row for row in data["plugins"] if row["name"] == "reference"]
    assert (reference["state"], reference["distribution"]) == ("loaded", "ge-engine")
    others = [row for row in data["plugins"] if row["name"] != "reference"]
    assert all(row["state"] == "disabled" and row["reason"] for row in others)


def test_the_table_is_for_people():
    done = ge("plugins", GE_LOAD_PLUGINS="")
    assert done.returncode == ExitCode.OK, done.stderr
    assert "reference" in done.stdout and "loaded" in done.stdout


def test_an_error_says_its_code_on_stderr_or_in_json():
    done = ge("plugins", GE_DISABLE_PLUGINS="reference")
    assert done.returncode == ExitCode.PLUGIN
    assert done.stderr.startswith("[GE800] the reference target is built in")
    assert "Traceback" not in done.stderr
    done = ge("plugins", "--json", GE_DISABLE_PLUGINS="reference")
    assert done.returncode == ExitCode.PLUGIN
    assert json.loads(done.stdout)["error"]["code"] == "GE800"


def test_a_wrong_command_line_is_exit_code_2():
    assert ge("plugins", "--colour").returncode == ExitCode.USAGE
    assert ge("paint").returncode == ExitCode.USAGE
    assert ge().returncode in (ExitCode.OK, ExitCode.USAGE)  # click's releases differ; both print the help


def test_an_interrupt_is_exit_code_130(monkeypatch, capsys):
    def interrupted(*, json: bool = False) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(COMMANDS, "plugins", interrupted)
    with pytest.raises(SystemExit) as caught:
        build()(["plugins"])
    assert caught.value.code == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "ge: interrupted\n"


def test_help_and_version_load_nothing_heavy():
    """What makes help slow is what it imports; clocks say little on a busy machine."""
    code = (
        "import sys; from ge_core.cli.app import build\n"
        "try: build()(['--help'], prog_name='ge')\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'google.protobuf', 'ge_core.ir', 'ge_core.api', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert ge("--version").stdout.startswith("ge 0.")


def test_help_names_every_command():
    text = ge("--help", COLUMNS="200").stdout
    assert all(name in text for name in COMMANDS)


def test_every_exit_code_has_its_meaning_and_every_error_its_exit_code():
    assert set(MEANING) == set(ExitCode)
    assert exit_code(UnsupportedError("x")) == ExitCode.UNSUPPORTED
    assert exit_code(PluginError("x")) == ExitCode.PLUGIN
    assert exit_code(InputError("x")) == ExitCode.INPUT
    assert exit_code(GeError("x")) == ExitCode.FAILED
