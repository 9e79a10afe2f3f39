"""Functions by polynomials of their own in each of up to 32 intervals, whose coefficients permutations look up.

With AVX-512 the coefficients of one power, for all intervals, lie in one or two registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import I32, constant, vector
from ge_backend_cpu.integers import I64, Value
from ge_backend_cpu.vmath import coefficients as table
from ge_backend_cpu.vmath.base import Kit, float_constant

REGISTER = 512
"""Bits."""
TO_WHOLE, TO_WHOLE_64 = 1.5 * 2.0**23, 1.5 * 2.0**52
"""Added to a small number, it leaves the nearest integer in the low bits of a float32, or a float64."""


@dataclass(frozen=True)
class Pieces:
    """An odd function that goes to 1, by f(x) / x in intervals around multiples of a width.

    Attributes:
        end: it is 1 from here on, within the last interval.
        rows: coefficients by power of the distance from an interval's middle, then by interval: as many as one or two
            registers hold.
    """

    width: float
    end: float
    rows: Sequence[Sequence[float]]


ERF = Pieces(33 / 128, 3.97, table.ERF_PIECES)
ERF_64 = Pieces(49 / 128, 5.93, table.ERF_PIECES_64)
TANH = Pieces(37 / 128, 9.08, table.TANH_PIECES)


def odd(m: Kit, x: Value, f: Pieces) -> Value:
    """The function of a value of any width; NaN stays."""
    lanes = REGISTER // m.bits_of.width
    if m.width > lanes:
        half = m.of_width(m.width // 2)
        first, second = (odd(half, m.f.shuffle(x, x, range(k, k + half.width)), f) for k in (0, half.width))
        return m.f.shuffle(first, second, range(m.width))
    if m.width < lanes:
        return _narrowed(m, odd(m.of_width(lanes), _widened(m, x, lanes), f))
    to_whole = TO_WHOLE_64 if m.bits_of is I64 else TO_WHOLE
    size = m.smaller(m.c(f.end), m.abs(x))
    whole = m.fma(size, m.c(1 / f.width), m.c(to_whole))
    u = m.fma(m.sub(whole, m.c(to_whole)), m.c(-f.width), size)
    place = m.bits(whole)
    total = _chosen(m, place, f.rows[-1])
    for row in f.rows[-2::-1]:
        total = m.fma(total, u, _chosen(m, place, row))
    return m.copysign(m.smaller(m.c(1.0), m.mul(size, total)), x)


def _chosen(m: Kit, place: Value, row: Sequence[float]) -> Value:
    """Each lane's coefficient."""
    parts = [
        ir.Constant(m.type, [ir.Constant(m.element, float_constant(m.element, c)) for c in row[k : k + m.width]])
        for k in range(0, len(row), m.width)
    ]
    if len(parts) == 1:
        name = "permvar.df" if m.bits_of is I64 else "permvar.sf"
        return m.f.intrinsic(f"x86.avx512.{name}", parts[0], place, returns=m.type, suffix=str(REGISTER))
    name = "vpermi2var.pd" if m.bits_of is I64 else "vpermi2var.ps"
    return m.f.intrinsic(f"x86.avx512.{name}", parts[0], place, parts[1], returns=m.type, suffix=str(REGISTER))


def _widened(m: Kit, x: Value, lanes: int) -> Value:
    """Lanes that begin with those of x."""
    if m.width == 1:
        return m.b.insert_element(constant(vector(m.element, lanes), 0.0), x, ir.Constant(I32, 0))
    return m.f.shuffle(x, x, [k % m.width for k in range(lanes)])


def _narrowed(m: Kit, x: Value) -> Value:
    return m.f.lane(x, 0) if m.width == 1 else m.f.shuffle(x, x, range(m.width))
