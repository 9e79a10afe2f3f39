"""Integer arithmetic with the IR's rules: everything wraps, division is guarded, wide shifts are defined."""

from __future__ import annotations

from collections.abc import Callable

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import DOUBLE, FLOAT, I32, Function, constant, vector, width_of
from ge_backend_cpu.integers import Value

Guard = Callable[[Value], None]
"""Told where a divisor is zero: an i1 (or a vector of them)."""


class Integers:
    """Operations on values of one integer type.

    Args:
        bits, signed: of the elements.
        guard: called with the lanes whose divisor is zero; those lanes then divide by 1.
    """

    def __init__(self, f: Function, bits: int, signed: bool, guard: Guard) -> None:
        self.f, self.b, self.bits, self.signed, self.guard = f, f.b, bits, signed, guard

    def n(self, value: int, like: Value) -> Value:
        return constant(like.type, value)

    def less(self, a: Value, b: Value) -> Value:
        return self.b.icmp_signed("<", a, b) if self.signed else self.b.icmp_unsigned("<", a, b)

    def neg(self, a: Value) -> Value:
        return self.b.sub(self.n(0, a), a)

    def abs(self, a: Value) -> Value:
        return self.b.select(self.less(a, self.n(0, a)), self.neg(a), a) if self.signed else a

    def sign(self, a: Value) -> Value:
        one, zero = self.n(1, a), self.n(0, a)
        positive = self.b.select(self.less(zero, a), one, zero)
        return self.b.select(self.less(a, zero), self.n(-1, a), positive) if self.signed else positive

    def smaller(self, a: Value, b: Value) -> Value:
        return self.b.select(self.less(b, a), b, a)

    def larger(self, a: Value, b: Value) -> Value:
        return self.b.select(self.less(a, b), b, a)

    # Division

    def _divisor(self, b: Value) -> Value:
        zero = self.b.icmp_unsigned("==", b, self.n(0, b))
        self.guard(zero)
        return self.b.select(zero, self.n(1, b), b)

    def _quotient(self, a: Value, b: Value) -> Value:
        """a / b towards zero for b != 0; by floats, which are exact for up to 32 bits and have vectors."""
        if self.bits == 64:
            return self._quotient64(a, b)
        width, builder = width_of(a), self.b
        wide = vector(I32, width)
        if self.bits < 32:
            grow = builder.sext if self.signed else builder.zext
            a, b = grow(a, wide), grow(b, wide)
        real = vector(FLOAT if self.bits < 32 else DOUBLE, width)
        if self.signed or self.bits < 32:
            ratio = builder.fdiv(builder.sitofp(a, real), builder.sitofp(b, real))
            # INT_MIN / -1 does not fit; the conversion saturates, and the wrapped result is INT_MIN
            found = self.f.intrinsic("fptosi.sat", ratio, returns=wide, suffix=_pair(wide, real))
            if self.bits == 32:
                found = builder.select(builder.icmp_signed("==", b, constant(wide, -1)), self.neg(a), found)
        else:
            ratio = builder.fdiv(builder.uitofp(a, real), builder.uitofp(b, real))
            found = self.f.intrinsic("fptoui.sat", ratio, returns=wide, suffix=_pair(wide, real))
        return found if self.bits == 32 else builder.trunc(found, vector(ir.IntType(self.bits), width))

    def _quotient64(self, a: Value, b: Value) -> Value:
        if not self.signed:
            return self.b.udiv(a, b)
        minus = self.b.icmp_signed("==", b, self.n(-1, b))
        safe = self.b.select(minus, self.n(1, b), b)
        return self.b.select(minus, self.neg(a), self.b.sdiv(a, safe))

    def _parts(self, a: Value, b: Value) -> tuple[Value, Value, Value]:
        b = self._divisor(b)
        q = self._quotient(a, b)
        return b, q, self.b.sub(a, self.b.mul(q, b))

    def truncdiv(self, a: Value, b: Value) -> Value:
        return self._quotient(a, self._divisor(b))

    def fmod(self, a: Value, b: Value) -> Value:
        return self._parts(a, b)[2]

    def _low(self, b: Value, rest: Value) -> Value:
        """Where rounding down differs from rounding towards zero."""
        zero = self.n(0, rest)
        signs = self.b.xor(self.less(rest, zero), self.less(b, zero))
        return self.b.and_(self.b.icmp_unsigned("!=", rest, zero), signs)

    def floordiv(self, a: Value, b: Value) -> Value:
        b, q, rest = self._parts(a, b)
        return self.b.select(self._low(b, rest), self.b.sub(q, self.n(1, q)), q) if self.signed else q

    def floormod(self, a: Value, b: Value) -> Value:
        b, _, rest = self._parts(a, b)
        return self.b.select(self._low(b, rest), self.b.add(rest, b), rest) if self.signed else rest

    # Shifts

    def _inside(self, b: Value) -> tuple[Value, Value]:
        """Whether a count is within the width (a negative one is not), and the count, 0 where it is not."""
        inside = self.b.icmp_unsigned("<", b, self.n(self.bits, b))
        return inside, self.b.select(inside, b, self.n(0, b))

    def shl(self, a: Value, b: Value) -> Value:
        inside, count = self._inside(b)
        return self.b.select(inside, self.b.shl(a, count), self.n(0, a))

    def shr(self, a: Value, b: Value) -> Value:
        inside, count = self._inside(b)
        return self.b.select(inside, self.b.lshr(a, count), self.n(0, a))

    def sar(self, a: Value, b: Value) -> Value:
        if not self.signed:
            return self.shr(a, b)
        inside = self.b.icmp_unsigned("<", b, self.n(self.bits, b))
        return self.b.ashr(a, self.b.select(inside, b, self.n(self.bits - 1, b)))

    # Powers

    def pow(self, a: Value, b: Value) -> Value:
        """a^b by squaring; 1 / a^n truncates to 0, except of 1 and -1."""
        one, zero = self.n(1, a), self.n(0, a)
        negative = self.less(b, zero)
        exponent = self.b.select(negative, zero, b) if self.signed else b

        def left(base: Value, rest: Value, total: Value) -> Value:
            return _any(self.f, self.b.icmp_unsigned("!=", rest, zero))

        def step(base: Value, rest: Value, total: Value) -> list[Value]:
            odd = self.b.icmp_unsigned("!=", self.b.and_(rest, one), zero)
            total = self.b.select(odd, self.b.mul(total, base), total)
            return [self.b.mul(base, base), self.b.lshr(rest, one), total]

        total = self.f.repeat([a, exponent, one], left, step)[2]
        if not self.signed:
            return total
        odd = self.b.icmp_unsigned("!=", self.b.and_(b, one), zero)
        unit = self.b.icmp_unsigned("==", self.abs(a), one)
        inverse = self.b.select(unit, self.b.select(odd, a, one), zero)
        return self.b.select(negative, inverse, total)


def _any(f: Function, condition: Value) -> Value:
    width = width_of(condition)
    if width == 1:
        return condition
    whole = f.b.bitcast(condition, ir.IntType(width))
    return f.b.icmp_unsigned("!=", whole, ir.Constant(ir.IntType(width), 0))


def _pair(to: ir.Type, source: ir.Type) -> str:
    from ge_backend_cpu.emit import mangled

    return f"{mangled(to)}.{mangled(source)}"
