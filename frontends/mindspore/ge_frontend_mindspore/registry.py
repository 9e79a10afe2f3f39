"""Which function converts which MindSpore primitive.

    @primitive("Softmax")
    def softmax(c: Call, input: Value, axis: Axes) -> Value:
        '''Softmax(input, axis=-1)'''

A function is called with the operands in MindSpore's order; what is left of its parameters is taken from the
primitive's attributes by name, then from its defaults. Parameters bear MindSpore's names; its docstring is
MindSpore's definition, one line for each primitive. The files of `ops` are imported on first use of the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ge_core.plugins.operator_table import OperatorTable

Handler = Callable[..., Any]
F = TypeVar("F", bound=Handler)


@dataclass(frozen=True)
class Operator:
    """A registered primitive.

    Attributes:
        name: `Conv2D`.
        function: converts it.
        parameters: the names that the function takes, in its order.
        required: those of them without a default.
        variadic: it takes any number of operands.
        ignores: attributes that change no value.
        writes: its result is written over its first operand.
        view: MindSpore lets its result share memory with its first operand.
    """

    name: str
    function: Handler
    parameters: tuple[str, ...]
    required: frozenset[str]
    variadic: bool
    ignores: frozenset[str]
    writes: bool
    view: bool


_OPERATORS: OperatorTable[Operator] = OperatorTable(f"{__package__}.ops")


def primitive(*names: str, ignores: tuple[str, ...] = (), writes: bool = False, view: bool = False) -> Callable[[F], F]:
    """Register a function for primitives.

    Raises:
        ValueError: a name is taken.
    """

    def register(function: F) -> F:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        named = [p for p in parameters if p.kind is not p.VAR_POSITIONAL]
        for name in names:
            entry = Operator(
                name,
                function,
                tuple(p.name for p in named),
                frozenset(p.name for p in named if p.default is p.empty),
                variadic,
                frozenset(ignores),
                writes,
                view or name.endswith("View"),
            )
            _OPERATORS.add(name, entry)
        return function

    return register


def operators() -> dict[str, Operator]:
    """All registered primitives by name."""
    return _OPERATORS.entries()


def find(name: str) -> Operator | None:
    """The primitive `name`."""
    return _OPERATORS.find(name)
