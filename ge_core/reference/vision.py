"""Reference kernels of grids and sampling."""

from __future__ import annotations

import numpy as np

from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.cast import convert
from ge_core.reference.precision import narrow, widen
from ge_core.reference.sampling import sample


@kernel("GridSample")
def grid_sample(call: Call, x: np.ndarray, grid: np.ndarray) -> np.ndarray:
    rank = x.ndim - 2
    align = bool(call.attr("align_corners"))
    where = np.nan_to_num(widen(grid), nan=-1.0, posinf=np.inf, neginf=-np.inf)[..., ::-1]
    sizes = np.asarray(x.shape[2:], where.dtype)
    where = (where + 1) / 2 * (sizes - 1) if align else ((where + 1) * sizes - 1) / 2
    wide = widen(x) if call.dtype().is_float else x.astype(np.float64)
    y = sample(
        wide,
        np.moveaxis(where, -1, 0).reshape(rank, len(x), -1),
        call.attr("mode"),
        call.attr("padding_mode"),
        align,
    )
    y = y.reshape(*x.shape[:2], *grid.shape[1:-1])
    return narrow(y, call.dtype()) if call.dtype().is_float else convert(y, call.dtype())


@kernel("AffineGrid")
def affine_grid(call: Call, theta: np.ndarray, size: np.ndarray) -> np.ndarray:
    spatial = [int(n) for n in size[2:]]
    wide = widen(theta)
    lines = [_line(n, bool(call.attr("align_corners"))) for n in spatial]
    # theta's columns are x, y(, z), 1: innermost axis first
    points = [*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(spatial)]
    places = np.stack([p.ravel() for p in points]).astype(wide.dtype)
    grid = np.matmul(wide, places).swapaxes(1, 2)
    return narrow(grid.reshape(len(theta), *spatial, len(spatial)), call.dtype())


def _line(n: int, align_corners: bool) -> np.ndarray:
    """n positions evenly spaced in [-1, 1]: at the ends with align_corners, else at centres of n equal parts."""
    if align_corners:
        return np.zeros(n) if n <= 1 else np.linspace(-1, 1, n)
    return (2 * np.arange(n) + 1) / n - 1
