"""Complex numbers: pairs of real and imaginary parts."""

from __future__ import annotations

import numpy as np

from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..registry import tf_op

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


def product(c: Call, x: ComplexPair, y: ComplexPair) -> ComplexPair:
    """The product of two complex tensors."""
    b = c.b
    (xr, xi), (yr, yi) = halves(c, x), halves(c, y)
    return joined(c, b.Sub(b.Mul(xr, yr), b.Mul(xi, yi)), b.Add(b.Mul(xr, yi), b.Mul(xi, yr)))


def aligned(c: Call, x: Either, y: Either) -> tuple[Value, Value]:
    """The parts of two complex tensors with axes of size 1 in front, so that the parts' axes meet."""
    left, right = as_pair(c, x).parts, as_pair(c, y).parts
    rank = max(left.rank, right.rank)
    return tuple(c.unsqueeze(v, *range(rank - v.rank)) for v in (left, right))  # type: ignore[return-value]


def is_complex(*values: Either) -> bool:
    """Whether one of these is complex."""
    return any(isinstance(v, ComplexPair) for v in values)


def quotient(c: Call, x: ComplexPair, y: ComplexPair) -> ComplexPair:
    """The quotient of two complex tensors."""
    b = c.b
    (xr, xi), (yr, yi) = halves(c, x), halves(c, y)
    size = b.Add(b.Mul(yr, yr), b.Mul(yi, yi))
    real = b.Div(b.Add(b.Mul(xr, yr), b.Mul(xi, yi)), size)
    return joined(c, real, b.Div(b.Sub(b.Mul(xi, yr), b.Mul(xr, yi)), size))


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
