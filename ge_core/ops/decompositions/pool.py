"""Pools over whole planes as reductions."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.registry import decomposition
from ge_core.ops.schema import schema


@decomposition("GlobalAveragePool", "GlobalMaxPool")
def global_pool(b: Builder, node: Node) -> Sequence[Value]:
    x = operand(node.inputs, 0)
    reduce = b.ReduceMax if node.op == "GlobalMaxPool" else b.ReduceMean
    return [cast(b, reduce(widened(b, x), b.ints(range(2, x.rank)), keepdims=1), x.dtype)]


@decomposition("GlobalLpPool")
def global_lp_pool(b: Builder, node: Node) -> Sequence[Value]:
    """(sum |x|^p)^(1/p)"""
    x = widened(b, operand(node.inputs, 0))
    p = node.attrs.get("p", schema(node.op).attributes["p"].default)
    assert isinstance(p, int)
    powers = b.Pow(b.Abs(x), b.constant(p, x.dtype))
    total = b.ReduceSum(powers, b.ints(range(2, x.rank)), keepdims=1)
    return [cast(b, b.Pow(total, b.constant(1 / p, x.dtype)), node.output.dtype)]
