"""The data of constants in AIR files: inside the message, or in files beside it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ge_ascend.air.model import AirNode
from ge_core.errors import ModelImportError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DTYPES, DType, unpack
from ge_core.ir.types import TensorType

BY_PROTO: dict[int, DType] = {d.ge_proto: d for d in DTYPES if d.ge_proto is not None}
BY_MEMORY: dict[int, DType] = {d.ge_memory: d for d in DTYPES if d.ge_memory is not None}


def dtype_of(number: int, where: str) -> DType:
    """The element type of a descriptor's number.

    Raises:
        ModelImportError: there is no such type here.
    """
    if number not in BY_PROTO:
        raise ModelImportError(f"element type number {number} of {where} is unknown")
    return BY_PROTO[number]


def static_shape(shape: tuple[int, ...], where: str) -> tuple[int, ...]:
    """The shape of a constant.

    Raises:
        ModelImportError: it has a negative size, or more elements than any memory.
    """
    if any(size < 0 for size in shape) or math.prod(max(size, 1) for size in shape) > 1 << 48:
        raise ModelImportError(f"{where} has the shape {list(shape)}", expected="known sizes")
    return shape


def tensor(message: Any, where: str) -> Constant:
    """The constant of a TensorDef.

    Raises:
        ModelImportError: its bytes do not fit its type.
    """
    dtype = dtype_of(message.desc.dtype, where)
    kind = TensorType(dtype, static_shape(tuple(message.desc.shape.dim), where))
    data = message.data
    needed = kind.nbytes()
    if len(data) != needed:
        raise ModelImportError(f"{where} has {len(data)} bytes", expected=f"{needed} for {kind}")
    return Constant(kind, lambda: unpack(data, dtype, kind.shape or ()), where)  # type: ignore[arg-type]


def file_constant(node: AirNode, folder: str) -> Constant:
    """The constant of a FileConstant node; its file is mapped, not read.

    Raises:
        ModelImportError: no path, a path out of the folder, or a file of another size.
    """
    path = node.attrs.get("location") or node.attrs.get("file_path")
    if not isinstance(path, str) or not path:
        raise ModelImportError(f"{node.name} names no file", expected="the attribute file_path or location")
    root = Path(folder).resolve()
    target = (root / path).resolve()
    if not target.is_relative_to(root):
        raise ModelImportError(f"{node.name} names {path}", expected=f"a file in the folder {root}")
    number = node.attrs.get("dtype")
    dtype = BY_MEMORY.get(number.number) if number is not None and hasattr(number, "number") else None
    if dtype is None:
        raise ModelImportError(f"{node.name} has no known element type", expected="the attribute dtype")
    shape = static_shape(tuple(int(s) for s in node.attrs.get("shape") or ()), node.name)
    kind = TensorType(dtype, shape)
    needed = kind.nbytes()
    assert isinstance(needed, int)
    offset = int(node.attrs.get("offset") or 0)
    try:
        have = target.stat().st_size
    except OSError as error:
        raise ModelImportError(f"the weights of {node.name} cannot be read: {error.strerror}", where=target) from error
    if offset < 0 or have < offset + needed:
        raise ModelImportError(f"{path} has {have} bytes", expected=f"{needed} from {offset} on for {kind}")
    return Constant(kind, lambda: _mapped(target, offset, needed, dtype, shape), str(target))


def _mapped(target: Path, offset: int, needed: int, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    if needed == 0:
        return np.zeros(shape, dtype.numpy)
    return unpack(np.memmap(target, np.uint8, "r", offset, (needed,)).data, dtype, shape)
