"""How the products of a contraction are summed: the element type of the sums, its vectors, multiply and add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ge_backend_cpu.isa import Isa
from ge_core.ir.dtype import DType

if TYPE_CHECKING:
    from ge_backend_cpu.emit import Function

PAIRS = "pairs"
"""Two int16 products at a time, summed in int32; operands are pairs of int16, taken as one int32."""


@dataclass(frozen=True)
class Arithmetic:
    """The sums of one contraction.

    Attributes:
        name: "float32", "float64", "int32", "int64" or "pairs".
    """

    name: str

    @property
    def element(self) -> DType:
        """What the sums are held in."""
        return DType.of("int32" if self.name == PAIRS else self.name)

    def width(self, isa: Isa) -> int:
        """Elements of one vector."""
        return isa.lanes * 32 // self.element.bits

    def zero(self, width: int) -> Any:
        from ge_backend_cpu.convert import compute_type
        from ge_backend_cpu.emit import constant, vector

        return constant(vector(compute_type(self.element), width), 0)

    def load(self, f: Function, pointer: Any, index: Any, stored: DType, width: int = 1) -> Any:
        """Elements of an operand as they are multiplied."""
        return self.widened(f, f.load(pointer, index, stored, width), stored)

    def widened(self, f: Function, value: Any, stored: DType) -> Any:
        """Loaded elements of a type that `arithmetic_of` gives this arithmetic, or of bytes, in the element type."""
        from ge_backend_cpu.convert import compute_type
        from ge_backend_cpu.emit import I32, vector, width_of

        if stored.is_float or stored.bits == self.element.bits:
            return value
        wide = vector(compute_type(self.element), width_of(value))
        if self.element.is_float:
            near = f.b.sext(value, vector(I32, width_of(value)))
            return f.b.sitofp(near, wide)
        return f.b.zext(value, wide) if stored.kind == "uint" else f.b.sext(value, wide)

    def multiply_add(self, f: Function, a: Any, b: Any, total: Any) -> Any:
        """total + a * b."""
        if self.element.is_float:
            return f.fma(a, b, total)
        if self.name == PAIRS:
            return f.b.add(total, _dot_pairs(f, a, b))
        return f.b.add(total, f.b.mul(a, b))


def arithmetic_of(dtype: DType) -> Arithmetic | None:
    """How operands of an element type are multiplied: small floats in float32, small integers in int32 (which wraps
    to the same low bits); None for types that have no product."""
    if not dtype.is_numeric or dtype.bits < 8:
        return None
    if dtype.is_float:
        return Arithmetic("float64" if dtype.bits == 64 else "float32")
    return Arithmetic("int64" if dtype.bits == 64 else "int32")


def _dot_pairs(f: Function, a: Any, b: Any) -> Any:
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
