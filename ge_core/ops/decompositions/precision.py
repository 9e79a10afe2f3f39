"""The arithmetic type of decompositions, as in the reference kernels: small floats in float32, rounded once."""

from __future__ import annotations

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, float32
from ge_core.ir.graph import Value


def widened(b: Builder, x: Value) -> Value:
    """`x` in the type to compute in."""
    return cast(b, x, float32) if x.dtype.is_float and x.dtype.bits < 32 else x


def cast(b: Builder, x: Value, dtype: DType) -> Value:
    """`x` with an element type; `x` itself when it has it."""
    if x.dtype == dtype:
        return x
    result: Value = b.Cast(x, to=dtype)
    return result


def operand(values: tuple[Value | None, ...], index: int) -> Value:
    """A required operand."""
    value = values[index]
    assert value is not None
    return value
