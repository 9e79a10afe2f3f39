"""Reference kernels of linear algebra, by LAPACK. A singular or indefinite matrix is an error."""

from __future__ import annotations

import numpy as np

from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.precision import narrow, widen


@kernel("Det")
def det(call: Call, x: np.ndarray) -> np.ndarray:
    return narrow(np.asarray(np.linalg.det(widen(x))), call.dtype())


@kernel("ge.Inverse")
def inverse(call: Call, x: np.ndarray) -> np.ndarray:
    return narrow(np.linalg.inv(widen(x)), call.dtype())


@kernel("ge.Cholesky")
def cholesky(call: Call, x: np.ndarray) -> np.ndarray:
    wide = widen(x)
    if call.attr("upper"):
        return narrow(np.linalg.cholesky(wide.swapaxes(-1, -2)).swapaxes(-1, -2), call.dtype())
    return narrow(np.linalg.cholesky(wide), call.dtype())


@kernel("ge.Solve")
def solve(call: Call, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return narrow(np.linalg.solve(widen(a), widen(b)), call.dtype())
