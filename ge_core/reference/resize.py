"""Reference kernel of Resize: one axis after the other, as a weighted sum of gathered slices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ge_core.errors import ExecutionError
from ge_core.ops.registry import kernel
from ge_core.ops.resize import policy_sizes, resized_axes, scaled_sizes
from ge_core.reference.call import Call
from ge_core.reference.precision import narrow, widen
from ge_core.reference.quantise import saturated
from ge_core.reference.windows import concrete


@dataclass(frozen=True)
class _Axis:
    """How one axis is resized: sizes, scale, and the region of interest (start, end)."""

    size: int
    out: int
    scale: float
    roi: tuple[float, float]

    @property
    def is_identity(self) -> bool:
        return self.size == self.out and math.isclose(self.scale, 1) and self.roi == (0.0, 1.0)


@kernel("Resize")
def resize(
    call: Call,
    x: np.ndarray,
    roi: np.ndarray | None = None,
    scales: np.ndarray | None = None,
    sizes: np.ndarray | None = None,
) -> np.ndarray:
    axes = resized_axes(call, x.ndim)
    plan = _plan(call, x.shape, axes, roi, scales, sizes)
    nearest = call.attr("mode") == "nearest"
    wide = x if nearest else widen(x)
    if wide.dtype.kind in "iu" and not nearest:
        wide = wide.astype(np.float64)
    for axis, how in zip(axes, plan, strict=True):
        if how.is_identity:
            continue
        if how.size == 0 and how.out > 0:
            raise call.error(ExecutionError, f"axis {axis} is empty, expected at least one element")
        where = _coordinates(call, how)
        wide = _nearest(call, wide, axis, how, where) if nearest else _weighted(call, wide, axis, how, where)
        if call.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
            outside = _along((where < 0) | (where > how.size - 1), wide.ndim, axis)
            wide = np.where(outside, wide.dtype.type(call.attr("extrapolation_value")), wide)
    if call.dtype().is_integer and not nearest:
        return saturated(np.rint(wide), call.dtype())
    return narrow(wide, call.dtype())


def _along(values: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A vector shaped to broadcast along one axis."""
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def _plan(
    call: Call,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    roi: np.ndarray | None,
    scales: np.ndarray | None,
    sizes: np.ndarray | None,
) -> list[_Axis]:
    def fail(message: str) -> ExecutionError:
        return call.error(ExecutionError, message)

    policy = call.attr("keep_aspect_ratio_policy")
    if scales is not None and scales.size:
        out = concrete(scaled_sizes(shape, axes, scales, fail))
        factors = [float(s) for s in scales]
    elif sizes is not None:
        wanted = concrete(sizes)
        if len(wanted) != len(axes) or min(wanted, default=0) < 0:
            raise fail(f"sizes are {list(wanted)}, expected {len(axes)} numbers of at least 0")
        out = concrete(policy_sizes(policy, shape, axes, wanted))
        factors = [w / shape[a] if shape[a] else 1.0 for w, a in zip(wanted, axes, strict=True)]
        if policy != "stretch":
            factors = [min(factors) if policy == "not_larger" else max(factors)] * len(axes)
    else:
        raise fail("neither scales nor sizes are given")
    cropped = call.attr("coordinate_transformation_mode") == "tf_crop_and_resize"
    bounds = [0.0] * len(axes) + [1.0] * len(axes)
    if cropped and roi is not None and roi.size:
        bounds = [float(v) for v in roi]
    return [_Axis(shape[a], out[a], factors[i], (bounds[i], bounds[len(axes) + i])) for i, a in enumerate(axes)]


def _coordinates(call: Call, a: _Axis) -> np.ndarray:
    """Where each output element lies in the input (float64, of size out); Resize's own formulas."""
    x = np.arange(a.out, dtype=np.float64)
    mode = call.attr("coordinate_transformation_mode")
    length = a.scale * a.size
    if mode == "align_corners":
        return np.zeros_like(x) if length == 1 else x * (a.size - 1) / (length - 1)
    if mode == "asymmetric":
        return x / a.scale
    if mode == "tf_crop_and_resize":
        start, end = a.roi
        if a.out <= 1:
            return np.full_like(x, 0.5 * (start + end) * (a.size - 1))
        return start * (a.size - 1) + x * (end - start) * (a.size - 1) / (a.out - 1)
    half = (x + 0.5) / a.scale - 0.5
    if mode == "half_pixel_symmetric":
        return half + a.size / 2 * (1 - a.out / length)
    if mode == "pytorch_half_pixel" and a.out <= 1:
        return np.zeros_like(x)
    return half


_ROUND: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _nearest(call: Call, x: np.ndarray, axis: int, a: _Axis, where: np.ndarray) -> np.ndarray:
    index = np.clip(_ROUND[call.attr("nearest_mode")](where), 0, a.size - 1).astype(np.int64)
    return np.take(x, index, axis=axis)


def _linear(t: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(t), 0)


def _cubic(a: float) -> Callable[[np.ndarray], np.ndarray]:
    """Keys' cubic convolution kernel with coefficient a."""

    def filter(t: np.ndarray) -> np.ndarray:
        t = np.abs(t)
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        return np.where(t <= 1, near, np.where(t < 2, far, 0))

    return filter


def _weighted(call: Call, x: np.ndarray, axis: int, a: _Axis, where: np.ndarray) -> np.ndarray:
    """Interpolation: the filter, stretched when antialiasing a reduction, weighs the elements around `where`.

    Elements beyond the border are those at the border, or left out with exclude_outside. As in the frameworks a weight
    of 0 makes NaN of an infinity, but for antialiasing, which reads as many elements as the filter is wide.
    """
    cubic, smooth = call.attr("mode") == "cubic", bool(call.attr("antialias"))
    if not cubic and not smooth:
        where = np.clip(where, 0, a.size - 1)
    filter = _cubic(call.attr("cubic_coeff_a")) if cubic else _linear
    stretch = min(a.scale, 1.0) if smooth else 1.0
    reach = math.ceil((2 if cubic else 1) / stretch)
    places = np.floor(where).astype(np.int64)[:, None] + np.arange(1 - reach, reach + 1)
    weights = filter((places - where[:, None]) * stretch)
    if call.attr("exclude_outside"):
        weights = np.where((places >= 0) & (places < a.size), weights, 0)
    total = weights.sum(axis=1, keepdims=True)
    weights = (weights / np.where(total == 0, 1, total)).astype(x.dtype)
    places = np.clip(places, 0, a.size - 1)
    shape = list(x.shape)
    shape[axis] = a.out
    out = np.zeros(shape, x.dtype)
    for tap in range(places.shape[1]):
        weight = _along(weights[:, tap], x.ndim, axis)
        part = np.take(x, places[:, tap], axis=axis) * weight
        out += np.where(weight == 0, x.dtype.type(0), part) if smooth else part
    return out
