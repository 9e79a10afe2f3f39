"""Reductions, sorting, running sums and what finds positions."""

from __future__ import annotations

from functools import partial

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.dtype import int32, int64
from ge_core.ir.graph import Value

REDUCTIONS = {
    "ReduceSum": "ReduceSum", "ReduceMean": "ReduceMean", "ReduceMax": "ReduceMax", "ReduceMin": "ReduceMin",
    "ReduceProd": "ReduceProd", "ReduceLogSumExp": "ReduceLogSumExp", "ReduceLogSum": "ReduceLogSum",
}  # fmt: skip
"""Operators x, axes; keep_dims whose meaning is one operator of the IR."""


def _reduction(c: Call, op: str) -> Value:
    axes = c.numbers("axes")
    if not axes:
        return c["x"]
    result: Value = c.b.op(op, c["x"], c.b.ints(*axes), keepdims=int(c.attr("keep_dims")))
    return result


for _type, _op in REDUCTIONS.items():
    meaning(_type)(partial(_reduction, op=_op))


def _reduction_d(c: Call, op: str) -> Value:
    """The form with the axes as an attribute; none means all."""
    axes = [int(a) for a in c.attr("axes")]
    result: Value = c.b.op(op, c["x"], c.b.ints(*axes) if axes else None, keepdims=int(c.attr("keep_dims")))
    return result


for _name in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
    meaning(f"{_name}D")(partial(_reduction_d, op=_name))


@meaning("ReduceAll")
def reduce_all(c: Call) -> Result:
    """ReduceAll(x, axes; keep_dims) on bool"""
    result: Value = c.b.ReduceMin(c["x"], c.b.ints(*c.numbers("axes")), keepdims=int(c.attr("keep_dims")))
    return result


@meaning("ReduceAny")
def reduce_any(c: Call) -> Result:
    """ReduceAny(x, axes; keep_dims) on bool"""
    result: Value = c.b.ReduceMax(c["x"], c.b.ints(*c.numbers("axes")), keepdims=int(c.attr("keep_dims")))
    return result


@meaning("LpNormV2")
def lp_norm(c: Call) -> Result:
    """LpNormV2(x; p, axes, keepdim, epsilon): p is 1 or 2"""
    if c.attr("p") not in (1.0, 2.0):
        raise c.error(f"p {c.attr('p')} is not supported")
    axes = [int(a) for a in c.attr("axes")]
    result: Value = c.b.op(
        f"ReduceL{int(c.attr('p'))}", c["x"], c.b.ints(*axes) if axes else None, keepdims=int(c.attr("keepdim"))
    )
    return result


@meaning("SquareSumV1")
def square_sum(c: Call) -> Result:
    """SquareSumV1(x; axis, keep_dims)"""
    axes = c.b.ints(*(int(a) for a in c.attr("axis")))
    result: Value = c.b.ReduceSumSquare(c["x"], axes, keepdims=int(c.attr("keep_dims")))
    return result


def _arg(c: Call, op: str) -> Value:
    (axis,) = c.numbers("dimension")
    return c.cast(c.b.op(op, c["x"], axis=axis, keepdims=0), c.dtype_attr("dtype"))


@meaning("ArgMaxV2")
def arg_max(c: Call) -> Result:
    """ArgMaxV2(x, dimension; dtype): the first of equals, the axis is gone"""
    return _arg(c, "ArgMax")


@meaning("ArgMin")
def arg_min(c: Call) -> Result:
    """ArgMin(x, dimension; dtype)"""
    return _arg(c, "ArgMin")


@meaning("TopKV2", "TopK")
def top_k(c: Call) -> Result:
    """TopKV2(x, k; sorted, dim, largest) -> values, indices (int32)"""
    k = c.b.Reshape(c.cast(c["k"], int64), c.b.ints(1))
    values, indices = c.b.TopK(
        c["x"], k, axis=c.attr("dim"), largest=int(c.attr("largest")), sorted=int(c.attr("sorted"))
    )
    return [values, c.cast(indices, int32)]


@meaning("Sort")
def sort(c: Call) -> Result:
    """Sort(x; axis, descending, stable) -> y1, y2 (int32)"""
    values, indices = c.b.ge.Sort(c["x"], axis=c.attr("axis"), descending=int(c.attr("descending")))
    return [values, c.cast(indices, int32)]


@meaning("Cumsum")
def cumsum(c: Call) -> Result:
    """Cumsum(x, axis; exclusive, reverse)"""
    axis = c.b.Reshape(c.cast(c["axis"], int64), c.b.ints([])) if c["axis"].rank else c["axis"]
    result: Value = c.b.CumSum(c["x"], axis, exclusive=int(c.attr("exclusive")), reverse=int(c.attr("reverse")))
    return result


@meaning("Cumprod")
def cumprod(c: Call) -> Result:
    """Cumprod(x, axis; exclusive, reverse)"""
    axis = c.b.Reshape(c.cast(c["axis"], int64), c.b.ints([])) if c["axis"].rank else c["axis"]
    result: Value = c.b.CumProd(c["x"], axis, exclusive=int(c.attr("exclusive")), reverse=int(c.attr("reverse")))
    return result


def _running(c: Call, op: str, axis: str) -> list[Value]:
    values, indices = c.b.op(op, c["x"], axis=c.attr(axis))
    return [values, c.cast(indices, c.dtypes.get("indices", int32))]


@meaning("Cummax")
def cummax(c: Call) -> Result:
    """Cummax(x; dim) -> y, indices"""
    return _running(c, "ge.CumMax", "dim")


@meaning("Cummin")
def cummin(c: Call) -> Result:
    """Cummin(x; axis) -> y, indices"""
    return _running(c, "ge.CumMin", "axis")


@meaning("NonZero")
def non_zero(c: Call) -> Result:
    """NonZero(x; transpose, dtype): transpose gives one row per axis"""
    found = c.b.NonZero(c["x"])
    if not c.attr("transpose"):
        found = c.b.Transpose(found, perm=[1, 0])
    return c.cast(found, c.dtype_attr("dtype"))


@meaning("SearchSorted")
def search_sorted(c: Call) -> Result:
    """SearchSorted(sorted_sequence, values; dtype, right)"""
    found = c.b.ge.SearchSorted(c["sorted_sequence"], c["values"], right=int(c.attr("right")))
    return c.cast(found, c.dtype_attr("dtype"))


@meaning("OneHot")
def one_hot(c: Call) -> Result:
    """OneHot(x, depth, on_value, off_value; axis): rows of indices out of range are all off_value"""
    x, depth = c.cast(c["x"], int64), c.cast(c["depth"], int64)
    if depth.rank:
        depth = c.b.Reshape(depth, c.b.ints([]))
    axis = c.attr("axis")
    ladder = c.b.Range(np.int64(0), depth, np.int64(1))
    rank = x.rank + 1
    at = axis % rank
    shape = [1] * rank
    shape[at] = -1
    hit = c.b.Equal(c.b.Unsqueeze(x, c.b.ints(at)), c.b.Reshape(ladder, c.b.ints(*shape)))
    scalars = [v if v.rank == 0 else c.b.Reshape(v, c.b.ints([])) for v in (c["on_value"], c["off_value"])]
    result: Value = c.b.Where(hit, *scalars)
    return result
