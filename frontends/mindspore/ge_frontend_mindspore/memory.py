"""What parameters and tensors that are written hold at a point of the model."""

from __future__ import annotations

from collections.abc import Callable

from ge_core.ir.graph import Value


class Ref:
    """A place in memory: a parameter, or a tensor that the model writes to.

    Args:
        name: what it is called in messages.
        first: what it holds when the model starts; None for a tensor that the model makes.
    """

    __slots__ = ("first", "name")

    def __init__(self, name: str, first: Callable[[], Value] | None = None) -> None:
        self.name, self.first = name, first

    def __repr__(self) -> str:
        return f"Ref({self.name})"


class Memory:
    """The contents of places; a copy goes its own way."""

    def __init__(self, held: dict[Ref, Value] | None = None) -> None:
        self._held = {} if held is None else held

    def read(self, ref: Ref) -> Value:
        """What a place holds."""
        found = self._held.get(ref)
        if found is None:
            assert ref.first is not None
            found = ref.first()
        return found

    def write(self, ref: Ref, value: Value) -> None:
        """Replace what a place holds."""
        self._held[ref] = value

    def copy(self) -> Memory:
        """The same contents, to be changed apart."""
        return Memory(dict(self._held))

    def knows(self, ref: Ref) -> bool:
        """Whether the place exists here; a tensor's place exists from the step that makes it."""
        return ref.first is not None or ref in self._held

    def written(self, before: Memory) -> list[Ref]:
        """The places that existed before and hold something else now."""
        return [r for r, v in self._held.items() if before.knows(r) and before._held.get(r) is not v]
