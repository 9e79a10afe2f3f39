"""Reductions and changes of rank over axes that come with the call, in opsets where axes are attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import operand

from .forms import InexpressibleError
from .lowerings import lowers
from .sizes import Sizes

_DIRECT = ("ReduceSum", "ReduceMean", "ReduceMin", "ReduceMax", "ReduceProd")


def _marked(b: Builder, axes: Value, rank: int) -> Value:
    """Which of the axes are among those named, `[rank]` of bool."""
    named = b.Where(b.Less(axes, np.int64(0)), b.Add(axes, np.int64(rank)), axes)
    same = b.Equal(b.Unsqueeze(b.constant(np.arange(rank)), b.ints(1)), b.Unsqueeze(named, b.ints(0)))
    # a sum over no axes is 0
    count = b.ReduceSum(b.Cast(same, to="int32"), b.ints(1), keepdims=0)
    made: Value = b.Less(b.constant(np.int32(0)), count)
    return made


@lowers(*_DIRECT)
def over_axes_of_the_call(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Axis by axis where it is named, then without those sizes. Means over one axis after the other are means."""
    x, axes = operand(node.inputs, 0), node.input(1)
    if axes is None:  # over no axes at all
        return [b.Identity(x)]
    y, rank = x, x.rank
    marked = _marked(b, axes, rank)
    if not node.attrs.get("noop_with_empty_axes", 0):
        none = b.Equal(b.Size(axes), np.int64(0))
        marked = b.Or(marked, none)
    for axis in range(rank):
        here = b.Reshape(b.Slice(marked, b.ints(axis), b.ints(axis + 1), b.ints(0)), b.constant(np.zeros(0, np.int64)))
        y = b.If(
            here,
            then_branch=lambda r, y=y, axis=axis: [r.op(node.op, y, r.ints(axis), keepdims=1)],
            else_branch=lambda r, y=y: [r.Identity(y)],
        )
    if node.attrs.get("keepdims", 1):
        return [y]
    return [b.Reshape(y, b.Compress(b.Shape(y), b.Not(marked), axis=0), allowzero=1)]


@lowers("Squeeze")
def squeeze(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """The sizes of the axes that are not named."""
    x, axes = operand(node.inputs, 0), node.input(1)
    if axes is None:
        raise InexpressibleError("Squeeze without axes")
    return [b.Reshape(x, b.Compress(b.Shape(x), b.Not(_marked(b, axes, x.rank)), axis=0), allowzero=1)]


@lowers("Unsqueeze")
def unsqueeze(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Ones at the axes that are named, the sizes in order between them."""
    x, axes = operand(node.inputs, 0), operand(node.inputs, 1)
    count = axes.shape[0]
    if not isinstance(count, int):
        raise InexpressibleError("Unsqueeze by a number of axes that comes with the call")
    marked = _marked(b, axes, x.rank + count)
    other = b.Cast(b.Not(marked), to="int64")
    turn = b.Sub(b.CumSum(other, np.int64(0)), np.int64(1))
    known = b.Concat([b.Shape(x), b.ints(1)], axis=0)  # one more, so that there is something to take
    shape = b.Where(marked, np.int64(1), b.Gather(known, b.Where(b.Less(turn, np.int64(0)), np.int64(0), turn), axis=0))
    return [b.Reshape(x, shape, allowzero=1)]
