"""Reference kernel of DeformConv: multilinear sampling at the moved kernel points, then one product per group."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ge_core.ops.registry import kernel
from ge_core.ops.windows import Windows
from ge_core.reference.call import Call
from ge_core.reference.conv import call_windows
from ge_core.reference.matmul import aligned
from ge_core.reference.precision import narrow, widen
from ge_core.reference.windows import concrete


@kernel("DeformConv")
def deform_conv(
    call: Call,
    x: np.ndarray,
    w: np.ndarray,
    offset: np.ndarray,
    bias: np.ndarray | None = None,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    windows, positions = call_windows(call, w.shape[2:], x.shape[2:])
    n, group, parts = len(x), call.attr("group"), call.attr("offset_group")
    rank, points, places = windows.rank, math.prod(w.shape[2:]), math.prod(positions)
    where = widen(offset).reshape(n, parts, points, rank, *positions) + _grid(windows, positions)
    columns = sample_linear(
        widen(x).reshape(n, parts, x.shape[1] // parts, *x.shape[2:]),
        np.moveaxis(where, 3, 0).reshape(rank, n, parts, points * places),
    )
    if mask is not None:
        columns *= widen(mask).reshape(n, parts, 1, points * places)
    weights = widen(w).reshape(group, w.shape[0] // group, -1)
    y = np.matmul(weights, columns.reshape(n, group, weights.shape[2], places))
    y = y.reshape(n, w.shape[0], *positions)
    if bias is not None:
        y += aligned(widen(bias), y.ndim, 1)
    return narrow(y, call.dtype())


def _grid(windows: Windows, positions: tuple[int, ...]) -> np.ndarray:
    """Coordinates [points, rank, *positions] of the kernel's points in the unpadded data."""
    rank = windows.rank
    axes = []
    for i, begin in enumerate(concrete(windows.begin)):
        point = np.arange(concrete(windows.kernel)[i]) * windows.dilations[i]
        place = np.arange(positions[i]) * windows.strides[i] - begin
        kernel_shape, place_shape = [1] * rank, [1] * rank
        kernel_shape[i], place_shape[i] = -1, -1
        axis = point.reshape(kernel_shape + [1] * rank) + place.reshape(place_shape)
        axes.append(np.broadcast_to(axis, (*concrete(windows.kernel), *positions)))
    return np.stack([a.reshape(-1, *positions) for a in axes], axis=1).astype(np.float32)


def sample_linear(x: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Multilinear samples, zero outside.

    Args:
        x: [N, G, C, *spatial].
        where: coordinates [rank, N, G, P].

    Returns:
        [N, G, C, P].
    """
    spatial = x.shape[3:]
    flat = x.reshape(*x.shape[:3], -1)
    low = np.floor(where)
    part = where - low
    total = np.zeros((*x.shape[:3], where.shape[-1]), x.dtype)
    for corner in itertools.product((0, 1), repeat=len(spatial)):
        index = np.zeros(where.shape[1:], np.int64)
        weight = np.ones(where.shape[1:], x.dtype)
        for axis, (size, up) in enumerate(zip(spatial, corner, strict=True)):
            at = low[axis] + up
            weight *= (part[axis] if up else 1 - part[axis]) * ((at >= 0) & (at < size))
            index = index * size + np.clip(at, 0, size - 1).astype(np.int64)
        total += np.take_along_axis(flat, index[:, :, None], axis=3) * weight[:, :, None]
    return total
