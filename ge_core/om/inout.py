"""MODEL_INOUT_INFO: what a device's runtime reads about inputs and outputs without parsing MODEL_DEF.

A list of records: u32 type, u32 length, value. Ours holds the descriptions of inputs and outputs; records
of other types are kept as bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ge_core.errors import OfflineModelError

INPUTS, OUTPUTS = 0, 1
FORMAT_ND = 2

_RECORD = struct.Struct("<II")
_COUNT = struct.Struct("<I")
# bytes of the tensor, format, dtype, name length, dims length, dimsV2 length, shape range length
_TENSOR = struct.Struct("<qIIIIII")


@dataclass(frozen=True)
class TensorInfo:
    """One input or output.

    Attributes:
        nbytes: size of the buffer, 0 when not known before the call.
        dtype: the number in GE's in-memory enumeration.
        dims: -1 for a size known only at the call.
        ranges: (low, high) for each dim, high -1 without an upper bound; empty when all dims are known.
    """

    name: str
    nbytes: int
    dtype: int
    dims: tuple[int, ...]
    ranges: tuple[tuple[int, int], ...] = ()
    format: int = FORMAT_ND


@dataclass(frozen=True)
class InOutInfo:
    """The whole partition; `others` are records of further types: (type, value)."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    others: tuple[tuple[int, bytes], ...] = field(default=())

    def pack(self) -> bytes:
        """The bytes of the partition."""
        records = [(INPUTS, _pack_tensors(self.inputs)), (OUTPUTS, _pack_tensors(self.outputs)), *self.others]
        return b"".join(_RECORD.pack(kind, len(value)) + value for kind, value in records)

    @staticmethod
    def unpack(data: bytes | memoryview) -> InOutInfo:
        """Read a partition.

        Raises:
            OfflineModelError: lengths or counts that do not fit, a record twice, or a name that is not UTF-8.
        """
        described: dict[int, tuple[TensorInfo, ...]] = {}
        others = []
        for kind, value in _records(memoryview(data)):
            if kind not in (INPUTS, OUTPUTS):
                others.append((kind, bytes(value)))
            elif kind in described:
                raise _damaged("a description that occurs twice")
            else:
                described[kind] = tuple(_unpack_tensors(value))
        return InOutInfo(described.get(INPUTS, ()), described.get(OUTPUTS, ()), tuple(others))


def _records(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    while data:
        if len(data) < _RECORD.size:
            raise _damaged("a record that is cut off")
        kind, size = _RECORD.unpack_from(data)
        if size > len(data) - _RECORD.size:
            raise _damaged(f"a record of {size} bytes where {len(data) - _RECORD.size} are left")
        yield kind, data[_RECORD.size : _RECORD.size + size]
        data = data[_RECORD.size + size :]


def _pack_tensors(tensors: Sequence[TensorInfo]) -> bytes:
    parts = [_COUNT.pack(len(tensors))]
    for tensor in tensors:
        name = tensor.name.encode()
        dims = struct.pack(f"<{len(tensor.dims)}q", *tensor.dims)
        ranges = b"".join(struct.pack("<qq", low, high) for low, high in tensor.ranges)
        parts.append(
            _TENSOR.pack(
                tensor.nbytes, tensor.format, tensor.dtype, len(name), len(dims), 0, len(ranges)
            )
            + name + dims + ranges
        )  # fmt: skip
    return b"".join(parts)


def _unpack_tensors(data: memoryview) -> Iterator[TensorInfo]:
    if len(data) < _COUNT.size:
        raise _damaged("a description without a count")
    (count,) = _COUNT.unpack_from(data)
    data = data[_COUNT.size :]
    for _ in range(count):
        if len(data) < _TENSOR.size:
            raise _damaged(f"a description of {count} tensors that is cut off")
        nbytes, layout, dtype, *sizes = _TENSOR.unpack_from(data)
        data = data[_TENSOR.size :]
        if sum(sizes) > len(data):
            raise _damaged("a tensor description that is cut off")
        name, dims, dims_v2, ranges = sizes
        if dims % 8 or dims_v2 % 8 or ranges % 16:
            raise _damaged("a shape whose length is no whole number of sizes")
        after_dims = name + dims
        after_v2 = after_dims + dims_v2
        try:
            text = bytes(data[:name]).decode()
        except UnicodeDecodeError as error:
            raise _damaged("a name that is not UTF-8") from error
        yield TensorInfo(
            text,
            nbytes,
            dtype,
            struct.unpack(f"<{dims // 8}q", data[name:after_dims]),
            tuple(struct.iter_unpack("<qq", data[after_v2 : after_v2 + ranges])),
            layout,
        )
        data = data[after_v2 + ranges :]
    if data:
        raise _damaged(f"{len(data)} bytes after the last tensor description")


def _damaged(what: str) -> OfflineModelError:
    return OfflineModelError(f"MODEL_INOUT_INFO holds {what}", fix="the file is damaged; write it again")
