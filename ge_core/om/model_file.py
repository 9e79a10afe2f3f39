"""A whole offline model: entry graphs, weights, a backend's binaries and metadata in one file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ge_core.errors import OfflineModelError
from ge_core.ir.graph import Graph
from ge_core.ir.traverse import walk
from ge_core.om.attributes import AttrValue
from ge_core.om.container import Container, PartitionType, open_container
from ge_core.om.header import Header
from ge_core.om.kernels import pack_kernels, unpack_kernels
from ge_core.om.outline import LazyGraphs, read_outline
from ge_core.om.seal import verify
from ge_core.om.writer import write_container
from ge_core.plan.stored import StoredConstant

if TYPE_CHECKING:
    from ge_core.om.graph_decoder import DecodedModel


@dataclass(frozen=True)
class StoredModel:
    """What a file holds; the arrays of constants and the items are views of the mapped file.

    Attributes:
        entries: verified graphs by name, the main one first.
        items: the backend's named binaries. They are data: running native code from a file needs the user's trust.
        attributes: ModelDef attributes under GE's and further names.
        digests: SHA-256 of each partition, all compared but that of WEIGHTS_DATA, which `verify` reads on request.
        constants: of each entry, with the layouts in which they are stored, where the graphs are not decoded yet.
    """

    container: Container
    entries: MutableMapping[str, Graph]
    items: dict[str, memoryview]
    metadata: dict[str, Any]
    attributes: dict[str, Any]
    digests: dict[PartitionType, bytes]
    constants: Mapping[str, Sequence[StoredConstant]] | None = None


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
    from ge_core.om.graph_encoder import describe_inout, encode_entries
    from ge_core.om.messages import message_class, serialize

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
    return SealedModel.of(path, verify_weights=verify_weights).opened()


@dataclass(frozen=True)
class SealedModel:
    """A file whose checksums are right, and of which nothing else has been read."""

    container: Container
    digests: dict[PartitionType, bytes]

    @staticmethod
    def of(path: str | os.PathLike[str], *, verify_weights: bool = False) -> SealedModel:
        """Map a file; see `open_model`."""
        container = open_container(path)
        return SealedModel(container, verify(container, weights=verify_weights))

    def opened(self) -> StoredModel:
        """What the file holds.

        Raises:
            OfflineModelError: no model, damaged, or of a later version.
        """
        with self._named():
            found = self._decoded()
            items = unpack_kernels(self.container.get(PartitionType.TBE_KERNELS))
        return StoredModel(self.container, found.entries, items, found.metadata, found.attributes, self.digests)

    def outlined(self) -> StoredModel | None:
        """What the file holds, with graphs that are decoded when they are first read; None where it has no outline.

        Its plans and constants are taken as they are: only for files whose writer is trusted.

        Raises:
            OfflineModelError: damaged.
        """
        part = self.container.get
        with self._named():
            found = read_outline(part(PartitionType.MODEL_DEF), part(PartitionType.WEIGHTS_DATA))
            if found is None:
                return None
            items = unpack_kernels(part(PartitionType.TBE_KERNELS))
        graphs = LazyGraphs(tuple(found.constants), self._graphs)
        return StoredModel(self.container, graphs, items, found.metadata, {}, self.digests, found.constants)

    def _graphs(self) -> Mapping[str, Graph]:
        with self._named():
            return self._decoded().entries

    def _decoded(self) -> DecodedModel:
        # protobuf and the checks of graphs take longer to import than it takes to run a model
        from ge_core.om.graph_decoder import decode_entries

        part = self.container.get
        return decode_entries(part(PartitionType.MODEL_DEF), part(PartitionType.WEIGHTS_DATA))

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors name the file."""
        try:
            yield
        except OfflineModelError as error:
            raise OfflineModelError(
                f"{self.container.source}: {error.what}",
                where=error.where, expected=error.expected, fix=error.fix, details=error.details,
            ) from error  # fmt: skip
