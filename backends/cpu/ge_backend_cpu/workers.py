"""The compiling processes of this one, as it sees them: started together, asked one kernel at a time, replaced.

llvmlite holds a lock while it compiles, so that threads gain nothing, and a crash inside LLVM must not take the
user's process with it.
"""

from __future__ import annotations

import atexit
import os
import queue
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

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
main({sockets!r})
"""
"""A worker generates code and nothing else: the package's own module would bring the plugin host with it."""


class WorkerDied(BackendError):
    """A worker process ended in the middle of a kernel."""


class Origin:
    """The process that several workers began as; the first of them still is that process."""

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        numbers = [s.fileno() for s in sockets]
        program = _PROGRAM.format(path=sys.path, folder=os.path.dirname(__file__), sockets=numbers)
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=numbers
        )
        self._open = len(numbers)
        self._lock = threading.Lock()

    def closed(self) -> None:
        """One of its workers has ended; with the last one so does the process."""
        with self._lock:
            self._open -= 1
            last = self._open == 0
        if last:
            self.process.wait()


class Worker:
    """One compiling process.

    Args:
        connection: our end of its socket.
    """

    def __init__(self, connection: socket.socket, origin: Origin) -> None:
        self._connection, self.origin = connection, origin
        self._stream = connection.makefile("rwb")
        self._lock = threading.Lock()
        self._is_open = True

    @property
    def alive(self) -> bool:
        """Whether it can be asked; what was not asked says nothing before it ends."""
        return self._is_open and not select.select([self._connection], [], [], 0)[0]

    def compile(self, kernel: Kernel, isa: Isa) -> Code:
        """The code of a kernel.

        Raises:
            BackendError: the generator refused or failed; WorkerDied: the process ended.
        """
        with self._lock:
            try:
                write_frame(self._stream, {"family": kernel.family, "parameters": kernel.parameters, "isa": str(isa)})
                frame = read_frame(self._stream)
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

    def _died(self, kernel: Kernel) -> WorkerDied:
        self.close()
        status = self.origin.process.poll()
        how = "" if status is None else f" (status {status})"
        return WorkerDied(
            f"LLVM ended{how} while it compiled a kernel of the family {kernel.family!r}",
            details=[kernel.text[:300]],
            fix="this is a fault of ge or LLVM: please report it with the model",
        )

    def close(self) -> None:
        """Let the process end, and wait for it."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._connection.shutdown(socket.SHUT_WR)
            while self._connection.recv(1 << 16):
                continue
        except OSError:
            pass  # it has ended
        self._stream.close()
        self._connection.close()
        self.origin.closed()


def started(count: int) -> list[Worker]:
    """So many new workers."""
    pairs = [socket.socketpair() for _ in range(count)]
    origin = Origin([theirs for _, theirs in pairs])
    for _, theirs in pairs:
        theirs.close()
    return [Worker(ours, origin) for ours, _ in pairs]


class Workers:
    """The compiling processes; started when they are needed, kept for the next model."""

    def __init__(self) -> None:
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    def start(self, count: int) -> None:
        """Have so many processes, which make themselves ready while this one does something else."""
        missing = count - self._idle.qsize()
        if missing > 0:
            for worker in started(missing):
                self._idle.put(worker)

    def compile(self, kernel: Kernel, isa: Isa) -> Code:
        """The code of a kernel, by an idle process, else by a new one.

        Raises:
            BackendError: the generator refused or failed, or two processes ended over it.
        """
        try:
            return self._ask(self._take(), kernel, isa)
        except WorkerDied:
            # it may have gone for lack of work, or been killed: only a kernel that ends two processes is to blame
            return self._ask(started(1)[0], kernel, isa)

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
                return started(1)[0]
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


workers = Workers()


def close_workers() -> None:
    """Let the compiling processes that are idle end, and wait for it."""
    workers.close()


def _forget() -> None:
    """A forked child must not talk to its parent's workers."""
    global workers
    workers = Workers()


atexit.register(close_workers)
os.register_at_fork(after_in_child=_forget)
