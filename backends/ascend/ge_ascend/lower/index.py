"""Gathers and scatters."""

from __future__ import annotations

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int32, int64
from ge_core.ir.graph import Value, constant_of


def _nonnegative(value: Value | None) -> bool:
    """Whether indices are known not to be negative."""
    if value is None:
        return True
    if value.content is not None and all(isinstance(e, int) for e in value.content):
        return all(isinstance(e, int) and e >= 0 for e in value.content)
    constant = constant_of(value)
    if constant is not None:
        return not bool((constant.array() < 0).any())
    return value.dtype.kind == "uint" or (value.producer is not None and value.producer.op in _COUNTING)


_COUNTING = frozenset(
    {"ArgMax", "ArgMin", "NonZero", "TopK", "Shape", "ge.Sort", "ge.SearchSorted", "NonMaxSuppression"}
)


def positive(c: LowerCall, index: int, size: Size) -> Out:
    """Indices with those below zero counted from the end."""
    out = c.as_is(index)
    if out.value.dtype not in (int32, int64):
        out = c.cast(out, int64)
    if _nonnegative(c.node.input(index)):
        return out
    total = c.scalar(size, out.value.dtype)
    return c.op("SelectV2", c.op("Less", out, c.const(0, out.value.dtype)), c.op("Add", out, total), out)


@lowering("Gather")
def gather(c: LowerCall) -> Out:
    axis = c.attr("axis") % c.rank()
    return c.op("GatherV2", c[0], positive(c, 1, c.shape()[axis]), c.const(axis, int64))


@lowering("GatherElements")
def gather_elements(c: LowerCall) -> Out:
    axis = c.attr("axis") % c.rank()
    return c.op("GatherElements", c[0], positive(c, 1, c.shape()[axis]), dim=axis)


@lowering("GatherND")
def gather_nd(c: LowerCall) -> Out:
    """GatherNd knows no batch axes: they become leading indices."""
    batch = c.attr("batch_dims") or 0
    width = c.shape(1)[-1]
    if not isinstance(width, int):
        raise c.refuse("index tuples of a length that is known at run time only")
    indices = _wrapped(c, 1, c.shape()[batch : batch + width])
    if batch == 0:
        return c.op("GatherNd", c[0], indices)
    leading = c.shape(1)[:-1]
    parts = [_positions(c, leading, axis) for axis in range(batch)]
    joined = c.op("ConcatV2", [*parts, indices], c.const(len(leading), int32), N=batch + 1)
    return c.op("GatherNd", c[0], joined)


def _positions(c: LowerCall, sizes: tuple[Size, ...], axis: int) -> Out:
    """For every element of a tensor of these sizes its position along an axis, with a last axis of one."""
    ladder = c.op("Range", c.const(0, int64), c.scalar(sizes[axis]), c.const(1, int64))
    shape: list[Size] = [1] * (len(sizes) + 1)
    shape[axis] = sizes[axis]
    return c.op("BroadcastTo", c.reshape(ladder, shape), c.ints([*sizes, 1]))


def _wrapped(c: LowerCall, index: int, sizes: tuple[Size, ...]) -> Out:
    """Index tuples with negative entries counted from the end of their axes."""
    out = c.cast(c.as_is(index), int64)
    if _nonnegative(c.node.input(index)):
        return out
    below = c.op("Less", out, c.const(0, int64))
    return c.op("SelectV2", below, c.op("Add", out, c.ints(sizes)), out)


@lowering("ScatterElements")
def scatter_elements(c: LowerCall) -> Out:
    axis = c.attr("axis") % c.rank()
    reduction = c.attr("reduction")
    if reduction not in ("none", "add", "mul"):
        raise c.refuse(f"the reduction {reduction}, which no plugin confirms")
    indices = positive(c, 1, c.shape()[axis])
    return c.op("ScatterElements", c[0], indices, c[2], axis=axis, reduction=reduction)


@lowering("ScatterND")
def scatter_nd(c: LowerCall) -> Out:
    """TensorScatterUpdate for replacing; the reducing forms write into their first operand, so it is copied."""
    width = c.shape(1)[-1]
    if not isinstance(width, int):
        raise c.refuse("index tuples of a length that is known at run time only")
    indices = _wrapped(c, 1, c.shape()[:width])
    reduction = c.attr("reduction")
    if reduction == "none":
        return c.op("TensorScatterUpdate", c[0], indices, c[2])
    types = {"add": "ScatterNdAdd", "max": "ScatterNdMax", "min": "ScatterNdMin"}
    if reduction not in types:
        raise c.refuse(f"the reduction {reduction}")
    return c.op(types[reduction], c.op("TensorMove", c[0]), indices, c[2])


@lowering("TensorScatter")
def tensor_scatter(c: LowerCall) -> Out:
    """Rows written at a position of each batch: index tuples of all written places."""
    axis = c.attr("axis") % c.rank()
    if axis == 0:
        raise c.refuse("along the batch axis")
    data, update = c.shape(0), c.shape(1)
    steps = c.op("Range", c.const(0, int64), c.scalar(update[axis]), c.const(1, int64))
    shape: list[Size] = [1] * (axis + 1)
    shape[axis] = update[axis]
    leading = update[: axis + 1]
    places = c.op("BroadcastTo", c.reshape(steps, shape), c.ints(leading))
    if c.node.input(2) is not None:
        start = c.cast(c.as_is(2), int64)
        places = c.op("Add", places, c.reshape(start, [update[0], *[1] * axis]))
    if c.attr("mode") == "circular":
        places = c.op("FloorMod", places, c.scalar(data[axis]))
    parts = [_positions(c, leading, i) for i in range(axis)]
    joined = c.op("ConcatV2", [*parts, c.op("Unsqueeze", places, axes=[axis + 1])], c.const(axis + 1, int32),
                  N=axis + 1)  # fmt: skip
    return c.op("TensorScatterUpdate", c[0], joined, c[1])


@lowering("ge.ScatterReduce")
def scatter_reduce(c: LowerCall) -> Out:
    """Sums and products with the old values; other forms have no operator of their own."""
    axis = c.attr("axis") % c.rank()
    kinds = {"sum": "add", "prod": "mul"}
    reduction = c.attr("reduction")
    indices = positive(c, 1, c.shape()[axis])
    if reduction not in kinds:
        raise c.refuse(f"the reduction {reduction}")
    data = c[0]
    if not c.attr("include_self"):
        neutral = c.op("BroadcastTo", c.const(0 if reduction == "sum" else 1, data.value.dtype), c.ints(c.shape(2)))
        data = c.op("ScatterElements", data, indices, neutral, axis=axis)
    return c.op("ScatterElements", data, indices, c[2], axis=axis, reduction=kinds[reduction])


@lowering("ge.MaskedScatter")
def masked_scatter(c: LowerCall) -> Out:
    """The mask with the sizes of the tensor."""
    mask = c[1]
    if c.shape(1) != c.shape(0):
        mask = c.op("BroadcastTo", mask, c.ints(c.shape(0)))
    return c.op("MaskedScatter", c[0], mask, c[2])


@lowering("ge.SegmentReduce")
def segment_reduce(c: LowerCall) -> Out:
    types = {
        "sum": "UnsortedSegmentSum", "max": "UnsortedSegmentMax", "min": "UnsortedSegmentMin",
        "prod": "UnsortedSegmentProd",
    }  # fmt: skip
    reduction = c.attr("reduction")
    if reduction not in types:
        raise c.refuse(f"the reduction {reduction}")
    size = c.content(2)
    count = c.as_is(2) if size is None else c.scalar(size[0])
    return c.op(types[reduction], c[0], c.as_is(1), count)


@lowering("ge.BinCount")
def bin_count(c: LowerCall) -> Out:
    weights = c.get(1)
    if weights is None:
        weights = c.const(np.zeros(0), int64)
    size = c.content(2)
    count = c.cast(c.as_is(2), int32) if size is None else c.scalar(size[0], int32)
    wanted = c.output_type()
    found = c.ops("Bincount", c.cast(c.as_is(0), int32), count, weights, dtypes={"bins": wanted})[0]
    return c.cast(found, wanted)


@lowering("ge.Inverse")
def inverse(c: LowerCall) -> Out:
    return c.op("MatrixInverse", c[0])


@lowering("ge.Cholesky")
def cholesky(c: LowerCall) -> Out:
    lower = c.op("Cholesky", c[0])
    rank = c.rank()
    return c.transpose(lower, [*range(rank - 2), rank - 1, rank - 2]) if c.attr("upper") else lower


@lowering("ge.Solve")
def solve(c: LowerCall) -> Out:
    return c.op("MatrixSolve", c[0], c[1])


@lowering("Det")
def determinant(c: LowerCall) -> Out:
    return c.op("MatrixDeterminant", c[0])
