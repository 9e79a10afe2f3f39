"""Results of functions as the plain tensors that go through a region's border, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ge_core.ir.graph import Value

from .complex_pair import ComplexPair
from .tensor_list import TensorList
from .variables import Variable

if TYPE_CHECKING:
    from .call import Call


class Packing:
    """What a function gave.

    Args:
        given: tensors, complex ones, lists, variables (which stay outside).
    """

    def __init__(self, given: Sequence[Any]) -> None:
        self.given = list(given)

    def values(self, c: Call) -> list[Value]:
        """The plain tensors in order."""
        found = []
        for result in self.given:
            if isinstance(result, Value):
                found.append(result)
            elif isinstance(result, ComplexPair):
                found.append(result.parts)
            elif isinstance(result, TensorList) and (result.items is not None or result.element_shape() is not None):
                found.append(result.dense(c))
            elif not isinstance(result, (Variable, TensorList)):
                raise c.unsupported(f"a function that gives {type(result).__name__}")
        return found

    def results(self, values: Sequence[Value]) -> list[Any]:
        """The results again, of the tensors that came out of the region."""
        left = list(values)
        found: list[Any] = []
        for result in self.given:
            if isinstance(result, Value):
                found.append(left.pop(0))
            elif isinstance(result, ComplexPair):
                found.append(ComplexPair(left.pop(0)))
            elif isinstance(result, TensorList) and (result.items is not None or result.element_shape() is not None):
                items = left.pop(0)
                found.append(replace(result, items=items, length=items.shape[0]))
            else:
                found.append(result)
        return found

    def check_same(self, c: Call, other: Packing) -> None:
        """Refuse two functions that give different kinds of results."""
        mine, theirs = ([self._kind(r) for r in p.given] for p in (self, other))
        if mine != theirs:
            raise c.unsupported("branches that give different kinds of results")

    @staticmethod
    def _kind(result: Any) -> Any:
        if isinstance(result, Variable):
            return result
        if isinstance(result, TensorList):
            return TensorList, result.items is not None or result.element_shape() is not None
        return type(result)
