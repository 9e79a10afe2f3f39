"""A frontend's table of functions that convert operators, filled by decorators in the modules of one package."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, Protocol, TypeVar


class Registered(Protocol):
    """What a table holds for an operator: the function that converts it, and what the frontend knows besides."""

    @property
    def function(self) -> Callable[..., Any]: ...


Entry = TypeVar("Entry", bound=Registered)


class OperatorTable(Generic[Entry]):
    """Entries by operator name; the modules of the package are imported when the table is first read.

    Args:
        package: the full name of the package whose modules add entries.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._entries: dict[str, Entry] = {}
        self._loaded = False

    def add(self, name: str, entry: Entry) -> None:
        """Enter an operator.

        Raises:
            ValueError: the name is taken.
        """
        other = self._entries.setdefault(name, entry)
        if other is not entry:
            raise ValueError(f"{name} is converted twice: by {_owner(other)} and {_owner(entry)}")

    def find(self, name: str) -> Entry | None:
        """The entry of an operator."""
        self._load()
        return self._entries.get(name)

    def entries(self) -> dict[str, Entry]:
        """All entries by name."""
        self._load()
        return dict(self._entries)

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            package = import_module(self._package)
            for module in iter_modules(package.__path__):
                import_module(f"{self._package}.{module.name}")


def _owner(entry: Registered) -> str:
    return f"{entry.function.__module__}.{entry.function.__qualname__}"
