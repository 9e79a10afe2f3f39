"""Weights that are stored without their zeros (TFLite's SparsityParameters).

The stored tensor has the original axes and, behind them, one axis for each block; `traversal_order` says in which
order they are nested, `block_map` which original axis each block divides. Each level is dense, with a size, or
compressed like the rows of a CSR matrix: segment i of a level holds the indices from segments[i] to segments[i + 1].
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ge_core.errors import ModelImportError
from ge_core.ir.dtype import DType

from .flatbuffer import Table, members

_MAX_BYTES = 1 << 31


def dense(sparsity: Table, data: np.ndarray, shape: Sequence[int], dtype: DType, name: str) -> np.ndarray:
    """The whole tensor.

    Args:
        data: bytes of the elements that are stored.

    Raises:
        ModelImportError: the parameters contradict each other or the data.
    """
    order = _ints(sparsity, "traversal_order")
    blocks = _ints(sparsity, "block_map")
    levels = sparsity.tables("dim_metadata", "DimensionMetadata")
    rank = len(shape)
    if sorted(order) != list(range(len(levels))) or len(levels) != rank + len(blocks):
        raise _damaged(name, "the order of its levels")
    if any(not 0 <= b < rank for b in blocks) or math.prod(shape) * np.dtype(dtype.numpy).itemsize > _MAX_BYTES:
        raise _damaged(name, "its blocks or its size")
    block_sizes = [int(levels[order.index(rank + i)].get("dense_size")) for i in range(len(blocks))]
    if any(size < 1 for size in block_sizes):
        raise _damaged(name, "the sizes of its blocks")
    whole = np.zeros(tuple(shape), dtype.numpy)
    stored = data.view(dtype.numpy) if len(data) % whole.itemsize == 0 else data[:0]
    places = _places(levels, len(stored), max(whole.size, 1), name)
    inner = [1] * rank
    coordinates = [np.zeros(len(stored), np.int64) for _ in range(rank)]
    for i in reversed(range(len(blocks))):
        coordinates[blocks[i]] += places[order.index(rank + i)] * inner[blocks[i]]
        inner[blocks[i]] *= block_sizes[i]
    for axis in range(rank):
        coordinates[axis] += places[order.index(axis)] * inner[axis]
    for axis, size in enumerate(shape):
        if len(stored) and not (coordinates[axis].min() >= 0 and coordinates[axis].max() < size):
            raise _damaged(name, "an index")
    whole[tuple(coordinates)] = stored
    return whole


def _places(levels: Sequence[Table], count: int, most: int, name: str) -> list[np.ndarray]:
    """For each level the index of each stored element on it."""
    found: list[np.ndarray] = []
    segments = 1
    for level in levels:
        if members("DimensionType").get(int(level.get("format"))) == "DENSE":
            size = int(level.get("dense_size"))
            if size < 1 or segments * size > most:
                raise _damaged(name, "a size")
            repeats = np.full(segments, size, np.int64)
            here = np.tile(np.arange(size, dtype=np.int64), segments)
        else:
            starts = _vector(level, "array_segments", name)
            here = _vector(level, "array_indices", name)
            repeats = np.diff(starts)
            ends = len(starts) != segments + 1 or starts[0] != 0 or starts[-1] != len(here)
            if ends or (repeats < 0).any() or len(here) > count:
                raise _damaged(name, "its segments")
        found = [np.repeat(earlier, repeats) for earlier in found]
        found.append(here)
        segments = len(here)
    if segments != count:
        raise _damaged(name, f"its number of elements ({segments} against {count} stored)")
    return found


def _vector(level: Table, field: str, name: str) -> np.ndarray:
    kind = members("SparseIndexVector").get(int(level.get(f"{field}_type")), "NONE")
    table = None if kind == "NONE" else level.table(field, kind)
    values = None if table is None else table.get("values")
    if values is None:
        raise _damaged(name, field)
    return values.astype(np.int64)


def _ints(table: Table, field: str) -> list[int]:
    found = table.get(field)
    return [] if found is None else [int(v) for v in found]


def _damaged(name: str, what: str) -> ModelImportError:
    return ModelImportError(f"the sparse tensor {name!r} is damaged: {what}")
