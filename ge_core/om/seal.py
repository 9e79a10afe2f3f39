"""SHA-256 of everything in the file, kept in the last attribute of MODEL_DEF.

GE's container has no field that a reader compares, so the digests are a ModelDef attribute `ge.sha256`
whose bytes are, for each partition except MODEL_DEF in file order, its type (one byte) and digest, and last
a digest of header, partition table and MODEL_DEF, this digest counted as zeros. The attribute is the end of
MODEL_DEF and of fixed size, so that it is filled in after the weights have passed by, and found without
parsing. An attribute `ge.pad` before it makes MODEL_DEF end on a 64-byte boundary of the file, where
WEIGHTS_DATA begins.

A checksum is not a signature: it finds damage, it does not say who wrote the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from ge_core.errors import OfflineModelError
from ge_core.om import header as headers
from ge_core.om.container import Container, Partition, PartitionType
from ge_core.om.wire import field

ALIGNMENT = 64
SEAL_ATTRIBUTE = "ge.sha256"
PAD_ATTRIBUTE = "ge.pad"

_DIGEST = 32
_RECORD = 1 + _DIGEST
# Field numbers: ModelDef.attr 11 (a map: key 1, value 2), AttrDef.bt 7.
_ATTR, _KEY, _VALUE, _BT = 11, 1, 2, 7


def _attribute(name: str, value: bytes) -> bytes:
    return field(_ATTR, field(_KEY, name.encode()) + field(_VALUE, field(_BT, value)))


def _seal(others: Sequence[PartitionType], digests: Mapping[PartitionType, bytes]) -> bytes:
    zero = bytes(_DIGEST)
    blob = b"".join(bytes([kind]) + digests.get(kind, zero) for kind in others)
    return _attribute(SEAL_ATTRIBUTE, blob + digests.get(PartitionType.MODEL_DEF, zero))


def close_model_def(model_def: bytes, position: int, others: Sequence[PartitionType]) -> bytes:
    """MODEL_DEF with padding and an empty seal.

    Args:
        position: where MODEL_DEF begins in the file.
        others: the other partitions of the file, in file order.
    """
    seal = _seal(others, {})
    bare = len(_attribute(PAD_ATTRIBUTE, b""))
    pad = -(position + len(model_def) + bare + len(seal)) % ALIGNMENT
    # Every length here is below 128, so that each byte of padding adds one byte.
    return model_def + _attribute(PAD_ATTRIBUTE, bytes(pad)) + seal


def filled_seal(
    head: bytes,
    closed_model_def: bytes,
    others: Sequence[PartitionType],
    digests: Mapping[PartitionType, bytes],
) -> bytes:
    """The final bytes of the seal, as long as the empty one.

    Args:
        head: header and partition table.
        closed_model_def: what `close_model_def` returned.
        digests: of every partition in `others`.
    """
    filled = _seal(others, digests)
    own = _own_digest(head, [closed_model_def[: -len(filled)], filled[:-_DIGEST]])
    return filled[:-_DIGEST] + own


def _own_digest(head: bytes | memoryview, model_def_without_digest: Iterable[bytes | memoryview]) -> bytes:
    own = hashlib.sha256(head)
    for part in model_def_without_digest:
        own.update(part)
    own.update(bytes(_DIGEST))
    return own.digest()


def stated_digests(container: Container) -> dict[PartitionType, bytes] | None:
    """SHA-256 by partition as the file states them; None for a file without a seal, such as GE's own."""
    group = container.groups[0]
    if PartitionType.MODEL_DEF not in group:
        return None
    others: list[PartitionType] = [p.type for p in group.partitions if p.type != PartitionType.MODEL_DEF]
    empty = _seal(others, {})
    found = bytes(group[PartitionType.MODEL_DEF][-len(empty) :])
    first = len(empty) - _DIGEST - _RECORD * len(others)
    digests = {PartitionType.MODEL_DEF: found[-_DIGEST:]}
    for i, kind in enumerate(others):
        digests[kind] = found[first + _RECORD * i + 1 : first + _RECORD * (i + 1)]
    return digests if _seal(others, digests) == found else None


def verify(container: Container, *, weights: bool = True) -> dict[PartitionType, bytes]:
    """Compare the header, the table and every partition with the digests in the file, and return these.

    Args:
        weights: also read WEIGHTS_DATA, which may be many gigabytes.

    Raises:
        OfflineModelError: a digest differs, or the file carries none.
    """
    digests = stated_digests(container)
    if digests is None:
        raise OfflineModelError(
            "the file carries no checksums, or they are damaged",
            where=container.source,
            expected="an offline model that ge wrote",
            fix="write the file again from its source model",
        )
    group = container.groups[0]
    if len(container.groups) != 1 or group.end != len(container.data):
        raise OfflineModelError("the file holds bytes that no checksum covers", where=container.source)
    model_def = group[PartitionType.MODEL_DEF]
    head = container.data[: headers.SIZE + group.table_size]
    if _own_digest(head, [model_def[:-_DIGEST]]) != digests[PartitionType.MODEL_DEF]:
        raise _differs("the header, the partition table or MODEL_DEF", container)
    for partition in group.partitions:
        skipped = partition.type == PartitionType.WEIGHTS_DATA and not weights
        if partition.type != PartitionType.MODEL_DEF and not skipped:
            verify_partition(container, partition, digests)
    return digests


def verify_partition(container: Container, partition: Partition, digests: Mapping[PartitionType, bytes]) -> None:
    """Compare one partition other than MODEL_DEF with its digest.

    Raises:
        OfflineModelError: they differ.
    """
    if hashlib.sha256(partition.data).digest() != digests[partition.type]:
        raise _differs(partition.type.name, container)


def _differs(what: str, container: Container) -> OfflineModelError:
    return OfflineModelError(
        f"damaged: {what} does not match its checksum",
        where=container.source,
        fix="copy the file again, or write it again from its source model",
    )
