"""All code of one artifact for one instruction set: kept in files, mapped to be run.

Image: magic, SHA-256 of what follows, head length, code length, head (JSON: instruction set, entry points), padding
to 64 bytes, code. The digest finds damage; whether the code may run is the caller's decision.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ge_backend_cpu.elf import Code
from ge_core.errors import BackendError

MAGIC = b"GECPU\x00\x00\x01"
_HEAD = struct.Struct("<8s32sQQ")


def joined(codes: Iterable[Code]) -> Code:
    """Several codes as one."""
    data, symbols, alignment = bytearray(), {}, 64
    for code in codes:
        alignment = max(alignment, code.alignment)
        data += bytes(-len(data) % code.alignment)
        symbols.update({name: len(data) + at for name, at in code.symbols.items()})
        data += code.data
    return Code(symbols, bytes(data), alignment)


def pack_image(isa: str, code: Code) -> bytes:
    """The bytes of an image."""
    head = json.dumps({"isa": isa, "symbols": code.symbols}, sort_keys=True).encode()
    head += b" " * (-(_HEAD.size + len(head)) % 64)
    rest = struct.pack("<QQ", len(head), len(code.data)) + head + code.data
    return MAGIC + hashlib.sha256(rest).digest() + rest


@dataclass(frozen=True)
class Image:
    """An image that was read and checked for damage; nothing is mapped yet."""

    isa: str
    code: Code


def read_image(data: Any) -> Image:
    """Read an image.

    Raises:
        BackendError: it is damaged.
    """
    view = memoryview(data).cast("B")
    if len(view) < _HEAD.size or view[:8] != MAGIC:
        raise _damaged("it does not begin as an image of this version")
    _, digest, head_size, size = _HEAD.unpack_from(view)
    if _HEAD.size + head_size + size != len(view):
        raise _damaged("its length is wrong")
    if hashlib.sha256(view[40:]).digest() != digest:
        raise _damaged("its digest does not match")
    head = json.loads(bytes(view[_HEAD.size : _HEAD.size + head_size]))
    symbols = head["symbols"]
    if not all(isinstance(at, int) and 0 <= at < size for at in symbols.values()):
        raise _damaged("an entry point lies outside of it")
    return Image(head["isa"], Code(symbols, bytes(view[_HEAD.size + head_size :])))


def _damaged(why: str) -> BackendError:
    return BackendError(f"the compiled kernels are damaged: {why}", fix="compile the model again")


class Mapped:
    """Code in executable memory, never writable at the same time; unmapped when the last reference goes."""

    def __init__(self, code: Code) -> None:
        file = os.memfd_create("ge-kernels", os.MFD_CLOEXEC)
        try:
            with open(file, "wb", closefd=False) as writer:
                writer.write(code.data or b"\0")
            self._map = mmap.mmap(file, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        except OSError as error:
            raise BackendError(
                "the system does not let this process run generated code",
                fix=f"allow executable memory mappings ({error}), or use target='reference'",
            ) from error
        finally:
            os.close(file)
        self.base = np.frombuffer(self._map, np.uint8).ctypes.data
        self.symbols = code.symbols

    def address(self, symbol: str) -> int:
        """Where an entry point lies.

        Raises:
            BackendError: there is none of that name.
        """
        if symbol not in self.symbols:
            raise BackendError(f"the compiled kernels lack {symbol}", fix="compile the model again")
        return self.base + self.symbols[symbol]
