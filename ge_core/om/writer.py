"""Writing GE's container, streaming: a weight goes from its own memory to the file, and is never copied."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, TypeAlias

from ge_core.errors import OfflineModelError
from ge_core.om import header as headers
from ge_core.om.container import MAX_PARTITIONS, WIDE_ENTRY, WIDE_HEAD, PartitionType
from ge_core.om.file import atomic_write
from ge_core.om.header import Header
from ge_core.om.seal import close_model_def, filled_seal

Buffer: TypeAlias = bytes | bytearray | memoryview

ORDER = (
    PartitionType.SO_BINS,
    PartitionType.CUSTOM_OPS,
    PartitionType.TILING_DATA,
    PartitionType.MODEL_INOUT_INFO,
    PartitionType.MODEL_DEF,
    PartitionType.WEIGHTS_DATA,
    PartitionType.TBE_KERNELS,
    PartitionType.CUST_AICPU_KERNELS,
    PartitionType.TASK_INFO,
)
"""GE's order of the partitions of a static model."""

_PIECE = 8 << 20


@dataclass(frozen=True)
class Stream:
    """A partition that is produced piece by piece.

    Attributes:
        size: bytes of all chunks together.
        chunks: C-contiguous buffers, each asked for when the one before it has been written.
    """

    size: int
    chunks: Iterable[Buffer]


def write_container(
    target: str | os.PathLike[str] | IO[bytes],
    partitions: Mapping[PartitionType, Buffer | Stream],
    header: Header | None = None,
) -> dict[PartitionType, bytes]:
    """Write a static model of one group; equal arguments give equal bytes.

    MODEL_DEF is padded so that WEIGHTS_DATA begins at a multiple of 64 bytes in the file, and closed with the
    digests of all partitions (`ge_core.om.seal`). Empty partitions are left out, as GE does.

    Args:
        target: a path, written whole or not at all (`ge_core.om.file`), or an empty seekable binary file.
        partitions: MODEL_DEF and any others of `ORDER`, in any order.
        header: `model_length` and the group count are filled in here.

    Returns:
        The digests in the file, by partition: what `ge_core.om.seal.verify` returns for it.

    Raises:
        OfflineModelError: a partition of another type, no MODEL_DEF, chunks that do not add up to their size,
            or the file cannot be written.
    """
    if isinstance(target, (str, os.PathLike)):
        with atomic_write(target) as file:
            return write_container(file, partitions, header)
    streams = _streams(partitions)
    others = [kind for kind in streams if kind != PartitionType.MODEL_DEF]
    table_size = WIDE_HEAD.size + WIDE_ENTRY.size * len(streams)
    position = headers.SIZE + table_size + _size_before(streams, PartitionType.MODEL_DEF)
    model_def = close_model_def(b"".join(streams[PartitionType.MODEL_DEF].chunks), position, others)
    streams[PartitionType.MODEL_DEF] = Stream(len(model_def), [model_def])

    body = table_size + sum(stream.size for stream in streams.values())
    filled = replace(header or Header(), model_length=body, length=0, model_num=1, is_unknow_model=False)
    head = filled.pack() + _table(streams)
    target.write(head)
    digests = {kind: _write(target, kind, stream) for kind, stream in streams.items()}
    seal = filled_seal(head, model_def, others, digests)
    target.seek(position + len(model_def) - len(seal))
    target.write(seal)
    target.seek(0, os.SEEK_END)
    return digests | {PartitionType.MODEL_DEF: seal[-32:]}


def _streams(partitions: Mapping[PartitionType, Buffer | Stream]) -> dict[PartitionType, Stream]:
    """The partitions that are not empty, in GE's order."""
    strange = [PartitionType(kind).name for kind in partitions if kind not in ORDER]
    if strange:
        raise OfflineModelError(
            f"partitions {', '.join(strange)} do not belong into a static model",
            expected=", ".join(kind.name for kind in ORDER),
        )
    streams: dict[PartitionType, Stream] = {}
    for kind in ORDER:
        given = partitions.get(kind, b"")
        stream = given if isinstance(given, Stream) else Stream(memoryview(given).nbytes, [given])
        if stream.size:
            streams[kind] = stream
    if PartitionType.MODEL_DEF not in streams:
        raise OfflineModelError("an offline model needs a MODEL_DEF partition")
    if len(streams) > MAX_PARTITIONS:
        raise OfflineModelError(f"{len(streams)} partitions", expected=f"at most {MAX_PARTITIONS}")
    return streams


def _size_before(streams: Mapping[PartitionType, Stream], kind: PartitionType) -> int:
    before: Sequence[PartitionType] = ORDER[: ORDER.index(kind)]
    return sum(stream.size for other, stream in streams.items() if other in before)


def _table(streams: Mapping[PartitionType, Stream]) -> bytes:
    table = WIDE_HEAD.pack(len(streams))
    offset = 0
    for kind, stream in streams.items():
        table += WIDE_ENTRY.pack(kind, offset, stream.size)
        offset += stream.size
    return table


def _write(file: IO[bytes], kind: PartitionType, stream: Stream) -> bytes:
    """Write a stream and return its digest; in pieces that stay in the cache between hashing and writing."""
    digest = hashlib.sha256()
    written = 0
    for chunk in stream.chunks:
        view = memoryview(chunk).cast("B")
        written += len(view)
        if written > stream.size:
            break
        for start in range(0, len(view), _PIECE):
            piece = view[start : start + _PIECE]
            digest.update(piece)
            file.write(piece)
    if written != stream.size:
        raise OfflineModelError(
            f"{kind.name} was announced with {stream.size} bytes, its chunks have {written} or more"
        )
    return digest.digest()
