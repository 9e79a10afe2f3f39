"""Linear algebra, complex numbers, Fourier transforms."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from .form import Variant, f, k, open_, v, within

SQUARE = f(2, 4, 4)
POSITIVE = SQUARE @ SQUARE.transpose(0, 2, 1) + 4 * np.eye(4, dtype=np.float32)
DIAGONALS = f(2, 2, 4)
LOOSE = 2e-5  # factorisations add up in another order than Eigen's


def _solve() -> list[Variant]:
    return [
        v(POSITIVE, f(2, 4, 3), tolerance=LOOSE),
        v(POSITIVE, f(2, 4, 1), adjoint=True, tolerance=LOOSE),
        open_(POSITIVE[0], f(4, 2), tolerance=LOOSE),
    ]


def _triangular() -> list[Variant]:
    return [
        v(POSITIVE, f(2, 4, 3), lower=lower, adjoint=adjoint, tolerance=LOOSE)
        for lower in (True, False)
        for adjoint in (True, False)
    ]


def _square(tolerance: float | None = LOOSE) -> list[Variant]:
    return [v(POSITIVE, tolerance=tolerance), open_(POSITIVE[0], tolerance=tolerance), v(POSITIVE.astype(np.float64))]


def _complex(function: object, *shapes: tuple[int, ...]) -> list[Variant]:
    """A function of complex tensors made of real ones."""

    def call(*parts: object) -> object:
        pairs = [tf.complex(parts[n], parts[n + 1]) for n in range(0, len(parts), 2)]
        found = function(*pairs)  # type: ignore[operator]
        return [tf.math.real(found), tf.math.imag(found)] if found.dtype.is_complex else found

    every = []
    for number, shape in enumerate(shapes):
        parts = [f(*shape, seed=s) for s in range(2 * call_arity(function))]
        every.append(within(call, *parts, open_sizes=number == 1))
    return every


def call_arity(function: object) -> int:
    """How many complex tensors a function takes."""
    return function.__code__.co_argcount  # type: ignore[attr-defined]


def _both(x: object) -> list[object]:
    return [tf.math.real(x), tf.math.imag(x)]


LINALG: dict[str, list[Variant]] = {
    "MatrixBandPart": [
        v(f(4, 5), k(1), k(2)),
        v(f(2, 3, 3), k(-1), k(0)),
        open_(f(4, 5), k(0), k(-1)),
        v(f(3, 3) > 0, k(-1), k(0)),
        within(lambda x: tf.linalg.band_part(x, tf.shape(x)[0] - 2, 0), f(4, 4), open_sizes=True),
    ],
    "MatrixDiag": [v(f(3)), v(f(2, 3)), open_(f(2, 4))],
    "Diag": [v(f(3)), v(f(2, 3)), open_(f(4))],
    "DiagPart": [v(f(3, 3)), v(f(2, 3, 2, 3)), v(f(1, 1))],
    "MatrixDiagPart": [v(f(3, 4)), v(f(2, 4, 3)), open_(f(3, 3))],
    "MatrixDiagPartV2": [v(f(3, 4), k(0), k(0.0)), v(f(2, 4, 3), k([-1, 1]), k(9.0)), v(f(3, 3), k(1), k(0.0))],
    "MatrixDiagPartV3": [
        v(f(3, 4), k([-1, 2]), k(9.0), align=a) for a in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
    ]
    + [open_(f(2, 3, 3), k(0), k(0.0)), v(f(4, 3), k(-2), k(0.0))],
    "MatrixDiagV2": [
        v(f(3), k(0), k(-1), k(-1), k(0.0)),
        v(DIAGONALS, k([0, 1]), k(-1), k(-1), k(0.5)),
        v(f(3), k(1), k(3), k(5), k(0.0)),
    ],
    "MatrixDiagV3": [v(DIAGONALS, k([0, 1]), k(-1), k(-1), k(0.5), align=a) for a in ("LEFT_RIGHT", "RIGHT_LEFT")]
    + [open_(f(3), k(0), k(-1), k(-1), k(0.0)), v(f(3), k(-1), k(5), k(3), k(2.0))],
    "MatrixSetDiag": [v(f(3, 4), f(3)), v(f(2, 4, 3), f(2, 3)), open_(f(3, 3), f(3))],
    "MatrixSetDiagV2": [v(f(3, 4), f(3), k(0)), v(f(2, 4, 4), DIAGONALS, k([0, 1])), v(f(3, 3), f(2), k(-1))],
    "MatrixSetDiagV3": [v(f(2, 4, 4), DIAGONALS, k([0, 1]), align=a) for a in ("LEFT_RIGHT", "RIGHT_LEFT")]
    + [open_(f(3, 3), f(3), k(0)), v(f(3, 4), f(3), k(1))],
    "MatrixInverse": [*_square(), v(POSITIVE, adjoint=True, tolerance=LOOSE)],
    "MatrixDeterminant": _square(),
    "LogMatrixDeterminant": _square(),
    "Cholesky": _square(),
    "MatrixSolve": _solve(),
    "MatrixTriangularSolve": _triangular(),
    "BandedTriangularSolve": [
        v(f(2, 4, low=1), f(4, 3), lower=lower, adjoint=adjoint, tolerance=LOOSE)
        for lower, adjoint in ((True, False), (False, False), (True, True))
    ],
    "MatrixSolveLs": [
        v(f(2, 5, 3), f(2, 5, 2), k(0.1, np.float64), fast=True, tolerance=1e-4),
        v(f(3, 5), f(3, 2), k(0.1, np.float64), fast=True, tolerance=1e-4),
        v(f(4, 4) + 3 * np.eye(4, dtype=np.float32), f(4, 1), k(0.01, np.float64), fast=True, tolerance=1e-4),
    ],
    "TridiagonalMatMul": [
        v(f(1, 4), f(1, 4, seed=1), f(1, 4, seed=2), f(4, 3)),
        v(f(2, 1, 3), f(2, 1, 3, seed=1), f(2, 1, 3, seed=2), f(2, 3, 2)),
        v(f(1, 1), f(1, 1), f(1, 1), f(1, 2)),
    ],
    "TridiagonalSolve": [
        v(f(3, 4) + np.array([[0], [4], [0]], np.float32), f(4, 2), tolerance=LOOSE),
        v(f(2, 3, 3) + np.array([[0], [4], [0]], np.float32), f(2, 3, 1), tolerance=LOOSE),
        v(f(3, 2) + np.array([[0], [4], [0]], np.float32), f(2, 2), partial_pivoting=False, tolerance=LOOSE),
    ],
    "Complex": _complex(lambda x: x, (3,), (2, 3), (0, 2)),
    "Real": _complex(lambda x: tf.math.real(x), (3,), (2, 3), (4, 1)),
    "Imag": _complex(lambda x: tf.math.imag(x), (3,), (2, 3), (4, 1)),
    "Conj": _complex(lambda x: tf.math.conj(x), (3,), (2, 3), (4, 1)),
    "ComplexAbs": _complex(lambda x: tf.abs(x), (3,), (2, 3), (4, 1)),
    "Angle": _complex(lambda x: tf.math.angle(x), (3,), (2, 3), (4, 1)),
    "FFT": _complex(lambda x: tf.signal.fft(x), (8,), (2, 6), (3, 5)),
    "IFFT": _complex(lambda x: tf.signal.ifft(x), (8,), (2, 6), (3, 5)),
    "FFT2D": _complex(lambda x: tf.signal.fft2d(x), (4, 6), (2, 3, 4), (1, 5, 2)),
    "IFFT2D": _complex(lambda x: tf.signal.ifft2d(x), (4, 6), (2, 3, 4), (1, 5, 2)),
    "FFT3D": _complex(lambda x: tf.signal.fft3d(x), (2, 4, 3), (1, 2, 3, 4), (2, 2, 2)),
    "IFFT3D": _complex(lambda x: tf.signal.ifft3d(x), (2, 4, 3), (1, 2, 3, 4), (2, 2, 2)),
    "RFFT": [
        within(lambda x, n=n: _both(tf.signal.rfft(x, n)), f(2, 8), open_sizes=o)
        for n, o in ((None, False), ([6], False), ([12], False), ([8], True))
    ],
    "RFFT2D": [within(lambda x, n=n: _both(tf.signal.rfft2d(x, n)), f(2, 4, 6)) for n in (None, [2, 4], [5, 8])],
    "RFFT3D": [within(lambda x, n=n: _both(tf.signal.rfft3d(x, n)), f(2, 4, 6)) for n in (None, [2, 2, 4], [2, 5, 8])],
    "IRFFT": [
        within(lambda x, y, n=n: tf.signal.irfft(tf.complex(x, y), n), f(2, 5), f(2, 5, seed=1))
        for n in (None, [6], [8])
    ],
    "IRFFT2D": [
        within(lambda x, y, n=n: tf.signal.irfft2d(tf.complex(x, y), n), f(2, 4, 5), f(2, 4, 5, seed=1))
        for n in (None, [4, 6], [2, 8])
    ],
    "IRFFT3D": [
        within(lambda x, y, n=n: tf.signal.irfft3d(tf.complex(x, y), n), f(2, 4, 5), f(2, 4, 5, seed=1))
        for n in (None, [2, 4, 6], [2, 2, 8])
    ],
}
