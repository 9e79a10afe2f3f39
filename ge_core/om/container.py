"""Reading GE's container: a header, then groups of one partition table and its partitions.

Nothing in the file is believed: every count and size is checked against what is left of the file before it
is used, and a partition lies where the sizes before it say, as in GE's own loader; a table that says
otherwise is refused.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from ge_core.errors import OfflineModelError
from ge_core.om import header as headers
from ge_core.om.header import Header
from ge_core.regular_file import open_regular


class PartitionType(IntEnum):
    """GE's numbers of the partition types."""

    MODEL_DEF = 0
    WEIGHTS_DATA = 1
    TASK_INFO = 2
    TBE_KERNELS = 3
    CUST_AICPU_KERNELS = 4
    SO_BINS = 5
    FLOW_MODEL = 6
    FLOW_SUBMODEL = 7
    MODEL_INOUT_INFO = 8
    STATIC_TASK_DESC = 9
    DYNAMIC_TASK_DESC = 10
    TASK_PARAM = 11
    TILING_DATA = 12
    PRE_MODEL_DESC = 20
    PRE_MODEL_SQE = 21
    PRE_KERNEL_ARGS = 22
    PRE_MODEL_DESC_EXTEND = 23
    BUNDLE_MODEL_INFO = 24
    BUNDLE_MODEL_VAR_INFO = 25
    CUSTOM_OPS = 26


WIDE_HEAD, WIDE_ENTRY = struct.Struct("<I4x"), struct.Struct("<I4xQQ")
NARROW_HEAD, NARROW_ENTRY = struct.Struct("<I"), struct.Struct("<III")
MAX_PARTITIONS = 8
MAX_FLOW_PARTITIONS = 4096
MAX_GROUPS = 4096


@dataclass(frozen=True)
class Partition:
    """A partition: its type, place in the file, and bytes (a view of the mapped file, never a copy)."""

    type: PartitionType
    offset: int
    data: memoryview


@dataclass(frozen=True)
class Group:
    """One partition table, at `offset`, and its partitions in file order."""

    offset: int
    table_size: int
    partitions: tuple[Partition, ...]

    @property
    def end(self) -> int:
        """The place in the file after the last partition."""
        return self.partitions[-1].offset + len(self.partitions[-1].data)

    def __contains__(self, kind: PartitionType) -> bool:
        return any(p.type == kind for p in self.partitions)

    def __getitem__(self, kind: PartitionType) -> memoryview:
        """The bytes of the first partition of a type.

        Raises:
            OfflineModelError: there is none.
        """
        for partition in self.partitions:
            if partition.type == kind:
                return partition.data
        raise OfflineModelError(
            f"the file has no {kind.name} partition",
            expected=f"one beside {', '.join(p.type.name for p in self.partitions)}",
        )

    def get(self, kind: PartitionType) -> memoryview:
        """The bytes of the first partition of a type; empty when there is none: GE writes no empty ones."""
        return self[kind] if kind in self else memoryview(b"")


@dataclass(frozen=True)
class Container:
    """An open file. The views keep the mapping alive; there is nothing to close."""

    source: str
    data: memoryview
    header: Header
    groups: tuple[Group, ...]

    def __contains__(self, kind: PartitionType) -> bool:
        return kind in self.groups[0]

    def __getitem__(self, kind: PartitionType) -> memoryview:
        return self.groups[0][kind]

    def get(self, kind: PartitionType) -> memoryview:
        return self.groups[0].get(kind)


def open_container(path: str | os.PathLike[str]) -> Container:
    """Map a file and read its header and tables; the partitions' bytes are not touched.

    Raises:
        OfflineModelError: no readable regular file, or not a sound container.
    """
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise OfflineModelError("the file is empty", where=path)
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise OfflineModelError(
            f"the file cannot be read: {error.strerror or error}",
            where=path,
            fix="check the path and its permissions",
        ) from error
    try:
        return read_container(data, source=os.fspath(path))
    except OfflineModelError as error:
        raise OfflineModelError(
            error.what, where=error.where or os.fspath(path), expected=error.expected, fix=error.fix,
            details=error.details,
        ) from error  # fmt: skip


def read_container(data: bytes | memoryview, source: str = "bytes in memory") -> Container:
    """The container in a buffer; see `open_container`."""
    view = memoryview(data).toreadonly()
    header = Header.unpack(view[: headers.SIZE], len(view))
    if header.modeltype == headers.BUNDLE:
        raise OfflineModelError("a bundle of several models", fix="give one of the models in it as a file of its own")
    groups = tuple(_groups(view, header))
    left = len(view) - groups[-1].end
    if header.several_groups and left:
        raise OfflineModelError(
            f"{left} bytes after the last partition",
            expected="groups that fill a dynamic model's file exactly",
        )
    return Container(source, view, header, groups)


def _groups(view: memoryview, header: Header) -> Iterator[Group]:
    count = max(header.model_num, 1) if header.several_groups else 1
    if count > MAX_GROUPS:
        raise OfflineModelError(f"the header counts {count} models", expected=f"at most {MAX_GROUPS}")
    at = headers.SIZE
    for _ in range(count):
        group = _group(view, at, header)
        at = group.end
        yield group


def _group(view: memoryview, at: int, header: Header) -> Group:
    head, entry = (WIDE_HEAD, WIDE_ENTRY) if header.wide else (NARROW_HEAD, NARROW_ENTRY)
    if len(view) - at < head.size:
        raise _cut(at, "a partition table")
    (count,) = head.unpack_from(view, at)
    most = MAX_FLOW_PARTITIONS if header.modeltype == headers.FLOW else MAX_PARTITIONS
    if not 1 <= count <= most:
        raise OfflineModelError(
            f"a partition table of {count} entries", where=f"byte {at}", expected=f"1 to {most} entries"
        )
    table_size = head.size + entry.size * count
    if len(view) - at < table_size:
        raise _cut(at, f"a partition table of {count} entries")
    start = place = at + table_size
    partitions: list[Partition] = []
    for number, offset, size in entry.iter_unpack(view[at + head.size : start]):
        kind = _partition_type(number, partitions, header)
        if offset != place - start:
            raise OfflineModelError(
                f"the table puts {kind.name} at {offset}",
                where=f"the partition table at byte {at}",
                expected=f"{place - start}, right after the partition before it",
            )
        if size > len(view) - place:
            raise _cut(place, f"{kind.name} of {size} bytes")
        partitions.append(Partition(kind, place, view[place : place + size]))
        place += size
    return Group(at, table_size, tuple(partitions))


def _partition_type(number: int, before: list[Partition], header: Header) -> PartitionType:
    try:
        kind = PartitionType(number)
    except ValueError as error:
        raise OfflineModelError(
            f"a partition of unknown type {number}", expected="one of GE's partition types"
        ) from error
    repeats = header.modeltype == headers.FLOW and kind == PartitionType.FLOW_SUBMODEL
    if not repeats and any(p.type == kind for p in before):
        raise OfflineModelError(f"two partitions of type {kind.name}", expected="each type once")
    return kind


def _cut(at: int, what: str) -> OfflineModelError:
    return OfflineModelError(f"the file ends inside {what}", where=f"byte {at}", expected="a complete file")
