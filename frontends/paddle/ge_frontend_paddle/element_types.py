"""Paddle's names and numbers of element types."""

from __future__ import annotations

from ge_core.ir.dtype import DType

_BY_NAME = {
    "bool": "bool", "uint8": "uint8", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "float16": "float16", "bfloat16": "bfloat16",
    "float32": "float32", "float64": "float64", "complex64": "complex64", "complex128": "complex128",
    "float8_e4m3fn": "float8e4m3fn", "float8_e5m2": "float8e5m2",
}  # fmt: skip
BY_NAME = {theirs: DType.of(ours) for theirs, ours in _BY_NAME.items()}
NAME_OF = {ours: theirs for theirs, ours in BY_NAME.items()}

# The enumeration VarType.Type of the framework's protobuf, which parameter files use too.
BY_NUMBER = {
    number: BY_NAME[name]
    for number, name in {
        0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64", 20: "uint8",
        21: "int8", 22: "bfloat16", 23: "complex64", 24: "complex128", 32: "float8_e4m3fn", 33: "float8_e5m2",
    }.items()
}  # fmt: skip

# Types in prefix.json.
BY_JSON = {
    f"0.t_{short}": BY_NAME[name]
    for short, name in {
        "bool": "bool", "ui8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
        "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c64": "complex64",
        "c128": "complex128", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    }.items()
}  # fmt: skip
