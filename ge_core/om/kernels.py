"""TBE_KERNELS: named binaries of a backend, as GE stores its kernels.

Items one after another: u32 magic, u32 name length, u32 binary length, name, binary.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from ge_core.errors import OfflineModelError
from ge_core.om.writer import Buffer, Stream

_MAGIC = 0x5D776EFD
_ITEM = struct.Struct("<III")


def pack_kernels(items: Mapping[str, Any]) -> Stream:
    """The partition of named buffers, in the order of their names.

    Raises:
        OfflineModelError: a buffer of 4 GiB or more, which GE cannot state.
    """
    chunks: list[Buffer] = []
    for name in sorted(items):
        data = memoryview(items[name])
        if data.nbytes >= 1 << 32:
            raise OfflineModelError(f"the binary {name} has {data.nbytes} bytes", expected="less than 4 GiB")
        raw = name.encode()
        chunks += [_ITEM.pack(_MAGIC, len(raw), data.nbytes) + raw, data.cast("B") if data.nbytes else b""]
    return Stream(sum(len(chunk) for chunk in chunks), chunks)


def unpack_kernels(data: memoryview) -> dict[str, memoryview]:
    """The named binaries of a partition; views, no copies.

    Raises:
        OfflineModelError: lengths that do not fit, a name twice or not UTF-8, or no items at all.
    """
    found: dict[str, memoryview] = {}
    while data:
        if len(data) < _ITEM.size:
            raise _damaged("an item that is cut off")
        magic, name_size, size = _ITEM.unpack_from(data)
        if magic != _MAGIC:
            raise _damaged(f"an item that begins with {magic:#x}")
        if name_size + size > len(data) - _ITEM.size:
            raise _damaged(f"an item of {name_size + size} bytes where {len(data) - _ITEM.size} are left")
        start = _ITEM.size + name_size
        try:
            name = bytes(data[_ITEM.size : start]).decode()
        except UnicodeDecodeError as error:
            raise _damaged("a name that is not UTF-8") from error
        if name in found:
            raise _damaged(f"two items named {name[:80]}")
        found[name] = data[start : start + size]
        data = data[start + size :]
    return found


def _damaged(what: str) -> OfflineModelError:
    return OfflineModelError(f"TBE_KERNELS holds {what}", fix="the file is damaged; write it again")
