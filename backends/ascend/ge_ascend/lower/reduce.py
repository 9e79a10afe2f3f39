"""Reductions, sorting, running sums and what finds positions."""

from __future__ import annotations

from functools import partial

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.dtype import boolean, float32, int32, int64

_BOOL = {"ReduceMax": "ReduceAny", "ReduceMin": "ReduceAll"}


def axes_of(c: LowerCall) -> list[int] | None:
    """The reduced axes, None when nothing is reduced."""
    rank = c.rank()
    if c.node.input(1) is None:
        return None if c.attr("noop_with_empty_axes") else list(range(rank))
    axes = c.known(1)
    if not axes:
        return None if c.attr("noop_with_empty_axes") else list(range(rank))
    return sorted(a % rank for a in axes)


def _reduction(c: LowerCall, type: str) -> Out:
    axes = axes_of(c)
    if axes is None or not axes:
        return c.op("Identity", c[0])
    if c.input(0).dtype == boolean:
        type = _BOOL.get(type, type)
    return c.op(type, c[0], c.ints(axes), keep_dims=bool(c.attr("keepdims")))


for _name in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
    lowering(_name)(partial(_reduction, type=_name))


@lowering("ReduceLogSumExp")
def reduce_log_sum_exp(c: LowerCall) -> Out:
    """By its decomposition, which takes the maximum out first."""
    return c.expand()[0]


@lowering("ReduceLogSum")
def reduce_log_sum(c: LowerCall) -> Out:
    return c.op("Log", _reduction(c, "ReduceSum"))


@lowering("ReduceL1", "ReduceL2")
def reduce_norm(c: LowerCall) -> Out:
    """Sums of magnitudes or squares: LpNormV2 adds an epsilon of its own in some releases."""
    axes = axes_of(c)
    one = c.node.op == "ReduceL1"
    if axes is None or not axes:
        return c.op("Abs", c[0])
    part = c.op("Abs", c[0]) if one else c.op("Square", c[0])
    total = c.op("ReduceSum", part, c.ints(axes), keep_dims=bool(c.attr("keepdims")))
    return total if one else c.op("Sqrt", total)


@lowering("ReduceSumSquare")
def reduce_sum_square(c: LowerCall) -> Out:
    axes = axes_of(c)
    square = c.op("Square", c[0])
    return square if not axes else c.op("ReduceSum", square, c.ints(axes), keep_dims=bool(c.attr("keepdims")))


@lowering("GlobalAveragePool")
def global_average_pool(c: LowerCall) -> Out:
    return c.op("ReduceMean", c[0], c.ints(range(2, c.rank())), keep_dims=True)


@lowering("GlobalMaxPool")
def global_max_pool(c: LowerCall) -> Out:
    return c.op("ReduceMax", c[0], c.ints(range(2, c.rank())), keep_dims=True)


@lowering("ArgMax", "ArgMin")
def arg_max(c: LowerCall) -> Out:
    """The first of equals; the last one counts from the end of the reversed axis."""
    axis = c.attr("axis") % c.rank()
    type = "ArgMaxV2" if c.node.op == "ArgMax" else "ArgMin"
    x = c[0]
    last = c.attr("select_last_index")
    if last:
        x = c.op("ReverseV2", x, c.ints([axis]))
    found = c.op(type, x, c.const(axis, int64), dtype=int64.ge_memory)
    if last:
        found = c.op("Sub", c.scalar(c.shape()[axis] - 1), found)
    return c.op("Unsqueeze", found, axes=[axis]) if c.attr("keepdims") else found


@lowering("TopK")
def top_k(c: LowerCall) -> list[Out]:
    k = c.content(1)
    count = c.reshape(c.cast(c.as_is(1), int32), []) if k is None else c.scalar(k[0], int32)
    values, indices = c.ops(
        "TopKV2", c[0], count, sorted=bool(c.attr("sorted")), dim=c.attr("axis") % c.rank(),
        largest=bool(c.attr("largest")),
    )  # fmt: skip
    return [values, c.cast(indices, int64)]


@lowering("ge.Sort")
def sort(c: LowerCall) -> list[Out]:
    values, indices = c.ops("Sort", c[0], axis=c.attr("axis"), descending=bool(c.attr("descending")), stable=True)
    return [values, c.cast(indices, int64)]


@lowering("CumSum", "CumProd")
def cumsum(c: LowerCall) -> Out:
    axis = c.const(c.known(1)[0] % c.rank(), int64)
    type = "Cumsum" if c.node.op == "CumSum" else "Cumprod"
    return c.op(type, c[0], axis, exclusive=bool(c.attr("exclusive")), reverse=bool(c.attr("reverse")))


@lowering("ge.CumMax", "ge.CumMin")
def running(c: LowerCall) -> list[Out]:
    axis = c.attr("axis") % c.rank()
    if c.node.op == "ge.CumMax":
        values, indices = c.ops("Cummax", c[0], dim=axis)
    else:
        values, indices = c.ops("Cummin", c[0], axis=axis)
    return [values, c.cast(indices, int64)]


@lowering("ge.LogCumSumExp")
def log_cum_sum_exp(c: LowerCall) -> Out:
    """log of the running sum of exp(x - m), plus m, with m the largest of the axis, in float32"""
    axis = c.attr("axis") % c.rank()
    x = c.cast(c[0], float32)
    most = c.op("ReduceMax", x, c.ints([axis]), keep_dims=True)
    total = c.op("Cumsum", c.op("Exp", c.op("Sub", x, most)), c.const(axis, int64))
    return c.cast(c.op("Add", c.op("Log", total), most), c[0].value.dtype)


@lowering("NonZero")
def non_zero(c: LowerCall) -> Out:
    return c.op("NonZero", c[0], transpose=True, dtype=int64.ge_memory)


@lowering("ge.SearchSorted")
def search_sorted(c: LowerCall) -> Out:
    return c.op("SearchSorted", c[0], c[1], dtype=int64.ge_memory, right=bool(c.attr("right")))


@lowering("OneHot")
def one_hot(c: LowerCall) -> Out:
    """Negative indices count from the end; OneHot leaves rows of others off."""
    depth = c.content(1)
    size = c.reshape(c.cast(c.as_is(1), int64), []) if depth is None else c.scalar(depth[0])
    x = c.as_is(0)
    if not x.value.dtype.is_integer:
        x = c.cast(x, int64)
    wide = c.cast(x, int64)
    shifted = c.op("SelectV2", c.op("Less", wide, c.const(0, int64)), c.op("Add", wide, size), wide)
    values = c[2]
    off, on = (c.reshape(c.op("GatherV2", values, c.const([i], int64), c.const(0, int64)), []) for i in range(2))
    return c.op("OneHot", shifted, c.cast(size, int32), on, off, axis=_axis(c))


def _axis(c: LowerCall) -> int:
    axis = int(c.attr("axis"))
    rank = c.rank() + 1
    return -1 if axis % rank == rank - 1 else axis % rank


@lowering("Compress")
def compress(c: LowerCall) -> Out:
    """The positions where the condition holds, gathered."""
    axis = c.attr("axis")
    x = c[0]
    if axis is None:
        x, axis = c.reshape(x, [-1]), 0
    places = c.op("NonZero", c[1], transpose=True, dtype=int64.ge_memory)
    return c.op("GatherV2", x, c.reshape(places, [-1]), c.const(axis % max(c.rank(), 1), int64))


@lowering("Unique")
def unique(c: LowerCall) -> list[Out | None]:
    """UniqueWithCountsAndSorting tells no first positions."""
    outputs = c.node.outputs
    if c.attr("axis") is not None and c.rank() > 1:
        raise c.refuse("along one axis")
    if len(outputs) > 1 and outputs[1].has_uses:
        raise c.refuse("the positions of first occurrences")
    y, inverse, counts = c.ops(
        "UniqueWithCountsAndSorting", c[0], return_inverse=True, return_counts=True, sorted=bool(c.attr("sorted")),
        count=3,
    )  # fmt: skip
    first = c.const(np.zeros(0), int64) if len(outputs) > 1 else None
    return [y, first, c.reshape(inverse, [-1]), counts][: len(outputs)]
