"""Reference kernel of DeformConv: multilinear sampling at the moved kernel points, then one product per group."""

from __future__ import annotations

import math

import numpy as np

from ge_core.ops.registry import kernel
from ge_core.ops.windows import Windows
from ge_core.reference.call import Call
from ge_core.reference.conv import call_windows
from ge_core.reference.matmul import aligned
from ge_core.reference.precision import narrow, widen
from ge_core.reference.sampling import sample
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
    columns = sample(
        widen(x).reshape(n * parts, x.shape[1] // parts, *x.shape[2:]),
        np.moveaxis(where, 3, 0).reshape(rank, n * parts, points * places),
    )
    if mask is not None:
        columns *= widen(mask).reshape(n * parts, 1, points * places)
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
