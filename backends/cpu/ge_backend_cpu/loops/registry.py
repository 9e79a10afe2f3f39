"""Which operators are loops: one rule each, from a node and its operands as tensors to its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeAlias

from ge_backend_cpu.loops.tensor import Tensor, Tracer
from ge_core.errors import BackendError
from ge_core.ir.graph import Node

Operands: TypeAlias = Sequence[Tensor | None]
Rule: TypeAlias = Callable[[Tracer, Node, Operands], Sequence[Tensor]]
"""`rule(tracer, node, operands)`: one tensor for each output of the node, of its dtype and shape.

Raises Unsupported where the operator is no loop nest for this node.
"""

_RULES: dict[str, Rule] = {}
_loaded = False


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Decorator: this function is the rule of some operators."""

    def register(function: Rule) -> Rule:
        for op in ops:
            owner = _RULES.setdefault(op, function)
            if (owner.__module__, owner.__qualname__) != (function.__module__, function.__qualname__):
                raise BackendError(f"the loop rule of {op} is given twice: {owner.__module__}, {function.__module__}")
        return function

    return register


def rules() -> dict[str, Rule]:
    """All rules by operator."""
    global _loaded
    if not _loaded:
        package = import_module("ge_backend_cpu.loops.rules")
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
        _loaded = True
    return _RULES
