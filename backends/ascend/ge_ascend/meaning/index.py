"""Gathers and scatters."""

from __future__ import annotations

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.dtype import int64
from ge_core.ir.graph import Value


@meaning("GatherV2")
def gather(c: Call) -> Result:
    """GatherV2(x, indices, axis; batch_dims)"""
    (axis,) = c.numbers("axis")
    if c.attr("batch_dims"):
        raise c.error("batch_dims is not supported")
    result: Value = c.b.Gather(c["x"], c["indices"], axis=axis)
    return result


@meaning("Gather")
def gather_rows(c: Call) -> Result:
    """Gather(x, indices; batch_dims)"""
    result: Value = c.b.Gather(c["x"], c["indices"], axis=0)
    return result


@meaning("GatherElements")
def gather_elements(c: Call) -> Result:
    """GatherElements(x, index; dim)"""
    result: Value = c.b.GatherElements(c["x"], c["index"], axis=c.attr("dim"))
    return result


@meaning("GatherNd")
def gather_nd(c: Call) -> Result:
    """GatherNd(x, indices)"""
    result: Value = c.b.GatherND(c["x"], c.cast(c["indices"], int64))
    return result


@meaning("ScatterElements", "ScatterElementsV2")
def scatter_elements(c: Call) -> Result:
    """ScatterElements(data, indices, updates; axis, reduction)"""
    data = c["data"] if "data" in c.inputs else c["var"]
    result: Value = c.b.ScatterElements(
        data, c["indices"], c["updates"], axis=c.attr("axis"), reduction=c.attr("reduction")
    )
    return result


def _scatter_nd(c: Call, reduction: str) -> Value:
    target = c["var"] if "var" in c.inputs else c["x"]
    result: Value = c.b.ScatterND(target, c.cast(c["indices"], int64), c["updates"], reduction=reduction)
    return result


@meaning("ScatterNdUpdate", "TensorScatterUpdate")
def scatter_nd_update(c: Call) -> Result:
    """ScatterNdUpdate(var, indices, updates)"""
    return _scatter_nd(c, "none")


@meaning("ScatterNdAdd")
def scatter_nd_add(c: Call) -> Result:
    """ScatterNdAdd(var, indices, updates)"""
    return _scatter_nd(c, "add")


@meaning("ScatterNdMax")
def scatter_nd_max(c: Call) -> Result:
    """ScatterNdMax(var, indices, updates)"""
    return _scatter_nd(c, "max")


@meaning("ScatterNdMin")
def scatter_nd_min(c: Call) -> Result:
    """ScatterNdMin(var, indices, updates)"""
    return _scatter_nd(c, "min")


@meaning("MaskedScatter")
def masked_scatter(c: Call) -> Result:
    """MaskedScatter(x, mask, updates)"""
    result: Value = c.b.ge.MaskedScatter(c["x"], c["mask"], c["updates"])
    return result


@meaning("RepeatInterleave")
def repeat_interleave(c: Call) -> Result:
    """RepeatInterleave(x, repeats; axis)"""
    repeats = c.cast(c["repeats"], int64)
    if repeats.rank and repeats.shape == (1,):
        repeats = c.b.Reshape(repeats, c.b.ints([]))
    result: Value = c.b.ge.RepeatInterleave(c["x"], repeats, axis=c.attr("axis"))
    return result


@meaning("UnsortedSegmentSum")
def segment_sum(c: Call) -> Result:
    """UnsortedSegmentSum(x, segment_ids, num_segments)"""
    return _segments(c, "sum")


@meaning("UnsortedSegmentMax")
def segment_max(c: Call) -> Result:
    """UnsortedSegmentMax(x, segment_ids, num_segments)"""
    return _segments(c, "max")


@meaning("UnsortedSegmentMin")
def segment_min(c: Call) -> Result:
    """UnsortedSegmentMin(x, segment_ids, num_segments)"""
    return _segments(c, "min")


@meaning("UnsortedSegmentProd")
def segment_prod(c: Call) -> Result:
    """UnsortedSegmentProd(x, segment_ids, num_segments)"""
    return _segments(c, "prod")


def _segments(c: Call, reduction: str) -> Value:
    size = c.cast(c["num_segments"], int64)
    if size.rank:
        size = c.b.Reshape(size, c.b.ints([]))
    result: Value = c.b.ge.SegmentReduce(c["x"], c["segment_ids"], size, reduction=reduction)
    return result


@meaning("Bincount")
def bincount(c: Call) -> Result:
    """Bincount(array, size, weights)"""
    size = c.cast(c["size"], int64)
    if size.rank:
        size = c.b.Reshape(size, c.b.ints([]))
    weights = c.get("weights")
    if weights is not None and 0 in weights.shape:
        weights = None
    found: Value = c.b.ge.BinCount(c["array"], weights, size)
    return c.as_stated(found, "bins")


@meaning("UniqueWithCountsAndSorting")
def unique(c: Call) -> Result:
    """UniqueWithCountsAndSorting(x; return_inverse, return_counts, sorted) -> y, indices, counts"""
    flat = c.b.Reshape(c["x"], c.b.ints(-1))
    y, _, inverse, counts = c.b.Unique(flat, sorted=int(c.attr("sorted")), num_outputs=4)
    inverse = c.b.Reshape(inverse, c.b.Shape(c["x"]))
    return [y, inverse, counts]


@meaning("MatrixInverse")
def inverse(c: Call) -> Result:
    """MatrixInverse(x; adjoint)"""
    _plain(c)
    result: Value = c.b.ge.Inverse(c["x"])
    return result


@meaning("Cholesky")
def cholesky(c: Call) -> Result:
    """Cholesky(x): the lower factor"""
    result: Value = c.b.ge.Cholesky(c["x"])
    return result


@meaning("MatrixSolve")
def solve(c: Call) -> Result:
    """MatrixSolve(matrix, rhs; adjoint)"""
    _plain(c)
    result: Value = c.b.ge.Solve(c["matrix"], c["rhs"])
    return result


def _plain(c: Call) -> None:
    if c.attr("adjoint"):
        raise c.error("the adjoint form is not supported")


@meaning("MatrixDeterminant")
def determinant(c: Call) -> Result:
    """MatrixDeterminant(x)"""
    result: Value = c.b.Det(c["x"])
    return result


@meaning("Const", "Constant")
def const(c: Call) -> Result:
    """Const(; value): an array by the time it is asked"""
    value = c.attr("value")
    if not isinstance(value, np.ndarray):
        raise c.error("the attribute value is no tensor")
    result: Value = c.b.constant(value)
    return result
