"""MindSpore writes `rank_0/om/analyze_fail.ir` into the current folder when it cannot compile a cell."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder_for_dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
