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
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

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


_OPERATORS: dict[str, Operator] = {}
_REFUSED: dict[str, str] = {}
_loaded = False


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
            if name in _OPERATORS:
                other = _OPERATORS[name].function
                raise ValueError(
                    f"{name} is converted twice: by {other.__module__}.{other.__qualname__} and "
                    f"{function.__module__}.{function.__qualname__}"
                )
            _OPERATORS[name] = Operator(name, function, complex, raw)
        return function

    return register


def _load() -> None:
    global _loaded
    if not _loaded:
        _loaded = True
        package = import_module(".ops", __package__)
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")


def operators() -> dict[str, Operator]:
    """All registered operators by name."""
    _load()
    return dict(_OPERATORS)


def find(name: str) -> Operator | None:
    """The operator `name`."""
    _load()
    return _OPERATORS.get(name)
