"""Quantisation in opsets that lack its element types, axes or blocks: as the arithmetic that it stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, float32, float64
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened

from .forms import InexpressibleError
from .lowerings import lowers
from .sizes import Sizes


def _spread(b: Builder, values: Value, node: Node, sizes: Sizes) -> Value:
    """Scales or zero points, shaped to broadcast with the data."""
    x, block = operand(node.inputs, 0), int(node.attrs.get("block_size", 0))  # type: ignore[arg-type]
    axis = int(node.attrs.get("axis", 1))  # type: ignore[arg-type]
    if values.tensor.elements == 1:
        return b.Reshape(values, b.constant(np.zeros(0, np.int64)))
    axis %= x.rank
    if not block:
        return b.Reshape(values, b.ints([-1 if i == axis else 1 for i in range(x.rank)]))
    count = b.Reshape(sizes.vector(b, x.shape[axis]), b.constant(np.zeros(0, np.int64)))
    which = b.Div(b.Range(np.int64(0), count, np.int64(1)), np.int64(block))
    return b.Gather(values, which, axis=axis)


@lowers("QuantizeLinear")
def quantize(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """round(x / scale) + zero point, within the type's range; the quotient rounded to the type it is computed in."""
    x, scale, zero, dtype = operand(node.inputs, 0), operand(node.inputs, 1), node.input(2), node.output.dtype
    number = node.attrs.get("precision", 0)
    precision = number if isinstance(number, DType) else scale.dtype
    if not dtype.is_integer or precision.bits < 16:
        raise InexpressibleError(f"QuantizeLinear of this opset does not take {dtype}")
    factor = _spread(b, cast(b, scale, precision), node, sizes)
    quotient = cast(b, b.Div(widened(b, cast(b, x, precision)), widened(b, factor)), precision)
    wide = DType.of("float64") if dtype.bits > 16 else float32
    steps = b.Round(cast(b, quotient, wide))
    if zero is not None:
        steps = b.Add(steps, b.Cast(_spread(b, zero, node, sizes), to=wide))
    inside = b.Min([b.Max([steps, b.constant(dtype.min, wide)]), b.constant(dtype.max, wide)])
    inside = b.Where(b.IsNaN(inside), b.constant(0.0, wide), inside)
    # by way of int32, since a cast from float to a small integer is left open
    return [cast(b, b.Cast(inside, to="int32"), dtype)]


@lowers("DequantizeLinear")
def dequantize(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """(x - zero point) * scale."""
    x, scale, zero, dtype = operand(node.inputs, 0), operand(node.inputs, 1), node.input(2), node.output.dtype
    wide = float64 if dtype == float64 else float32
    steps = b.Cast(x, to="int64") if x.dtype.is_integer else b.Cast(x, to=wide)
    if zero is not None:
        steps = b.Sub(steps, _spread(b, b.Cast(zero, to=steps.dtype), node, sizes))
    factor = b.Cast(_spread(b, scale, node, sizes), to=wide)
    return [cast(b, b.Mul(cast(b, steps, wide), factor), dtype)]
