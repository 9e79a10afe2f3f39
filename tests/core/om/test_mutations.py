"""Damaged files: with the checksums every change is found; without them nothing worse than an error happens."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from ge_core.errors import OfflineModelError
from ge_core.om import InOutInfo, PartitionType, parse, read_container, verify

Partitions = dict[PartitionType, bytes]
Pack = Callable[[Mapping[PartitionType, Any]], bytes]

HOSTILE = (0, 1, 2, 7, 8, 9, 255, 256, 2**31 - 1, 2**31, 2**32 - 1)


def truncations(data: bytes) -> Iterator[bytes]:
    for size in sorted({*range(0, 500, 9), *range(500, len(data), 37)}):
        yield data[:size]


def bit_flips(data: bytes, count: int) -> Iterator[bytes]:
    choose = random.Random(7)
    for _ in range(count):
        changed = bytearray(data)
        changed[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        yield bytes(changed)


def hostile_fields(data: bytes) -> Iterator[bytes]:
    """Every 32-bit field of the header's numbers and of the partition table, set to hostile values."""
    for at in [4, 8, 76, 80, 152, 156, 184, 188, 192, *range(256, 256 + 8 + 24 * 5, 4)]:
        for value in HOSTILE:
            changed = bytearray(data)
            struct.pack_into("<I", changed, at, value)
            yield bytes(changed)


def insertions(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), 41):
        yield data[:at] + b"\0" + data[at:]
        yield data[:at] + data[at + 1 :]


def mutations(data: bytes) -> list[bytes]:
    found = [*truncations(data), *bit_flips(data, 300), *hostile_fields(data), *insertions(data)]
    return [changed for changed in found if changed != data]


def test_the_checksums_find_every_change(partitions: Partitions, pack: Pack) -> None:
    changed = mutations(pack(partitions))
    assert len(changed) > 800
    for data in changed:
        with pytest.raises(OfflineModelError):
            verify(read_container(data))


def test_reading_without_checksums_ends_in_an_error_or_a_value(partitions: Partitions, pack: Pack) -> None:
    errors = values = 0
    tracemalloc.start()
    for data in mutations(pack(partitions)):
        try:
            container = read_container(data)
            for group in container.groups:
                InOutInfo.unpack(group.get(PartitionType.MODEL_INOUT_INFO))
                parse("ModelDef", group[PartitionType.MODEL_DEF])
                parse("ModelTaskDef", group.get(PartitionType.TASK_INFO))
            values += 1
        except OfflineModelError:
            errors += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert errors > 500
    assert values > 50
    assert peak < 50 << 20
