"""Writes the table of TFLite's FlatBuffer schema that the TensorFlow frontend reads files by.

    python tools/generate_tflite_schema.py tensorflow/lite/python/schema_py_generated.py

The source is the accessor module that flatc generates and TensorFlow ships. Result:
frontends/tensorflow/ge_frontend_tensorflow/tflite/schema.json with

    enums: name to {member: number}
    tables: name to {field: [slot, kind, default]}

A kind is a scalar (int8 … float64, bool), "string", "table", "union", "[scalar]", "[string]" or "[table]".
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "frontends/tensorflow/ge_frontend_tensorflow/tflite/schema.json"
_ENUMS = ("TensorType", "BuiltinOperator", "BuiltinOptions", "BuiltinOptions2", "DimensionType", "SparseIndexVector")
_TABLES = (
    "Model", "OperatorCode", "SubGraph", "Tensor", "Operator", "Buffer", "QuantizationParameters",
    "SparsityParameters", "DimensionMetadata", "SignatureDef", "TensorMap", "Int32Vector", "Uint16Vector",
    "Uint8Vector",
)  # fmt: skip

_CLASS = re.compile(r"^class (\w+)\(object\):\n((?:    .*\n|\n)+)", re.MULTILINE)
_METHOD = re.compile(r"    def (\w+)\(self(?P<j>, j)?\):\n(?P<body>(?:        .*\n)+)")
_SLOT = re.compile(r"self\._tab\.Offset\((\d+)\)")
_SCALAR = re.compile(r"number_types\.(\w+)Flags, ")
_DEFAULT = re.compile(r"^        return (.+)$", re.MULTILINE)


def main(source: str) -> None:
    text = Path(source).read_text(encoding="utf-8")
    classes = dict(_CLASS.findall(text))
    enums = {name: _members(classes[name]) for name in _ENUMS}
    options = [name for name in classes if name.endswith("Options") and "Init(" in classes[name]]
    tables = {name: _fields(classes[name]) for name in sorted({*_TABLES, *options})}
    lines = [f'  "{name}": {json.dumps(fields)}' for name, fields in tables.items()]
    members = [f'  "{name}": {json.dumps(found)}' for name, found in enums.items()]
    TARGET.write_text(
        '{\n "enums": {\n' + ",\n".join(members) + '\n },\n "tables": {\n' + ",\n".join(lines) + "\n }\n}\n",
        encoding="utf-8",
    )


def _members(body: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"    (\w+) = (-?\d+)", body)}


def _fields(body: str) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for match in _METHOD.finditer(body):
        name, code = match[1], match["body"]
        slot = _SLOT.search(code)
        if slot is None or name.endswith(("AsNumpy", "Length", "IsNone")):
            continue
        kind, default = _kind(code, bool(match["j"]))
        found[re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()] = [
            (int(slot[1]) - 4) // 2, kind, default,
        ]  # fmt: skip
    return found


def _kind(code: str, vector: bool) -> tuple[str, object]:
    scalar = _SCALAR.search(code.replace("number_types.UOffsetTFlags.py_type", ""))
    default = _DEFAULT.findall(code)[-1]
    if vector:
        inner = "table" if ".Indirect(" in code else "string" if ".String(" in code else _named(scalar)
        return f"[{inner}]", None
    if ".String(" in code:
        return "string", None
    if ".Union(" in code:
        return "union", None
    if ".Indirect(" in code:
        return "table", None
    value: object = {"False": False, "True": True}.get(default)
    return _named(scalar), value if value is not None else float(default) if "." in default else int(default)


def _named(scalar: re.Match[str] | None) -> str:
    assert scalar is not None
    return scalar[1].lower()


if __name__ == "__main__":
    main(sys.argv[1])
