"""MindSpore's element types as those of the table: the numbers in files, and those that operators take."""

from __future__ import annotations

from ge_core.errors import UnsupportedError
from ge_core.ir.dtype import DType

from .messages import damaged

# TensorProto.DataType of mind_ir.proto
_IN_FILES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
    11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float64",
}  # fmt: skip

# TypeId of mindapi/base/type_id.h, which operators take as an integer
_IN_OPERATORS = {
    30: "bool", 31: "int32", 32: "int8", 33: "int16", 34: "int32", 35: "int64", 36: "uint32", 37: "uint8",
    38: "uint16", 39: "uint32", 40: "uint64", 41: "float32", 42: "float16", 43: "float32", 44: "float64",
    45: "bfloat16", 46: "float64", 51: "complex64", 52: "complex128",
}  # fmt: skip

_REFUSED = {8: "strings", 18: "numbers of 4 bits"}


def of_file(number: int, where: str) -> DType:
    """The element type of a number in a file.

    Args:
        where: what has the type, for messages.

    Raises:
        UnsupportedError: the type is known to MindSpore but not supported.
        ModelImportError: the number is unknown.
    """
    if number in _IN_FILES:
        return DType.of(_IN_FILES[number])
    if number in _REFUSED:
        raise UnsupportedError(f"{where} holds {_REFUSED[number]}, which are not supported")
    raise damaged(f"{where} has the unknown element type {number}")


def of_operator(number: object) -> DType | None:
    """The element type that an operator names, itself or by MindSpore's TypeId; None for anything else."""
    if isinstance(number, DType):
        return number
    return DType.of(_IN_OPERATORS[number]) if isinstance(number, int) and number in _IN_OPERATORS else None
