"""Slices whose places only the run knows: their sizes are computed and bound, then rows are gathered."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.expand.axes import hits, named, normal
from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import bound, is_later, numbers, operand
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.reading import integers, sizes
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value


def _known(value: Value | None) -> bool:
    try:
        sizes(value)
    except Unsupported:
        return False
    return True


def _numbers(value: Value | None, otherwise: Sequence[int]) -> Sequence[int] | None:
    """Elements that are known as numbers; None where they are not."""
    if value is None:
        return otherwise
    try:
        return integers(value)
    except Unsupported:
        return None


def _is_later(node: Node) -> bool:
    """Whether only the run knows where a slice begins, ends, lies, or how far it steps."""
    x, starts = operand(node, 0), operand(node, 1)
    if x.rank == 0 or starts.rank != 1 or not isinstance(starts.shape[0], int):
        return False
    given = [node.input(k) for k in range(3, len(node.inputs))]
    return not all(_known(v) for v in (starts, node.input(2))) or any(v is not None and is_later(v) for v in given)


@expansion("Slice", when=_is_later)
def slice_(b: Builder, node: Node) -> Sequence[Value]:
    """Axis by axis: start and end are moved into the axis; what is between is gathered."""
    y, count = operand(node, 0), operand(node, 1).shape[0]
    assert isinstance(count, int)
    starts, ends = (b.Cast(operand(node, k), to="int64") for k in (1, 2))
    given = [None if v is None else b.Cast(v, to="int64") for v in (node.input(3), node.input(4))]
    axes, steps = _numbers(node.input(3), range(count)), _numbers(node.input(4), [1] * count)
    rank = y.rank
    if axes is None:
        # of every axis: one that is not named goes from its begin to its end
        assert given[0] is not None
        hit, place = hits(b, given[0], rank), named(b, normal(b, given[0], rank), rank)
        nothing = b.constant(0, "int64")

        def spread(vector: Value, rest: Value) -> Value:
            own = b.ReduceSum(b.Where(place, b.Unsqueeze(vector, b.ints(1)), nothing), b.ints(0), keepdims=0)
            made: Value = b.Where(b.Equal(hit, 1), own, rest)
            return made

        whole, one = b.ints(*y.shape), b.constant(1, "int64")
        ends, starts = spread(ends, whole), spread(starts, nothing)
        if given[1] is not None:
            given[1] = spread(given[1], one)
            steps = None
        axes, steps = range(rank), None if steps is None else [1] * rank
    for k, axis in enumerate(axes):
        step = _element(b, given[1], k) if steps is None else int(steps[k])
        y = _sliced(b, y, axis % rank, _element(b, starts, k), _element(b, ends, k), step)
    return [y]


def _element(b: Builder, vector: Value | None, k: int) -> Value:
    assert vector is not None
    made: Value = b.Gather(vector, b.constant(k, "int64"), axis=0)
    return made


def _sliced(b: Builder, x: Value, axis: int, start: Value, end: Value, step: Value | int) -> Value:
    """Some places of an axis."""
    size = x.shape[axis]
    if isinstance(step, int):
        forward: Value | bool = step > 0
    else:
        b.ge.Check(b.Not(b.Equal(step, 0)), message="the step of a slice is 0")
        # further than the axis is long means one place
        most = b.Add(b.scalar(size), 1)
        step = b.Max([b.Min([step, most]), b.Neg(most)])
        forward = b.Greater(step, 0)
    first, last = (_placed(b, v, size, forward) for v in (start, end))
    if isinstance(step, int):
        between, stride = b.Sub(last, first) if step > 0 else b.Sub(first, last), b.constant(abs(step), "int64")
    else:
        between, stride = b.Where(forward, b.Sub(last, first), b.Sub(first, last)), b.Abs(step)
    count = b.Max([between, b.constant(0, "int64")])
    if step not in (1, -1):
        count = b.Div(b.Add(count, b.Sub(stride, 1)), stride)
    content = bound(b, count, size).content
    assert content is not None
    places = numbers(b, content[0])
    made: Value = b.Gather(x, b.Add(b.Mul(places, step) if step != 1 else places, first), axis=axis)
    return made


def _placed(b: Builder, at: Value, size: Size, forward: Value | bool) -> Value:
    """A start or end as a place in [0, size], or in [-1, size - 1] where the step is negative; negative ones count
    from the end."""
    zero, count = b.constant(0, "int64"), b.scalar(size)
    at = b.Where(b.Less(at, zero), b.Add(at, count), at)
    if isinstance(forward, bool):
        low, high = (zero, count) if forward else (b.constant(-1, "int64"), b.Sub(count, 1))
    else:
        down = b.Cast(b.Not(forward), to="int64")
        low, high = b.Neg(down), b.Sub(count, down)
    made: Value = b.Min([b.Max([at, low]), high])
    return made
