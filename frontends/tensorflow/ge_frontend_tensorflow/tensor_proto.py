"""Tensors in files as constants: views of the message's bytes where it holds them as bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ge_core.errors import ModelImportError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.types import TensorType
from ge_core.om.message_table import Message

from .element_types import dtype_of

_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "uint8": "int_val", "int16": "int_val",
    "int8": "int_val", "uint16": "int_val", "int64": "int64_val", "bool": "bool_val", "uint32": "uint32_val",
    "uint64": "uint64_val", "float16": "half_val", "bfloat16": "half_val", "complex64": "scomplex_val",
    "complex128": "dcomplex_val", "int4": "int_val", "uint4": "int_val", "float8e5m2": "int_val",
}  # fmt: skip
_MAX_ELEMENTS = 1 << 31
_MAX_RANK = 32
_AS_BITS = {"float16": np.uint16, "bfloat16": np.uint16}


def static_shape(shape: Message, what: str) -> tuple[int, ...]:
    """The sizes of a TensorShapeProto that must be complete.

    Raises:
        ModelImportError: it is unknown, negative or beyond what a tensor can have.
    """
    sizes = tuple(int(d.size) for d in shape.dim)
    if shape.unknown_rank or any(s < 0 for s in sizes) or len(sizes) > _MAX_RANK or math.prod(sizes) > _MAX_ELEMENTS:
        raise ModelImportError(f"{what} has the shape {list(sizes)}", expected="a complete shape of reasonable size")
    return sizes


def constant_of_proto(proto: Message, what: str) -> Constant:
    """The constant of a TensorProto; its data are decoded when they are first read.

    Raises:
        ModelImportError: the data do not fit the shape.
        UnsupportedError: the element type is not supported.
    """
    dtype = dtype_of(proto.dtype, what)
    shape = static_shape(proto.tensor_shape, what)
    count = math.prod(shape)
    width = dtype.numpy.itemsize
    size = len(proto.tensor_content)
    if size and size != count * width:
        raise ModelImportError(f"{what} of {count} elements has {size} bytes", expected=f"{count * width}")
    if not size and dtype.name not in _FIELDS:
        raise ModelImportError(f"{what} of {dtype} has no data")
    return Constant(TensorType(dtype, shape), lambda: _decode(proto, dtype, shape, what), what)


def _decode(proto: Any, dtype: DType, shape: tuple[int, ...], what: str) -> np.ndarray:
    if proto.tensor_content:
        return np.frombuffer(proto.tensor_content, dtype.numpy).reshape(shape)
    values = getattr(proto, _FIELDS[dtype.name])
    count = math.prod(shape)
    pairs = 2 if dtype.kind == "complex" else 1
    if len(values) > count * pairs or len(values) % pairs:
        raise ModelImportError(f"{what} of {count} elements has {len(values)} values")
    if not values:
        return np.broadcast_to(np.zeros((), dtype.numpy), shape)
    if dtype.name in _AS_BITS:
        data = np.array(values, np.int64).astype(np.uint16).view(dtype.numpy)
    elif pairs == 2:
        data = np.array(values, np.float64).reshape(-1, 2) @ np.array([1, 1j])
        data = data.astype(dtype.numpy)
    else:
        data = np.array(values).astype(dtype.numpy)
    if len(data) == 1:
        return np.broadcast_to(data.reshape(()), shape)
    # the last value stands for all that follow it
    whole = np.full(count, data[-1], dtype.numpy)
    whole[: len(data)] = data
    return whole.reshape(shape)
