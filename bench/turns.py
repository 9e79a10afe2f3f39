"""Times functions beside each other: what slows the machine down slows all of them down."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def best(functions: Sequence[Callable[[], object]], seconds: float, clock: Callable[[], float]) -> list[float]:
    """The least time of each, called once before and then in turn, for so many seconds each."""
    found = [float("inf")] * len(functions)
    for function in functions:
        function()
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for k, function in enumerate(functions):
            start = clock()
            function()
            found[k] = min(found[k], clock() - start)
    return found
