"""Writes docs/operators.md: for every operator, how many of ONNX's node cases each target passes.

python bench/operators.py [targets ...]    by default the reference target
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operators.md"
_HEAD = """# Operators

How many of ONNX's own node cases pass, by operator, imported from ONNX and compiled for a target. Cases of composite
operators that are expanded into others count for the operator. Refused: strings, training, random numbers, decoding
of images. Written by `bench/operators.py`.

"""


def operator_of(name: str, model: object) -> str:
    """The operator that a case is about: of its only node, or of the function whose body it is."""
    nodes = model.graph.node  # type: ignore[attr-defined]
    if "_expanded" in name and nodes:
        made = next((n.name or n.output[0] for n in nodes if "_function_" in n.output[0]), "")
        return made.split("_test_")[0] if "_test_" in made else str(nodes[-1].op_type)
    domain = nodes[-1].domain
    return f"{domain}::{nodes[-1].op_type}" if domain else str(nodes[-1].op_type)


def main(targets: list[str]) -> int:
    sys.path[:0] = [str(ROOT)]
    from onnx.backend.test.loader import load_model_tests

    from tests.frontends.onnx.onnx_backend import refusal
    from tests.frontends.onnx.test_target import failure

    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in load_model_tests(kind="node"):
            row = counts[operator_of(case.name, case.model)]
            row["all"] += 1
            if refusal(case.name):
                row["refused"] += 1
                continue
            for target in targets:
                row[target] += failure(case, target) is None
    lines = [f"| operator | cases | refused | {' | '.join(targets)} |", "|---|---|---|" + "---|" * len(targets)]
    for name, row in sorted(counts.items()):
        cells = [row["all"], row["refused"] or "", *(row[t] for t in targets)]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    sums = [sum(row[key] for row in counts.values()) for key in ("all", "refused", *targets)]
    lines.append(f"| **together** | {' | '.join(map(str, sums))} |")
    PAGE.write_text(_HEAD + "\n".join(lines) + "\n")
    print(lines[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["reference"]))
