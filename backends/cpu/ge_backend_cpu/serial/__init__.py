"""Kernels whose steps depend on the data: searching, selecting, writing at indices, sampling, linear algebra."""

from ge_backend_cpu.serial import (
    bins,
    check,
    fourier,
    gates,
    linalg,
    noise,
    places,
    pooling,
    real_fourier,
    running,
    sampling,
    scatter,
    suppress,
)

__all__ = [
    "bins", "check", "fourier", "gates", "linalg", "noise", "places", "pooling", "real_fourier", "running",
    "sampling", "scatter", "suppress",
]  # fmt: skip
