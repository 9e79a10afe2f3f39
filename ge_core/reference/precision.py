"""The arithmetic type of kernels: floats below 32 bits are computed in float32 and rounded once at the end."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType


def widen(array: np.ndarray) -> np.ndarray:
    """The array in the type that kernels compute in: float32 for smaller floats, else itself."""
    dtype = DType.of(array.dtype)
    return array.astype(np.float32) if dtype.is_float and dtype.bits < 32 else array


def narrow(array: np.ndarray, dtype: DType) -> np.ndarray:
    """The result rounded to `dtype`; the array itself when it has that type."""
    return array if array.dtype == dtype.numpy else array.astype(dtype.numpy)
