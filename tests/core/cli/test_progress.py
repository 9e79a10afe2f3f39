"""A quick step is silent; a slow one says so while it runs, and its time and memory at the end."""

from __future__ import annotations

import re
import time

import pytest

from ge_core.cli import progress as module
from ge_core.cli.progress import progress


def test_a_quick_step_is_silent(capsys):
    with progress("importing"):
        pass
    assert capsys.readouterr().err == ""


def test_a_slow_step_speaks_even_when_it_fails(capsys, monkeypatch):
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.05)
    with pytest.raises(ValueError), progress("importing"):
        time.sleep(0.3)
        assert capsys.readouterr().err == "importing ...\n"
        raise ValueError
    assert re.fullmatch(r"importing: 0\.\d s, peak memory \d+\.\d GiB\n", capsys.readouterr().err)
