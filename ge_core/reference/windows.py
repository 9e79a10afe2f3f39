"""Sliding windows on arrays: padding, strided views and the sum of overlapping blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ge_core.ops.windows import Windows


def concrete(sizes: Iterable[Any]) -> tuple[int, ...]:
    """Sizes that are known in a call, as plain ints."""
    return tuple(int(s) for s in sizes)


def last_axes(slices: Iterable[Any]) -> Any:
    """An index that applies slices to the last axes of an array."""
    return (..., *slices)


def padded(x: np.ndarray, begin: Sequence[int], end: Sequence[int], fill: float = 0) -> np.ndarray:
    """The array with its last axes padded; negative padding crops. A view when there is nothing to do."""
    rank = len(begin)
    keep = (slice(max(-b, 0), n - max(-e, 0)) for b, e, n in zip(begin, end, x.shape[-rank:], strict=True))
    x = x[last_axes(keep)]
    before, after = [max(b, 0) for b in begin], [max(e, 0) for e in end]
    if not any(before) and not any(after):
        return x
    spatial = x.shape[-rank:]
    shape = (*x.shape[:-rank], *(b + n + e for b, n, e in zip(before, spatial, after, strict=True)))
    out = np.full(shape, fill, x.dtype) if fill else np.zeros(shape, x.dtype)
    out[last_axes(slice(b, b + n) for b, n in zip(before, spatial, strict=True))] = x
    return out


def window_view(x: np.ndarray, windows: Windows, positions: Sequence[int]) -> np.ndarray:
    """A read-only view [..., *kernel, *positions] of an already padded array [..., *spatial].

    Raises:
        ValueError: a window would leave the array.
    """
    rank = windows.rank
    extents = concrete(windows.extent(i) for i in range(rank))
    for axis, count in enumerate(positions):
        reach = (count - 1) * windows.strides[axis] + extents[axis]
        if count > 0 and reach > x.shape[-rank + axis]:
            raise ValueError(f"windows reach to {reach} in an axis of {x.shape[-rank + axis]}")
    steps = x.strides[-rank:]
    strides = (
        *x.strides[:-rank],
        *(s * d for s, d in zip(steps, windows.dilations, strict=True)),
        *(s * k for s, k in zip(steps, windows.strides, strict=True)),
    )
    shape = (*x.shape[:-rank], *concrete(windows.kernel), *positions)
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def kernel_offsets(windows: Windows) -> Iterator[tuple[int, ...]]:
    """Every point of the kernel, row-major."""
    return itertools.product(*(range(k) for k in concrete(windows.kernel)))


def shifted(x: np.ndarray, windows: Windows, positions: Sequence[int], point: Sequence[int]) -> np.ndarray:
    """The view [..., *positions] of an already padded array at one point of the kernel (writeable)."""
    index = (
        slice(p * d, p * d + (n - 1) * s + 1 if n > 0 else p * d, s)
        for p, d, s, n in zip(point, windows.dilations, windows.strides, positions, strict=True)
    )
    return x[last_axes(index)]


def overlap_add(blocks: np.ndarray, windows: Windows, positions: Sequence[int], sizes: Sequence[int]) -> np.ndarray:
    """Blocks [..., prod(kernel), *positions] added up at their places in arrays [..., *sizes].

    The pads of `windows` are cut off (negative ones are zeros).
    """
    rank = windows.rank
    begin, extents = concrete(windows.begin), concrete(windows.extent(i) for i in range(rank))
    full = [
        max((n - 1) * windows.strides[i] + extents[i] if n else 0, begin[i] + sizes[i]) for i, n in enumerate(positions)
    ]
    total = np.zeros((*blocks.shape[: -rank - 1], *full), blocks.dtype)
    every = [slice(None)] * rank
    for k, point in enumerate(kernel_offsets(windows)):
        shifted(total, windows, positions, point)[...] += blocks[last_axes([k, *every])]
    return total[last_axes(slice(b, b + n) for b, n in zip(begin, sizes, strict=True))]
