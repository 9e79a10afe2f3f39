"""Conversion between element types in registers, by the rules of the IR's Cast.

Float to integer truncates and saturates, NaN becomes 0; integer to integer wraps; anything but zero is true. Floats
are rounded once, straight from the source's value.
"""

from __future__ import annotations

from typing import Any

from ge_backend_cpu import convert
from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import DOUBLE, FLOAT, I8, I32, Function, constant, mangled, vector, width_of
from ge_backend_cpu.integers import Value
from ge_core.ir.dtype import DType


def cast(f: Function, x: Value, source: DType, to: DType, saturate: bool = True) -> Value:
    """A value of `source` (in its compute type) as one of `to`, rounded to what `to` can hold.

    Args:
        saturate: 8-bit floats take the largest value for what is beyond it, see ONNX's Cast.
    """
    if source == to:
        return x
    if to.kind == "bool":
        return _truth(f, x, source)
    if to.is_integer:
        return _to_integer(f, x, source, to)
    return _to_float(f, x, source, to, saturate)


def _like(element: ir.Type, x: Value) -> ir.Type:
    return vector(element, width_of(x))


def _truth(f: Function, x: Value, source: DType) -> Value:
    zero = constant(x.type, 0)
    return f.b.fcmp_unordered("!=", x, zero) if source.is_float else f.b.icmp_unsigned("!=", x, zero)


def _to_integer(f: Function, x: Value, source: DType, to: DType) -> Value:
    element = convert.compute_type(to)
    target = _like(element, x)
    if source.is_float:
        return _truncated(f, x, to, target)
    have = convert.compute_type(source).width
    if have < element.width:
        value = f.b.sext(x, target) if source.kind == "int" else f.b.zext(x, target)
    else:
        value = f.b.trunc(x, target) if have > element.width else x
    return _wrapped(f, value, to) if to.bits < 8 else value


def _truncated(f: Function, x: Value, to: DType, target: ir.Type) -> Value:
    """A float as an integer, saturated, NaN as 0: clamped as a float, so that one instruction converts it."""
    if to.kind == "uint" and to.bits > 16:
        return f.intrinsic("fptoui.sat", x, returns=target, suffix=f"{mangled(target)}.{mangled(x.type)}")
    b, wide = f.b, max(to.bits, 32)
    bottom = constant(x.type, float(to.min))
    known = b.select(b.fcmp_unordered("uno", x, x), constant(x.type, 0.0), x)
    known = b.select(b.fcmp_ordered("<", known, bottom), bottom, known)
    if to.bits < 32:
        top = constant(x.type, float(to.max))
        known = b.select(b.fcmp_ordered(">", known, top), top, known)
        return b.trunc(b.fptosi(known, _like(I32, x)), target)
    # the largest integer may be no float: what is beyond is chosen afterwards
    over = b.fcmp_ordered(">=", known, constant(x.type, 2.0 ** (wide - 1)))
    found = b.fptosi(b.select(over, constant(x.type, 0.0), known), target)
    return b.select(over, constant(target, int(to.max)), found)


def _wrapped(f: Function, x: Value, to: DType) -> Value:
    """An i8 modulo the range of a smaller type."""
    if to.kind == "uint":
        return f.b.and_(x, constant(x.type, int(to.max)))
    unused = constant(x.type, 8 - to.bits)
    return f.b.ashr(f.b.shl(x, unused), unused)


def _to_float(f: Function, x: Value, source: DType, to: DType, saturate: bool) -> Value:
    if to.name == "float64":
        return _real(f, x, source, DOUBLE)
    if to.name == "float32":
        return _real(f, x, source, FLOAT)
    if to.name == "float8e8m0":
        return _to_scale(f, x, source, saturate)
    if source.is_float and source.bits < 32 and _contains(to, source):
        return x
    exact = source.bits >= 32 and source.name != "float32"
    value = _odd_float(f, _real(f, x, source, DOUBLE)) if exact else _real(f, x, source, FLOAT)
    if to.bits == 8 and saturate:
        top, bottom = constant(value.type, float(to.max)), constant(value.type, float(to.min))
        # NaN fails both tests and stays
        value = f.b.select(f.b.fcmp_ordered(">", value, top), top, value)
        value = f.b.select(f.b.fcmp_ordered("<", value, bottom), bottom, value)
    if to.name == "float4e2m1":
        # it has no NaN; -0 is what the IR's Cast gives
        value = f.b.select(f.b.fcmp_unordered("uno", value, value), constant(value.type, -0.0), value)
    return rounded(f, value, to)


def _to_scale(f: Function, x: Value, source: DType, saturate: bool) -> Value:
    """A power of two, rounded up: the biased exponent, 255 is NaN; the sign is ignored. See ONNX's Cast."""
    b = f.b
    exact = source.bits >= 32 and source.name != "float32"
    value = _odd_float(f, _real(f, x, source, DOUBLE)) if exact else _real(f, x, source, FLOAT)
    word = _like(I32, x)
    bits = b.bitcast(value, word)
    exponent = b.lshr(b.and_(bits, constant(word, 0x7F800000)), constant(word, 23))
    more = b.icmp_unsigned("!=", b.and_(bits, constant(word, 0x7FFFFF)), constant(word, 0))
    special = b.icmp_unsigned("==", exponent, constant(word, 255))
    found = b.select(special, exponent, b.add(exponent, b.zext(more, word)))
    if saturate:
        top = constant(word, 254)
        found = b.select(b.or_(special, b.icmp_unsigned("<", found, top)), found, top)
    return convert.widen_scale(f, b.trunc(found, _like(I8, x)))


def _contains(to: DType, source: DType) -> bool:
    """Whether every value of one 16-bit or smaller float type is one of another."""
    return to.name == "float16" and source.name in ("float8e4m3fn", "float8e5m2", "float4e2m1", "float8e4m3fnuz")


def rounded(f: Function, x: Value, to: DType) -> Value:
    """A float32 rounded to the precision of a smaller float type; other types as they are."""
    if not to.is_float or to.bits >= 32:
        return x
    return convert.widen(f, convert.narrow(f, x, to), to)


def _real(f: Function, x: Value, source: DType, element: ir.Type) -> Value:
    target = _like(element, x)
    if source.is_float:
        wide = isinstance(convert.compute_type(source), ir.DoubleType)
        if wide == isinstance(element, ir.DoubleType):
            return x
        return f.b.fptrunc(x, target) if wide else f.b.fpext(x, target)
    if source.kind == "int":
        return f.b.sitofp(x, target)
    if source.bits <= 16:
        # AVX2 converts signed integers only
        return f.b.sitofp(f.b.zext(x, _like(I32, x)), target)
    return f.b.uitofp(x, target)


def _odd_float(f: Function, x: Value) -> Value:
    """A float64 rounded to float32 so that rounding again to at most 22 bits gives what rounding it at once would.

    Round to odd (S. Boldo, G. Melquiond, 2008): truncate, and set the last bit when anything was lost.
    """
    b = f.b
    near = b.fptrunc(x, _like(FLOAT, x))
    back = b.fpext(near, x.type)
    size, wanted = f.intrinsic("fabs", back), f.intrinsic("fabs", x)
    word = _like(I32, x)
    bits = b.bitcast(near, word)
    bits = b.sub(bits, b.zext(b.fcmp_ordered(">", size, wanted), word))
    finite = b.fcmp_ordered("<", wanted, constant(x.type, float("inf")))
    lost = b.and_(b.fcmp_unordered("!=", back, x), finite)
    bits = b.or_(bits, b.zext(lost, word))
    return b.bitcast(bits, near.type)


def bit_cast(f: Function, x: Value, source: DType, to: DType) -> Value:
    """The bits of a value of `source` taken as one of `to`, which has as many bits."""
    raw = convert.narrow(f, x, source)
    stored: Any = _like(convert.stored_type(to), x)
    if to.bits < 8:
        raw = f.b.and_(raw, constant(_like(I8, x), (1 << to.bits) - 1))
    return convert.widen(f, f.b.bitcast(raw, stored), to)
