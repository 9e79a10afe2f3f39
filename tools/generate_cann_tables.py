"""Writes the table of CANN operators that ge_ascend ships, from collected public declarations.

    python tools/generate_cann_tables.py FOLDER

FOLDER holds `ge_op_prototypes.json` (the operator declarations in torch_npu 2.13.0's generated functions, in the
headers of github.com/Ascend/torchair and in the open operator repositories of gitee.com/hicann), `ge_op_910b.json`
(kernel descriptions in the tests of hicann/ge), `ge_op_soc_defs.json` (the `*_def.cpp` files of hicann's operator
repositories) and `onnx_to_ge.json` (CANN's ONNX plugins, read by hand).

One line per operator: `name`, its ports and attributes, the element types of its 910B kernels per port, the chips
that an open definition names, whether releases disagree about it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "backends/ascend/ge_ascend/data/cann_operators.json"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    folder = Path(arguments[0])
    declared = _read(folder / "ge_op_prototypes.json")
    kernels = _read(folder / "ge_op_910b.json")["ops"]
    chips = _read(folder / "ge_op_soc_defs.json")["ops"]
    rows = _read(folder / "onnx_to_ge.json")
    head = {
        "sets": declared["_meta"]["sets"],
        "unsure": {row["onnx"]: row["note"] for row in rows if row["unsure"]},
    }
    lines = [f'"_meta":{_text(head)}']
    for name in sorted({*declared["ops"], *kernels}):
        lines.append(f"{_text(name)}:{_text(_row(name, declared, kernels, chips))}")
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


def _row(name: str, declared: dict[str, Any], kernels: dict[str, Any], chips: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    prototype = declared["ops"].get(name)
    if prototype is not None:
        row = {key: prototype[key] for key in ("i", "o", "a", "g") if prototype.get(key)}
    if name in declared["conflicts"]:
        row["conflict"] = 1
    kernel = kernels.get(name)
    if kernel is not None:
        columns = {port[0]: port[2] for port in (*kernel["i"], *kernel["o"]) if port[2] is not None}
        row["kernel"] = {"ports": [[p[0], p[1]] for p in kernel["i"]] if prototype is None else [], "types": columns}
        if "prec" in kernel:
            row["kernel"]["reduce"] = kernel["prec"] == "true"
        if kernel.get("ds"):
            row["kernel"]["dynamic"] = 1
    if name in chips:
        row["chips"] = sorted(chips[name]["soc"])
    return row


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
