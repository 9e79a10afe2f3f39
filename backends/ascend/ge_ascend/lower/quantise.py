"""Quantised values by certain primitives: no plugin confirms CANN's operators for ONNX's."""

from __future__ import annotations

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.dtype import float32


def _along(c: LowerCall, index: int) -> Out | None:
    """A scale or zero point in float32, shaped for its axis."""
    if c.node.input(index) is None:
        return None
    out = c.cast(c.as_is(index), float32)
    shape = c.shape(index)
    if len(shape) != 1:
        if shape and (c.attr("block_size") or 0):
            raise c.refuse("scales by blocks")
        return out
    rank = c.rank()
    axis = c.attr("axis") % rank
    return c.reshape(out, [shape[0] if i == axis else 1 for i in range(rank)])


@lowering("QuantizeLinear")
def quantize(c: LowerCall) -> Out:
    """clip(round(x / scale) + zero point)"""
    wanted = c.node.outputs[0].dtype
    if not wanted.is_integer or wanted.bits not in (8, 16):
        raise c.refuse(f"to {wanted}")
    y = c.op("Round", c.op("RealDiv", c.cast(c.as_is(0), float32), _along(c, 1)))
    zero = _along(c, 2)
    if zero is not None:
        y = c.op("Add", y, zero)
    y = c.op("ClipByValue", y, float(wanted.min), float(wanted.max))
    return c.cast(y, wanted)


@lowering("DequantizeLinear")
def dequantize(c: LowerCall) -> Out:
    """(x - zero point) * scale"""
    y = c.cast(c.as_is(0), float32)
    zero = _along(c, 2)
    if zero is not None:
        y = c.op("Sub", y, zero)
    return c.cast(c.op("Mul", y, _along(c, 1)), c.output_type())
