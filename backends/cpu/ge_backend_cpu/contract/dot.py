"""Dot products of four bytes in every int32: of four uint8 and four int8, added to int32 sums that wrap.

No intermediate result is rounded or saturated: where an instruction set has no such instruction, bytes are widened
to int16 and multiplied in pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ge_backend_cpu.emit import Function
    from ge_backend_cpu.isa import Isa

FEATURES = ("avx512vnni", "avxvnni", "dotprod")
"""Features that bring the instruction."""


def has_dots(isa: Isa) -> bool:
    """Whether dot products of bytes are one instruction (or few)."""
    return any(map(isa.has, FEATURES))


def dot_quads(f: Function, a: Any, b: Any, total: Any) -> Any:
    """total + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3, for the uint8 of a and the int8 of b in every int32."""
    from ge_backend_cpu.emit import width_of

    if has_dots(f.isa) and width_of(total) >= 4:
        return _split(f, a, b, total)
    x, y = _halves(f, a, signed=False), _halves(f, b, signed=True)
    for i in (0, 1):
        total = f.b.add(total, dot_pairs(f, x[i], y[i]))
    return total


def _split(f: Function, a: Any, b: Any, total: Any) -> Any:
    """In vectors for which there is an instruction."""
    from ge_backend_cpu.emit import width_of

    width = width_of(total)
    widest = (16 if f.isa.level == "x86-64-v4" else 8) if f.isa.is_x86 else 4
    if width <= widest:
        return _vnni(f, a, b, total) if f.isa.is_x86 else _sdot(f, a, b, total)
    halves = []
    for start in (0, width // 2):
        picks = list(range(start, start + width // 2))
        halves.append(_split(f, *(f.shuffle(v, v, picks) for v in (a, b, total))))
    return f.shuffle(halves[0], halves[1], list(range(width)))


def _vnni(f: Function, a: Any, b: Any, total: Any) -> Any:
    from ge_backend_cpu.emit import width_of

    return _intrinsic(f, f"llvm.x86.avx512.vpdpbusd.{32 * width_of(total)}", total.type, total, a, b)


def _sdot(f: Function, a: Any, b: Any, total: Any) -> Any:
    """By products of int8: the upper bit of a, which counts 128, is 64 taken twice."""
    from ge_backend_cpu.emit import I8, constant, vector

    low = f.b.and_(a, constant(a.type, 0x7F7F7F7F))
    upper = f.b.lshr(f.b.and_(a, constant(a.type, -0x7F7F7F80)), constant(a.type, 1))
    bytes_ = vector(I8, 16)
    for part in (low, upper, upper):
        operands = (f.b.bitcast(v, bytes_) for v in (part, b))
        total = _intrinsic(f, "llvm.aarch64.neon.sdot.v4i32.v16i8", total.type, total, *operands)
    return total


def _halves(f: Function, x: Any, signed: bool) -> list[Any]:
    """Bytes 0 and 2, and bytes 1 and 3, as pairs of int16."""
    from ge_backend_cpu.emit import I16, constant, vector, width_of

    words = vector(I16, 2 * width_of(x))
    y = f.b.bitcast(x, words)
    eight = constant(words, 8)
    if signed:
        found = f.b.ashr(f.b.shl(y, eight), eight), f.b.ashr(y, eight)
    else:
        found = f.b.and_(y, constant(words, 255)), f.b.lshr(y, eight)
    return [f.b.bitcast(v, x.type) for v in found]


def dot_pairs(f: Function, a: Any, b: Any) -> Any:
    """a0 * b0 + a1 * b1 of two int16 in every int32."""
    from ge_backend_cpu.emit import I16, I32, vector, width_of

    width = width_of(a)
    x, y = (f.b.bitcast(v, vector(I16, 2 * width)) for v in (a, b))
    if f.isa.is_x86 and width >= 4:
        return _madd(f, x, y, width)
    parts = []
    for first in (0, 1):
        picks = list(range(first, 2 * width, 2))
        low, high = (f.b.sext(f.shuffle(v, v, picks), vector(I32, width)) for v in (x, y))
        parts.append(f.b.mul(low, high))
    return f.b.add(*parts)


def _madd(f: Function, x: Any, y: Any, width: int) -> Any:
    from ge_backend_cpu.emit import I32, vector

    widest = 16 if f.isa.level == "x86-64-v4" else 8
    if width <= widest:
        name = {4: "x86.sse2.pmadd.wd", 8: "x86.avx2.pmadd.wd", 16: "x86.avx512.pmaddw.d.512"}[width]
        return _intrinsic(f, f"llvm.{name}", vector(I32, width), x, y)
    halves = []
    for start in (0, width):
        picks = list(range(start, start + width))
        halves.append(_madd(f, f.shuffle(x, x, picks), f.shuffle(y, y, picks), width // 2))
    return f.shuffle(halves[0], halves[1], list(range(width)))


def _intrinsic(f: Function, name: str, returns: Any, *arguments: Any) -> Any:
    """Call an intrinsic of one instruction set, whose name has no types."""
    return f.b.call(f.module.declared(name, returns, [a.type for a in arguments]), arguments)
