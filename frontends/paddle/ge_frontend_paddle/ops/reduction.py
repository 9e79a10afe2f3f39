"""Reductions, cumulative operators and statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, FLOAT32, INT32, INT64, Call, Sizes
from ..registry import pd


def reduce(c: Call, op: str, x: Value, axes: Sequence[int], keepdim: bool) -> Value:
    """A reduction over axes; over all of them for none."""
    if not x.rank:
        return c.b.op(op, c.reshape(x, (1,)), c.b.ints(0), keepdims=0)
    return c.b.op(op, x, c.b.ints(c.axes(axes, x.rank)), keepdims=int(keepdim))


def _axes(c: Call, axis: Sizes | None) -> list[int]:
    return [] if axis is None else c.known_ints(axis, "axes")


@pd("sum")
def sum_(c: Call, x: Value, axis: Sizes | None = None, *, dtype: DType | None = None, keepdim: bool = False) -> Value:
    """sum(x, axis, *, dtype=phi::DataType::UNDEFINED, keepdim=false) -> out"""
    return reduce(c, "ReduceSum", c.cast(x, c.dtype()), _axes(c, axis), keepdim)


@pd("nansum")
def nansum(c: Call, x: Value, *, axis: Sequence[int] = (), dtype: DType | None = None, keepdim: bool = False) -> Value:
    """nansum(x, *, axis={}, dtype=phi::DataType::UNDEFINED, keepdim=false) -> out"""
    if x.dtype.is_float:
        x = c.b.Where(c.b.IsNaN(x), c.scalar(0, x.dtype), x)
    return reduce(c, "ReduceSum", c.cast(x, c.dtype()), axis, keepdim)


@pd("mean")
def mean(c: Call, x: Value, axis: Sizes | None = None, *, keepdim: bool = False) -> Value:
    """mean(x, axis, *, keepdim=false) -> out"""
    return reduce(c, "ReduceMean", c.cast(x, c.dtype()), _axes(c, axis), keepdim)


@pd("mean_all")
def mean_all(c: Call, x: Value) -> Value:
    """mean_all(x) -> out"""
    return reduce(c, "ReduceMean", x, (), False)


@pd("prod")
def prod(c: Call, x: Value, axis: Sizes | None = None, *, keepdim: bool = False, reduce_all: bool = False) -> Value:
    """prod(x, axis, *, keepdim, reduce_all) -> out"""
    return reduce(c, "ReduceProd", x, () if reduce_all else _axes(c, axis), keepdim)


def _extreme(c: Call, op: str, x: Value, axes: Sequence[int], keepdim: bool) -> Value:
    """ReduceMax or ReduceMin; bools order as 0 and 1."""
    if x.dtype.kind == "bool":
        return c.cast(reduce(c, op, c.cast(x, INT32), axes, keepdim), BOOL)
    return reduce(c, op, x, axes, keepdim)


@pd("max", "min")
def max_(c: Call, x: Value, axis: Sizes | None = None, *, keepdim: bool = False) -> Value:
    """max(x, axis, *, keepdim=false) -> out
    min(x, axis, *, keepdim=false) -> out
    """
    return _extreme(c, "ReduceMax" if c.name == "max" else "ReduceMin", x, _axes(c, axis), keepdim)


@pd("amax", "amin")
def amax(c: Call, x: Value, *, axis: Sequence[int] = (), keepdim: bool = False) -> Value:
    """amax(x, *, axis={}, keepdim=false) -> out
    amin(x, *, axis={}, keepdim=false) -> out
    """
    return _extreme(c, "ReduceMax" if c.name == "amax" else "ReduceMin", x, axis, keepdim)


@pd("any", "all")
def any_(c: Call, x: Value, *, axis: Sequence[int] = (), keepdim: bool = False) -> Value:
    """any(x, *, axis={}, keepdim=false) -> out
    all(x, *, axis={}, keepdim=false) -> out
    """
    numbers = c.b.Cast(c.cast(x, BOOL), to=INT32)
    return c.b.Greater(reduce(c, "ReduceMax" if c.name == "any" else "ReduceMin", numbers, axis, keepdim), 0)


@pd("logsumexp")
def logsumexp(c: Call, x: Value, *, axis: Sequence[int] = (), keepdim: bool = False, reduce_all: bool = False) -> Value:
    """logsumexp(x, *, axis={}, keepdim=false, reduce_all=false) -> out"""
    return reduce(c, "ReduceLogSumExp", c.cast(x, c.dtype()), () if reduce_all else axis, keepdim)


@pd("squared_l2_norm", "l1_norm")
def whole_norm(c: Call, x: Value) -> Value:
    """squared_l2_norm(x) -> out
    l1_norm(x) -> out
    """
    found = reduce(c, "ReduceSumSquare" if c.name == "squared_l2_norm" else "ReduceL1", x, (), False)
    return c.reshape(found, (1,)) if len(c.result_tensor().shape) == 1 else found


@pd("frobenius_norm")
def frobenius_norm(
    c: Call, x: Value, axis: Sizes | None = None, *, keep_dim: bool = False, reduce_all: bool = False
) -> Value:
    """frobenius_norm(x, axis, *, keep_dim, reduce_all) -> out"""
    return reduce(c, "ReduceL2", x, () if reduce_all else _axes(c, axis), keep_dim)


def norm_of(c: Call, x: Value, order: float, axes: Sequence[int], keepdim: bool) -> Value:
    """(sum |x|^order)^(1/order), with the limits at 0 and the infinities."""
    b = c.b
    if order in (1, 2):
        return reduce(c, f"ReduceL{int(order)}", x, axes, keepdim)
    if math.isinf(order):
        return reduce(c, "ReduceMax" if order > 0 else "ReduceMin", b.Abs(x), axes, keepdim)
    if order == 0:
        nonzero = b.Cast(b.Not(b.Equal(x, 0.0)), to=x.dtype)
        return reduce(c, "ReduceSum", nonzero, axes, keepdim)
    total = reduce(c, "ReduceSum", b.Pow(b.Abs(x), float(order)), axes, keepdim)
    return b.Pow(total, 1 / float(order))


@pd("p_norm", ignores=("epsilon",))
def p_norm(
    c: Call, x: Value, *, porder: float = 2.0, axis: int = -1, keepdim: bool = False, asvector: bool = False
) -> Value:
    """p_norm(x, *, porder=2, axis=-1, epsilon=1.0e-12f, keepdim=false, asvector=false) -> out"""
    axes = [] if asvector or not x.rank else [c.axis(axis, x.rank)]
    return norm_of(c, x, porder, axes, keepdim)


@pd("norm")
def norm(c: Call, x: Value, *, axis: int, epsilon: float, is_test: bool = False) -> tuple[Value, Value]:
    """norm(x, *, axis, epsilon, is_test) -> out, norm"""
    b = c.b
    squares = b.ReduceSumSquare(x, b.ints(c.axis(axis, x.rank)), keepdims=1)
    length = b.Sqrt(b.Add(squares, c.scalar(epsilon, x.dtype)))
    return b.Div(x, length), length


@pd("dist")
def dist(c: Call, x: Value, y: Value, *, p: float = 2.0) -> Value:
    """dist(x, y, *, p=2.0) -> out"""
    return norm_of(c, c.b.Sub(x, y), p, (), False)


def spread(c: Call, x: Value, axes: Sequence[int], keepdim: bool, correction: float) -> Value:
    """The sum of squared distances from the mean over n - correction."""
    b = c.b
    wide = c.wide(c.reshape(x, (1,)) if not x.rank else x)
    over = c.axes(axes, wide.rank) if x.rank else [0]
    distance = b.Sub(wide, b.ReduceMean(wide, b.ints(over), keepdims=1))
    total = b.ReduceSum(b.Mul(distance, distance), b.ints(over), keepdims=int(keepdim and bool(x.rank)))
    count = dims.product(wide.shape[axis] for axis in over)
    samples = b.Max(b.Sub(c.scalar(count, wide.dtype), float(correction)), c.scalar(0, wide.dtype))
    if isinstance(count, int):
        samples = c.scalar(max(count - correction, 0), wide.dtype)
    return b.Div(total, samples)


@pd("var", "std", "variance")
def var(
    c: Call,
    x: Value,
    *,
    axis: Sequence[int] = (),
    keepdim: bool = False,
    unbiased: bool = True,
    correction: float = 1.0,
) -> Value:
    """var(x, *, axis={}, keepdim=false, unbiased=true, correction=1) -> out
    std(x, *, axis={}, keepdim=false, unbiased=true, correction=1) -> out
    variance(x, *, axis={}, keepdim=false) -> out
    """
    less = 0.0 if c.name == "variance" else float(correction) if unbiased else 0.0
    found = spread(c, x, axis, keepdim, less)
    return c.cast(c.b.Sqrt(found) if c.name == "std" else found, c.dtype())


@pd("argmax", "argmin")
def argmax(
    c: Call,
    x: Value,
    axis: Value | None = None,
    *,
    keepdims: bool = False,
    flatten: bool = False,
    dtype: DType | None = None,
) -> Value:
    """argmax(x, axis, *, keepdims=false, flatten=false, dtype=phi::DataType::INT64) -> out
    argmin(x, axis, *, keepdims=false, flatten=false, dtype=phi::DataType::INT64) -> out
    """
    op = "ArgMax" if c.name == "argmax" else "ArgMin"
    if flatten or not x.rank:
        place = c.b.op(op, c.flat(x), axis=0, keepdims=0)
        return c.cast(c.reshape(place, [1] * x.rank) if keepdims else place, c.dtype())
    return c.cast(c.b.op(op, x, axis=c.axis_of(axis, x.rank), keepdims=int(keepdims)), c.dtype())


@pd("cumsum")
def cumsum(
    c: Call,
    x: Value,
    axis: Value | None = None,
    *,
    flatten: bool = False,
    exclusive: bool = False,
    reverse: bool = False,
) -> Value:
    """cumsum(x, axis, *, flatten=false, exclusive=false, reverse=false) -> out"""
    x = c.cast(x, c.dtype())
    if flatten:
        x = c.flat(x)
    if not x.rank:
        return c.full((), 0, x.dtype) if exclusive else x
    at = 0 if flatten else c.axis_of(axis, x.rank)
    return c.b.CumSum(x, c.b.scalar(at), exclusive=int(exclusive), reverse=int(reverse))


@pd("cumprod")
def cumprod(c: Call, x: Value, *, dim: int, exclusive: bool = False, reverse: bool = False) -> Value:
    """cumprod(x, *, dim, exclusive=false, reverse=false) -> out"""
    if not x.rank:
        return x
    at = c.b.scalar(c.axis(dim, x.rank))
    return c.b.CumProd(x, at, exclusive=int(exclusive), reverse=int(reverse))


@pd("cummax", "cummin")
def cummax(c: Call, x: Value, *, axis: int = -1, dtype: DType | None = None) -> tuple[Value, Value]:
    """cummax(x, *, axis=-1, dtype=phi::DataType::INT64) -> out, indices
    cummin(x, *, axis=-1, dtype=phi::DataType::INT64) -> out, indices
    """
    if not x.rank:
        return x, c.scalar(0, c.dtype(1))
    op = "ge.CumMax" if c.name == "cummax" else "ge.CumMin"
    values, places = c.b.op(op, x, axis=c.axis(axis, x.rank))
    return values, c.cast(places, c.dtype(1))


@pd("logcumsumexp")
def logcumsumexp(
    c: Call, x: Value, *, axis: int = -1, flatten: bool = False, exclusive: bool = False, reverse: bool = False
) -> Value:
    """logcumsumexp(x, *, axis=-1, flatten=false, exclusive=false, reverse=false) -> out"""
    if exclusive:
        raise c.unsupported("exclusive sums")
    x = c.flat(x) if flatten else x
    if not x.rank:
        return x
    at = 0 if flatten else c.axis(axis, x.rank)
    found = c.b.ge.LogCumSumExp(reversed_(c, x, at) if reverse else x, axis=at)
    return reversed_(c, found, at) if reverse else found


_BEFORE_ALL = -(1 << 62)


def reversed_(c: Call, x: Value, *axes: int) -> Value:
    """`x` in the opposite order along axes."""
    b, n = c.b, len(axes)
    return b.Slice(x, b.ints([-1] * n), b.ints([_BEFORE_ALL] * n), b.ints(axes), b.ints([-1] * n))


@pd("trace")
def trace(c: Call, x: Value, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """trace(x, *, offset=0, axis1=0, axis2=1) -> out"""
    from .shape import diagonal_of

    line = diagonal_of(c, x, offset, axis1, axis2)
    return reduce(c, "ReduceSum", c.cast(line, c.dtype()), [line.rank - 1], False)


@pd("kthvalue")
def kthvalue(c: Call, x: Value, *, k: int = 1, axis: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    """kthvalue(x, *, k=1, axis=-1, keepdim=false) -> out, indices"""
    if not x.rank:
        return x, c.scalar(0, INT64)
    at = c.axis(axis, x.rank)
    values, places = c.b.ge.Sort(x, axis=at, descending=0)
    found = tuple(c.b.Gather(v, c.b.ints(k - 1), axis=at) for v in (values, places))
    return (found[0], found[1]) if keepdim else (c.squeeze(found[0], at), c.squeeze(found[1], at))


@pd("mode")
def mode(c: Call, x: Value, *, axis: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    """mode(x, *, axis=-1, keepdim=false) -> out, indices"""
    b = c.b
    if not x.rank:
        return x, c.scalar(0, INT64)
    at = c.axis(axis, x.rank)
    order = [*(a for a in range(x.rank) if a != at), at]
    moved = c.transpose(x, order)
    values, places = b.ge.Sort(moved, axis=x.rank - 1, descending=0)
    # how often each element occurs; the smallest of those that occur most, at the last of its places
    same = b.Equal(c.unsqueeze(values, x.rank - 1), c.unsqueeze(values, x.rank))
    counts = b.ReduceSum(b.Cast(same, to=INT64), b.ints(x.rank), keepdims=0)
    first = b.ArgMax(counts, axis=x.rank - 1, keepdims=1)
    most = b.GatherElements(values, first, axis=x.rank - 1)
    last = b.Sub(b.Add(first, b.GatherElements(counts, first, axis=x.rank - 1)), 1)
    place = b.GatherElements(places, last, axis=x.rank - 1)
    found = [c.squeeze(v, x.rank - 1) for v in (most, place)]
    return tuple(c.unsqueeze(v, at) if keepdim else v for v in found)  # type: ignore[return-value]


@pd("median", "nanmedian")
def median(
    c: Call, x: Value, *, axis: Sequence[int] = (), keepdim: bool = True, mode: str = "avg"
) -> tuple[Value, Value | None]:
    """median(x, *, axis={}, keepdim=true, mode="avg") -> out, medians
    nanmedian(x, *, axis={}, keepdim=true, mode="avg") -> out, medians
    """
    b = c.b
    axes = c.axes(axis, x.rank) if x.rank else []
    rest = [a for a in range(x.rank) if a not in axes]
    count = dims.product(x.shape[a] for a in axes)
    flat = c.reshape(c.transpose(x, [*rest, *axes]), (*(x.shape[a] for a in rest), count))
    last = flat.rank - 1
    values, places = b.ge.Sort(flat, axis=last, descending=0)
    if c.name == "nanmedian":
        known = b.ReduceSum(b.Cast(_known(c, flat), to=INT64), b.ints(last), keepdims=1)
    else:
        known = c.full((*flat.shape[:-1], 1), count, INT64)
    # of none, the first element is taken; it is a NaN then
    low = b.Max(b.ge.FloorDiv(b.Sub(known, 1), c.scalar(2, INT64)), c.scalar(0, INT64))
    high = b.Min(b.ge.FloorDiv(known, c.scalar(2, INT64)), b.Max(b.Sub(known, 1), c.scalar(0, INT64)))
    lower, upper = (b.GatherElements(values, place, axis=last) for place in (low, high))
    kind = c.dtype()
    if mode == "avg":
        half = c.scalar(0.5, kind)
        found = b.Mul(b.Add(c.cast(lower, kind), c.cast(upper, kind)), half)
        found = b.Where(b.Equal(low, high), c.cast(lower, kind), found)
    else:
        found = c.cast(lower, kind)
    if c.name == "median" and x.dtype.is_float:
        spoilt = b.Greater(b.ReduceMax(b.Cast(b.IsNaN(flat), to=INT32), b.ints(last), keepdims=1), 0)
        found = b.Where(spoilt, c.scalar(math.nan, kind), found)
    sizes: list[Size] = [1 if a in axes else x.shape[a] for a in range(x.rank)]
    shape = sizes if keepdim else [x.shape[a] for a in rest]
    index = b.GatherElements(places, low, axis=last)
    return c.reshape(found, shape), (c.reshape(index, shape) if mode == "min" else None)


def _known(c: Call, x: Value) -> Value:
    return c.b.Not(c.b.IsNaN(x)) if x.dtype.is_float else c.full(x.shape, True, BOOL)


@pd("bincount")
def bincount(c: Call, x: Value, weights: Value | None = None, minlength: Value | None = None) -> Value:
    """bincount(x, weights, minlength) -> out"""
    b = c.b
    least = 0 if minlength is None else c.known_ints(minlength, "a length")[0]
    flat = c.cast(x, INT64)
    padded = b.Concat([flat, b.ints(-1)], axis=0)
    size = b.Add(b.ReduceMax(padded, b.ints(0), keepdims=0), 1)
    found = b.ge.BinCount(flat, weights, b.Max(size, c.scalar(least, INT64)))
    return c.cast(found, c.dtype())


@pd("histogram")
def histogram(
    c: Call,
    input: Value,
    weight: Value | None = None,
    *,
    bins: int = 100,
    min: float = 0.0,
    max: float = 0.0,
    density: bool = False,
) -> Value:
    """histogram(input, weight, *, bins=100, min=0.0, max=0.0, density=false) -> out"""
    b = c.b
    wide = DType.of("float64")
    x = c.cast(c.flat(input), wide)
    if min == 0 and max == 0:
        low, high = reduce(c, "ReduceMin", x, (), False), reduce(c, "ReduceMax", x, (), False)
    else:
        low, high = c.scalar(float(min), wide), c.scalar(float(max), wide)
    equal = b.Equal(low, high)
    low, high = b.Where(equal, b.Sub(low, 1.0), low), b.Where(equal, b.Add(high, 1.0), high)
    inside = b.And(b.LessOrEqual(low, x), b.LessOrEqual(x, high))
    place = b.Floor(b.Div(b.Mul(b.Sub(x, low), float(bins)), b.Sub(high, low)))
    place = b.Cast(b.Min(b.Where(inside, place, c.scalar(0, wide)), c.scalar(bins - 1, wide)), to=INT64)
    one = c.full(x.shape, 1, FLOAT32) if weight is None else c.cast(c.flat(weight), FLOAT32)
    amounts = b.Where(inside, one, c.scalar(0, FLOAT32))
    found = b.ge.BinCount(place, amounts, b.scalar(bins))
    if density:
        width = b.Cast(b.Div(b.Sub(high, low), float(bins)), to=FLOAT32)
        found = b.Div(b.Div(found, reduce(c, "ReduceSum", found, (), False)), width)
    return c.cast(found, c.dtype())


@pd("reduce_as")
def reduce_as(c: Call, x: Value, target: Value) -> Value:
    """reduce_as(x, target) -> out"""
    b = c.b
    lead = x.rank - target.rank
    axes = [*range(lead)]
    axes += [lead + i for i, size in enumerate(target.shape) if size == 1 and x.shape[lead + i] != 1]
    if not axes:
        return x
    return c.reshape(b.ReduceSum(x, b.ints(axes), keepdims=0), target.shape)


@pd("renorm")
def renorm(c: Call, x: Value, *, p: float, axis: int, max_norm: float) -> Value:
    """renorm(x, *, p, axis, max_norm) -> out"""
    b = c.b
    at = c.axis(axis, x.rank)
    others = [a for a in range(x.rank) if a != at]
    length = norm_of(c, x, p, others, True)
    limit = c.scalar(max_norm, x.dtype)
    factor = b.Div(limit, b.Add(length, c.scalar(1e-7, x.dtype)))
    return b.Mul(x, b.Where(b.Less(limit, length), factor, c.scalar(1, x.dtype)))


@pd("clip_by_norm")
def clip_by_norm(c: Call, x: Value, *, max_norm: float) -> Value:
    """clip_by_norm(x, *, max_norm) -> out"""
    b = c.b
    length = reduce(c, "ReduceL2", x, (), False)
    limit = c.scalar(max_norm, x.dtype)
    return b.Where(b.Less(limit, length), b.Mul(x, b.Div(limit, length)), x)
