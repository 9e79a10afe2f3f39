"""Pauses Python's cycle collector while graphs are built, opened and rewritten.

Every full collection walks all nodes and values of the graph, which lie in cycles and are alive anyway: with the
collector on, the time of a pass over twice the nodes is more than twice.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_resume = False


@contextmanager
def paused() -> Iterator[None]:
    """No automatic collection inside; may nest, and run in several threads."""
    global _pauses, _resume
    with _lock:
        if _pauses == 0:
            _resume = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0 and _resume:
                gc.enable()
