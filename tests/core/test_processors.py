"""The number of processors."""

from __future__ import annotations

import os

import pytest

from ge_core.processors import processors


def test_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    assert processors() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processors() == 1
