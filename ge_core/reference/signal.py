"""Reference kernels of Fourier transforms, windows and the mel scale."""

from __future__ import annotations

import numpy as np

from ge_core.ops.registry import kernel
from ge_core.ops.signal import COSINES
from ge_core.reference.call import Call
from ge_core.reference.cast import convert
from ge_core.reference.precision import narrow, widen


def _complex(x: np.ndarray) -> np.ndarray:
    """[..., 1] as real numbers, [..., 2] as complex ones, without the last axis."""
    wide = widen(x)
    return wide[..., 0] if x.shape[-1] == 1 else wide[..., 0] + 1j * wide[..., 1]


def _parts(y: np.ndarray) -> np.ndarray:
    return np.stack([y.real, y.imag], axis=-1) if np.iscomplexobj(y) else y[..., None]


@kernel("DFT")
def dft(call: Call, x: np.ndarray, length: np.ndarray | None = None, axis: np.ndarray | None = None) -> np.ndarray:
    along = (-2 if axis is None else int(axis.reshape(()))) % x.ndim
    n = None if length is None else int(length.reshape(()))
    signal, onesided = _complex(x), bool(call.attr("onesided"))
    if call.attr("inverse"):
        y = np.fft.irfft(signal, n, along) if onesided else np.fft.ifft(signal, n, along)
    else:
        y = np.fft.rfft(signal, n, along) if onesided else np.fft.fft(signal, n, along)
    return narrow(_parts(y), call.dtype())


@kernel("STFT")
def stft(
    call: Call,
    x: np.ndarray,
    step: np.ndarray,
    window: np.ndarray | None = None,
    length: np.ndarray | None = None,
) -> np.ndarray:
    signal, hop = _complex(x), int(step.reshape(()))
    n = x.shape[1] if length is None else int(length.reshape(()))
    if window is not None:
        if length is not None and n != len(window):
            raise ValueError(f"frame_length is {n}, the window has {len(window)} elements")
        n = len(window)
    if hop < 1 or not 0 < n <= x.shape[1]:
        raise ValueError(f"frames of {n} every {hop} elements in a signal of {x.shape[1]}")
    frames = np.lib.stride_tricks.sliding_window_view(signal, n, axis=1)[:, ::hop]
    if window is not None:
        frames = frames * widen(window)
    y = np.fft.rfft(frames, axis=2) if call.attr("onesided") else np.fft.fft(frames, axis=2)
    return narrow(_parts(y), call.dtype())


@kernel("HannWindow", "HammingWindow", "BlackmanWindow")
def window(call: Call, size: np.ndarray) -> np.ndarray:
    """a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n); n is the size, less one when the window is symmetric."""
    count = int(size.reshape(()))
    n = count if call.attr("periodic") else count - 1
    a0, a1, a2 = COSINES[call.node.op]
    angle = 2 * np.pi * np.arange(count) / n if n > 0 else np.full(count, np.pi)
    return convert(a0 - a1 * np.cos(angle) + a2 * np.cos(2 * angle), call.dtype())


@kernel("MelWeightMatrix")
def mel_weight_matrix(
    call: Call, bins: np.ndarray, length: np.ndarray, rate: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Triangles with peak 1 between bin edges that are evenly spaced on the scale 2595 log10(1 + f / 700)."""
    count, n = int(bins.reshape(())), int(length.reshape(()))
    edges = 2595 * np.log10(1 + np.array([low, high], np.float64).reshape(2) / 700)
    mel = np.arange(count + 2) * ((edges[1] - edges[0]) / (count + 2)) + edges[0]
    hertz = 700 * (10 ** (mel / 2595) - 1)
    at = np.floor((n + 1) * hertz / float(rate.reshape(()))).astype(np.int64)
    left, centre, right = at[:-2], at[1:-1], at[2:]
    row = np.arange(n // 2 + 1)[:, None]
    rising = np.where(centre > left, (row - left) / np.maximum(centre - left, 1), 1.0)
    falling = (right - row) / np.maximum(right - centre, 1)
    y = np.where((row >= left) & (row <= centre), rising, 0.0)
    y = np.where((row >= centre) & (row < right) & (right > centre), falling, y)
    return convert(y, call.dtype())
