"""Sparse tensors given by their parts."""

from __future__ import annotations

import numpy as np

from .form import Fixed, Variant, f, i, k, v

AT = np.array([[0, 1], [1, 0], [2, 3]], np.int64)
MIXED = np.array([[2, 3], [0, 1], [1, 0]], np.int64)
LINE = np.array([[1], [4]], np.int64)


def _size(*sizes: int) -> Fixed:
    return k(sizes, np.int64)


def _binary() -> list[Variant]:
    return [
        v(AT, f(3), _size(3, 4), f(3, 4, seed=1)),
        v(AT, f(3), _size(3, 4), f(1, 4, seed=1)),
        v(LINE, i(2), _size(6), i(6, low=1, seed=1)),
    ]


def _reduce() -> list[Variant]:
    return [
        v(AT, f(3), _size(3, 4), k([1])),
        v(AT, i(3), _size(3, 4), k([0]), keep_dims=True),
        v(LINE, f(2), _size(6), k([0])),
        v(MIXED, f(3), _size(3, 4), k([0, 1])),
    ]


SPARSE: dict[str, list[Variant]] = {
    "SparseToDense": [
        v(AT, _size(3, 4), f(3), k(0.5)),
        v(k([1, 4]), k([6]), k(7), k(0)),
        v(LINE, _size(6), f(2), k(-1.0)),
    ],
    "SparseTensorDenseMatMul": [
        v(AT, f(3), _size(3, 4), f(4, 2)),
        v(AT, f(3), _size(3, 4), f(3, 2), adjoint_a=True),
        v(AT, f(3), _size(3, 4), f(2, 4), adjoint_b=True),
    ],
    "SparseTensorDenseAdd": [
        v(AT, f(3), _size(3, 4), f(3, 4)),
        v(LINE, i(2), _size(6), i(6)),
        v(AT, f(3, dtype=np.float64), _size(3, 4), f(3, 4, dtype=np.float64)),
    ],
    "SparseDenseCwiseAdd": _binary(),
    "SparseDenseCwiseMul": _binary(),
    "SparseDenseCwiseDiv": _binary(),
    "SparseReshape": [v(AT, _size(3, 4), _size(2, 6)), v(AT, _size(3, 4), _size(-1)), v(LINE, _size(6), _size(2, -1))],
    "SparseReorder": [v(MIXED, f(3), _size(3, 4)), v(AT, i(3), _size(3, 4)), v(LINE[::-1].copy(), f(2), _size(6))],
    "SparseReduceSum": _reduce(),
    "SparseReduceMax": _reduce(),
    "SparseSlice": [
        v(AT, f(3), _size(3, 4), _size(0, 0), _size(2, 2)),
        v(AT, f(3), _size(3, 4), _size(1, 0), _size(9, 9)),
        v(LINE, i(2), _size(6), _size(2), _size(3)),
    ],
}
