"""Reference kernels of matrix products; all run on BLAS where the result is exact or floating point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.precision import narrow, widen
from ge_core.reference.quantise import requantise

_EXACT = 1 << 53


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """numpy.matmul with the IR's arithmetic: small floats in float32 (unrounded), integers wrap.

    Integer products go through float64 on BLAS when no partial sum can exceed 2^53.
    """
    if a.dtype.kind not in "iu":
        return np.asarray(np.matmul(widen(a), widen(b)))
    dtype = a.dtype
    if a.size and b.size:
        largest = _magnitude(a) * _magnitude(b) * a.shape[-1]
        if largest < _EXACT:
            exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
            return np.asarray(exact.astype(np.int64).astype(dtype))
    wide = np.uint64 if dtype == np.uint64 else np.int64
    return np.asarray(np.matmul(a.astype(wide), b.astype(wide)).astype(dtype))


def _magnitude(x: np.ndarray) -> int:
    return max(abs(int(x.min())), abs(int(x.max())))


@kernel("MatMul")
def matmul(call: Call, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return narrow(product(a, b), call.dtype())


@kernel("Gemm")
def gemm(call: Call, a: np.ndarray, b: np.ndarray, added: np.ndarray | None = None) -> np.ndarray:
    a = a.T if call.attr("transA") else a
    b = b.T if call.attr("transB") else b
    alpha, beta = call.attr("alpha"), call.attr("beta")
    y = product(a, b)
    if alpha != 1:
        y = _scaled(y, alpha)
    if added is not None and beta != 0:
        added = widen(added)
        y = y + (added if beta == 1 else _scaled(added, beta))
    return narrow(y, call.dtype())


def _scaled(x: np.ndarray, factor: float) -> np.ndarray:
    if x.dtype.kind in "iu" and not float(factor).is_integer():
        return np.asarray(np.trunc(x * factor).astype(x.dtype))
    return np.asarray(x * x.dtype.type(factor))


def aligned(values: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A scalar as it is, a vector of one number for each index of `axis` shaped to broadcast at `rank`."""
    if values.ndim != 1 or values.size == 1:
        return values.reshape(()) if values.size == 1 else values
    shape = [1] * rank
    shape[axis] = values.size
    return values.reshape(shape)


def centred(x: np.ndarray, zero_point: np.ndarray | None, axis: int) -> np.ndarray:
    """x - zero_point as float64: exact, and ready for BLAS."""
    wide = x.astype(np.float64)
    if zero_point is None:
        return wide
    return wide - aligned(zero_point.astype(np.float64), x.ndim, axis)


@kernel("MatMulInteger")
def matmul_integer(
    call: Call,
    a: np.ndarray,
    b: np.ndarray,
    a_zero_point: np.ndarray | None = None,
    b_zero_point: np.ndarray | None = None,
) -> np.ndarray:
    y = np.matmul(centred(a, a_zero_point, -2), centred(b, b_zero_point, -1))
    return np.asarray(y.astype(np.int64).astype(np.int32))


@kernel("QLinearMatMul")
def qlinear_matmul(call: Call, *inputs: Any) -> np.ndarray:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = inputs
    y = np.matmul(_real(a, a_scale, a_zero, -2), _real(b, b_scale, b_zero, -1))
    return requantise(y / aligned(widen(y_scale), y.ndim, -2).astype(np.float64), y_zero, call.dtype())


def _real(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray, axis: int) -> np.ndarray:
    return centred(x, zero_point, axis) * aligned(widen(scale).astype(np.float64), x.ndim, axis)
