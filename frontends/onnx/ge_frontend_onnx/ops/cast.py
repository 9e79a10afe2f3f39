"""Casts of floats to integers of less than a byte, which ONNX's own cases wrap where the IR saturates."""

from __future__ import annotations

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts

_INT32 = DType.of("int32")


@converts("Cast")
def cast(c: Call) -> Results:
    """Cast(T1 input) -> (T2 output); to, round_mode, saturate"""
    to = c.dtype_attr("to")
    if to is None:
        raise c.error("has no type to cast to")
    return c.build("Cast", [_whole(c, c.input(0), to)], c.attrs)


@converts("CastLike")
def cast_like(c: Call) -> Results:
    """CastLike(T1 input, T2 target_type) -> (T2 output); round_mode, saturate"""
    target = c.input(1)
    return c.build("CastLike", [_whole(c, c.input(0), target.dtype), target], c.attrs)


def _whole(c: Call, x: Value, to: DType) -> Value:
    """A float that becomes an integer of less than a byte, as an int32: its low bits are the result."""
    return c.b.Cast(x, to=_INT32) if to.is_integer and to.bits < 8 and x.dtype.is_float else x
