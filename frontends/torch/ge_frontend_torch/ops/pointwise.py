"""Pointwise operators of two and more tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..element_types import Number, Operand, result_type
from ..registry import aten
from .signal import complex_product

_BOOL = DType.of("bool")


def _binary(c: Call, op: str, x: Operand, other: Operand) -> Value:
    """An operator in the result's element type."""
    return _rounded(c, lambda a, b: c.b.op(op, a, b), x, other)


def _rounded(c: Call, build: Callable[..., Value], *operands: Operand) -> Value:
    """Computed so that Python numbers keep their value, then rounded to the result's type."""
    dtype = c.dtype()
    working = c.working_type(dtype, *operands)
    return c.cast(build(*c.operands(working, *operands)), dtype)


def _scaled(c: Call, x: Operand, factor: Operand) -> Operand:
    """`x * factor` in the result's type; `x` itself for a factor of 1."""
    if not isinstance(factor, Value) and factor == 1:
        return x
    return _binary(c, "Mul", x, factor)


@aten("add.Tensor", "add.Scalar")
def add(c: Call, x: Value, other: Operand, alpha: Number = 1) -> Value:
    """add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
    """
    if c.dtype().kind == "bool":
        return c.b.Or(x, c.scalar(other, _BOOL))
    return _binary(c, "Add", x, _scaled(c, other, alpha))


@aten("sub.Tensor", "sub.Scalar", "subtract.Tensor", "subtract.Scalar")
def sub(c: Call, x: Value, other: Operand, alpha: Number = 1) -> Value:
    """sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
    subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
    """
    return _binary(c, "Sub", x, _scaled(c, other, alpha))


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(c: Call, x: Value, other: Operand, alpha: Number = 1) -> Value:
    """rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
    """
    return _binary(c, "Sub", other, _scaled(c, x, alpha))


@aten("mul.Tensor", "mul.Scalar", "multiply.Tensor", "multiply.Scalar", complex=True)
def mul(c: Call, x: Value | ComplexPair, other: Operand | ComplexPair) -> Value | ComplexPair:
    """mul.Tensor(Tensor self, Tensor other) -> Tensor
    mul.Scalar(Tensor self, Scalar other) -> Tensor
    multiply.Tensor(Tensor self, Tensor other) -> Tensor
    multiply.Scalar(Tensor self, Scalar other) -> Tensor
    """
    if isinstance(x, ComplexPair) or isinstance(other, ComplexPair):
        return complex_product(c, x, other)
    if c.dtype().kind == "bool":
        return c.b.And(x, c.scalar(other, _BOOL))
    return _binary(c, "Mul", x, other)


@aten("div.Tensor", "div.Scalar", "divide.Tensor", "divide.Scalar", "true_divide.Tensor", "true_divide.Scalar")
def div(c: Call, x: Value, other: Operand) -> Value:
    """div.Tensor(Tensor self, Tensor other) -> Tensor
    div.Scalar(Tensor self, Scalar other) -> Tensor
    divide.Tensor(Tensor self, Tensor other) -> Tensor
    divide.Scalar(Tensor self, Scalar other) -> Tensor
    true_divide.Tensor(Tensor self, Tensor other) -> Tensor
    true_divide.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _binary(c, "Div", x, other)


@aten("div.Tensor_mode", "div.Scalar_mode", "divide.Tensor_mode", "divide.Scalar_mode")
def div_mode(c: Call, x: Value, other: Operand, rounding_mode: str | None = None) -> Value:
    """div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
    div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
    divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
    divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
    """
    if rounding_mode is None:
        return _binary(c, "Div", x, other)
    if rounding_mode == "floor":
        return _binary(c, "ge.FloorDiv", x, other)
    if c.dtype().is_integer:
        return _binary(c, "ge.TruncDiv", x, other)
    return _rounded(c, lambda a, b: c.b.ge.Trunc(c.b.Div(a, b)), x, other)


@aten("floor_divide.default", "floor_divide.Scalar")
def floor_divide(c: Call, x: Value, other: Operand) -> Value:
    """floor_divide(Tensor self, Tensor other) -> Tensor
    floor_divide.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _binary(c, "ge.FloorDiv", x, other)


@aten("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(c: Call, x: Operand, other: Operand) -> Value:
    """remainder.Tensor(Tensor self, Tensor other) -> Tensor
    remainder.Scalar(Tensor self, Scalar other) -> Tensor
    remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    """
    return _binary(c, "ge.FloorMod", x, other)


@aten("fmod.Tensor", "fmod.Scalar")
def fmod(c: Call, x: Value, other: Operand) -> Value:
    """fmod.Tensor(Tensor self, Tensor other) -> Tensor
    fmod.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _rounded(c, lambda a, b: c.b.Mod(a, b, fmod=1), x, other)


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(c: Call, x: Operand, exponent: Operand) -> Value:
    """pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
    pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
    pow.Scalar(Scalar self, Tensor exponent) -> Tensor
    """
    return _binary(c, "Pow", x, exponent)


@aten("maximum.default", "max.other")
def maximum(c: Call, x: Value, other: Value) -> Value:
    """maximum(Tensor self, Tensor other) -> Tensor
    max.other(Tensor self, Tensor other) -> Tensor
    """
    return _binary(c, "Or" if c.dtype().kind == "bool" else "Max", x, other)


@aten("minimum.default", "min.other")
def minimum(c: Call, x: Value, other: Value) -> Value:
    """minimum(Tensor self, Tensor other) -> Tensor
    min.other(Tensor self, Tensor other) -> Tensor
    """
    return _binary(c, "And" if c.dtype().kind == "bool" else "Min", x, other)


@aten("fmax.default")
def fmax(c: Call, x: Value, other: Value) -> Value:
    """fmax(Tensor self, Tensor other) -> Tensor"""
    return _binary(c, "ge.FMax" if c.dtype().is_float else "Max", x, other)


@aten("fmin.default")
def fmin(c: Call, x: Value, other: Value) -> Value:
    """fmin(Tensor self, Tensor other) -> Tensor"""
    return _binary(c, "ge.FMin" if c.dtype().is_float else "Min", x, other)


@aten("atan2.default", "arctan2.default")
def atan2(c: Call, x: Value, other: Value) -> Value:
    """atan2(Tensor self, Tensor other) -> Tensor
    arctan2(Tensor self, Tensor other) -> Tensor
    """
    return _binary(c, "ge.Atan2", x, other)


@aten("copysign.Tensor", "copysign.Scalar")
def copysign(c: Call, x: Value, other: Operand) -> Value:
    """copysign.Tensor(Tensor self, Tensor other) -> Tensor
    copysign.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _binary(c, "ge.CopySign", x, other)


@aten("nextafter.default")
def nextafter(c: Call, x: Value, other: Value) -> Value:
    """nextafter(Tensor self, Tensor other) -> Tensor"""
    return _binary(c, "ge.NextAfter", x, other)


@aten("logaddexp.default")
def logaddexp(c: Call, x: Value, other: Value) -> Value:
    """logaddexp(Tensor self, Tensor other) -> Tensor"""
    return _binary(c, "ge.LogAddExp", x, other)


@aten("hypot.default")
def hypot(c: Call, x: Value, other: Value) -> Value:
    """hypot(Tensor self, Tensor other) -> Tensor"""
    b = c.b
    a, d = c.operands(c.dtype(), b.Abs(x), b.Abs(other))
    large, small = b.Max(a, d), b.Min(a, d)
    # large * sqrt(1 + (small/large)^2) neither overflows nor loses small numbers; 0 has no ratio, and an infinity
    # beside a NaN is infinite
    ratio = b.Div(small, large)
    scaled = b.Mul(large, b.Sqrt(b.Add(b.Mul(ratio, ratio), 1.0)))
    scaled = b.Where(b.Equal(large, 0.0), large, scaled)
    return b.Where(b.Or(b.IsInf(a), b.IsInf(d)), c.scalar(math.inf, c.dtype()), scaled)


@aten("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other")
def xlogy(c: Call, x: Operand, other: Operand) -> Value:
    """xlogy.Tensor(Tensor self, Tensor other) -> Tensor
    xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor
    xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor
    """
    b, dtype = c.b, c.dtype()
    a, d = c.operands(dtype, x, other)
    zero = c.scalar(0, dtype)
    product = b.Where(b.Equal(a, zero), zero, b.Mul(a, b.Log(d)))
    return b.Where(b.IsNaN(d), d, product)


@aten("lerp.Scalar", "lerp.Tensor")
def lerp(c: Call, x: Value, end: Value, weight: Operand) -> Value:
    """lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
    lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
    """
    b, dtype = c.b, c.dtype()
    working = c.working_type(dtype, weight)
    start, stop, w = c.operands(working, x, end, weight)
    span = b.Sub(stop, start)
    low = b.Add(start, b.Mul(w, span))
    high = b.Sub(stop, b.Mul(span, b.Sub(c.scalar(1, working), w)))
    if isinstance(weight, Value):
        return c.cast(b.Where(b.Less(b.Abs(w), 0.5), low, high), dtype)
    return c.cast(low if abs(float(weight)) < 0.5 else high, dtype)  # type: ignore[arg-type]


@aten("addcmul.default")
def addcmul(c: Call, x: Value, tensor1: Value, tensor2: Value, value: Number) -> Value:
    """addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"""

    def build(base: Value, a: Value, d: Value, factor: Value) -> Value:
        product = c.b.Mul(a, d)
        return c.b.Add(base, product if value == 1 else c.b.Mul(product, factor))

    return _rounded(c, build, x, tensor1, tensor2, value)


@aten("addcdiv.default")
def addcdiv(c: Call, x: Value, tensor1: Value, tensor2: Value, value: Number) -> Value:
    """addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"""

    def build(base: Value, a: Value, d: Value, factor: Value) -> Value:
        return c.b.Add(base, c.b.Div(a if value == 1 else c.b.Mul(a, factor), d))

    return _rounded(c, build, x, tensor1, tensor2, value)


def _compare(c: Call, op: str, x: Operand, other: Operand) -> Value:
    """A comparison in the type in which torch combines the operands; bools order as 0 and 1."""
    dtype = result_type(x, other)
    a, d = c.operands(dtype, x, other)
    if dtype.kind == "bool" and op != "Equal":
        a, d = (c.b.Cast(v, to="uint8") for v in (a, d))
    return c.b.op(op, a, d)


@aten("eq.Tensor", "eq.Scalar")
def eq(c: Call, x: Value, other: Operand) -> Value:
    """eq.Tensor(Tensor self, Tensor other) -> Tensor
    eq.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _compare(c, "Equal", x, other)


@aten("ne.Tensor", "ne.Scalar", "not_equal.Tensor", "not_equal.Scalar")
def ne(c: Call, x: Value, other: Operand) -> Value:
    """ne.Tensor(Tensor self, Tensor other) -> Tensor
    ne.Scalar(Tensor self, Scalar other) -> Tensor
    not_equal.Tensor(Tensor self, Tensor other) -> Tensor
    not_equal.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return c.b.Not(_compare(c, "Equal", x, other))


@aten("lt.Tensor", "lt.Scalar", "less.Tensor", "less.Scalar")
def lt(c: Call, x: Value, other: Operand) -> Value:
    """lt.Tensor(Tensor self, Tensor other) -> Tensor
    lt.Scalar(Tensor self, Scalar other) -> Tensor
    less.Tensor(Tensor self, Tensor other) -> Tensor
    less.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _compare(c, "Less", x, other)


@aten("le.Tensor", "le.Scalar", "less_equal.Tensor", "less_equal.Scalar")
def le(c: Call, x: Value, other: Operand) -> Value:
    """le.Tensor(Tensor self, Tensor other) -> Tensor
    le.Scalar(Tensor self, Scalar other) -> Tensor
    less_equal.Tensor(Tensor self, Tensor other) -> Tensor
    less_equal.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _compare(c, "LessOrEqual", x, other)


@aten("gt.Tensor", "gt.Scalar", "greater.Tensor", "greater.Scalar")
def gt(c: Call, x: Value, other: Operand) -> Value:
    """gt.Tensor(Tensor self, Tensor other) -> Tensor
    gt.Scalar(Tensor self, Scalar other) -> Tensor
    greater.Tensor(Tensor self, Tensor other) -> Tensor
    greater.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _compare(c, "Greater", x, other)


@aten("ge.Tensor", "ge.Scalar", "greater_equal.Tensor", "greater_equal.Scalar")
def ge(c: Call, x: Value, other: Operand) -> Value:
    """ge.Tensor(Tensor self, Tensor other) -> Tensor
    ge.Scalar(Tensor self, Scalar other) -> Tensor
    greater_equal.Tensor(Tensor self, Tensor other) -> Tensor
    greater_equal.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _compare(c, "GreaterOrEqual", x, other)


@aten("isclose.default")
def isclose(c: Call, x: Value, other: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    """isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool
    equal_nan=False) -> Tensor
    """
    b = c.b
    same = b.Equal(x, other)
    if not x.dtype.is_float:
        working = DType.of("float64")
        x, other = c.cast(x, working), c.cast(other, working)
    if equal_nan:
        same = b.Or(same, b.And(b.IsNaN(x), b.IsNaN(other)))
    allowed = b.Add(b.Abs(b.Mul(other, rtol)), atol)
    distance = b.Abs(b.Sub(x, other))
    near = b.And(b.ge.IsFinite(distance), b.LessOrEqual(distance, allowed))
    return b.Or(same, near)


def _logical(c: Call, op: str, x: Operand, other: Operand) -> Value:
    return c.b.op(op, *c.operands(_BOOL, x, other))


@aten("logical_and.default")
def logical_and(c: Call, x: Value, other: Value) -> Value:
    """logical_and(Tensor self, Tensor other) -> Tensor"""
    return _logical(c, "And", x, other)


@aten("logical_or.default")
def logical_or(c: Call, x: Value, other: Value) -> Value:
    """logical_or(Tensor self, Tensor other) -> Tensor"""
    return _logical(c, "Or", x, other)


@aten("logical_xor.default")
def logical_xor(c: Call, x: Value, other: Value) -> Value:
    """logical_xor(Tensor self, Tensor other) -> Tensor"""
    return _logical(c, "Xor", x, other)


def _bitwise(c: Call, op: str, x: Operand, other: Operand) -> Value:
    return _binary(c, op if c.dtype().kind == "bool" else f"Bitwise{op}", x, other)


@aten(
    "bitwise_and.Tensor", "bitwise_and.Scalar", "bitwise_and.Scalar_Tensor", "__and__.Tensor", "__and__.Scalar",
)  # fmt: skip
def bitwise_and(c: Call, x: Operand, other: Operand) -> Value:
    """bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor
    bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor
    bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    __and__.Tensor(Tensor self, Tensor other) -> Tensor
    __and__.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _bitwise(c, "And", x, other)


@aten("bitwise_or.Tensor", "bitwise_or.Scalar", "bitwise_or.Scalar_Tensor", "__or__.Tensor", "__or__.Scalar")
def bitwise_or(c: Call, x: Operand, other: Operand) -> Value:
    """bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor
    bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor
    bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    __or__.Tensor(Tensor self, Tensor other) -> Tensor
    __or__.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _bitwise(c, "Or", x, other)


@aten(
    "bitwise_xor.Tensor", "bitwise_xor.Scalar", "bitwise_xor.Scalar_Tensor", "__xor__.Tensor", "__xor__.Scalar",
)  # fmt: skip
def bitwise_xor(c: Call, x: Operand, other: Operand) -> Value:
    """bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor
    bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor
    bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    __xor__.Tensor(Tensor self, Tensor other) -> Tensor
    __xor__.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _bitwise(c, "Xor", x, other)


@aten(
    "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor",
    "__lshift__.Tensor", "__lshift__.Scalar",
)  # fmt: skip
def left_shift(c: Call, x: Operand, other: Operand) -> Value:
    """bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor
    bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor
    bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    __lshift__.Tensor(Tensor self, Tensor other) -> Tensor
    __lshift__.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _rounded(c, lambda a, b: c.b.BitShift(a, b, direction="LEFT"), x, other)


@aten(
    "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor",
    "__rshift__.Tensor", "__rshift__.Scalar",
)  # fmt: skip
def right_shift(c: Call, x: Operand, other: Operand) -> Value:
    """bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor
    bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor
    bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    __rshift__.Tensor(Tensor self, Tensor other) -> Tensor
    __rshift__.Scalar(Tensor self, Scalar other) -> Tensor
    """
    return _binary(c, "ge.ArithmeticShift", x, other)


@aten("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(c: Call, condition: Value, x: Operand, other: Operand) -> Value:
    """where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
    where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor
    where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor
    where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor
    """
    return c.b.Where(c.cast(condition, _BOOL), *c.operands(c.dtype(), x, other))


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(c: Call, x: Value, mask: Value, value: Operand) -> Value:
    """masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
    masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
    """
    return c.b.Where(c.cast(mask, _BOOL), c.scalar(value, c.dtype()), x)


@aten("prelu.default")
def prelu(c: Call, x: Value, weight: Value) -> Value:
    """prelu(Tensor self, Tensor weight) -> Tensor"""
    # one slope for each channel, the second axis; a single slope for all
    slope = (
        c.reshape(weight, (*weight.shape, *(1 for _ in range(x.rank - 2)))) if x.rank > 1 and weight.rank else weight
    )
    return c.b.PRelu(x, slope)
