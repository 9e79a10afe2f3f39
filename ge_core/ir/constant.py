"""Constant data: lazy, shared with its source, equal by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ge_core.errors import GraphError
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, pack
from ge_core.ir.types import Layout, TensorType

Content: TypeAlias = tuple[Size, ...]

MAX_CONTENT = 64
_SAMPLES = 16
"""Elements of a sample."""


class Constant:
    """Read-only tensor data, loaded on first use and then shared with its source.

    Args:
        type: a static tensor type.
        load: returns the array (numpy dtype `type.dtype.numpy`, shape `type.shape`); it may be a view of
            memory that the framework or a mapped file owns.
        source: where the data is, for messages and for writers that can refer to a file.

    Attributes:
        stored: layout and bytes (uint8) when the data are kept as kernels read them; `array` then makes a copy in
            row-major order, which is not kept.
    """

    __slots__ = ("_array", "_digest", "_load", "_sample", "source", "stored", "type")

    def __init__(self, type: TensorType, load: Callable[[], np.ndarray], source: str = "") -> None:
        self.type, self._load, self.source = type, load, source
        self._array: np.ndarray | None = None
        self._digest: str | None = None
        self._sample: bytes | None = None
        self.stored: tuple[Layout, np.ndarray] | None = None

    @staticmethod
    def of(array: np.ndarray | np.generic, dtype: DType | None = None) -> Constant:
        """A constant that holds `array` itself."""
        array = np.asarray(array)
        dtype = dtype or DType.of(array.dtype)
        constant = Constant(TensorType(dtype, tuple(int(d) for d in array.shape)), lambda: array)
        return constant

    def array(self) -> np.ndarray:
        """The data; do not write to it."""
        if self._array is None:
            array = self._load()
            if tuple(array.shape) != self.type.shape or (
                array.dtype != self.type.dtype.numpy and self.type.dtype.kind != "string"
            ):
                raise GraphError(
                    f"constant data {array.dtype}{list(array.shape)} does not fit its type {self.type}",
                    where=self.source or None,
                )
            if self.stored is not None:
                return array
            self._array = array
        return self._array

    @property
    def nbytes(self) -> int:
        n = self.type.nbytes()
        assert isinstance(n, int)
        return n

    def digest(self) -> str:
        """Hex SHA-256 of type and packed bytes: equal digests are equal constants."""
        if self._digest is None:
            h = hashlib.sha256(str(self.type).encode())
            array = self.array()
            if self.type.dtype.kind == "string":
                h.update(repr(array.tolist()).encode())
            elif self.type.dtype.bits >= 8 and array.flags.c_contiguous:
                h.update(array.reshape(-1).view(np.uint8).data)
            else:
                h.update(pack(array, self.type.dtype))
            self._digest = h.hexdigest()
        return self._digest

    def sample(self) -> bytes:
        """A few elements: constants of one type whose samples differ are not equal."""
        if self._sample is None:
            array = self.array()
            if array.size <= _SAMPLES or self.type.dtype.kind == "string":
                few = array.reshape(-1)[:_SAMPLES]
            else:
                places = np.arange(_SAMPLES) * (array.size - 1) // (_SAMPLES - 1)
                few = array[np.unravel_index(places, array.shape)]
            self._sample = repr(few.tolist()).encode() if self.type.dtype.kind == "string" else few.tobytes()
        return self._sample


def content_of(constant: Constant) -> Content | None:
    """The elements of a small integer constant, None for anything else."""
    n = constant.type.elements
    if not constant.type.dtype.is_integer or not isinstance(n, int) or n > MAX_CONTENT or (constant.type.rank or 0) > 1:
        return None
    return tuple(int(x) for x in constant.array().ravel())
