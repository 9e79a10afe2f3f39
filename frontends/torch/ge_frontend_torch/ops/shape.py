"""Views, permutations, joins and splits. Where torch gives a view, the graph gives a value of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..registry import aten

Tensor = Value | ComplexPair


def _reshaped(c: Call, x: Tensor) -> Tensor:
    """In the result's shape."""
    if isinstance(x, ComplexPair):
        return ComplexPair(c.reshape(x.parts, (*c.shape(), 2)))
    return c.reshape(x, c.shape())


@aten("view.default", "_unsafe_view.default", complex=True)
def view(c: Call, x: Tensor, size: Sequence[Size]) -> Tensor:
    """view(Tensor(a) self, SymInt[] size) -> Tensor(a)
    _unsafe_view(Tensor self, SymInt[] size) -> Tensor
    """
    return _reshaped(c, x)


@aten("reshape.default", complex=True)
def reshape(c: Call, x: Tensor, shape: Sequence[Size]) -> Tensor:
    """reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)"""
    return _reshaped(c, x)


@aten("view_as.default", "reshape_as.default")
def view_as(c: Call, x: Value, other: Value) -> Value:
    """view_as(Tensor(a) self, Tensor other) -> Tensor(a)
    reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)
    """
    return c.reshape(x, c.shape())


@aten("flatten.using_ints", complex=True)
def flatten(c: Call, x: Tensor, start_dim: int, end_dim: int) -> Tensor:
    """flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)"""
    return _reshaped(c, x)


@aten("ravel.default")
def ravel(c: Call, x: Value) -> Value:
    """ravel(Tensor(a) self) -> Tensor(a)"""
    return c.reshape(x, c.shape())


@aten("unflatten.int")
def unflatten(c: Call, x: Value, dim: int, sizes: Sequence[Size]) -> Value:
    """unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)"""
    return c.reshape(x, c.shape())


@aten("squeeze.default")
def squeeze(c: Call, x: Value) -> Value:
    """squeeze(Tensor(a) self) -> Tensor(a)"""
    return c.squeeze(x, *(axis for axis, size in enumerate(x.shape) if size == 1))


@aten("squeeze.dim", "squeeze.dims")
def squeeze_dims(c: Call, x: Value, dim: int | Sequence[int]) -> Value:
    """squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
    squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)
    """
    axes = sorted(c.axis(d, x.rank) for d in ([dim] if isinstance(dim, int) else dim)) if x.rank else []
    return c.squeeze(x, *(axis for axis in axes if x.shape[axis] == 1))


@aten("unsqueeze.default", complex=True)
def unsqueeze(c: Call, x: Tensor, dim: int) -> Tensor:
    """unsqueeze(Tensor(a) self, int dim) -> Tensor(a)"""
    if isinstance(x, ComplexPair):
        return ComplexPair(c.unsqueeze(x.parts, c.axis(dim, x.parts.rank)))
    return c.unsqueeze(x, c.axis(dim, x.rank + 1))


@aten("permute.default", complex=True)
def permute(c: Call, x: Tensor, dims: Sequence[int]) -> Tensor:
    """permute(Tensor(a) self, int[] dims) -> Tensor(a)"""
    if isinstance(x, ComplexPair):
        rank = x.parts.rank - 1
        return ComplexPair(c.transpose(x.parts, [*(c.axis(d, rank) for d in dims), rank]))
    return c.transpose(x, [c.axis(d, x.rank) for d in dims])


@aten("transpose.int", "swapaxes.default", "swapdims.default")
def transpose(
    c: Call,
    x: Value,
    dim0: int | None = None,
    dim1: int | None = None,
    axis0: int | None = None,
    axis1: int | None = None,
) -> Value:
    """transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
    swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)
    swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
    """
    first, second = (dim0, dim1) if dim0 is not None and dim1 is not None else (axis0, axis1)
    assert first is not None and second is not None
    order = list(range(x.rank))
    if order:
        a, b = c.axis(first, x.rank), c.axis(second, x.rank)
        order[a], order[b] = order[b], order[a]
    return c.transpose(x, order)


@aten("t.default", "numpy_T.default", "mT.default", "adjoint.default")
def t(c: Call, x: Value) -> Value:
    """t(Tensor(a) self) -> Tensor(a)
    numpy_T(Tensor(a) self) -> Tensor(a)
    mT(Tensor(a) self) -> Tensor(a)
    adjoint(Tensor(a) self) -> Tensor(a)
    """
    order = list(range(x.rank))
    last_two = c.name in ("mT.default", "adjoint.default")
    return c.transpose_last(x) if last_two and x.rank > 1 else c.transpose(x, order[::-1])


@aten("movedim.intlist", "movedim.int", "moveaxis.intlist", "moveaxis.int")
def movedim(c: Call, x: Value, source: int | Sequence[int], destination: int | Sequence[int]) -> Value:
    """movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
    movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)
    moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
    moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)
    """
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    moved = {c.axis(t, x.rank): c.axis(s, x.rank) for s, t in zip(sources, targets, strict=True)}
    rest = iter(axis for axis in range(x.rank) if axis not in moved.values())
    return c.transpose(x, [moved[axis] if axis in moved else next(rest) for axis in range(x.rank)])


@aten("expand.default", "broadcast_to.default")
def expand(c: Call, x: Value, size: Sequence[Size]) -> Value:
    """expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
    broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)
    """
    return c.expand(x, c.shape())


@aten("expand_as.default")
def expand_as(c: Call, x: Value, other: Value) -> Value:
    """expand_as(Tensor(a) self, Tensor other) -> Tensor(a)"""
    return c.expand(x, c.shape())


@aten("broadcast_tensors.default")
def broadcast_tensors(c: Call, tensors: Sequence[Value]) -> list[Value]:
    """broadcast_tensors(Tensor[] tensors) -> Tensor[]"""
    return [c.expand(x, c.shape(i)) for i, x in enumerate(tensors)]


@aten("repeat.default")
def repeat(c: Call, x: Value, repeats: Sequence[Size]) -> Value:
    """repeat(Tensor self, SymInt[] repeats) -> Tensor"""
    x = c.unsqueeze(x, *range(len(repeats) - x.rank))
    return c.b.Tile(x, c.b.ints(repeats)) if repeats else x


@aten("tile.default")
def tile(c: Call, x: Value, dims: Sequence[Size]) -> Value:
    """tile(Tensor self, SymInt[] dims) -> Tensor"""
    return repeat(c, x, [*(1 for _ in range(x.rank - len(dims))), *dims])


@aten("repeat_interleave.self_int")
def repeat_interleave_int(
    c: Call, x: Value, repeats: Size, dim: int | None = None, output_size: Size | None = None
) -> Value:
    """repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) ->
    Tensor
    """
    b = c.b
    if dim is None:
        x, dim = b.Reshape(x, b.ints(-1)), 0
    axis = c.axis(dim, x.rank)
    wide = c.unsqueeze(x, axis + 1)
    repeated = c.expand(wide, (*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :]))
    return c.reshape(repeated, (*x.shape[:axis], x.shape[axis] * repeats, *x.shape[axis + 1 :]))


@aten("repeat_interleave.self_Tensor")
def repeat_interleave(
    c: Call, x: Value, repeats: Value, dim: int | None = None, output_size: Size | None = None
) -> Value:
    """repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None)
    -> Tensor
    """
    b = c.b
    if dim is None:
        x, dim = b.Reshape(x, b.ints(-1)), 0
    counts = c.cast(repeats, DType.of("int64"))
    counts = c.squeeze(counts, 0) if counts.rank == 1 and counts.shape[0] == 1 else counts
    return b.ge.RepeatInterleave(x, counts, axis=c.axis(dim, x.rank))


@aten("cat.default", "concat.default", "concatenate.default")
def cat(c: Call, tensors: Sequence[Value], dim: int) -> Value:
    """cat(Tensor[] tensors, int dim=0) -> Tensor
    concat(Tensor[] tensors, int dim=0) -> Tensor
    concatenate(Tensor[] tensors, int dim=0) -> Tensor
    """
    dtype, rank = c.dtype(), c.rank()
    # torch takes empty vectors among tensors of any rank and leaves them out
    kept = [x for x in tensors if not (x.rank == 1 and x.shape[0] == 0 and rank != 1)]
    if not kept:
        return c.cast(tensors[0], dtype)
    values = [c.cast(x, dtype) for x in kept]
    return values[0] if len(values) == 1 else c.b.Concat(values, axis=c.axis(dim, rank))


@aten("stack.default")
def stack(c: Call, tensors: Sequence[Value], dim: int) -> Value:
    """stack(Tensor[] tensors, int dim=0) -> Tensor"""
    axis = c.axis(dim, c.rank())
    values = [c.unsqueeze(c.cast(x, c.dtype()), axis) for x in tensors]
    return values[0] if len(values) == 1 else c.b.Concat(values, axis=axis)


def _split(c: Call, x: Value, sizes: Sequence[Size], axis: int) -> list[Value]:
    """Consecutive parts of these sizes along an axis."""
    if len(sizes) == 1:
        return [x]
    return list(c.b.op("Split", x, c.b.ints(sizes), axis=axis, num_outputs=len(sizes)))


@aten("split.Tensor", "split.default", "split_with_sizes.default", "chunk.default",
      "tensor_split.sections", "tensor_split.indices", "unsafe_split.Tensor", "unsafe_chunk.default",
      "unsafe_split_with_sizes.default")  # fmt: skip
def split(
    c: Call,
    x: Value,
    dim: int,
    split_size: Size | None = None,
    split_sizes: Sequence[Size] = (),
    chunks: int | None = None,
    sections: int | None = None,
    indices: Sequence[Size] = (),
) -> list[Value]:
    """split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
    split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]
    split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
    chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
    tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]
    tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]
    unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
    unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]
    unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
    """
    axis = c.axis(dim, x.rank)
    count = len(c.node.meta["val"])
    return _split(c, x, [c.shape(i)[axis] for i in range(count)], axis)


@aten("unbind.int")
def unbind(c: Call, x: Value, dim: int) -> list[Value]:
    """unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]"""
    axis = c.axis(dim, x.rank)
    parts = _split(c, x, [1] * len(c.node.meta["val"]), axis)
    return [c.squeeze(part, axis) for part in parts]


@aten("slice.Tensor", "slice_copy.Tensor", complex=True)
def slice_tensor(
    c: Call, x: Tensor, dim: int = 0, start: Size | None = None, end: Size | None = None, step: int = 1
) -> Tensor:
    """slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) ->
        Tensor(a)
    slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor
    """
    if isinstance(x, ComplexPair):
        parts = slice_tensor(c, x.parts, c.axis(dim, x.parts.rank - 1), start, end, step)
        assert isinstance(parts, Value)
        return ComplexPair(parts)
    axis = c.axis(dim, x.rank)
    whole = (start is None or start == 0) and step == 1
    if whole and (end is None or c.shape()[axis] == x.shape[axis]):
        return x
    return c.slice(x, axis, 0 if start is None else start, x.shape[axis] if end is None else end, step)


@aten("narrow.default")
def narrow(c: Call, x: Value, dim: int, start: Size, length: Size) -> Value:
    """narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)"""
    axis = c.axis(dim, x.rank)
    begin = start + x.shape[axis] if isinstance(start, int) and start < 0 else start
    return c.slice(x, axis, begin, begin + length)


@aten("select.int", "select_copy.int")
def select(c: Call, x: Value, dim: int, index: Size) -> Value:
    """select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
    select_copy.int(Tensor self, int dim, SymInt index) -> Tensor
    """
    return c.b.Gather(x, c.b.scalar(index), axis=c.axis(dim, x.rank))


@aten("flip.default")
def flip(c: Call, x: Value, dims: Sequence[int]) -> Value:
    """flip(Tensor self, int[] dims) -> Tensor"""
    axes = [c.axis(d, x.rank) for d in dims] if x.rank else []
    if not axes:
        return x
    b, n = c.b, len(axes)
    return b.Slice(x, b.ints([-1] * n), b.ints([_BEFORE_ALL] * n), b.ints(axes), b.ints([-1] * n))


_BEFORE_ALL = -(1 << 62)


@aten("roll.default")
def roll(c: Call, x: Value, shifts: Sequence[Size], dims: Sequence[int] = ()) -> Value:
    """roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor"""
    if not dims:
        flat = c.b.Reshape(x, c.b.ints(-1))
        return c.reshape(_rolled(c, flat, shifts[0], 0), x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(c, x, shift, c.axis(dim, x.rank))
    return x


def _rolled(c: Call, x: Value, shift: Size, axis: int) -> Value:
    size = x.shape[axis]
    if size == 0 or (isinstance(size, int) and isinstance(shift, int) and shift % size == 0):
        return x
    cut = size - dims.mod(shift, size)
    head, tail = c.slice(x, axis, 0, cut), c.slice(x, axis, cut, size)
    return c.b.Concat([tail, head], axis=axis)


@aten("pixel_shuffle.default")
def pixel_shuffle(c: Call, x: Value, upscale_factor: int) -> Value:
    """pixel_shuffle(Tensor self, int upscale_factor) -> Tensor"""
    return _with_batch(c, x, lambda v: c.b.DepthToSpace(v, blocksize=upscale_factor, mode="CRD"))


@aten("pixel_unshuffle.default")
def pixel_unshuffle(c: Call, x: Value, downscale_factor: int) -> Value:
    """pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor"""
    # torch keeps the channel outermost: [C, r, r], where SpaceToDepth puts the block first
    r = downscale_factor
    *lead, channels, height, width = x.shape
    parts = c.reshape(x, (*lead, channels, dims.floordiv(height, r), r, dims.floordiv(width, r), r))
    n = len(lead)
    order = [*range(n + 1), n + 2, n + 4, n + 1, n + 3]
    return c.reshape(c.transpose(parts, order), c.shape())


@aten("channel_shuffle.default", "native_channel_shuffle.default")
def channel_shuffle(c: Call, x: Value, groups: int) -> Value:
    """channel_shuffle(Tensor self, SymInt groups) -> Tensor
    native_channel_shuffle(Tensor self, SymInt groups) -> Tensor
    """
    n, channels, *rest = x.shape
    parts = c.reshape(x, (n, groups, dims.floordiv(channels, groups), *rest))
    return c.reshape(c.transpose(parts, [0, 2, 1, *range(3, parts.rank)]), x.shape)


def _with_batch(c: Call, x: Value, build: Callable[[Value], Value]) -> Value:
    """An operator on [N, C, H, W] for a tensor with any number of leading axes."""
    shape = c.shape()
    if x.rank == 4:
        return build(x)
    flat = c.reshape(x, (dims.product(x.shape[:-3]), *x.shape[-3:]))
    return c.reshape(build(flat), shape)


@aten("unfold.default")
def unfold(c: Call, x: Value, dimension: int, size: int, step: int) -> Value:
    """unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)"""
    b = c.b
    if not x.rank:
        return c.unsqueeze(x, 0)
    axis = c.axis(dimension, x.rank)
    count = c.shape()[axis]
    starts = b.Mul(b.Range(b.scalar(0), b.scalar(count), b.scalar(1)), step)
    offsets = b.Range(b.scalar(0), b.scalar(size), b.scalar(1))
    windows = b.Gather(x, b.Add(c.unsqueeze(starts, 1), offsets), axis=axis)
    # the elements of a window stand right behind their window; torch puts them last
    return c.transpose(windows, [*range(axis + 1), *range(axis + 2, windows.rank), axis + 1])


@aten("as_strided.default")
def as_strided(
    c: Call, x: Value, size: Sequence[Size], stride: Sequence[Size], storage_offset: Size | None = None
) -> Value:
    """as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)"""
    source = c.node.args[0].meta["val"]
    if not source.is_contiguous():
        raise c.unsupported("as_strided of a tensor that is not contiguous", "write it with views and slices")
    b = c.b
    offset = storage_offset or 0
    position = b.scalar(offset)
    for axis, (count, step) in enumerate(zip(size, stride, strict=True)):
        along = b.Mul(b.Range(b.scalar(0), b.scalar(count), b.scalar(1)), b.scalar(step))
        position = b.Add(position, c.reshape(along, (count, *(1 for _ in range(len(size) - axis - 1)))))
    return b.Gather(b.Reshape(x, b.ints(-1)), position, axis=0)


@aten("diagonal.default")
def diagonal(c: Call, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)"""
    b = c.b
    first, second = c.axis(dim1, x.rank), c.axis(dim2, x.rank)
    count = c.shape()[-1]
    rest = [axis for axis in range(x.rank) if axis not in (first, second)]
    moved = c.transpose(x, [first, second, *rest])
    steps = b.Range(b.scalar(0), b.scalar(count), b.scalar(1))
    rows = b.Add(steps, max(-offset, 0))
    columns = b.Add(steps, max(offset, 0))
    index = b.Concat([c.unsqueeze(rows, 1), c.unsqueeze(columns, 1)], axis=1)
    picked = b.GatherND(moved, index)
    return c.transpose(picked, [*range(1, picked.rank), 0])


@aten("tril.default", "triu.default")
def triangle(c: Call, x: Value, diagonal: int) -> Value:
    """tril(Tensor self, SymInt diagonal=0) -> Tensor
    triu(Tensor self, SymInt diagonal=0) -> Tensor
    """
    return c.b.Trilu(x, c.scalar(diagonal, DType.of("int64")), upper=int(c.name.startswith("triu")))


@aten("meshgrid.default", "meshgrid.indexing")
def meshgrid(c: Call, tensors: Sequence[Value], indexing: str = "ij") -> list[Value]:
    """meshgrid(Tensor[] tensors) -> Tensor[]
    meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]
    """
    count = len(tensors)
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[0], order[1] = 1, 0
    results = []
    for i, x in enumerate(tensors):
        line = [1] * count
        sizes: list[Size] = list(line)
        sizes[order.index(i)] = x.shape[0] if x.rank else 1
        results.append(c.expand(c.reshape(x, sizes), c.shape(i)))
    return results


@aten("atleast_1d.default", "atleast_2d.default", "atleast_3d.default")
def atleast(c: Call, x: Value) -> Value:
    """atleast_1d(Tensor self) -> Tensor
    atleast_2d(Tensor self) -> Tensor
    atleast_3d(Tensor self) -> Tensor
    """
    return c.reshape(x, c.shape())
