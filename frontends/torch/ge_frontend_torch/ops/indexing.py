"""Reading and writing by index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..element_types import Operand
from ..registry import aten

_INT64 = DType.of("int64")
_BOOL = DType.of("bool")


@dataclass(frozen=True)
class _Places:
    """What `x[i, :, j]` addresses.

    Attributes:
        axes: the axes of x that have an index.
        indices: one index tensor for each of them, all of one shape after broadcasting.
        shape: that shape.
        first: where its axes stand in the result: at the first indexed axis when the indexed axes are
            neighbours, else at the front (numpy's and torch's rule).
    """

    axes: list[int]
    indices: list[Value]
    shape: tuple[Size, ...]
    first: int

    def table(self, c: Call) -> Value:
        """The places as vectors [*shape, axes]."""
        parts = [c.unsqueeze(c.expand(i, self.shape), len(self.shape)) for i in self.indices]
        return parts[0] if len(parts) == 1 else c.b.Concat(parts, axis=len(self.shape))


def _places(c: Call, x: Value, indices: Sequence[Value | None]) -> _Places:
    axes: list[int] = []
    values: list[Value] = []
    axis = 0
    for index in indices:
        if index is None:
            axis += 1
        elif index.dtype.kind in ("bool",) or index.dtype.name == "uint8":
            columns = _nonzero(c, c.cast(index, _BOOL))
            axes += range(axis, axis + index.rank)
            values += columns
            axis += index.rank
        else:
            axes.append(axis)
            values.append(c.cast(index, _INT64))
            axis += 1
    shape: tuple[Size, ...] = ()
    for value in values:
        shape = _broadcast(shape, value.shape)
    neighbours = axes == list(range(axes[0], axes[-1] + 1)) and _adjacent(indices)
    return _Places(axes, values, shape, axes[0] if neighbours else 0)


def _adjacent(indices: Sequence[Value | None]) -> bool:
    given = [i for i, index in enumerate(indices) if index is not None]
    return given == list(range(given[0], given[-1] + 1))


def _broadcast(a: tuple[Size, ...], b: tuple[Size, ...]) -> tuple[Size, ...]:
    if len(a) < len(b):
        a, b = b, a
    tail = a[len(a) - len(b) :]
    return (*a[: len(a) - len(b)], *(q if p == 1 else p for p, q in zip(tail, b, strict=True)))


def _nonzero(c: Call, mask: Value) -> list[Value]:
    """The places of True in a mask, one vector for each axis."""
    found = c.b.NonZero(mask)
    return [c.b.Gather(found, axis, axis=0) for axis in range(mask.rank)]


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(c: Call, x: Value, indices: Sequence[Value | None]) -> Value:
    """index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
    _unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
    """
    b = c.b
    places = _places(c, x, indices)
    if len(places.axes) == 1:
        return b.Gather(x, places.indices[0], axis=places.axes[0])
    rest = [axis for axis in range(x.rank) if axis not in places.axes]
    picked = b.GatherND(c.transpose(x, [*places.axes, *rest]), places.table(c))
    # GatherND puts the index's axes first
    n = len(places.shape)
    order = [*range(n, n + places.first), *range(n), *range(n + places.first, picked.rank)]
    return c.transpose(picked, order)


@aten("index_put.default", "_unsafe_index_put.default", ignores=("unsafe",))
def index_put(c: Call, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False) -> Value:
    """index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
    _unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
    """
    b = c.b
    values = c.cast(values, x.dtype)
    masked = _as_where(c, x, indices, values, accumulate)
    if masked is not None:
        return masked
    places = _places(c, x, indices)
    rest = [axis for axis in range(x.rank) if axis not in places.axes]
    order = [*places.axes, *rest]
    data = c.transpose(x, order)
    n, at = len(places.shape), places.first
    sizes = [x.shape[axis] for axis in rest]
    updates = c.expand(values, (*sizes[:at], *places.shape, *sizes[at:]))
    updates = c.transpose(updates, [*range(at, at + n), *range(at), *range(at + n, updates.rank)])
    reduction = "add" if accumulate else "none"
    written = b.ScatterND(data, places.table(c), updates, reduction=reduction)
    return c.transpose(written, list(np.argsort(order)))


def _as_where(c: Call, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool) -> Value | None:
    """`x[mask] = number` as a choice between two tensors, whose size depends on no data."""
    mask = indices[0] if len(indices) == 1 else None
    one = all(size == 1 for size in values.shape)
    if mask is None or mask.dtype.kind != "bool" or accumulate or not one:
        return None
    wide = c.reshape(mask, (*mask.shape, *(1 for _ in range(x.rank - mask.rank))))
    return c.b.Where(wide, c.reshape(values, ()), x)


@aten("index_select.default")
def index_select(c: Call, x: Value, dim: int, index: Value) -> Value:
    """index_select(Tensor self, int dim, Tensor index) -> Tensor"""
    if not x.rank:
        return x
    places = c.reshape(index, (1,)) if not index.rank else index
    return c.b.Gather(x, places, axis=c.axis(dim, x.rank))


@aten("embedding.default", ignores=("padding_idx", "scale_grad_by_freq", "sparse"))
def embedding(c: Call, weight: Value, indices: Value) -> Value:
    """embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool
    sparse=False) -> Tensor
    """
    return c.b.Gather(weight, indices, axis=0)


@aten("gather.default", ignores=("sparse_grad",))
def gather(c: Call, x: Value, dim: int, index: Value) -> Value:
    """gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"""
    if not x.rank or not index.rank:
        wide = c.reshape(x, (1,)) if not x.rank else x
        places = c.reshape(index, (1,)) if not index.rank else index
        return c.reshape(c.b.GatherElements(wide, places, axis=0), c.shape())
    return c.b.GatherElements(x, index, axis=c.axis(dim, x.rank))


@aten("take.default")
def take(c: Call, x: Value, index: Value) -> Value:
    """take(Tensor self, Tensor index) -> Tensor"""
    return c.b.Gather(c.b.Reshape(x, c.b.ints(-1)), index, axis=0)


@aten("take_along_dim.default")
def take_along_dim(c: Call, x: Value, indices: Value, dim: int | None = None) -> Value:
    """take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor"""
    b = c.b
    if dim is None:
        return b.GatherElements(b.Reshape(x, b.ints(-1)), b.Reshape(indices, b.ints(-1)), axis=0)
    axis = c.axis(dim, x.rank)
    shape = list(_broadcast(x.shape, indices.shape))
    places = [*shape[:axis], indices.shape[axis], *shape[axis + 1 :]]
    data = [*shape[:axis], x.shape[axis], *shape[axis + 1 :]]
    return b.GatherElements(c.expand(x, data), c.expand(indices, places), axis=axis)


_REDUCTIONS = {
    "sum": "sum",
    "add": "sum",
    "prod": "prod",
    "multiply": "prod",
    "amax": "max",
    "amin": "min",
    "mean": "mean",
}


@aten("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce")
def scatter(
    c: Call,
    x: Value,
    dim: int,
    index: Value,
    src: Value | None = None,
    value: Operand | None = None,
    reduce: str | None = None,
) -> Value:
    """scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
    scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
    scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor
    scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor
    """
    updates = _updates(c, x, index, value if src is None else src)
    if reduce is None:
        return _along(c, x, index, updates, dim, lambda d, i, u, a: c.b.ScatterElements(d, i, u, axis=a))
    return _reduced(c, x, dim, index, updates, _REDUCTIONS[reduce], True)


@aten("scatter_add.default")
def scatter_add(c: Call, x: Value, dim: int, index: Value, src: Value) -> Value:
    """scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"""
    updates = _updates(c, x, index, src)
    return _along(c, x, index, updates, dim, lambda d, i, u, a: c.b.ScatterElements(d, i, u, axis=a, reduction="add"))


@aten("scatter_reduce.two")
def scatter_reduce(
    c: Call, x: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool = True
) -> Value:
    """scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool
    include_self=True) -> Tensor
    """
    return _reduced(c, x, dim, index, _updates(c, x, index, src), _REDUCTIONS[reduce], include_self)


def _updates(c: Call, x: Value, index: Value, source: Operand | None) -> Value:
    """The values to write, in the shape of the index: a number everywhere, or the corner of a tensor."""
    assert source is not None
    if not isinstance(source, Value):
        return c.full(index.shape, source, x.dtype)
    source = c.cast(source, x.dtype)
    for axis in range(index.rank):
        if source.shape[axis] != index.shape[axis]:
            source = c.slice(source, axis, 0, index.shape[axis])
    return source


def _along(c: Call, x: Value, index: Value, updates: Value, dim: int, build) -> Value:  # type: ignore[no-untyped-def]
    """An operator on tensors with axes, for scalars too."""
    if not x.rank:
        parts = (c.reshape(v, (1,)) for v in (x, index, updates))
        return c.reshape(build(*parts, 0), ())
    return build(x, index, updates, c.axis(dim, x.rank))


def _reduced(c: Call, x: Value, dim: int, index: Value, updates: Value, reduction: str, include_self: bool) -> Value:
    return _along(
        c, x, index, updates, dim,
        lambda d, i, u, a: c.b.ge.ScatterReduce(d, i, u, axis=a, reduction=reduction, include_self=int(include_self)),
    )  # fmt: skip


@aten("index_add.default")
def index_add(c: Call, x: Value, dim: int, index: Value, source: Value, alpha: Operand = 1) -> Value:
    """index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor"""
    source = c.cast(source, x.dtype)
    if isinstance(alpha, Value) or alpha != 1:
        source = c.b.Mul(source, c.scalar(alpha, x.dtype))
    return _rows(c, x, dim, index, source, "add")


@aten("index_copy.default")
def index_copy(c: Call, x: Value, dim: int, index: Value, source: Value) -> Value:
    """index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor"""
    return _rows(c, x, dim, index, c.cast(source, x.dtype), "none")


@aten("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(c: Call, x: Value, dim: int, index: Value, value: Operand) -> Value:
    """index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
    index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor
    """
    b, filled = c.b, c.scalar(value, x.dtype)
    axis, size = c.axis(dim, x.rank), x.shape[dim] if x.rank else 1
    count = index.shape[0] if index.rank else 1
    none, ones = c.full((size,), 0, _INT64), c.full((count,), 1, _INT64)
    hit = b.Equal(b.ScatterElements(none, c.reshape(index, (count,)), ones, axis=0), 1)
    along = [size if k == axis else 1 for k in range(x.rank)]
    return b.Where(c.reshape(hit, along), filled, x)


def _rows(c: Call, x: Value, dim: int, index: Value, source: Value, reduction: str) -> Value:
    """Write slices along an axis: ScatterND on the tensor with that axis in front."""
    if not x.rank:
        wide = _rows(c, c.reshape(x, (1,)), 0, index, c.reshape(source, (1,)), reduction)
        return c.reshape(wide, ())
    axis = c.axis(dim, x.rank)
    order = [axis, *(a for a in range(x.rank) if a != axis)]
    places = c.reshape(index, (index.shape[0] if index.rank else 1, 1))
    source = c.reshape(source, (*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :]))
    written = c.b.ScatterND(c.transpose(x, order), places, c.transpose(source, order), reduction=reduction)
    return c.transpose(written, list(np.argsort(order)))


@aten("slice_scatter.default")
def slice_scatter(
    c: Call, x: Value, src: Value, dim: int = 0, start: Size | None = None, end: Size | None = None, step: int = 1
) -> Value:
    """slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)
    -> Tensor
    """
    axis = c.axis(dim, x.rank)
    size, count = x.shape[axis], src.shape[axis]
    first = _position(0 if start is None else start, size)
    src = c.cast(src, x.dtype)
    if dims.equal(count, size):
        return src
    if step == 1:
        last = first + count
        parts = [c.slice(x, axis, 0, first), src, c.slice(x, axis, last, size)]
        kept = [part for part in parts if part.shape[axis] != 0]
        return kept[0] if len(kept) == 1 else c.b.Concat(kept, axis=axis)
    b = c.b
    places = b.Add(b.Mul(b.Range(b.scalar(0), b.scalar(count), b.scalar(1)), step), b.scalar(first))
    return _rows(c, x, axis, places, src, "none")


def _position(at: Size, size: Size) -> Size:
    """A slice's start as a place between 0 and the size."""
    if isinstance(at, int) and at < 0:
        return dims.maximum(at + size, 0)
    return dims.minimum(at, size)


@aten("select_scatter.default")
def select_scatter(c: Call, x: Value, src: Value, dim: int, index: Size) -> Value:
    """select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor"""
    axis = c.axis(dim, x.rank)
    at = index + x.shape[axis] if isinstance(index, int) and index < 0 else index
    return slice_scatter(c, x, c.unsqueeze(src, axis), axis, at, at + 1)


@aten("diagonal_scatter.default")
def diagonal_scatter(c: Call, x: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor"""
    b = c.b
    first, second = c.axis(dim1, x.rank), c.axis(dim2, x.rank)
    order = [first, second, *(a for a in range(x.rank) if a not in (first, second))]
    steps = b.Range(b.scalar(0), b.scalar(src.shape[-1]), b.scalar(1))
    table = b.Concat(
        [c.unsqueeze(b.Add(steps, max(-offset, 0)), 1), c.unsqueeze(b.Add(steps, max(offset, 0)), 1)], axis=1
    )
    updates = c.transpose(c.cast(src, x.dtype), [src.rank - 1, *range(src.rank - 1)])
    written = b.ScatterND(c.transpose(x, order), table, updates)
    return c.transpose(written, list(np.argsort(order)))


@aten("masked_select.default")
def masked_select(c: Call, x: Value, mask: Value) -> Value:
    """masked_select(Tensor self, Tensor mask) -> Tensor"""
    shape = _broadcast(x.shape, mask.shape)
    b = c.b
    flat = b.Reshape(c.expand(x, shape), b.ints(-1))
    return b.Compress(flat, b.Reshape(c.expand(mask, shape), b.ints(-1)), axis=0)


@aten("masked_scatter.default")
def masked_scatter(c: Call, x: Value, mask: Value, source: Value) -> Value:
    """masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor"""
    shape = c.shape()
    return c.b.ge.MaskedScatter(c.expand(x, shape), c.expand(mask, shape), source)


@aten("nonzero.default")
def nonzero(c: Call, x: Value) -> Value:
    """nonzero(Tensor self) -> Tensor"""
    return c.b.Transpose(c.b.NonZero(c.cast(x, _BOOL)), perm=[1, 0])


@aten("nonzero_numpy.default")
def nonzero_numpy(c: Call, x: Value) -> list[Value]:
    """nonzero_numpy(Tensor self) -> Tensor[]"""
    return _nonzero(c, c.cast(x if x.rank else c.reshape(x, (1,)), _BOOL))


@aten("item.default", "_local_scalar_dense.default")
def item(c: Call, x: Value) -> Size | Value:
    """item(Tensor self) -> Scalar
    _local_scalar_dense(Tensor self) -> Scalar
    """
    scalar = c.reshape(x, ())
    symbol = getattr(getattr(c.node.meta["val"], "node", None), "expr", None)
    if not x.dtype.is_integer:
        if symbol is None or not symbol.is_Symbol:
            raise c.unsupported(f"reading one {x.dtype} element as a Python value", "keep it in a tensor")
        c.converter.symbols.bind_float(symbol, scalar)
        return scalar
    lo, hi = c.converter.symbols.bounds(symbol)
    bound = c.b.ge.BindDim(c.cast(scalar, _INT64), lo=max(lo, 0), hi=-1 if hi is None else hi)
    assert bound.content is not None
    (size,) = bound.content
    if symbol is not None and symbol.is_Symbol and isinstance(size, Dim):
        c.converter.symbols.bind(symbol, size)
    return size
