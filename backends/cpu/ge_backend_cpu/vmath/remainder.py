"""Remainders and rounded quotients of floats, with numpy's (Python's) rules."""

from __future__ import annotations

import math

from ge_backend_cpu.emit import DOUBLE
from ge_backend_cpu.integers import Value
from ge_backend_cpu.vmath.base import Kit
from ge_backend_cpu.vmath.double import Double

_DIGITS = 50
"""Bits of the quotient that one step takes off."""


def fmod(m: Kit, x: Value, y: Value) -> Value:
    """x - y trunc(x / y), exact, with the sign of x; NaN for y = 0 or infinite x.

    Each step takes away a multiple of y times a power of two that is exact in float64.
    """
    if m.element != DOUBLE:
        d = Double(m.f, m.width)
        return m.b.fptrunc(fmod(d, m.b.fpext(x, d.type), m.b.fpext(y, d.type)), m.type)
    size, divisor = m.abs(x), m.abs(y)
    bad = m.or_(m.is_nan(x), m.is_nan(y), m.is_inf(x), m.compare("==", y, m.c(0.0)))
    idle = m.or_(bad, m.is_inf(y))
    rest = m.select(idle, m.c(0.0), size)
    divisor = m.select(idle, m.c(1.0), divisor)
    bottom = _exponent(m, divisor)

    def left(r: Value) -> Value:
        return m.any(m.compare(">=", r, divisor))

    def step(r: Value) -> list[Value]:
        above = m.b.sub(_exponent(m, r), m.b.add(bottom, m.n(_DIGITS)))
        positive = m.b.icmp_signed(">", above, m.n(0))
        scaled = _times_power(m, divisor, m.select(positive, above, m.n(0)))
        q = m.trunc(m.div(r, scaled))
        r = m.fma(m.neg(q), scaled, r)
        return [m.select(m.compare("<", r, m.c(0.0)), m.add(r, scaled), r)]

    (rest,) = m.f.repeat([rest], left, step)
    rest = m.select(m.is_inf(y), size, rest)
    return m.select(bad, m.c(math.nan), m.copysign(rest, x))


def _exponent(m: Kit, x: Value) -> Value:
    """floor(log2(x)) of x > 0 (for 0 some small number), of the integer type."""
    small = m.compare("<", x, m.c(2.0**-1022))
    bits = m.bits(m.select(small, m.mul(x, m.c(2.0**54)), x))
    return m.b.sub(m.b.lshr(bits, m.n(52)), m.select(small, m.n(1023 + 54), m.n(1023)))


def _times_power(m: Kit, x: Value, k: Value) -> Value:
    """x 2^k for 0 <= k <= 2100 whose result is finite, in two steps."""
    half = m.b.lshr(k, m.n(1))
    return m.mul(m.mul(x, m.power_of_two(half)), m.power_of_two(m.b.sub(k, half)))


def floormod(m: Kit, x: Value, y: Value) -> Value:
    """x - y floor(x / y), with the sign of y."""
    return _floor_parts(m, x, y)[1]


def floordiv(m: Kit, x: Value, y: Value) -> Value:
    """floor(x / y), consistent with `floormod`."""
    rest, corrected, differs = _floor_parts(m, x, y)
    quotient = m.div(m.sub(x, rest), y)
    quotient = m.select(differs, m.sub(quotient, m.c(1.0)), quotient)
    whole = m.floor(quotient)
    whole = m.select(m.compare(">", m.sub(quotient, whole), m.c(0.5)), m.add(whole, m.c(1.0)), whole)
    plain = m.div(x, y)
    whole = m.select(m.compare("==", quotient, m.c(0.0)), m.copysign(m.c(0.0), plain), whole)
    return m.select(m.compare("==", y, m.c(0.0)), plain, whole)


def _floor_parts(m: Kit, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """fmod(x, y), the remainder with the sign of y, and whether the two differ."""
    rest = fmod(m, x, y)
    zero = m.c(0.0)
    opposite = m.b.xor(m.compare("<", rest, zero), m.compare("<", y, zero))
    differs = m.and_(m.compare("!=", rest, zero), opposite, m.not_(m.is_nan(rest)))
    corrected = m.select(differs, m.add(rest, y), rest)
    return rest, m.select(m.compare("==", rest, zero), m.copysign(zero, y), corrected), differs
