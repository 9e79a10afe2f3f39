"""Fills the tables of README.md from the measured results in bench/results.

    python tools/readme_tables.py           write them
    python tools/readme_tables.py --check   exit code 1 when README.md differs from the results

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; NAME is a key of `TABLES`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "bench" / "results"

_TABLE = re.compile(r"(<!-- table: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _zoo(name: str, framework: str) -> Callable[[dict[str, Any]], str]:
    def make(results: dict[str, Any]) -> str:
        from bench.zoo import table

        rows = results["models"]
        good = sum(row["status"] == "ok" and "error" in row for row in rows.values())
        imported = sum(row["status"] == "ok" and "error" not in row for row in rows.values())
        refused = sum(row["status"] == f"refused by {name}" for row in rows.values())
        made = ", ".join(f"{package} {version}" for package, version in results["versions"].items())
        head = f"{good} of {len(rows)} models agree with {framework}"
        head += f", {imported} is imported without weights and not run" if imported else ""
        head += f"; {framework}'s own export refuses {refused}" if refused else ""
        named = sum(row["status"] == "refused by name" for row in rows.values())
        head += f"; {named} is refused by the names of its operators" if named else ""
        return f"{head}. Measured with {made}.\n\n{table(rows)}"

    return make


def _zoo_onnx(results: dict[str, Any]) -> str:
    from bench.zoo_onnx import TOLERANCE, table

    rows = results["models"]
    good = sum(row["status"] == "ok" for row in rows.values())
    made = ", ".join(f"{package} {version}" for package, version in results["versions"].items())
    head = f"{good} of {len(rows)} models agree with ONNX Runtime within {TOLERANCE:.0e} of each output's scale"
    return f"{head}. Measured with {made}.\n\n{table(rows)}"


def _memory(results: dict[str, Any]) -> str:
    from bench.memory import tables

    return tables(results, whole=False)


def _scale(results: dict[str, Any]) -> str:
    from bench.scale import table

    return table(results)


def _mutations(results: dict[str, Any]) -> str:
    from bench.mutations import table

    return table(results)


def _tensorflow_files(results: dict[str, Any]) -> str:
    from bench.tensorflow_files import table

    return table(results["models"])


def _ascend(results: dict[str, Any]) -> str:
    from bench.zoo_ascend import table

    return table(results)


def _seed_tables(results: dict[str, Any]) -> str:
    from bench.seed_tables import tables

    return tables(results)


def _cpu_peers(results: dict[str, Any]) -> str:
    from bench.cpu_peers import table

    return table(results)


def _compile(results: dict[str, Any]) -> str:
    from bench.compile import table

    return table(results)


def _int8(results: dict[str, Any]) -> str:
    from bench.operator_tables import int8_table

    return int8_table(results)


def _eager(results: dict[str, Any]) -> str:
    from bench.operator_tables import eager_table

    return eager_table(results)


def _calls(results: dict[str, Any]) -> str:
    from bench.calls import table

    return table(results)


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "memory": ("memory.json", _memory),
    "scale": ("scale.json", _scale),
    "mutations": ("mutations.json", _mutations),
    "zoo_torch": ("zoo_torch.json", _zoo("torch", "PyTorch")),
    "zoo_tensorflow": ("zoo_tensorflow.json", _zoo("tensorflow", "TensorFlow")),
    "zoo_paddle": ("zoo_paddle.json", _zoo("paddle", "Paddle")),
    "tensorflow_files": ("tensorflow_files.json", _tensorflow_files),
    "zoo_ascend": ("zoo_ascend.json", _ascend),
    "seed_tables": ("seed_tables.json", _seed_tables),
    "zoo_onnx": ("zoo_onnx.json", _zoo_onnx),
    "cpu_peers": ("cpu_peers.json", _cpu_peers),
    "compile": ("compile.json", _compile),
    "int8": ("int8.json", _int8),
    "eager": ("eager.json", _eager),
    "calls": ("calls.json", _calls),
    "zoo_mindspore": ("zoo_mindspore.json", _zoo("mindspore", "MindSpore")),
}


def filled(text: str) -> str:
    """The text with every marked table made from its results.

    Raises:
        KeyError: a marker names no table.
    """

    def fill(match: re.Match[str]) -> str:
        file, make = TABLES[match["name"]]
        results = json.loads((RESULTS / file).read_text(encoding="utf-8"))
        return f"{match[1]}{make(results)}\n{match[3]}"

    return _TABLE.sub(fill, text)


def main(arguments: list[str]) -> int:
    sys.path[:0] = [str(ROOT)]
    old = README.read_text(encoding="utf-8")
    new = filled(old)
    if "--check" in arguments:
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
