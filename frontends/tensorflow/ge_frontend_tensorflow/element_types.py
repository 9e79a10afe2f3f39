"""TensorFlow's element types by their numbers in files (types.proto)."""

from __future__ import annotations

from ge_core.errors import UnsupportedError
from ge_core.ir.dtype import DType

STRING, RESOURCE, VARIANT = 7, 20, 21

_NAMES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 8: "complex64", 9: "int64",
    10: "bool", 11: "int8", 12: "uint8", 13: "int32", 14: "bfloat16", 15: "int16", 16: "uint16", 17: "uint16",
    18: "complex128", 19: "float16", 22: "uint32", 23: "uint64", 24: "float8e5m2", 25: "float8e4m3fn",
    26: "float8e4m3fnuz", 28: "float8e5m2fnuz", 29: "int4", 30: "uint4",
}  # fmt: skip
"""Quantised types (qint8, ...) are the integers that hold them."""

_OTHERS = {STRING: "string", RESOURCE: "resource", VARIANT: "variant", 27: "float8_e4m3b11fnuz"}


def dtype_of(number: int, what: str = "a tensor") -> DType:
    """The element type of a number; reference types are the types that they refer to.

    Raises:
        UnsupportedError: strings, resources, variants, and numbers that are not known.
    """
    plain = number - 100 if number > 100 else number
    if plain not in _NAMES:
        raise UnsupportedError(f"{what} of element type {_OTHERS.get(plain, f'number {number}')} is not supported")
    return DType.of(_NAMES[plain])


def real_of(dtype: DType) -> DType:
    """The type of the parts of a complex type; other types themselves."""
    return {"complex64": DType.of("float32"), "complex128": DType.of("float64")}.get(dtype.name, dtype)
