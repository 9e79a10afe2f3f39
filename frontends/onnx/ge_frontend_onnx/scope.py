"""The names of a graph and what they stand for, seen from inside it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from ge_core.ir.graph import Value


class Mark(Enum):
    """What a name stands for that is no value."""

    UNAVAILABLE = "a result that could not be converted, so that the rest of the model can be looked at"
    ABSENT = "an optional input of a function that its caller leaves out"


Entry: TypeAlias = Value | Mark
Maker: TypeAlias = Callable[[], Value]


class Scope:
    """Names of one graph; those of the graphs around it are visible.

    Args:
        outer: the scope around; None for the model's graph and for the body of a function.
    """

    def __init__(self, outer: Scope | None = None) -> None:
        self._outer = outer
        self._entries: dict[str, Entry | Maker] = {}

    def define(self, name: str, value: Entry | Maker) -> None:
        """Let a name stand for a value, or for one that is made when it is first asked for."""
        self._entries[name] = value

    def find(self, name: str) -> Entry | None:
        """What a name stands for, None when nothing defines it."""
        scope: Scope | None = self
        while scope is not None:
            found = scope._entries.get(name)
            if found is not None:
                if not isinstance(found, (Value, Mark)):
                    found = scope._entries[name] = found()
                return found
            scope = scope._outer
        return None

    def names(self) -> list[str]:
        """All names that are visible, the nearest first."""
        found: dict[str, None] = {}
        scope: Scope | None = self
        while scope is not None:
            found.update(dict.fromkeys(scope._entries))
            scope = scope._outer
        return list(found)
