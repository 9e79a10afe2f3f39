"""LLVM's types. Equal ones are the same object, so that comparing them costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class Type:
    """A type.

    Attributes:
        text: as LLVM writes it.
    """

    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"


class _Single(Type):
    """A type of which there is one."""

    __slots__ = ()
    _text: ClassVar[str]
    _made: ClassVar[dict[type, Type]] = {}

    def __new__(cls) -> _Single:
        found = cls._made.get(cls)
        if found is None:
            made = super().__new__(cls)
            made.text = cls._text
            found = cls._made.setdefault(cls, made)
        assert isinstance(found, _Single)
        return found


class VoidType(_Single):
    """No value."""

    __slots__ = ()
    _text = "void"


class HalfType(_Single):
    """float16."""

    __slots__ = ()
    _text = "half"


class FloatType(_Single):
    """float32."""

    __slots__ = ()
    _text = "float"


class DoubleType(_Single):
    """float64."""

    __slots__ = ()
    _text = "double"


class PointerType(_Single):
    """An address."""

    __slots__ = ()
    _text = "ptr"


class IntType(Type):
    """An integer of `width` bits."""

    __slots__ = ("width",)
    width: int
    _made: ClassVar[dict[int, IntType]] = {}

    def __new__(cls, width: int) -> IntType:
        found = cls._made.get(width)
        if found is None:
            made = super().__new__(cls)
            made.width, made.text = width, f"i{width}"
            found = cls._made.setdefault(width, made)
        return found


class VectorType(Type):
    """`count` elements of a type in one register."""

    __slots__ = ("element", "count")
    element: Type
    count: int
    _made: ClassVar[dict[tuple[Type, int], VectorType]] = {}

    def __new__(cls, element: Type, count: int) -> VectorType:
        found = cls._made.get((element, count))
        if found is None:
            made = super().__new__(cls)
            made.element, made.count, made.text = element, count, f"<{count} x {element.text}>"
            found = cls._made.setdefault((element, count), made)
        return found


class ArrayType(Type):
    """`count` elements of a type in memory."""

    __slots__ = ("element", "count")

    def __init__(self, element: Type, count: int) -> None:
        self.element, self.count, self.text = element, count, f"[{count} x {element.text}]"


class LiteralStructType(Type):
    """Several values as one."""

    __slots__ = ("elements",)

    def __init__(self, elements: Sequence[Type]) -> None:
        self.elements, self.text = tuple(elements), f"{{{', '.join(e.text for e in elements)}}}"


class FunctionType(Type):
    """What a function takes and returns."""

    __slots__ = ("return_type", "args")

    def __init__(self, return_type: Type, args: Sequence[Type]) -> None:
        self.return_type, self.args = return_type, tuple(args)
        self.text = f"{return_type.text} ({', '.join(a.text for a in args)})"
