"""Reference kernels of operators that write elements at indices. Repeated indices are applied in order."""

from __future__ import annotations

import numpy as np

from ge_core.errors import IndexRangeError
from ge_core.ir.dtype import DType
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.cast import convert, widened
from ge_core.reference.gather import checked, element_places, tuple_places

Array = np.ndarray

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sum": np.add, "mean": np.add, "mul": np.multiply, "prod": np.multiply, "max": np.maximum,
    "min": np.minimum,
}  # fmt: skip


def _identity(reduction: str, dtype: DType) -> float | int:
    if reduction in ("sum", "mean"):
        return 0
    if reduction == "prod":
        return 1
    if dtype.is_float:
        return -np.inf if reduction == "max" else np.inf
    return dtype.min if reduction == "max" else dtype.max


def _scatter(call: Call, data: Array, places: tuple[Array, ...], updates: Array) -> Array:
    reduction = call.attr("reduction")
    if reduction == "none":
        out = data.copy()
        out[places] = updates
        return out
    out = np.array(widened(data))
    _UFUNCS[reduction].at(out, places, widened(updates))
    return convert(out, call.dtype())


def _element_places(call: Call, data: Array, indices: Array) -> tuple[Array, ...]:
    axis = call.attr("axis") % data.ndim
    for i, (n, m) in enumerate(zip(indices.shape, data.shape, strict=True)):
        if i != axis and n > m:
            raise call.error(IndexRangeError, f"indices {list(indices.shape)} reach beyond data {list(data.shape)}")
    return element_places(checked(call, indices, data.shape[axis]), axis)


@kernel("ScatterElements")
def scatter_elements(call: Call, data: Array, indices: Array, updates: Array) -> Array:
    places = _element_places(call, data, indices)
    return _scatter(call, data, places, updates[tuple(slice(0, n) for n in indices.shape)])


@kernel("ScatterND")
def scatter_nd(call: Call, data: Array, indices: Array, updates: Array) -> Array:
    return _scatter(call, data, tuple_places(call, data.shape, indices), updates)


@kernel("ge.ScatterReduce")
def scatter_reduce(call: Call, data: Array, indices: Array, updates: Array) -> Array:
    reduction, dtype = call.attr("reduction"), call.dtype()
    places = _element_places(call, data, indices)
    out = np.array(widened(data))
    own = bool(call.attr("include_self"))
    if not own:
        out[places] = _identity(reduction, dtype)
    _UFUNCS[reduction].at(out, places, widened(updates[tuple(slice(0, n) for n in indices.shape)]))
    if reduction == "mean":
        counts = np.full(out.shape, int(own), np.int64)
        np.add.at(counts, places, 1)
        out = _divided(out, np.maximum(counts, 1))
    return convert(out, dtype)


def _divided(total: Array, counts: Array) -> Array:
    """Means; of integers rounded down."""
    return total // counts.astype(total.dtype) if total.dtype.kind in "iu" else total / counts.astype(total.dtype)


@kernel("TensorScatter")
def tensor_scatter(call: Call, cache: Array, update: Array, starts: Array | None = None) -> Array:
    axis = call.attr("axis") % cache.ndim
    steps, room = update.shape[axis], cache.shape[axis]
    first = np.zeros(cache.shape[0], np.int64) if starts is None else starts
    at = first[:, None] + np.arange(steps)
    if call.attr("mode") == "circular":
        at %= room
    elif at.size and (at.min() < 0 or at.max() >= room):
        raise call.error(IndexRangeError, f"writes at {at.min()}..{at.max()} into a cache of {room} steps")
    # the batch axis and the sequence axis go together, all others lie behind them
    out = np.moveaxis(cache, axis, 1).copy()
    out[np.arange(cache.shape[0])[:, None], at] = np.moveaxis(update, axis, 1)
    return np.moveaxis(out, 1, axis)


@kernel("ge.MaskedScatter")
def masked_scatter(call: Call, x: Array, mask: Array, source: Array) -> Array:
    mask = np.broadcast_to(mask, x.shape)
    count = np.count_nonzero(mask)
    if count > source.size:
        raise call.error(IndexRangeError, f"mask picks {count} elements, source has {source.size}")
    out = x.copy()
    out[mask] = source.reshape(-1)[:count]
    return out


@kernel("ge.SegmentReduce")
def segment_reduce(call: Call, data: Array, ids: Array, size: Array) -> Array:
    reduction, count = call.attr("reduction"), int(size.reshape(()))
    if ids.size and (ids.min() < 0 or ids.max() >= count):
        raise call.error(IndexRangeError, f"ids {ids.min()}..{ids.max()} exceed {count} segments")
    wide = widened(data)
    out = np.full((count, *data.shape[1:]), _identity(reduction, call.dtype()), wide.dtype)
    _UFUNCS[reduction].at(out, ids, wide)
    if reduction == "mean":
        rows = np.maximum(np.bincount(ids, minlength=count), 1)
        out = _divided(out, rows.reshape(-1, *[1] * (data.ndim - 1)))
    return convert(out, call.dtype())
