"""Gathering, scattering, segments, and positions of elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, INT64, Call
from ..complex_pair import ComplexPair
from ..registry import tf_op
from .constant import scatter_nd

Either = Value | ComplexPair


@tf_op("Gather", complex=True)
def gather_v1(c: Call, params: Either, indices: Value) -> Either:
    """Gather(params, indices) -> output; validate_indices, Tparams, Tindices"""
    if isinstance(params, ComplexPair):
        return ComplexPair(gather(c, params.parts, indices, 0, 0))
    return gather(c, params, indices, 0, 0)


@tf_op("GatherV2", complex=True)
def gather_v2(c: Call, params: Either, indices: Value, axis: Value) -> Either:
    """GatherV2(params, indices, axis) -> output; batch_dims, Tparams, Tindices, Taxis"""
    count = params.parts.rank - 1 if isinstance(params, ComplexPair) else params.rank
    place = c.axis(c.whole(axis, "an axis"), count)
    batch = c.attr("batch_dims")
    batch = batch + indices.rank if batch < 0 else batch
    if isinstance(params, ComplexPair):
        return ComplexPair(gather(c, params.parts, indices, place, batch))
    known = _of_sizes(c, params, indices)
    return gather(c, params, indices, place, batch) if known is None else known


def _of_sizes(c: Call, params: Value, indices: Value) -> Value | None:
    """Elements of a vector of sizes: what shape arithmetic is made of."""
    if params.content is None or params.rank != 1 or indices.rank > 1:
        return None
    places = c.maybe_sizes(indices)
    if places is None:
        return None
    found = []
    for i in places:
        if not isinstance(i, int) or not 0 <= i < len(params.content):
            return None
        found.append(params.content[i])
    return c.size_tensor(found, params.dtype) if indices.rank else c.scalar(found[0], params.dtype)


def gather(c: Call, params: Value, indices: Value, axis: int, batch: int) -> Value:
    """Slices of `params` along an axis; the first `batch` axes of both tensors go together."""
    b = c.b
    if indices.dtype.name not in ("int32", "int64"):
        indices = c.int64(indices)
    if batch == 0:
        return b.Gather(params, indices, axis=axis)
    if axis != batch:
        order = [*range(batch), axis, *(i for i in range(batch, params.rank) if i != axis)]
        moved = gather(c, c.transpose(params, order), indices, batch, batch)
        # [batch.., axes batch..axis-1 and so on, indices..] back to where the axis was
        extra = indices.rank - batch
        outer = axis - batch
        result = [
            *range(batch), *range(batch + extra, batch + extra + outer), *range(batch, batch + extra),
            *range(batch + extra + outer, moved.rank),
        ]  # fmt: skip
        return c.transpose(moved, result)
    return b.GatherND(params, c.unsqueeze(c.int64(indices), indices.rank), batch_dims=batch)


@tf_op("GatherNd")
def gather_nd(c: Call, params: Value, indices: Value) -> Value:
    """GatherNd(params, indices) -> output; Tparams, Tindices, bad_indices_policy"""
    if not isinstance(indices.shape[-1], int):
        raise c.unsupported("indices of an unknown number of axes")
    if indices.shape[-1] == 0:
        return c.expand(params, (*indices.shape[:-1], *params.shape))
    return c.b.GatherND(params, c.int64(indices))


@tf_op("ScatterNd")
def scatter_nd_new(c: Call, indices: Value, updates: Value, shape: Value) -> Value:
    """ScatterNd(indices, updates, shape) -> output; T, Tindices, bad_indices_policy"""
    sizes = c.sizes(shape)
    if sizes is None:
        raise c.unsupported("a shape of unknown rank")
    if updates.dtype == BOOL:
        number = DType.of("int32")
        found = scatter_nd(c, c.full(sizes, 0, number), c.int64(indices), c.cast(updates, number), "Add")
        return c.cast(found, BOOL)
    return scatter_nd(c, c.full(sizes, 0, updates.dtype), c.int64(indices), updates, "Add")


@tf_op("ScatterNdNonAliasingAdd")
def scatter_nd_add(c: Call, input: Value, indices: Value, updates: Value) -> Value:
    """ScatterNdNonAliasingAdd(input, indices, updates) -> output; T, Tindices, bad_indices_policy"""
    return scatter_nd(c, input, c.int64(indices), updates, "Add")


@tf_op("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMin", "TensorScatterMax")
def tensor_scatter(c: Call, tensor: Value, indices: Value, updates: Value) -> Value:
    """TensorScatterUpdate(tensor, indices, updates) -> output; T, Tindices, bad_indices_policy
    TensorScatterAdd(tensor, indices, updates) -> output; T, Tindices, bad_indices_policy
    TensorScatterSub(tensor, indices, updates) -> output; T, Tindices, bad_indices_policy
    TensorScatterMin(tensor, indices, updates) -> output; T, Tindices, bad_indices_policy
    TensorScatterMax(tensor, indices, updates) -> output; T, Tindices, bad_indices_policy
    """
    return scatter_nd(c, tensor, c.int64(indices), updates, c.name.removeprefix("TensorScatter"))


@tf_op("InplaceUpdate", "InplaceAdd", "InplaceSub")
def inplace(c: Call, x: Value, i: Value, v: Value) -> Value:
    """InplaceUpdate(x, i, v) -> y; T
    InplaceAdd(x, i, v) -> y; T
    InplaceSub(x, i, v) -> y; T
    """
    rows = c.unsqueeze(c.int64(i), i.rank)
    return scatter_nd(c, x, rows, v, c.name.removeprefix("Inplace"))


@tf_op("OneHot")
def one_hot(c: Call, indices: Value, depth: Value, on_value: Value, off_value: Value) -> Value:
    """OneHot(indices, depth, on_value, off_value) -> output; axis, T, TI"""
    axis = c.axis(c.attr("axis"), indices.rank + 1)
    return one_hot_of(c, indices, c.size(depth), on_value, off_value, axis)


def one_hot_of(c: Call, indices: Value, depth: Size, on: Value, off: Value, axis: int) -> Value:
    """`on` where the new axis counts the index, `off` elsewhere; indices out of range are nowhere."""
    b = c.b
    numbers = b.Range(b.scalar(0), b.scalar(depth), b.scalar(1))
    shape = [1] * (indices.rank + 1)
    places = c.reshape(numbers, [*shape[:axis], depth, *shape[axis + 1 :]])
    return b.Where(b.Equal(c.unsqueeze(c.int64(indices), axis), places), on, off)


@tf_op("Where")
def where(c: Call, condition: Value) -> Value:
    """Where(input) -> index; T"""
    x = condition if condition.dtype == BOOL else c.b.Not(c.b.Equal(condition, c.like(0, condition)))
    return c.transpose(c.b.NonZero(x), (1, 0))


@tf_op("Unique", "UniqueWithCounts")
def unique(c: Call, x: Value) -> list[Value]:
    """Unique(x) -> y, idx; T, out_idx
    UniqueWithCounts(x) -> y, idx, count; T, out_idx
    """
    return _unique(c, x, None)


@tf_op("UniqueV2", "UniqueWithCountsV2")
def unique_v2(c: Call, x: Value, axis: Value) -> list[Value]:
    """UniqueV2(x, axis) -> y, idx; T, Taxis, out_idx
    UniqueWithCountsV2(x, axis) -> y, idx, count; T, Taxis, out_idx
    """
    axes = c.ints(axis, "an axis")
    return _unique(c, x, axes[0] if axes and x.rank > 1 else None)


def _unique(c: Call, x: Value, axis: int | None) -> list[Value]:
    dtype = c.dtype("out_idx")
    counts = "Counts" in c.name
    values, _, inverse, count = c.b.op("Unique", x, axis=axis, sorted=0, num_outputs=4)
    found = [values, c.cast(inverse, dtype)]
    return [*found, c.cast(count, dtype)] if counts else found


@tf_op("ListDiff")
def list_diff(c: Call, x: Value, y: Value) -> tuple[Value, Value]:
    """ListDiff(x, y) -> out, idx; T, out_idx"""
    b = c.b
    same = b.Equal(c.unsqueeze(x, 1), c.unsqueeze(y, 0))
    hit = b.ReduceMax(b.Concat([same, c.full((x.shape[0], 1), False, BOOL)], axis=1), b.ints(1), keepdims=0)
    places = c.squeeze(c.transpose(b.NonZero(b.Not(hit)), (1, 0)), 1)
    return b.Gather(x, places, axis=0), c.cast(places, c.dtype("out_idx"))


@tf_op("LowerBound", "UpperBound")
def bound(c: Call, sorted_inputs: Value, values: Value) -> Value:
    """LowerBound(sorted_inputs, values) -> output; T, out_type
    UpperBound(sorted_inputs, values) -> output; T, out_type
    """
    found = c.b.ge.SearchSorted(sorted_inputs, values, right=int(c.name == "UpperBound"))
    return c.cast(found, c.dtype("out_type"))


@tf_op("Bucketize")
def bucketize(c: Call, input: Value) -> Value:
    """Bucketize(input) -> output; T, boundaries"""
    float32 = DType.of("float32")
    edges = np.array(c.attr("boundaries"), np.float32)
    flat = c.reshape(c.cast(input, float32), (dims.product(input.shape),))
    found = c.b.ge.SearchSorted(c.b.constant(edges), flat, right=1)
    return c.cast(c.reshape(found, input.shape), DType.of("int32"))


@tf_op("TopKV2")
def top_k_v2(c: Call, input: Value, k: Value) -> list[Value]:
    """TopKV2(input, k) -> values, indices; sorted, T, Tk, index_type"""
    return _top_k(c, input, c.size(k), c.dtype("index_type"))


def _top_k(c: Call, x: Value, k: Size, dtype: DType) -> list[Value]:
    values, places = c.b.TopK(x, c.b.ints(k), axis=-1, largest=1, sorted=1)
    return [values, c.cast(places, dtype)]


@tf_op("ApproxTopK")
def approx_top_k(c: Call, input: Value) -> list[Value]:
    """ApproxTopK(input) -> values, indices; k, reduction_dimension, recall_target, is_max_k,
    reduction_input_size_override, aggregate_to_topk, T
    """
    axis = c.axis(c.attr("reduction_dimension"), input.rank)
    k = c.attr("k")
    values, places = c.b.TopK(input, c.b.ints(k), axis=axis, largest=int(c.attr("is_max_k")), sorted=1)
    return [values, c.cast(places, DType.of("int32"))]


@tf_op("InTopK")
def in_top_k(c: Call, predictions: Value, targets: Value) -> Value:
    """InTopK(predictions, targets) -> precision; k, T"""
    return _in_top_k(c, predictions, targets, c.number(c.attr("k"), INT64))


@tf_op("InTopKV2")
def in_top_k_v2(c: Call, predictions: Value, targets: Value, k: Value) -> Value:
    """InTopKV2(predictions, targets, k) -> precision; T"""
    return _in_top_k(c, predictions, targets, c.int64(k))


def _in_top_k(c: Call, predictions: Value, targets: Value, k: Value) -> Value:
    b = c.b
    classes = b.scalar(predictions.shape[1])
    wide = c.int64(targets)
    inside = b.And(b.GreaterOrEqual(wide, np.int64(0)), b.Less(wide, classes))
    own = b.GatherElements(predictions, c.unsqueeze(b.Where(inside, wide, np.int64(0)), 1), axis=1)
    above = b.ReduceSum(c.cast(b.Greater(predictions, own), INT64), b.ints(1), keepdims=0)
    finite = b.ge.IsFinite(predictions)
    finite = b.ReduceMin(finite, b.ints(1), keepdims=0)
    return b.And(b.And(b.Less(above, k), inside), finite)


# --- segments -----------------------------------------------------------------------------------------------------

_REDUCTIONS = {"Sum": "sum", "Prod": "prod", "Min": "min", "Max": "max", "Mean": "mean"}


@tf_op("SegmentSum", "SegmentProd", "SegmentMin", "SegmentMax", "SegmentMean")
def segment(c: Call, data: Value, segment_ids: Value) -> Value:
    """SegmentSum(data, segment_ids) -> output; T, Tindices
    SegmentProd(data, segment_ids) -> output; T, Tindices
    SegmentMin(data, segment_ids) -> output; T, Tindices
    SegmentMax(data, segment_ids) -> output; T, Tindices
    SegmentMean(data, segment_ids) -> output; T, Tindices
    """
    ids = c.int64(segment_ids)
    count = _segment_count(c, ids)
    return _segments(c, data, ids, count, c.name.removeprefix("Segment"), fill=0)


def _segment_count(c: Call, ids: Value) -> Size:
    known = c.array(ids)
    if known is not None:
        return int(known.max()) + 1 if known.size else 0
    if dims.equal(ids.shape[0], 0) is True:
        return 0
    last = c.b.Add(c.b.ReduceMax(c.b.Concat([ids, c.b.ints(-1)], axis=0), keepdims=0), np.int64(1))
    content = c.b.ge.BindDim(last).content
    assert content is not None
    return content[0]


@tf_op("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMin", "UnsortedSegmentMax")
def unsorted_segment(c: Call, data: Value, segment_ids: Value, num_segments: Value) -> Value:
    """UnsortedSegmentSum(data, segment_ids, num_segments) -> output; T, Tindices, Tnumsegments
    UnsortedSegmentProd(data, segment_ids, num_segments) -> output; T, Tindices, Tnumsegments
    UnsortedSegmentMin(data, segment_ids, num_segments) -> output; T, Tindices, Tnumsegments
    UnsortedSegmentMax(data, segment_ids, num_segments) -> output; T, Tindices, Tnumsegments
    """
    return _unsorted(c, data, segment_ids, c.size(num_segments), c.name.removeprefix("UnsortedSegment"))


@tf_op("SegmentSumV2", "SegmentProdV2", "SegmentMinV2", "SegmentMaxV2")
def segment_v2(c: Call, data: Value, segment_ids: Value, num_segments: Value) -> Value:
    """SegmentSumV2(data, segment_ids, num_segments) -> output; T, Tindices, Tnumsegments
    SegmentProdV2(data, segment_ids, num_segments) -> output; T, Tindices, Tnumsegments
    SegmentMinV2(data, segment_ids, num_segments) -> output; T, Tindices, Tnumsegments
    SegmentMaxV2(data, segment_ids, num_segments) -> output; T, Tindices, Tnumsegments
    """
    kind = c.name.removeprefix("Segment").removesuffix("V2")
    return _unsorted(c, data, segment_ids, c.size(num_segments), kind)


def _unsorted(c: Call, data: Value, segment_ids: Value, count: Size, kind: str) -> Value:
    b = c.b
    ids = c.int64(segment_ids)
    flat = c.reshape(ids, (dims.product(ids.shape),))
    rows = c.reshape(data, (flat.shape[0], *data.shape[ids.rank :]))
    # ids that are negative go to a row behind the last one
    flat = b.Where(b.Less(flat, np.int64(0)), b.scalar(count), flat)
    fill = {"Sum": 0, "Prod": 1, "Min": data.dtype.max, "Max": data.dtype.min}[kind]
    return c.slice(_segments(c, rows, flat, count + 1, kind, fill), 0, 0, count)


def _segments(c: Call, data: Value, ids: Value, count: Size, kind: str, fill: float) -> Value:
    """Rows of `data` reduced for each id; `fill` where there are none."""
    b = c.b
    if kind == "Mean" and data.dtype.is_integer:
        total = b.ge.SegmentReduce(data, ids, b.scalar(count), reduction="sum")
        rows = b.Max([b.ge.BinCount(ids, None, b.scalar(count)), np.int64(1)])
        shape = (count, *[1] * (data.rank - 1))
        return b.ge.TruncDiv(total, c.cast(c.reshape(rows, shape), data.dtype))
    found = b.ge.SegmentReduce(data, ids, b.scalar(count), reduction=_REDUCTIONS[kind])
    if kind in ("Min", "Max") or (kind == "Prod" and fill != 1):
        rows = b.ge.BinCount(ids, None, b.scalar(count))
        some = c.reshape(b.Greater(rows, np.int64(0)), (count, *[1] * (data.rank - 1)))
        empty = {"Prod": 1}.get(kind, fill)
        found = b.Where(some, found, c.like(empty, found))
    return found


@tf_op("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN")
def sparse_segment(c: Call, data: Value, indices: Value, segment_ids: Value) -> Value:
    """SparseSegmentSum(data, indices, segment_ids) -> output; T, Tidx, Tsegmentids, sparse_gradient
    SparseSegmentMean(data, indices, segment_ids) -> output; T, Tidx, Tsegmentids, sparse_gradient
    SparseSegmentSqrtN(data, indices, segment_ids) -> output; T, Tidx, Tsegmentids, sparse_gradient
    """
    ids = c.int64(segment_ids)
    return _sparse_segment(c, data, indices, ids, _segment_count(c, ids))


@tf_op("SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments")
def sparse_segment_counted(c: Call, data: Value, indices: Value, segment_ids: Value, num_segments: Value) -> Value:
    """SparseSegmentSumWithNumSegments(data, indices, segment_ids, num_segments) -> output; T, Tidx, Tnumsegments,
        Tsegmentids, sparse_gradient
    SparseSegmentMeanWithNumSegments(data, indices, segment_ids, num_segments) -> output; T, Tidx, Tnumsegments,
        Tsegmentids, sparse_gradient
    SparseSegmentSqrtNWithNumSegments(data, indices, segment_ids, num_segments) -> output; T, Tidx, Tnumsegments,
        Tsegmentids, sparse_gradient
    """
    return _sparse_segment(c, data, indices, c.int64(segment_ids), c.size(num_segments))


def _sparse_segment(c: Call, data: Value, indices: Value, ids: Value, count: Size) -> Value:
    b = c.b
    rows = b.Gather(data, c.int64(indices), axis=0)
    total = b.ge.SegmentReduce(rows, ids, b.scalar(count), reduction="sum")
    if "Sum" in c.name:
        return total
    number = b.Max([b.ge.BinCount(ids, None, b.scalar(count)), np.int64(1)])
    divisor = c.cast(c.reshape(number, (count, *[1] * (rows.rank - 1))), rows.dtype)
    return b.Div(total, b.Sqrt(divisor) if "Sqrt" in c.name else divisor)


# --- partitions ---------------------------------------------------------------------------------------------------


@tf_op("DynamicPartition")
def dynamic_partition(c: Call, data: Value, partitions: Value) -> list[Value]:
    """DynamicPartition(data, partitions) -> outputs...; num_partitions, T"""
    b = c.b
    total = dims.product(partitions.shape)
    flat = c.reshape(partitions, (total,))
    rows = c.reshape(data, (total, *data.shape[partitions.rank :]))
    found = []
    for i in range(c.attr("num_partitions")):
        found.append(b.Compress(rows, b.Equal(flat, c.like(i, flat)), axis=0))
    return found


@tf_op("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(c: Call, indices: Sequence[Value], data: Sequence[Value]) -> Value:
    """DynamicStitch(indices..., data...) -> merged; N, T
    ParallelDynamicStitch(indices..., data...) -> merged; N, T
    """
    b = c.b
    places, rows = [], []
    for index, part in zip(indices, data, strict=True):
        count = dims.product(index.shape)
        places.append(c.reshape(c.int64(index), (count,)))
        rows.append(c.reshape(part, (count, *part.shape[index.rank :])))
    flat = places[0] if len(places) == 1 else b.Concat(places, axis=0)
    values = rows[0] if len(rows) == 1 else b.Concat(rows, axis=0)
    size = _segment_count(c, flat)
    base = c.full((size, *values.shape[1:]), 0, values.dtype)
    return b.ScatterND(base, c.unsqueeze(flat, 1), values)


@tf_op("Diag")
def diag(c: Call, diagonal: Value) -> Value:
    """Diag(diagonal) -> output; T"""
    b = c.b
    if diagonal.rank == 1:
        return diagonal_matrix(c, diagonal)
    count = dims.product(diagonal.shape)
    found = diagonal_matrix(c, c.reshape(diagonal, (count,)))
    return b.Reshape(found, b.ints([*diagonal.shape, *diagonal.shape]), allowzero=1)


def diagonal_matrix(c: Call, x: Value) -> Value:
    """[.., n] as [.., n, n] with zeros beside the diagonal."""
    b = c.b
    numbers = b.Range(b.scalar(0), b.scalar(x.shape[-1]), b.scalar(1))
    on = b.Equal(c.unsqueeze(numbers, 1), c.unsqueeze(numbers, 0))
    return b.Where(on, c.unsqueeze(x, x.rank), c.like(0, x))


@tf_op("DiagPart")
def diag_part(c: Call, input: Value) -> Value:
    """DiagPart(input) -> diagonal; T"""
    half = input.rank // 2
    count = dims.product(input.shape[:half])
    flat = c.reshape(input, (count * count,))
    numbers = c.b.Range(c.b.scalar(0), c.b.scalar(count), c.b.scalar(1))
    found = c.b.Gather(flat, c.b.Mul(numbers, c.b.scalar(count + 1)), axis=0)
    return c.reshape(found, input.shape[:half])
