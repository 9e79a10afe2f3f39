"""Reductions that are a sum of something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.registry import decomposition


def _attributes(node: Node) -> dict[str, Any]:
    return {k: v for k, v in node.attrs.items() if k in ("keepdims", "noop_with_empty_axes")}


def _float(b: Builder, x: Value) -> Value:
    """Integers as float64, for reductions that leave the integers."""
    return widened(b, x) if x.dtype.is_float else cast(b, x, DType.of("float64"))


@decomposition("ReduceL1", "ReduceSumSquare")
def reduce_exact(b: Builder, node: Node) -> Sequence[Value]:
    x = widened(b, operand(node.inputs, 0))
    terms = b.Abs(x) if node.op == "ReduceL1" else b.Mul(x, x)
    return [cast(b, b.ReduceSum(terms, node.input(1), **_attributes(node)), node.output.dtype)]


@decomposition("ReduceL2")
def reduce_l2(b: Builder, node: Node) -> Sequence[Value]:
    x = _float(b, operand(node.inputs, 0))
    total = b.ReduceSum(b.Mul(x, x), node.input(1), **_attributes(node))
    return [cast(b, b.Sqrt(total), node.output.dtype)]


@decomposition("ReduceLogSum")
def reduce_log_sum(b: Builder, node: Node) -> Sequence[Value]:
    x = _float(b, operand(node.inputs, 0))
    return [cast(b, b.Log(b.ReduceSum(x, node.input(1), **_attributes(node))), node.output.dtype)]


@decomposition("ReduceLogSumExp")
def reduce_log_sum_exp(b: Builder, node: Node) -> Sequence[Value]:
    """log(sum(exp(x - m))) + m with m the maximum, 0 where that is infinite"""
    x = _float(b, operand(node.inputs, 0))
    axes, attributes = node.input(1), _attributes(node)
    top = b.ReduceMax(x, axes, **{**attributes, "keepdims": 1})
    finite = b.ge.IsFinite(top)
    shift = b.Where(finite, top, b.constant(0.0, x.dtype))
    total = b.Log(b.ReduceSum(b.Exp(b.Sub(x, shift)), axes, **attributes))
    if not node.attrs.get("keepdims", 1):
        shift = b.Reshape(shift, b.ints(total.shape))
    return [cast(b, b.Add(total, shift), node.output.dtype)]
