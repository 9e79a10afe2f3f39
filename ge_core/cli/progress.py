"""Tells a person what is going on when something takes more than two seconds."""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

QUIET_SECONDS = 2.0


@contextmanager
def progress(title: str) -> Iterator[None]:
    """Run a step; once it takes over two seconds, say so on stderr, and at its end its time and peak memory."""
    started = time.perf_counter()
    timer = threading.Timer(QUIET_SECONDS, lambda: print(f"{title} ...", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        took = time.perf_counter() - started
        if took >= QUIET_SECONDS:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux
            print(f"{title}: {took:.1f} s, peak memory {peak:.1f} GiB", file=sys.stderr, flush=True)
