"""Matrices in bytes: the formula, in any memory order, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.passes.bytes import BLOCK, in_bytes

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("columns", [0, 1])
@pytest.mark.parametrize("shape", [(3, 5), (1, 9), (9, 1), (700, 333), (2, BLOCK + 3), (0, 4), (4, 0)])
@pytest.mark.parametrize("order", ["C", "F", "part"])
def test_the_formula(columns: int, shape: tuple[int, int], order: str) -> None:
    weights = RNG.standard_normal(shape).astype(np.float32)
    if weights.size:
        weights[:, weights.shape[1] // 2] = 0
        weights[0] *= 40
    if order == "F":
        weights = np.asfortranarray(weights)
    elif order == "part":
        weights = np.repeat(np.repeat(weights, 2, 0), 3, 1)[::2, ::3]
    found = in_bytes(weights, columns)
    assert found is not None
    largest = np.abs(weights).max(axis=1 - columns, keepdims=True, initial=0)
    scales = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    stored = np.rint(weights / scales)
    assert found.stored.dtype == np.int8 and np.array_equal(found.stored, stored)
    assert found.scales.dtype == np.float32 and np.array_equal(found.scales, scales.reshape(-1))
    squares = np.square(weights, dtype=np.float64).sum()
    lost = np.square(stored * scales - weights, dtype=np.float64).sum()
    assert found.lost == pytest.approx(np.sqrt(lost / squares) if squares else 0.0, rel=1e-4)


@pytest.mark.parametrize("columns", [0, 1])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(columns: int, number: float) -> None:
    weights = RNG.standard_normal((40, 30)).astype(np.float32)
    weights[17, 11] = number
    assert in_bytes(weights, columns) is None


@pytest.mark.parametrize("columns", [0, 1])
def test_columns_too_small_for_a_scale_are_refused(columns: int) -> None:
    weights = np.full((4, 4), 1e-38, np.float32)
    assert in_bytes(weights, columns) is None
