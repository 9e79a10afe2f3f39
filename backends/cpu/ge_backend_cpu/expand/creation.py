"""Ranges whose ends only the run knows: their lengths are computed and bound."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import numbers, operand, unlimited
from ge_backend_cpu.loops.rules.creation import rounds_each_step
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.passes.rewrite import defined_sizes


def _of_any_length(node: Node) -> bool:
    dtype = node.output.dtype
    return bool(defined_sizes(node)) and dtype.is_numeric and dtype.bits >= 8 and dtype.name != "uint64"


@expansion("Range", when=_of_any_length)
def range_(b: Builder, node: Node) -> Sequence[Value]:
    """start + i * delta for i below ceil((limit - start) / delta).

    A delta of 0, a length that is no number, and a difference that has no int64, fail a check.
    """
    start, limit, delta = (b.Reshape(operand(node, k), b.ints()) for k in range(3))
    dtype = node.output.dtype
    if dtype.is_float:
        b.ge.Check(b.Not(b.Equal(delta, 0)), message="the delta of a range is 0")
        first, last, step = (b.Cast(v, to="float64") for v in (start, limit, delta))
        count = b.Ceil(b.Div(b.Sub(last, first), step))
        b.ge.Check(b.Less(b.Abs(count), float(1 << 62)), message="a range has no end")
        length = unlimited(b, b.Max([b.Cast(count, to="int64"), 0]))
        return [_floats(b, node, numbers(b, length), start, delta)]
    first, last, step = (b.Cast(v, to="int64") for v in (start, limit, delta))
    back = b.Sub(first, last)
    wraps = b.BitwiseAnd(b.BitwiseXor(first, last), b.BitwiseXor(first, back))
    b.ge.Check(b.GreaterOrEqual(wraps, 0), message="the ends of a range are too far apart")
    length = unlimited(b, b.Max([b.Neg(b.ge.FloorDiv(back, step)), 0]))
    return [b.Cast(b.Add(first, b.Mul(numbers(b, length), step)), to=dtype)]


def _floats(b: Builder, node: Node, places: Value, start: Value, delta: Value) -> Value:
    dtype = node.output.dtype
    made: Value
    if rounds_each_step(node):
        step = b.Cast(b.Mul(b.Cast(places, to=dtype), delta), to=dtype)
        made = b.Add(start, step)
        return made
    kind = "float32" if dtype.bits < 32 else dtype
    step = b.Mul(b.Cast(places, to=kind), b.Cast(delta, to=kind))
    made = b.Cast(b.Add(b.Cast(start, to=kind), step), to=dtype)
    return made
