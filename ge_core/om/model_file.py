"""A whole offline model: entry graphs, weights, a backend's binaries and metadata in one file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ge_core.errors import OfflineModelError
from ge_core.ir.graph import Graph
from ge_core.ir.traverse import walk
from ge_core.om.attributes import AttrValue
from ge_core.om.container import Container, PartitionType, open_container
from ge_core.om.graph_decoder import decode_entries
from ge_core.om.graph_encoder import describe_inout, encode_entries
from ge_core.om.header import Header
from ge_core.om.kernels import pack_kernels, unpack_kernels
from ge_core.om.messages import message_class, serialize
from ge_core.om.seal import verify
from ge_core.om.writer import write_container


@dataclass(frozen=True)
class StoredModel:
    """What a file holds; the arrays of constants and the items are views of the mapped file.

    Attributes:
        entries: verified graphs by name, the main one first.
        items: the backend's named binaries. They are data: running native code from a file needs the user's trust.
        attributes: ModelDef attributes under GE's and further names.
        digests: SHA-256 of each partition, all compared but that of WEIGHTS_DATA, which `verify` reads on request.
    """

    container: Container
    entries: dict[str, Graph]
    items: dict[str, memoryview]
    metadata: dict[str, Any]
    attributes: dict[str, Any]
    digests: dict[PartitionType, bytes]


def write_model(
    path: str | os.PathLike[str],
    entries: Mapping[str, Graph],
    metadata: Mapping[str, Any],
    *,
    items: Mapping[str, Any] | None = None,
    attributes: Mapping[str, AttrValue] | None = None,
) -> dict[PartitionType, bytes]:
    """Write a model whole or not at all, and return the digests in the file; equal arguments give equal bytes.

    Args:
        entries: graphs by name, the main one first; MODEL_INOUT_INFO describes the main one.
        metadata: JSON values.
        items: a backend's binaries by name.
        attributes: ModelDef attributes, such as GE's memory_size.

    Raises:
        OfflineModelError: the file cannot be written, or something in it has no form there.
    """
    kernels = pack_kernels(items or {})
    tasks = serialize(message_class("ModelTaskDef")(version="1", stream_num=1))
    model_def, weights = encode_entries(
        entries, metadata, attributes=attributes, kernels_size=kernels.size, tasks_size=len(tasks)
    )
    main_name, main = next(iter(entries.items()))
    return write_container(
        path,
        {
            PartitionType.MODEL_INOUT_INFO: describe_inout(main).pack(),
            PartitionType.MODEL_DEF: model_def,
            PartitionType.WEIGHTS_DATA: weights,
            PartitionType.TBE_KERNELS: kernels,
            PartitionType.TASK_INFO: tasks,
        },
        Header(name=main_name, ops=sum(1 for _ in walk(main))),
    )


def open_model(path: str | os.PathLike[str], *, verify_weights: bool = False) -> StoredModel:
    """Open a model that `write_model` wrote, without reading its weights.

    Args:
        verify_weights: also compare the digest of the weights, which reads all of them.

    Raises:
        OfflineModelError: not such a file, damaged, or of a later version.
    """
    container = open_container(path)
    digests = verify(container, weights=verify_weights)
    try:
        found = decode_entries(container[PartitionType.MODEL_DEF], container.get(PartitionType.WEIGHTS_DATA))
        items = unpack_kernels(container.get(PartitionType.TBE_KERNELS))
    except OfflineModelError as error:
        raise OfflineModelError(
            f"{container.source}: {error.what}",
            where=error.where, expected=error.expected, fix=error.fix, details=error.details,
        ) from error  # fmt: skip
    return StoredModel(container, found.entries, items, found.metadata, found.attributes, digests)
