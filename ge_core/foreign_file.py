"""Offline models that a device's own compiler wrote: the backend that can run them opens them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ge_core.plugins import host

if TYPE_CHECKING:
    from ge_core.model import CompiledModel


@runtime_checkable
class OpensFiles(Protocol):
    """A backend that opens files of its device's compiler."""

    def open_file(self, path: str, target: str | None) -> CompiledModel | None:
        """The file as a compiled model; None when it is for none of the backend's targets.

        Args:
            target: what the user names; None leaves it to the file.

        Raises:
            OfflineModelError: the file is damaged, or is for another target than the user names.
        """
        ...


def open_elsewhere(path: str, target: str | None) -> CompiledModel | None:
    """What an installed backend makes of a file that holds no graph of ge; None when none knows it."""
    for status in host().statuses("backend"):
        backend: object = host().backend(status.name).backend() if status.state == "loaded" else None
        if isinstance(backend, OpensFiles):
            found = backend.open_file(path, target)
            if found is not None:
                return found
    return None


__all__ = ["OpensFiles", "open_elsewhere"]
