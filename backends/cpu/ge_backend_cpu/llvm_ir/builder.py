"""Writes instructions, each as its line of text, at the end of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ge_backend_cpu.llvm_ir.types import IntType, PointerType, Type, VectorType, VoidType
from ge_backend_cpu.llvm_ir.values import Block, Constant, Function, Phi, Result, Value

_I1, _POINTER, _VOID = IntType(1), PointerType(), VoidType()
_SIGNS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def _binary(name: str) -> Callable[..., Any]:
    def emit(self: Builder, x: Any, y: Any, flags: Sequence[str] = ()) -> Any:
        x.uses += 1
        y.uses += 1
        found = self._result(x.type)
        words = f"{name} {' '.join(flags)}" if flags else name
        self._lines.append(f"{found.ref} = {words} {x.type.text} {x.ref}, {y.ref}")
        return found

    return emit


def _cast(name: str) -> Callable[..., Any]:
    def emit(self: Builder, x: Any, type: Type) -> Any:
        if x.type is type:
            return x
        x.uses += 1
        found = self._result(type)
        self._lines.append(f"{found.ref} = {name} {x.type.text} {x.ref} to {type.text}")
        return found

    return emit


class Builder:
    """Instructions at the end of a block, at first of the one given; others are of the same function.

    Types must fit: LLVM refuses the text when they do not.
    """

    def __init__(self, block: Block) -> None:
        self.function = block.function
        self.position_at_end(block)

    def _result(self, type: Type) -> Result:
        self.function.results = number = self.function.results + 1
        return Result(type, f"%v{number}", self._lines)

    # Blocks

    def position_at_end(self, block: Block) -> None:
        self.block, self._lines = block, block.lines

    @contextmanager
    def goto_block(self, block: Block) -> Iterator[None]:
        """Write at the end of another block for a while."""
        before = self.block
        self.position_at_end(block)
        yield
        self.position_at_end(before)

    def branch(self, target: Block) -> None:
        self._lines.append(f"br label %{target.name}")

    def cbranch(self, condition: Any, yes: Block, no: Block) -> None:
        condition.uses += 1
        self._lines.append(f"br i1 {condition.ref}, label %{yes.name}, label %{no.name}")

    def ret(self, value: Any) -> None:
        value.uses += 1
        self._lines.append(f"ret {value.type.text} {value.ref}")

    def phi(self, type: Type) -> Phi:
        self.function.results = number = self.function.results + 1
        found = Phi(type, f"%v{number}")
        self._lines.append(found)
        return found

    # Arithmetic

    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    udiv, sdiv, urem, srem = _binary("udiv"), _binary("sdiv"), _binary("urem"), _binary("srem")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    fadd, fsub, fmul, fdiv = _binary("fadd"), _binary("fsub"), _binary("fmul"), _binary("fdiv")

    def neg(self, x: Any) -> Any:
        return self.sub(_like(x, 0), x)

    def not_(self, x: Any) -> Any:
        return self.xor(x, _like(x, -1))

    def fneg(self, x: Any) -> Any:
        x.uses += 1
        found = self._result(x.type)
        self._lines.append(f"{found.ref} = fneg {x.type.text} {x.ref}")
        return found

    # Conversions

    trunc, zext, sext = _cast("trunc"), _cast("zext"), _cast("sext")
    fptrunc, fpext, bitcast = _cast("fptrunc"), _cast("fpext"), _cast("bitcast")
    fptosi, fptoui, sitofp, uitofp = _cast("fptosi"), _cast("fptoui"), _cast("sitofp"), _cast("uitofp")

    # Comparisons

    def _compare(self, words: str, x: Any, y: Any) -> Any:
        x.uses += 1
        y.uses += 1
        type = x.type
        found = self._result(VectorType(_I1, type.count) if isinstance(type, VectorType) else _I1)
        self._lines.append(f"{found.ref} = {words} {type.text} {x.ref}, {y.ref}")
        return found

    def icmp_signed(self, sign: str, x: Any, y: Any) -> Any:
        word = _SIGNS[sign]
        return self._compare(f"icmp {word}" if word in ("eq", "ne") else f"icmp s{word}", x, y)

    def icmp_unsigned(self, sign: str, x: Any, y: Any) -> Any:
        word = _SIGNS[sign]
        return self._compare(f"icmp {word}" if word in ("eq", "ne") else f"icmp u{word}", x, y)

    def fcmp_ordered(self, sign: str, x: Any, y: Any) -> Any:
        """False where one is NaN; the sign "ord" is true where none is."""
        return self._compare(f"fcmp {sign if sign == 'ord' else f'o{_SIGNS[sign]}'}", x, y)

    def fcmp_unordered(self, sign: str, x: Any, y: Any) -> Any:
        """True where one is NaN; the sign "uno" is true nowhere else."""
        return self._compare(f"fcmp {sign if sign == 'uno' else f'u{_SIGNS[sign]}'}", x, y)

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        condition.uses += 1
        x.uses += 1
        y.uses += 1
        type = x.type
        found = self._result(type)
        self._lines.append(
            f"{found.ref} = select {condition.type.text} {condition.ref}, {type.text} {x.ref}, {type.text} {y.ref}"
        )
        return found

    # Memory

    def alloca(self, type: Type, align: int = 0) -> Any:
        """Room on the stack of the function; its address."""
        found = self._result(_POINTER)
        self._lines.append(f"{found.ref} = alloca {type.text}{_aligned(align)}")
        return found

    def load(self, pointer: Any, typ: Type, align: int = 0) -> Any:
        pointer.uses += 1
        found = self._result(typ)
        self._lines.append(f"{found.ref} = load {typ.text}, ptr {pointer.ref}{_aligned(align)}")
        return found

    def store(self, value: Any, pointer: Any, align: int = 0) -> None:
        value.uses += 1
        pointer.uses += 1
        self._lines.append(f"store {value.type.text} {value.ref}, ptr {pointer.ref}{_aligned(align)}")

    def gep(self, pointer: Any, indices: Sequence[Any], source_etype: Type) -> Any:
        """The address of an element; addresses where the index is a vector."""
        (index,) = indices
        pointer.uses += 1
        index.uses += 1
        kind = index.type
        found = self._result(VectorType(_POINTER, kind.count) if isinstance(kind, VectorType) else _POINTER)
        self._lines.append(
            f"{found.ref} = getelementptr {source_etype.text}, ptr {pointer.ref}, {kind.text} {index.ref}"
        )
        return found

    # Vectors and structures

    def extract_element(self, vector: Any, place: Any) -> Any:
        vector.uses += 1
        found = self._result(vector.type.element)
        self._lines.append(
            f"{found.ref} = extractelement {vector.type.text} {vector.ref}, {place.type.text} {place.ref}"
        )
        return found

    def insert_element(self, vector: Any, value: Any, place: Any) -> Any:
        vector.uses += 1
        value.uses += 1
        found = self._result(vector.type)
        self._lines.append(
            f"{found.ref} = insertelement {vector.type.text} {vector.ref}, {value.type.text} {value.ref}, "
            f"{place.type.text} {place.ref}"
        )
        return found

    def shuffle_vector(self, x: Any, y: Any, mask: Any) -> Any:
        x.uses += 1
        y.uses += 1
        type = x.type
        found = self._result(VectorType(type.element, mask.type.count))
        self._lines.append(
            f"{found.ref} = shufflevector {type.text} {x.ref}, {type.text} {y.ref}, {mask.type.text} {mask.ref}"
        )
        return found

    def extract_value(self, structure: Any, place: int) -> Any:
        structure.uses += 1
        found = self._result(structure.type.elements[place])
        self._lines.append(f"{found.ref} = extractvalue {structure.type.text} {structure.ref}, {place}")
        return found

    def insert_value(self, structure: Any, value: Any, place: int) -> Any:
        structure.uses += 1
        value.uses += 1
        found = self._result(structure.type)
        self._lines.append(
            f"{found.ref} = insertvalue {structure.type.text} {structure.ref}, {value.type.text} {value.ref}, {place}"
        )
        return found

    def call(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function of the module returns; None for one that returns nothing."""
        for argument in arguments:
            argument.uses += 1
        returns = function.ftype.return_type
        written = ", ".join([f"{a.type.text} {a.ref}" for a in arguments])
        if returns is _VOID:
            self._lines.append(f"call void {function.ref}({written})")
            return None
        found = self._result(returns)
        self._lines.append(f"{found.ref} = call {returns.text} {function.ref}({written})")
        return found


def _aligned(align: int) -> str:
    return f", align {align}" if align else ""


def _like(x: Any, number: int) -> Value:
    """A number in every lane of an integer value."""
    return Constant(x.type, [number] * x.type.count if isinstance(x.type, VectorType) else number)
