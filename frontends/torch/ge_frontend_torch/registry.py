"""Which function converts which torch operator.

    @aten("add.Tensor", "add.Scalar")
    def add(c: Call, x: Value, other: Operand, alpha: Number = 1) -> Value:
        '''add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
        add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor'''

A function is called with the operator's arguments by their names in torch's schema (`self` is `x`), defaults
filled in. It takes all of them but those that `IGNORED` or its own `ignores` names; its docstring is torch's
schema, one line for each overload. The files of `ops` are imported on first use of the table.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ge_core.plugins.operator_table import OperatorTable

Handler = Callable[..., Any]
F = TypeVar("F", bound=Handler)

# Where a tensor lives and how its memory is ordered changes no value.
IGNORED = frozenset({"device", "layout", "memory_format", "pin_memory", "non_blocking", "copy", "implicit"})

_NAME = re.compile(r"(?:[a-z_]\w*::)?[A-Za-z_]\w*\.[A-Za-z_]\w*")


@dataclass(frozen=True)
class Operator:
    """A registered operator.

    Attributes:
        name: `conv2d.default`, or `namespace::name.overload` outside of aten.
        function: converts it.
        parameters: the names of the schema's arguments that the function takes, in its order.
        ignores: arguments that change no value, besides `IGNORED`.
        complex: whether the function takes or gives complex numbers, see `complex_pair`.
    """

    name: str
    function: Handler
    parameters: tuple[str, ...]
    ignores: frozenset[str]
    complex: bool


@dataclass(frozen=True)
class HigherOrder:
    """A registered higher-order operator: the function that converts it."""

    function: Handler


_OPERATORS: OperatorTable[Operator] = OperatorTable(f"{__package__}.ops")
_HIGHER_ORDER: OperatorTable[HigherOrder] = OperatorTable(f"{__package__}.ops")


def aten(*names: str, ignores: tuple[str, ...] = (), complex: bool = False) -> Callable[[F], F]:
    """Register a function for operators of aten (`name.overload`) or of another namespace (`ns::name.overload`).

    Raises:
        ValueError: a name is malformed, or taken.
    """

    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no operator name: expected name.overload")

    def register(function: F) -> F:
        for name in names:
            parameters = tuple(inspect.signature(function).parameters)[1:]
            _OPERATORS.add(name, Operator(name, function, parameters, frozenset(ignores), complex))
        return function

    return register


def higher_order(name: str) -> Callable[[F], F]:
    """Register a function for a higher-order operator; it is called with the node's arguments as they stand."""

    def register(function: F) -> F:
        _HIGHER_ORDER.add(name, HigherOrder(function))
        return function

    return register


def operators() -> dict[str, Operator]:
    """All registered operators by name."""
    return _OPERATORS.entries()


def find(name: str) -> Operator | None:
    """The operator `name`; an in-place form (`relu_.default`) is found as its functional form."""
    found = _OPERATORS.find(name)
    if found is None:
        base, _, overload = name.rpartition(".")
        if base.endswith("_") and not base.endswith("__"):
            found = _OPERATORS.find(f"{base[:-1]}.{overload}")
    return found


def argument_names(schema: Any, known: Operator) -> dict[str, str | None]:
    """The function's parameter for each argument of a schema, None for one that changes no value.

    The written argument of an in-place form has a name of its own: it is the functional form's first.

    Raises:
        ValueError: the function does not take an argument.
    """
    names: dict[str, str | None] = {}
    for argument in schema.arguments:
        name = "x" if argument.name == "self" else argument.name
        written = argument.alias_info is not None and argument.alias_info.is_write
        if written and name not in known.parameters:
            name = known.parameters[0]
        if name in known.parameters:
            names[argument.name] = name
        elif name in IGNORED or name in known.ignores:
            names[argument.name] = None
        else:
            raise ValueError(f"the conversion of {known.name} does not take the argument {name}")
    return names


def find_higher_order(name: str) -> Handler | None:
    """The function for a higher-order operator."""
    found = _HIGHER_ORDER.find(name)
    return found.function if found else None


def operator_name(op: Any) -> str:
    """The name of a torch OpOverload in this table; namespace aten is left out."""
    namespace, _, base = op._schema.name.partition("::")
    name = f"{base}.{op._schema.overload_name or 'default'}"
    return name if namespace == "aten" else f"{namespace}::{name}"
