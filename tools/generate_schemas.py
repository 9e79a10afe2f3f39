"""Write ge_core/ops/onnx_schemas.json, the ONNX operators at the IR's opset, from the installed onnx package.

Run: python tools/generate_schemas.py; a test compares the file with onnx.defs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
from onnx import defs, helper

OPSET = 28
TARGET = Path(__file__).parent.parent / "ge_core" / "ops" / "onnx_schemas.json"

_DTYPE_NAMES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(bool)": "bool",
}


def _dtypes(allowed: list[str]) -> list[str]:
    """DType names of the tensor types among ONNX type strings; other types are kept as written."""
    return sorted(
        _DTYPE_NAMES.get(t, t.removeprefix("tensor(").removesuffix(")") if t.startswith("tensor(") else t)
        for t in allowed
    )


def _parameter(p: Any) -> dict[str, Any]:
    option = p.option.name.lower()
    entry: dict[str, Any] = {"name": p.name, "type": _DTYPE_NAMES.get(p.type_str, p.type_str)}
    if option != "single":
        entry["option"] = option
    if option == "variadic":
        entry["min"] = p.min_arity
        entry["homogeneous"] = p.is_homogeneous
    return entry


def _attribute(a: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": a.type.name.lower()}
    if a.required:
        entry["required"] = True
    if a.default_value.name:
        value = helper.get_attribute_value(a.default_value)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, (list, tuple)):
            value = [v.decode() if isinstance(v, bytes) else v for v in value]
        entry["default"] = value
    return entry


def schemas() -> dict[str, Any]:
    """The table as it is written: operator name to its schema."""
    table: dict[str, Any] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain:
            continue
        if defs.onnx_opset_version() < OPSET:
            raise SystemExit(f"onnx {onnx.__version__} knows opset {defs.onnx_opset_version()}, need {OPSET}")
    for name in sorted({s.name for s in defs.get_all_schemas_with_history() if not s.domain}):
        schema = defs.get_schema(name, OPSET, "")
        if schema.deprecated:
            continue
        table[name] = {
            "since": schema.since_version,
            "inputs": [_parameter(p) for p in schema.inputs],
            "outputs": [_parameter(p) for p in schema.outputs],
            "attributes": {k: _attribute(a) for k, a in sorted(schema.attributes.items())},
            "types": {c.type_param_str: _dtypes(c.allowed_type_strs) for c in schema.type_constraints},
        }
    return table


if __name__ == "__main__":
    TARGET.write_text(
        json.dumps({"opset": OPSET, "operators": schemas()}, indent=None, separators=(",", ":"), sort_keys=True) + "\n"
    )
