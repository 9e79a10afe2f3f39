"""Operators whose results have sizes that are operands: those that only the run knows are computed and bound."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.expand.axes import elements
from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import bound, is_later, numbers, operand, unlimited
from ge_backend_cpu.loops.reading import attribute
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value


def _length(node: Node, index: int) -> int | None:
    """The number of elements of a vector that only the run knows; None for others."""
    value = node.input(index)
    if value is None or not is_later(value) or value.rank != 1:
        return None
    (count,) = value.shape
    return count if isinstance(count, int) else None


@expansion("Reshape", when=lambda node: _length(node, 1) is not None)
def reshape(b: Builder, node: Node) -> Sequence[Value]:
    """0 copies the operand's size, -1 is what is left."""
    x, wanted = operand(node, 0), operand(node, 1)
    count, total = wanted.shape[0], b.scalar(dims.product(x.shape))
    assert isinstance(count, int)
    one = b.constant(1, "int64")
    if not attribute(node, "allowzero"):
        own = b.ints(*x.shape[:count], *(-2 for _ in range(count - x.rank)))
        wanted = b.Where(b.Equal(wanted, 0), own, wanted)
    free = b.Equal(wanted, -1)
    rest = b.ReduceProd(b.Where(free, one, wanted), keepdims=0)
    sizes = b.Where(free, b.Div(total, b.Max([rest, one])), wanted)
    fits = b.And(b.Equal(b.ReduceProd(sizes, keepdims=0), total), b.GreaterOrEqual(b.ReduceMin(sizes, keepdims=0), 0))
    frees = b.ReduceSum(b.Cast(free, to="int64"), keepdims=0)
    clear = b.LessOrEqual(frees, b.Min([rest, one]))
    b.ge.Check(b.And(fits, clear), message="the elements do not fill the shape")
    return [b.Reshape(x, b.ints(*elements(b, sizes, count)), allowzero=1)]


@expansion("ConstantOfShape", when=lambda node: _length(node, 0) is not None)
def constant_of_shape(b: Builder, node: Node) -> Sequence[Value]:
    count = operand(node, 0).shape[0]
    assert isinstance(count, int)
    return [b.ConstantOfShape(b.ints(*elements(b, operand(node, 0), count)), value=node.attrs.get("value"))]


@expansion("Tile", when=lambda node: _length(node, 1) is not None)
def tile(b: Builder, node: Node) -> Sequence[Value]:
    x = operand(node, 0)
    return [b.Tile(x, b.ints(*elements(b, operand(node, 1), x.rank)))]


@expansion("Expand", when=lambda node: _length(node, 1) is not None)
def expand(b: Builder, node: Node) -> Sequence[Value]:
    """Axis by axis the size is the one of the two that is not 1; of an axis of unknown size the first place is
    repeated where there is only one."""
    x, wanted = operand(node, 0), operand(node, 1)
    count = wanted.shape[0]
    assert isinstance(count, int)
    rank, one = max(count, x.rank), b.constant(1, "int64")
    shape = (*(1 for _ in range(rank - x.rank)), *x.shape)
    own = b.ints(*shape[rank - count :])
    fits = b.Or(b.Or(b.Equal(own, one), b.Equal(wanted, one)), b.Equal(own, wanted))
    b.ge.Check(fits, message="the shapes do not broadcast")
    sizes = b.Where(b.Equal(own, one), wanted, own)
    found: list[Size] = list(shape)
    for k in range(rank - count, rank):
        if shape[k] == 1 or not isinstance(shape[k], int):
            found[k] = unlimited(b, b.Gather(sizes, b.constant(k - (rank - count), "int64"), axis=0))
    y = b.Reshape(x, b.ints(*shape), allowzero=1) if rank > x.rank else x
    for k, (size, new) in enumerate(zip(shape, found, strict=True)):
        if not isinstance(size, int):
            last = b.Sub(b.scalar(size), one)
            y = b.Gather(y, b.Min([numbers(b, new), last]), axis=k)
    return [b.Expand(y, b.ints(*found))]


def _parts_later(node: Node) -> bool:
    return _length(node, 1) == len(node.outputs)


@expansion("Split", when=_parts_later)
def split(b: Builder, node: Node) -> Sequence[Value]:
    """All parts but the last one are bound, which has what is left."""
    x, parts = operand(node, 0), operand(node, 1)
    axis, count = int(attribute(node, "axis")) % x.rank, len(node.outputs)
    size = x.shape[axis]
    whole = b.Equal(b.ReduceSum(parts, keepdims=0), b.scalar(size))
    fits = b.And(whole, b.GreaterOrEqual(b.ReduceMin(parts, keepdims=0), 0))
    b.ge.Check(fits, message="the parts do not make the axis")
    found: list[Size] = []
    left = size
    for k in range(count - 1):
        content = bound(b, b.Gather(parts, b.constant(k, "int64"), axis=0), size).content
        assert content is not None
        found.append(content[0])
        left = left - content[0]
    made = b.op("Split", x, b.ints(*found, left), axis=axis, num_outputs=count)
    return [made] if count == 1 else list(made)


def _depth_later(node: Node) -> bool:
    depth = operand(node, 1)
    return is_later(depth) and depth.dtype.kind in ("int", "uint", "float")


@expansion("OneHot", when=_depth_later)
def one_hot(b: Builder, node: Node) -> Sequence[Value]:
    number = b.Cast(b.Reshape(operand(node, 1), b.ints()), to="int64")
    depth = unlimited(b, b.Max([number, b.constant(0, "int64")]))
    return [b.OneHot(operand(node, 0), b.scalar(depth), operand(node, 2), axis=attribute(node, "axis"))]


@expansion("CenterCropPad", when=lambda node: _length(node, 1) is not None)
def center_crop_pad(b: Builder, node: Node) -> Sequence[Value]:
    """Axis by axis what is left of the middle, then zeros around it."""
    y, wanted = operand(node, 0), operand(node, 1)
    axes = [a % y.rank for a in attribute(node, "axes") or range(y.rank)]
    own = b.ints(*(y.shape[a] for a in axes))
    new = b.Cast(wanted, to="int64")
    two = b.constant(2, "int64")
    first = b.Div(b.Max([b.Sub(own, new), b.constant(0, "int64")]), two)
    before = b.Div(b.Max([b.Sub(new, own), b.constant(0, "int64")]), two)
    kept = b.Min([own, new])
    after = b.Sub(b.Sub(b.Max([own, new]), own), before)
    y = b.Slice(y, first, b.Add(first, kept), b.ints(*axes))
    return [b.Pad(y, b.Concat([before, after], axis=0), None, b.ints(*axes))]
