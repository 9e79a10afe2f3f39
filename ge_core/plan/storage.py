"""How a value's elements lie in the bytes of its buffer, by type and layout, for host code.

Native kernels know their layouts; host steps and the reference target read and write through this file alone.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np

from ge_core.errors import PlanError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType, pack, unpack
from ge_core.ir.types import Layout, TensorType
from ge_core.plan.aligned import aligned_bytes
from ge_core.processors import processors

Shape = tuple[int, ...]
_RUN = 64
"""Neighbours that are moved as one element."""
_LARGE = 4 << 20
"""Bytes from which a copy is shared by threads: numpy leaves the interpreter while it copies."""
_LINES = 32
"""Lines of a source whose parts stay in the cache until all of them are copied."""


class Codec:
    """Reads and writes the logical array of one value.

    Args:
        dtype: element type.
        layout: None is row-major.

    Attributes:
        direct: the logical array is a numpy view of the bytes, so that `view` works.
        writable: writing through that view is all that `store` would do (there is no halo to fill).
    """

    def __init__(self, dtype: DType, layout: Layout | None) -> None:
        self.dtype = dtype
        self.layout = None if layout is None or layout.is_row_major else layout
        self.direct = dtype.bits >= 8 and not (self.layout and self.layout.blocks)
        self.writable = self.direct and not self._halo

    @property
    def _halo(self) -> bool:
        return self.layout is not None and any(map(any, self.layout.halo))

    def storage_shape(self, shape: Shape) -> Shape:
        """Sizes of the storage axes for a logical shape."""
        if self.layout is None:
            return shape
        return tuple(int(d) for d in self.layout.storage_shape(shape) if isinstance(d, int))

    def nbytes(self, shape: Shape) -> int:
        """Bytes of the buffer for a logical shape."""
        count = 1
        for d in self.storage_shape(shape):
            count *= d
        return self.dtype.nbytes(count)

    def view(self, data: np.ndarray, shape: Shape) -> np.ndarray:
        """The logical array in the bytes `data` (uint8, at least `nbytes(shape)`), sharing memory."""
        if not self.direct:
            raise PlanError(f"{self.dtype} in layout {self.layout} has no view")
        n = self.nbytes(shape)
        if self.layout is None:
            return data[:n].view(self.dtype.numpy).reshape(shape)
        stored = data[:n].view(self.dtype.numpy).reshape(self.storage_shape(shape))
        return self._interior(stored, shape)

    def load(self, data: np.ndarray, shape: Shape) -> np.ndarray:
        """The logical array; a view where there is one, else a new array."""
        if self.direct:
            return self.view(data, shape)
        n = self.nbytes(shape)
        stored = unpack(data[:n].data, self.dtype, self.storage_shape(shape))
        if self.layout is None:
            return stored
        return self._interior(self._joined(stored, shape), shape)

    def store(self, data: np.ndarray, shape: Shape, array: np.ndarray) -> None:
        """Write a logical array, with halo and block padding."""
        if self.writable:
            np.copyto(self.view(data, shape), array)
            return
        n = self.nbytes(shape)
        if self.layout is None:
            data[:n] = np.frombuffer(pack(array, self.dtype), np.uint8)
            return
        padded = array
        if self._padded(shape) != shape:
            padded = np.full(self._padded(shape), self.layout.fill, self.dtype.numpy)
            before = [h[0] for h in self.layout.halo] or [0] * len(shape)
            padded[tuple(slice(b, b + d) for b, d in zip(before, shape, strict=True))] = array
        stored = self._split(padded)
        if self.dtype.bits >= 8:
            _copy(data[:n].view(self.dtype.numpy).reshape(stored.shape), stored)
        else:
            data[:n] = np.frombuffer(pack(stored, self.dtype), np.uint8)

    def _padded(self, shape: Shape) -> Shape:
        """The logical shape with halo, rounded up to whole blocks."""
        assert self.layout is not None
        sizes = [d + sum(self.layout.halo[i]) if self.layout.halo else d for i, d in enumerate(shape)]
        for axis, block in self._block_of().items():
            sizes[axis] = -(-sizes[axis] // block) * block
        return tuple(sizes)

    def _block_of(self) -> dict[int, int]:
        assert self.layout is not None
        blocks: dict[int, int] = {}
        for axis, block in self.layout.blocks:
            blocks[axis] = blocks.get(axis, 1) * block
        return blocks

    def _split_axes(self) -> tuple[int, ...]:
        """For each storage axis its position after every logical axis is split into (outer, blocks...)."""
        assert self.layout is not None
        rank = len(self.layout.order)
        position: dict[tuple[int, int], int] = {}
        for axis in range(rank):
            for k in range(1 + sum(1 for a, _ in self.layout.blocks if a == axis)):
                position[axis, k] = len(position)
        seen = dict.fromkeys(range(rank), 0)
        axes = [position[axis, 0] for axis in self.layout.order]
        for axis, _ in self.layout.blocks:
            seen[axis] += 1
            axes.append(position[axis, seen[axis]])
        return tuple(axes)

    def _split_shape(self, padded: Shape) -> Shape:
        assert self.layout is not None
        out: list[int] = []
        for axis, size in enumerate(padded):
            blocks = [b for a, b in self.layout.blocks if a == axis]
            out += [size // int(np.prod(blocks, dtype=np.int64)), *blocks]
        return tuple(out)

    def _split(self, padded: np.ndarray) -> np.ndarray:
        """Padded logical array -> storage array."""
        return padded.reshape(self._split_shape(padded.shape)).transpose(self._split_axes())

    def _joined(self, stored: np.ndarray, shape: Shape) -> np.ndarray:
        """Storage array -> padded logical array."""
        return stored.transpose(np.argsort(self._split_axes())).reshape(self._padded(shape))

    def _interior(self, array: np.ndarray, shape: Shape) -> np.ndarray:
        """The logical array inside a padded logical array, or inside a storage array without blocks."""
        assert self.layout is not None
        if not self.layout.blocks:
            array = array.transpose(np.argsort(self.layout.order))
        before = [h[0] for h in self.layout.halo] or [0] * len(shape)
        return array[tuple(slice(b, b + d) for b, d in zip(before, shape, strict=True))]


def _copy(target: np.ndarray, source: np.ndarray) -> None:
    """Copy an array into a C-contiguous one of its shape; a large one in threads."""
    threads = min(processors(), len(target)) if target.nbytes >= _LARGE else 1
    if threads < 2:
        _copy_part(target, source)
        return
    share = -(-len(target) // threads)
    parts = [slice(start, start + share) for start in range(0, len(target), share)]
    try:
        with ThreadPoolExecutor(max_workers=threads) as pool:
            list(pool.map(lambda part: _copy_part(target[part], source[part]), parts))
    except RuntimeError:  # the interpreter is about to end, and begins with no more threads
        _copy_part(target, source)


def _copy_part(target: np.ndarray, source: np.ndarray) -> None:
    """Where runs of neighbours stay together they are moved as one element each, and a few of the source's lines at a
    time: up to six times as fast as element by element.
    """
    run = source.shape[-1] * source.itemsize
    if source.ndim < 3 or source.strides[-1] != source.itemsize or not 1 < source.shape[-1] <= _RUN or not source.size:
        np.copyto(target, source)
        return
    to, what = (array.view(f"V{run}")[..., 0] for array in (target, source))
    axis = int(np.argmax(np.abs(what.strides)))
    to, what = np.moveaxis(to, axis, 0), np.moveaxis(what, axis, 0)
    for start in range(0, len(what), _LINES):
        np.copyto(to[start : start + _LINES], what[start : start + _LINES])


def stored_constant(type: TensorType, layout: Layout, data: np.ndarray, source: str = "") -> Constant:
    """A constant whose data are kept in a layout.

    Args:
        type: static.
        data: uint8, exactly the bytes that type and layout take.
    """
    place, shape = codec(type.dtype, layout), static_shape(type)
    if data.dtype != np.uint8 or data.size != place.nbytes(shape):
        raise PlanError(f"{data.size} bytes for {type} stored {layout}", expected=f"{place.nbytes(shape)}")
    constant = Constant(type, lambda: place.load(data, shape), source)
    constant.stored = layout, data
    return constant


def constant_bytes(constant: Constant, layout: Layout | None) -> np.ndarray:
    """The bytes (uint8) of a constant in a layout; its own memory where the data are kept so.

    Of data in a file they are made when this is called, and again when nobody holds them any more.
    """
    layout = None if layout is None or layout.is_row_major else layout
    if constant.residence == "memory":
        return _bytes_of(constant, layout)
    return constant.kept(layout, lambda: _bytes_of(constant, layout))


def _bytes_of(constant: Constant, layout: Layout | None) -> np.ndarray:
    if layout is None:
        array = constant.array()
        if constant.type.dtype.bits >= 8:
            return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return np.frombuffer(pack(array, constant.type.dtype), np.uint8)
    if constant.stored is not None and constant.stored[0] == layout:
        return constant.stored[1]
    place, shape = codec(constant.type.dtype, layout), static_shape(constant.type)
    data = aligned_bytes(place.nbytes(shape))
    place.store(data, shape, constant.array())
    return data


def static_shape(type: TensorType) -> tuple[int, ...]:
    """The shape of a static type as plain ints."""
    assert type.is_static and type.shape is not None
    return tuple(d for d in type.shape if isinstance(d, int))


@lru_cache(maxsize=4096)
def codec(dtype: DType, layout: Layout | None) -> Codec:
    """The codec of an element type and layout."""
    return Codec(dtype, layout)
