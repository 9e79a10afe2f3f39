"""Reference kernels of sorting, searching and counting. NaN is greater than every number."""

from __future__ import annotations

import numpy as np

from ge_core.errors import IndexRangeError, SizeBoundError
from ge_core.ir.dtype import string
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.cast import convert, widened

Array = np.ndarray


@kernel("NonZero")
def non_zero(call: Call, x: Array) -> Array:
    x = x != "" if x.dtype == string.numpy else widened(x)
    if x.ndim == 0:
        return np.zeros((0, int(x != 0)), np.int64)
    return np.stack(x.nonzero())


@kernel("Unique")
def unique(call: Call, x: Array) -> tuple[Array, ...]:
    axis = call.attr("axis")
    text = x.dtype == string.numpy
    keys = x.astype(np.str_) if text else widened(x)
    values, first, inverse, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    inverse = inverse.reshape(-1)
    if not call.attr("sorted"):
        order = first.argsort()
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        values = values.take(order, axis or 0)
        first, inverse, counts = first[order], rank[inverse], counts[order]
    values = values.astype(np.object_) if text else convert(values, call.dtype())
    return values, first, inverse, counts


def order(x: Array, axis: int, descending: bool) -> Array:
    """The stable order of the elements along an axis: of equal ones the first comes first."""
    x = widened(x)
    if not descending:
        return x.argsort(axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(np.flip(x, axis).argsort(axis, kind="stable"), axis)


@kernel("TopK")
def top_k(call: Call, x: Array, k: Array) -> tuple[Array, Array]:
    axis, count = call.attr("axis") % x.ndim, int(k.reshape(()))
    if not 0 <= count <= x.shape[axis]:
        raise call.error(IndexRangeError, f"k is {count}, axis {axis} has {x.shape[axis]}")
    places = order(x, axis, bool(call.attr("largest")))
    places = places[(slice(None),) * axis + (slice(0, count),)]
    return np.take_along_axis(x, places, axis), places


@kernel("ge.Sort")
def sort(call: Call, x: Array) -> tuple[Array, Array]:
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    axis = call.attr("axis")
    places = order(x, axis, bool(call.attr("descending")))
    return np.take_along_axis(x, places, axis), places


@kernel("ge.SearchSorted")
def search_sorted(call: Call, rows: Array, values: Array) -> Array:
    """Binary search in all rows at once; a NaN is searched as the greatest value."""
    right = call.attr("right")
    rows, values = widened(rows), widened(values)
    if rows.ndim == 1:
        rows = rows.reshape([1] * (max(values.ndim, 1) - 1) + [-1])
    wanted = values.reshape(-1) if values.ndim == 0 else values
    size = rows.shape[-1]
    low, high = np.zeros(wanted.shape, np.int64), np.full(wanted.shape, size, np.int64)
    lead = np.ogrid[tuple(slice(0, n) for n in wanted.shape[:-1])] if wanted.ndim > 1 else []
    own = [np.minimum(np.asarray(a)[..., None], n - 1) for a, n in zip(lead, rows.shape, strict=False)]
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        element = rows[(*own, np.minimum(middle, size - 1))]
        further = ~(element > wanted) if right else ~(element >= wanted)
        further &= low < high
        low, high = np.where(further, middle + 1, low), np.where(further, high, middle)
    return low.reshape(values.shape)


@kernel("ge.BinCount")
def bin_count(call: Call, x: Array, weights: Array | None, size: Array) -> Array:
    count = int(size.reshape(()))
    if x.size and (x.min() < 0 or x.max() >= count):
        raise call.error(IndexRangeError, f"values {x.min()}..{x.max()} exceed {count} bins")
    places = x.astype(np.int64)
    if weights is None:
        return np.bincount(places, minlength=count).astype(np.int64)
    if weights.dtype.kind in "iu":
        out = np.zeros(count, weights.dtype)
        np.add.at(out, places, weights)
        return out
    return convert(np.bincount(places, widened(weights), count), call.dtype())


@kernel("NonMaxSuppression")
def non_max_suppression(
    call: Call,
    boxes: Array,
    scores: Array,
    limit: Array | None = None,
    overlap: Array | None = None,
    least: Array | None = None,
) -> Array:
    kept = _kept(call, boxes, scores, limit, overlap, least)
    found = [(batch, kind, i) for (batch, kind), numbers in kept.items() for i in numbers]
    return np.array(found, np.int64).reshape(-1, 3)


@kernel("ge.KeptBoxes")
def kept_boxes(
    call: Call,
    boxes: Array,
    scores: Array,
    limit: Array | None = None,
    overlap: Array | None = None,
    least: Array | None = None,
) -> Array:
    y = np.full((*scores.shape[:2], call.size(call.node.output.shape[2])), -1, np.int64)
    for place, numbers in _kept(call, boxes, scores, limit, overlap, least).items():
        y[place][: len(numbers)] = numbers
    return y


def _kept(
    call: Call, boxes: Array, scores: Array, limit: Array | None, overlap: Array | None, least: Array | None
) -> dict[tuple[int, int], list[int]]:
    """Numbers of the boxes that stay, best first, by image and class."""
    most = 0 if limit is None else int(limit.reshape(()))
    threshold = 0.0 if overlap is None else float(overlap.reshape(()))
    corners = _corners(widened(boxes), call.attr("center_point_box"))
    found = {}
    for batch, classes in enumerate(widened(scores)):
        for kind, row in enumerate(classes):
            order_ = np.argsort(-row, kind="stable")
            if least is not None:
                order_ = order_[row[order_] > least.reshape(())]
            found[batch, kind] = _suppress(corners[batch], order_, threshold, most)
    return found


@kernel("ge.Places")
def places(call: Call, mask: Array, size: Array) -> Array:
    found, wanted = np.flatnonzero(mask), int(size.reshape(()))
    if len(found) != wanted:
        raise call.error(SizeBoundError, f"{len(found)} elements are true, size says {wanted}")
    return found


def _corners(boxes: Array, center: int) -> Array:
    """Boxes as low and high corners [..., 2, 2]."""
    if center:
        middle, half = boxes[..., :2], boxes[..., 2:] / 2
        return np.stack([middle - half, middle + half], -2)
    pairs = boxes.reshape(*boxes.shape[:-1], 2, 2)
    return np.stack([pairs.min(-2), pairs.max(-2)], -2)


def _suppress(corners: Array, candidates: Array, threshold: float, most: int) -> list[int]:
    """Indices of the boxes that stay, best first."""
    area = np.prod(corners[:, 1] - corners[:, 0], -1)
    kept: list[int] = []
    while candidates.size and len(kept) < most:
        best, candidates = candidates[0], candidates[1:]
        kept.append(int(best))
        low = np.maximum(corners[candidates, 0], corners[best, 0])
        high = np.minimum(corners[candidates, 1], corners[best, 1])
        shared = np.prod(np.maximum(high - low, 0), -1)
        union = area[candidates] + area[best] - shared
        ratio = np.where(union > 0, shared / union, 0)
        candidates = candidates[ratio <= threshold]
    return kept
