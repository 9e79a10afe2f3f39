"""Powers: 2^(y log2 |x|), and the rules for zeros, infinities, NaN and negative bases, as in C."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ge_backend_cpu.integers import Value
from ge_backend_cpu.vmath import coefficients as table
from ge_backend_cpu.vmath.base import Kit

if TYPE_CHECKING:
    from ge_backend_cpu.vmath.single import Single

INF, NAN = math.inf, math.nan
TERMS = 6
"""Of the series of log2: with |m| <= sqrt 2 - 1 the rest is below 2^-34 of the sum."""
LIMIT = 160.0
"""Exponents beyond this give 0 or infinity in float32."""


def power(m: Single, x: Value, y: Value) -> Value:
    """x^y in float32.

    With |x| = 2^n (1 + f) and s = f / (2 + f), log2 |x| = n + 2/ln2 (s + s^3/3 + s^5/5 + ...) in float64: its product
    with y keeps more than 30 digits. Whole and fractional parts of that then go on in float32.
    """
    d, size = m.double, m.abs(x)
    n, f = m.log_parts(size)
    wide = m.wide(f)
    # 1 / (2 + f) from float32, made twice as exact by a step of Newton's
    inverse = m.wide(m.div(m.c(1.0), m.add(f, m.c(2.0))))
    inverse = d.mul(inverse, d.fma(d.neg(d.add(wide, d.c(2.0))), inverse, d.c(2.0)))
    s = d.mul(wide, inverse)
    series = d.poly(d.mul(s, s), [2 / math.log(2) / (2 * k + 1) for k in range(TERMS)])
    exponent = d.clamp(d.mul(d.fma(s, series, m.wide(n)), m.wide(y)), -LIMIT, LIMIT)
    whole = d.round(exponent)
    rest = m.b.fptrunc(d.sub(exponent, whole), m.type)
    value = m.fma(rest, m.poly(rest, table.EXP2), m.c(1.0))
    return specials(m, x, y, size, m.times_power(value, m.b.fptrunc(whole, m.type)))


def specials(m: Kit, x: Value, y: Value, size: Value, value: Value) -> Value:
    """|x|^y as x^y. Args: size: |x|; value: right for finite numbers that are not 0."""
    zero, one = m.c(0.0), m.c(1.0)
    up = m.compare(">", y, zero)
    value = m.select(m.compare("==", size, zero), m.select(up, zero, m.c(INF)), value)
    value = m.select(m.compare("==", size, m.c(INF)), m.select(up, m.c(INF), zero), value)
    grows = m.b.xor(m.compare(">", size, one), m.compare("<", y, zero))
    value = m.select(m.is_inf(y), m.select(grows, m.c(INF), zero), value)
    whole = m.compare("==", m.floor(y), y)
    half = m.mul(y, m.c(0.5))
    odd = m.and_(whole, m.compare("!=", m.floor(half), half), m.not_(m.is_inf(y)))
    value = m.select(odd, m.copysign(value, x), value)
    negative = m.and_(m.compare("<", x, zero), m.compare("<", size, m.c(INF)))
    value = m.select(m.and_(negative, m.not_(whole)), m.c(NAN), value)
    value = m.select(m.and_(m.compare("==", size, one), m.is_inf(y)), one, value)
    value = m.select(m.or_(m.is_nan(x), m.is_nan(y)), m.c(NAN), value)
    return m.select(m.or_(m.compare("==", x, one), m.compare("==", y, zero)), one, value)
