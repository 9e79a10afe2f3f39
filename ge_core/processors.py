"""How many processors this process may use."""

from __future__ import annotations

import os


def processors() -> int:
    """At least 1; where the platform tells, those that the process is bound to."""
    bound = getattr(os, "sched_getaffinity", None)
    return len(bound(0)) if bound is not None else os.cpu_count() or 1
