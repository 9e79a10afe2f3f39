"""Threads that walk tables together: Python daemon threads that stay in native code, without the interpreter's lock.

A caller takes the team by one exchange; one that finds it taken (another thread's call, or a nested one) walks alone
and waits for nobody.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from functools import lru_cache
from typing import Any

import numpy as np

from ge_backend_cpu import walker
from ge_backend_cpu.cache import Cache, generator_version
from ge_backend_cpu.elf import Code
from ge_backend_cpu.image import Mapped, pack_image, read_image
from ge_backend_cpu.isa import host
from ge_core.errors import BackendError
from ge_core.plan.aligned import aligned_bytes

_WORKER = np.dtype([("team", "u8"), ("number", "i4"), ("epoch", "i4")])


class Runtime:
    """The walker's entry points in this process."""

    def __init__(self, code: Code) -> None:
        self._mapped = Mapped(code)
        pointer, word = ctypes.c_void_p, ctypes.c_int32
        self.run = ctypes.CFUNCTYPE(ctypes.c_int64, pointer, pointer, word)(self._mapped.address(walker.RUN))
        self.stop = ctypes.CFUNCTYPE(None, pointer)(self._mapped.address(walker.STOP))
        self.work = ctypes.CFUNCTYPE(None, pointer)(self._mapped.address(walker.WORK))


@lru_cache(maxsize=1)
def runtime() -> Runtime:
    """The runtime, from the user's cache or compiled."""
    return Runtime(runtime_code())


def runtime_code() -> Code:
    """The walker's code for this machine."""
    isa, cache = walker.base_isa(host()), Cache()
    key = f"{walker.VERSION:02}runtime-{isa}-{generator_version()}"
    stored = cache.get(key)
    if stored is not None:
        return read_image(stored).code
    from ge_backend_cpu.generate import compile_text

    code = compile_text(walker.source(isa), isa)
    cache.put(key, pack_image(str(isa), code))
    return code


class Team:
    """Threads for calls; the caller is one of them, the others start at the first call that wants them.

    Args:
        threads: with the caller.
    """

    def __init__(self, threads: int) -> None:
        if threads < 1:
            raise BackendError(f"a team of {threads} threads", expected="at least one")
        self.threads = threads
        self.runtime = runtime()
        self._forget()
        _teams.add(self)

    def _forget(self) -> None:
        """Fresh memory: in a forked child the old one describes threads that do not exist there."""
        self._lock = threading.Lock()
        self.memory = aligned_bytes(walker.TEAM_BYTES)
        self.memory.fill(0)
        config = self.memory[walker.CONFIG_AT : walker.CONFIG_AT + 16].view(np.int32)
        config[:] = (self.threads, walker.SPINS, walker.IDLE_SPINS, 0)
        self.address = self.memory.ctypes.data
        self._workers: list[threading.Thread] = []
        self._arguments: list[np.ndarray] = []
        self.started = self.threads == 1

    def start(self) -> None:
        """Create the workers if there are none."""
        with self._lock:
            if self.started:
                return
            for number in range(1, self.threads):
                epoch = int(self.memory[walker.EPOCH_AT : walker.EPOCH_AT + 4].view(np.int32)[0])
                argument = np.array([(self.address, number, epoch)], _WORKER)
                self._arguments.append(argument)
                thread = threading.Thread(
                    target=self.runtime.work, args=(argument.ctypes.data,), name=f"ge-cpu-{number}", daemon=True
                )
                thread.start()
                self._workers.append(thread)
            self.started = True

    def close(self) -> None:
        """End the workers; a running call finishes first, later calls run in their caller alone."""
        with self._lock:
            if self._workers:
                self.runtime.stop(self.address)
                for thread in self._workers:
                    thread.join()
            self._workers, self.started = [], True


_teams: weakref.WeakSet[Team] = weakref.WeakSet()
_shared: dict[int, Team] = {}
_sharing = threading.Lock()


def team_of(threads: int) -> Team:
    """The process's team of so many threads."""
    with _sharing:
        if threads not in _shared:
            _shared[threads] = Team(threads)
        return _shared[threads]


def thread_count(option: Any = None) -> int:
    """Threads of one call: the option, else GE_NUM_THREADS, else the cores that this process may use.

    Raises:
        BackendError: it is no such number.
    """
    given = os.environ.get("GE_NUM_THREADS") if option is None else option
    if given is None:
        return len(os.sched_getaffinity(0))
    try:
        count = int(str(given))
    except ValueError:
        count = 0
    if not 1 <= count <= 1024:
        raise BackendError(f"the option num_threads is {given!r}", expected="a number from 1 to 1024")
    return count


def _after_fork() -> None:
    global _sharing
    _sharing = threading.Lock()
    for team in list(_teams):
        team._forget()


def _close_all() -> None:
    for team in list(_teams):
        team.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_close_all)
