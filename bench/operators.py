"""Writes docs/operators.md: for every operator, how many of ONNX's node cases each target passes.

python bench/operators.py [targets ...]             run the cases on these targets, by default the reference and the CPU
python bench/operators.py --failed [targets ...]    run those again that failed
python bench/operators.py "export 21"               write each case as a file of opset 21, and run that

The results go to bench/results/node_cases.json, from which the page is made; those of other targets stay.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operators.md"
RESULTS = ROOT / "bench" / "results" / "node_cases.json"
_HEAD = """# Operators

How many of ONNX's own node cases pass, by operator, imported from ONNX and compiled for a target. Cases of composite
operators that are expanded into others count for the operator. Refused: strings, training, random numbers, decoding
of images. "export 21" are the cases that pass once more after they were written as ONNX files of opset 21; what is
missing there are element types that the opset lacks, and a few operators. Written by `bench/operators.py`.

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
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"cases": {}, "targets": {}}
    failed = "--failed" in targets
    for target in [t for t in targets if t != "--failed"] or ["reference", "cpu"]:
        before = stored["targets"].get(target)
        if failed and before is not None:
            found = run(target, before["failures"])[1]
            for operator, count in found["passed"].items():
                before["passed"][operator] += count
            before["failures"] = found["failures"]
        else:
            stored["cases"], stored["targets"][target] = run(target)
    text = json.dumps(stored, indent=1, sort_keys=True)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(_HEAD + table(stored) + "\n", encoding="utf-8")
    print(table(stored).splitlines()[-1])
    return 0


def run(target: str, names: Collection[str] | None = None) -> tuple[dict[str, list[int]], dict[str, Any]]:
    """Run every case on a target, or those of some names.

    Returns:
        by operator the numbers of all cases and of those that are refused; and for the target, by operator the number
        of cases that pass, and what went wrong with the others.
    """
    from onnx.backend.test.loader import load_model_tests

    from tests.frontends.onnx import case_exports
    from tests.frontends.onnx.onnx_backend import refusal
    from tests.frontends.onnx.test_target import failure

    export = target.removeprefix("export ")

    cases: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    passed: dict[str, int] = defaultdict(int)
    failures: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in load_model_tests(kind="node"):
            if names is not None and case.name not in names:
                continue
            operator = operator_of(case.name, case.model)
            cases[operator][0] += 1
            if refusal(case.name):
                cases[operator][1] += 1
                continue
            if export != target:
                found = case_exports.failure(case, int(export))
            else:
                found = failure(case, target)
                found = None if found is None else found.partition(": ")[2]
            passed[operator] += found is None
            if found is not None:
                failures[case.name] = found
    return dict(cases), {"passed": dict(passed), "failures": failures}


def table(stored: dict[str, Any]) -> str:
    """The page's table."""
    targets = sorted(stored["targets"], key=lambda name: (name != "reference", name))
    lines = [f"| operator | cases | refused | {' | '.join(targets)} |", "|---|---|---|" + "---|" * len(targets)]
    sums = [0, 0, *(0 for _ in targets)]
    for name, (every, refused) in sorted(stored["cases"].items()):
        cells = [every, refused, *(stored["targets"][t]["passed"].get(name, 0) for t in targets)]
        sums = [total + cell for total, cell in zip(sums, cells, strict=True)]
        lines.append(f"| {name} | {every} | {refused or ''} | {' | '.join(map(str, cells[2:]))} |")
    lines.append(f"| **together** | {' | '.join(map(str, sums))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
