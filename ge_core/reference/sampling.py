"""Sampling of arrays at fractional coordinates: nearest, multilinear and multicubic, with three kinds of border."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

Border = Literal["zeros", "border", "reflection"]

_FAR = float(1 << 30)


def cubic_weights(part: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    """Keys' cubic convolution weights of the four elements around a point at `part` after the second."""
    weights = []
    for tap in range(-1, 3):
        t = np.abs(part - tap)
        if tap in (0, 1):
            weights.append(((a + 2) * t - (a + 3)) * t * t + 1)
        else:
            weights.append(((a * t - 5 * a) * t + 8 * a) * t - 4 * a)
    return weights


def _taps(where: np.ndarray, mode: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """(integer coordinates, weights) of the elements that take part, along one axis."""
    where = np.clip(where, -_FAR, _FAR)
    if mode == "nearest":
        at = np.rint(where)
        return [(at.astype(np.int64), np.ones_like(where))]
    low = np.floor(where)
    part = where - low
    base = low.astype(np.int64)
    if mode == "linear":
        return [(base, 1 - part), (base + 1, part)]
    return [(base + tap, w) for tap, w in zip(range(-1, 3), cubic_weights(part), strict=True)]


def _placed(index: np.ndarray, size: int, border: Border, align_corners: bool) -> tuple[np.ndarray, np.ndarray]:
    """Indices within the array, and which of them count."""
    if border == "zeros":
        return np.clip(index, 0, size - 1), (index >= 0) & (index < size)
    if border == "reflection" and align_corners:
        period = max(2 * (size - 1), 1)
        index = np.abs(index) % period
        index = np.minimum(index, period - index) if size > 1 else np.zeros_like(index)
    elif border == "reflection":
        index = index % (2 * size)
        index = np.minimum(index, 2 * size - 1 - index)
    return np.clip(index, 0, size - 1), np.ones(index.shape, np.bool_)


def sample(
    x: np.ndarray,
    where: np.ndarray,
    mode: str = "linear",
    border: Border = "zeros",
    align_corners: bool = False,
) -> np.ndarray:
    """Values at fractional coordinates.

    Args:
        x: [N, C, *spatial] in a type that numpy computes in.
        where: coordinates [rank, N, P] in elements, one for each spatial axis.
        mode: nearest (halves to even), linear or cubic.
        border: what lies outside: zeros, the border's element, or the reflection (about the border's elements
            with align_corners, else about their outer edges).

    Returns:
        [N, C, P].
    """
    spatial = x.shape[2:]
    flat = x.reshape(*x.shape[:2], -1)
    axes = []
    for size, at in zip(spatial, where, strict=True):
        placed = []
        for index, weight in _taps(at, mode):
            inside, counts = _placed(index, size, border, align_corners)
            placed.append((inside, weight.astype(x.dtype), counts))
        axes.append(placed)
    total = np.zeros((*x.shape[:2], where.shape[-1]), x.dtype)
    for corner in itertools.product(*axes):
        index = np.zeros(where.shape[1:], np.int64)
        weight = np.ones(where.shape[1:], x.dtype)
        counted = np.ones(where.shape[1:], np.bool_)
        for size, (at, w, counts) in zip(spatial, corner, strict=True):
            index = index * size + at
            weight, counted = weight * w, counted & counts
        # what lies outside is 0, whatever the element is that stands for its place
        value = np.where(counted[:, None], np.take_along_axis(flat, index[:, None], axis=2), x.dtype.type(0))
        total += value * weight[:, None]
    return total
