"""What an operator means: its type rule, its effect, its reference kernel and its decomposition.

Rules and kernels live in files by family (`ge_core/ops/<family>.py`, `ge_core/reference/<family>.py`) and are
registered by the decorators here; a name given twice is an error that names both owners. Families are imported
on first use of one of their operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from ge_core.errors import GraphError

if TYPE_CHECKING:
    from ge_core.ir.builder import Builder
    from ge_core.ir.graph import Node, Value
    from ge_core.ir.types import Type
    from ge_core.ops.infer import Infer

    TypeRule = Callable[[Infer], Type | Sequence[Type]]
    Decomposition = Callable[[Builder, Node], Sequence[Value]]

Kernel = Callable[..., Any]
Effect = Literal["pure", "random", "state", "check"]
F = TypeVar("F", bound=Callable[..., Any])


def _owner(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


class Registry(Generic[F]):
    """Callables by operator name, filled by importing the modules of a package on the first look-up."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind, self.package = kind, package
        self._entries: dict[str, F] = {}
        self._loaded = False

    def add(self, *names: str) -> Callable[[F], F]:
        """Decorator that registers a function for operators."""

        def register(function: F) -> F:
            for name in names:
                other = self._entries.get(name, function)
                # a module whose import failed is imported again and gives the same names
                if _owner(other) != _owner(function):
                    raise GraphError(f"{self.kind} of {name} given twice: {_owner(other)} and {_owner(function)}")
                self._entries[name] = function
            return function

        return register

    def _load(self) -> None:
        if not self._loaded:
            for module in iter_modules(import_module(self.package).__path__):
                import_module(f"{self.package}.{module.name}")
            self._loaded = True

    def get(self, name: str) -> F | None:
        self._load()
        return self._entries.get(name)

    def names(self) -> tuple[str, ...]:
        self._load()
        return tuple(sorted(self._entries))


TYPE_RULES: Registry[TypeRule] = Registry("type rule", "ge_core.ops")
KERNELS: Registry[Kernel] = Registry("reference kernel", "ge_core.reference")
DECOMPOSITIONS: Registry[Decomposition] = Registry("decomposition", "ge_core.ops.decompositions")

type_rule = TYPE_RULES.add
kernel = KERNELS.add
decomposition = DECOMPOSITIONS.add

_EFFECTS: dict[str, Effect] = {
    "Bernoulli": "random",
    "Multinomial": "random",
    "RandomNormal": "random",
    "RandomNormalLike": "random",
    "RandomUniform": "random",
    "RandomUniformLike": "random",
    "ge.Check": "check",
    "ge.BindDim": "check",
}


def effect(op: str) -> Effect:
    """The effect of an operator; only pure nodes are folded, merged or moved.

    Nodes with regions have the strongest effect of what is inside: see `ge_core.ir.traverse.effect_of`.
    """
    return _EFFECTS.get(op, "pure")


Array = np.ndarray
