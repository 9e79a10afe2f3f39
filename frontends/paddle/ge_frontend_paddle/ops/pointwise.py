"""Elementwise operators of one tensor, and conversions of the element type."""

from __future__ import annotations

import math

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, FLOAT32, Call
from ..registry import pd

# Operators that are one operator of the graph.
_SAME = {
    "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "cos": "Cos", "cosh": "Cosh", "sin": "Sin", "sinh": "Sinh", "tan": "Tan", "tanh": "Tanh", "exp": "Exp",
    "expm1": "ge.Expm1", "log": "Log", "log2": "ge.Log2", "log10": "ge.Log10", "log1p": "ge.Log1p", "sqrt": "Sqrt",
    "rsqrt": "ge.Rsqrt", "reciprocal": "Reciprocal", "erf": "Erf", "erfinv": "ge.ErfInv", "lgamma": "ge.Lgamma",
    "gammaln": "ge.Lgamma", "digamma": "ge.Digamma", "sigmoid": "Sigmoid", "logsigmoid": "ge.LogSigmoid",
    "silu": "Swish", "softsign": "Softsign", "rint": "Round",
}  # fmt: skip
# Those that keep integers as they are.
_KEEP_INTEGERS = {"ceil": "Ceil", "floor": "Floor", "trunc": "ge.Trunc"}


@pd(*_SAME)
def unary(c: Call, x: Value) -> Value:
    """acos(x) -> out
    acosh(x) -> out
    asin(x) -> out
    asinh(x) -> out
    atan(x) -> out
    atanh(x) -> out
    cos(x) -> out
    cosh(x) -> out
    sin(x) -> out
    sinh(x) -> out
    tan(x) -> out
    tanh(x) -> out
    exp(x) -> out
    expm1(x) -> out
    log(x) -> out
    log2(x) -> out
    log10(x) -> out
    log1p(x) -> out
    sqrt(x) -> out
    rsqrt(x) -> out
    reciprocal(x) -> out
    erf(x) -> out
    erfinv(x) -> out
    lgamma(x) -> out
    gammaln(x) -> out
    digamma(x) -> out
    sigmoid(x) -> out
    logsigmoid(x) -> out
    silu(x) -> out
    softsign(x) -> out
    rint(x) -> out
    """
    kind = c.dtype()
    # of integers Paddle computes float32, whatever it declares
    return c.b.op(_SAME[c.name], c.cast(x, kind if kind.is_float else FLOAT32))


@pd(*_KEEP_INTEGERS)
def rounded(c: Call, x: Value) -> Value:
    """ceil(x) -> out
    floor(x) -> out
    trunc(input) -> out
    """
    return c.b.op(_KEEP_INTEGERS[c.name], x) if x.dtype.is_float else x


@pd("abs")
def abs_(c: Call, x: Value) -> Value:
    """abs(x) -> out"""
    return x if x.dtype.kind in ("uint", "bool") else c.b.Abs(x)


@pd("sign")
def sign(c: Call, x: Value) -> Value:
    """sign(x) -> out"""
    return c.b.Sign(x)


@pd("square")
def square(c: Call, x: Value) -> Value:
    """square(x) -> out"""
    return c.b.ge.Square(x)


@pd("round")
def round_(c: Call, x: Value, *, decimals: int = 0) -> Value:
    """round(x, *, decimals=0) -> out"""
    if not x.dtype.is_float:
        return x
    if decimals == 0:
        return c.b.Round(x)
    factor = c.scalar(10.0 ** abs(decimals), x.dtype)
    if decimals > 0:
        return c.b.Div(c.b.Round(c.b.Mul(x, factor)), factor)
    return c.b.Mul(c.b.Round(c.b.Div(x, factor)), factor)


@pd("angle")
def angle(c: Call, x: Value) -> Value:
    """angle(x) -> out"""
    b = c.b
    x = c.cast(x, c.dtype())
    negative = b.Where(b.Less(x, 0), c.scalar(math.pi, x.dtype), c.scalar(0, x.dtype))
    return b.Where(b.IsNaN(x), x, negative)


@pd("conj", "real")
def conj(c: Call, x: Value) -> Value:
    """conj(x) -> out
    real(x) -> out
    """
    return x


@pd("imag")
def imag(c: Call, x: Value) -> Value:
    """imag(x) -> out"""
    return c.full(x.shape, 0, x.dtype)


@pd("isnan", "isinf", "isfinite")
def is_special(c: Call, x: Value) -> Value:
    """isnan(x) -> out
    isinf(x) -> out
    isfinite(x) -> out
    """
    if not x.dtype.is_float:
        return c.full(x.shape, c.name == "isfinite", BOOL)
    return c.b.op({"isnan": "IsNaN", "isinf": "IsInf", "isfinite": "ge.IsFinite"}[c.name], x)


@pd("logical_not")
def logical_not(c: Call, x: Value) -> Value:
    """logical_not(x) -> out"""
    return c.b.Not(c.cast(x, BOOL))


@pd("bitwise_not")
def bitwise_not(c: Call, x: Value) -> Value:
    """bitwise_not(x) -> out"""
    return c.b.Not(x) if x.dtype.kind == "bool" else c.b.BitwiseNot(x)


@pd("cast")
def cast(c: Call, x: Value, *, dtype: DType | None = None) -> Value:
    """cast(x, *, dtype) -> out"""
    return c.cast(x, c.dtype())


@pd("scale")
def scale(c: Call, x: Value, scale: Value, *, bias: float = 0.0, bias_after_scale: bool = True) -> Value:
    """scale(x, scale, *, bias=0.0, bias_after_scale=true) -> out"""
    b, number = c.b, c.number(scale)
    # 16-bit floats are computed in float32 and rounded once
    wide = c.wide(x)
    factor = c.cast(c.reshape(scale, ()), wide.dtype) if number is None else c.scalar(number, wide.dtype)
    offset = c.scalar(bias, wide.dtype)

    def scaled(v: Value) -> Value:
        return v if number == 1 else b.Mul(v, factor)

    def shifted(v: Value) -> Value:
        return v if bias == 0 else b.Add(v, offset)

    return c.cast(shifted(scaled(wide)) if bias_after_scale else scaled(shifted(wide)), x.dtype)


@pd("pow")
def pow_(c: Call, x: Value, *, y: float) -> Value:
    """pow(x, *, y=1.0f) -> out"""
    b = c.b
    if y == 1:
        return x
    if y == 2:
        return b.Mul(x, x)
    if x.dtype.is_integer and float(y) != int(y):
        return b.Pow(x, b.constant(float(y), "float64"))
    return b.Pow(x, c.scalar(y, x.dtype))


@pd("clip")
def clip(c: Call, x: Value, min: Value, max: Value) -> Value:
    """clip(x, min, max) -> out"""
    low, high = (c.number(v) for v in (min, max))
    lower = c.cast(c.reshape(min, ()), x.dtype) if low is None else c.scalar(low, x.dtype)
    upper = c.cast(c.reshape(max, ()), x.dtype) if high is None else c.scalar(high, x.dtype)
    if low is not None and low == 0 and high is not None and math.isinf(high):
        return c.b.Relu(x)
    return c.b.Clip(x, lower, upper)


@pd("logit")
def logit(c: Call, x: Value, *, eps: float = 1e-6) -> Value:
    """logit(x, *, eps=1e-6) -> out"""
    b = c.b
    wide = c.wide(x)
    if eps > 0:
        wide = b.Clip(wide, c.scalar(eps, wide.dtype), c.scalar(1 - eps, wide.dtype))
    odds = b.Log(b.Div(wide, b.Sub(c.scalar(1, wide.dtype), wide)))
    return c.cast(odds, x.dtype)


@pd("stanh")
def stanh(c: Call, x: Value, *, scale_a: float = 0.67, scale_b: float = 1.7159) -> Value:
    """stanh(x, *, scale_a=0.67f, scale_b=1.7159f) -> out"""
    b = c.b
    return b.Mul(b.Tanh(b.Mul(x, c.scalar(scale_a, x.dtype))), c.scalar(scale_b, x.dtype))


@pd("view_dtype")
def view_dtype(c: Call, input: Value, *, dtype: DType | None = None) -> Value:
    """view_dtype(input, *, dtype) -> out"""
    if input.dtype.bits != c.dtype().bits:
        raise c.unsupported(f"a view of {input.dtype} as {c.dtype()}, whose width is another")
    return input if input.dtype == c.dtype() else c.b.BitCast(input, to=c.dtype())


@pd("label_smooth")
def label_smooth(c: Call, label: Value, prior_dist: Value | None = None, *, epsilon: float = 0.0) -> Value:
    """label_smooth(label, prior_dist, *, epsilon=0.0f) -> out"""
    b = c.b
    kept = b.Mul(label, c.scalar(1 - epsilon, label.dtype))
    if prior_dist is not None:
        return b.Add(kept, b.Mul(c.reshape(prior_dist, (label.shape[-1],)), c.scalar(epsilon, label.dtype)))
    share = b.Div(c.scalar(epsilon, label.dtype), c.scalar(label.shape[-1], label.dtype))
    return b.Add(kept, share)
