"""A host with CANN, both its compiler and a device, as stand-ins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.backends.ascend.stand_in_acl import StandInAcl

SCRIPT = Path(__file__).with_name("stand_in_atc.py")


@pytest.fixture
def atc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toolkit whose atc is the stand-in; gives the file that receives its arguments."""
    home = tmp_path / "toolkit"
    (home / "bin").mkdir(parents=True)
    tool = home / "bin" / "atc"
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} {SCRIPT} "$@"\n')
    tool.chmod(0o755)
    log = tmp_path / "arguments.json"
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(home))
    monkeypatch.setenv("GE_TEST_ATC_LOG", str(log))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return log


@pytest.fixture
def acl(monkeypatch: pytest.MonkeyPatch) -> StandInAcl:
    """A device; gives the interface to it."""
    found = StandInAcl()
    monkeypatch.setitem(sys.modules, "acl", found)
    monkeypatch.setattr("ge_ascend.executable.device_problem", lambda: "")
    return found
