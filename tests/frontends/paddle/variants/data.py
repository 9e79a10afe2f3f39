"""Arrays for the variants of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.frontends.paddle.agreement import Variant

NAN, INF = float("nan"), float("inf")


def f32(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Uniform float32 numbers."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype(np.float32)


def f64(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Uniform float64 numbers."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape)


def i64(*shape: int, low: int = -5, high: int = 6, seed: int = 0) -> np.ndarray:
    """Integers from low to high (exclusive), int64."""
    return np.random.default_rng([seed, *shape]).integers(low, high, shape)


def i32(*shape: int, low: int = -5, high: int = 6, seed: int = 0) -> np.ndarray:
    """Integers from low to high (exclusive), int32."""
    return i64(*shape, low=low, high=high, seed=seed).astype(np.int32)


def flags(*shape: int, seed: int = 0) -> np.ndarray:
    """Bools."""
    return np.random.default_rng([seed, *shape]).integers(0, 2, shape).astype(bool)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 20.0, -20.0, 1e-3, INF, -INF, NAN], np.float32)


def v(
    function: Callable[..., Any], *arrays: np.ndarray, tol: float | None = None, skip: tuple[int, ...] = ()
) -> Variant:
    """A variant."""
    return Variant(function, arrays, tol, skip)
