"""TensorFlow's checkpoints: an index (a sorted table of names) and data files, read as they lie on disk.

Format: tensorflow/core/util/tensor_bundle and the table format of LevelDB: blocks of (shared key bytes, new key
bytes, value bytes) entries, an index block of the blocks, a footer of 48 bytes.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator

import numpy as np

from ge_core.errors import GeError, ModelImportError
from ge_core.ir.constant import Constant
from ge_core.ir.types import TensorType
from ge_core.om import wire
from ge_core.om.message_table import Message

from .element_types import dtype_of
from .messages import parse
from .tensor_proto import static_shape

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_MAX_INDEX = 256 << 20
_MAX_ENTRIES = 1_000_000


class Checkpoint:
    """The variables of a checkpoint; their data are mapped from the files when they are read.

    Args:
        prefix: the path without `.index` and `.data-...`.

    Raises:
        ModelImportError: the index is damaged.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._entries: dict[str, bytes] = {}
        self._files: dict[int, np.ndarray] = {}
        path = f"{prefix}.index"
        try:
            if os.path.getsize(path) > _MAX_INDEX:
                raise ModelImportError(f"{path} is larger than {_MAX_INDEX} bytes")
            with open(path, "rb") as file:
                data = memoryview(file.read())
        except OSError as error:
            raise ModelImportError(f"the variables' index {path} cannot be read: {error.strerror}") from error
        try:
            for key, value in _table(data):
                self._entries[key.decode("utf-8", "replace")] = value
        except GeError as error:
            raise ModelImportError(f"{path} is damaged: {error.what}") from error
        except (IndexError, struct.error, ValueError) as error:
            raise ModelImportError(f"{path} is damaged: {error}") from error
        if "" not in self._entries:
            raise ModelImportError(f"{path} has no header")
        header = parse("BundleHeaderProto", self._entries.pop(""), path)
        if header.endianness != 0:
            raise ModelImportError(f"{path} is of a machine with the other byte order")
        self._shards = int(header.num_shards)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        """The names of all tensors."""
        return list(self._entries)

    def type(self, name: str) -> TensorType:
        """Element type and shape of a tensor.

        Raises:
            ModelImportError: it is not there, or its entry is damaged.
            UnsupportedError: an element type that is not supported.
        """
        entry = self._entry(name)
        return TensorType(dtype_of(entry.dtype, f"the variable {name}"), static_shape(entry.shape, name))

    def constant(self, name: str) -> Constant:
        """A tensor as a view of its file."""
        entry, type = self._entry(name), self.type(name)
        assert type.shape is not None
        shape = tuple(int(n) for n in type.shape)  # type: ignore[arg-type]
        size = math.prod(shape) * type.dtype.numpy.itemsize
        if entry.slices:
            raise ModelImportError(f"the variable {name} is stored in slices", fix="save the model without partitions")
        if entry.size != size:
            raise ModelImportError(f"the variable {name} of {type} has {entry.size} bytes", expected=str(size))
        shard = self._shard(int(entry.shard_id))
        start = int(entry.offset)
        if start < 0 or start + size > len(shard):
            raise ModelImportError(f"the variable {name} lies behind the end of its file")
        return Constant(type, lambda: shard[start : start + size].view(type.dtype.numpy).reshape(shape), name)

    def _entry(self, name: str) -> Message:
        if name not in self._entries:
            raise ModelImportError(f"the checkpoint {self._prefix} has no variable {name!r}")
        return parse("BundleEntryProto", self._entries[name], f"the entry of {name}")

    def _shard(self, number: int) -> np.ndarray:
        if not 0 <= number < self._shards:
            raise ModelImportError(f"a variable lies in data file {number} of {self._shards}")
        if number not in self._files:
            path = f"{self._prefix}.data-{number:05d}-of-{self._shards:05d}"
            try:
                empty = os.path.getsize(path) == 0
                self._files[number] = np.zeros(0, np.uint8) if empty else np.memmap(path, np.uint8, "r")
            except OSError as error:
                raise ModelImportError(f"the variables' file {path} cannot be read: {error.strerror}") from error
        return self._files[number]


def _table(data: memoryview) -> Iterator[tuple[bytes, bytes]]:
    """All entries of a table, in order."""
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise ModelImportError("it does not end as a table does")
    footer = data[-_FOOTER:-8]
    _, at = wire.read_varint(footer, 0, len(footer))
    _, at = wire.read_varint(footer, at, len(footer))
    count = 0
    for _, handle in _block(data, *_handle(footer[at:])):
        for entry in _block(data, *_handle(memoryview(handle))):
            count += 1
            if count > _MAX_ENTRIES:
                raise ModelImportError(f"it has more than {_MAX_ENTRIES} entries")
            yield entry


def _handle(data: memoryview) -> tuple[int, int]:
    offset, at = wire.read_varint(data, 0, len(data))
    size, _ = wire.read_varint(data, at, len(data))
    return offset, size


def _block(data: memoryview, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    if offset + size + 5 > len(data) or size < 4:
        raise ModelImportError("a block lies outside of it")
    if data[offset + size] != 0:
        raise ModelImportError("its blocks are compressed")
    block = data[offset : offset + size]
    restarts = struct.unpack("<I", block[-4:])[0]
    end = size - 4 - 4 * restarts
    if end < 0:
        raise ModelImportError("a block is shorter than its list of restarts")
    at, key = 0, b""
    while at < end:
        shared, at = wire.read_varint(block, at, end)
        fresh, at = wire.read_varint(block, at, end)
        length, at = wire.read_varint(block, at, end)
        if shared > len(key) or at + fresh + length > end:
            raise ModelImportError("an entry lies outside of its block")
        key = key[:shared] + bytes(block[at : at + fresh])
        yield key, bytes(block[at + fresh : at + fresh + length])
        at += fresh + length
