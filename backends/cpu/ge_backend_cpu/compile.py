"""Compiles the kernels of a model: each once, in worker processes, with the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from ge_backend_cpu import workers as processes
from ge_backend_cpu.cache import Cache, generator_version
from ge_backend_cpu.elf import Code
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel
from ge_backend_cpu.workers import close_workers
from ge_core.errors import BackendError

_LARGE = (
    "contract.winograd", "contract.winograd_late", "contract.attention", "contract.cells", "contract.product",
    "contract.depthwise",
)  # fmt: skip
"""Families whose kernels take longest, which are begun first: else one of them is left to one process at the end."""


def worker_count(option: object = None) -> int:
    """Processes to compile with: the option, else GE_CPU_WORKERS, else one per core.

    Raises:
        BackendError: it is no such number.
    """
    given = os.environ.get("GE_CPU_WORKERS") if option is None else option
    if given is None:
        return len(os.sched_getaffinity(0)) if sys.executable else 0
    try:
        count = int(str(given))
    except ValueError:
        count = -1
    if not 0 <= count <= 256:
        raise BackendError(f"{given!r} compiling processes", expected="0 (compile in this process) to 256")
    return count


def start_workers(count: int) -> None:
    """Have so many compiling processes at hand: starting one takes as long as the passes over a graph."""
    processes.workers.start(count)


class Coming:
    """Kernels that are being compiled for an instruction set, while their caller does something else.

    Args:
        workers: processes; 0 compiles in this one, when the codes are asked for.
        cache: None uses none.
    """

    def __init__(self, isa: Isa, workers: int, cache: Cache | None) -> None:
        self.isa, self.workers, self.cache = isa, workers, cache
        self._pool = ThreadPoolExecutor(max_workers=workers) if workers else None
        self._codes: dict[str, Code] = {}
        self._begun: dict[str, Future[Code]] = {}

    def add(self, kernels: Iterable[Kernel]) -> None:
        """Begin with those that are new."""
        wanted = {k.symbol: k for k in kernels if k.symbol not in self._codes and k.symbol not in self._begun}
        for kernel in sorted(wanted.values(), key=_rank):
            code = None if self.cache is None else _decoded(self.cache.get(_key(kernel, self.isa)))
            if code is not None and kernel.symbol in code.symbols:
                self._codes[kernel.symbol] = code
            elif self._pool is not None:
                self._begun[kernel.symbol] = self._pool.submit(self._made, kernel)

    def codes(self, kernels: Iterable[Kernel]) -> dict[str, Code]:
        """The code of each distinct kernel by its symbol; ends all that is left to do.

        Raises:
            BackendError: a generator failed; the error names its family.
        """
        wanted = {kernel.symbol: kernel for kernel in kernels}
        self.add(wanted.values())
        try:
            return {symbol: self._code(kernel) for symbol, kernel in wanted.items()}
        finally:
            self.close()

    def close(self) -> None:
        """Begin with no more."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _code(self, kernel: Kernel) -> Code:
        if kernel.symbol not in self._codes:
            begun = self._begun.get(kernel.symbol)
            self._codes[kernel.symbol] = self._made(kernel) if begun is None else begun.result()
        return self._codes[kernel.symbol]

    def _made(self, kernel: Kernel) -> Code:
        if self.workers:
            code = processes.workers.compile(kernel, self.isa)
        else:
            from ge_backend_cpu.generate import generate

            code = generate(kernel, self.isa)
        if self.cache is not None:
            self.cache.put(_key(kernel, self.isa), _encoded(code))
        return code


def _rank(kernel: Kernel) -> int:
    return _LARGE.index(kernel.family) if kernel.family in _LARGE else len(_LARGE)


def compiled(
    kernels: Iterable[Kernel], isa: Isa, *, workers: int | None = None, cache: Cache | None = None
) -> dict[str, Code]:
    """The code of each distinct kernel by its symbol.

    Args:
        workers: processes; 0 compiles in this one.
        cache: None uses none.

    Raises:
        BackendError: a generator failed; the error names its family.
    """
    return Coming(isa, worker_count(workers), cache).codes(kernels)


def _key(kernel: Kernel, isa: Isa) -> str:
    text = "\0".join((generator_version(), str(isa), kernel.family, kernel.text))
    return hashlib.sha256(text.encode()).hexdigest()


def _encoded(code: Code) -> bytes:
    head = json.dumps({"symbols": code.symbols, "alignment": code.alignment}).encode()
    return struct.pack("<I", len(head)) + head + code.data


def _decoded(data: bytes | None) -> Code | None:
    if data is None:
        return None
    (size,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + size])
    return Code(head["symbols"], data[4 + size :], head["alignment"])


__all__ = ["Coming", "close_workers", "compiled", "start_workers", "worker_count"]
