"""A process that compiles kernels: requests and answers on a socket.

Frames are a 4-byte length and JSON. An answer is followed by the code. The process ends when its socket ends, when
its parent is gone, or when nothing was asked of it for a while. Several workers begin as one process, which imports
LLVM and the generators once and then forks.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import BufferedRWPair
from typing import Any

IDLE_SECONDS = 120.0
"""How long a worker waits for more."""
PAUSE_SECONDS = 0.2
"""After so long without a request a worker clears away what it has left."""
MOST_KERNELS = 64
"""That a worker makes before it clears away in any case."""


def write_frame(stream: BufferedRWPair, message: dict[str, Any], data: bytes = b"") -> None:
    """Send a message and bytes that belong to it."""
    raw = json.dumps({**message, "bytes": len(data)}).encode()
    stream.write(struct.pack("<I", len(raw)) + raw + data)
    stream.flush()


def read_frame(stream: BufferedRWPair) -> tuple[dict[str, Any], bytes] | None:
    """The next message; None at the end of the stream."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    raw = stream.read(struct.unpack("<I", head)[0])
    if not raw:
        return None
    message = json.loads(raw)
    data = stream.read(message["bytes"])
    return (message, data) if len(data) == message["bytes"] else None


def set_up_llvm() -> None:
    """Settings of a whole process, so for those that belong to us: the caller's other libraries may use LLVM too."""
    from ge_backend_cpu.isa import llvm_binding

    # loop strength reduction is a fifth of all compile time, and generators choose their loops' addresses themselves
    llvm_binding().set_option("ge_backend_cpu", "-disable-lsr")


def main(sockets: Sequence[int]) -> None:
    """Answer requests until there are no more: each socket's in a process of its own, this one's being the first's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt at the terminal is the parent's to handle
    set_up_llvm()
    for name in ("generate", "contract", "loops"):
        import_module(f"ge_backend_cpu.{name}")
    # a generator leaves a hundred thousand objects that refer to each other: searching them for garbage while they
    # grow takes as long as making them
    gc.disable()
    gc.freeze()
    own = sockets[0]
    for other in sockets[1:]:
        if os.fork() == 0:
            own = other
            break
    for other in sockets:
        if other != own:
            os.close(other)
    with socket.socket(fileno=own) as connection:
        _serve(connection)
    while True:  # what the other processes took counts as this one's
        try:
            os.wait()
        except ChildProcessError:
            break
    os._exit(0)


def _serve(connection: socket.socket) -> None:
    from ge_backend_cpu.generate import generate
    from ge_backend_cpu.isa import Isa
    from ge_backend_cpu.kernel import Kernel
    from ge_core.errors import GeError

    made = 0
    with suppress(ConnectionError), connection.makefile("rwb") as stream:  # the parent may go at any time
        while _waits(connection, made):
            frame = read_frame(stream)
            if frame is None:
                break
            made = made + 1 if made < MOST_KERNELS else 1
            request, _ = frame
            kernel = Kernel(request["family"], request["parameters"])
            try:
                code = generate(kernel, Isa.of(request["isa"]))
            except GeError as error:
                write_frame(stream, {"error": error.what, "details": list(error.details)})
            except Exception as error:  # noqa: BLE001 - the parent reports it with the kernel's name
                write_frame(stream, {"error": f"{type(error).__name__}: {error}", "details": _trace(error)})
            else:
                write_frame(stream, {"symbols": code.symbols, "alignment": code.alignment}, code.data)


def _waits(connection: socket.socket, made: int) -> bool:
    """Wait for a request, and clear away meanwhile; False when none comes. One is answered before the next comes, so
    that none is in the stream's buffer."""
    if made < MOST_KERNELS and select.select([connection], [], [], PAUSE_SECONDS)[0]:
        return True
    gc.collect()
    return bool(select.select([connection], [], [], IDLE_SECONDS)[0])


def _trace(error: BaseException) -> list[str]:
    import traceback

    return "".join(traceback.format_exception(error)).splitlines()[-12:]
