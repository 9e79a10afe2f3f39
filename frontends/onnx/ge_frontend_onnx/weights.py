"""TensorProtos as constants of the graph: lazy, on the memory of the model or of a mapped file."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ge_core.errors import ModelImportError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType, unpack
from ge_core.ir.types import TensorType

from .element_types import dtype_of
from .external_data import ExternalData

_EXTERNAL = 1  # TensorProto.DataLocation
_MOST_DENSE_BYTES = 1 << 31

# The field that holds the elements of a type when raw_data does not.
_FIELDS = {
    "float32": "float_data",
    "complex64": "float_data",
    "float64": "double_data",
    "complex128": "double_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
}


class Weights:
    """Reads the tensors of one model.

    Args:
        external: the files beside the model.
        owned: the model's messages were made for this import alone, so that their bytes can be kept.
    """

    def __init__(self, external: ExternalData, owned: bool) -> None:
        self._external, self._owned = external, owned

    def constant(self, proto: Any, name: str | None = None) -> Constant:
        """The constant of a TensorProto.

        Args:
            name: what the tensor is called in messages, where it has no name of its own.

        Raises:
            ModelImportError: type, shape and data do not fit, or external data cannot be read.
            UnsupportedError: the element type is not supported.
        """
        where = f"the tensor {proto.name or name or '(without name)'!r}"
        dtype = dtype_of(proto.data_type, where)
        shape = _shape(proto, where)
        if proto.HasField("segment"):
            raise ModelImportError(f"{where} is stored in segments", expected="one tensor")
        kind, source = TensorType(dtype, shape), proto.name or name or ""
        if proto.data_location == _EXTERNAL:
            part = self._external.part_of(proto, dtype.nbytes(math.prod(shape)))
            return Constant(kind, lambda: unpack(part.bytes(), dtype, shape), source, "file", part.identity)
        return Constant(kind, self._loader(proto, dtype, shape, where), source)

    def _loader(self, proto: Any, dtype: DType, shape: tuple[int, ...], where: str) -> Callable[[], np.ndarray]:
        count = math.prod(shape)
        nbytes = dtype.nbytes(count)
        if proto.HasField("raw_data"):
            raw: bytes = proto.raw_data
            if len(raw) != nbytes:
                raise ModelImportError(
                    f"{where} holds {len(raw)} bytes", expected=f"{nbytes} for {TensorType(dtype, shape)}"
                )
            if self._owned:
                return lambda: unpack(raw, dtype, shape)
            return lambda: unpack(proto.raw_data, dtype, shape)
        field = _FIELDS.get(dtype.name, "int32_data")
        have, want = len(getattr(proto, field)), _stored(dtype, count)
        if have != want:
            raise ModelImportError(
                f"{where} holds {have} numbers in {field}", expected=f"{want} for {TensorType(dtype, shape)}"
            )
        return lambda: _typed(getattr(proto, field), dtype, shape)

    def dense(self, proto: Any, name: str | None = None) -> Constant:
        """The constant of a SparseTensorProto, with its zeros.

        Raises:
            ModelImportError: indices are out of range, or the dense tensor is over 2 GiB.
        """
        values = self.constant(proto.values, name)
        indices = self.constant(proto.indices, name)
        where = f"the sparse tensor {proto.values.name or name or '(without name)'!r}"
        shape = tuple(int(d) for d in proto.dims)
        count = math.prod(shape)
        dtype = values.type.dtype
        if any(d < 0 for d in shape) or dtype.nbytes(count) > _MOST_DENSE_BYTES:
            raise ModelImportError(f"{where} has the shape {list(shape)}", expected="a dense tensor of at most 2 GiB")
        places = indices.array().astype(np.int64)
        stored = values.type.elements
        if places.ndim == 2 and places.shape == (stored, len(shape)):
            inside = bool(((places >= 0) & (places < np.array(shape, np.int64))).all())
            flat = places @ np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))], np.int64)
        elif places.ndim == 1 and len(places) == stored:
            flat, inside = places, bool(((places >= 0) & (places < count)).all())
        else:
            raise ModelImportError(f"{where} has indices of shape {list(places.shape)} for {stored} values")
        if not inside:
            raise ModelImportError(f"{where} has an index outside of its shape {list(shape)}")
        array = np.zeros(count, dtype.numpy)
        array[flat] = values.array().reshape(-1)
        return Constant.of(array.reshape(shape), dtype)


def _shape(proto: Any, where: str) -> tuple[int, ...]:
    shape = tuple(int(d) for d in proto.dims)
    if any(d < 0 for d in shape):
        raise ModelImportError(f"{where} has the shape {list(shape)}", expected="sizes of 0 and more")
    return shape


def _stored(dtype: DType, count: int) -> int:
    """How many numbers the typed field of a TensorProto has for `count` elements."""
    if dtype.kind == "complex":
        return 2 * count
    return dtype.nbytes(count) if dtype.bits < 8 else count


def _typed(numbers: Any, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """The array of a typed field; 16-bit and smaller types stand in int32_data as their bits."""
    if dtype.kind == "complex":
        parts = np.array(numbers, np.float64 if dtype.bits == 128 else np.float32)
        return parts.view(dtype.numpy).reshape(shape)
    if dtype.bits < 8:
        return unpack(np.array(numbers, np.int64).astype(np.uint8).tobytes(), dtype, shape)
    if dtype.is_float and dtype.bits <= 16:
        bits = np.array(numbers, np.int64).astype(np.uint16 if dtype.bits == 16 else np.uint8)
        return bits.view(dtype.numpy).reshape(shape)
    if dtype.kind == "bool":
        return (np.array(numbers, np.int64) != 0).reshape(shape)
    wide = np.uint64 if dtype.name in ("uint32", "uint64") else np.int64
    return np.array(numbers, dtype.numpy if dtype.is_float else wide).astype(dtype.numpy).reshape(shape)
