from __future__ import annotations

import struct

import numpy as np
import pytest

from ge_core.errors import OfflineModelError
from ge_core.om.kernels import pack_kernels, unpack_kernels


def packed(items: dict[str, object]) -> memoryview:
    stream = pack_kernels(items)
    data = b"".join(stream.chunks)
    assert len(data) == stream.size
    return memoryview(data)


def test_items_come_back_as_views() -> None:
    data = packed({"b": b"two", "a/\u00e9": np.arange(3, dtype=np.int32), "empty": b""})
    found = unpack_kernels(data)
    assert {name: bytes(item) for name, item in found.items()} == {
        "a/\u00e9": np.arange(3, dtype=np.int32).tobytes(), "b": b"two", "empty": b"",
    }  # fmt: skip
    assert all(item.obj is data.obj for item in found.values())


def test_the_layout_is_ges() -> None:
    assert packed({"ab": b"xyz"}) == struct.pack("<III", 0x5D776EFD, 2, 3) + b"abxyz"


def test_no_items_are_no_bytes() -> None:
    assert packed({}) == b""
    assert unpack_kernels(memoryview(b"")) == {}


def test_unsound_items_are_refused() -> None:
    good = bytes(packed({"ab": b"xyz"}))
    for size in range(1, len(good)):
        with pytest.raises(OfflineModelError):
            unpack_kernels(memoryview(good[:size]))
    for data, message in [
        (good + good, "two items named ab"),
        (b"\0" + good[1:], "begins with"),
        (good.replace(b"ab", b"\xff\xff"), "not UTF-8"),
        (struct.pack("<III", 0x5D776EFD, 2**32 - 1, 2**32 - 1), "8589934590 bytes where 0 are left"),
    ]:
        with pytest.raises(OfflineModelError, match=message):
            unpack_kernels(memoryview(data))
