"""Angles beyond 2^20 reduced exactly: x 2/pi modulo 4 from the bits of 2/pi (M. Payne, R. Hanek, 1983).

x is an integer m < 2^53 times 2^e. Of 2/pi only the bits with weights from 2^(1-e) down matter: those above give
multiples of 4. With 192 of them the fraction has 137 right bits, of which at most 61 cancel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import DOUBLE, I32, Function
from ge_backend_cpu.integers import I64, Value
from ge_backend_cpu.vmath.coefficients import TWO_OVER_PI

if TYPE_CHECKING:
    from ge_backend_cpu.vmath.base import Kit

I128 = ir.IntType(128)
_NAME = "huge_angle"


def reduced(m: Kit, x: Value, huge: Value, found: tuple[Value, ...]) -> list[Value]:
    """`found` (quadrant i32, angle, low part; float64) with the lanes replaced in which `huge` holds.

    Infinity and NaN count as huge, and give NaN.
    """
    f = m.f

    def slow() -> list[Value]:
        function = _function(f)
        quadrant, angle, low = found
        for k in range(m.width):
            lane = f.lane(x, k)
            pair = f.b.call(function, [lane])
            mine = f.lane(huge, k)
            quadrant = _replaced(f, quadrant, k, mine, f.b.extract_value(pair, 0))
            angle = _replaced(f, angle, k, mine, f.b.extract_value(pair, 1))
            low = _replaced(f, low, k, mine, ir.Constant(DOUBLE, 0.0))
        return [quadrant, angle, low]

    return f.choose(m.any(huge), slow, lambda: list(found))


def _replaced(f: Function, whole: Value, k: int, condition: Value, lane: Value) -> Value:
    chosen = f.b.select(condition, lane, f.lane(whole, k))
    if not isinstance(whole.type, ir.VectorType):
        return chosen
    return f.b.insert_element(whole, chosen, ir.Constant(I32, k))


def _function(f: Function) -> ir.Function:
    """(i32 quadrant, double angle) of a double of at least 2^20, once in a module."""
    known = f.module.globals.get(_NAME)
    if known is not None:
        return known
    result = ir.LiteralStructType([I32, DOUBLE])
    function = ir.Function(f.module, ir.FunctionType(result, [DOUBLE]), _NAME)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    function.attributes.add("noinline")
    words = ir.GlobalVariable(f.module, ir.ArrayType(I64, len(TWO_OVER_PI)), "two_over_pi")
    words.linkage, words.global_constant = "internal", True
    words.initializer = ir.Constant(words.value_type, [ir.Constant(I64, w) for w in TWO_OVER_PI])
    b = ir.Builder(function.append_basic_block("entry"))
    (x,) = function.args
    one = ir.Constant(I64, 1)
    bits = b.bitcast(x, I64)
    exponent = b.and_(b.lshr(bits, ir.Constant(I64, 52)), ir.Constant(I64, 0x7FF))
    finite = b.icmp_unsigned("<", exponent, ir.Constant(I64, 0x7FF))
    # lanes that are not huge come here as well; the clamp keeps their reads inside the table
    low_end, high_end = ir.Constant(I64, 1023 + 19), ir.Constant(I64, 0x7FE)
    exponent = b.select(b.icmp_unsigned("<", exponent, low_end), low_end, exponent)
    exponent = b.select(b.icmp_unsigned("<", high_end, exponent), high_end, exponent)
    mantissa = b.or_(b.and_(bits, ir.Constant(I64, (1 << 52) - 1)), b.shl(one, ir.Constant(I64, 52)))
    # e = exponent - 1075; the window begins at bit e - 2 of the fraction, the table has 64 zeros before it
    place = b.sub(exponent, ir.Constant(I64, 1075 + 2 - 64))
    word, shift = b.lshr(place, ir.Constant(I64, 6)), b.and_(place, ir.Constant(I64, 63))
    loaded = [
        b.load(b.gep(words, [b.add(word, ir.Constant(I64, k))], source_etype=I64), typ=I64, align=8) for k in range(4)
    ]
    name = "llvm.fshl.i64"
    turn = f.module.declared(name, I64, [I64] * 3)
    high, middle, low = (b.call(turn, [loaded[k], loaded[k + 1], shift]) for k in range(3))
    wide = b.zext(mantissa, I128)
    sixty_four = ir.Constant(I128, 64)
    first = b.lshr(b.mul(wide, b.zext(low, I128)), sixty_four)
    second = b.add(b.mul(wide, b.zext(middle, I128)), first)
    third = b.add(b.mul(mantissa, high), b.trunc(b.lshr(second, sixty_four), I64))
    fixed = b.or_(b.shl(b.zext(third, I128), sixty_four), b.zext(b.trunc(second, I64), I128))
    # two bits before the point, 126 after it; the fraction as a signed number is within [-1/2, 1/2)
    fraction = b.shl(fixed, ir.Constant(I128, 2))
    top = b.trunc(b.lshr(fraction, sixty_four), I64)
    quadrant = b.add(b.lshr(third, ir.Constant(I64, 62)), b.lshr(top, ir.Constant(I64, 63)))
    value = b.fadd(
        b.fmul(b.sitofp(top, DOUBLE), ir.Constant(DOUBLE, 2.0**-64)),
        b.fmul(b.uitofp(b.trunc(fraction, I64), DOUBLE), ir.Constant(DOUBLE, 2.0**-128)),
    )
    angle = b.fmul(value, ir.Constant(DOUBLE, math.pi / 2))
    negative = b.icmp_signed("<", bits, ir.Constant(I64, 0))
    quadrant = b.select(negative, b.sub(ir.Constant(I64, 0), quadrant), quadrant)
    angle = b.select(negative, b.fneg(angle), angle)
    angle = b.select(finite, angle, ir.Constant(DOUBLE, math.nan))
    pair = b.insert_value(ir.Constant(result, ir.Undefined), b.trunc(quadrant, I32), 0)
    b.ret(b.insert_value(pair, angle, 1))
    return function
