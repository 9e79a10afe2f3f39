"""Fourier transforms."""

from __future__ import annotations

from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import INT64, Call
from ..complex_pair import ComplexPair
from ..registry import tf_op


def _dft(c: Call, parts: Value, axis: int, *, inverse: bool = False, onesided: bool = False) -> Value:
    return c.b.DFT(parts, None, c.number(axis, INT64), inverse=int(inverse), onesided=int(onesided))


_AXES = {"FFT": 1, "FFT2D": 2, "FFT3D": 3}


@tf_op("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D", complex=True)
def fft(c: Call, input: ComplexPair) -> ComplexPair:
    """FFT(input) -> output; Tcomplex
    FFT2D(input) -> output; Tcomplex
    FFT3D(input) -> output; Tcomplex
    IFFT(input) -> output; Tcomplex
    IFFT2D(input) -> output; Tcomplex
    IFFT3D(input) -> output; Tcomplex
    """
    inverse = c.name.startswith("I")
    count = _AXES[c.name.removeprefix("I")]
    parts = input.parts
    for axis in range(parts.rank - 1 - count, parts.rank - 1):
        parts = _dft(c, parts, axis, inverse=inverse)
    return ComplexPair(parts)


def _real(c: Call, parts: Value, axis: int, length: Size) -> Value:
    """The inverse transform along an axis of the half that a real signal has."""
    parts = _fitted(c, parts, axis, length // 2 + 1)
    found = c.b.DFT(parts, c.scalar(length, INT64), c.number(axis, INT64), inverse=1, onesided=1)
    return c.squeeze(found, found.rank - 1)


def _fitted(c: Call, parts: Value, axis: int, length: Size) -> Value:
    """Cut or filled with zeros to a length along an axis."""
    n = parts.shape[axis]
    if n == length:
        return parts
    if isinstance(n, int) and isinstance(length, int):
        if n > length:
            return c.slice(parts, axis, 0, length)
        pads: list[Size] = [0] * (2 * parts.rank)
        pads[parts.rank + axis] = length - n
        return c.b.Pad(parts, c.b.ints(pads), c.like(0, parts))
    pads = [0] * (2 * parts.rank)
    pads[parts.rank + axis] = length
    return c.slice(c.b.Pad(parts, c.b.ints(pads), c.like(0, parts)), axis, 0, length)


@tf_op("RFFT", "RFFT2D", "RFFT3D")
def rfft(c: Call, input: Value, fft_length: Value) -> ComplexPair:
    """RFFT(input, fft_length) -> output; Treal, Tcomplex
    RFFT2D(input, fft_length) -> output; Treal, Tcomplex
    RFFT3D(input, fft_length) -> output; Treal, Tcomplex
    """
    lengths = c.sizes(fft_length)
    assert lengths is not None
    parts = c.unsqueeze(input, input.rank)
    axes = list(range(input.rank - len(lengths), input.rank))
    for axis, length in zip(axes, lengths, strict=True):
        parts = _fitted(c, parts, axis, length)
    for place, axis in enumerate(reversed(axes)):
        parts = _dft(c, parts, axis, onesided=place == 0)
    return ComplexPair(parts)


@tf_op("IRFFT", "IRFFT2D", "IRFFT3D", complex=True)
def irfft(c: Call, input: ComplexPair, fft_length: Value) -> Value:
    """IRFFT(input, fft_length) -> output; Treal, Tcomplex
    IRFFT2D(input, fft_length) -> output; Treal, Tcomplex
    IRFFT3D(input, fft_length) -> output; Treal, Tcomplex
    """
    lengths = c.sizes(fft_length)
    assert lengths is not None
    parts = input.parts
    rank = parts.rank - 1
    axes = list(range(rank - len(lengths), rank))
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        parts = _dft(c, _fitted(c, parts, axis, length), axis, inverse=True)
    return _real(c, parts, axes[-1], lengths[-1])
