"""Which function translates which TFLite operator.

    @tflite("CONV_2D")
    def conv(c: Call) -> Ref: ...

A function returns what the operator's results are, one or a list. The files of `translate` are imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeVar

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


_OPERATORS: dict[str, Operator] = {}
_loaded = False


def tflite(*names: str, moves: bool = False, raw: bool = False) -> Callable[[F], F]:
    """Register a function for operators."""

    def register(function: F) -> F:
        for name in names:
            assert name not in _OPERATORS, name
            _OPERATORS[name] = Operator(function, moves, raw)
        return function

    return register


def operators() -> dict[str, Operator]:
    """All registered operators by name."""
    global _loaded
    if not _loaded:
        _loaded = True
        package = import_module(".translate", __package__)
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
    return _OPERATORS
