"""Comparison of results: bit for bit, or within a stated tolerance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def assert_same_bits(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> None:
    """Equal shapes, types and elements; NaN equals NaN, 0.0 does not equal -0.0."""
    assert len(got) == len(want)
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        assert a.dtype == b.dtype and a.shape == b.shape, f"output {i}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        x, y = _wide(a), _wide(b)
        if a.dtype.kind in "iub":
            assert np.array_equal(a, b), f"output {i}: {a} instead of {b}"
            continue
        assert np.array_equal(x, y, equal_nan=True), f"output {i}: {a} instead of {b}"
        assert np.array_equal(np.signbit(x) & (x == 0), np.signbit(y) & (y == 0)), f"output {i}: sign of zero"


def assert_close(got: Sequence[np.ndarray], want: Sequence[np.ndarray], tolerance: float) -> None:
    """Like `assert_same_bits`, up to `tolerance` times the largest finite magnitude of each output."""
    assert len(got) == len(want)
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        assert a.dtype == b.dtype and a.shape == b.shape, f"output {i}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        x, y = _wide(a), _wide(b)
        finite = np.isfinite(y)
        assert np.array_equal(np.isfinite(x), finite), f"output {i}: other infinities or NaN: {a} instead of {b}"
        assert np.array_equal(x[~finite], y[~finite], equal_nan=True), f"output {i}: {a} instead of {b}"
        scale = max(float(np.abs(y[finite]).max(initial=0.0)), 1e-30)
        worst = float(np.abs(x[finite] - y[finite]).max(initial=0.0))
        assert worst <= tolerance * scale, f"output {i}: off by {worst:g} at scale {scale:g}"


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)
