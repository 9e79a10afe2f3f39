"""Slices whose places only the run knows: their sizes are computed and bound, then rows are gathered."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import bound, numbers, operand
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


def _axes_and_steps(node: Node) -> tuple[list[int], list[int]]:
    """Axes from 0 on, and the steps on them.

    Raises:
        Unsupported: they are not known.
    """
    x, starts = operand(node, 0), operand(node, 1)
    count = starts.shape[0]
    if not isinstance(count, int):
        raise Unsupported("an unknown number of axes")
    axes = [a % x.rank for a in integers(node.input(3))] if node.input(3) is not None else list(range(count))
    steps = list(integers(node.input(4))) if node.input(4) is not None else [1] * count
    return axes, steps


def _runs_forward(node: Node) -> bool:
    if _known(node.input(1)) and _known(node.input(2)):
        return False
    try:
        _, steps = _axes_and_steps(node)
    except Unsupported:
        return False
    return all(step > 0 for step in steps)


@expansion("Slice", when=_runs_forward)
def slice_(b: Builder, node: Node) -> Sequence[Value]:
    """Axis by axis: start and end are moved into [0, size]; what is between is gathered."""
    y = operand(node, 0)
    axes, steps = _axes_and_steps(node)
    starts, ends = operand(node, 1), operand(node, 2)
    for k, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        size = y.shape[axis]
        first, last = (_placed(b, v, k, size) for v in (starts, ends))
        count = b.Max([b.Sub(last, first), b.constant(0, "int64")])
        if step != 1:
            count = b.Div(b.Add(count, step - 1), step)
        content = bound(b, count, size).content
        assert content is not None
        places = numbers(b, content[0])
        y = b.Gather(y, b.Add(b.Mul(places, step) if step != 1 else places, first), axis=axis)
    return [y]


def _placed(b: Builder, numbers_: Value, k: int, size: Size) -> Value:
    """Element k of starts or ends as a place in [0, size]; negative ones count from the end."""
    at = b.Cast(b.Gather(numbers_, b.constant(k, "int64"), axis=0), to="int64")
    zero, count = b.constant(0, "int64"), b.scalar(size)
    at = b.Where(b.Less(at, zero), b.Add(at, count), at)
    made: Value = b.Min([b.Max([at, zero]), count])
    return made
