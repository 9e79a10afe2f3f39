"""Pointwise operators of one tensor."""

from __future__ import annotations

import math

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..element_types import Operand
from ..registry import aten


def unary(c: Call, op: str, x: Value) -> Value:
    """An operator in the result's type: integers that torch takes to float are converted before it."""
    return c.b.op(op, c.cast(x, c.dtype()))


@aten("acos.default")
def acos(c: Call, x: Value) -> Value:
    """acos(Tensor self) -> Tensor"""
    return unary(c, "Acos", x)


@aten("acosh.default")
def acosh(c: Call, x: Value) -> Value:
    """acosh(Tensor self) -> Tensor"""
    return unary(c, "Acosh", x)


@aten("asin.default")
def asin(c: Call, x: Value) -> Value:
    """asin(Tensor self) -> Tensor"""
    return unary(c, "Asin", x)


@aten("asinh.default")
def asinh(c: Call, x: Value) -> Value:
    """asinh(Tensor self) -> Tensor"""
    return unary(c, "Asinh", x)


@aten("atan.default")
def atan(c: Call, x: Value) -> Value:
    """atan(Tensor self) -> Tensor"""
    return unary(c, "Atan", x)


@aten("atanh.default")
def atanh(c: Call, x: Value) -> Value:
    """atanh(Tensor self) -> Tensor"""
    return unary(c, "Atanh", x)


@aten("cos.default")
def cos(c: Call, x: Value) -> Value:
    """cos(Tensor self) -> Tensor"""
    return unary(c, "Cos", x)


@aten("cosh.default")
def cosh(c: Call, x: Value) -> Value:
    """cosh(Tensor self) -> Tensor"""
    return unary(c, "Cosh", x)


@aten("erf.default")
def erf(c: Call, x: Value) -> Value:
    """erf(Tensor self) -> Tensor"""
    return unary(c, "Erf", x)


@aten("erfc.default")
def erfc(c: Call, x: Value) -> Value:
    """erfc(Tensor self) -> Tensor"""
    return unary(c, "ge.Erfc", x)


@aten("erfinv.default")
def erfinv(c: Call, x: Value) -> Value:
    """erfinv(Tensor self) -> Tensor"""
    return unary(c, "ge.ErfInv", x)


@aten("exp.default")
def exp(c: Call, x: Value) -> Value:
    """exp(Tensor self) -> Tensor"""
    return unary(c, "Exp", x)


@aten("exp2.default")
def exp2(c: Call, x: Value) -> Value:
    """exp2(Tensor self) -> Tensor"""
    return unary(c, "ge.Exp2", x)


@aten("expm1.default")
def expm1(c: Call, x: Value) -> Value:
    """expm1(Tensor self) -> Tensor"""
    return unary(c, "ge.Expm1", x)


@aten("log.default")
def log(c: Call, x: Value) -> Value:
    """log(Tensor self) -> Tensor"""
    return unary(c, "Log", x)


@aten("log10.default")
def log10(c: Call, x: Value) -> Value:
    """log10(Tensor self) -> Tensor"""
    return unary(c, "ge.Log10", x)


@aten("log1p.default")
def log1p(c: Call, x: Value) -> Value:
    """log1p(Tensor self) -> Tensor"""
    return unary(c, "ge.Log1p", x)


@aten("log2.default")
def log2(c: Call, x: Value) -> Value:
    """log2(Tensor self) -> Tensor"""
    return unary(c, "ge.Log2", x)


@aten("reciprocal.default")
def reciprocal(c: Call, x: Value) -> Value:
    """reciprocal(Tensor self) -> Tensor"""
    return unary(c, "Reciprocal", x)


@aten("rsqrt.default")
def rsqrt(c: Call, x: Value) -> Value:
    """rsqrt(Tensor self) -> Tensor"""
    return unary(c, "ge.Rsqrt", x)


@aten("sigmoid.default")
def sigmoid(c: Call, x: Value) -> Value:
    """sigmoid(Tensor self) -> Tensor"""
    return unary(c, "Sigmoid", x)


@aten("sin.default")
def sin(c: Call, x: Value) -> Value:
    """sin(Tensor self) -> Tensor"""
    return unary(c, "Sin", x)


@aten("sinh.default")
def sinh(c: Call, x: Value) -> Value:
    """sinh(Tensor self) -> Tensor"""
    return unary(c, "Sinh", x)


@aten("sqrt.default")
def sqrt(c: Call, x: Value) -> Value:
    """sqrt(Tensor self) -> Tensor"""
    return unary(c, "Sqrt", x)


@aten("tan.default")
def tan(c: Call, x: Value) -> Value:
    """tan(Tensor self) -> Tensor"""
    return unary(c, "Tan", x)


@aten("tanh.default")
def tanh(c: Call, x: Value) -> Value:
    """tanh(Tensor self) -> Tensor"""
    return unary(c, "Tanh", x)


@aten("lgamma.default")
def lgamma(c: Call, x: Value) -> Value:
    """lgamma(Tensor self) -> Tensor"""
    return unary(c, "ge.Lgamma", x)


@aten("digamma.default")
def digamma(c: Call, x: Value) -> Value:
    """digamma(Tensor self) -> Tensor"""
    return unary(c, "ge.Digamma", x)


@aten("abs.default", complex=True)
def absolute(c: Call, x: Value | ComplexPair) -> Value:
    """abs(Tensor self) -> Tensor"""
    if isinstance(x, ComplexPair):
        return c.b.ReduceL2(x.parts, c.b.ints(-1), keepdims=0)
    return x if x.dtype.kind == "uint" else unary(c, "Abs", x)


@aten("neg.default", "_neg_view.default")
def neg(c: Call, x: Value) -> Value:
    """neg(Tensor self) -> Tensor
    _neg_view(Tensor(a) self) -> Tensor(a)
    """
    return unary(c, "Neg", x)


@aten("sign.default", "sgn.default")
def sign(c: Call, x: Value) -> Value:
    """sign(Tensor self) -> Tensor
    sgn(Tensor self) -> Tensor
    """
    value = unary(c, "Sign", x)
    # the sign of NaN is 0 in torch, NaN in the graph
    return c.b.Where(c.b.IsNaN(x), c.scalar(0, x.dtype), value) if x.dtype.is_float else value


@aten("floor.default")
def floor(c: Call, x: Value) -> Value:
    """floor(Tensor self) -> Tensor"""
    return x if x.dtype.is_integer else unary(c, "Floor", x)


@aten("ceil.default")
def ceil(c: Call, x: Value) -> Value:
    """ceil(Tensor self) -> Tensor"""
    return x if x.dtype.is_integer else unary(c, "Ceil", x)


@aten("trunc.default")
def trunc(c: Call, x: Value) -> Value:
    """trunc(Tensor self) -> Tensor"""
    return x if x.dtype.is_integer else unary(c, "ge.Trunc", x)


@aten("round.default")
def rounded(c: Call, x: Value) -> Value:
    """round(Tensor self) -> Tensor"""
    return x if x.dtype.is_integer else unary(c, "Round", x)


@aten("round.decimals")
def round_decimals(c: Call, x: Value, decimals: int) -> Value:
    """round.decimals(Tensor self, *, int decimals) -> Tensor"""
    if x.dtype.is_integer:
        return x
    factor = 10.0 ** abs(decimals)
    if decimals >= 0:
        return c.b.Div(c.b.Round(c.b.Mul(x, factor)), factor)
    return c.b.Mul(c.b.Round(c.b.Div(x, factor)), factor)


@aten("frac.default")
def frac(c: Call, x: Value) -> Value:
    """frac(Tensor self) -> Tensor"""
    return c.b.Sub(x, c.b.ge.Trunc(x))


@aten("square.default")
def square(c: Call, x: Value) -> Value:
    """square(Tensor self) -> Tensor"""
    x = c.cast(x, c.dtype())
    return c.b.Mul(x, x)


@aten("positive.default")
def positive(c: Call, x: Value) -> Value:
    """positive(Tensor(a) self) -> Tensor(a)"""
    return x


@aten("isnan.default")
def isnan(c: Call, x: Value) -> Value:
    """isnan(Tensor self) -> Tensor"""
    return c.b.IsNaN(x) if x.dtype.is_float else c.full(x.shape, False)


@aten("isinf.default")
def isinf(c: Call, x: Value) -> Value:
    """isinf(Tensor self) -> Tensor"""
    return _is_infinite(c, x, negative=True, positive=True)


@aten("isposinf.default")
def isposinf(c: Call, x: Value) -> Value:
    """isposinf(Tensor self) -> Tensor"""
    return _is_infinite(c, x, negative=False, positive=True)


@aten("isneginf.default")
def isneginf(c: Call, x: Value) -> Value:
    """isneginf(Tensor self) -> Tensor"""
    return _is_infinite(c, x, negative=True, positive=False)


def _is_infinite(c: Call, x: Value, negative: bool, positive: bool) -> Value:
    if not x.dtype.is_float:
        return c.full(x.shape, False)
    return c.b.IsInf(x, detect_negative=int(negative), detect_positive=int(positive))


@aten("isfinite.default")
def isfinite(c: Call, x: Value) -> Value:
    """isfinite(Tensor self) -> Tensor"""
    return c.b.ge.IsFinite(x) if x.dtype.is_float else c.full(x.shape, True)


@aten("signbit.default")
def signbit(c: Call, x: Value) -> Value:
    """signbit(Tensor self) -> Tensor"""
    if not x.dtype.is_float:
        return c.b.Less(x, 0) if x.dtype.kind == "int" else c.full(x.shape, False)
    return c.b.Less(c.b.ge.CopySign(c.full((), 1.0, x.dtype), x), 0.0)


@aten("logical_not.default")
def logical_not(c: Call, x: Value) -> Value:
    """logical_not(Tensor self) -> Tensor"""
    return c.b.Not(c.cast(x, DType.of("bool")))


@aten("bitwise_not.default")
def bitwise_not(c: Call, x: Value) -> Value:
    """bitwise_not(Tensor self) -> Tensor"""
    return c.b.Not(x) if x.dtype.kind == "bool" else c.b.BitwiseNot(x)


@aten("logit.default")
def logit(c: Call, x: Value, eps: float | None = None) -> Value:
    """logit(Tensor self, float? eps=None) -> Tensor"""
    b = c.b
    x = c.cast(x, c.dtype())
    if eps is not None:
        x = b.Clip(x, c.scalar(eps, x.dtype), c.scalar(1 - eps, x.dtype))
    return b.Log(b.Div(x, b.Sub(c.scalar(1, x.dtype), x)))


@aten("nan_to_num.default")
def nan_to_num(
    c: Call, x: Value, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Value:
    """nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"""
    if not x.dtype.is_float:
        return x
    b, dtype = c.b, x.dtype
    top = dtype.max if posinf is None else posinf
    bottom = dtype.min if neginf is None else neginf
    x = b.Where(b.IsNaN(x), c.scalar(nan or 0.0, dtype), x)
    x = b.Where(b.Equal(x, math.inf), c.scalar(top, dtype), x)
    return b.Where(b.Equal(x, -math.inf), c.scalar(bottom, dtype), x)


@aten("deg2rad.default")
def deg2rad(c: Call, x: Value) -> Value:
    """deg2rad(Tensor self) -> Tensor"""
    return c.b.Mul(c.cast(x, c.dtype()), math.pi / 180)


@aten("rad2deg.default")
def rad2deg(c: Call, x: Value) -> Value:
    """rad2deg(Tensor self) -> Tensor"""
    return c.b.Mul(c.cast(x, c.dtype()), 180 / math.pi)


@aten("clamp.default", "clip.default")
def clamp(c: Call, x: Value, min: Operand | None = None, max: Operand | None = None) -> Value:
    """clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
    clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
    """
    dtype = c.dtype()
    bounds = [None if bound is None else c.scalar(bound, dtype) for bound in (min, max)]
    return c.b.Clip(c.cast(x, dtype), *bounds)


@aten("clamp_min.default")
def clamp_min(c: Call, x: Value, min: Operand) -> Value:
    """clamp_min(Tensor self, Scalar min) -> Tensor"""
    return clamp(c, x, min, None)


@aten("clamp_max.default")
def clamp_max(c: Call, x: Value, max: Operand) -> Value:
    """clamp_max(Tensor self, Scalar max) -> Tensor"""
    return clamp(c, x, None, max)


@aten("clamp.Tensor", "clip.Tensor")
def clamp_tensor(c: Call, x: Value, min: Value | None = None, max: Value | None = None) -> Value:
    """clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
    clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
    """
    dtype = c.dtype()
    x = c.cast(x, dtype)
    if min is not None:
        x = c.b.Max(x, c.cast(min, dtype))
    return x if max is None else c.b.Min(x, c.cast(max, dtype))


@aten("clamp_min.Tensor")
def clamp_min_tensor(c: Call, x: Value, min: Value) -> Value:
    """clamp_min.Tensor(Tensor self, Tensor min) -> Tensor"""
    return clamp_tensor(c, x, min, None)


@aten("clamp_max.Tensor")
def clamp_max_tensor(c: Call, x: Value, max: Value) -> Value:
    """clamp_max.Tensor(Tensor self, Tensor max) -> Tensor"""
    return clamp_tensor(c, x, None, max)
