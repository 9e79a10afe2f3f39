"""torch's element types and the table's, and torch's rules of promotion."""

from __future__ import annotations

from typing import TypeAlias

import torch

from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

Number: TypeAlias = bool | int | float | Dim
Operand: TypeAlias = Value | Number

_NAMES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.uint8: "uint8",
    torch.uint16: "uint16",
    torch.uint32: "uint32",
    torch.uint64: "uint64",
    torch.bool: "bool",
    torch.complex64: "complex64",
    torch.complex128: "complex128",
    torch.float8_e4m3fn: "float8e4m3fn",
    torch.float8_e4m3fnuz: "float8e4m3fnuz",
    torch.float8_e5m2: "float8e5m2",
    torch.float8_e5m2fnuz: "float8e5m2fnuz",
}
_FROM_TORCH = {theirs: DType.of(name) for theirs, name in _NAMES.items()}
_TO_TORCH = {ours: theirs for theirs, ours in _FROM_TORCH.items()}
_REAL_OF = {"complex64": DType.of("float32"), "complex128": DType.of("float64")}
_CATEGORIES = {"bool": 0, "int": 1, "uint": 1, "float": 2, "complex": 3}


def from_torch(dtype: torch.dtype) -> DType | None:
    """The table's type for a torch type; None for quantised and other types that the table lacks."""
    return _FROM_TORCH.get(dtype)


def to_torch(dtype: DType) -> torch.dtype:
    """torch's type for a type of the table."""
    return _TO_TORCH[dtype]


def real_of(dtype: DType) -> DType:
    """The type of a complex type's parts; any other type itself."""
    return _REAL_OF.get(dtype.name, dtype)


def result_type(*operands: Operand) -> DType:
    """The type in which torch combines operands.

    Tensors with axes decide; a tensor of rank 0 counts only when its category (bool, integer, float) is
    higher than theirs, and a Python number only when its category is higher than that of all tensors.
    (torch: "Tensor Attributes", type promotion.)
    """
    with_axes: DType | None = None
    rank_zero: DType | None = None
    numbers: DType | None = None
    for operand in operands:
        if isinstance(operand, Value):
            if operand.rank:
                with_axes = _promoted(with_axes, operand.dtype)
            else:
                rank_zero = _promoted(rank_zero, operand.dtype)
        else:
            numbers = _promoted(numbers, number_type(operand))
    return _higher(_higher(with_axes, rank_zero), numbers)


def number_type(number: Number) -> DType:
    """The type that torch gives to a Python number."""
    if isinstance(number, bool):
        return DType.of("bool")
    if isinstance(number, float):
        return _FROM_TORCH[torch.get_default_dtype()]
    return DType.of("int64")


def _promoted(a: DType | None, b: DType) -> DType:
    return b if a is None else _FROM_TORCH[torch.promote_types(_TO_TORCH[a], _TO_TORCH[b])]


def _higher(a: DType | None, b: DType | None) -> DType:
    if a is None or b is None:
        found = b if a is None else a
        assert found is not None
        return found
    return b if _CATEGORIES[b.kind] > _CATEGORIES[a.kind] else a
