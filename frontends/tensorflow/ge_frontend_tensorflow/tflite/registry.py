"""Which function translates which TFLite operator.

    @tflite("CONV_2D")
    def conv(c: Call) -> Ref: ...

A function returns what the operator's results are, one or a list. The files of `translate` are imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ge_core.plugins.operator_table import OperatorTable

from ..program import Ref

if TYPE_CHECKING:
    from .call import Call

Translator = Callable[["Call"], "Ref | Sequence[Ref]"]
F = TypeVar("F", bound=Translator)


@dataclass(frozen=True)
class Operator:
    """A registered operator.

    Attributes:
        moves: it only moves elements: what is quantised stays as it is stored, where all of it is quantised alike.
        raw: it takes and gives tensors as they are stored.
    """

    function: Translator
    moves: bool
    raw: bool


_OPERATORS: OperatorTable[Operator] = OperatorTable(f"{__package__}.translate")


def tflite(*names: str, moves: bool = False, raw: bool = False) -> Callable[[F], F]:
    """Register a function for operators.

    Raises:
        ValueError: a name is taken.
    """

    def register(function: F) -> F:
        for name in names:
            _OPERATORS.add(name, Operator(function, moves, raw))
        return function

    return register


def find(name: str) -> Operator | None:
    """The operator `name`."""
    return _OPERATORS.find(name)
