"""Inputs of variants, the same in every run."""

from __future__ import annotations

from typing import Any

import numpy as np

_random = np.random.default_rng(7)


def real(*shape: int, dtype: str = "float32", scale: float = 1.0) -> np.ndarray:
    """Normal numbers."""
    return (_random.standard_normal(shape) * scale).astype(dtype)


def positive(*shape: int, dtype: str = "float32", low: float = 0.1, high: float = 3.0) -> np.ndarray:
    """Numbers between low and high."""
    return _random.uniform(low, high, shape).astype(dtype)


def unit(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Numbers in (-1, 1), away from the ends."""
    return _random.uniform(-0.95, 0.95, shape).astype(dtype)


def ints(*shape: int, low: int = -9, high: int = 10, dtype: str = "int32") -> np.ndarray:
    """Integers from low to high - 1."""
    return _random.integers(low, high, shape).astype(dtype)


def bools(*shape: int) -> np.ndarray:
    """Truth values."""
    return _random.integers(0, 2, shape).astype(np.bool_)


def values(data: Any, dtype: str = "float32") -> np.ndarray:
    """These numbers."""
    return np.array(data, dtype)


def special(dtype: str = "float32") -> np.ndarray:
    """Numbers at which functions go wrong."""
    return np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, np.inf, -np.inf, np.nan], dtype)
