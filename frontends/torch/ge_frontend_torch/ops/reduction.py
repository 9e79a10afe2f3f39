"""Reductions, cumulative operators and statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..element_types import Number
from ..registry import aten

_INT64 = DType.of("int64")
_INT32 = DType.of("int32")
_BOOL = DType.of("bool")

Axes = int | Sequence[int] | None


def _reduce(c: Call, op: str, x: Value, dim: Axes, keepdim: bool) -> Value:
    axes = c.axes(dim, x.rank)
    if not x.rank:
        # a reduction over no axis of one element is what it is over an axis of size 1
        return c.b.op(op, c.reshape(x, (1,)), c.b.ints(0), keepdims=0)
    return c.b.op(op, x, c.b.ints(axes), keepdims=int(keepdim))


def _count(x: Value, axes: Sequence[int]) -> Size:
    return dims.product(x.shape[axis] for axis in axes)


@aten("sum.default", "sum.dim_IntList")
def sum_(c: Call, x: Value, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None) -> Value:
    """sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
    sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    """
    return _reduce(c, "ReduceSum", c.cast(x, c.dtype()), dim, keepdim)


@aten("nansum.default")
def nansum(c: Call, x: Value, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None) -> Value:
    """nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    if x.dtype.is_float:
        x = c.b.Where(c.b.IsNaN(x), c.scalar(0, x.dtype), x)
    return _reduce(c, "ReduceSum", c.cast(x, c.dtype()), dim, keepdim)


@aten("mean.default", "mean.dim")
def mean(c: Call, x: Value, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None) -> Value:
    """mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
    mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    """
    return _reduce(c, "ReduceMean", c.cast(x, c.dtype()), dim, keepdim)


@aten("prod.default", "prod.dim_int")
def prod(c: Call, x: Value, dim: int | None = None, keepdim: bool = False, dtype: DType | None = None) -> Value:
    """prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
    prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    """
    return _reduce(c, "ReduceProd", c.cast(x, c.dtype()), dim, keepdim)


def _extreme(c: Call, op: str, x: Value, dim: Axes, keepdim: bool) -> Value:
    """ReduceMax or ReduceMin; bools order as 0 and 1."""
    if x.dtype.kind == "bool":
        return c.cast(_reduce(c, op, c.b.Cast(x, to="uint8"), dim, keepdim), _BOOL)
    return _reduce(c, op, x, dim, keepdim)


@aten("amax.default", "max.default")
def amax(c: Call, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    """amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
    max(Tensor self) -> Tensor
    """
    return _extreme(c, "ReduceMax", x, dim, keepdim)


@aten("amin.default", "min.default")
def amin(c: Call, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    """amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
    min(Tensor self) -> Tensor
    """
    return _extreme(c, "ReduceMin", x, dim, keepdim)


@aten("aminmax.default")
def aminmax(c: Call, x: Value, dim: int | None = None, keepdim: bool = False) -> tuple[Value, Value]:
    """aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"""
    return _extreme(c, "ReduceMin", x, dim, keepdim), _extreme(c, "ReduceMax", x, dim, keepdim)


def _place_of_extreme(c: Call, op: str, x: Value, axis: int, keepdim: bool) -> Value:
    """The first place of the largest or smallest element; a NaN counts as it."""
    b = c.b
    if x.dtype.kind == "bool":
        x = b.Cast(x, to="uint8")
    if not x.rank:
        return c.scalar(0, _INT64)
    return b.op(op, x, axis=axis, keepdims=int(keepdim))


@aten("max.dim", "min.dim")
def max_dim(c: Call, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    """
    b = c.b
    axis = c.axis(dim, x.rank)
    place = _place_of_extreme(c, "ArgMax" if c.name.startswith("max") else "ArgMin", x, axis, True)
    if not x.rank:
        return x, place
    value = b.GatherElements(x, place, axis=axis)
    if keepdim:
        return value, place
    return c.squeeze(value, axis), c.squeeze(place, axis)


@aten("argmax.default", "argmin.default")
def argmax(c: Call, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
    argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
    """
    op = "ArgMax" if c.name.startswith("argmax") else "ArgMin"
    if dim is None:
        place = _place_of_extreme(c, op, c.b.Reshape(x, c.b.ints(-1)), 0, False)
        return c.reshape(place, c.shape())
    return _place_of_extreme(c, op, x, c.axis(dim, x.rank), keepdim)


def _truth(c: Call, op: str, x: Value, dim: Axes, keepdim: bool) -> Value:
    """Whether any or all elements are true; of none, any is false and all is true."""
    numbers = c.b.Cast(c.cast(x, _BOOL), to=_INT32)
    return c.cast(c.b.Greater(_reduce(c, op, numbers, dim, keepdim), 0), c.dtype())


@aten("any.default", "any.dim", "any.dims")
def any_(c: Call, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    """any(Tensor self) -> Tensor
    any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
    any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
    """
    return _truth(c, "ReduceMax", x, dim, keepdim) if not _empty_axes(dim, c) else c.cast(x, _BOOL)


@aten("all.default", "all.dim", "all.dims")
def all_(c: Call, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    """all(Tensor self) -> Tensor
    all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
    all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
    """
    return _truth(c, "ReduceMin", x, dim, keepdim) if not _empty_axes(dim, c) else c.cast(x, _BOOL)


def _empty_axes(dim: Axes, c: Call) -> bool:
    """any and all over an empty list of axes reduce nothing; all other reductions then reduce everything."""
    return c.name.endswith(".dims") and dim is not None and not isinstance(dim, int) and len(dim) == 0


@aten("count_nonzero.default", "count_nonzero.dim_IntList")
def count_nonzero(c: Call, x: Value, dim: Axes = None) -> Value:
    """count_nonzero(Tensor self, int? dim=None) -> Tensor
    count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor
    """
    return _reduce(c, "ReduceSum", c.b.Cast(c.cast(x, _BOOL), to=_INT64), dim, False)


@aten("logsumexp.default")
def logsumexp(c: Call, x: Value, dim: Axes, keepdim: bool = False) -> Value:
    """logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"""
    return _reduce(c, "ReduceLogSumExp", c.cast(x, c.dtype()), dim, keepdim)


def _variance(c: Call, x: Value, dim: Axes, correction: Number | None, keepdim: bool) -> tuple[Value, Value]:
    """Sum of squared distances from the mean over max(0, n - correction), and the mean."""
    b = c.b
    axes = c.axes(dim, x.rank)
    wide = c.reshape(x, (1,)) if not x.rank else x
    axes = [0] if not x.rank else axes
    working = DType.of("float32") if x.dtype.bits == 16 else x.dtype
    wide = c.cast(wide, working)
    average = b.ReduceMean(wide, b.ints(axes), keepdims=1)
    distance = b.Sub(wide, average)
    total = b.ReduceSum(b.Mul(distance, distance), b.ints(axes), keepdims=int(keepdim and bool(x.rank)))
    less = 1 if correction is None else correction
    count = _count(wide, axes)
    divisor: Number = float(max(0, count - less)) if isinstance(count, int) and not isinstance(less, Dim) else 0
    if isinstance(count, Dim):
        samples = b.Sub(c.scalar(count, working), c.scalar(less, working))
        spread = b.Div(total, b.Max(samples, c.scalar(0, working)))
    else:
        spread = b.Div(total, c.scalar(divisor, working))
    if not (keepdim and x.rank):
        average = c.squeeze(average, *axes)
    return spread, average


@aten("var.default", "var.dim", "var.correction", "std.default", "std.dim", "std.correction")
def var(
    c: Call,
    x: Value,
    dim: Axes = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: Number | None = None,
) -> Value:
    """var(Tensor self, bool unbiased=True) -> Tensor
    var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
    var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
    std(Tensor self, bool unbiased=True) -> Tensor
    std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
    std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
    """
    spread, _ = _variance(c, x, dim, _correction(c, unbiased, correction), keepdim)
    spread = c.b.Sqrt(spread) if c.name.startswith("std") else spread
    return c.cast(spread, c.dtype())


@aten("var_mean.default", "var_mean.dim", "var_mean.correction", "std_mean.default", "std_mean.dim",
      "std_mean.correction")  # fmt: skip
def var_mean(
    c: Call,
    x: Value,
    dim: Axes = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: Number | None = None,
) -> tuple[Value, Value]:
    """var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
    var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
    var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) ->
        (Tensor, Tensor)
    std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
    std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
    std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) ->
        (Tensor, Tensor)
    """
    spread, average = _variance(c, x, dim, _correction(c, unbiased, correction), keepdim)
    spread = c.b.Sqrt(spread) if c.name.startswith("std") else spread
    return c.cast(spread, c.dtype(0)), c.cast(average, c.dtype(1))


def _correction(c: Call, unbiased: bool, correction: Number | None) -> Number:
    if c.name.endswith(".correction"):
        return 1 if correction is None else correction
    return int(unbiased)


@aten("linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar", "norm.ScalarOpt_dim_dtype",
      "norm.ScalarOpt_dtype")  # fmt: skip
def vector_norm(
    c: Call,
    x: Value,
    ord: Number = 2,
    dim: Axes = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    p: Number | None = None,
) -> Value:
    """linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType?
        dtype=None) -> Tensor
    norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
    norm.Scalar(Tensor self, Scalar p=2) -> Tensor
    norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) ->
        Tensor
    norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor
    """
    x = c.cast(x, c.dtype())
    if c.name.startswith("norm."):
        ord = 2 if p is None else p
    assert not isinstance(ord, Dim)
    return _norm(c, x, ord, dim, keepdim)


def _norm(c: Call, x: Value, ord: float, dim: Axes, keepdim: bool) -> Value:
    """(sum |x|^ord)^(1/ord), with the limits at 0 and the infinities."""
    b = c.b
    if ord == 2:
        return _reduce(c, "ReduceL2", x, dim, keepdim)
    if ord == 1:
        return _reduce(c, "ReduceL1", x, dim, keepdim)
    if math.isinf(ord):
        return _reduce(c, "ReduceMax" if ord > 0 else "ReduceMin", b.Abs(x), dim, keepdim)
    if ord == 0:
        nonzero = b.Cast(b.Not(b.Equal(x, 0.0)), to=x.dtype)
        return _reduce(c, "ReduceSum", nonzero, dim, keepdim)
    total = _reduce(c, "ReduceSum", b.Pow(b.Abs(x), float(ord)), dim, keepdim)
    return b.Pow(total, 1 / float(ord))


@aten("_cdist_forward.default", ignores=("compute_mode",))
def cdist(c: Call, x1: Value, x2: Value, p: float) -> Value:
    """_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor"""
    distance = c.b.Sub(c.unsqueeze(x1, x1.rank - 1), c.unsqueeze(x2, x2.rank - 2))
    return _norm(c, distance, p, -1, False)


@aten("cumsum.default")
def cumsum(c: Call, x: Value, dim: int, dtype: DType | None = None) -> Value:
    """cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"""
    x = c.cast(x, c.dtype())
    return c.b.CumSum(x, c.scalar(c.axis(dim, x.rank), _INT64)) if x.rank else x


@aten("cumprod.default")
def cumprod(c: Call, x: Value, dim: int, dtype: DType | None = None) -> Value:
    """cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"""
    x = c.cast(x, c.dtype())
    return c.b.CumProd(x, c.scalar(c.axis(dim, x.rank), _INT64)) if x.rank else x


@aten("cummax.default", "cummin.default")
def cummax(c: Call, x: Value, dim: int) -> tuple[Value, Value]:
    """cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)
    cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)
    """
    if not x.rank:
        return x, c.scalar(0, _INT64)
    op = "ge.CumMax" if c.name.startswith("cummax") else "ge.CumMin"
    narrow = x.dtype.kind == "bool"
    values, places = c.b.op(op, c.b.Cast(x, to="uint8") if narrow else x, axis=c.axis(dim, x.rank))
    return c.cast(values, x.dtype), places


@aten("logcumsumexp.default")
def logcumsumexp(c: Call, x: Value, dim: int) -> Value:
    """logcumsumexp(Tensor self, int dim) -> Tensor"""
    return c.b.ge.LogCumSumExp(x, axis=c.axis(dim, x.rank)) if x.rank else x


@aten("diff.default")
def diff(
    c: Call, x: Value, n: int = 1, dim: int = -1, prepend: Value | None = None, append: Value | None = None
) -> Value:
    """diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor"""
    b = c.b
    axis = c.axis(dim, x.rank)
    parts = [c.cast(part, c.dtype()) for part in (prepend, x, append) if part is not None]
    x = parts[0] if len(parts) == 1 else b.Concat(parts, axis=axis)
    for _ in range(n):
        size = x.shape[axis]
        later, earlier = c.slice(x, axis, 1, size), c.slice(x, axis, 0, size - 1)
        x = b.Xor(later, earlier) if x.dtype.kind == "bool" else b.Sub(later, earlier)
    return x


@aten("trace.default")
def trace(c: Call, x: Value) -> Value:
    """trace(Tensor self) -> Tensor"""
    b = c.b
    mask = b.EyeLike(x, dtype=_BOOL)
    kept = b.Where(mask, x, c.scalar(0, x.dtype))
    return b.ReduceSum(c.cast(kept, c.dtype()), b.ints(0, 1), keepdims=0)


@aten("cosine_similarity.default")
def cosine_similarity(c: Call, x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor"""
    b, dtype = c.b, c.dtype()
    x1, x2 = c.cast(x1, dtype), c.cast(x2, dtype)
    rank = max(x1.rank, x2.rank)
    axis = c.axis(dim, rank)
    x1, x2 = (c.unsqueeze(v, *range(rank - v.rank)) for v in (x1, x2))
    first, second = (b.Max(b.ReduceL2(v, b.ints(axis), keepdims=1), c.scalar(eps, dtype)) for v in (x1, x2))
    return b.ReduceSum(b.Mul(b.Div(x1, first), b.Div(x2, second)), b.ints(axis), keepdims=0)
