"""Special functions against exact values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from ge_core.reference import special_functions as special

_RNG = np.random.default_rng(0)
_WIDE = np.concatenate([_RNG.uniform(-6, 6, 60), _RNG.uniform(-0.6, 0.6, 30), 10.0 ** _RNG.uniform(-20, 0, 20)])
_POSITIVE = np.concatenate([_RNG.uniform(-4, 12, 60), 10.0 ** _RNG.uniform(-9, 2, 30)])
_UNIT = np.concatenate(
    [_RNG.uniform(-1, 1, 50), 1 - 10.0 ** _RNG.uniform(-7, -1, 20), 10.0 ** _RNG.uniform(-19, -1, 20)]
)


# The relative error allowed in float32 and float64; below 1 of the value for the gamma functions, which have zeros.
@pytest.mark.parametrize(
    ("function", "exact", "points", "floor", "limits"),
    [
        (special.erf, mpmath.erf, _WIDE, 0.0, (4e-7, 1e-15)),
        (special.erfc, mpmath.erfc, np.abs(_WIDE) * 1.4, 0.0, (1e-7, 2e-15)),
        (special.erfinv, mpmath.erfinv, _UNIT, 0.0, (1e-7, 4e-15)),
        (special.lgamma, lambda v: mpmath.log(abs(mpmath.gamma(v))), _POSITIVE, 1.0, (1e-7, 2e-14)),
        (special.digamma, mpmath.digamma, _POSITIVE, 1.0, (1e-7, 5e-15)),
    ],
)
def test_accuracy(
    function: Callable[[Any], Any], exact: Any, points: np.ndarray, floor: float, limits: tuple[float, float]
) -> None:
    for dtype, limit in zip((np.float32, np.float64), limits, strict=True):
        x = points.astype(dtype)
        with np.errstate(all="ignore"):
            got = function(x)
        wanted = np.array([float(exact(mpmath.mpf(float(v)))) for v in x])
        assert got.dtype == dtype
        error = np.abs(got.astype(np.float64) - wanted) / np.maximum(np.abs(wanted), floor)
        assert np.nanmax(error) < limit


def test_ends() -> None:
    inf, nan = np.inf, np.nan
    x = np.array([0.0, inf, -inf, nan])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(special.erf(x), [0, 1, -1, nan])
        np.testing.assert_array_equal(special.erfc(x), [1, 0, 2, nan])
        np.testing.assert_array_equal(special.lgamma(x), [inf, inf, inf, nan])
        np.testing.assert_array_equal(special.digamma(x), [-inf, inf, nan, nan])
        np.testing.assert_array_equal(special.erfinv(np.array([-1.0, 1.0, 2.0, 0.0])), [-inf, inf, nan, 0])
        np.testing.assert_array_equal(special.digamma(np.array([-1.0, -7.0])), [nan, nan])
    assert special.erf(np.zeros((2, 0, 3), np.float32)).shape == (2, 0, 3)
    assert special.erf(np.float32(0.5).reshape(())).shape == ()
