"""Reductions over axes, and running ones along an axis."""

from __future__ import annotations

import math
from typing import Any

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive

_BOOL, _INT32, _INT64 = DType.of("bool"), DType.of("int32"), DType.of("int64")


def reduced(c: Call, op: str, x: Value, axes: Any, keep: bool) -> Value:
    """A reduction; a tensor of rank 0 is its own."""
    wanted = c.axes(axes, x.rank)
    if x.rank == 0:
        return x
    result: Value = c.b.op(op, x, c.b.ints(wanted), keepdims=int(keep))
    return result


@primitive("ReduceSum")
def reduce_sum(c: Call, x: Value, axis: Any, keep_dims: bool, skip_mode: bool) -> Value:
    """ReduceSum(x, axis=(), keep_dims=False, skip_mode=False)"""
    if skip_mode and axis in ((), None):
        return x
    return reduced(c, "ReduceSum", c.cast(x, c.dtype()), axis, keep_dims)


@primitive("SumExt", "MeanExt", "ProdExt")
def reduce_ext(c: Call, input: Value, dim: Any, keepdim: bool, dtype: Any) -> Value:
    """SumExt(input, dim=None, keepdim=False, dtype=None); MeanExt; ProdExt"""
    op = {"SumExt": "ReduceSum", "MeanExt": "ReduceMean", "ProdExt": "ReduceProd"}[c.op]
    return reduced(c, op, c.cast(input, c.dtype()), dim, keepdim)


@primitive("ReduceMean", "ReduceProd")
def reduce_mean(c: Call, x: Value, axis: Any, keep_dims: bool) -> Value:
    """ReduceMean(x, axis=(), keep_dims=False); ReduceProd(x, axis=(), keep_dims=False)"""
    return reduced(c, c.op, c.cast(x, c.dtype()), axis, keep_dims)


@primitive("ReduceMax", "ReduceMin", "AMax", "AMin")
def reduce_max(c: Call, x: Value, axis: Any, keep_dims: bool) -> Value:
    """ReduceMax(x, axis=(), keep_dims=False); ReduceMin(x, axis=(), keep_dims=False)"""
    return extreme(c, "Max" if "Max" in c.op else "Min", x, axis, keep_dims)


def extreme(c: Call, which: str, x: Value, axes: Any, keep: bool) -> Value:
    """The largest or least element, of booleans too."""
    if x.dtype == _BOOL:
        return c.cast(reduced(c, f"Reduce{which}", c.cast(x, _INT32), axes, keep), _BOOL)
    return reduced(c, f"Reduce{which}", x, axes, keep)


@primitive("Max", "Min")
def max_all(c: Call, input: Value) -> Value:
    """Max(input); Min(input): of all elements"""
    return extreme(c, c.op, input, None, False)


@primitive("ReduceAll", "ReduceAny", "Any", "AnyExt", "All")
def reduce_all(c: Call, input: Value, axis: Any = None, keep_dims: bool = False) -> Value:
    """ReduceAll(input, axis=None, keep_dims=False); ReduceAny; Any(input); AnyExt(input, dim=None, keepdim=False)"""
    return extreme(c, "Min" if "All" in c.op else "Max", c.cast(input, _BOOL), axis, keep_dims)


def _variance(c: Call, x: Value, axes: Any, correction: Any, keep: bool) -> tuple[Value, Value]:
    """Variance and mean."""
    b, wanted = c.b, c.axes(axes, x.rank)
    count = c.count(x, wanted)
    mean = reduced(c, "ReduceMean", x, wanted, True)
    total = reduced(c, "ReduceSum", b.ge.Square(b.Sub(x, mean)), wanted, keep)
    divisor: Any = c.tensor(b.scalar(count), x.dtype)
    divisor = b.Max(b.Sub(divisor, c.tensor(c.number(correction, "correction"), x.dtype)), 0.0)
    if not keep and x.rank:
        mean = c.squeeze(mean, *wanted)
    return b.Div(total, divisor), mean


@primitive("Var", "Std", "VarMean", "StdMean")
def variance(c: Call, input: Value, dim: Any, correction: Any, keepdim: bool) -> Any:
    """Var(input, dim=None, correction=1, keepdim=False); Std; VarMean; StdMean"""
    found, mean = _variance(c, input, dim, correction, keepdim)
    found = c.b.Sqrt(found) if c.op.startswith("Std") else found
    return (found, mean) if c.op.endswith("Mean") else found


@primitive("ReduceStd")
def reduce_std(c: Call, x: Value, axis: Any, unbiased: bool, keep_dims: bool) -> tuple[Value, Value]:
    """ReduceStd(axis=(), unbiased=True, keep_dims=False)(x): deviation and mean"""
    axes = axis if not isinstance(axis, (tuple, list)) or axis else None
    found, mean = _variance(c, x, axes, int(unbiased), keep_dims)
    return c.b.Sqrt(found), mean


@primitive("LogSumExp")
def log_sum_exp(c: Call, input: Value, dim: Any, keepdim: bool) -> Value:
    """LogSumExp(input, dim, keepdim=False)"""
    return reduced(c, "ReduceLogSumExp", c.cast(input, c.dtype()), dim, keepdim)


@primitive("Norm", "LinalgVectorNorm", "LpNormV2")
def norm(c: Call, input: Value, p: float, dim: Any, keepdim: bool, dtype: Any = None) -> Value:
    """Norm(input, p=2.0, dim=None, keepdim=False, dtype=None); LinalgVectorNorm(x, ord=2, dim=None, keepdim=False,
    dtype=None)"""
    return _norm(c, c.cast(input, c.dtype()), c.number(p, "p"), dim, keepdim)


@primitive("LpNorm")
def lp_norm(c: Call, input: Value, axis: Any, p: int = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> Value:
    """LpNorm(axis, p=2, keep_dims=False, epsilon=1e-12)(input): at least epsilon"""
    found = _norm(c, input, float(p), axis, keep_dims)
    return c.b.Max(found, c.tensor(epsilon, found.dtype)) if epsilon else found


def _norm(c: Call, x: Value, p: float, axes: Any, keep: bool) -> Value:
    b, size = c.b, c.b.Abs(x)
    if p == 0:
        return reduced(c, "ReduceSum", b.Cast(b.Not(b.Equal(x, 0)), to=x.dtype), axes, keep)
    if math.isinf(p):
        return reduced(c, "ReduceMax" if p > 0 else "ReduceMin", size, axes, keep)
    if p == 1:
        return reduced(c, "ReduceSum", size, axes, keep)
    if p == 2:
        return b.Sqrt(reduced(c, "ReduceSum", b.ge.Square(x), axes, keep))
    return b.Pow(reduced(c, "ReduceSum", b.Pow(size, c.tensor(p, x.dtype)), axes, keep), c.tensor(1.0 / p, x.dtype))


@primitive("L2Loss")
def l2_loss(c: Call, x: Value) -> Value:
    """L2Loss()(x): half of the sum of squares"""
    return c.b.Mul(c.b.ReduceSumSquare(x, None, keepdims=0), 0.5)


@primitive("CountNonZero")
def count_non_zero(c: Call, x: Value, dims: Any = None) -> Value:
    """CountNonZero(dims=None)(x)"""
    hit = x if x.dtype == _BOOL else c.b.Not(c.b.Equal(x, 0))
    return c.cast(reduced(c, "ReduceSum", c.b.Cast(hit, to="int64"), dims, False), c.dtype())


@primitive("CumSum", "CumProd")
def cum_sum(c: Call, x: Value, axis: Any, exclusive: bool = False, reverse: bool = False) -> Value:
    """CumSum(exclusive=False, reverse=False)(input, axis); CumProd(x, axis, exclusive=False, reverse=False)"""
    place = c.tensor(c.axis(axis, x.rank), _INT64)
    return c.b.op(c.op, c.cast(x, c.dtype()), place, exclusive=int(exclusive), reverse=int(reverse))


@primitive("CumsumExt")
def cumsum_ext(c: Call, input: Value, dim: int, dtype: Any) -> Value:
    """CumsumExt(input, dim, dtype=None)"""
    x = c.cast(input, c.dtype())
    return x if x.rank == 0 else c.b.CumSum(x, c.tensor(c.axis(dim, x.rank), _INT64))


@primitive("CumulativeLogsumexp")
def cumulative_log_sum_exp(c: Call, x: Value, axis: Any, exclusive: bool = False, reverse: bool = False) -> Value:
    """CumulativeLogsumexp(exclusive=False, reverse=False)(x, axis)"""
    if exclusive or reverse:
        raise c.unsupported("an exclusive or reversed sum")
    return c.b.ge.LogCumSumExp(x, axis=c.axis(axis, x.rank))


@primitive("Cummax", "Cummin", "CumminExt")
def cum_max(c: Call, input: Value, axis: Any) -> tuple[Value, Value]:
    """Cummax(input, axis); Cummin(input, axis): with the places"""
    build = c.b.ge.CumMax if c.op == "Cummax" else c.b.ge.CumMin
    values, places = build(input, axis=c.axis(axis, input.rank))
    return values, c.cast(places, c.dtype(1))


@primitive("Argmax", "Argmin", "ArgMaxExt", "ArgMinExt", ignores=("output_type",))
def arg_max(c: Call, input: Value, axis: Any = -1, keepdim: Any = False) -> Value:
    """Argmax(axis=-1, output_type)(x); ArgMaxExt(input, dim=None, keepdim=False), and of the least"""
    keep = keepdim is True  # Argmax has the number of an element type here
    which = "ArgMax" if "ax" in c.op else "ArgMin"
    x = c.cast(input, _INT32) if input.dtype == _BOOL else input
    if axis is None:
        flat = c.reshape(x, (c.count(x, range(x.rank)),))
        return c.cast(c.b.op(which, flat, axis=0, keepdims=0), c.dtype())
    if x.rank == 0:
        return c.full((), 0)
    return c.cast(c.b.op(which, x, axis=c.axis(axis, x.rank), keepdims=int(keep)), c.dtype())


@primitive("ArgMaxWithValue", "ArgMinWithValue", "MaxDim", "MinDim")
def arg_max_with_value(c: Call, input: Value, axis: Any = 0, keep_dims: bool = False) -> tuple[Value, Value]:
    """ArgMaxWithValue(axis=0, keep_dims=False)(input): place and value; MaxDim(input, dim, keepdim=False): value and
    place, and of the least"""
    which = "Max" if "Max" in c.op else "Min"
    values_first = c.op.endswith("Dim")
    values = extreme(c, which, input, axis, keep_dims)
    place_type = c.dtype(1 if values_first else 0)
    if input.rank == 0:
        places = c.full((), 0, place_type)
    else:
        x = c.cast(input, _INT32) if input.dtype == _BOOL else input
        found = c.b.op(f"Arg{which}", x, axis=c.axis(axis, x.rank), keepdims=int(keep_dims))
        places = c.cast(found, place_type)
    return (values, places) if values_first else (places, values)
