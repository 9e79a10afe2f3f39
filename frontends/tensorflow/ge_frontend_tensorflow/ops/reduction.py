"""Reductions, running totals, and the places of extremes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, INT64, Call
from ..complex_pair import ComplexPair
from ..registry import tf_op
from .shape import reversed_

_OPS = {"Sum": "ReduceSum", "Mean": "ReduceMean", "Prod": "ReduceProd", "Max": "ReduceMax", "Min": "ReduceMin",
        "EuclideanNorm": "ReduceL2"}  # fmt: skip


def _axes(c: Call, x: Value, axes: Value) -> list[int]:
    return c.axes(axes, x.rank)


@tf_op("Sum", complex=True)
def sum_(c: Call, input: Value | ComplexPair, reduction_indices: Value) -> Value | ComplexPair:
    """Sum(input, reduction_indices) -> output; keep_dims, T, Tidx"""
    if isinstance(input, ComplexPair):
        axes = c.axes(reduction_indices, input.parts.rank - 1)
        if not axes:
            return input
        return ComplexPair(c.b.ReduceSum(input.parts, c.b.ints(axes), keepdims=int(c.attr("keep_dims"))))
    return _reduced(c, input, reduction_indices)


@tf_op("Max", "Min", "EuclideanNorm")
def reduce_(c: Call, input: Value, reduction_indices: Value) -> Value:
    """Max(input, reduction_indices) -> output; keep_dims, T, Tidx
    Min(input, reduction_indices) -> output; keep_dims, T, Tidx
    EuclideanNorm(input, reduction_indices) -> output; keep_dims, T, Tidx
    """
    return _reduced(c, input, reduction_indices)


def _reduced(c: Call, input: Value, reduction_indices: Value) -> Value:
    axes = _axes(c, input, reduction_indices)
    if not axes and c.name != "EuclideanNorm":
        return input
    if not axes:
        return c.b.Abs(input)
    return c.b.op(_OPS[c.name], input, c.b.ints(axes), keepdims=int(c.attr("keep_dims")))


@tf_op("Prod")
def prod(c: Call, input: Value, reduction_indices: Value) -> Value:
    """Prod(input, reduction_indices) -> output; keep_dims, T, Tidx"""
    axes = _axes(c, input, reduction_indices)
    if input.content is not None and input.rank == 1 and axes == [0]:
        found = dims.product(input.content)
        return c.size_tensor([found], input.dtype) if c.attr("keep_dims") else c.scalar(found, input.dtype)
    return c.b.ReduceProd(input, c.b.ints(axes), keepdims=int(c.attr("keep_dims"))) if axes else input


@tf_op("Mean")
def mean(c: Call, input: Value, reduction_indices: Value) -> Value:
    """Mean(input, reduction_indices) -> output; keep_dims, T, Tidx"""
    axes = _axes(c, input, reduction_indices)
    if not axes:
        return input
    keep = int(c.attr("keep_dims"))
    if input.dtype.is_float:
        return c.b.ReduceMean(input, c.b.ints(axes), keepdims=keep)
    total = c.b.ReduceSum(input, c.b.ints(axes), keepdims=keep)
    return c.b.ge.TruncDiv(total, c.scalar(dims.product(input.shape[a] for a in axes), input.dtype))


@tf_op("All", "Any")
def all_any(c: Call, input: Value, reduction_indices: Value) -> Value:
    """All(input, reduction_indices) -> output; keep_dims, Tidx
    Any(input, reduction_indices) -> output; keep_dims, Tidx
    """
    axes = _axes(c, input, reduction_indices)
    if not axes:
        return input
    op = "ReduceMin" if c.name == "All" else "ReduceMax"
    return c.b.op(op, input, c.b.ints(axes), keepdims=int(c.attr("keep_dims")))


@tf_op("ArgMax", "ArgMin")
def arg_extreme(c: Call, input: Value, dimension: Value) -> Value:
    """ArgMax(input, dimension) -> output; T, Tidx, output_type
    ArgMin(input, dimension) -> output; T, Tidx, output_type
    """
    axis = c.axis(c.whole(dimension, "an axis"), input.rank)
    x = c.cast(input, DType.of("int32")) if input.dtype == BOOL else input
    found = c.b.op(c.name, x, axis=axis, keepdims=0)
    return c.cast(found, c.dtype("output_type"))


def _running(c: Call, x: Value, axis: Value, build: Callable[[Value, int], Value], first: Value) -> Value:
    """A running total in the order and with the start that the node's attributes say.

    Args:
        first: what stands before the first element where the total leaves its own element out.
    """
    place = c.axis(c.whole(axis, "an axis"), x.rank)
    if c.attr("reverse"):
        x = reversed_(c, x, [place])
    total = build(x, place)
    if c.attr("exclusive"):
        n = x.shape[place]
        shape = [*x.shape[:place], 1, *x.shape[place + 1 :]]
        total = c.b.Concat([c.full(shape, first), total], axis=place)
        total = c.slice(total, place, 0, n)
    return reversed_(c, total, [place]) if c.attr("reverse") else total


@tf_op("Cumsum")
def cumsum(c: Call, x: Value, axis: Value) -> Value:
    """Cumsum(x, axis) -> out; exclusive, reverse, T, Tidx"""
    place = c.axis(c.whole(axis, "an axis"), x.rank)
    attrs = {"exclusive": int(c.attr("exclusive")), "reverse": int(c.attr("reverse"))}
    return c.b.CumSum(x, c.b.constant(np.int64(place)), **attrs)


@tf_op("Cumprod")
def cumprod(c: Call, x: Value, axis: Value) -> Value:
    """Cumprod(x, axis) -> out; exclusive, reverse, T, Tidx"""
    place = c.axis(c.whole(axis, "an axis"), x.rank)
    attrs = {"exclusive": int(c.attr("exclusive")), "reverse": int(c.attr("reverse"))}
    return c.b.CumProd(x, c.b.constant(np.int64(place)), **attrs)


@tf_op("CumulativeLogsumexp")
def cumulative_logsumexp(c: Call, x: Value, axis: Value) -> Value:
    """CumulativeLogsumexp(x, axis) -> out; exclusive, reverse, T, Tidx"""
    first = c.like(float("-inf"), x)
    return _running(c, x, axis, lambda v, place: c.b.ge.LogCumSumExp(v, axis=place), first)


@tf_op("Bincount")
def bincount(c: Call, arr: Value, size: Value, weights: Value) -> Value:
    """Bincount(arr, size, weights) -> bins; T"""
    return _counted(c, c.reshape(arr, (dims.product(arr.shape),)), size, weights, c.dtype("T"), False)


@tf_op("DenseBincount")
def dense_bincount(c: Call, input: Value, size: Value, weights: Value) -> Value:
    """DenseBincount(input, size, weights) -> output; Tidx, T, binary_output"""
    binary = c.attr("binary_output")
    dtype = c.dtype("T")
    if input.rank == 1:
        return _counted(c, input, size, weights, dtype, binary)
    b = c.b
    rows, count = input.shape[0], c.size(size)
    wide = c.int64(input)
    inside = b.And(b.GreaterOrEqual(wide, np.int64(0)), b.Less(wide, b.scalar(count)))
    first = b.Mul(b.Range(b.scalar(0), b.scalar(rows), b.scalar(1)), b.scalar(count))
    total = rows * count
    places = b.Where(inside, b.Add(wide, c.unsqueeze(first, 1)), b.scalar(total))
    flat = c.reshape(places, (dims.product(input.shape),))
    given = weights.tensor.elements
    amounts = None if dims.equal(given, 0) is True else c.reshape(weights, flat.shape)
    found = _bins(c, flat, amounts, total, dtype, binary)
    return c.reshape(found, (rows, count))


def _counted(c: Call, x: Value, size: Value, weights: Value, dtype: DType, binary: bool) -> Value:
    b = c.b
    count = c.size(size)
    wide = c.int64(x)
    inside = b.And(b.GreaterOrEqual(wide, np.int64(0)), b.Less(wide, b.scalar(count)))
    places = b.Where(inside, wide, b.scalar(count))
    amounts = None if dims.equal(weights.tensor.elements, 0) is True else c.reshape(weights, x.shape)
    return _bins(c, places, amounts, count, dtype, binary)


def _bins(c: Call, places: Value, amounts: Value | None, count: dims.Size, dtype: DType, binary: bool) -> Value:
    """Counts or sums for each bin; the bin behind the last one takes what does not count."""
    b = c.b
    if binary or amounts is None:
        found = b.ge.BinCount(places, None, b.scalar(count + 1))
        if binary:
            found = c.cast(b.Greater(found, np.int64(0)), INT64)
    else:
        found = b.ge.BinCount(places, amounts, b.scalar(count + 1))
    return c.cast(c.slice(found, 0, 0, count), dtype)


@tf_op("HistogramFixedWidth")
def histogram_fixed_width(c: Call, values: Value, value_range: Value, nbins: Value) -> Value:
    """HistogramFixedWidth(values, value_range, nbins) -> out; T, dtype"""
    b = c.b
    count = c.size(nbins)
    low, high = (b.Gather(value_range, np.int64(i), axis=0) for i in (0, 1))
    flat = c.reshape(values, (dims.product(values.shape),))
    bins = c.scalar(count, values.dtype)
    step = b.Div(b.Sub(high, low), bins)
    places = c.cast(b.Floor(b.Div(b.Sub(flat, low), step)), INT64)
    places = b.Min([b.Max([places, np.int64(0)]), b.scalar(count - 1)])
    found = b.ge.BinCount(places, None, b.scalar(count))
    return c.cast(found, c.dtype("dtype"))
