"""Vector functions in float64, and with them the rarer ones of float32.

Errors are a few units in the last place; special values are C's. Sources of the methods: W. Cody and W. Waite's
argument reductions; the compensated logarithm and arc functions as in Sun's fdlibm; M. Payne and R. Hanek's
reduction of huge angles; M. Shepherd and J. Laframboise's form of erfc; S. Winitzki's start for erfinv.
"""

from __future__ import annotations

import math

from ge_backend_cpu.emit import DOUBLE, I32, Function, constant, vector
from ge_backend_cpu.integers import Value
from ge_backend_cpu.vmath import coefficients as table
from ge_backend_cpu.vmath import huge_angle, pieces, power
from ge_backend_cpu.vmath.base import Kit

INF, NAN = math.inf, math.nan
LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_HI, LN2_LO = 0.6931471803691238, 1.9082149292705877e-10
LOG10E = 0.4342944819032518
LOG10_2_HI, LOG10_2_LO = 0.30102999566361177, 3.6942390771589308e-13
# pi/2 in three parts, the first two with 33 bits each, so that their products with small integers are exact
HALF_PI = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
PI_2, PI_2_LO, PI_4 = math.pi / 2, 6.123233995736766e-17, math.pi / 4
EXACT_ANGLE = float(1 << 20)
"""Angles up to here are reduced by three multiply-adds."""


class Double(Kit):
    """Functions of float64 values."""

    def __init__(self, f: Function, width: int) -> None:
        super().__init__(f, DOUBLE, width)

    def of_width(self, width: int) -> Double:
        return Double(self.f, width)

    # Exponentials

    def exp_nonpositive(self, x: Value) -> Value:
        """exp for x <= 0; see `Single.exp_nonpositive`."""
        return self.exp(x)

    def _reduced(self, x: Value) -> tuple[Value, Value]:
        """x = n ln2 + r with |r| <= ln2 / 2: n (a float) and r."""
        n = self.round(self.mul(x, self.c(LOG2E)))
        r = self.fma(n, self.c(-LN2_HI), x)
        return n, self.fma(n, self.c(-LN2_LO), r)

    def _expm1_reduced(self, r: Value) -> Value:
        return self.fma(self.mul(r, r), self.poly(r, table.EXPM1_64), r)

    def _scaled(self, p: Value, n: Value) -> Value:
        """p 2^n by one instruction, or in two steps, so that denormal results and infinity come out right."""
        if self.has_avx512:
            return self.scaled(p, n)
        whole = self.to_int32(n)
        half = self.b.ashr(whole, constant(vector(I32, self.width), 1))
        rest = self.b.sub(whole, half)
        for part in (half, rest):
            p = self.mul(p, self.power_of_two(self.b.sext(part, self.int_type)))
        return p

    def exp(self, x: Value) -> Value:
        n, r = self._reduced(self.clamp(x, -746.0, 710.0))
        return self._scaled(self.add(self._expm1_reduced(r), self.c(1.0)), n)

    def exp2(self, x: Value) -> Value:
        x = self.clamp(x, -1076.0, 1025.0)
        n = self.round(x)
        r = self.sub(x, n)
        return self._scaled(self.fma(r, self.poly(r, table.EXP2_64), self.c(1.0)), n)

    def expm1(self, x: Value) -> Value:
        n, r = self._reduced(self.clamp(x, -50.0, 710.0))
        # 2^n (p + 1) - 1 = 2 (s p + (s - 1/2)) with s = 2^(n-1)
        s = self.power_of_two(self.to_int(self.sub(n, self.c(1.0))))
        half = self.fma(s, self._expm1_reduced(r), self.sub(s, self.c(0.5)))
        small = self.compare("==", n, self.c(0.0))
        value = self.select(small, self._expm1_reduced(r), self.add(half, half))
        return self.copysign(value, x)

    # Logarithms

    def _log_parts(self, x: Value) -> tuple[Value, Value]:
        """x = 2^n (1 + m) with 1 + m within [sqrt 1/2, sqrt 2): n (a float) and m; for x > 0."""
        b = self.b
        small = self.compare("<", x, self.c(2.0**-1022))
        bits = self.bits(self.select(small, self.mul(x, self.c(2.0**54)), x))
        # the exponent of x / sqrt(1/2), biased so that it is never negative
        shifted = b.add(bits, self.n(0x3FF0000000000000 - 0x3FE6A09E667F3BCD))
        exponent = b.trunc(b.lshr(shifted, self.n(52)), vector(I32, self.width))
        n = self.sub(b.sitofp(exponent, self.type), self.select(small, self.c(1023.0 + 54.0), self.c(1023.0)))
        whole = b.shl(b.sub(b.lshr(shifted, self.n(52)), self.n(1023)), self.n(52))
        return n, self.sub(self.from_bits(b.sub(bits, whole)), self.c(1.0))

    def _log1p_terms(self, m: Value) -> tuple[Value, Value]:
        """log(1 + m) = m - h + t: h = m^2 / 2 and t."""
        s = self.div(m, self.add(self.c(2.0), m))
        z = self.mul(s, s)
        h = self.mul(self.mul(m, m), self.c(0.5))
        return h, self.mul(s, self.add(h, self.mul(z, self.poly(z, table.LOG_64))))

    def _log_specials(self, x: Value, value: Value) -> Value:
        value = self.select(self.compare("<", x, self.c(0.0)), self.c(NAN), value)
        value = self.select(self.compare("==", x, self.c(0.0)), self.c(-INF), value)
        keeps = self.or_(self.is_nan(x), self.compare("==", x, self.c(INF)))
        return self.select(keeps, x, value)

    def log(self, x: Value) -> Value:
        n, m = self._log_parts(x)
        h, t = self._log1p_terms(m)
        rest = self.sub(h, self.fma(n, self.c(LN2_LO), t))
        return self._log_specials(x, self.sub(self.mul(n, self.c(LN2_HI)), self.sub(rest, m)))

    def log2(self, x: Value) -> Value:
        n, m = self._log_parts(x)
        h, t = self._log1p_terms(m)
        return self._log_specials(x, self.fma(self.sub(m, self.sub(h, t)), self.c(LOG2E), n))

    def log10(self, x: Value) -> Value:
        n, m = self._log_parts(x)
        h, t = self._log1p_terms(m)
        low = self.fma(self.sub(m, self.sub(h, t)), self.c(LOG10E), self.mul(n, self.c(LOG10_2_LO)))
        return self._log_specials(x, self.fma(n, self.c(LOG10_2_HI), low))

    def log1p(self, x: Value) -> Value:
        u = self.add(x, self.c(1.0))
        lost = self.div(self.sub(x, self.sub(u, self.c(1.0))), u)
        value = self.add(self.log(u), lost)
        value = self.select(self.compare("==", u, self.c(INF)), u, value)
        value = self.select(self.compare("==", u, self.c(0.0)), self.c(-INF), value)
        return self.select(self.compare("==", x, self.c(0.0)), x, value)

    def pow(self, x: Value, y: Value) -> Value:
        size = self.abs(x)
        n, m = self._log_parts(size)
        h, t = self._log1p_terms(m)
        # log |x| as high + low, so that its product with y keeps its digits
        whole = self.mul(n, self.c(LN2_HI))
        near = self.sub(m, h)
        lost = self.sub(self.sub(m, near), h)
        high = self.add(whole, near)
        back = self.sub(high, whole)
        lost = self.add(lost, self.add(self.sub(whole, self.sub(high, back)), self.sub(near, back)))
        low = self.add(self.fma(n, self.c(LN2_LO), t), lost)
        high, low = (total := self.add(high, low)), self.sub(low, self.sub(total, high))
        p = self.mul(y, high)
        e = self.fma(y, low, self.fma(y, high, self.neg(p)))
        k, r = self._reduced(self.clamp(p, -746.0, 710.0))
        r = self.add(r, self.select(self.is_inf(p), self.c(0.0), e))
        value = self._scaled(self.add(self._expm1_reduced(r), self.c(1.0)), k)
        return power.specials(self, x, y, size, value)

    # Hyperbolic functions

    def tanh(self, x: Value) -> Value:
        e = self.expm1(self.smaller(self.c(44.0), self.mul(self.abs(x), self.c(2.0))))
        return self.copysign(self.div(e, self.add(e, self.c(2.0))), x)

    def sinh(self, x: Value) -> Value:
        size = self.abs(x)
        e = self.expm1(self.smaller(self.c(709.0), size))
        near = self.mul(self.c(0.5), self.add(e, self.div(e, self.add(e, self.c(1.0)))))
        return self.copysign(self.select(self.compare(">", size, self.c(40.0)), self._half_exp(size), near), x)

    def cosh(self, x: Value) -> Value:
        size = self.abs(x)
        e = self.exp(self.smaller(self.c(709.0), size))
        near = self.mul(self.c(0.5), self.add(e, self.div(self.c(1.0), e)))
        return self.select(self.compare(">", size, self.c(40.0)), self._half_exp(size), near)

    def _half_exp(self, x: Value) -> Value:
        """exp(x) / 2 where exp(x) itself may be infinite."""
        e = self.exp(self.mul(x, self.c(0.5)))
        return self.mul(self.mul(self.c(0.5), e), e)

    def asinh(self, x: Value) -> Value:
        size = self.abs(x)
        square = self.mul(size, size)
        root = self.sqrt(self.add(square, self.c(1.0)))
        near = self.log1p(self.add(size, self.div(square, self.add(self.c(1.0), root))))
        far = self.add(self.log(size), self.c(LN2))
        return self.copysign(self.select(self.compare(">", size, self.c(1e9)), far, near), x)

    def acosh(self, x: Value) -> Value:
        t = self.sub(x, self.c(1.0))
        near = self.log1p(self.add(t, self.sqrt(self.fma(t, t, self.add(t, t)))))
        far = self.add(self.log(x), self.c(LN2))
        value = self.select(self.compare(">", x, self.c(1e9)), far, near)
        return self.select(self.compare("<", x, self.c(1.0)), self.c(NAN), value)

    def atanh(self, x: Value) -> Value:
        size = self.abs(x)
        ratio = self.div(self.add(size, size), self.sub(self.c(1.0), size))
        return self.copysign(self.mul(self.c(0.5), self.log1p(ratio)), x)

    # Angles

    def _angle(self, x: Value, bounded: bool = False) -> tuple[Value, Value, Value]:
        """x = n pi/2 + r + low with |r| <= pi/4: n modulo 4 as i32, r and low; `bounded` for |x| <= 2^20."""
        n = self.round(self.mul(x, self.c(1 / PI_2)))
        r = self.fma(n, self.c(-HALF_PI[0]), x)
        t = r
        w = self.mul(n, self.c(HALF_PI[1]))
        r = self.sub(t, w)
        low = self.sub(self.sub(t, r), w)
        low = self.fma(n, self.c(-HALF_PI[2]), low)
        high = self.add(r, low)
        low = self.sub(low, self.sub(high, r))
        if bounded:
            return self.to_int32(n), high, low
        huge = self.not_(self.compare("<=", self.abs(x), self.c(EXACT_ANGLE)))
        quadrant = self.to_int32(self.select(huge, self.c(0.0), n))
        found = huge_angle.reduced(self, x, huge, (quadrant, high, low))
        return found[0], found[1], found[2]

    def _sin_reduced(self, r: Value, low: Value) -> Value:
        z = self.mul(r, r)
        tail = self.mul(self.mul(z, r), self.poly(z, table.SIN_64))
        return self.add(r, self.add(tail, self.fma(self.mul(z, self.c(-0.5)), low, low)))

    def _cos_reduced(self, r: Value, low: Value) -> Value:
        z = self.mul(r, r)
        h = self.mul(z, self.c(0.5))
        w = self.sub(self.c(1.0), h)
        tail = self.sub(self.mul(self.mul(z, z), self.poly(z, table.COS_64)), self.mul(r, low))
        return self.add(w, self.add(self.sub(self.sub(self.c(1.0), w), h), tail))

    def _bit(self, n: Value, bit: int) -> Value:
        """Whether a bit of an i32 is set."""
        one = constant(vector(I32, self.width), 1 << bit)
        return self.b.icmp_unsigned("!=", self.b.and_(n, one), constant(one.type, 0))

    def sin(self, x: Value, bounded: bool = False) -> Value:
        n, r, low = self._angle(x, bounded)
        s, c = self._sin_reduced(r, low), self._cos_reduced(r, low)
        value = self.select(self._bit(n, 0), c, s)
        value = self.select(self._bit(n, 1), self.neg(value), value)
        return self.select(self.compare("==", x, self.c(0.0)), x, value)

    def cos(self, x: Value) -> Value:
        n, r, low = self._angle(x)
        s, c = self._sin_reduced(r, low), self._cos_reduced(r, low)
        value = self.select(self._bit(n, 0), s, c)
        turned = self.b.add(n, constant(vector(I32, self.width), 1))
        return self.select(self._bit(turned, 1), self.neg(value), value)

    def tan(self, x: Value, bounded: bool = False) -> Value:
        n, r, low = self._angle(x, bounded)
        s, c = self._sin_reduced(r, low), self._cos_reduced(r, low)
        turned = self._bit(n, 0)
        value = self.div(self.select(turned, self.neg(c), s), self.select(turned, s, c))
        return self.select(self.compare("==", x, self.c(0.0)), x, value)

    def _atan_reduced(self, t: Value) -> Value:
        """atan of t within [0, 1]."""
        far = self.compare(">", t, self.c(0.41421356237309503))
        top = self.select(far, self.sub(t, self.c(1.0)), t)
        r = self.div(top, self.select(far, self.add(t, self.c(1.0)), self.c(1.0)))
        z = self.mul(r, r)
        value = self.fma(self.mul(z, r), self.poly(z, table.ATAN_64), r)
        low = self.select(far, self.c(PI_2_LO / 2), self.c(0.0))
        return self.add(self.select(far, self.c(PI_4), self.c(0.0)), self.add(value, low))

    def atan(self, x: Value) -> Value:
        size = self.abs(x)
        far = self.compare(">", size, self.c(1.0))
        angle = self._atan_reduced(self.select(far, self.div(self.c(1.0), size), size))
        rest = self.add(self.sub(self.c(PI_2), angle), self.c(PI_2_LO))
        return self.copysign(self.select(far, rest, angle), x)

    def atan2(self, y: Value, x: Value) -> Value:
        up, along = self.abs(y), self.abs(x)
        steep = self.compare(">", up, along)
        high, low = self.select(steep, up, along), self.select(steep, along, up)
        ratio = self.div(low, high)
        ratio = self.select(self.compare("==", low, self.c(INF)), self.c(1.0), ratio)
        ratio = self.select(self.compare("==", high, self.c(0.0)), self.c(0.0), ratio)
        angle = self._atan_reduced(ratio)
        angle = self.select(steep, self.add(self.sub(self.c(PI_2), angle), self.c(PI_2_LO)), angle)
        left = self.b.icmp_signed("<", self.bits(x), self.n(0))
        turned = self.add(self.sub(self.c(math.pi), angle), self.c(2 * PI_2_LO))
        value = self.copysign(self.select(left, turned, angle), y)
        return self.select(self.or_(self.is_nan(x), self.is_nan(y)), self.c(NAN), value)

    def _asin_reduced(self, x: Value, z: Value) -> Value:
        return self.fma(self.mul(x, z), self.poly(z, table.ASIN_64), x)

    def asin(self, x: Value) -> Value:
        size = self.abs(x)
        far = self.compare(">", size, self.c(0.5))
        z = self.select(far, self.mul(self.c(0.5), self.sub(self.c(1.0), size)), self.mul(size, size))
        value = self._asin_reduced(self.select(far, self.sqrt(z), size), z)
        rest = self.add(self.sub(self.c(PI_2), self.add(value, value)), self.c(PI_2_LO))
        return self.copysign(self.select(far, rest, value), x)

    def acos(self, x: Value) -> Value:
        size = self.abs(x)
        far = self.compare(">", size, self.c(0.5))
        z = self.select(far, self.mul(self.c(0.5), self.sub(self.c(1.0), size)), self.mul(size, size))
        value = self._asin_reduced(self.select(far, self.sqrt(z), x), z)
        twice = self.add(value, value)
        left = self.compare("<", x, self.c(0.0))
        outer = self.select(left, self.add(self.sub(self.c(math.pi), twice), self.c(2 * PI_2_LO)), twice)
        inner = self.sub(self.c(PI_2), self.sub(value, self.c(PI_2_LO)))
        return self.select(far, outer, inner)

    # The error function and the logarithm of the gamma function

    def _erf_small(self, x: Value) -> Value:
        """erf for |x| <= 1."""
        return self.fma(x, self.poly(self.mul(x, x), table.ERF_64), x)

    def _erfc_far(self, x: Value) -> Value:
        """erfc for x >= 1/2."""
        x = self.smaller(self.c(40.0), x)
        t = self.div(self.sub(x, self.c(3.0)), self.add(x, self.c(3.0)))
        square = self.mul(x, x)
        lost = self.fma(x, x, self.neg(square))
        e = self.exp(self.neg(square))
        tail = self.fma(self.neg(e), lost, e)
        return self.div(self.mul(tail, self.poly(t, table.ERFC_64)), self.fma(x, self.c(2.0), self.c(1.0)))

    def erf(self, x: Value) -> Value:
        if self.takes_pieces:
            return pieces.odd(self, x, pieces.ERF_64)
        size = self.abs(x)
        far = self.compare(">", size, self.c(1.0))
        value = self.select(far, self.sub(self.c(1.0), self._erfc_far(size)), self._erf_small(size))
        return self.copysign(value, x)

    def erfc(self, x: Value) -> Value:
        size = self.abs(x)
        tail = self._erfc_far(size)
        tail = self.select(self.compare("<", x, self.c(0.0)), self.sub(self.c(2.0), tail), tail)
        near = self.sub(self.c(1.0), self._erf_small(x))
        return self.select(self.compare("<", size, self.c(0.5)), near, tail)

    def erfinv(self, x: Value) -> Value:
        size = self.abs(x)
        one = self.c(1.0)
        left = self.sub(one, size)
        logarithm = self.log(self.mul(left, self.add(one, size)))
        a = self.fma(logarithm, self.c(0.5), self.c(2 / (math.pi * 0.147)))
        root = self.sqrt(self.sub(self.sqrt(self.sub(self.mul(a, a), self.mul(logarithm, self.c(1 / 0.147)))), a))
        small = self.compare("<", size, self.c(0.5))
        for _ in range(2):
            # 1 - |x| is exact from 1/2 on, where erf itself would lose the digits of the tail
            miss = self.select(small, self.sub(self.erf(root), size), self.sub(left, self.erfc(root)))
            slope = self.mul(self.c(2 / math.sqrt(math.pi)), self.exp(self.neg(self.mul(root, root))))
            step = self.div(miss, slope)
            root = self.sub(root, self.div(step, self.fma(root, step, one)))
        tiny = self.mul(size, self.c(math.sqrt(math.pi) / 2))
        root = self.select(self.compare("<", size, self.c(1e-7)), tiny, root)
        root = self.select(self.compare("==", size, one), self.c(INF), root)
        return self.copysign(root, x)

    def _from_nearest(self, x: Value) -> Value:
        """pi (x - nearest integer)."""
        return self.mul(self.sub(x, self.round(x)), self.c(math.pi))

    def lgamma(self, x: Value) -> Value:
        """log |gamma(x)| by Stirling's series at x + 10 or more, the recurrence down, and the reflection."""
        one = self.c(1.0)
        low = self.compare("<", x, self.c(0.5))
        z = self.select(low, self.sub(one, x), x)
        lifted = self.compare("<", z, self.c(10.0))
        product = one
        for i in range(10):
            product = self.mul(product, self.select(lifted, self.add(z, self.c(float(i))), one))
        w = self.select(lifted, self.add(z, self.c(10.0)), z)
        inverse = self.div(one, w)
        series = self.mul(self.poly(self.mul(inverse, inverse), STIRLING), inverse)
        main = self.fma(self.sub(w, self.c(0.5)), self.sub(self.log(w), one), self.c(0.9189385332046727 - 0.5))
        value = self.sub(self.add(main, series), self.log(product))
        sine = self.abs(self.sin(self._from_nearest(x), bounded=True))
        mirrored = self.sub(self.sub(self.c(math.log(math.pi)), self.log(sine)), value)
        value = self.select(low, mirrored, value)
        root = self.or_(self.compare("==", x, one), self.compare("==", x, self.c(2.0)))
        value = self.select(root, self.c(0.0), value)
        return self.select(self.is_inf(x), self.c(INF), value)

    def digamma(self, x: Value) -> Value:
        """The derivative of lgamma; -copysign(inf, x) at 0, NaN at the negative integers."""
        one, zero = self.c(1.0), self.c(0.0)
        low = self.compare("<", x, self.c(0.5))
        z = self.select(low, self.sub(one, x), x)
        lifted = self.compare("<", z, self.c(10.0))
        below = zero
        for i in range(10):
            below = self.add(below, self.select(lifted, self.div(one, self.add(z, self.c(float(i)))), zero))
        w = self.select(lifted, self.add(z, self.c(10.0)), z)
        inverse = self.div(one, w)
        square = self.mul(inverse, inverse)
        value = self.sub(self.log(w), self.mul(self.c(0.5), inverse))
        value = self.sub(self.sub(value, self.mul(self.poly(square, PSI), square)), below)
        mirrored = self.sub(value, self.div(self.c(math.pi), self.tan(self._from_nearest(x), bounded=True)))
        value = self.select(low, mirrored, value)
        pole = self.and_(self.compare("<", x, zero), self.or_(self.compare("==", x, self.floor(x)), self.is_inf(x)))
        value = self.select(pole, self.c(NAN), value)
        return self.select(self.compare("==", x, zero), self.neg(self.copysign(self.c(INF), x)), value)


STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
"""B_2k / (2k (2k - 1)), Stirling's series in 1/x^2."""
PSI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
"""B_2k / 2k, the series of its derivative."""
