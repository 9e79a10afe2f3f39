"""Functions that ONNX lacks, by the series of the reference kernels, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import float64
from ge_core.ir.graph import Value
from ge_core.ops.decompositions.precision import cast
from ge_core.reference.special_functions import ERFC_SERIES, PSI, STIRLING

Function = Callable[[Builder, Value], Value]

_LIFT = 10  # the series of Stirling is used from here on
_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _in_float64(function: Function) -> Function:
    def run(b: Builder, x: Value) -> Value:
        return cast(b, function(b, cast(b, x, float64)), x.dtype)

    return run


def _polynomial(b: Builder, coefficients: Sequence[float], x: Value) -> Value:
    """Horner's rule; coefficients from the constant up."""
    total: Value = b.constant(coefficients[-1], float64)
    for c in coefficients[-2::-1]:
        total = b.Add(b.Mul(total, x), c)
    return total


def _is_whole(b: Builder, x: Value) -> Value:
    made: Value = b.Equal(x, b.Floor(x))
    return made


def _lifted(b: Builder, z: Value) -> tuple[Value, Value]:
    """Whether z is below the series' range, and z or the z + 10 that is inside it."""
    low = b.Less(z, float(_LIFT))
    return low, b.Where(low, b.Add(z, float(_LIFT)), z)


def _reflected(b: Builder, x: Value) -> tuple[Value, Value]:
    """Whether x is below 1/2, and x or the 1 - x that is above it."""
    low = b.Less(x, 0.5)
    return low, b.Where(low, b.Sub(b.constant(1.0, float64), x), x)


@_in_float64
def lgamma(b: Builder, x: Value) -> Value:
    """Stirling's series at x + 10 and the recurrence down; below 1/2 by reflection."""
    low, z = _reflected(b, x)
    small, w = _lifted(b, z)
    product: Value = z
    for i in range(1, _LIFT):
        product = b.Mul(product, b.Add(z, float(i)))
    below = b.Log(b.Where(small, product, b.constant(1.0, float64)))
    series = b.Div(_polynomial(b, STIRLING, b.Reciprocal(b.Mul(w, w))), w)
    value = b.Mul(b.Sub(w, 0.5), b.Sub(b.Log(w), 1.0))
    value = b.Sub(b.Add(b.Add(value, 0.5 * math.log(2 * math.pi) - 0.5), series), below)
    sine = b.Abs(b.Sin(b.Mul(b.Sub(x, b.Round(x)), math.pi)))
    mirror = b.Sub(b.Sub(b.constant(math.log(math.pi), float64), b.Log(sine)), value)
    value = b.Where(low, mirror, value)
    return b.Where(b.IsInf(x), b.constant(np.inf, float64), value)


@_in_float64
def digamma(b: Builder, x: Value) -> Value:
    """The derivative of the same series."""
    low, z = _reflected(b, x)
    small, w = _lifted(b, z)
    below: Value = b.Reciprocal(z)
    for i in range(1, _LIFT):
        below = b.Add(below, b.Reciprocal(b.Add(z, float(i))))
    square = b.Reciprocal(b.Mul(w, w))
    value = b.Sub(b.Sub(b.Log(w), b.Div(b.constant(0.5, float64), w)), b.Mul(_polynomial(b, PSI, square), square))
    value = b.Sub(value, b.Where(small, below, b.constant(0.0, float64)))
    angle = b.Mul(b.Sub(x, b.Round(x)), math.pi)
    value = b.Where(low, b.Sub(value, b.Div(b.Mul(b.Cos(angle), math.pi), b.Sin(angle))), value)
    none = b.And(b.Less(x, 0.0), b.Or(_is_whole(b, x), b.IsInf(x)))
    value = b.Where(none, b.constant(np.nan, float64), value)
    # over a zero of either sign
    return b.Where(b.Equal(x, 0.0), b.Neg(b.Reciprocal(x)), value)


def _erfc_positive(b: Builder, x: Value) -> Value:
    """erfc of x >= 0, see the reference kernel."""
    far = b.Min([x, b.constant(1e300, float64)])
    t = b.Div(b.Sub(far, 3.75), b.Add(far, 3.75))
    twice = b.Mul(t, 2.0)
    b0: Value = b.constant(0.0, float64)
    b1: Value = b0
    for c in ERFC_SERIES[:0:-1]:
        b0, b1 = b.Add(b.Sub(b.Mul(twice, b0), b1), c), b0
    scaled = b.Add(b.Sub(b.Mul(t, b0), b1), ERFC_SERIES[0])
    near = b.Min([x, b.constant(30.0, float64)])
    high = b.Div(b.Round(b.Mul(near, 1024.0)), 1024.0)
    tail = b.Mul(b.Exp(b.Neg(b.Mul(high, high))), b.Exp(b.Mul(b.Sub(high, near), b.Add(high, near))))
    tail = b.Where(b.Less(b.constant(30.0, float64), x), b.constant(0.0, float64), tail)
    return b.Div(b.Mul(tail, scaled), b.Add(b.Mul(far, 2.0), 1.0))


def _erf_small(b: Builder, x: Value) -> Value:
    """erf of |x| < 1/2 by its power series."""
    terms = [(-1) ** n / (math.factorial(n) * (2 * n + 1)) * _TWO_OVER_SQRT_PI for n in range(13)]
    return b.Mul(x, _polynomial(b, terms, b.Mul(x, x)))


def _both(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Whether |x| < 1/2, erf there, and erfc of |x|."""
    size = b.Abs(x)
    near = b.Less(size, 0.5)
    return near, _erf_small(b, b.Where(near, x, b.constant(0.0, float64))), _erfc_positive(b, size)


@_in_float64
def erf(b: Builder, x: Value) -> Value:
    """The error function."""
    near, small, tail = _both(b, x)
    far = b.Sub(b.constant(1.0, float64), tail)
    return b.Where(near, small, b.Where(b.Less(x, 0.0), b.Neg(far), far))


@_in_float64
def erfc(b: Builder, x: Value) -> Value:
    """The complementary error function, with all its digits in the tail."""
    near, small, tail = _both(b, x)
    one, two = b.constant(1.0, float64), b.constant(2.0, float64)
    return b.Where(near, b.Sub(one, small), b.Where(b.Less(x, 0.0), b.Sub(two, tail), tail))


@_in_float64
def erfinv(b: Builder, x: Value) -> Value:
    """S. Winitzki's formula, then two steps of Halley's method."""
    size, one = b.Abs(x), b.constant(1.0, float64)
    small = b.Less(size, 0.5)
    log = b.Log(b.Mul(b.Sub(one, size), b.Add(one, size)))
    a = b.Add(b.Div(log, 2.0), 2 / (math.pi * 0.147))
    root = b.Sqrt(b.Sub(b.Sqrt(b.Sub(b.Mul(a, a), b.Div(log, 0.147))), a))
    for _ in range(2):
        near, found, tail = _both(b, root)
        upper = b.Where(near, b.Sub(one, found), tail)
        lower = b.Where(near, found, b.Sub(one, tail))
        miss = b.Where(small, b.Sub(lower, size), b.Sub(b.Sub(one, size), upper))
        step = b.Div(miss, b.Mul(b.Exp(b.Neg(b.Mul(root, root))), _TWO_OVER_SQRT_PI))
        root = b.Sub(root, b.Div(step, b.Add(b.Mul(root, step), 1.0)))
    root = b.Where(b.Equal(size, 1.0), b.constant(np.inf, float64), root)
    root = b.Where(b.Less(size, 1e-7), b.Div(size, _TWO_OVER_SQRT_PI), root)
    return b.Where(b.Less(x, 0.0), b.Neg(root), root)


def is_negative(b: Builder, x: Value) -> Value:
    """Whether the sign is set, of a zero too."""
    zero = b.And(b.Equal(x, 0.0), b.Less(b.Reciprocal(x), 0.0))
    return b.Or(b.Less(x, 0.0), zero)


def copysign(b: Builder, x: Value, y: Value) -> Value:
    """The size of x with the sign of y."""
    size = b.Abs(x)
    return b.Where(is_negative(b, y), b.Neg(size), size)
