"""The measured results of the list of models, see bench/zoo.py: all agree, and imports are quick."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).resolve().parents[3] / "bench" / "results" / "zoo_mindspore.json"
ROWS = json.loads(RESULTS.read_text(encoding="utf-8"))["models"]
REFUSED = {"mindcv/pvt_tiny"}  # mindcv calls an operator that MindSpore no longer has


def test_the_list_is_whole():
    assert len(ROWS) == 31
    assert {name for name, row in ROWS.items() if row["status"] != "ok"} == REFUSED


@pytest.mark.parametrize("name", sorted(set(ROWS) - REFUSED))
def test_a_model_agrees_and_imports_quickly(name):
    row = ROWS[name]
    assert row["error"] <= 1e-4 and row["reference_error"] <= 1e-4
    assert row["target"] == "cpu" and row["host_steps"] == 0
    assert row["import_seconds"] <= max(0.2 * row["export_seconds"], 150e-6 * row["operators"])
