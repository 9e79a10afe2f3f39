"""Element types in memory and in registers.

Floats of 16 bits and less are computed in float32, types smaller than a byte in i8, booleans in i1, all others in
themselves. Conversions are exact one way and round to nearest even the other way, NaN stays NaN; those that an
instruction set lacks are integer operations, so that no kernel calls a run-time library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.splat import constant
from ge_core.errors import BackendError
from ge_core.ir.dtype import DType

if TYPE_CHECKING:
    from ge_backend_cpu.emit import Function

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
HALF, FLOAT, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()

_SMALL: dict[str, tuple[int, int]] = {
    "float8e4m3fn": (3, 7),
    "float8e4m3fnuz": (3, 8),
    "float8e5m2": (2, 15),
    "float8e5m2fnuz": (2, 16),
    "float4e2m1": (1, 1),
}
"""Mantissa bits and exponent bias of floats below 16 bits."""


def stored_type(dtype: DType) -> Any:
    """The LLVM type of one element in memory; i8 for types smaller than a byte.

    Raises:
        BackendError: kernels do not know the type.
    """
    if dtype.kind in ("complex", "string"):
        raise BackendError(f"native kernels do not compute with {dtype}")
    if dtype.name == "float32":
        return FLOAT
    if dtype.name == "float64":
        return DOUBLE
    return ir.IntType(max(dtype.bits, 8))


def compute_type(dtype: DType) -> Any:
    """The LLVM type in which one element is computed with."""
    if dtype.kind == "bool":
        return I1
    if dtype.is_float and dtype.bits < 32:
        return FLOAT
    return stored_type(dtype)


def _like(element: ir.Type, value: Any) -> ir.Type:
    return ir.VectorType(element, value.type.count) if isinstance(value.type, ir.VectorType) else element


def _c(element: ir.Type, number: float, value: Any) -> Any:
    """A constant as wide as a value."""
    return constant(_like(element, value), number)


def widen(f: Function, raw: Any, dtype: DType) -> Any:
    """Stored elements as they are computed with."""
    b = f.b
    if dtype.kind == "bool":
        return b.icmp_unsigned("!=", raw, _c(I8, 0, raw))
    if dtype.is_integer:
        if dtype.bits < 8 and dtype.kind == "int":
            up = _c(I8, 8 - dtype.bits, raw)
            return b.ashr(b.shl(raw, up), up)
        return raw
    if dtype.bits >= 32:
        return raw
    if dtype.name == "float16":
        return b.fpext(b.bitcast(raw, _like(HALF, raw)), _like(FLOAT, raw))
    if dtype.name == "bfloat16":
        bits = b.shl(b.zext(raw, _like(I32, raw)), _c(I32, 16, raw))
        return b.bitcast(bits, _like(FLOAT, raw))
    if dtype.name == "float8e8m0":
        return widen_scale(f, raw)
    return _widen_small(f, raw, dtype)


def _widen_small(f: Function, raw: Any, dtype: DType) -> Any:
    """Exponent and mantissa into float32's places, then a power of two puts the bias right (denormals too)."""
    b = f.b
    mantissa, bias = _SMALL[dtype.name]
    word = b.zext(raw, _like(I32, raw))
    magnitude = b.and_(word, _c(I32, (1 << (dtype.bits - 1)) - 1, raw))
    placed = b.bitcast(b.shl(magnitude, _c(I32, 23 - mantissa, raw)), _like(FLOAT, raw))
    value = b.fmul(placed, _c(FLOAT, 2.0 ** (127 - bias), raw))
    sign = b.shl(b.lshr(word, _c(I32, dtype.bits - 1, raw)), _c(I32, 31, raw))
    bits = b.or_(b.bitcast(value, _like(I32, raw)), sign)
    nan, infinity = _specials(dtype)
    quiet = _c(I32, 0x7FC00000, raw)
    if infinity is not None:
        is_infinite = b.icmp_unsigned("==", magnitude, _c(I32, infinity, raw))
        bits = b.select(is_infinite, b.or_(sign, _c(I32, 0x7F800000, raw)), bits)
        bits = b.select(b.icmp_unsigned(">", magnitude, _c(I32, infinity, raw)), quiet, bits)
    elif nan is not None:
        # in the unsigned-zero formats NaN has the code of minus zero
        code = word if dtype.name.endswith("fnuz") else magnitude
        bits = b.select(b.icmp_unsigned("==", code, _c(I32, nan, raw)), quiet, bits)
    return b.bitcast(bits, _like(FLOAT, raw))


def _specials(dtype: DType) -> tuple[int | None, int | None]:
    """Codes of NaN and of infinity (magnitudes; for fnuz the whole byte)."""
    if dtype.name == "float8e4m3fn":
        return 0x7F, None
    if dtype.name.endswith("fnuz"):
        return 0x80, None
    if dtype.name == "float8e5m2":
        return 0x7E, 0x7C
    return None, None


def widen_scale(f: Function, raw: Any) -> Any:
    """float8e8m0: a power of two, 255 is NaN, 0 is 2**-127."""
    b = f.b
    word = b.zext(raw, _like(I32, raw))
    bits = b.shl(word, _c(I32, 23, raw))
    bits = b.select(b.icmp_unsigned("==", word, _c(I32, 0, raw)), _c(I32, 0x00400000, raw), bits)
    bits = b.select(b.icmp_unsigned("==", word, _c(I32, 255, raw)), _c(I32, 0x7FC00000, raw), bits)
    return b.bitcast(bits, _like(FLOAT, raw))


def narrow(f: Function, value: Any, dtype: DType) -> Any:
    """Computed elements as they are stored; `value` has the element's compute type."""
    b = f.b
    if dtype.kind == "bool":
        return b.zext(value, _like(I8, value))
    if dtype.is_integer or dtype.bits >= 32:
        return value
    if dtype.name == "float16":
        return b.bitcast(b.fptrunc(value, _like(HALF, value)), _like(I16, value))
    if dtype.name == "bfloat16":
        return _narrow_bfloat(f, value)
    if dtype.name == "float8e8m0":
        # the value is a power of two, or NaN: its exponent's field is the code
        word = b.bitcast(value, _like(I32, value))
        return b.trunc(b.lshr(b.and_(word, _c(I32, 0x7F800000, value)), _c(I32, 23, value)), _like(I8, value))
    return _narrow_small(f, value, dtype)


def _narrow_bfloat(f: Function, value: Any) -> Any:
    b = f.b
    bits = b.bitcast(value, _like(I32, value))
    odd = b.and_(b.lshr(bits, _c(I32, 16, value)), _c(I32, 1, value))
    rounded = b.add(bits, b.add(odd, _c(I32, 0x7FFF, value)))
    quiet = b.or_(bits, _c(I32, 0x00400000, value))
    kept = b.select(b.fcmp_unordered("uno", value, value), quiet, rounded)
    return b.trunc(b.lshr(kept, _c(I32, 16, value)), _like(I16, value))


def _narrow_small(f: Function, value: Any, dtype: DType) -> Any:
    """Round to nearest even; what is too large becomes infinity or NaN (float4: the largest value)."""
    b = f.b
    mantissa, bias = _SMALL[dtype.name]
    word = b.bitcast(value, _like(I32, value))
    sign = b.lshr(b.and_(word, _c(I32, 0x80000000, value)), _c(I32, 32 - dtype.bits, value))
    magnitude = b.and_(word, _c(I32, 0x7FFFFFFF, value))
    # denormals: adding a number whose last place is the format's leaves the rounded mantissa in the low bits
    magic = 2.0 ** (23 + 1 - bias - mantissa)
    shifted = b.fadd(b.bitcast(magnitude, value.type), _c(FLOAT, magic, value))
    least = b.sub(b.bitcast(shifted, _like(I32, value)), b.bitcast(_c(FLOAT, magic, value), _like(I32, value)))
    odd = b.and_(b.lshr(magnitude, _c(I32, 23 - mantissa, value)), _c(I32, 1, value))
    moved = ((bias - 127) << 23) + (1 << (22 - mantissa)) - 1
    normal = b.lshr(b.add(b.add(magnitude, odd), _c(I32, moved & 0xFFFFFFFF, value)), _c(I32, 23 - mantissa, value))
    small = b.icmp_unsigned("<", magnitude, _c(I32, (128 - bias) << 23, value))
    code = b.select(small, least, normal)
    largest = _largest(dtype)
    nan, infinity = _specials(dtype)
    beyond = infinity if infinity is not None else (nan if nan is not None else largest)
    finite_end = b.icmp_unsigned(">", code, _c(I32, largest, value))
    huge = b.icmp_unsigned(">=", magnitude, _c(I32, 0x7F000000, value))
    too_large = b.or_(finite_end, huge)
    is_nan = b.icmp_unsigned(">", magnitude, _c(I32, 0x7F800000, value))
    if dtype.name.endswith("fnuz"):
        code = b.select(b.icmp_unsigned("==", code, _c(I32, 0, value)), code, b.or_(code, sign))
        code = b.select(too_large, _c(I32, beyond, value), code)
    else:
        code = b.or_(b.select(too_large, _c(I32, beyond, value), code), sign)
    if nan is not None:
        quiet = _c(I32, nan, value) if dtype.name.endswith("fnuz") else b.or_(_c(I32, nan, value), sign)
        code = b.select(is_nan, quiet, code)
    return b.trunc(code, _like(I8, value))


def _largest(dtype: DType) -> int:
    """The code of the largest finite value."""
    return {
        "float8e4m3fn": 0x7E,
        "float8e4m3fnuz": 0x7F,
        "float8e5m2": 0x7B,
        "float8e5m2fnuz": 0x7F,
        "float4e2m1": 0x7,
    }[dtype.name]
