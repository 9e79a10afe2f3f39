"""How long the import of large models takes, beside torch's own export."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_model_of_seven_billion_parameters() -> None:
    command = [sys.executable, str(ROOT / "bench" / "zoo.py"), "--one", "hf/llama-2-7b"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    row = json.loads(done.stdout.strip().splitlines()[-1])
    assert row["status"] == "ok", row
    assert row["import_seconds"] < 5
    assert row["peak_mb"] < 1536
    assert row["operators"] > 1500
