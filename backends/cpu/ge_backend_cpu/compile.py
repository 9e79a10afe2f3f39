"""Compiles the kernels of a model: each once, in worker processes, with the user's cache.

llvmlite holds a lock while it compiles, so that threads gain nothing, and a crash inside LLVM must not take the
user's process with it.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from ge_backend_cpu.cache import Cache, generator_version
from ge_backend_cpu.elf import Code
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel
from ge_backend_cpu.worker import read_frame, write_frame
from ge_core.errors import BackendError

_PROGRAM = """
import gc, sys, types
gc.disable()
sys.path[:] = {path!r}
package = types.ModuleType("ge_backend_cpu")
package.__path__ = [{folder!r}]
sys.modules["ge_backend_cpu"] = package
from ge_backend_cpu.worker import main
main()
"""
"""A worker generates code and nothing else: the package's own module would bring the plugin host with it."""
_LARGE = ("contract.winograd", "contract.attention", "contract.cells", "contract.product", "contract.depthwise")
"""Families whose kernels take longest, which are begun first: else one of them is left to one process at the end."""


class WorkerDied(BackendError):
    """A worker process ended in the middle of a kernel."""


class Worker:
    """One compiling process."""

    def __init__(self) -> None:
        program = _PROGRAM.format(path=sys.path, folder=os.path.dirname(__file__))
        self._process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lock = threading.Lock()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def compile(self, kernel: Kernel, isa: Isa) -> Code:
        """The code of a kernel.

        Raises:
            BackendError: the generator refused or failed; WorkerDied: the process ended.
        """
        with self._lock:
            requests, answers = self._pipes()
            try:
                write_frame(
                    requests,  # type: ignore[arg-type]
                    {"family": kernel.family, "parameters": kernel.parameters, "isa": str(isa)},
                )
                frame = read_frame(answers)  # type: ignore[arg-type]
            except OSError as error:
                raise self._died(kernel) from error
        if frame is None:
            raise self._died(kernel)
        answer, data = frame
        if "error" in answer:
            raise BackendError(
                f"compiling a kernel of the family {kernel.family!r} failed: {answer['error']}",
                details=answer["details"],
            )
        return Code(answer["symbols"], data, answer["alignment"])

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _died(self, kernel: Kernel) -> WorkerDied:
        status = self._process.wait()
        return WorkerDied(
            f"LLVM ended (status {status}) while it compiled a kernel of the family {kernel.family!r}",
            details=[kernel.text[:300]],
            fix="this is a fault of ge or LLVM: please report it with the model",
        )

    def close(self) -> None:
        """Let the process end."""
        for pipe in self._pipes():
            try:
                pipe.close()
            except OSError:
                continue
        self._process.wait()


class Workers:
    """The compiling processes of this one; started when they are needed, kept for the next model."""

    def __init__(self) -> None:
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._owner = os.getpid()

    def compile(self, kernels: Sequence[Kernel], isa: Isa, count: int) -> list[Code]:
        """The codes of some kernels, by `count` processes."""
        order = sorted(range(len(kernels)), key=lambda i: _rank(kernels[i]))
        with ThreadPoolExecutor(max_workers=count) as pool:
            made = dict(zip(order, pool.map(lambda i: self._one(kernels[i], isa), order), strict=True))
        return [made[i] for i in range(len(kernels))]

    def start(self, count: int) -> None:
        """Have so many processes, which make themselves ready while this one does something else."""
        for _ in range(count - self._idle.qsize()):
            self._idle.put(Worker())

    def _one(self, kernel: Kernel, isa: Isa) -> Code:
        try:
            return self._ask(self._take(), kernel, isa)
        except WorkerDied:
            # it may have gone for lack of work, or been killed: only a kernel that ends two processes is to blame
            return self._ask(Worker(), kernel, isa)

    def _ask(self, worker: Worker, kernel: Kernel, isa: Isa) -> Code:
        try:
            return worker.compile(kernel, isa)
        finally:
            if worker.alive:
                self._idle.put(worker)

    def _take(self) -> Worker:
        while True:
            try:
                worker = self._idle.get_nowait()
            except queue.Empty:
                return Worker()
            if worker.alive:
                return worker
            worker.close()

    def close(self) -> None:
        """Let all idle processes end."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return


_workers = Workers()


def _rank(kernel: Kernel) -> int:
    return _LARGE.index(kernel.family) if kernel.family in _LARGE else len(_LARGE)


def close_workers() -> None:
    """Let the compiling processes that are idle end, and wait for it."""
    _workers.close()


def _forget() -> None:
    """A forked child must not talk to its parent's workers."""
    global _workers
    _workers = Workers()


atexit.register(close_workers)
os.register_at_fork(after_in_child=_forget)


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


def start_workers(workers: int) -> None:
    """Have so many compiling processes at hand: starting one takes as long as the passes over a graph."""
    _workers.start(workers)


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
    wanted = {kernel.symbol: kernel for kernel in kernels}
    found: dict[str, Code] = {}
    if cache is not None:
        for symbol, kernel in wanted.items():
            code = _decoded(cache.get(_key(kernel, isa)))
            if code is not None and symbol in code.symbols:
                found[symbol] = code
    missing = [kernel for symbol, kernel in wanted.items() if symbol not in found]
    for kernel, code in zip(missing, _compile(missing, isa, worker_count(workers)), strict=True):
        found[kernel.symbol] = code
        if cache is not None:
            cache.put(_key(kernel, isa), _encoded(code))
    return found


def _compile(kernels: Sequence[Kernel], isa: Isa, workers: int) -> list[Code]:
    if not kernels:
        return []
    if workers:
        return _workers.compile(kernels, isa, min(workers, len(kernels)))
    from ge_backend_cpu.generate import generate

    return [generate(kernel, isa) for kernel in kernels]


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
