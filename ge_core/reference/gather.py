"""Reference kernels of Gather, GatherElements and GatherND."""

from __future__ import annotations

import numpy as np

from ge_core.errors import IndexRangeError
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call

Array = np.ndarray


def checked(call: Call, indices: Array, size: int) -> Array:
    """Indices made non-negative.

    Raises:
        IndexRangeError: one is outside -size..size-1.
    """
    if indices.size == 0:
        return indices
    low, high = indices.min(), indices.max()
    if low < -size or high >= size:
        bad = low if low < -size else high
        raise call.error(IndexRangeError, f"index {bad} is out of range for an axis of {size}")
    return np.where(indices < 0, indices + size, indices) if low < 0 else indices


@kernel("Gather")
def gather(call: Call, data: Array, indices: Array) -> Array:
    axis = call.attr("axis")
    return np.asarray(data.take(checked(call, indices, data.shape[axis]), axis))


@kernel("GatherElements")
def gather_elements(call: Call, data: Array, indices: Array) -> Array:
    axis = call.attr("axis") % max(data.ndim, 1)
    for i, (n, m) in enumerate(zip(indices.shape, data.shape, strict=True)):
        if i != axis and n > m:
            raise call.error(IndexRangeError, f"indices {list(indices.shape)} reach beyond data {list(data.shape)}")
    return data[element_places(checked(call, indices, data.shape[axis]), axis)]


def element_places(indices: Array, axis: int) -> tuple[Array, ...]:
    """Index arrays for all axes: `indices` on one, each element's own place on the others."""
    places = list(np.ogrid[tuple(slice(0, n) for n in indices.shape)])
    places[axis] = indices
    return tuple(places)


@kernel("GatherND")
def gather_nd(call: Call, data: Array, indices: Array) -> Array:
    batch = call.attr("batch_dims")
    return np.asarray(data[tuple_places(call, data.shape, indices, batch)])


def tuple_places(call: Call, shape: tuple[int, ...], indices: Array, batch: int = 0) -> tuple[Array, ...]:
    """Index arrays from vectors of indices in the last axis; the first `batch` axes go along with the data's."""
    lead = np.ogrid[tuple(slice(0, n) for n in indices.shape[:batch])] if batch else []
    own = indices.ndim - 1 - batch
    along = [np.asarray(a).reshape(a.shape + (1,) * own) for a in lead]
    picked = [checked(call, indices[..., k], shape[batch + k]) for k in range(indices.shape[-1])]
    return (*along, *picked)
