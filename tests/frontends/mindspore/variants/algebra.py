"""Products of matrices, normalisations, recurrent layers."""

from __future__ import annotations

import numpy as np

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import positive, real

VARIANTS: list[Variant] = []


def _v(
    op: str, *rows: tuple[str, str, object], tolerance: float | None = None, results: tuple[int, ...] | None = None
) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,), tolerance, results))


def _definite(n: int, *lead: int) -> np.ndarray:
    a = real(*lead, n, n)
    return (a @ np.swapaxes(a, -1, -2) + 2 * np.eye(n)).astype(np.float32)


_v(
    "MatMul",
    ("", "x, y", (real(2, 3), real(3, 4))),
    ("True, False", "x, y", (real(3, 2), real(3, 4))),
    ("False, True", "x, y", (real(2, 3), real(4, 3))),
)
_v(
    "BatchMatMul",
    ("", "x, y", (real(2, 2, 3), real(2, 3, 4))),
    ("True, False", "x, y", (real(1, 2, 3, 2), real(1, 2, 3, 4))),
    ("False, True", "x, y", (real(2, 2, 3), real(2, 4, 3))),
)
_v(
    "BiasAdd",
    ("", "x, y", (real(2, 3), real(3))),
    ("", "x, y", (real(2, 3, 4, 2), real(3))),
    ("", "x, y", (real(2, 3, 4), real(3))),
)
_v(
    "Dense",
    ("", "x, y, z", (real(2, 3), real(4, 3), real(4))),
    ("", "x, y, None", (real(2, 2, 3), real(4, 3))),
    ("", "x, y, None", (real(3), real(4, 3))),
)
_v(
    "BatchNorm",
    ("False", "x, y, z, w, u", (real(2, 3), positive(3), real(3), real(3), positive(3))),
    ("False, 1e-3", "x, y, z, w, u", (real(2, 3, 2, 4), positive(3), real(3), real(3), positive(3))),
    ("False", "x, y, z, w, u", (real(1, 2, 3), positive(2), real(2), real(2), positive(2))),
    results=(0,),
)
_v(
    "LayerNorm",
    ("-1, -1, 1e-5", "x, y, z", (real(2, 3, 4), real(4), real(4))),
    ("1, 1", "x, y, z", (real(2, 3, 4), real(3, 4), real(3, 4))),
    ("1, 2, 1e-3", "x, y, z", (real(2, 3, 4), real(4), real(4))),
    tolerance=1e-5,
)
_v(
    "GroupNorm",
    ("", "x, 2, y, z, 1e-5", (real(2, 4, 3), real(4), real(4))),
    ("", "x, 1, y, z, 1e-3", (real(2, 4, 3, 2), real(4), real(4))),
    ("", "x, 3, y, z, 1e-5", (real(2, 3, 4), real(3), real(3))),
    results=(0,),
)
_v("L2Normalize", ("0", "x", real(3, 2)), ("-1, 1e-2", "x", real(3, 2)), ("1", "x", real(2, 3, 2)))
_v("LRN", ("", "x", real(1, 7, 2, 3)), ("2, 2.0, 0.5, 0.75", "x", real(1, 7, 2, 3)), ("1", "x", real(2, 3, 1, 1)))
_v("Renorm", ("1, 0, 2.0", "x", real(3, 4)), ("2, 1, 1.0", "x", real(3, 4)), ("2, -1, 5.0", "x", real(2, 3, 2)))
_v(
    "Cross",
    ("1", "x, y", (real(2, 3), real(2, 3))),
    ("", "x, y", (real(2, 3), real(2, 3))),
    ("0", "x, y", (real(3, 4), real(3, 4))),
)
_v("MatrixInverse", ("", "x", _definite(3)), ("True", "x", _definite(2, 2)), ("", "x", _definite(2)), tolerance=2e-5)
_v("Cholesky", ("", "x", _definite(3)), ("True", "x", _definite(2, 2)), ("", "x", _definite(1)), tolerance=2e-5)
_v("MatrixDeterminant", ("", "x", _definite(3)), ("", "x", _definite(2, 2)), ("", "x", _definite(2)), tolerance=2e-5)
_v(
    "MatrixSolve",
    ("", "x, y", (_definite(3), real(3, 2))),
    ("True", "x, y", (_definite(3), real(3, 2))),
    ("", "x, y", (_definite(2, 2), real(2, 2, 1))),
    tolerance=2e-5,
)
_v("MatrixPower", ("2", "x", real(2, 3, 3)), ("3", "x", real(1, 2, 2)), ("0", "x", real(2, 2, 2)), tolerance=2e-5)
_v(
    "Cdist",
    ("", "x, y", (real(2, 3), real(4, 3))),
    ("1.0", "x, y", (real(2, 2, 3), real(2, 4, 3))),
    ("3.0", "x, y", (real(2, 3), real(4, 3))),
    tolerance=2e-5,
)
_v("Pdist", ("", "x", real(4, 3)), ("1.0", "x", real(3, 2)), ("3.0", "x", real(4, 2)), tolerance=2e-5)
_v(
    "LSTM",
    ("3, 4, 1, True, False, 0.0", "x, y, z, w", (real(5, 2, 3), real(1, 2, 4), real(1, 2, 4), real(128, 1, 1))),
    ("3, 4, 1, False, False, 0.0", "x, y, z, w", (real(5, 2, 3), real(1, 2, 4), real(1, 2, 4), real(112, 1, 1))),
    ("3, 4, 1, True, True, 0.0", "x, y, z, w", (real(5, 2, 3), real(2, 2, 4), real(2, 2, 4), real(256, 1, 1))),
    results=(0, 1, 2),
    tolerance=1e-5,
)
