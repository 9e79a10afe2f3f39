"""This machine's figures as they are kept in the user's cache: read without what measures them (`probe`)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from ge_backend_cpu.cache import Cache
from ge_backend_cpu.isa import host, processor

_FORM = 2
"""Number of the way in which figures are measured and kept."""


@dataclass(frozen=True)
class Machine:
    """One core's best.

    Attributes:
        flops: float32 operations per second (a multiply-add is two).
        near, far: bytes per second read from the second-level cache and from memory.
    """

    flops: float
    near: float
    far: float


def figures_key() -> str:
    """The cache's name of this machine's figures."""
    return f"{0:02}machine-{_FORM}-{host()}-{hashlib.sha256(processor().encode()).hexdigest()[:16]}"


def read_figures(data: bytes | None) -> tuple[Machine | None, int, float]:
    """The figures in the cache, how often they were looked at, and when last."""
    if data is None:
        return None, 0, 0.0
    kept = json.loads(data)
    return Machine(kept["flops"], kept["near"], kept["far"]), int(kept["looks"]), float(kept["last"])


_used: list[Machine] = []


def use_figures(machine: Machine) -> None:
    """These are what this process calculates with from now on."""
    _used[:] = [machine]


def figures_stamp(cache: Cache) -> str:
    """The figures that a compilation calculates with, measured now where they are not known."""
    found = _used[0] if _used else read_figures(cache.get(figures_key()))[0]
    if found is None:
        from ge_backend_cpu.probe import machine  # which brings the generators

        found = machine()
    return json.dumps(asdict(found))
