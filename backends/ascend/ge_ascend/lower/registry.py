"""Which function lowers which operator of the IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeAlias

from ge_core.errors import BackendError

if TYPE_CHECKING:
    from ge_ascend.lower.call import LowerCall
    from ge_ascend.net import Out

Lower: TypeAlias = "Callable[[LowerCall], Out | Sequence[Out | None]]"

LOWERINGS: dict[str, Lower] = {}
_loaded = False


def lowering(*ops: str) -> Callable[[Lower], Lower]:
    """Decorator: the function lowers these operators of the IR.

    Raises:
        BackendError: an operator is lowered twice.
    """

    def register(function: Lower) -> Lower:
        for name in ops:
            if name in LOWERINGS:
                raise BackendError(f"{name} is lowered twice")
            LOWERINGS[name] = function
        return function

    return register


def lowering_of(op: str) -> Lower | None:
    """The function that lowers an operator of the IR."""
    global _loaded
    if not _loaded:
        package = import_module("ge_ascend.lower")
        for module in iter_modules(package.__path__):
            import_module(f"ge_ascend.lower.{module.name}")
        _loaded = True
    return LOWERINGS.get(op)
