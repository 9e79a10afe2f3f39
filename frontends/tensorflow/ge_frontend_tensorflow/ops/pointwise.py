"""Operators on the elements of one tensor."""

from __future__ import annotations

import math

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, Call
from ..complex_pair import ComplexPair
from ..registry import tf_op
from .complex_number import halves, joined, product

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
    return product(c, x, x) if isinstance(x, ComplexPair) else c.b.ge.Square(x)


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


def unsigned(dtype: DType) -> DType:
    """The unsigned integer of the same width."""
    return DType.of(dtype.name if dtype.kind == "uint" else f"u{dtype.name}")


def as_bits(c: Call, x: Value, dtype: DType) -> Value:
    """The bits of a tensor as another type of the same width."""
    return x if x.dtype == dtype else c.b.BitCast(x, to=dtype)


@tf_op("PopulationCount")
def population_count(c: Call, x: Value) -> Value:
    """PopulationCount(x) -> y; T"""
    b = c.b
    wide = DType.of("uint64")
    bits = c.cast(as_bits(c, x, unsigned(x.dtype)), wide)
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
