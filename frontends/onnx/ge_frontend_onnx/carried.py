"""The types of the values that a loop carries from one run to the next: wide enough for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type

if TYPE_CHECKING:
    from .call import Call


class Carried:
    """What is known of one loop's carried values.

    Attributes:
        types: a type for each of them; a size that a run may change is a symbol of the loop's own.
    """

    def __init__(self) -> None:
        self.types: list[Type] = []
        self._own: set[Size] = set()

    def widen(self, c: Call, types: Sequence[Type]) -> bool:
        """Make room for values of these types too; whether that changed anything.

        Raises:
            ModelImportError: a value changes its element type or kind.
        """
        before = self.types
        if before:
            self.types = [self._wider(c, k, a, b) for k, (a, b) in enumerate(zip(before, types, strict=True))]
        else:
            self.types = list(types)
        return self.types != before

    def _wider(self, c: Call, index: int, a: Type, b: Type) -> Type:
        if isinstance(b, OptionalType) and not isinstance(a, OptionalType):
            a = OptionalType(a)
        if isinstance(a, OptionalType):
            wider = self._wider(c, index, a.element, b.element if isinstance(b, OptionalType) else b)
            assert not isinstance(wider, OptionalType)
            return OptionalType(wider)
        if isinstance(a, SequenceType) and isinstance(b, SequenceType):
            element = self._wider(c, index, a.element, b.element)
            assert not isinstance(element, SequenceType)
            if element != a.element and isinstance(element, TensorType):
                # a symbol would say that all elements have one size
                element = TensorType(element.dtype, None)
            return SequenceType(element)
        if not isinstance(a, TensorType) or not isinstance(b, TensorType) or a.dtype != b.dtype:
            raise c.error(f"carried value {index} is {a} before a run and {b} after it")
        if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
            return TensorType(a.dtype, None)
        return TensorType(a.dtype, tuple(self._wider_size(c, x, y) for x, y in zip(a.shape, b.shape, strict=True)))

    def _wider_size(self, c: Call, a: Size, b: Size) -> Size:
        if a in self._own or dims.equal(a, b):
            return a
        size = c.converter.symbols.fresh("carried")
        self._own.add(size)
        return size
