"""What data select: places of true elements, kept slices, different elements, boxes that stay."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.loops.reading import attribute
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value, constant_of

MOST_COLUMNS = 64
"""Elements of a slice up to which slices are ordered by one sort for each."""


def bound(b: Builder, number: Value, most: Size) -> Value:
    """An integer scalar as a size from 0 to `most`."""
    top = dims.bounds(most)[1]
    made: Value = b.ge.BindDim(number, lo=0, hi=-1 if top is None else top)
    return made


def unlimited(b: Builder, number: Value, least: int = 0) -> Size:
    """An integer scalar as a size of any value from `least` on."""
    content = b.ge.BindDim(number, lo=least, hi=-1).content
    assert content is not None
    size: Size = content[0]
    return size


def selected(b: Builder, mask: Value) -> Value:
    """The numbers of a vector's true elements."""
    count = b.ReduceSum(b.Cast(mask, to="int64"), b.ints(0), keepdims=0)
    made: Value = b.ge.Places(mask, bound(b, count, mask.shape[0]))
    return made


def operand(node: Node, index: int) -> Value:
    value = node.input(index)
    assert value is not None
    return value


def is_later(value: Value) -> bool:
    """Whether only the run knows the elements of an operand."""
    return value.content is None and constant_of(value) is None


def flat(b: Builder, x: Value) -> Value:
    """All elements as a vector."""
    if x.rank == 1:
        return x
    made: Value = b.Reshape(x, b.ints(dims.product(x.shape)))
    return made


def numbers(b: Builder, count: Size) -> Value:
    """0, 1, 2, ..."""
    made: Value = b.Range(b.constant(0, "int64"), b.scalar(count), b.constant(1, "int64"))
    return made


@expansion("NonZero")
def non_zero(b: Builder, node: Node) -> Sequence[Value]:
    x = operand(node, 0)
    mask = flat(b, x)
    places = selected(b, mask if x.dtype.kind == "bool" else b.Cast(mask, to="bool"))
    if x.rank == 0:
        return [b.Slice(b.Unsqueeze(places, b.ints(0)), b.ints(0), b.ints(0), b.ints(0))]
    rest, along = places, []
    for size in reversed(x.shape[1:]):
        count = b.scalar(size if dims.less_equal(1, size) is True else dims.maximum(size, 1))
        along.append(b.Mod(rest, count))
        rest = b.Div(rest, count)
    rows = [b.Unsqueeze(v, b.ints(0)) for v in (rest, *reversed(along))]
    return [b.Concat(rows, axis=0) if len(rows) > 1 else rows[0]]


@expansion("Compress")
def compress(b: Builder, node: Node) -> Sequence[Value]:
    x, axis = operand(node, 0), attribute(node, "axis")
    places = selected(b, operand(node, 1))
    if axis is None:
        return [b.Gather(flat(b, x), places, axis=0)]
    return [b.Gather(x, places, axis=int(axis))]


def _few_columns(node: Node) -> bool:
    axis, x = attribute(node, "axis"), operand(node, 0)
    if axis is None:
        return True
    shape = list(x.shape)
    del shape[int(axis) % x.rank]
    columns = dims.product(shape)
    return isinstance(columns, int) and 0 < columns <= MOST_COLUMNS


@expansion("Unique", when=_few_columns)
def unique(b: Builder, node: Node) -> Sequence[Value]:
    """Equal elements become neighbours by sorting; where one differs from the one before, a group begins."""
    x, axis = operand(node, 0), attribute(node, "axis")
    order: list[int] = []
    if axis is None:
        slices = flat(b, x)
        values, places = b.ge.Sort(slices, axis=0)
    else:
        order = [int(axis) % x.rank, *(k for k in range(x.rank) if k != int(axis) % x.rank)]
        slices = b.Transpose(x, perm=order)
        values, places = _ordered(b, slices)
    total = slices.shape[0]
    index = numbers(b, total)
    before = b.Gather(values, b.Max([b.Sub(index, 1), b.constant(0, "int64")]), axis=0)
    differs = b.Not(b.Equal(values, before))
    if values.rank > 1:
        differs = b.ReduceMax(differs, b.ints(*range(1, values.rank)), keepdims=0)
    begins = b.Or(b.Equal(index, 0), differs)
    starts = selected(b, begins)
    group = b.Sub(b.CumSum(b.Cast(begins, to="int64"), b.constant(0, "int64")), 1)
    inverse = b.ScatterElements(b.Sub(index, index), places, group, axis=0)
    ones = b.Add(b.Sub(index, index), 1)
    counts = b.ScatterElements(b.Sub(starts, starts), group, ones, axis=0, reduction="add")
    kept, first = b.Gather(values, starts, axis=0), b.Gather(places, starts, axis=0)
    if not attribute(node, "sorted"):
        _, appearance = b.ge.Sort(first, axis=0)
        kept, first, counts = (b.Gather(v, appearance, axis=0) for v in (kept, first, counts))
        rank = numbers(b, appearance.shape[0])
        inverse = b.Gather(b.ScatterElements(b.Sub(rank, rank), appearance, rank, axis=0), inverse, axis=0)
    if order:
        kept = b.Transpose(kept, perm=[order.index(k) for k in range(x.rank)])
    return [kept, first, inverse, counts][: len(node.outputs)]


def _ordered(b: Builder, slices: Value) -> tuple[Value, Value]:
    """Slices of the first axis in the order of their elements, and where they come from: by the last element first,
    since sorting is stable."""
    columns = dims.product(slices.shape[1:])
    assert isinstance(columns, int)
    table = b.Reshape(slices, b.ints(slices.shape[0], columns))
    places = numbers(b, slices.shape[0])
    for column in reversed(range(columns)):
        keys = b.Gather(b.Gather(table, b.constant(column, "int64"), axis=1), places, axis=0)
        _, moved = b.ge.Sort(keys, axis=0)
        places = b.Gather(places, moved, axis=0)
    return b.Gather(slices, places, axis=0), places


@expansion("NonMaxSuppression")
def non_max_suppression(b: Builder, node: Node) -> Sequence[Value]:
    boxes, scores = operand(node, 0), operand(node, 1)
    given = [node.input(k) for k in range(2, 5)]
    kept = b.ge.KeptBoxes(boxes, scores, *given, center_point_box=attribute(node, "center_point_box"))
    where = b.Transpose(b.NonZero(b.GreaterOrEqual(kept, 0)), perm=[1, 0])
    number = b.Unsqueeze(b.GatherND(kept, where), b.ints(1))
    return [b.Concat([b.Slice(where, b.ints(0), b.ints(2), b.ints(1)), number], axis=1)]


def _known_room(node: Node) -> bool:
    """Whether the number of elements is a number that only the run knows, and the axis has a known size."""
    x, wanted = operand(node, 0), operand(node, 1)
    size = x.shape[int(attribute(node, "axis")) % x.rank] if x.rank else None
    return wanted.content is None and isinstance(size, int)


@expansion("TopK", when=_known_room)
def top_k(b: Builder, node: Node) -> Sequence[Value]:
    """The number of elements becomes a size."""
    x = operand(node, 0)
    number = b.Reshape(operand(node, 1), b.ints())
    content = bound(b, number, x.shape[int(attribute(node, "axis")) % x.rank]).content
    assert content is not None
    names = ("axis", "largest", "sorted")
    return list(b.TopK(x, b.ints(*content), **{name: attribute(node, name) for name in names}))[: len(node.outputs)]
