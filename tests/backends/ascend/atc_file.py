"""Offline models as CANN's compiler lays them out, byte by byte, without the project's own writer of containers."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

MAGIC, VERSION, OLD_VERSION = b"IMOD", 0x20000000, 0x10000000
MODEL_DEF, WEIGHTS, TASKS, KERNELS, INOUT = 0, 1, 2, 3, 8
ORDER = (INOUT, MODEL_DEF, WEIGHTS, KERNELS, TASKS)


def header(length: int, *, name: bytes, ops: int, groups: int, dynamic: bool, narrow: bool) -> bytes:
    """The 256 bytes; an old file states its length in the older field."""
    found = struct.pack("<4sIIQ56xI", MAGIC, 256, OLD_VERSION if narrow else VERSION, 0, length if narrow else 0)
    found += struct.pack("<BBBB32sI32x", 0, 1, 0, 0, name, ops)
    found += struct.pack("<II20sB3x", 0, 0 if narrow else groups, b"", 0)
    found += struct.pack("<QBB62x", 0 if narrow else length, 0, dynamic)
    assert len(found) == 256
    return found


def group(parts: Mapping[int, bytes], *, narrow: bool) -> bytes:
    """A partition table, and the partitions right behind one another."""
    chosen = [(kind, parts[kind]) for kind in ORDER if kind in parts]
    table = struct.pack("<I" if narrow else "<I4x", len(chosen))
    at = 0
    for kind, data in chosen:
        table += struct.pack("<III" if narrow else "<I4xQQ", kind, at, len(data))
        at += len(data)
    return table + b"".join(data for _, data in chosen)


def offline_model(
    groups: Sequence[Mapping[int, bytes]], *, name: bytes = b"net", ops: int = 0, narrow: bool = False
) -> bytes:
    """A whole file; several groups make it one of sizes that are known at run time only."""
    body = b"".join(group(parts, narrow=narrow) for parts in groups)
    dynamic = len(groups) > 1
    return header(len(body), name=name, ops=ops, groups=len(groups), dynamic=dynamic, narrow=narrow) + body


def kernel(name: bytes, binary: bytes) -> bytes:
    """An item of the kernels' partition."""
    return struct.pack("<III", 0x5D776EFD, len(name), len(binary)) + name + binary
