"""Whether all kernels of a model are likely in the cache: known before the passes say which kernels those are.

Compiling processes take a while to start. They start when a compilation begins, unless this user has compiled a
model of the same operators and shapes before with the same generators. A wrong guess costs time, nothing else.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from itertools import islice

from ge_backend_cpu.cache import Cache, generator_version
from ge_core.ir.graph import Graph
from ge_core.ir.traverse import walk

MOST_NODES = 2000
"""That a guess looks at."""


class Outlook:
    """Remembers in the cache what was compiled; the compilations of several threads are kept apart."""

    def __init__(self) -> None:
        self._begun = threading.local()

    def is_known(self, graphs: Sequence[Graph], cache: Cache | None) -> bool:
        """Whether models like these were compiled before; begins a compilation of this thread."""
        self._begun.key = None
        if cache is None:
            return False
        key = _key(graphs)
        known = cache.get(key) is not None
        if not known:
            self._begun.key = key
        return known

    def remember(self, cache: Cache | None) -> None:
        """The compilation that this thread began has its kernels in the cache."""
        key = getattr(self._begun, "key", None)
        if cache is not None and key is not None:
            cache.put(key, b"")


def _key(graphs: Sequence[Graph]) -> str:
    digest = hashlib.sha256(generator_version().encode())
    for graph in graphs:
        for node in islice(walk(graph), MOST_NODES):
            digest.update(f"{node.op}{[str(v.type) for v in node.outputs]}".encode())
    return f"{0:02}outlook-{digest.hexdigest()}"
