"""What a long compilation is doing: phases that listeners are told of, and whose seconds the report keeps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Phase:
    """One change: a phase begins, or ends after `seconds`."""

    name: str
    state: Literal["begin", "end"]
    seconds: float = 0.0


Listener = Callable[[Phase], None]
_listeners = threading.local()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell `listener` of all phases that this thread goes through inside."""
    active: list[Listener] = _listeners.__dict__.setdefault("active", [])
    active.append(listener)
    try:
        yield
    finally:
        active.remove(listener)


@dataclass
class Stopwatch:
    """Seconds by phase, in the order in which they were first entered."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is inside and tell the listeners and the plugins."""
        _tell(Phase(name, "begin"))
        started = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - started
            self.seconds[name] = self.seconds.get(name, 0.0) + took
            _tell(Phase(name, "end", took))


def _tell(phase: Phase) -> None:
    from ge_core.plugins import Event, host

    for listener in list(_listeners.__dict__.get("active", ())):
        listener(phase)
    host().observe(Event(f"phase.{phase.state}", {"phase": phase.name, "seconds": phase.seconds}))
