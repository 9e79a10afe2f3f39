"""Reference kernels of quantisation."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType


def saturated(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Whole numbers clipped to the range of an integer type and stored in it; NaN gives 0."""
    clipped = np.clip(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf), dtype.min, dtype.max)
    return clipped.astype(np.int64).astype(dtype.numpy)


def requantise(values: np.ndarray, zero_point: np.ndarray, dtype: DType) -> np.ndarray:
    """round(values, half to even) + zero_point, saturated; float8 types take the values themselves, clipped."""
    if dtype.is_float:
        return np.clip(values, dtype.min, dtype.max).astype(dtype.numpy)
    return saturated(np.rint(values) + zero_point.astype(np.float64), dtype)
