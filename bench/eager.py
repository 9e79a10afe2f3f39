"""Times single operators, imported from PyTorch and compiled for the CPU, against PyTorch eager, one thread each.

    python bench/eager.py [unary binary reductions norms movement casts windows] [words that names must contain]

Both are called in turn within one run, on the same memory, and their results compared: ours with arrays, so that
kernels are compared and not the time that it takes to convert tensors. Prints our best time, how many times longer
PyTorch takes, and host steps if there are any. The results go to bench/results/eager.json, by name; those of other
operators stay. Needs torch.

    python bench/eager.py --table                           the stored results, in Markdown
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

import ge_core
from ge_core.plan.plan import HostStep
from ge_frontend_torch.tensors import to_numpy

ROOT = Path(__file__).resolve().parent.parent

RESULTS = ROOT / "bench" / "results" / "eager.json"
SECONDS = 0.12


class Wrapped(torch.nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.eval()

    def forward(self, *operands: Tensor) -> Any:
        return self.function(*operands)


def flat(result: Any) -> list[Tensor]:
    return [t for part in result for t in flat(part)] if isinstance(result, (tuple, list)) else [result]


def measured(function: Callable[..., Any], operands: Sequence[Tensor]) -> dict[str, Any]:
    """Our time, PyTorch's over it, host steps, and what is wrong with the values, if anything."""
    model = ge_core.compile(Wrapped(function), tuple(operands), target="cpu", options={"num_threads": 1})
    assert model.plan is not None
    hosts = [step.name for step in model.plan.all_steps() if isinstance(step, HostStep)]
    wrong = ""
    for ours, theirs in zip(flat(model(*operands)), flat(function(*operands)), strict=True):
        tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(theirs.dtype, 2e-5)
        scale = float(theirs.double().abs().nan_to_num(0, 0, 0).max()) if theirs.numel() else 0.0
        try:
            torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * max(scale, 1e-3), equal_nan=True)
        except AssertionError as error:
            wrong = " ".join(str(error).split())[:160]
    arrays = [to_numpy(x) for x in operands]
    from bench.turns import best

    ours, theirs = best([lambda: model(*arrays), lambda: function(*operands)], SECONDS, time.perf_counter)
    return {"seconds": ours, "torch": theirs / ours, "hosts": hosts, "wrong": wrong}


def _told(error: Exception) -> str:
    """An error without folders of this machine."""
    return f"{type(error).__name__}: {error}".replace(f"{ROOT}/", "")[:300]


def main(words: Sequence[str]) -> int:
    if list(words) == ["--table"]:
        from bench.operator_tables import eager_table

        print(eager_table(json.loads(RESULTS.read_text(encoding="utf-8"))))
        return 0
    from bench.eager_cases import FAMILIES

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    families = {name: make() for name, make in FAMILIES.items()}
    cases = [case for family in families.values() for case in family]
    chosen = [case for word in words for case in families.get(word, ())] or cases
    words = [word for word in words if word not in families]
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, function, operands in chosen:
        if not all(word in name for word in words):
            continue
        try:
            found[name] = measured(function, operands)
        except Exception as error:  # noqa: BLE001 - one operator that fails must not hide the others
            found[name] = {"seconds": 0.0, "torch": 0.0, "hosts": [], "wrong": _told(error)}
        row = found[name]
        hosts = " ".join(f"host:{h}" for h in row["hosts"])
        print(
            f"{name:28} {row['seconds'] * 1e6:9.1f} us  torch/ge {row['torch']:6.2f}  {hosts} {row['wrong']}",
            flush=True,
        )
    kept = {name: found[name] for name, _, _ in cases if name in found}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT)]
    sys.exit(main(sys.argv[1:]))
