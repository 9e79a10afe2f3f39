"""Operators on elements, of one and of two tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, Call
from ..complex_pair import ComplexPair
from ..registry import tf_op

_DIRECT = {
    "Abs": "Abs", "Acos": "Acos", "Acosh": "Acosh", "Asin": "Asin", "Asinh": "Asinh", "Atan": "Atan",
    "Atanh": "Atanh", "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh", "Erf": "Erf", "Exp": "Exp", "Floor": "Floor",
    "Log": "Log", "Sigmoid": "Sigmoid", "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh", "Sqrt": "Sqrt", "Tan": "Tan",
    "Tanh": "Tanh", "LogicalNot": "Not", "Invert": "BitwiseNot", "Softplus": "Softplus", "Softsign": "Softsign",
    "Elu": "Elu", "Expm1": "ge.Expm1", "Log1p": "ge.Log1p", "Rsqrt": "ge.Rsqrt",
    "Erfc": "ge.Erfc", "Erfinv": "ge.ErfInv", "Lgamma": "ge.Lgamma", "Digamma": "ge.Digamma", "Rint": "Round",
    "IsNan": "IsNaN", "IsInf": "IsInf",
}  # fmt: skip


@tf_op(
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cosh", "Erf", "Floor", "Sigmoid", "Sign", "Sinh",
    "Sqrt", "Tan", "LogicalNot", "Invert", "Softplus", "Softsign", "Elu", "Expm1", "Log1p", "Erfc",
    "Erfinv", "Lgamma", "Digamma", "IsNan", "IsInf", "Abs", "Cos", "Log", "Sin", "Tanh", "Rsqrt",
)  # fmt: skip
def unary(c: Call, x: Value) -> Value:
    """Acos(x) -> y; T
    Acosh(x) -> y; T
    Asin(x) -> y; T
    Asinh(x) -> y; T
    Atan(x) -> y; T
    Atanh(x) -> y; T
    Ceil(x) -> y; T
    Cosh(x) -> y; T
    Erf(x) -> y; T
    Floor(x) -> y; T
    Sigmoid(x) -> y; T
    Sign(x) -> y; T
    Sinh(x) -> y; T
    Sqrt(x) -> y; T
    Tan(x) -> y; T
    LogicalNot(x) -> y
    Invert(x) -> y; T
    Softplus(features) -> activations; T
    Softsign(features) -> activations; T
    Elu(features) -> activations; T
    Expm1(x) -> y; T
    Log1p(x) -> y; T
    Erfc(x) -> y; T
    Erfinv(x) -> y; T
    Lgamma(x) -> y; T
    Digamma(x) -> y; T
    IsNan(x) -> y; T
    IsInf(x) -> y; T
    Abs(x) -> y; T
    Cos(x) -> y; T
    Log(x) -> y; T
    Sin(x) -> y; T
    Tanh(x) -> y; T
    Rsqrt(x) -> y; T
    """
    return c.b.op(_DIRECT[c.name], x)


@tf_op("Rint")
def rint(c: Call, x: Value) -> Value:
    """Rint(x) -> y; T"""
    return c.b.Round(x)


@tf_op("Round")
def round_(c: Call, x: Value) -> Value:
    """Round(x) -> y; T"""
    return x if x.dtype.is_integer else c.b.Round(x)


@tf_op("IsFinite")
def is_finite(c: Call, x: Value) -> Value:
    """IsFinite(x) -> y; T"""
    return c.b.ge.IsFinite(x)


@tf_op("Exp", complex=True)
def exp(c: Call, x: Value | ComplexPair) -> Value | ComplexPair:
    """Exp(x) -> y; T"""
    b = c.b
    if isinstance(x, ComplexPair):
        real, imag = halves(c, x)
        size = b.Exp(real)
        return joined(c, b.Mul(size, b.Cos(imag)), b.Mul(size, b.Sin(imag)))
    return b.Exp(x)


@tf_op("Selu")
def selu(c: Call, features: Value) -> Value:
    """Selu(features) -> activations; T"""
    return c.b.Selu(features, alpha=1.6732632423543772, gamma=1.0507009873554805)


@tf_op("Relu")
def relu(c: Call, features: Value) -> Value:
    """Relu(features) -> activations; T"""
    return c.b.Relu(features)


@tf_op("Relu6")
def relu6(c: Call, features: Value) -> Value:
    """Relu6(features) -> activations; T"""
    return c.b.Clip(features, c.like(0, features), c.like(6, features))


@tf_op("LeakyRelu")
def leaky_relu(c: Call, features: Value) -> Value:
    """LeakyRelu(features) -> activations; alpha, T"""
    return c.b.LeakyRelu(features, alpha=c.attr("alpha"))


@tf_op("ClipByValue")
def clip_by_value(c: Call, t: Value, clip_value_min: Value, clip_value_max: Value) -> Value:
    """ClipByValue(t, clip_value_min, clip_value_max) -> output; T"""
    if clip_value_min.rank == 0 and clip_value_max.rank == 0:
        return c.b.Clip(t, clip_value_min, clip_value_max)
    return c.b.Max([c.b.Min([t, clip_value_max]), clip_value_min])


@tf_op("Neg", complex=True)
def neg(c: Call, x: Value | ComplexPair) -> Value | ComplexPair:
    """Neg(x) -> y; T"""
    return ComplexPair(c.b.Neg(x.parts)) if isinstance(x, ComplexPair) else c.b.Neg(x)


@tf_op("Square", complex=True)
def square(c: Call, x: Value | ComplexPair) -> Value | ComplexPair:
    """Square(x) -> y; T"""
    return _product(c, x, x) if isinstance(x, ComplexPair) else c.b.ge.Square(x)


@tf_op("Reciprocal", "Inv")
def reciprocal(c: Call, x: Value) -> Value:
    """Reciprocal(x) -> y; T
    Inv(x) -> y; T
    """
    if x.dtype.is_integer:
        return c.b.ge.TruncDiv(c.like(1, x), x)
    return c.b.Reciprocal(x)


@tf_op("Cast", complex=True)
def cast(c: Call, x: Value | ComplexPair) -> Value | ComplexPair:
    """Cast(x) -> y; SrcT, DstT, Truncate"""
    from ..element_types import real_of

    dtype = c.dtype("DstT")
    if dtype.kind == "complex":
        part = real_of(dtype)
        if isinstance(x, ComplexPair):
            return ComplexPair(c.cast(x.parts, part))
        real = c.cast(x, part)
        return joined(c, real, c.full(real.shape, 0, part))
    if isinstance(x, ComplexPair):
        x = halves(c, x)[0]
    if x.content is not None and dtype.is_integer and x.rank <= 1:
        return c.size_tensor(x.content, dtype) if x.rank else c.scalar(x.content[0], dtype)
    return c.cast(x, dtype)


@tf_op("Bitcast")
def bitcast(c: Call, input: Value) -> Value:
    """Bitcast(input) -> output; T, type"""
    dtype = c.dtype("type")
    if dtype == input.dtype:
        return input
    if dtype.bits != input.dtype.bits:
        raise c.unsupported(f"from {input.dtype} to {dtype}, of another width")
    return c.b.BitCast(input, to=dtype)


# --- of two tensors -----------------------------------------------------------------------------------------------

_BINARY = {
    "LogicalAnd": "And", "LogicalOr": "Or", "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr",
    "BitwiseXor": "BitwiseXor", "Atan2": "ge.Atan2", "NextAfter": "ge.NextAfter", "FloorDiv": "ge.FloorDiv",
    "FloorMod": "ge.FloorMod", "Less": "Less", "LessEqual": "LessOrEqual", "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual",
}  # fmt: skip


@tf_op(
    "LogicalAnd", "LogicalOr", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Atan2", "NextAfter", "FloorDiv", "FloorMod",
    "Less", "LessEqual", "Greater", "GreaterEqual",
)  # fmt: skip
def binary(c: Call, x: Value, y: Value) -> Value:
    """LogicalAnd(x, y) -> z
    LogicalOr(x, y) -> z
    BitwiseAnd(x, y) -> z; T
    BitwiseOr(x, y) -> z; T
    BitwiseXor(x, y) -> z; T
    Atan2(y, x) -> z; T
    NextAfter(x1, x2) -> output; T
    FloorDiv(x, y) -> z; T
    FloorMod(x, y) -> z; T
    Less(x, y) -> z; T
    LessEqual(x, y) -> z; T
    Greater(x, y) -> z; T
    GreaterEqual(x, y) -> z; T
    """
    return c.b.op(_BINARY[c.name], x, y)


Either = Value | ComplexPair


def halves(c: Call, x: ComplexPair) -> tuple[Value, Value]:
    """Real and imaginary part."""
    axis = x.parts.rank - 1
    real, imag = (c.b.Gather(x.parts, c.b.constant(np.int64(i)), axis=axis) for i in (0, 1))
    return real, imag


def joined(c: Call, real: Value, imag: Value) -> ComplexPair:
    """A complex tensor of its parts, which broadcast."""
    if real.tensor.shape != imag.tensor.shape:
        zero = c.like(0, real)
        real, imag = c.b.Add(real, c.b.Mul(imag, zero)), c.b.Add(imag, c.b.Mul(real, zero))
    return ComplexPair(c.b.Concat([c.unsqueeze(real, real.rank), c.unsqueeze(imag, imag.rank)], axis=-1))


def as_pair(c: Call, x: Either) -> ComplexPair:
    """A real tensor as a complex one."""
    return x if isinstance(x, ComplexPair) else joined(c, x, c.full(x.shape, 0, x.dtype))


def _product(c: Call, x: ComplexPair, y: ComplexPair) -> ComplexPair:
    b = c.b
    (xr, xi), (yr, yi) = halves(c, x), halves(c, y)
    return joined(c, b.Sub(b.Mul(xr, yr), b.Mul(xi, yi)), b.Add(b.Mul(xr, yi), b.Mul(xi, yr)))


def _aligned(c: Call, x: Either, y: Either) -> tuple[Value, Value]:
    """The parts of two complex tensors with axes of size 1 in front, so that the parts' axes meet."""
    left, right = as_pair(c, x).parts, as_pair(c, y).parts
    rank = max(left.rank, right.rank)
    return tuple(c.unsqueeze(v, *range(rank - v.rank)) for v in (left, right))  # type: ignore[return-value]


def _is_complex(*values: Either) -> bool:
    return any(isinstance(v, ComplexPair) for v in values)


@tf_op("AddV2", "Add", complex=True)
def add(c: Call, x: Either, y: Either) -> Either:
    """AddV2(x, y) -> z; T
    Add(x, y) -> z; T
    """
    if _is_complex(x, y):
        return ComplexPair(c.b.Add(*_aligned(c, x, y)))
    return c.b.Add(x, y)


@tf_op("Sub", complex=True)
def sub(c: Call, x: Either, y: Either) -> Either:
    """Sub(x, y) -> z; T"""
    if _is_complex(x, y):
        return ComplexPair(c.b.Sub(*_aligned(c, x, y)))
    return c.b.Sub(x, y)


@tf_op("Mul", complex=True)
def mul(c: Call, x: Either, y: Either) -> Either:
    """Mul(x, y) -> z; T"""
    if _is_complex(x, y):
        return _product(c, as_pair(c, x), as_pair(c, y))
    return c.b.Mul(x, y)


def _quotient(c: Call, x: ComplexPair, y: ComplexPair) -> ComplexPair:
    b = c.b
    (xr, xi), (yr, yi) = halves(c, x), halves(c, y)
    size = b.Add(b.Mul(yr, yr), b.Mul(yi, yi))
    real = b.Div(b.Add(b.Mul(xr, yr), b.Mul(xi, yi)), size)
    return joined(c, real, b.Div(b.Sub(b.Mul(xi, yr), b.Mul(xr, yi)), size))


@tf_op("RealDiv", "Div", complex=True)
def real_div(c: Call, x: Either, y: Either) -> Either:
    """RealDiv(x, y) -> z; T
    Div(x, y) -> z; T
    """
    if _is_complex(x, y):
        return _quotient(c, as_pair(c, x), as_pair(c, y))
    assert isinstance(x, Value)
    return c.b.ge.TruncDiv(x, y) if x.dtype.is_integer else c.b.Div(x, y)


@tf_op("TruncateDiv")
def truncate_div(c: Call, x: Value, y: Value) -> Value:
    """TruncateDiv(x, y) -> z; T"""
    return c.b.ge.TruncDiv(x, y)


@tf_op("TruncateMod", "Mod")
def truncate_mod(c: Call, x: Value, y: Value) -> Value:
    """TruncateMod(x, y) -> z; T
    Mod(x, y) -> z; T
    """
    return c.b.Mod(x, y, fmod=1)


@tf_op("Maximum")
def maximum(c: Call, x: Value, y: Value) -> Value:
    """Maximum(x, y) -> z; T"""
    return c.b.Max([x, y])


@tf_op("Minimum")
def minimum(c: Call, x: Value, y: Value) -> Value:
    """Minimum(x, y) -> z; T"""
    return c.b.Min([x, y])


@tf_op("Pow")
def pow_(c: Call, x: Value, y: Value) -> Value:
    """Pow(x, y) -> z; T"""
    return c.b.Pow(x, y)


@tf_op("SquaredDifference")
def squared_difference(c: Call, x: Value, y: Value) -> Value:
    """SquaredDifference(x, y) -> z; T"""
    return c.b.ge.Square(c.b.Sub(x, y))


@tf_op("Equal", complex=True)
def equal(c: Call, x: Either, y: Either) -> Value:
    """Equal(x, y) -> z; T, incompatible_shape_error"""
    if _is_complex(x, y):
        return c.cast(c.b.ReduceMin(c.cast(c.b.Equal(*_aligned(c, x, y)), DType.of("int32")), c.b.ints(-1), keepdims=0),
                      BOOL)  # fmt: skip
    return c.b.Equal(x, y)


@tf_op("NotEqual", complex=True)
def not_equal(c: Call, x: Either, y: Either) -> Value:
    """NotEqual(x, y) -> z; T, incompatible_shape_error"""
    return c.b.Not(equal(c, x, y))


@tf_op("ApproximateEqual")
def approximate_equal(c: Call, x: Value, y: Value) -> Value:
    """ApproximateEqual(x, y) -> z; T, tolerance"""
    b = c.b
    tolerance = c.attr("tolerance")
    return b.Less(b.Abs(b.Sub(x, y)), c.like(tolerance, x))


def _zero_where(c: Call, x: Value, y: Value, found: Value) -> Value:
    """0 where x is 0, whatever y is."""
    return c.b.Where(c.b.Equal(x, c.like(0, x)), c.like(0, found), found)


@tf_op("DivNoNan", complex=True)
def div_no_nan(c: Call, x: Either, y: Either) -> Either:
    """DivNoNan(x, y) -> z; T"""
    b = c.b
    if _is_complex(x, y):
        raise c.unsupported("complex numbers")
    assert isinstance(y, Value)
    none = b.Equal(y, c.like(0, y))
    return b.Where(none, c.like(0, y), b.Div(x, y))


@tf_op("MulNoNan")
def mul_no_nan(c: Call, x: Value, y: Value) -> Value:
    """MulNoNan(x, y) -> z; T"""
    b = c.b
    return b.Where(b.Equal(y, c.like(0, y)), c.like(0, y), b.Mul(x, y))


@tf_op("Xlogy")
def xlogy(c: Call, x: Value, y: Value) -> Value:
    """Xlogy(x, y) -> z; T"""
    return _zero_where(c, x, y, c.b.Mul(x, c.b.Log(y)))


@tf_op("Xlog1py")
def xlog1py(c: Call, x: Value, y: Value) -> Value:
    """Xlog1py(x, y) -> z; T"""
    return _zero_where(c, x, y, c.b.Mul(x, c.b.ge.Log1p(y)))


@tf_op("Xdivy")
def xdivy(c: Call, x: Value, y: Value) -> Value:
    """Xdivy(x, y) -> z; T"""
    return _zero_where(c, x, y, c.b.Div(x, y))


@tf_op("LeftShift")
def left_shift(c: Call, x: Value, y: Value) -> Value:
    """LeftShift(x, y) -> z; T"""
    unsigned = _unsigned(x.dtype)
    found = c.b.BitShift(_as(c, x, unsigned), _as(c, _clamped(c, y), unsigned), direction="LEFT")
    return _as(c, found, x.dtype)


@tf_op("RightShift")
def right_shift(c: Call, x: Value, y: Value) -> Value:
    """RightShift(x, y) -> z; T"""
    y = _clamped(c, y)
    if x.dtype.kind == "int":
        return c.b.ge.ArithmeticShift(x, y)
    return c.b.BitShift(x, y, direction="RIGHT")


def _clamped(c: Call, y: Value) -> Value:
    """A shift by the width or more is one by the width less one, a negative one is none."""
    return c.b.Min([c.b.Max([y, c.like(0, y)]), c.like(y.dtype.bits - 1, y)])


def _unsigned(dtype: DType) -> DType:
    return DType.of(dtype.name if dtype.kind == "uint" else f"u{dtype.name}")


def _as(c: Call, x: Value, dtype: DType) -> Value:
    return x if x.dtype == dtype else c.b.BitCast(x, to=dtype)


@tf_op("AddN", "AccumulateNV2")
def add_n(c: Call, inputs: Sequence[Value]) -> Value:
    """AddN(inputs...) -> sum; N, T
    AccumulateNV2(inputs...) -> sum; N, T, shape
    """
    total = inputs[0]
    for x in inputs[1:]:
        total = c.b.Add(total, x)
    return total


@tf_op("Select")
def select(c: Call, condition: Value, t: Value, e: Value) -> Value:
    """Select(condition, t, e) -> output; T"""
    if 0 < condition.rank < t.rank:
        condition = c.unsqueeze(condition, *range(condition.rank, t.rank))
    return c.b.Where(condition, t, e)


@tf_op("SelectV2")
def select_v2(c: Call, condition: Value, t: Value, e: Value) -> Value:
    """SelectV2(condition, t, e) -> output; T"""
    return c.b.Where(condition, t, e)


@tf_op("PopulationCount")
def population_count(c: Call, x: Value) -> Value:
    """PopulationCount(x) -> y; T"""
    b = c.b
    wide = DType.of("uint64")
    bits = c.cast(_as(c, x, _unsigned(x.dtype)), wide)
    total = None
    for shift in range(x.dtype.bits):
        one = b.BitwiseAnd(b.BitShift(bits, c.number(shift, wide), direction="RIGHT"), c.number(1, wide))
        total = one if total is None else b.Add(total, one)
    assert total is not None
    return c.cast(total, DType.of("uint8"))


@tf_op("ToBool")
def to_bool(c: Call, input: Value) -> Value:
    """ToBool(input) -> output; T"""
    if input.rank == 0:
        return c.cast(input, BOOL)
    some = c.b.scalar(input.tensor.elements)
    return c.b.Greater(some, np.int64(0))


@tf_op("Ndtri")
def ndtri(c: Call, x: Value) -> Value:
    """Ndtri(x) -> y; T"""
    b = c.b
    return b.Mul(b.ge.ErfInv(b.Sub(b.Mul(x, c.like(2, x)), c.like(1, x))), c.like(math.sqrt(2), x))


# --- complex numbers ----------------------------------------------------------------------------------------------


@tf_op("Real", complex=True)
def real(c: Call, input: Either) -> Value:
    """Real(input) -> output; T, Tout"""
    return halves(c, input)[0] if isinstance(input, ComplexPair) else input


@tf_op("Imag", complex=True)
def imag(c: Call, input: Either) -> Value:
    """Imag(input) -> output; T, Tout"""
    return halves(c, input)[1] if isinstance(input, ComplexPair) else c.full(input.shape, 0, input.dtype)


@tf_op("Conj", complex=True)
def conj(c: Call, input: Either) -> Either:
    """Conj(input) -> output; T"""
    if not isinstance(input, ComplexPair):
        return input
    re, im = halves(c, input)
    return joined(c, re, c.b.Neg(im))


@tf_op("Complex")
def complex_(c: Call, real: Value, imag: Value) -> ComplexPair:
    """Complex(real, imag) -> out; T, Tout"""
    return joined(c, real, imag)


@tf_op("ComplexAbs", complex=True)
def complex_abs(c: Call, x: ComplexPair) -> Value:
    """ComplexAbs(x) -> y; T, Tout"""
    re, im = halves(c, x)
    b = c.b
    # scaled by the larger part, so that squares stay in range
    large = b.Max([b.Abs(re), b.Abs(im)])
    safe = b.Where(b.Greater(large, c.like(0, large)), large, c.like(1, large))
    return b.Mul(safe, b.Sqrt(b.Add(b.ge.Square(b.Div(re, safe)), b.ge.Square(b.Div(im, safe)))))


@tf_op("Angle", complex=True)
def angle(c: Call, input: Either) -> Value:
    """Angle(input) -> output; T, Tout"""
    re, im = halves(c, as_pair(c, input))
    return c.b.ge.Atan2(im, re)
