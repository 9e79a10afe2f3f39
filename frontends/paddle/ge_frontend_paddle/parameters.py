"""Reads `.pdiparams`, tensors one after another without names; the file is mapped, never copied.

A tensor: uint32 version 0; uint64 count of LoD levels, each a uint64 count of bytes and the bytes; uint32 version 0;
int32 length of a protobuf TensorDesc (field 1 element type, field 2 sizes); then the data, little-endian. The order
is that of the parameters' names, sorted.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np

from ge_core.errors import ModelImportError
from ge_core.ir.constant import Constant
from ge_core.ir.types import TensorType
from ge_core.regular_file import open_regular

from .element_types import BY_NUMBER
from .program import Tensor

_MAX_LEVELS = 8
_MAX_DESCRIPTION = 1024
_MAX_RANK = 64


def read_parameters(path: Path, wanted: Mapping[str, Tensor]) -> dict[str, Constant]:
    """The parameters of a file by name, as views of the mapped file.

    Args:
        wanted: what the program says of them; the file has no names.

    Raises:
        ModelImportError: the file cannot be read, is damaged, or does not hold these tensors.
    """
    data = _map(path)
    found: dict[str, Constant] = {}
    offset = 0
    for name in sorted(wanted):
        constant, offset = _tensor(data, offset, f"the parameter {name!r}", path)
        declared = wanted[name]
        fits = constant.type.dtype == declared.dtype and _same(constant.type.shape, declared.shape)
        if not fits:
            raise ModelImportError(
                f"{path.name} holds {constant.type} where the program has the parameter {name!r}",
                expected=f"{declared.dtype}{list(declared.shape)}",
                fix="give the parameter file that was saved with this program",
            )
        found[name] = constant
    if offset != len(data):
        raise ModelImportError(
            f"{path.name} has {len(data) - offset} bytes more than the program has parameters",
            fix="give the parameter file that was saved with this program",
        )
    return found


def _same(stored: tuple[object, ...] | None, declared: tuple[int, ...]) -> bool:
    if stored is None or len(stored) != len(declared):
        return False
    return all(b in (-1, a) for a, b in zip(stored, declared, strict=True))


def _map(path: Path) -> memoryview:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)) if size else memoryview(b"")
    except OSError as error:
        raise ModelImportError(f"the parameter file cannot be read: {error.strerror}", where=str(path)) from error


def _tensor(data: memoryview, offset: int, what: str, path: Path) -> tuple[Constant, int]:
    """The tensor at an offset, and the offset behind it."""

    def take(count: int) -> memoryview:
        nonlocal offset
        if count < 0 or offset + count > len(data):
            raise ModelImportError(f"{path.name} ends inside of {what}", expected=f"{count} bytes at {offset}")
        part = data[offset : offset + count]
        offset += count
        return part

    version, levels = struct.unpack("<IQ", take(12))
    if version != 0 or levels > _MAX_LEVELS:
        raise ModelImportError(f"{path.name} is damaged at byte {offset - 12}: no tensor begins there", where=what)
    for _ in range(levels):
        (size,) = struct.unpack("<Q", take(8))
        take(size)
    version, length = struct.unpack("<Ii", take(8))
    if version != 0 or not 0 <= length <= _MAX_DESCRIPTION:
        raise ModelImportError(f"{path.name} is damaged at byte {offset - 8}: no description is there", where=what)
    number, shape = _description(bytes(take(length)), what, path)
    dtype = BY_NUMBER.get(number)
    if dtype is None:
        raise ModelImportError(f"{what} has the unknown element type number {number}", where=str(path))
    if len(shape) > _MAX_RANK or any(size < 0 for size in shape):
        raise ModelImportError(f"{what} has the shape {shape[:_MAX_RANK]}", where=str(path))
    raw = take(prod(shape) * (dtype.bits // 8))

    def load() -> np.ndarray:
        return np.frombuffer(raw, dtype.numpy).reshape(shape)

    return Constant(TensorType(dtype, tuple(shape)), load, str(path)), offset


def _description(data: bytes, what: str, path: Path) -> tuple[int, list[int]]:
    """Element type and sizes of a protobuf TensorDesc."""
    number, shape, at = -1, [], 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while at < len(data) and shift < 70:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << 64) if value >> 63 else value
        raise ModelImportError(f"the description of {what} is damaged", where=str(path))

    while at < len(data):
        tag = varint()
        if tag == 8:
            number = varint()
        elif tag == 16:
            shape.append(varint())
        elif tag == 18:
            end = varint() + at
            if not at <= end <= len(data):
                raise ModelImportError(f"the description of {what} is damaged", where=str(path))
            while at < end:
                shape.append(varint())
        else:
            raise ModelImportError(f"the description of {what} is damaged", where=str(path))
    return number, shape
