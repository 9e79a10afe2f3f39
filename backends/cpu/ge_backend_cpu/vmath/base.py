"""What the vector functions are written with: constants, tests, bits, polynomials, of any width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import I1, I32, Function, constant, vector
from ge_backend_cpu.integers import I64, Value


class Kit:
    """Arithmetic on values of one element type and width.

    Args:
        f: the kernel under construction.
        element: FloatType or DoubleType.
        width: 1 makes scalars.
    """

    def __init__(self, f: Function, element: ir.Type, width: int) -> None:
        self.f, self.b, self.element, self.width = f, f.b, element, width
        self.type = vector(element, width)
        self.bits_of = I64 if isinstance(element, ir.DoubleType) else I32
        self.int_type = vector(self.bits_of, width)

    def of_width(self, width: int) -> Kit:
        """The same functions for another width."""
        raise NotImplementedError

    def c(self, value: float) -> Value:
        """A constant."""
        return constant(self.type, float_constant(self.element, value))

    def n(self, value: int) -> Value:
        """A constant of the integer type with as many bits."""
        return constant(self.int_type, value)

    def bits(self, x: Value) -> Value:
        return self.b.bitcast(x, self.int_type)

    def from_bits(self, x: Value) -> Value:
        return self.b.bitcast(x, self.type)

    def add(self, x: Value, y: Value) -> Value:
        return self.b.fadd(x, y)

    def sub(self, x: Value, y: Value) -> Value:
        return self.b.fsub(x, y)

    def mul(self, x: Value, y: Value) -> Value:
        return self.b.fmul(x, y)

    def div(self, x: Value, y: Value) -> Value:
        return self.b.fdiv(x, y)

    def neg(self, x: Value) -> Value:
        return self.b.fneg(x)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x * y + z, rounded once."""
        return self.f.fma(x, y, z)

    def abs(self, x: Value) -> Value:
        return self.f.intrinsic("fabs", x)

    def sqrt(self, x: Value) -> Value:
        return self.f.intrinsic("sqrt", x)

    def floor(self, x: Value) -> Value:
        return self.f.intrinsic("floor", x)

    def trunc(self, x: Value) -> Value:
        return self.f.intrinsic("trunc", x)

    def round(self, x: Value) -> Value:
        """To the nearest integer, ties to even."""
        return self.f.intrinsic("roundeven", x)

    def copysign(self, x: Value, y: Value) -> Value:
        return self.f.intrinsic("copysign", x, y)

    def compare(self, sign: str, x: Value, y: Value) -> Value:
        """An ordered comparison: false where one is NaN (but `!=` is true)."""
        if sign == "!=":
            return self.b.fcmp_unordered(sign, x, y)
        return self.b.fcmp_ordered(sign, x, y)

    def is_nan(self, x: Value) -> Value:
        return self.b.fcmp_unordered("uno", x, x)

    def is_inf(self, x: Value) -> Value:
        return self.compare("==", self.abs(x), self.c(float("inf")))

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        return self.b.select(condition, x, y)

    def larger(self, x: Value, y: Value) -> Value:
        """x > y ? x : y, one instruction; a NaN in either gives y."""
        return self.select(self.compare(">", x, y), x, y)

    def smaller(self, x: Value, y: Value) -> Value:
        """x < y ? x : y, one instruction; a NaN in either gives y."""
        return self.select(self.compare("<", x, y), x, y)

    def clamp(self, x: Value, low: float, high: float) -> Value:
        """x within [low, high]; NaN stays."""
        return self.smaller(self.c(high), self.larger(self.c(low), x))

    def poly(self, x: Value, coefficients: Sequence[float]) -> Value:
        """c0 + c1 x + c2 x^2 + ... by Horner's rule."""
        total = self.c(coefficients[-1])
        for c in coefficients[-2::-1]:
            total = self.fma(total, x, self.c(c))
        return total

    def power_of_two(self, n: Value) -> Value:
        """2^n for an integer value (of `int_type`) whose result is a normal number."""
        mantissa, bias = (52, 1023) if self.bits_of is I64 else (23, 127)
        return self.from_bits(self.b.shl(self.b.add(n, self.n(bias)), self.n(mantissa)))

    @property
    def takes_pieces(self) -> bool:
        """Whether coefficients may be looked up, see `pieces`."""
        return self.f.isa.level == "x86-64-v4"

    @property
    def has_avx512(self) -> bool:
        """Whether one instruction of AVX-512 takes a value of this type and width."""
        bits = self.width * (64 if self.bits_of is I64 else 32)
        return self.f.isa.level == "x86-64-v4" and bits in (128, 256, 512)

    def avx512(self, name: str, *arguments: Value) -> Value:
        """An instruction of AVX-512 on all lanes; its intrinsic has a mask and, for 512 bits, a rounding mode."""
        bits = self.width * (64 if self.bits_of is I64 else 32)
        suffix = "pd" if self.bits_of is I64 else "ps"
        mask = ir.IntType(max(self.width, 8))
        words = [constant(self.type, 0.0), ir.Constant(mask, -1)]
        if bits == 512:
            words.append(ir.Constant(I32, 4))  # the current rounding mode
        full = f"x86.avx512.mask.{name}.{suffix}"
        return self.f.intrinsic(full, *arguments, *words, returns=self.type, suffix=str(bits))

    def scaled(self, x: Value, n: Value) -> Value:
        """x 2^n for a float n that is an integer, rounded once, by AVX-512."""
        return self.avx512("scalef", x, n)

    def to_int32(self, x: Value) -> Value:
        """A float that is a small integer, as i32."""
        return self.b.fptosi(x, vector(I32, self.width))

    def to_int(self, x: Value) -> Value:
        """A float that is a small integer, as an integer with as many bits (by way of i32: AVX2 has no other)."""
        small = self.to_int32(x)
        return small if self.bits_of is I32 else self.b.sext(small, self.int_type)

    def any(self, condition: Value) -> Value:
        """Whether it holds in any lane, as a scalar i1."""
        if self.width == 1:
            return condition
        whole = self.b.bitcast(condition, ir.IntType(self.width))
        return self.b.icmp_unsigned("!=", whole, ir.Constant(ir.IntType(self.width), 0))

    def and_(self, *conditions: Value) -> Value:
        total = conditions[0]
        for other in conditions[1:]:
            total = self.b.and_(total, other)
        return total

    def or_(self, *conditions: Value) -> Value:
        total = conditions[0]
        for other in conditions[1:]:
            total = self.b.or_(total, other)
        return total

    def not_(self, condition: Value) -> Value:
        return self.b.xor(condition, constant(vector(I1, self.width), 1))


def float_constant(element: ir.Type, value: float) -> Any:
    """A number of the type: rounded to float32 where that is the type."""
    import numpy as np

    return float(np.float32(value)) if isinstance(element, ir.FloatType) else float(value)
