"""Operators whose axes only the run knows: the sizes that follow from them are computed, bound, and reshaped to.

For each axis of the operand there is a number h that is 1 where the axis is named, else 0; all else is arithmetic of
such vectors, which are as long as shapes are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import is_later, operand, unlimited
from ge_backend_cpu.loops.reading import attribute
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value

REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip


def normal(b: Builder, axes: Value, rank: int) -> Value:
    """Axes as int64 from 0 on.

    Those that are out of range fail a check.
    """
    wide = b.Cast(axes, to="int64")
    made: Value = b.Where(b.Less(wide, 0), b.Add(wide, rank), wide)
    inside = b.And(b.GreaterOrEqual(made, 0), b.Less(made, max(rank, 1)))
    b.ge.Check(inside, message=f"an axis is out of range for rank {rank}")
    return made


def named(b: Builder, axes: Value, rank: int) -> Value:
    """For each of `rank` axes the number of its places among normal axes of rank 1, as bool[axes, rank]."""
    row = b.constant(np.arange(rank, dtype=np.int64))
    made: Value = b.Equal(b.Unsqueeze(axes, b.ints(1)), row)
    return made


def hits(b: Builder, axes: Value, rank: int) -> Value:
    """For each of `rank` axes 1 where it is named, else 0.

    Axes that are out of range, and one that is named twice, fail a check.
    """
    flat = b.Reshape(axes, b.ints(axes.type.elements if axes.rank != 1 else axes.shape[0]))  # type: ignore[union-attr]
    found = named(b, normal(b, flat, rank), rank)
    counts: Value = b.ReduceSum(b.Cast(found, to="int64"), b.ints(0), keepdims=0)
    b.ge.Check(b.LessOrEqual(counts, 1), message="one axis is named twice")
    return counts


def elements(b: Builder, vector: Value, count: int) -> list[Size]:
    """The first elements of an integer vector as sizes."""
    return [unlimited(b, b.Gather(vector, b.constant(k, "int64"), axis=0)) for k in range(count)]


def _left(b: Builder, shape: Sequence[Size], hit: Value, count: int) -> list[Size]:
    """The sizes of the `count` axes that are not named, in their order."""
    kept = b.Sub(1, hit)
    place = b.CumSum(kept, b.constant(0, "int64"), exclusive=1)
    here = b.And(named(b, place, count), b.Unsqueeze(b.Equal(kept, 1), b.ints(1)))
    sizes = b.Where(here, b.Unsqueeze(b.ints(*shape), b.ints(1)), b.constant(0, "int64"))
    return elements(b, b.ReduceSum(sizes, b.ints(0), keepdims=0), count)


def _reduces_later(node: Node) -> bool:
    x, axes = operand(node, 0), node.input(1)
    if axes is None or not is_later(axes) or x.rank == 0:
        return False
    return bool(attribute(node, "keepdims")) or isinstance(axes.type.elements, int)  # type: ignore[union-attr]


@expansion(*REDUCTIONS, when=_reduces_later)
def reduce(b: Builder, node: Node) -> Sequence[Value]:
    """Each axis of size d becomes two, of which the second is reduced: (1, d) where it is named, else (d, 1)."""
    x, axes = operand(node, 0), operand(node, 1)
    keep, noop = (bool(attribute(node, name)) for name in ("keepdims", "noop_with_empty_axes"))
    count = axes.type.elements  # type: ignore[union-attr]
    if count == 0:
        return [b.op(node.op, x, None if not noop else b.ints(), keepdims=keep, noop_with_empty_axes=noop)]
    hit = hits(b, axes, x.rank)
    if not isinstance(count, int) and not noop:
        hit = b.Max([hit, b.Cast(b.Equal(b.scalar(count), 0), to="int64")])
    shape = b.ints(*x.shape)
    taken = elements(b, b.Where(b.Equal(hit, 1), shape, b.constant(1, "int64")), x.rank)
    stays = elements(b, b.Where(b.Equal(hit, 1), b.constant(1, "int64"), shape), x.rank)
    pairs = b.Reshape(x, b.ints(*(size for pair in zip(stays, taken, strict=True) for size in pair)), allowzero=1)
    y = b.op(node.op, pairs, b.ints(*range(1, 2 * x.rank, 2)), keepdims=0)
    if keep:
        return [y]
    assert isinstance(count, int)
    return [b.Reshape(y, b.ints(*_left(b, x.shape, hit, x.rank - count)), allowzero=1)]


def _axes_later(node: Node) -> bool:
    axes = node.input(1)
    return axes is not None and is_later(axes) and isinstance(axes.type.elements, int)  # type: ignore[union-attr]


@expansion("Squeeze", when=_axes_later)
def squeeze(b: Builder, node: Node) -> Sequence[Value]:
    x, axes = operand(node, 0), operand(node, 1)
    hit = hits(b, axes, x.rank)
    single = b.Or(b.Equal(hit, 0), b.Equal(b.ints(*x.shape), 1))
    b.ge.Check(single, message="an axis that is to be left out has more than one place")
    return [b.Reshape(x, b.ints(*_left(b, x.shape, hit, node.output.rank)), allowzero=1)]


@expansion("Unsqueeze", when=_axes_later)
def unsqueeze(b: Builder, node: Node) -> Sequence[Value]:
    """An axis that is not named has the size of the operand's axis whose number is that of those before it."""
    x, rank = operand(node, 0), node.output.rank
    hit = hits(b, operand(node, 1), rank)
    if x.rank == 0:
        return [b.Reshape(x, b.ints(*(1 for _ in range(rank))))]
    place = b.Min([b.CumSum(b.Sub(1, hit), b.constant(0, "int64"), exclusive=1), x.rank - 1])
    sizes = b.Where(b.Equal(hit, 1), b.constant(1, "int64"), b.Gather(b.ints(*x.shape), place, axis=0))
    return [b.Reshape(x, b.ints(*elements(b, sizes, rank)), allowzero=1)]


def _along_later(node: Node) -> bool:
    axis = operand(node, 1)
    return is_later(axis) and operand(node, 0).rank > 0


@expansion("CumSum", "CumProd", when=_along_later)
def cumulative(b: Builder, node: Node) -> Sequence[Value]:
    """Along the middle one of three axes: those before the axis are one, those behind it another."""
    x, axis = operand(node, 0), operand(node, 1)
    y = b.op(
        node.op, b.Reshape(x, b.ints(*around(b, axis, x.shape)), allowzero=1), b.constant(1, "int64"),
        exclusive=attribute(node, "exclusive"), reverse=attribute(node, "reverse"),
    )  # fmt: skip
    return [b.Reshape(y, b.ints(*x.shape), allowzero=1)]


def around(b: Builder, axis: Value, shape: Sequence[Size], least: int = 0) -> list[Size]:
    """How many elements lie before an axis, along it (`least` or more) and behind it."""
    rank = len(shape)
    at = normal(b, b.Reshape(axis, b.ints()), rank)
    row, sizes = b.constant(np.arange(rank, dtype=np.int64)), b.ints(*shape)
    one = b.constant(1, "int64")
    before = b.ReduceProd(b.Where(b.Less(row, at), sizes, one), keepdims=0)
    behind = b.ReduceProd(b.Where(b.Greater(row, at), sizes, one), keepdims=0)
    return [unlimited(b, before), unlimited(b, b.Gather(sizes, at, axis=0), least), unlimited(b, behind)]


__all__ = ["around", "elements", "hits", "named", "normal"]
