"""Things that plugins add by name: passes and operators. A name belongs to one owner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ge_core.errors import PluginError


@dataclass(frozen=True)
class Registered:
    """A registered thing: its owner, and the callable that makes it when it is first used."""

    name: str
    owner: str
    make: Callable[[], object]


class Registry(Mapping[str, Registered]):
    """Named factories with owners."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._entries: dict[str, Registered] = {}

    def add(self, name: str, make: Callable[[], object], owner: str) -> None:
        """Register `make` under `name`.

        Raises:
            PluginError: the name is taken; the error names both owners.
        """
        taken = self._entries.get(name)
        if taken is not None:
            raise PluginError(
                f"two plugins register the {self.what} {name!r}: {taken.owner} and {owner}",
                fix=f"disable one of them with GE_DISABLE_PLUGINS={owner}",
            )
        self._entries[name] = Registered(name, owner, make)

    def discard_owner(self, owner: str) -> None:
        """Forget all that `owner` registered."""
        self._entries = {name: entry for name, entry in self._entries.items() if entry.owner != owner}

    def __getitem__(self, name: str) -> Registered:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True)
class Registrar:
    """The side of a registry that a plugin sees: its additions are signed with its name."""

    registry: Registry
    owner: str

    def add(self, name: str, make: Callable[[], object]) -> None:
        """Register a factory; it is called when the thing is first used, so it may import late."""
        self.registry.add(name, make, self.owner)
