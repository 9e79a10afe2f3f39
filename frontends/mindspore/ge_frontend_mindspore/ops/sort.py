"""Sorting, searching, counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive


def _sorted(c: Call, x: Value, axis: Any, descending: bool) -> tuple[Value, Value]:
    if x.rank == 0:
        return x, c.full((), 0, c.dtype(1))
    if x.dtype.kind == "bool":
        values, places = c.b.ge.Sort(c.b.Cast(x, to="uint8"), axis=c.axis(axis, x.rank), descending=int(descending))
        return c.b.Cast(values, to="bool"), places
    found: tuple[Value, Value] = c.b.ge.Sort(x, axis=c.axis(axis, x.rank), descending=int(descending))
    return found


@primitive("Sort", "SortExt")
def sort(c: Call, input: Value, axis: Any = -1, descending: bool = False, stable: bool = False) -> tuple[Value, Value]:
    """Sort(axis=-1, descending=False)(x); SortExt(input, dim=-1, descending=False, stable=False)"""
    values, places = _sorted(c, input, axis, descending)
    return values, c.cast(places, c.dtype(1))


@primitive("ArgSort")
def arg_sort(c: Call, input: Value, dim: Any, descending: bool, stable: bool) -> Value:
    """ArgSort(input, dim=-1, descending=False, stable=False)"""
    if input.rank == 0:
        return c.full((), 0)
    return c.cast(c.b.ge.Sort(input, axis=c.axis(dim, input.rank), descending=int(descending))[1], c.dtype())


@primitive("TopK")
def top_k(c: Call, input_x: Value, k: Any, sorted: bool = True) -> tuple[Value, Value]:
    """TopK(sorted=True)(input_x, k): of the last axis"""
    return _top(c, input_x, k, -1, True)


@primitive("TopkExt")
def topk_ext(c: Call, input: Value, k: Any, dim: Any, largest: bool, sorted: bool) -> tuple[Value, Value]:
    """TopkExt(input, k, dim=-1, largest=True, sorted=True)"""
    return _top(c, input, k, dim, largest)


def _top(c: Call, x: Value, k: Any, axis: Any, largest: bool) -> tuple[Value, Value]:
    values, places = c.b.TopK(x, c.b.ints(c.size(k)), axis=c.axis(axis, x.rank), largest=int(largest))
    return values, c.cast(places, c.dtype(1))


@primitive("Median", "MedianDim", "Kthvalue", ignores=("ignore_nan",))
def median(
    c: Call, x: Value, first: Any = None, second: Any = None, keepdim: Any = False,
    global_median: bool = False, axis: Any = 0, keep_dims: bool = False,
) -> tuple[Value, Any]:  # fmt: skip
    """Median(global_median=False, axis=0, keep_dims=False, ignore_nan=False)(x); MedianDim(input, dim=-1,
    keepdim=False); Kthvalue(input, k, dim=-1, keepdim=False): value and place"""
    if c.op == "Median":
        if global_median:
            flat = c.reshape(x, (c.count(x, range(x.rank)),))
            return _kth(c, flat, None, 0, False)[0], None
        return _kth(c, x, None, axis, keep_dims)
    if c.op == "MedianDim":
        return _kth(c, x, None, first, bool(second))
    return _kth(c, x, c.integer(first, "k"), second, keepdim)


def _kth(c: Call, x: Value, k: int | None, axis: Any, keep: bool) -> tuple[Value, Any]:
    place = c.axis(axis, x.rank)
    values, places = c.b.ge.Sort(x, axis=place, descending=0)
    size = x.shape[place]
    rank = k - 1 if k is not None else (size - 1) // 2
    at = c.b.ints(rank)
    found = [c.b.Gather(v, at, axis=place) for v in (values, places)]
    if not keep:
        found = [c.squeeze(v, place) for v in found]
    return found[0], c.cast(found[1], c.dtype(1)) if c.results > 1 else None


@primitive("MedianExt")
def median_ext(c: Call, input: Value) -> Value:
    """MedianExt(input): of all elements"""
    return _kth(c, c.reshape(input, (c.count(input, range(input.rank)),)), None, 0, False)[0]


@primitive("SearchSorted")
def search_sorted(c: Call, sorted_sequence: Value, values: Value, sorter: Any, dtype: Any, right: bool) -> Value:
    """SearchSorted(sorted_sequence, values, sorter=None, dtype=int64, right=False)"""
    if sorter is not None:
        sorted_sequence = c.b.GatherElements(sorted_sequence, sorter, axis=-1)
    return c.cast(c.b.ge.SearchSorted(sorted_sequence, values, right=int(right)), c.dtype())


@primitive("Bucketize")
def bucketize(c: Call, input: Value, boundaries: Any, right: bool = False) -> Value:
    """Bucketize(boundaries)(input): how many boundaries are not above each element"""
    edges = c.tensor(tuple(float(e) for e in boundaries), None)
    x = c.cast(input, edges.dtype)
    flat = c.reshape(x, (c.count(x, range(x.rank)),))
    return c.cast(c.reshape(c.b.ge.SearchSorted(edges, flat, right=1), x.shape), c.dtype())


@primitive("Unique", "UniqueConsecutive", "Unique2")
def unique(c: Call, input: Value, first: Any = None, second: Any = None, third: Any = None) -> Any:
    """Unique()(x): elements in the order of their first places, and for each element its number;
    Unique2(input, sorted=True, return_inverse=False, return_counts=False)"""
    if c.op == "UniqueConsecutive":
        raise c.unsupported("runs of equal elements")
    flat = c.reshape(input, (c.count(input, range(input.rank)),))
    is_sorted = int(c.op == "Unique2" and first is True)
    values, _, inverse, counts = c.b.Unique(flat, sorted=is_sorted, num_outputs=4)
    numbers = c.cast(inverse, c.dtype(1))
    if c.op == "Unique":
        return values, c.reshape(numbers, input.shape)
    return values, c.reshape(numbers, input.shape), c.cast(counts, c.dtype(2))


@primitive("Bincount", "BincountExt")
def bincount(c: Call, array: Value, size: Any, weights: Any) -> Value:
    """Bincount()(array, size, weights); BincountExt(input, weights=None, minlength=0)"""
    if c.op == "BincountExt":
        if not array.shape or array.shape[0] == 0:
            return c.full((c.size(weights),), 0)
        most = c.b.Add(c.b.ReduceMax(array, None, keepdims=0), 1)
        count = c.b.Max(c.b.Cast(most, to="int64"), c.tensor(c.size(weights), None))
        return c.cast(c.b.ge.BinCount(array, size, count), c.dtype())
    weighted = None if isinstance(weights, Value) and weights.shape == (0,) else weights
    # elements at or above the size are left out
    total = c.size(size)
    held = c.b.Min(array, c.tensor(c.b.scalar(total), array.dtype))
    found = c.b.ge.BinCount(held, weighted, c.b.scalar(total + 1))
    return c.cast(c.slice(found, 0, 0, total), c.dtype())


@primitive("Histogram", "HistcExt")
def histogram(c: Call, x: Value, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Value:
    """Histogram(bins=100, min=0.0, max=0.0)(x): counts of bins of equal width; others are left out"""
    b = c.b
    flat = b.Cast(c.reshape(x, (c.count(x, range(x.rank)),)), to="float32")
    low, high = c.tensor(float(min), flat.dtype), c.tensor(float(max), flat.dtype)
    if min == max:
        least, most = b.ReduceMin(flat, None, keepdims=0), b.ReduceMax(flat, None, keepdims=0)
        level = b.Equal(least, most)
        low, high = b.Where(level, b.Sub(least, 1.0), least), b.Where(level, b.Add(most, 1.0), most)
    place = b.Floor(b.Div(b.Mul(b.Sub(flat, low), float(bins)), b.Sub(high, low)))
    place = b.Where(b.Equal(flat, high), c.tensor(float(bins - 1), flat.dtype), place)
    inside = b.And(b.GreaterOrEqual(flat, low), b.LessOrEqual(flat, high))
    numbers = b.Where(inside, b.Cast(place, to="int64"), b.constant(np.int64(bins)))
    found = b.ge.BinCount(numbers, None, b.constant(np.int64(bins + 1)))
    return c.cast(c.slice(found, 0, 0, bins), c.dtype())


@primitive("InTopK")
def in_top_k(c: Call, x1: Value, x2: Value, k: int) -> Value:
    """InTopK(k)(x1, x2): whether the class is among the k largest of its row"""
    b = c.b
    places = c.unsqueeze(b.Cast(x2, to="int64"), 1)
    own = b.GatherElements(x1, places, axis=1)
    above = b.ReduceSum(b.Cast(b.Greater(x1, own), to="int64"), b.ints(1), keepdims=0)
    finite = b.ge.IsFinite(c.squeeze(own, 1))
    return b.And(b.Less(above, k), finite)
