"""Gathers, scatters and slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive

_REDUCE = {0: "none", 1: "add", 2: "mul", 3: "none", "none": "none", "add": "add", "mul": "mul"}


@primitive("StridedSlice")
def strided_slice(
    c: Call,
    input_x: Value,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Value:
    """StridedSlice(input_x, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
    shrink_axis_mask=0)"""
    starts, ends, steps = c.sizes(begin), c.sizes(end), c.integers(strides, "strides")
    count = len(starts)
    dense: list[tuple[Size | None, Size | None, int, str]] = []
    rank = input_x.rank
    used = sum(not (new_axis_mask >> k & 1 or ellipsis_mask >> k & 1) for k in range(count))
    for k in range(count):
        if ellipsis_mask >> k & 1:
            dense += [(None, None, 1, "keep")] * (rank - used)
        elif new_axis_mask >> k & 1:
            dense.append((None, None, 1, "new"))
        elif shrink_axis_mask >> k & 1:
            dense.append((starts[k], None, 1, "shrink"))
        else:
            low = None if begin_mask >> k & 1 else starts[k]
            high = None if end_mask >> k & 1 else ends[k]
            dense.append((low, high, steps[k], "slice"))
    return _sliced(c, input_x, dense)


def _sliced(c: Call, x: Value, dense: Sequence[tuple[Size | None, Size | None, int, str]]) -> Value:
    b, axis = c.b, 0
    starts: list[Size] = []
    ends: list[Size] = []
    axes: list[int] = []
    steps: list[int] = []
    shrunk: list[int] = []
    fresh: list[int] = []
    place = 0
    most, least = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for low, high, step, kind in dense:
        if kind == "new":
            fresh.append(place)
            place += 1
            continue
        if kind == "shrink":
            assert low is not None
            starts.append(low)
            # the element behind the last one is the end, not the first one
            ends.append(int(most) if low == -1 else low + 1)
            axes.append(axis)
            steps.append(1)
            shrunk.append(axis)
        else:
            whole = low is None and high is None and step == 1
            if kind == "slice" and not whole:
                starts.append((0 if step > 0 else int(most)) if low is None else low)
                ends.append(int(most if step > 0 else least) if high is None else high)
                axes.append(axis)
                steps.append(step)
            place += 1
        axis += 1
    if axes:
        x = b.Slice(x, b.ints(starts), b.ints(ends), b.ints(axes), b.ints(steps))
    x = c.squeeze(x, *shrunk)
    return c.unsqueeze(x, *fresh)


@primitive("Slice")
def slice(c: Call, input: Value, begin: Any, size: Any) -> Value:
    """Slice(input, begin, size): -1 takes all that is left"""
    starts, sizes = c.sizes(begin), c.sizes(size)
    ends = [n if s == -1 else a + s for a, s, n in zip(starts, sizes, input.shape, strict=True)]
    return c.b.Slice(input, c.b.ints(starts), c.b.ints(ends), c.b.ints(range(input.rank)))


@primitive("SliceExt", "SliceExtView")
def slice_ext(c: Call, input: Value, dim: int, start: Any, end: Any, step: int) -> Value:
    """SliceExt(input, dim, start, end, step)"""
    return c.slice(input, c.axis(dim, input.rank), c.size(start), c.size(end), c.integer(step, "a step"))


@primitive("Narrow", "NarrowView")
def narrow(c: Call, input: Value, dim: int, start: Any, length: Any) -> Value:
    """Narrow(input, dim, start, length)"""
    axis, first, count = c.axis(dim, input.rank), c.size(start), c.size(length)
    if isinstance(first, int) and first < 0:
        first = input.shape[axis] + first
    return c.slice(input, axis, first, first + count)


@primitive("SelectExtView", "SelectExt", "SelectView")
def select_ext(c: Call, input: Value, dim: int, index: Any) -> Value:
    """SelectExtView(input, dim, index): one slice, without its axis"""
    return c.b.Gather(input, c.tensor(index, None), axis=c.axis(dim, input.rank))


@primitive("Gather", "SparseGatherV2")
def gather(c: Call, input_params: Value, input_indices: Any, axis: Any, batch_dims: int = 0) -> Value:
    """Gather(input_params, input_indices, axis, batch_dims=0)"""
    x, indices = input_params, c.tensor(input_indices)
    place = c.axis(axis, x.rank)
    batch = batch_dims + indices.rank if batch_dims < 0 else batch_dims
    if batch == 0:
        return c.b.Gather(x, indices, axis=place)
    lead = x.shape[:batch]
    # elements along the axis, moved behind all others, for each place of these
    moved = c.transpose(x, [*range(place), *range(place + 1, x.rank), place])
    count = dims.product(indices.shape[batch:])
    spread = c.reshape(indices, (*lead, *(1,) * (moved.rank - batch - 1), count))
    wanted = c.expand(spread, (*moved.shape[:-1], count))
    taken = c.b.GatherElements(moved, wanted, axis=moved.rank - 1)
    back = c.transpose(taken, [*range(place), moved.rank - 1, *range(place, moved.rank - 1)])
    return c.reshape(back, (*x.shape[:place], *indices.shape[batch:], *x.shape[place + 1 :]))


@primitive("IndexSelect")
def index_select(c: Call, input: Value, dim: int, index: Value) -> Value:
    """IndexSelect(input, dim, index)"""
    return c.b.Gather(input, index, axis=c.axis(dim, input.rank))


@primitive("EmbeddingLookup", ignores=("bprop_return_sparse",))
def embedding_lookup(c: Call, params: Value, indices: Value, offset: Any = 0) -> Value:
    """EmbeddingLookup()(params, indices, offset): rows of indices - offset, zeros for rows that are not there"""
    b = c.b
    places = b.Sub(b.Cast(indices, to="int64"), c.tensor(offset, None)) if offset != 0 else indices
    rows = b.Cast(b.scalar(params.shape[0]), to=places.dtype)
    inside = b.And(b.GreaterOrEqual(places, 0), b.Less(places, rows))
    found = b.Gather(params, b.Where(inside, places, c.tensor(0, places.dtype)), axis=0)
    mask = c.unsqueeze(inside, *range(inside.rank, found.rank))
    return b.Where(mask, found, c.tensor(0, found.dtype))


@primitive("Embedding")
def embedding(
    c: Call, input: Value, weight: Value, padding_idx: Any, max_norm: Any, norm_type: Any, scale_grad_by_freq: bool
) -> Value:
    """Embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False)"""
    if max_norm is not None:
        raise c.unsupported("max_norm, which writes to the weights,")
    return c.b.Gather(weight, input, axis=0)


@primitive("GatherD")
def gather_d(c: Call, x: Value, dim: int, index: Value) -> Value:
    """GatherD(x, dim, index)"""
    if x.rank == 0:
        return c.expand(x, index.shape)
    return elements(c, x, index, c.axis(dim, x.rank))


def elements(c: Call, x: Value, index: Value, axis: int) -> Value:
    """`x[..., index, ...]` element by element; index may be shorter than x along the other axes."""
    for k, (n, m) in enumerate(zip(x.shape, index.shape, strict=True)):
        if k != axis and n != m:
            x = c.slice(x, k, 0, m)
    return c.b.GatherElements(x, index, axis=axis)


@primitive("GatherNd", "GatherNdExt")
def gather_nd(c: Call, input_x: Value, indices: Value) -> Value:
    """GatherNd(input_x, indices)"""
    return c.b.GatherND(input_x, c.b.Cast(indices, to="int64"))


@primitive("Take")
def take(c: Call, input: Value, index: Value) -> Value:
    """Take(input, index): of all elements in a row"""
    return c.b.Gather(c.reshape(input, (dims.product(input.shape),)), index, axis=0)


@primitive("MaskedSelect")
def masked_select(c: Call, x: Value, mask: Value) -> Value:
    """MaskedSelect(x, mask): the elements at which the mask holds"""
    shape = c.b.Add(c.b.Cast(x, to="float32"), c.b.Cast(mask, to="float32")).shape
    data, where = c.expand(x, shape), c.expand(mask, shape)
    flat = (dims.product(shape),)
    return c.b.Compress(c.reshape(data, flat), c.reshape(where, flat), axis=0)


@primitive("NonZero", "NonZeroExt", "InnerNonZero")
def non_zero(c: Call, x: Value) -> Any:
    """NonZero(x): places as rows; NonZeroExt(input): places as one vector for each axis"""
    found = c.b.NonZero(x)
    if c.op == "NonZeroExt":
        return tuple(c.b.Gather(found, c.b.constant(np.int64(k)), axis=0) for k in range(x.rank))
    return c.b.Transpose(found, perm=[1, 0])


@primitive("ScatterNd")
def scatter_nd(c: Call, indices: Value, updates: Value, shape: Any) -> Value:
    """ScatterNd(indices, updates, shape): sums at places of a tensor of zeros"""
    zeros = c.full(c.sizes(shape), 0, updates.dtype)
    return c.b.ScatterND(zeros, c.b.Cast(indices, to="int64"), updates, reduction="add")


_TENSOR_SCATTER = {"TensorScatterUpdate": "none", "TensorScatterAdd": "add", "TensorScatterMax": "max",
                   "TensorScatterMin": "min", "TensorScatterMul": "mul"}  # fmt: skip


@primitive(*_TENSOR_SCATTER)
def tensor_scatter(c: Call, input_x: Value, indices: Value, updates: Value) -> Value:
    """TensorScatterUpdate()(input_x, indices, updates); TensorScatterAdd; Max; Min; Mul"""
    places = c.b.Cast(indices, to="int64")
    return c.b.ScatterND(input_x, places, c.cast(updates, input_x.dtype), reduction=_TENSOR_SCATTER[c.op])


@primitive("TensorScatterSub", "TensorScatterDiv")
def tensor_scatter_inverse(c: Call, input_x: Value, indices: Value, updates: Value) -> Value:
    """TensorScatterSub()(input_x, indices, updates); TensorScatterDiv"""
    places = c.b.Cast(indices, to="int64")
    if c.op == "TensorScatterSub":
        return c.b.ScatterND(input_x, places, c.b.Neg(updates), reduction="add")
    if not input_x.dtype.is_float:
        raise c.unsupported("integers")
    return c.b.ScatterND(input_x, places, c.b.Reciprocal(updates), reduction="mul")


@primitive("TensorScatterElements")
def tensor_scatter_elements(c: Call, data: Value, indices: Value, updates: Value, axis: int, reduce: Any) -> Value:
    """TensorScatterElements(data, indices, updates, axis=0, reduce='none')"""
    return scattered(c, data, indices, updates, c.axis(axis, data.rank), _reduction(c, reduce))


def scattered(c: Call, x: Value, index: Value, src: Value, axis: int, reduction: str) -> Value:
    """`x` with elements of `src` put in or reduced at `index` along an axis."""
    if x.rank == 0:
        flat = scattered(c, c.reshape(x, (1,)), c.reshape(index, (1,)), c.reshape(src, (1,)), 0, reduction)
        return c.reshape(flat, ())
    if src.shape != index.shape:
        for k, (n, m) in enumerate(zip(src.shape, index.shape, strict=True)):
            if n != m:
                src = c.slice(src, k, 0, m)
    return c.b.ScatterElements(x, index, c.cast(src, x.dtype), axis=axis, reduction=reduction)


def _reduction(c: Call, reduce: Any) -> str:
    if reduce not in _REDUCE:
        raise c.unsupported(f"the reduction {reduce!r}")
    return _REDUCE[reduce]


@primitive("Scatter", "ScatterAddExt")
def scatter(c: Call, input: Value, dim: int, index: Value, src: Value, reduce: Any = 1) -> Value:
    """Scatter(input, dim, index, src, reduce='none'); ScatterAddExt(input, dim, index, src)"""
    return scattered(c, input, index, src, c.axis(dim, input.rank), _reduction(c, reduce))


@primitive("ScatterValue")
def scatter_value(c: Call, input: Value, dim: int, index: Value, src: Any, reduce: Any) -> Value:
    """ScatterValue(input, dim, index, src, reduce='none')"""
    value = c.expand(c.tensor(src, input.dtype), index.shape)
    return scattered(c, input, index, value, c.axis(dim, input.rank), _reduction(c, reduce))


def rows(c: Call, x: Value, axis: int, index: Value, source: Value, reduction: str) -> Value:
    """`x` with slices along an axis put in or reduced at the places of a vector."""
    order = [axis, *(k for k in range(x.rank) if k != axis)]
    back = [order.index(k) for k in range(x.rank)]
    places = c.unsqueeze(c.b.Cast(c.reshape(index, (dims.product(index.shape),)), to="int64"), 1)
    moved = c.transpose(source, order)
    done = c.b.ScatterND(c.transpose(x, order), places, c.cast(moved, x.dtype), reduction=reduction)
    return c.transpose(done, back)


@primitive("IndexAddExt")
def index_add_ext(c: Call, input: Value, dim: int, index: Value, source: Value, alpha: Any) -> Value:
    """IndexAddExt(input, dim, index, source, alpha=1)"""
    scaled = source if alpha == 1 else c.b.Mul(source, c.tensor(alpha, source.dtype))
    return rows(c, input, c.axis(dim, input.rank), index, scaled, "add")


@primitive("IndexFill", "IndexFillScalar", "IndexFillTensor")
def index_fill(c: Call, x: Value, dim: Any, index: Value, value: Any) -> Value:
    """IndexFill()(x, dim, index, value); IndexFillScalar(input, dim, index, value)"""
    axis = c.axis(dim, x.rank)
    shape = list(x.shape)
    shape[axis] = dims.product(index.shape)
    source = c.expand(c.reshape(c.tensor(value, x.dtype), ()), shape)
    return rows(c, x, axis, c.b.Cast(index, to="int64"), source, "none")


@primitive("InplaceAdd", "InplaceSub", "InplaceUpdate")
def row_add(c: Call, x: Value, v: Value, indices: Any) -> Value:
    """InplaceAdd(indices)(x, v); InplaceSub(indices)(x, v); InplaceUpdate(indices)(x, v): a new tensor"""
    places = c.b.ints(c.integers(indices, "indices"))
    source = c.b.Neg(v) if c.op == "InplaceSub" else v
    return rows(c, x, 0, places, source, "none" if c.op == "InplaceUpdate" else "add")


@primitive("InplaceUpdateV2")
def row_update(c: Call, x: Value, indices: Any, v: Value) -> Value:
    """InplaceUpdateV2()(x, indices, v): a new tensor"""
    places = indices if isinstance(indices, Value) else c.b.ints(c.integers(indices, "indices"))
    return rows(c, x, 0, places, v, "none")


@primitive("FillDiagonal")
def fill_diagonal(c: Call, input_x: Value, fill_value: float, wrap: bool = False) -> Value:
    """FillDiagonal(fill_value, wrap=False)(input_x)"""
    x, b = input_x, c.b
    if not all(isinstance(s, int) for s in x.shape):
        raise c.unsupported("a diagonal of symbolic size")
    shape = [int(s) for s in x.shape]  # type: ignore[arg-type]
    mask = np.zeros(shape, np.bool_)
    step = sum(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
    stop = mask.size if wrap or len(shape) > 2 else min(mask.size, shape[1] * shape[1])
    mask.reshape(-1)[:stop:step] = True
    return b.Where(b.constant(mask), c.tensor(fill_value, x.dtype), x)


@primitive("OneHot", "OneHotExt", ignores=("T", "TI"))
def one_hot(c: Call, indices: Value, depth: Any, on_value: Any, off_value: Any, axis: int) -> Value:
    """OneHot(indices, depth, on_value, off_value, axis=-1); OneHotExt(tensor, num_classes, ...)"""
    b, dtype = c.b, c.dtype()
    places = b.Cast(indices, to="int64")
    if depth == -1:
        raise c.unsupported("a number of classes that the model finds")
    # an index outside of the range gives a row of off_value, negative ones too
    count = c.size(depth)
    inside = b.And(b.GreaterOrEqual(places, 0), b.Less(places, c.tensor(count, None)))
    held = b.Where(inside, places, b.Cast(b.scalar(count), to="int64"))
    wide = b.OneHot(held, b.scalar(count + 1), b.constant(np.array([0, 1], np.int64)), axis=axis)
    place = axis % (places.rank + 1)
    cut = c.slice(wide, place, 0, count)
    on, off = c.tensor(on_value, dtype), c.tensor(off_value, dtype)
    return b.Where(b.Equal(cut, 1), on, off)


@primitive("MaskedScatter")
def masked_scatter(c: Call, x: Value, mask: Value, source: Value) -> Value:
    """MaskedScatter(x, mask, source)"""
    return c.b.ge.MaskedScatter(x, c.expand(mask, x.shape), source)


@primitive("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin")
def unsorted_segment(c: Call, input_x: Value, segment_ids: Value, num_segments: Any) -> Value:
    """UnsortedSegmentSum(input_x, segment_ids, num_segments); Prod; Max; Min"""
    reduction = {"Sum": "sum", "Prod": "prod", "Max": "max", "Min": "min"}[c.op.removeprefix("UnsortedSegment")]
    count = c.size(num_segments)
    lead = segment_ids.rank
    data = c.reshape(input_x, (dims.product(input_x.shape[:lead]), *input_x.shape[lead:]))
    ids = c.b.Cast(c.reshape(segment_ids, (dims.product(segment_ids.shape),)), to="int64")
    # a negative number stands for no segment: such rows go to one more, which is cut off
    spare = c.b.Where(c.b.Less(ids, 0), c.b.scalar(count), ids)
    found = c.b.ge.SegmentReduce(data, spare, c.b.scalar(count + 1), reduction=reduction)
    return c.slice(found, 0, 0, count)


@primitive("Index", "InnerIndex")
def index(c: Call, input: Value, indices: Sequence[Value | None]) -> Value:
    """Index(input, indices): integer tensors for the first axes, of one shape"""
    given = [i for i in indices if i is not None and i.dtype.is_integer and 0 not in i.shape]
    if len(given) < len(indices) or any(i.shape != given[0].shape for i in given):
        raise c.unsupported("a mask, an empty place or several shapes among the indices")
    parts = [c.unsqueeze(c.b.Cast(i, to="int64"), i.rank) for i in given]
    return c.b.GatherND(input, parts[0] if len(parts) == 1 else c.b.Concat(parts, axis=-1))


@primitive("UnravelIndex")
def unravel_index(c: Call, indices: Value, dims: Value) -> Value:
    """UnravelIndex()(indices, dims): places from places in a row"""
    sizes = c.integers(dims, "dims")
    parts, rest = [], indices
    for size in reversed(sizes):
        parts.append(c.unsqueeze(c.b.ge.FloorMod(rest, c.tensor(size, rest.dtype)), 0))
        rest = c.b.ge.FloorDiv(rest, c.tensor(size, rest.dtype))
    return c.b.Concat(parts[::-1], axis=0) if len(parts) > 1 else parts[0]


@primitive("SequenceMask")
def sequence_mask(c: Call, lengths: Value, maxlen: Any) -> Value:
    """SequenceMask()(lengths, maxlen)"""
    steps = c.b.Range(c.b.constant(np.int64(0)), c.b.scalar(c.size(maxlen)), c.b.constant(np.int64(1)))
    return c.b.Less(steps, c.unsqueeze(c.b.Cast(lengths, to="int64"), lengths.rank))
