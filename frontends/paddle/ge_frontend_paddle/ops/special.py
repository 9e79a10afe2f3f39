"""Special functions without an operator of the graph."""

from __future__ import annotations

import math

import numpy as np

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import pd

_CLOSED = 128  # points of the closed formula, exact up to its limit
_LIMIT = 400.0


@pd("i0", "i0e", "i1", "i1e")
def bessel(c: Call, x: Value) -> Value:
    """i0(x) -> out
    i0e(x) -> out
    i1(x) -> out
    i1e(x) -> out

    I_n(x) exp(-|x|) = 1/pi times the integral of cos(n t) exp(|x| (cos t - 1)) over 0 to pi, by the midpoint rule,
    which is exact here to all digits; beyond 400 by the asymptotic series (Abramowitz and Stegun 9.6.19 and 9.7.1).
    """
    b, kind = c.b, x.dtype
    order = int(c.name[1])
    wide = b.Cast(x, to="float64")
    size = b.Abs(wide)
    angles = [(k + 0.5) * math.pi / _CLOSED for k in range(_CLOSED)]
    cosines = b.constant(np.cos(angles) - 1)
    weights = b.constant(np.cos(np.multiply(order, angles)))
    near = b.Unsqueeze(b.Min(size, _LIMIT), b.ints(x.rank))
    inner = b.ReduceMean(b.Mul(b.Exp(b.Mul(near, cosines)), weights), b.ints(x.rank), keepdims=0)
    far = b.Max(size, _LIMIT)
    series = c.scalar(1.0, wide.dtype)
    factor = 1.0
    for k in range(1, 7):
        factor *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k)
        series = b.Add(series, b.Div(c.scalar(factor, wide.dtype), b.Pow(far, float(k))))
    outer = b.Div(series, b.Sqrt(b.Mul(far, 2 * math.pi)))
    found = b.Where(b.Less(size, _LIMIT), inner, outer)
    if order:
        found = b.Mul(found, b.Sign(wide))
    if not c.name.endswith("e"):
        found = b.Mul(found, b.Exp(size))
    return c.cast(found, kind)
