"""Which function converts which TensorFlow operator.

    @tf_op("AddV2", "Add")
    def add(c: Call, x: Value, y: Value) -> Value:
        '''AddV2(x, y) -> z; T
        Add(x, y) -> z; T'''

A function is called with the operator's tensors in TensorFlow's order, an argument of several tensors as a list; it
reads attributes from the call. Its docstring is TensorFlow's signature, one line for each operator. The files of
`ops` are imported on first use of the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ge_core.plugins.operator_table import OperatorTable

Handler = Callable[..., Any]
F = TypeVar("F", bound=Handler)

_NAME = re.compile(r"_?[A-Z]\w*")


@dataclass(frozen=True)
class Operator:
    """A registered operator.

    Attributes:
        function: converts it.
        complex: whether the function takes or gives complex numbers, see `complex_pair`.
        raw: whether the function takes resources, lists of tensors and the like as they are.
    """

    name: str
    function: Handler
    complex: bool
    raw: bool


_OPERATORS: OperatorTable[Operator] = OperatorTable(f"{__package__}.ops")


def tf_op(*names: str, complex: bool = False, raw: bool = False) -> Callable[[F], F]:
    """Register a function for operators.

    Raises:
        ValueError: a name is malformed, or taken.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no operator name")

    def register(function: F) -> F:
        for name in names:
            _OPERATORS.add(name, Operator(name, function, complex, raw))
        return function

    return register


def operators() -> dict[str, Operator]:
    """All registered operators by name."""
    return _OPERATORS.entries()


def find(name: str) -> Operator | None:
    """The operator `name`."""
    return _OPERATORS.find(name)
