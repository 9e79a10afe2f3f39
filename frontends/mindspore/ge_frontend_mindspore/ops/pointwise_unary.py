"""Functions of one tensor, element by element."""

from __future__ import annotations

import math

from ge_core.ir.graph import Value

from ..call import Call, Operand
from ..registry import primitive

_SAME = {"Abs": "Abs", "Ceil": "Ceil", "Floor": "Floor", "Neg": "Neg", "Rint": "Round", "Sign": "Sign",
         "Square": "ge.Square", "Trunc": "ge.Trunc"}  # fmt: skip

_REAL = {
    "ACos": "Acos", "AcosExt": "Acos", "Acosh": "Acosh", "AcoshExt": "Acosh", "Asin": "Asin", "AsinExt": "Asin",
    "Asinh": "Asinh", "AsinhExt": "Asinh", "Atan": "Atan", "AtanExt": "Atan", "Atanh": "Atanh", "Cos": "Cos",
    "Cosh": "Cosh", "Digamma": "ge.Digamma", "Erf": "Erf", "Erfc": "ge.Erfc", "Erfinv": "ge.ErfInv", "Exp": "Exp",
    "Exp2": "ge.Exp2", "Expm1": "ge.Expm1", "Lgamma": "ge.Lgamma", "Log": "Log", "Log10": "ge.Log10",
    "Log1p": "ge.Log1p", "Log2": "ge.Log2", "Rsqrt": "ge.Rsqrt", "Sin": "Sin", "Sinh": "Sinh", "Sqrt": "Sqrt",
    "Tan": "Tan",
}  # fmt: skip


@primitive(*_SAME)
def same(c: Call, input: Value) -> Value:
    """Abs(input); Ceil(input); Floor(input); Neg(input); Rint(x); Sign(input); Square(input); Trunc(input)"""
    if input.dtype.is_integer and c.op in ("Ceil", "Floor", "Rint", "Trunc"):
        return c.cast(input, c.dtype())
    result: Value = c.b.op(_SAME[c.op], input)
    return result


@primitive(*_REAL)
def real(c: Call, input: Value) -> Value:
    """Exp(input) and the like; integers are taken as real numbers of the result's type."""
    result: Value = c.b.op(_REAL[c.op], c.cast(input, c.dtype()))
    return result


@primitive("Reciprocal", "Inv")
def reciprocal(c: Call, x: Value) -> Value:
    """Reciprocal(x); Inv(x)"""
    if c.dtype().is_integer:
        return c.b.ge.TruncDiv(1, x)
    return c.b.Reciprocal(c.cast(x, c.dtype()))


@primitive("LogicalNot", "BoolNot", "bool_not")
def logical_not(c: Call, x: Operand) -> Operand:
    """LogicalNot(input); BoolNot(x)"""
    if isinstance(x, (bool, int)):
        return not x
    value = c.tensor(x)
    return c.b.Not(value if value.dtype.kind == "bool" else c.b.Cast(value, to="bool"))


@primitive("Invert", "BitwiseNot")
def invert(c: Call, x: Value) -> Value:
    """Invert(x); BitwiseNot(input)"""
    return c.b.Not(x) if x.dtype.kind == "bool" else c.b.BitwiseNot(x)


@primitive("IsNan", "IsInf", "IsFinite", "IsNegInf")
def is_kind(c: Call, x: Value) -> Value:
    """IsNan(x); IsInf(input); IsFinite(input); IsNegInf(input)"""
    if not x.dtype.is_float:
        return c.full(x.shape, c.op == "IsFinite")
    if c.op == "IsFinite":
        return c.b.ge.IsFinite(x)
    if c.op == "IsNan":
        return c.b.IsNaN(x)
    return c.b.IsInf(x, detect_positive=int(c.op == "IsInf"))


@primitive("Round")
def round(c: Call, input: Value, decimals: int = 0) -> Value:
    """Round(input, decimals=0)"""
    if input.dtype.is_integer:
        if decimals < 0:
            raise c.unsupported("integers rounded to tens")
        return input
    if decimals == 0:
        return c.b.Round(input)
    scale = float(10 ** abs(decimals))
    scaled = c.b.Mul(input, scale) if decimals > 0 else c.b.Div(input, scale)
    rounded = c.b.Round(scaled)
    return c.b.Div(rounded, scale) if decimals > 0 else c.b.Mul(rounded, scale)


@primitive("Frac")
def frac(c: Call, input: Value) -> Value:
    """Frac(input)"""
    return c.b.Sub(input, c.b.ge.Trunc(input)) if input.dtype.is_float else c.full(input.shape, 0)


@primitive("Sinc")
def sinc(c: Call, input: Value) -> Value:
    """Sinc(input): sin(pi x) / (pi x), 1 at 0"""
    x = c.cast(input, c.dtype())
    scaled = c.b.Mul(x, 3.141592653589793)
    return c.b.Where(c.b.Equal(x, 0.0), c.full(x.shape, 1.0), c.b.Div(c.b.Sin(scaled), scaled))


@primitive("Logit")
def logit(c: Call, input: Value, eps: float = -1.0) -> Value:
    """Logit(eps=-1.0)(x): log(x / (1 - x)), x held to [eps, 1 - eps]"""
    b, low = c.b, c.number(eps, "eps")
    x = b.Clip(input, low, 1.0 - low) if low >= 0 else input
    return b.Log(b.Div(x, b.Sub(1.0, x)))


@primitive("NanToNum")
def nan_to_num(c: Call, input: Value, nan: float | None, posinf: float | None, neginf: float | None) -> Value:
    """NanToNum(input, nan=None, posinf=None, neginf=None)"""
    b, dtype = c.b, input.dtype
    if not dtype.is_float:
        return input
    x = b.Where(b.IsNaN(input), c.tensor(0.0 if nan is None else nan, dtype), input)
    high, low = dtype.max if posinf is None else posinf, dtype.min if neginf is None else neginf
    x = b.Where(b.IsInf(x, detect_negative=0), c.tensor(high, dtype), x)
    return b.Where(b.IsInf(x, detect_positive=0), c.tensor(low, dtype), x)


@primitive("Real", "RealView", "Conj")
def real_part(c: Call, input: Value) -> Value:
    """Real(input); Conj(input): the number itself where it is real"""
    return input


@primitive("Imag")
def imag_part(c: Call, input: Value) -> Value:
    """Imag(input): 0 where the number is real"""
    return c.full(input.shape, 0)


@primitive("Angle")
def angle(c: Call, input: Value) -> Value:
    """Angle(input): 0 for positive real numbers, pi for negative ones"""
    b, x = c.b, c.cast(input, c.dtype())
    found = b.Where(b.Less(x, 0.0), c.tensor(3.141592653589793, x.dtype), c.tensor(0.0, x.dtype))
    return b.Where(b.IsNaN(x), x, found)


@primitive("PopulationCount")
def population_count(c: Call, input: Value) -> Value:
    """PopulationCount(input): the bits that are set, of 8 and 16 bit integers"""
    b = c.b
    wide = b.Cast(input, to="int64")
    total = None
    for bit in range(input.dtype.bits):
        one = b.BitwiseAnd(b.ge.ArithmeticShift(wide, bit), 1)
        total = one if total is None else b.Add(total, one)
    assert total is not None
    return c.cast(total, c.dtype())


@primitive("Mvlgamma")
def mvlgamma(c: Call, x: Value, p: int) -> Value:
    """Mvlgamma(p)(x): p (p - 1) / 4 log(pi) + the sum of lgamma(x - j / 2) for j < p"""
    total = c.b.ge.Lgamma(x)
    for j in range(1, p):
        total = c.b.Add(total, c.b.ge.Lgamma(c.b.Sub(x, 0.5 * j)))
    return c.b.Add(total, p * (p - 1) / 4 * math.log(math.pi))
