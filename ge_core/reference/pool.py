"""Reference kernels of pools. Sums and maxima over windows run axis by axis: the kernel's sizes add up
instead of multiplying."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ops.registry import kernel
from ge_core.ops.windows import Windows
from ge_core.reference.call import Call
from ge_core.reference.conv import call_windows
from ge_core.reference.precision import narrow, widen
from ge_core.reference.windows import concrete, kernel_offsets, padded, shifted

Fold = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _lowest(dtype: np.dtype) -> float | int:
    return -math.inf if DType.of(dtype).is_float else DType.of(dtype).min


def _covering(windows: Windows, spatial: Sequence[int], positions: Sequence[int]) -> Windows:
    """The windows with end pads that the last position needs (ceil mode reaches over, floor mode may not reach)."""
    begin, extents = concrete(windows.begin), concrete(windows.extent(i) for i in range(windows.rank))
    end = [
        max((n - 1) * windows.strides[i] + extents[i] - size - begin[i], 0)
        for i, (n, size) in enumerate(zip(positions, spatial, strict=True))
    ]
    return replace(windows, end=tuple(end))


def _one_axis(windows: Windows, axis: int) -> Windows:
    return Windows(*((part[axis],) for part in _parts(windows)))


def _parts(windows: Windows) -> tuple[tuple[int, ...], ...]:
    return tuple(concrete(p) for p in (windows.kernel, windows.strides, windows.dilations, windows.begin, windows.end))


def fold_windows(x: np.ndarray, windows: Windows, positions: Sequence[int], fold: Fold, fill: float) -> np.ndarray:
    """An associative, commutative `fold` over every window, one axis after the other.

    Args:
        fill: the value of padding.
    """
    windows = _covering(windows, x.shape[-windows.rank :], positions)
    for axis, count in enumerate(positions):
        one = _one_axis(windows, axis)
        line = padded(np.moveaxis(x, axis - windows.rank, -1), concrete(one.begin), concrete(one.end), fill)
        total = shifted(line, one, (count,), (0,)).copy()
        for point in range(1, one.kernel[0]):  # type: ignore[arg-type]
            fold(total, shifted(line, one, (count,), (point,)), out=total)  # type: ignore[call-arg]
        x = np.moveaxis(total, -1, axis - windows.rank)
    return x


def _counts(windows: Windows, spatial: Sequence[int], positions: Sequence[int], with_pads: bool) -> np.ndarray:
    """Elements of the input (and of its padding) that each window covers, as an array [*positions]."""
    total = np.ones((1,) * len(positions))
    for axis, count in enumerate(positions):
        start = np.arange(count)[:, None] * windows.strides[axis] - concrete(windows.begin)[axis]
        at = start + np.arange(concrete(windows.kernel)[axis]) * windows.dilations[axis]
        low, high = 0, spatial[axis]
        if with_pads:
            low, high = -concrete(windows.begin)[axis], high + concrete(windows.end)[axis]
        inside = ((at >= low) & (at < high)).sum(axis=1)
        total = total * inside.reshape([-1 if i == axis else 1 for i in range(len(positions))])
    return total


@kernel("MaxPool")
def max_pool(call: Call, x: np.ndarray) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    windows, positions = call_windows(call, call.attr("kernel_shape"), x.shape[2:])
    if call.wants(1):
        best, index = max_with_index(widen(x), windows, positions, bool(call.attr("storage_order")))
        planes = np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *(1 for _ in positions))
        return narrow(best, call.dtype()), index + planes * math.prod(x.shape[2:])
    wide = widen(x)
    return narrow(fold_windows(wide, windows, positions, np.maximum, _lowest(wide.dtype)), call.dtype())


def max_with_index(
    x: np.ndarray, windows: Windows, positions: Sequence[int], column_major: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Maxima over windows and the position of each within its plane (the first one; the last NaN)."""
    spatial = x.shape[2:]
    plane = np.arange(math.prod(spatial)).reshape(spatial, order="F" if column_major else "C")
    windows = _covering(windows, spatial, positions)
    begin, end = concrete(windows.begin), concrete(windows.end)
    x, plane = padded(x, begin, end), padded(plane, begin, end, -1)
    best = np.zeros((*x.shape[:2], *positions), x.dtype)
    index = np.full(best.shape, -1, np.int64)
    for point in kernel_offsets(windows):
        value, place = shifted(x, windows, positions, point), shifted(plane, windows, positions, point)
        with np.errstate(invalid="ignore"):
            better = (place >= 0) & ((index < 0) | (value > best) | (value != value))
        best = np.where(better, value, best)
        index = np.where(better, place, index)
    best[index < 0] = _lowest(x.dtype)
    return best, index


@kernel("AveragePool", "ge.AveragePool")
def average_pool(call: Call, x: np.ndarray) -> np.ndarray:
    windows, positions = call_windows(call, call.attr("kernel_shape"), x.shape[2:])
    total = fold_windows(widen(x), windows, positions, np.add, 0)
    divisor = call.attr("divisor") if "divisor" in call.schema.attributes else 0
    count = divisor or _counts(windows, x.shape[2:], positions, bool(call.attr("count_include_pad")))
    return narrow(total / np.asarray(count, total.dtype), call.dtype())


@kernel("LpPool")
def lp_pool(call: Call, x: np.ndarray) -> np.ndarray:
    windows, positions = call_windows(call, call.attr("kernel_shape"), x.shape[2:])
    p = call.attr("p")
    total = fold_windows(np.abs(widen(x)) ** p, windows, positions, np.add, 0)
    return narrow(total ** total.dtype.type(1 / p), call.dtype())


def _planes(x: np.ndarray) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@kernel("GlobalAveragePool")
def global_average_pool(call: Call, x: np.ndarray) -> np.ndarray:
    return narrow(widen(x).mean(axis=_planes(x), keepdims=True), call.dtype())


@kernel("GlobalMaxPool")
def global_max_pool(call: Call, x: np.ndarray) -> np.ndarray:
    return narrow(widen(x).max(axis=_planes(x), keepdims=True), call.dtype())


@kernel("GlobalLpPool")
def global_lp_pool(call: Call, x: np.ndarray) -> np.ndarray:
    p = call.attr("p")
    total = (np.abs(widen(x)) ** p).sum(axis=_planes(x), keepdims=True)
    return narrow(total ** total.dtype.type(1 / p), call.dtype())


@kernel("ge.AdaptivePool")
def adaptive_pool(call: Call, x: np.ndarray) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    sizes = [call.size(s) for s in call.attr("output_size")]
    rank = len(sizes)
    if 0 in x.shape[x.ndim - rank :]:
        raise ValueError(f"windows over data of shape {list(x.shape)} are empty")
    wide = widen(x)
    if call.attr("mode") == "average":
        for axis, count in zip(range(-rank, 0), sizes, strict=True):
            spans = _spans(wide.shape[axis], count)
            parts = [_along(wide, axis, a, b).mean(axis=axis, keepdims=True) for a, b in spans]
            wide = np.concatenate(parts, axis=axis)
        return narrow(wide, call.dtype())
    index = np.broadcast_to(np.arange(math.prod(x.shape[-rank:])).reshape(x.shape[-rank:]), x.shape)
    for axis, count in reversed(list(zip(range(-rank, 0), sizes, strict=True))):
        values, places = [], []
        for a, b in _spans(wide.shape[axis], count):
            part = _along(wide, axis, a, b)
            at = part.argmax(axis=axis, keepdims=True)
            values.append(np.take_along_axis(part, at, axis))
            places.append(np.take_along_axis(_along(index, axis, a, b), at, axis))
        wide, index = np.concatenate(values, axis=axis), np.concatenate(places, axis=axis)
    return narrow(wide, call.dtype()), index


def _spans(size: int, count: int) -> list[tuple[int, int]]:
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _along(x: np.ndarray, axis: int, start: int, stop: int) -> np.ndarray:
    index: list[slice] = [slice(None)] * x.ndim
    index[axis] = slice(start, stop)
    return x[tuple(index)]
