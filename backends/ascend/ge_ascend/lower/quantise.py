"""Quantised values by certain primitives, or by AscendQuantV2: no plugin confirms CANN's operators for ONNX's."""

from __future__ import annotations

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_ascend.prototypes import prototype
from ge_core.ir.dtype import DType, bfloat16, float16, float32, int8, int32, uint8
from ge_core.ir.graph import constant_of


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
    fused = _ascend_quant(c, wanted)
    if fused is not None:
        return fused
    y = c.op("Round", c.op("RealDiv", c.cast(c.as_is(0), float32), _along(c, 1)))
    zero = _along(c, 2)
    if zero is not None:
        y = c.op("Add", y, zero)
    y = c.op("ClipByValue", y, float(wanted.min), float(wanted.max))
    return c.cast(y, wanted)


def _ascend_quant(c: LowerCall, wanted: DType) -> Out | None:
    """AscendQuantV2: round(x * (1 / scale) + zero point); an even zero point changes nothing of how ties are rounded.

    The factor is rounded, so that a value next to a tie may go the other way; a scale that is a power of two is exact.
    """
    declared, chip = prototype("AscendQuantV2"), c.engine.chip
    if not c.may_use("QuantizeLinear") or declared is None or not declared.on(chip) or c.attr("block_size"):
        return None
    scale, zero = constant_of(c.node.input(1)), constant_of(c.node.input(2))
    if scale is None or (zero is None and c.node.input(2) is not None) or wanted not in (int8, uint8):
        return None
    factors = (np.float32(1) / scale.array().astype(np.float32)).reshape(-1)
    zeros = np.zeros(1, np.int64) if zero is None else zero.array().astype(np.int64).reshape(-1)
    zeros = zeros if wanted == int8 else zeros - 128
    from_end = c.attr("axis") % c.rank() - c.rank() if factors.size > 1 else -1
    if np.any(zeros % 2) or from_end < (-2 if chip.kernels else -1):
        return None
    offset = c.const(np.broadcast_to(zeros, factors.shape), float32) if np.any(zeros) else None
    y = c.ops("AscendQuantV2", c.cast(c.as_is(0), float32), c.const(factors), offset, axis=from_end)[0]
    c.note("form", "QuantizeLinear as AscendQuantV2, which multiplies by 1 / scale")
    return y if wanted == int8 else c.cast(c.op("Add", c.cast(y, int32), c.const(128, int32)), uint8)


@lowering("DequantizeLinear")
def dequantize(c: LowerCall) -> Out:
    """(x - zero point) * scale"""
    fused = _anti_quant(c)
    if fused is not None:
        return fused
    y = c.cast(c.as_is(0), float32)
    zero = _along(c, 2)
    if zero is not None:
        y = c.op("Sub", y, zero)
    return c.cast(c.op("Mul", y, _along(c, 1)), c.output_type())


def _anti_quant(c: LowerCall) -> Out | None:
    """AscendAntiQuantV2: (x + offset) * scale in half precision, with one scale or one for each element of a row."""
    wanted, scale, zero = c.output_type(), constant_of(c.node.input(1)), constant_of(c.node.input(2))
    if not c.may_use("DequantizeLinear") or not c.engine.chip.kernels or c.attr("block_size"):
        return None
    if c.input(0).dtype != int8 or wanted not in (float16, bfloat16) or scale is None or c.rank() == 0:
        return None
    if zero is None and c.node.input(2) is not None:
        return None
    factors = scale.array().astype(np.float32).reshape(-1)
    if factors.size > 1 and c.attr("axis") % c.rank() != c.rank() - 1:
        return None
    offset = None if zero is None else -zero.array().astype(np.float32).reshape(-1)
    given = c.const(offset) if offset is not None and np.any(offset) else None
    y = c.ops("AscendAntiQuantV2", c.as_is(0), c.const(factors), given, dst_type=wanted.ge_memory)[0]
    c.note("form", "DequantizeLinear as AscendAntiQuantV2")
    return y
