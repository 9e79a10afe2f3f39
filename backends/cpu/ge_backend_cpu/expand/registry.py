"""The expansions of this target by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeAlias

from ge_core.backend import operands
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import TensorType

Expand: TypeAlias = Callable[[Builder, Node], Sequence[Value]]
Applies: TypeAlias = Callable[[Node], bool]

_RULES: dict[str, tuple[Expand, Applies]] = {}
_loaded = False


def expansion(*ops: str, when: Applies = lambda node: True) -> Callable[[Expand], Expand]:
    """Decorator: this function writes nodes of some operators as others.

    Args:
        when: whether it can, asked for nodes whose operands and results are numbers of known rank.
    """

    def register(function: Expand) -> Expand:
        for op in ops:
            _RULES[op] = function, when
        return function

    return register


def _rules() -> dict[str, tuple[Expand, Applies]]:
    global _loaded
    if not _loaded:
        package = import_module("ge_backend_cpu.expand")
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
        _loaded = True
    return _RULES


def rule(op: str) -> Expand | None:
    """The expansion of an operator."""
    found = _rules().get(op)
    return None if found is None else found[0]


def applies(node: Node) -> bool:
    """Whether a node is one that its expansion can write."""
    found = _rules().get(node.op)
    return found is not None and all(map(_is_plain, (*operands(node), *node.outputs))) and found[1](node)


def _is_plain(value: Value | None) -> bool:
    if value is None:
        return True
    known = isinstance(value.type, TensorType) and value.type.shape is not None
    return known and value.dtype.kind not in ("complex", "string")
