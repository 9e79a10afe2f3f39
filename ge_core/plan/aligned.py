"""Byte buffers whose first byte lies on a boundary, as kernels expect it."""

from __future__ import annotations

import numpy as np

ALIGNMENT = 64


def aligned_bytes(size: int, alignment: int = ALIGNMENT) -> np.ndarray:
    """`size` uninitialised bytes (uint8, one axis) at an address that is a multiple of `alignment`."""
    raw = np.empty(size + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + size]
