"""Vector functions in float32: at most 4 units in the last place, special values as in C.

The rarer functions are computed in float64 and rounded once (`Single.rare`).
"""

from __future__ import annotations

import math

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import FLOAT, I32, Function, constant, vector
from ge_backend_cpu.integers import Value
from ge_backend_cpu.vmath import coefficients as table
from ge_backend_cpu.vmath import huge_angle, pieces, power
from ge_backend_cpu.vmath.base import Kit
from ge_backend_cpu.vmath.double import EXACT_ANGLE, Double

INF, NAN = math.inf, math.nan
LOG2E = 1.4426950408889634
LN2_HI, LN2_LO = 0.693359375, -2.12194440e-4
LOG10E = 0.4342944819032518
LOG10_2_HI, LOG10_2_LO = 0.3010253906, 4.605038981e-06
ERF_MIDDLE, ERF_END = 2.475, 3.95
ERFC_END = 10.2
"""From here on erfc is below half of the least number."""
HALF_PI_HI = math.pi / 2
HALF_PI_LO = -4.371139e-8
"""pi/2 less the float32 next to it."""
HALF_PI_PARTS = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
"""pi/2 as a sum of three float32."""


class Single(Kit):
    """Functions of float32 values."""

    def __init__(self, f: Function, width: int) -> None:
        super().__init__(f, FLOAT, width)
        self.double = Double(f, width)

    def of_width(self, width: int) -> Single:
        return Single(self.f, width)

    def wide(self, x: Value) -> Value:
        return self.b.fpext(x, self.double.type)

    def rare(self, name: str, *arguments: Value) -> Value:
        """A function of `Double`, rounded to float32."""
        value = getattr(self.double, name)(*[self.wide(a) for a in arguments])
        return self.b.fptrunc(value, self.type)

    # Exponentials

    def _reduced(self, x: Value) -> tuple[Value, Value]:
        """x = n ln2 + r with |r| <= ln2 / 2: n (a float) and r."""
        n = self.sub(self.fma(x, self.c(LOG2E), self.c(pieces.TO_WHOLE)), self.c(pieces.TO_WHOLE))
        r = self.fma(n, self.c(-LN2_HI), x)
        return n, self.fma(n, self.c(-LN2_LO), r)

    def _expm1_reduced(self, r: Value) -> Value:
        return self.fma(self.mul(r, r), self.poly(r, table.EXPM1), r)

    def _exp_reduced(self, r: Value) -> Value:
        return self.poly(r, (1.0, 1.0, *table.EXPM1))

    def times_power(self, p: Value, n: Value) -> Value:
        """p 2^n; in two steps, so that denormal results and infinity come out right."""
        if self.has_avx512:
            return self.scaled(p, n)
        whole = self.to_int32(n)
        half = self.b.ashr(whole, constant(vector(I32, self.width), 1))
        for part in (half, self.b.sub(whole, half)):
            p = self.mul(p, self.power_of_two(part))
        return p

    def _power_of_two(self, n: Value) -> Value:
        """2^n for a float n that is an integer, where that is a normal number."""
        return self.scaled(self.c(1.0), n) if self.has_avx512 else self.power_of_two(self.to_int32(n))

    def exp(self, x: Value) -> Value:
        n, r = self._reduced(self.clamp(x, -104.0, 89.0))
        return self.times_power(self._exp_reduced(r), n)

    def exp_nonpositive(self, x: Value) -> Value:
        """exp for x <= 0 whose results below 2^-126 may become 2^-126 times something: for softmax.

        -inf gives 0; NaN stays.
        """
        n, r = self._reduced(self.larger(self.c(-87.0), x))
        value = self.mul(self._exp_reduced(r), self._power_of_two(n))
        return self.select(self.compare("<", x, self.c(-87.0)), self.c(0.0), value)

    def exp2(self, x: Value) -> Value:
        x = self.clamp(x, -151.0, 129.0)
        n = self.round(x)
        r = self.sub(x, n)
        return self.times_power(self.fma(r, self.poly(r, table.EXP2), self.c(1.0)), n)

    def _expm1(self, x: Value) -> Value:
        """exp(x) - 1 without the sign of zero, for x >= -104."""
        n, r = self._reduced(x)
        p = self._expm1_reduced(r)
        # 2^n (p + 1) - 1 = 2 (s p + (s - 1/2)) with s = 2^(n-1)
        s = self._power_of_two(self.sub(n, self.c(1.0)))
        half = self.fma(s, p, self.sub(s, self.c(0.5)))
        return self.select(self.compare("==", n, self.c(0.0)), p, self.add(half, half))

    def expm1(self, x: Value) -> Value:
        return self.copysign(self._expm1(self.clamp(x, -30.0, 89.0)), x)

    # Logarithms

    def log_parts(self, x: Value) -> tuple[Value, Value]:
        """x = 2^n (1 + m) with 1 + m within [sqrt 1/2, sqrt 2): n (a float) and m; for x > 0."""
        b = self.b
        if self.has_avx512:
            return self._taken_apart(x)
        small = self.compare("<", x, self.c(2.0**-126))
        bits = self.bits(self.select(small, self.mul(x, self.c(2.0**23)), x))
        e = b.ashr(b.sub(bits, self.n(0x3F3504F3)), self.n(23))
        m = self.sub(self.from_bits(b.sub(bits, b.shl(e, self.n(23)))), self.c(1.0))
        return b.sitofp(b.sub(e, b.select(small, self.n(23), self.n(0))), self.type), m

    def _taken_apart(self, x: Value) -> tuple[Value, Value]:
        """The same by the instructions that take floats apart: n is infinite for 0 and infinity, m NaN below 0."""
        exponent = self.avx512("getexp", x)
        significand = self.avx512("getmant", x, ir.Constant(I32, 0b1000))
        large = self.compare(">=", significand, self.from_bits(self.n(0x3FB504F3)))
        m = self.select(large, self.mul(significand, self.c(0.5)), significand)
        n = self.select(large, self.add(exponent, self.c(1.0)), exponent)
        return n, self.sub(m, self.c(1.0))

    def _log1p_tail(self, m: Value) -> Value:
        """log(1 + m) - m"""
        square = self.mul(m, m)
        return self.fma(square, self.c(-0.5), self.mul(self.mul(square, m), self.poly(m, table.LOG)))

    def _log_specials(self, x: Value, n: Value, m: Value, value: Value) -> Value:
        """The value, but infinities and NaN where x is 0, infinite, below 0 or NaN. Args: n, m: its `log_parts`."""
        if self.has_avx512:
            return self.select(self.is_inf(n), self.add(n, m), value)
        value = self.select(self.compare("<", x, self.c(0.0)), self.c(NAN), value)
        value = self.select(self.compare("==", x, self.c(0.0)), self.c(-INF), value)
        return self.select(self.b.fcmp_unordered("==", x, self.c(INF)), x, value)

    def log(self, x: Value) -> Value:
        n, m = self.log_parts(x)
        tail = self.fma(n, self.c(LN2_LO), self._log1p_tail(m))
        return self._log_specials(x, n, m, self.fma(n, self.c(LN2_HI), self.add(m, tail)))

    def log2(self, x: Value) -> Value:
        n, m = self.log_parts(x)
        y = self.add(m, self._log1p_tail(m))
        return self._log_specials(x, n, m, self.fma(y, self.c(LOG2E), n))

    def log10(self, x: Value) -> Value:
        n, m = self.log_parts(x)
        y = self.add(m, self._log1p_tail(m))
        low = self.fma(n, self.c(LOG10_2_LO), self.mul(y, self.c(LOG10E)))
        return self._log_specials(x, n, m, self.fma(n, self.c(LOG10_2_HI), low))

    def log1p(self, x: Value) -> Value:
        u = self.add(x, self.c(1.0))
        lost = self.div(self.sub(x, self.sub(u, self.c(1.0))), u)
        value = self.add(self.log(u), lost)
        value = self.select(self.compare("==", u, self.c(INF)), u, value)
        value = self.select(self.compare("==", u, self.c(0.0)), self.c(-INF), value)
        return self.select(self.compare("==", x, self.c(0.0)), x, value)

    # Hyperbolic functions

    def tanh(self, x: Value) -> Value:
        if self.takes_pieces:
            return pieces.odd(self, x, pieces.TANH)
        e = self._expm1(self.smaller(self.c(20.0), self.mul(self.abs(x), self.c(2.0))))
        return self.copysign(self.div(e, self.add(e, self.c(2.0))), x)

    def tanh_over(self, x: Value, divisor: Value) -> Value:
        """tanh(x) / divisor by one division, for divisor >= 1, infinity too; 0 from about 1e30 on."""
        if self.takes_pieces:
            return self.div(self.tanh(x), divisor)
        e = self._expm1(self.smaller(self.c(20.0), self.mul(self.abs(x), self.c(2.0))))
        return self.copysign(self.div(e, self.mul(self.add(e, self.c(2.0)), divisor)), x)

    # Angles

    def _angle(self, x: Value) -> tuple[Value, Value]:
        """x = n pi/2 + r with |r| <= pi/4: n modulo 4 as i32, and r.

        pi/2 is subtracted in three parts. With |x| <= 2^20 the first product less x has no more than 24 bits, so
        that nothing is lost; what the others lose is below the last place of r.
        """
        huge = self.not_(self.compare("<=", self.abs(x), self.c(EXACT_ANGLE)))
        n = self.round(self.mul(x, self.c(1 / HALF_PI_HI)))
        r = x
        for part in HALF_PI_PARTS:
            r = self.fma(n, self.c(-part), r)
        quadrant = self.to_int32(self.select(huge, self.c(0.0), n))

        def slow() -> list[Value]:
            d = self.double
            found = huge_angle.reduced(d, self.wide(x), huge, (quadrant, self.wide(r), d.c(0.0)))
            return [found[0], self.b.fptrunc(found[1], self.type)]

        found = self.f.choose(self.any(huge), slow, lambda: [quadrant, r])
        return found[0], found[1]

    def _sin_reduced(self, r: Value) -> Value:
        z = self.mul(r, r)
        return self.fma(self.mul(z, r), self.poly(z, table.SIN), r)

    def _cos_reduced(self, r: Value) -> Value:
        z = self.mul(r, r)
        return self.fma(self.mul(z, z), self.poly(z, table.COS), self.fma(z, self.c(-0.5), self.c(1.0)))

    def _bit(self, n: Value, bit: int) -> Value:
        """Whether a bit of an i32 is set."""
        one = constant(vector(I32, self.width), 1 << bit)
        return self.b.icmp_unsigned("!=", self.b.and_(n, one), constant(one.type, 0))

    def _flipped(self, value: Value, condition: Value) -> Value:
        return self.select(condition, self.neg(value), value)

    def sin(self, x: Value) -> Value:
        n, r = self._angle(x)
        value = self.select(self._bit(n, 0), self._cos_reduced(r), self._sin_reduced(r))
        return self.select(self.compare("==", x, self.c(0.0)), x, self._flipped(value, self._bit(n, 1)))

    def cos(self, x: Value) -> Value:
        n, r = self._angle(x)
        value = self.select(self._bit(n, 0), self._sin_reduced(r), self._cos_reduced(r))
        turned = self.b.add(n, constant(vector(I32, self.width), 1))
        return self._flipped(value, self._bit(turned, 1))

    def tan(self, x: Value) -> Value:
        n, r = self._angle(x)
        s, c, turned = self._sin_reduced(r), self._cos_reduced(r), self._bit(n, 0)
        value = self.div(self.select(turned, self.neg(c), s), self.select(turned, s, c))
        return self.select(self.compare("==", x, self.c(0.0)), x, value)

    def atan(self, x: Value) -> Value:
        size = self.abs(x)
        far = self.compare(">", size, self.c(1.0))
        t = self.select(far, self.div(self.c(1.0), size), size)
        z = self.mul(t, t)
        angle = self.fma(self.mul(z, t), self.poly(z, table.ATAN), t)
        rest = self.add(self.sub(self.c(math.pi / 2), angle), self.c(HALF_PI_LO))
        return self.copysign(self.select(far, rest, angle), x)

    # The error function

    def erf(self, x: Value) -> Value:
        if self.takes_pieces:
            return pieces.odd(self, x, pieces.ERF)
        size = self.abs(x)
        small = self.fma(x, self.poly(self.mul(x, x), table.ERF), x)
        u = self.sub(self.smaller(self.c(ERF_END), size), self.c(ERF_MIDDLE))
        tail = self.copysign(self.smaller(self.c(1.0), self.poly(u, table.ERF_TAIL)), x)
        value = self.select(self.compare(">", size, self.c(1.0)), tail, small)
        return self.select(self.compare(">=", size, self.c(ERF_END)), self.copysign(self.c(1.0), x), value)

    def _erfc_far(self, x: Value) -> Value:
        """erfc for x >= 0.8: exp(-x^2) t R(t) with t = 1 / (1 + x/2).

        What roundings of x^2 and of t leave out is a part of the exponent. The products are made so that few of their
        roundings count in full: q exp(r) = q + q r (1 + r/2 + ...).
        """
        one, half = self.c(1.0), self.c(0.5)
        x = self.smaller(self.c(ERFC_END), x)
        below = self.fma(x, half, one)
        t = self.div(one, below)
        left = self.fma(self.neg(below), t, one)
        left = self.fma(self.neg(self.fma(x, half, self.sub(one, below))), t, left)
        square = self.neg(self.mul(x, x))
        left = self.sub(left, self.fma(x, x, square))
        n, r = self._reduced(square)
        r = self.add(r, left)
        q = self.mul(t, self.poly(t, table.ERFC))
        return self.times_power(self.fma(self.mul(q, r), self.poly(r, (1.0, *table.EXPM1)), q), n)

    def erfc(self, x: Value) -> Value:
        size = self.abs(x)
        tail = self._erfc_far(size)
        tail = self.select(self.compare("<", x, self.c(0.0)), self.sub(self.c(2.0), tail), tail)
        near = self.sub(self.c(1.0), self.fma(x, self.poly(self.mul(x, x), table.ERF), x))
        return self.select(self.compare("<", size, self.c(0.8)), near, tail)

    def erfinv(self, x: Value) -> Value:
        """x times a function of w = -log(1 - x^2), or of its root, as in M. Giles' approximation."""
        one = self.c(1.0)
        w = self.neg(self.log(self.mul(self.sub(one, x), self.add(one, x))))
        near = self.poly(self.sub(w, self.c(2.5)), table.ERFINV_NEAR)
        far = self.poly(self.sub(self.sqrt(w), self.c(3.125)), table.ERFINV_FAR)
        value = self.mul(x, self.select(self.compare("<", w, self.c(5.0)), near, far))
        ends = self.compare("==", self.abs(x), one)
        return self.select(ends, self.mul(x, self.c(INF)), value)

    def _arcs(self, x: Value) -> tuple[Value, Value]:
        """Whether |x| > 1/2; asin(x), or there that of sqrt((1 - |x|) / 2), which is half of acos(|x|)."""
        size = self.abs(x)
        far = self.compare(">", size, self.c(0.5))
        z = self.select(far, self.mul(self.c(0.5), self.sub(self.c(1.0), size)), self.mul(size, size))
        t = self.select(far, self.sqrt(z), x)
        return far, self.fma(self.mul(z, t), self.poly(z, table.ASIN), t)

    def asin(self, x: Value) -> Value:
        far, value = self._arcs(x)
        rest = self.add(self.sub(self.c(math.pi / 2), self.add(value, value)), self.c(HALF_PI_LO))
        return self.select(far, self.copysign(rest, x), value)

    def acos(self, x: Value) -> Value:
        far, value = self._arcs(x)
        twice = self.add(value, value)
        left = self.add(self.sub(self.c(math.pi), twice), self.c(2 * HALF_PI_LO))
        outer = self.select(self.compare("<", x, self.c(0.0)), left, twice)
        return self.select(far, outer, self.sub(self.c(math.pi / 2), self.sub(value, self.c(HALF_PI_LO))))

    def atan2(self, y: Value, x: Value) -> Value:
        return self.rare("atan2", y, x)

    def _half_exp(self, x: Value) -> Value:
        """exp(x) / 2 for x >= 0, where exp(x) itself may be infinite."""
        n, r = self._reduced(self.smaller(self.c(90.0), x))
        return self.times_power(self._exp_reduced(r), self.sub(n, self.c(1.0)))

    def sinh(self, x: Value) -> Value:
        size = self.abs(x)
        e = self._expm1(self.smaller(self.c(10.0), size))
        near = self.mul(self.c(0.5), self.add(e, self.div(e, self.add(e, self.c(1.0)))))
        return self.copysign(self.select(self.compare(">", size, self.c(9.0)), self._half_exp(size), near), x)

    def cosh(self, x: Value) -> Value:
        half = self._half_exp(self.abs(x))
        return self.add(half, self.div(self.c(0.25), half))

    def asinh(self, x: Value) -> Value:
        size = self.abs(x)
        z = self.mul(x, x)
        near = self.fma(self.mul(z, x), self.poly(z, table.ASINH), x)
        huge = self.compare(">", size, self.c(1e9))
        root = self.sqrt(self.add(z, self.c(1.0)))
        far = self.log(self.select(huge, size, self.add(size, root)))
        far = self.add(far, self.select(huge, self.c(math.log(2)), self.c(0.0)))
        return self.copysign(self.select(self.compare(">", size, self.c(1.0)), far, near), x)

    def acosh(self, x: Value) -> Value:
        t = self.sub(x, self.c(1.0))
        near = self.log1p(self.add(t, self.sqrt(self.fma(t, t, self.add(t, t)))))
        far = self.add(self.log(x), self.c(math.log(2)))
        value = self.select(self.compare(">", x, self.c(1e9)), far, near)
        return self.select(self.compare("<", x, self.c(1.0)), self.c(NAN), value)

    def atanh(self, x: Value) -> Value:
        size, one = self.abs(x), self.c(1.0)
        z = self.mul(x, x)
        near = self.fma(self.mul(z, x), self.poly(z, table.ATANH), x)
        far = self.mul(self.c(0.5), self.log(self.div(self.add(one, size), self.sub(one, size))))
        return self.select(self.compare("<", size, self.c(0.5)), near, self.copysign(far, x))

    def lgamma(self, x: Value) -> Value:
        return self.rare("lgamma", x)

    def digamma(self, x: Value) -> Value:
        return self.rare("digamma", x)

    def pow(self, x: Value, y: Value) -> Value:
        return power.power(self, x, y)
