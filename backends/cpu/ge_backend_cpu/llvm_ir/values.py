"""What instructions read: constants, results, functions, blocks; and modules, which hold functions."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ge_backend_cpu.llvm_ir.types import (
    ArrayType,
    DoubleType,
    FunctionType,
    HalfType,
    IntType,
    PointerType,
    Type,
    VectorType,
)

_POINTER = PointerType()


class Undefined:
    """In place of a constant's number: any value will do."""


class Value:
    """What an instruction can read.

    Attributes:
        ref: how instructions name it.
        uses: how many of them read it.
    """

    __slots__ = ("type", "ref", "uses")

    def __init__(self, type: Type, ref: str) -> None:
        self.type, self.ref, self.uses = type, ref, 0

    def __str__(self) -> str:
        return f"{self.type.text} {self.ref}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


class Result(Value):
    """What an instruction makes.

    Attributes:
        lines, place: where the instruction stands: the lines of its block, and its number in them.
    """

    __slots__ = ("lines", "place")

    def __init__(self, type: Type, ref: str, lines: list[Any]) -> None:
        self.type, self.ref, self.uses = type, ref, 0
        self.lines, self.place = lines, len(lines)


class Phi(Value):
    """A value that depends on where a block was entered from."""

    __slots__ = ("incoming",)

    def __init__(self, type: Type, ref: str) -> None:
        super().__init__(type, ref)
        self.incoming: list[str] = []

    def add_incoming(self, value: Value, block: Block) -> None:
        """The value where the block was entered from another one."""
        assert value.type is self.type, (value, self)
        value.uses += 1
        self.incoming.append(f"[{value.ref}, %{block.name}]")

    def __str__(self) -> str:
        return f"{self.ref} = phi {self.type.text} {', '.join(self.incoming)}"


class Constant(Value):
    """A number, or a sequence of numbers or constants for a vector or an array. Equal ones are the same object.

    Attributes:
        constant: what it was made from.
    """

    __slots__ = ("constant",)
    constant: Any
    _made: dict[tuple[Type, str], Constant] = {}

    def __new__(cls, type: Type, constant: Any) -> Constant:
        return cls.written(type, _text(type, constant), constant)

    def __init__(self, type: Type, constant: Any) -> None:
        """Everything is done already: this one may be known from before."""

    @classmethod
    def written(cls, type: Type, text: str, constant: Any) -> Constant:
        """A constant whose text is known."""
        found = cls._made.get((type, text))
        if found is None:
            made = super().__new__(cls)
            made.type, made.ref, made.uses, made.constant = type, text, 0, constant
            found = cls._made.setdefault((type, text), made)
        return found


def _text(type: Type, constant: Any) -> str:
    if constant is Undefined:
        return "undef"
    if isinstance(type, IntType):
        return str(int(constant))
    if isinstance(type, (VectorType, ArrayType)):
        assert len(constant) == type.count, (type, constant)
        opening, closing = "<>" if isinstance(type, VectorType) else "[]"
        lead = type.element.text
        parts = [c.ref if isinstance(c, Constant) else _text(type.element, c) for c in constant]
        return f"{opening}{', '.join([f'{lead} {part}' for part in parts])}{closing}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', _rounded(type, float(constant))))[0]:016x}"


def _rounded(type: Type, number: float) -> float:
    """A number that the type holds: LLVM reads no other."""
    if isinstance(type, DoubleType):
        return number
    code = "<e" if isinstance(type, HalfType) else "<f"
    rounded: float = struct.unpack(code, struct.pack(code, number))[0]
    return rounded


class Block:
    """Instructions that run one after another.

    Attributes:
        function: to which it belongs.
        lines: their texts; an empty one for an instruction that was taken out.
    """

    __slots__ = ("function", "name", "lines")

    def __init__(self, function: Function, name: str) -> None:
        self.function, self.name = function, name
        self.lines: list[Any] = []

    def __str__(self) -> str:
        return "\n  ".join([f"{self.name}:", *[str(line) for line in self.lines if line]])


class Argument(Value):
    """What a function is given."""

    __slots__ = ("attributes",)

    def __init__(self, type: Type, ref: str) -> None:
        super().__init__(type, ref)
        self.attributes: list[str] = []

    def add_attribute(self, name: str) -> None:
        self.attributes.append(name)

    def __str__(self) -> str:
        return " ".join([self.type.text, *self.attributes, self.ref])


class Global(Value):
    """A name of a module."""

    __slots__ = ("name", "linkage")

    def __init__(self, module: Module, name: str) -> None:
        super().__init__(_POINTER, f'@"{name}"')
        self.name, self.linkage = name, ""
        assert name not in module.globals, name
        module.globals[name] = self


class Function(Global):
    """A function: declared, or defined when it has blocks.

    Attributes:
        attributes: words of LLVM, or quoted strings.
        results: how many results its instructions have so far.
    """

    __slots__ = ("ftype", "args", "attributes", "blocks", "results", "_names")

    def __init__(self, module: Module, ftype: FunctionType, name: str) -> None:
        super().__init__(module, name)
        self.ftype = ftype
        self.args = tuple(Argument(t, f"%a{i}") for i, t in enumerate(ftype.args))
        self.attributes: set[str] = set()
        self.blocks: list[Block] = []
        self.results = 0
        self._names: dict[str, int] = {}

    def append_basic_block(self, name: str) -> Block:
        """A new block behind the others; its name gets a number when there is one of that name."""
        number = self._names.get(name, 0)
        self._names[name] = number + 1
        block = Block(self, f"{name}.{number}" if number else name)
        self.blocks.append(block)
        return block

    def __str__(self) -> str:
        if not self.blocks:
            return f"declare {self.ftype.return_type.text} {self.ref}({', '.join(t.text for t in self.ftype.args)})"
        head = " ".join(["define", *([self.linkage] if self.linkage else []), self.ftype.return_type.text])
        arguments = ", ".join(map(str, self.args))
        body = "\n".join(map(str, self.blocks))
        return f"{head} {self.ref}({arguments}) {' '.join(sorted(self.attributes))} {{\n{body}\n}}"


class GlobalVariable(Global):
    """Data of a module."""

    __slots__ = ("value_type", "global_constant", "initializer")

    def __init__(self, module: Module, type: Type, name: str) -> None:
        super().__init__(module, name)
        self.value_type, self.global_constant = type, False
        self.initializer: Constant | None = None

    def __str__(self) -> str:
        kind = "constant" if self.global_constant else "global"
        assert self.initializer is not None, self.name
        return " ".join([f"{self.ref} =", self.linkage, kind, self.value_type.text, self.initializer.ref])


class Module:
    """Functions and data.

    Attributes:
        triple: what it is for.
        globals: by name.
    """

    def __init__(self, name: str) -> None:
        self.name, self.triple = name, ""
        self.globals: dict[str, Any] = {}

    def declared(self, name: str, returns: Type, arguments: Sequence[Type]) -> Any:
        """The function of a name, declared if there is none yet."""
        return self.globals.get(name) or Function(self, FunctionType(returns, arguments), name)

    def __str__(self) -> str:
        return "\n".join([f'target triple = "{self.triple}"', *map(str, self.globals.values()), ""])
