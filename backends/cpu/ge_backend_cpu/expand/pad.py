"""Padding by amounts, or on axes, that only the run knows."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.expand.axes import hits, named, normal
from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import is_later, operand, unlimited
from ge_backend_cpu.loops.reading import attribute
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value

FAR = 1 << 40
"""More than that is taken away from no axis."""


def _amounts_later(node: Node) -> bool:
    x, pads, axes = operand(node, 0), operand(node, 1), node.input(3)
    if x.rank == 0 or pads.rank != 1 or not isinstance(pads.shape[0], int):
        return False
    return is_later(pads) or (axes is not None and is_later(axes))


@expansion("Pad", when=_amounts_later)
def pad(b: Builder, node: Node) -> Sequence[Value]:
    """The amounts become sizes, which may be negative."""
    x, pads, fill, axes = operand(node, 0), operand(node, 1), node.input(2), node.input(3)
    count = _half(pads)
    before, after = (b.Slice(pads, b.ints(k), b.ints(k + count), b.ints(0)) for k in (0, count))
    if axes is not None and is_later(axes):
        flat = b.Cast(axes, to="int64")
        hits(b, flat, x.rank)
        place, nothing = named(b, normal(b, flat, x.rank), x.rank), b.constant(0, "int64")
        before, after = (
            b.ReduceSum(b.Where(place, b.Unsqueeze(v, b.ints(1)), nothing), b.ints(0), keepdims=0)
            for v in (before, after)
        )
        axes, count = None, x.rank
    amounts = [
        unlimited(b, b.Gather(v, b.constant(k, "int64"), axis=0), -FAR) for v in (before, after) for k in range(count)
    ]
    return [b.Pad(x, b.ints(*amounts), fill, axes, mode=attribute(node, "mode"))]


def _half(pads: Value) -> int:
    (count,) = pads.shape
    assert isinstance(count, int)
    return count // 2
