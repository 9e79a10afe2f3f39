"""Kernels that are begun as soon as they are known, while the rest of a compilation goes on in its thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ge_backend_cpu.cache import Cache
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel

if TYPE_CHECKING:
    from ge_backend_cpu.compile import Coming


class Early:
    """What the compilation of each thread has begun with; the compilations of several threads are kept apart."""

    def __init__(self) -> None:
        self._begun = threading.local()

    def begin(self, kernels: Iterable[Kernel], levels: Sequence[Isa], workers: int, cache: Cache | None) -> None:
        """Compile kernels for some instruction sets, without waiting for them."""
        coming = self.take(levels, workers, cache)
        self._begun.coming = coming
        found = list(kernels)
        for one in coming:
            one.add(found)

    def take(self, levels: Sequence[Isa], workers: int, cache: Cache | None) -> list[Coming]:
        """What was begun in this way, by instruction set; the caller ends it."""
        from ge_backend_cpu.compile import Coming

        begun: list[Coming] = getattr(self._begun, "coming", [])
        folder = None if cache is None else cache.folder
        wanted = [(isa, workers, folder) for isa in levels]
        if [(c.isa, c.workers, None if c.cache is None else c.cache.folder) for c in begun] != wanted:
            self.forget()
            begun = [Coming(isa, workers, cache) for isa in levels]
        self._begun.coming = []
        return begun

    def forget(self) -> None:
        """A compilation of this thread begins: what another one left is not needed."""
        for one in getattr(self._begun, "coming", []):
            one.close()
        self._begun.coming = []
