"""Dynamic quantisation in pointwise operators and reductions."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import operand
from ge_core.ops.registry import decomposition


@decomposition("DynamicQuantizeLinear")
def dynamic_quantize_linear(b: Builder, node: Node) -> Sequence[Value]:
    """scale = (max(x, 0) - min(x, 0)) / 255; zero point = round(clip(-min / scale)); a scale of 0 divides as 1"""
    x = operand(node.inputs, 0)
    zero, one = b.constant(0.0, x.dtype), b.constant(1.0, x.dtype)
    low = b.Min(b.ReduceMin(x, keepdims=0), zero)
    high = b.Max(b.ReduceMax(x, keepdims=0), zero)
    scale = b.Div(b.Sub(high, low), 255.0)
    divisor = b.Where(b.Equal(scale, 0.0), one, scale)
    point = b.Round(b.Clip(b.Div(b.Neg(low), divisor), zero, b.constant(255.0, x.dtype)))
    point = b.Cast(point, to="uint8")
    return [b.QuantizeLinear(x, divisor, point), scale, point][: len(node.outputs)]
