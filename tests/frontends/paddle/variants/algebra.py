"""Variants of reductions, cumulative operators, products of matrices and linear algebra."""

# ruff: noqa: E501  a line for each form of an operator

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
from paddle import _C_ops as C
from paddle.nn import functional as F

from tests.frontends.paddle.agreement import Variant
from tests.frontends.paddle.variants.data import NAN, SPECIAL, f32, f64, flags, i32, i64, v

X = f32(2, 3, 4)
WITH_NAN = np.array([[1.0, NAN, 3], [4, 5, 6]], np.float32)


def _forms(f: Callable[..., Any]) -> list[Variant]:
    """All axes, one, a negative one, several, kept; rank 0."""
    return [
        v(f, X), v(lambda x: f(x, 1), X), v(lambda x: f(x, -1, keepdim=True), X), v(lambda x: f(x, [0, 2]), X),
        v(f, f64()), v(lambda x: f(x, 0), f32(1, 3)),
    ]  # fmt: skip


def _bools(f: Callable[..., Any]) -> list[Variant]:
    return [v(f, flags(2, 3)), v(lambda x: f(x, 1), flags(2, 3)), v(lambda x: f(x, -1, keepdim=True), i64(2, 3, low=0, high=2)),
            v(f, flags())]  # fmt: skip


REDUCTIONS = {
    "sum": [*_forms(paddle.sum), v(paddle.sum, i32(5)), v(lambda x: paddle.sum(x, dtype="float64"), X), v(paddle.sum, flags(5)), v(lambda x: paddle.sum(x, 0), f32(0, 3))],
    "mean": [*_forms(paddle.mean)],
    "max": [*_forms(paddle.max), v(paddle.max, i64(5)), v(paddle.max, SPECIAL)],
    "min": [*_forms(paddle.min), v(lambda x: paddle.min(x, 0), i64(5, 2))],
    "amax": [*_forms(paddle.amax)],
    "amin": [*_forms(paddle.amin)],
    "prod": [v(paddle.prod, X), v(lambda x: paddle.prod(x, 1), X), v(lambda x: paddle.prod(x, -1, keepdim=True), X), v(paddle.prod, i64(4))],
    "any": _bools(paddle.any),
    "all": _bools(paddle.all),
    "logsumexp": [v(paddle.logsumexp, X), v(lambda x: paddle.logsumexp(x, 1), X), v(lambda x: paddle.logsumexp(x, [0, 2], True), f64(2, 3, 2))],
    "nansum": [v(paddle.nansum, WITH_NAN), v(lambda x: paddle.nansum(x, 1), WITH_NAN), v(lambda x: C.nansum(x, [0], paddle.float32, True), WITH_NAN)],
    "squared_l2_norm": [v(C.squared_l2_norm, X), v(C.squared_l2_norm, f32(5)), v(C.squared_l2_norm, f64(2, 2))],
    "l1_norm": [v(C.l1_norm, X), v(C.l1_norm, f32(5)), v(C.l1_norm, f32())],
    "frobenius_norm": [v(lambda x: C.frobenius_norm(x, [0, 1], False, False), f32(2, 3)), v(lambda x: C.frobenius_norm(x, [1, 2], True, False), X), v(lambda x: C.frobenius_norm(x, [], False, True), X)],
    "p_norm": [v(lambda x, p=p: paddle.norm(x, p, 1), X) for p in (1, 2, 3, 0)] + [v(lambda x: paddle.norm(x, 2), X), v(lambda x: F.normalize(x), X), v(lambda x: paddle.linalg.norm(x, 1.5, -1, True), f32(2, 3))],
    "norm": [v(lambda x: C.norm(x, 1, 1e-10, False), X), v(lambda x: C.norm(x, -1, 1e-5, False), X), v(lambda x: C.norm(x, 0, 1e-3, False), f32(2, 3))],
    "dist": [v(paddle.dist, X, f32(2, 3, 4, seed=1)), v(lambda x, y: paddle.dist(x, y, 1), f32(3), f32(2, 3)), v(lambda x, y: paddle.dist(x, y, 0), X, f32(4))],
    "argmax": [v(lambda x: paddle.argmax(x, 1), X), v(paddle.argmax, X), v(lambda x: paddle.argmax(x, -1, True, "int32"), X), v(paddle.argmax, f32()), v(lambda x: paddle.argmax(x, 0), i64(4))],
    "argmin": [v(lambda x: paddle.argmin(x, 1), X), v(paddle.argmin, X), v(lambda x: paddle.argmin(x, -1, True, "int32"), X), v(lambda x: paddle.argmin(x, 0), i64(4))],
    "cumsum": [v(lambda x: paddle.cumsum(x, 1), X), v(paddle.cumsum, X), v(lambda x: paddle.cumsum(x, -1), i64(2, 3)), v(lambda x: paddle.cumsum(x, 0, "float64"), X), v(lambda x: C.cumsum(x, 0, False, True, True), X)],
    "cumprod": [v(lambda x: paddle.cumprod(x, 1), X), v(lambda x: paddle.cumprod(x, -1), i64(2, 3)), v(lambda x: C.cumprod(x, 0, True, True), X)],
    "cummax": [v(lambda x: paddle.cummax(x, 1), X), v(lambda x: paddle.cummax(x, -1, "int32"), i64(2, 5)), v(lambda x: paddle.cummax(x, 0), np.array([1.0, 3, 3, 2], np.float32))],
    "cummin": [v(lambda x: paddle.cummin(x, 1), X), v(lambda x: paddle.cummin(x, -1, "int32"), i64(2, 5)), v(lambda x: paddle.cummin(x, 0), np.array([3.0, 1, 1, 2], np.float32))],
    "logcumsumexp": [v(lambda x: paddle.logcumsumexp(x, 1), X), v(paddle.logcumsumexp, X), v(lambda x: C.logcumsumexp(x, 0, False, False, True), f64(4))],
    "median": [v(paddle.median, X), v(lambda x: paddle.median(x, 1), X), v(lambda x: paddle.median(x, -1, True), f64(2, 5)), v(lambda x: paddle.median(x, 1), WITH_NAN), v(lambda x: paddle.median(x, 1, mode="min"), X)],
    "nanmedian": [v(paddle.nanmedian, WITH_NAN), v(lambda x: paddle.nanmedian(x, 1), WITH_NAN), v(lambda x: paddle.nanmedian(x, [0, 1], True), X), v(lambda x: paddle.nanmedian(x, 1, mode="min"), f32(2, 4))],
    "renorm": [v(lambda x: paddle.renorm(x, 2.0, 0, 1.0), X), v(lambda x: paddle.renorm(x, 1.0, 1, 2.0), X), v(lambda x: paddle.renorm(x, 2.0, -1, 0.5), f32(2, 3))],
    "clip_by_norm": [v(lambda x, m=m: C.clip_by_norm(x, m), X) for m in (1.0, 100.0)] + [v(lambda x: C.clip_by_norm(x, 0.5), f32(3))],
    **{
        name: [v(lambda x, f=f: f(x, [1], False, True, 1.0), X), v(lambda x, f=f: f(x, [], True, True, 1.0), X),
               v(lambda x, f=f: f(x, [0, -1], False, False, 0.0), f64(2, 3, 2))]
        for name, f in {"var": C.var, "std": C.std}.items()
    },
    "mean_all": [v(C.mean_all, a) for a in (X, f64(), f32(3))],
    "cross": [v(paddle.cross, f32(2, 3), f32(2, 3, seed=1)), v(lambda x, y: paddle.cross(x, y, 0), f32(3, 2), f32(3, 2, seed=1)), v(lambda x, y: paddle.cross(x, y, -1), f64(2, 2, 3), f64(2, 2, 3, seed=1))],
}  # fmt: skip


def _square(*shape: int) -> np.ndarray:
    """Well-conditioned matrices."""
    return f32(*shape) + 4 * np.eye(shape[-1], dtype=np.float32)


def _positive(*shape: int) -> np.ndarray:
    """Positive definite matrices, float64."""
    x = f64(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


MATRICES = {
    "matmul": [v(paddle.matmul, f32(2, 3), f32(3, 4)), v(lambda x, y: paddle.matmul(x, y, True, True), f32(3, 2), f32(4, 3)), v(paddle.matmul, f32(3), f32(3)),
               v(paddle.matmul, f32(5, 2, 3), f32(3)), v(paddle.matmul, f32(3), f32(2, 3, 4)), v(paddle.matmul, f64(2, 1, 2, 3), f64(4, 3, 2)), v(paddle.matmul, i64(2, 3), i64(3, 2)), v(paddle.matmul, f32(0, 3), f32(3, 2))],
    "bmm": [v(paddle.bmm, f32(2, 3, 4), f32(2, 4, 5)), v(paddle.bmm, f64(1, 2, 2), f64(1, 2, 2)), v(paddle.bmm, f32(3, 1, 2), f32(3, 2, 1))],
    "mv": [v(paddle.mv, f32(2, 3), f32(3)), v(paddle.mv, f64(3, 1), f64(1)), v(paddle.mv, f32(1, 4), f32(4))],
    "dot": [v(paddle.dot, f32(4), f32(4, seed=1)), v(paddle.dot, f32(2, 3), f32(2, 3, seed=1)), v(paddle.dot, i64(4), i64(4, seed=1))],
    "addmm": [v(paddle.addmm, f32(2, 4), f32(2, 3), f32(3, 4)), v(lambda i, x, y: paddle.addmm(i, x, y, 0.5, 2.0), f32(4), f32(2, 3), f32(3, 4)), v(paddle.addmm, f64(2, 1), f64(2, 3), f64(3, 4))],
    "baddbmm": [v(paddle.baddbmm, f32(2, 2, 4), f32(2, 2, 3), f32(2, 3, 4)), v(lambda i, x, y: paddle.baddbmm(i, x, y, 0.5, 2.0), f32(1, 2, 4), f32(2, 2, 3), f32(2, 3, 4)), v(paddle.baddbmm, f64(2, 2, 4), f64(2, 2, 3), f64(2, 3, 4))],
    "multi_dot": [v(lambda x, y: paddle.linalg.multi_dot([x, y]), f32(2, 3), f32(3, 4)), v(lambda x, y, z: paddle.linalg.multi_dot([x, y, z]), f32(2, 3), f32(3, 4), f32(4, 2)), v(lambda x, y, z: paddle.linalg.multi_dot([x, y, z]), f64(3), f64(3, 4), f64(4))],
    "bilinear": [v(F.bilinear, f32(3, 2), f32(3, 4), f32(5, 2, 4)), v(F.bilinear, f32(3, 2), f32(3, 4), f32(5, 2, 4), f32(1, 5)), v(F.bilinear, f64(1, 2), f64(1, 2), f64(3, 2, 2))],
    "einsum": [v(lambda x, y: paddle.einsum("ij,jk->ik", x, y), f32(2, 3), f32(3, 4)), v(lambda x: paddle.einsum("ii->i", x), f32(3, 3)), v(lambda x, y: paddle.einsum("bij,bkj->bik", x, y), f32(2, 3, 4), f32(2, 5, 4)), v(lambda x: paddle.einsum("ij->ji", x), f64(2, 3))],
    "inverse": [v(paddle.inverse, _square(3, 3)), v(paddle.inverse, _square(2, 3, 3)), v(paddle.inverse, _positive(2, 2))],
    "cholesky": [v(paddle.linalg.cholesky, _positive(3, 3)), v(lambda x: paddle.linalg.cholesky(x, True), _positive(3, 3)), v(paddle.linalg.cholesky, _positive(2, 2, 2))],
    "solve": [v(paddle.linalg.solve, _square(3, 3), f32(3, 2)), v(paddle.linalg.solve, _square(3, 3), f32(3)), v(paddle.linalg.solve, _square(2, 3, 3), f32(2, 3, 1))],
    "triangular_solve": [v(paddle.linalg.triangular_solve, _square(3, 3), f32(3, 2)), v(lambda x, y: paddle.linalg.triangular_solve(x, y, False), _square(3, 3), f32(3, 2)), v(lambda x, y: paddle.linalg.triangular_solve(x, y, True, True), _square(2, 3, 3), f32(2, 3, 2)),
                         v(lambda x, y: paddle.linalg.triangular_solve(x, y, unitriangular=True), _square(3, 3), f32(3, 1))],
    "cholesky_solve": [v(lambda y, x: paddle.linalg.cholesky_solve(y, x), f64(3, 2), np.linalg.cholesky(_positive(3, 3))), v(lambda y, x: paddle.linalg.cholesky_solve(y, x, True), f64(3, 2), np.linalg.cholesky(_positive(3, 3)).T.copy()),
                       v(lambda y, x: paddle.linalg.cholesky_solve(y, x), f64(2, 2, 1), np.linalg.cholesky(_positive(2, 2, 2)))],
    "det": [v(paddle.linalg.det, _square(3, 3)), v(paddle.linalg.det, f32(2, 2, 2)), v(paddle.linalg.det, f64(4, 4))],
    "slogdet": [v(paddle.linalg.slogdet, _square(3, 3)), v(paddle.linalg.slogdet, f64(2, 2)), v(paddle.linalg.slogdet, _square(2, 3, 3))],
    "matrix_power": [v(lambda x, n=n: paddle.linalg.matrix_power(x, n), _square(3, 3), tol=1e-4) for n in (0, 1, 3, -2)],
}  # fmt: skip

TABLES = (REDUCTIONS, MATRICES)
