"""How the products of a contraction are summed: the element type of the sums, its vectors, multiply and add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ge_backend_cpu.contract.dot import dot_pairs, dot_quads
from ge_backend_cpu.isa import Isa
from ge_core.ir.dtype import DType

if TYPE_CHECKING:
    from ge_backend_cpu.emit import Function

PAIRS = "pairs"
"""Two int16 products at a time, summed in int32; operands are pairs of int16, taken as one int32."""
QUADS = "quads"
"""Four products of uint8 and int8 at a time, summed in int32; operands are four bytes, taken as one int32."""


@dataclass(frozen=True)
class Arithmetic:
    """The sums of one contraction.

    Attributes:
        name: "float32", "float64", "int32", "int64", "pairs" or "quads".
    """

    name: str

    @property
    def element(self) -> DType:
        """What the sums are held in."""
        return DType.of("int32" if self.name in (PAIRS, QUADS) else self.name)

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
            near = vector(I32, width_of(value))
            whole = f.b.zext(value, near) if stored.kind == "uint" else f.b.sext(value, near)
            return f.b.sitofp(whole, wide)
        return f.b.zext(value, wide) if stored.kind == "uint" else f.b.sext(value, wide)

    def multiply_add(self, f: Function, a: Any, b: Any, total: Any) -> Any:
        """total + a * b."""
        if self.element.is_float:
            return f.fma(a, b, total)
        if self.name == PAIRS:
            return f.b.add(total, dot_pairs(f, a, b))
        if self.name == QUADS:
            return dot_quads(f, a, b, total)
        return f.b.add(total, f.b.mul(a, b))


def arithmetic_of(dtype: DType) -> Arithmetic | None:
    """How operands of an element type are multiplied: small floats in float32, small integers in int32 (which wraps
    to the same low bits); None for types that have no product."""
    if not dtype.is_numeric or dtype.bits < 8:
        return None
    if dtype.is_float:
        return Arithmetic("float64" if dtype.bits == 64 else "float32")
    return Arithmetic("int64" if dtype.bits == 64 else "int32")
