"""Tensors of a MindIR file as constants of the graph: lazy, on the memory of the file or of the live cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.types import TensorType
from ge_core.om.message_table import Message

from .element_types import of_file
from .messages import damaged
from .model_file import Parameter


def parameter_constant(parameter: Parameter, live: Mapping[str, Callable[[], np.ndarray]]) -> Constant:
    """The constant of a parameter.

    Args:
        live: loads parameters of a live cell by name; their memory is taken instead of the file's.

    Raises:
        ModelImportError: type, shape and data do not fit.
        UnsupportedError: the element type is not supported.
    """
    where = f"the parameter {parameter.key!r}"
    type = _type(parameter.proto, where)
    load = live.get(parameter.key)
    if load is None:
        load = _loader(parameter.data, type, where)
    return Constant(type, load, parameter.key)


def tensor_constant(proto: Message, where: str) -> Constant:
    """The constant of a TensorProto that stands in a node.

    Raises:
        ModelImportError: type, shape and data do not fit.
        UnsupportedError: the element type is not supported, or the tensor is compressed.
    """
    type = _type(proto, where)
    return Constant(type, _loader(memoryview(proto.raw_data), type, where), where)


def tensor_type(proto: Message, where: str) -> tuple[DType, tuple[int, ...]]:
    """Element type and sizes of a TensorProto that describes a value; a size of -1 is unknown, of -2 the rank."""
    return of_file(proto.data_type, where), tuple(int(d) for d in proto.dims)


def _type(proto: Message, where: str) -> TensorType:
    dtype, shape = tensor_type(proto, where)
    if any(d < 0 for d in shape):
        raise damaged(f"{where} has the shape {list(shape)}")
    return TensorType(dtype, shape)


def _loader(data: memoryview, type: TensorType, where: str) -> Callable[[], np.ndarray]:
    shape: Any = type.shape
    needed = type.dtype.nbytes(math.prod(shape))
    if len(data) != needed:
        raise damaged(f"{where} has {len(data)} bytes, and {type} needs {needed}")
    return lambda: np.frombuffer(data, type.dtype.numpy).reshape(shape)
