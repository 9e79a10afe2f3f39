"""Reference kernels of pools over regions of interest, and of unpooling."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ge_core.errors import ExecutionError, IndexRangeError
from ge_core.ops.registry import kernel
from ge_core.ops.windows import explicit_windows
from ge_core.reference.call import Call
from ge_core.reference.precision import narrow, widen
from ge_core.reference.windows import concrete


@kernel("MaxUnpool")
def max_unpool(call: Call, x: np.ndarray, indices: np.ndarray, output_shape: np.ndarray | None = None) -> np.ndarray:
    """Indices count in the whole tensor of the size that kernel, strides and pads lead to; output_shape pads it."""
    spatial = x.shape[2:]
    windows = explicit_windows(call, lambda m: call.error(ExecutionError, m), call.attr("kernel_shape"), len(spatial))
    sizes = (*x.shape[:2], *concrete(windows.transposed(spatial, (0,) * len(spatial))))
    flat = np.zeros(math.prod(sizes), x.dtype)
    if indices.size and (indices.min() < 0 or indices.max() >= flat.size):
        raise call.error(IndexRangeError, f"indices reach {indices.max()} of {flat.size} elements")
    flat[indices.ravel()] = x.ravel()
    y = flat.reshape(sizes)
    if output_shape is None:
        return y
    out = np.zeros(concrete(output_shape), x.dtype)
    part = tuple(slice(0, min(a, b)) for a, b in zip(sizes, out.shape, strict=True))
    out[part] = y[part]
    return out


def _images(call: Call, batch: np.ndarray, count: int) -> np.ndarray:
    index = batch.astype(np.int64)
    if index.size and (index.min() < 0 or index.max() >= count):
        raise call.error(IndexRangeError, f"regions name image {index.max()} of {count}")
    return index


def _round(x: np.ndarray) -> np.ndarray:
    """Halves away from zero, as C's round."""
    return np.trunc(x + np.copysign(0.5, x))


@kernel("MaxRoiPool")
def max_roi_pool(call: Call, x: np.ndarray, rois: np.ndarray) -> np.ndarray:
    """Maxima over integer bins: corners rounded, bin i covers floor(i*size/n) .. ceil((i+1)*size/n); empty gives 0."""
    wide, boxes = widen(x), widen(rois)
    out_h, out_w = call.attr("pooled_shape")
    y = np.zeros((len(rois), x.shape[1], out_h, out_w), wide.dtype)
    images = _images(call, boxes[:, 0], len(x))
    corners = _round(boxes[:, 1:] * boxes.dtype.type(call.attr("spatial_scale"))).astype(np.int64)
    for n, (image, (x1, y1, x2, y2)) in enumerate(zip(images, corners, strict=True)):
        rows = _bins(int(y1), int(y2), out_h, x.shape[2])
        columns = _bins(int(x1), int(x2), out_w, x.shape[3])
        for i, (top, bottom) in enumerate(rows):
            if top >= bottom:
                continue
            line = wide[image, :, top:bottom].max(axis=1)
            for j, (left, right) in enumerate(columns):
                if left < right:
                    y[n, :, i, j] = line[:, left:right].max(axis=1)
    return narrow(y, call.dtype())


def _bins(start: int, end: int, count: int, limit: int) -> list[tuple[int, int]]:
    size = max(end - start + 1, 1)
    return [
        (min(max(i * size // count + start, 0), limit), min(max(-(-(i + 1) * size // count) + start, 0), limit))
        for i in range(count)
    ]


@kernel("RoiAlign")
def roi_align(call: Call, x: np.ndarray, rois: np.ndarray, batch: np.ndarray) -> np.ndarray:
    """Bilinear samples on a regular grid in each bin, averaged; mode max takes the largest weighted neighbour."""
    wide, boxes = widen(x), widen(rois).astype(np.float64)
    out = call.attr("output_height"), call.attr("output_width")
    aligned = call.attr("coordinate_transformation_mode") == "half_pixel"
    scaled = boxes * call.attr("spatial_scale") - (0.5 if aligned else 0.0)
    y = np.zeros((len(rois), x.shape[1], *out), wide.dtype)
    average = call.attr("mode") == "avg"
    for n, image in enumerate(_images(call, batch, len(x))):
        x1, y1, x2, y2 = scaled[n]
        height, width = y2 - y1, x2 - x1
        if not aligned:
            height, width = max(height, 1.0), max(width, 1.0)
        ratio = call.attr("sampling_ratio")
        grid = [ratio or math.ceil(size / count) for size, count in zip((height, width), out, strict=True)]
        if min(grid) <= 0:
            continue
        rows = _samples(y1, height, out[0], grid[0], x.shape[2])
        columns = _samples(x1, width, out[1], grid[1], x.shape[3])
        terms = [wide[image][:, i][:, :, j] * (a[:, None] * b).astype(wide.dtype) for i, a in rows for j, b in columns]
        fold: Callable[..., np.ndarray] = np.add if average else np.maximum
        total = terms[0]
        for term in terms[1:]:
            total = fold(total, term)
        bins = total.reshape(x.shape[1], out[0], grid[0], out[1], grid[1])
        y[n] = bins.mean(axis=(2, 4)) if average else bins.max(axis=(2, 4))
    return narrow(y, call.dtype())


def _samples(start: float, length: float, bins: int, grid: int, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sample points along one axis as two (indices, weights) pairs: the element before and the one after.

    A point more than one element outside weighs 0; others are moved to the border.
    """
    step = length / bins
    at = (start + np.arange(bins)[:, None] * step + (np.arange(grid) + 0.5) * step / grid).ravel()
    inside = (at >= -1) & (at <= size)
    at = np.clip(at, 0, size - 1)
    low = np.floor(at).astype(np.int64)
    part = at - low
    return [(low, (1 - part) * inside), (np.minimum(low + 1, size - 1), part * inside)]
