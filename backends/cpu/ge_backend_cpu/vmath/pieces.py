"""Functions by polynomials of their own in each of up to 32 intervals, whose coefficients permutations look up.

With AVX-512 the coefficients of one power, for all intervals, lie in one or two registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import FLOAT, I32, constant, vector
from ge_backend_cpu.integers import Value
from ge_backend_cpu.vmath import coefficients as table
from ge_backend_cpu.vmath.base import float_constant

if TYPE_CHECKING:
    from ge_backend_cpu.vmath.single import Single

LANES = 16
TO_WHOLE = 1.5 * 2.0**23
"""Added to a small number, it leaves the nearest integer in the low bits."""


@dataclass(frozen=True)
class Pieces:
    """An odd function that goes to 1, by f(x) / x in intervals around multiples of a width.

    Attributes:
        end: it is 1 from here on, within the last interval.
        rows: coefficients by power of the distance from an interval's middle, then by interval: 16 or 32 of them.
    """

    width: float
    end: float
    rows: Sequence[Sequence[float]]


ERF = Pieces(33 / 128, 3.97, table.ERF_PIECES)
TANH = Pieces(37 / 128, 9.08, table.TANH_PIECES)


def odd(m: Single, x: Value, f: Pieces) -> Value:
    """The function of a value of any width; NaN stays."""
    if m.width != LANES:
        from ge_backend_cpu.vmath.single import Single

        wide = Single(m.f, LANES)
        return _narrowed(m, odd(wide, _widened(m, x), f))
    size = m.smaller(m.c(f.end), m.abs(x))
    whole = m.fma(size, m.c(1 / f.width), m.c(TO_WHOLE))
    u = m.fma(m.sub(whole, m.c(TO_WHOLE)), m.c(-f.width), size)
    place = m.bits(whole)
    total = _chosen(m, place, f.rows[-1])
    for row in f.rows[-2::-1]:
        total = m.fma(total, u, _chosen(m, place, row))
    return m.copysign(m.smaller(m.c(1.0), m.mul(size, total)), x)


def _chosen(m: Single, place: Value, row: Sequence[float]) -> Value:
    """Each lane's coefficient."""
    parts = [
        ir.Constant(m.type, [ir.Constant(FLOAT, float_constant(FLOAT, c)) for c in row[k : k + LANES]])
        for k in range(0, len(row), LANES)
    ]
    if len(parts) == 1:
        return m.f.intrinsic("x86.avx512.permvar.sf", parts[0], place, returns=m.type, suffix="512")
    return m.f.intrinsic("x86.avx512.vpermi2var.ps", parts[0], place, parts[1], returns=m.type, suffix="512")


def _widened(m: Single, x: Value) -> Value:
    """16 lanes that begin with those of x."""
    if m.width == 1:
        return m.b.insert_element(constant(vector(FLOAT, LANES), 0.0), x, ir.Constant(I32, 0))
    return m.f.shuffle(x, x, [k % m.width for k in range(LANES)])


def _narrowed(m: Single, x: Value) -> Value:
    return m.f.lane(x, 0) if m.width == 1 else m.f.shuffle(x, x, range(m.width))
