"""Random bits as operands, in a process of their own: no value ends it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.backends.cpu.fuzzing import CASES

ROOT = Path(__file__).parents[3]


def test_no_input_of_any_value_ends_the_process() -> None:
    command = [sys.executable, "-m", "tests.backends.cpu.fuzzing", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"status {done.returncode} in {lines[-1:]}: {done.stderr[-2000:]}"
    counts = {name: (int(good), int(bad)) for name, good, bad in (line.rsplit(" ", 2) for line in lines)}
    assert set(counts) == set(CASES)
    assert all(good for good, _ in counts.values()), counts
    always = {"Unique", "NonZero", "BitShift", "Cast", "SearchSorted", "GridSample", "Trilu", "NonMaxSuppression"}
    assert all(bad for name, (_, bad) in counts.items() if name not in always), counts
