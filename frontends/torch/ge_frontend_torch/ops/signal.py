"""Fourier transforms and the operators on complex numbers that stand around them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..element_types import Operand
from ..registry import aten

_INT64 = DType.of("int64")


def _parts(c: Call, x: Value | ComplexPair) -> Value:
    """A tensor with a last axis of parts: one of real numbers, two of complex ones."""
    if isinstance(x, ComplexPair):
        return x.parts
    real = c.cast(x, DType.of("float32")) if not x.dtype.is_float else x
    return c.unsqueeze(real, real.rank)


def _scaled(c: Call, x: Value, count: Size, power: float) -> Value:
    """x times count to a power."""
    if power == 0:
        return x
    if isinstance(count, int):
        return c.b.Mul(x, float(count) ** power)
    return c.b.Mul(x, c.b.Pow(c.scalar(count, x.dtype), power))


def _dft(c: Call, x: Value, axis: int, n: Size | None, *, inverse: bool = False, onesided: bool = False) -> Value:
    length = None if n is None else c.scalar(n, _INT64)
    return c.b.DFT(x, length, c.scalar(axis, _INT64), inverse=int(inverse), onesided=int(onesided))


# The power of the length that the result is multiplied with, for the forward and the inverse transform; the
# graph's inverse divides by the length already.
_NORMS = {None: (0.0, 0.0), "backward": (0.0, 0.0), "ortho": (-0.5, 0.5), "forward": (-1.0, 1.0)}


def _rank(x: Value | ComplexPair) -> int:
    return x.parts.rank - 1 if isinstance(x, ComplexPair) else x.rank


@aten("fft_rfft.default", "fft_fft.default", complex=True)
def fft(c: Call, x: Value | ComplexPair, n: Size | None = None, dim: int = -1, norm: str | None = None) -> ComplexPair:
    """fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor
    fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor
    """
    axis = c.axis(dim, _rank(x))
    parts = _parts(c, x)
    count = parts.shape[axis] if n is None else n
    found = _dft(c, parts, axis, n, onesided=c.name.startswith("fft_rfft"))
    return ComplexPair(_scaled(c, found, count, _NORMS[norm][0]))


@aten("fft_ifft.default", complex=True)
def ifft(c: Call, x: Value | ComplexPair, n: Size | None = None, dim: int = -1, norm: str | None = None) -> ComplexPair:
    """fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
    axis = c.axis(dim, _rank(x))
    parts = _parts(c, x)
    count = parts.shape[axis] if n is None else n
    return ComplexPair(_scaled(c, _dft(c, parts, axis, n, inverse=True), count, _NORMS[norm][1]))


@aten("fft_irfft.default", complex=True)
def irfft(c: Call, x: ComplexPair, n: Size | None = None, dim: int = -1, norm: str | None = None) -> Value:
    """fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
    axis = c.axis(dim, _rank(x))
    count = (x.parts.shape[axis] - 1) * 2 if n is None else n
    found = _dft(c, x.parts, axis, count, inverse=True, onesided=True)
    return c.squeeze(_scaled(c, found, count, _NORMS[norm][1]), found.rank - 1)


# torch's fft_norm_mode: none, by the root of n, by n.
_POWERS = {0: 0.0, 1: -0.5, 2: -1.0}


@aten("_fft_r2c.default", "_fft_c2c.default", complex=True)
def fft_dims(
    c: Call,
    x: Value | ComplexPair,
    dim: Sequence[int],
    normalization: int,
    onesided: bool = False,
    forward: bool = True,
) -> ComplexPair:
    """_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor
    _fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor
    """
    rank, parts = _rank(x), _parts(c, x)
    axes = [c.axis(d, rank) for d in dim]
    count = dims.product(parts.shape[axis] for axis in axes)
    for place, axis in enumerate(reversed(axes)):
        parts = _dft(c, parts, axis, None, inverse=not forward, onesided=onesided and place == 0)
    return ComplexPair(_scaled(c, parts, count, _POWERS[normalization] + (0.0 if forward else 1.0)))


@aten("_fft_c2r.default", complex=True)
def fft_to_real(c: Call, x: ComplexPair, dim: Sequence[int], normalization: int, last_dim_size: Size) -> Value:
    """_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor"""
    parts = x.parts
    axes = [c.axis(d, _rank(x)) for d in dim]
    for axis in axes[:-1]:
        parts = _dft(c, parts, axis, None, inverse=True)
    parts = _dft(c, parts, axes[-1], last_dim_size, inverse=True, onesided=True)
    count = dims.product(c.shape()[axis] for axis in axes)
    return c.squeeze(_scaled(c, parts, count, _POWERS[normalization] + 1.0), parts.rank - 1)


@aten("stft.default", ignores=("return_complex", "align_to_window"), complex=True)
def stft(
    c: Call,
    x: Value,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
) -> ComplexPair:
    """stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool
    normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) ->
    Tensor
    """
    b = c.b
    length = n_fft if win_length is None else win_length
    frame = c.full((length,), 1, x.dtype) if window is None else c.cast(window, x.dtype)
    if length < n_fft:
        before = (n_fft - length) // 2
        frame = b.Pad(frame, b.ints(before, n_fft - length - before), c.scalar(0, x.dtype), mode="constant")
    signal = c.reshape(x, (1 if x.rank == 1 else x.shape[0], x.shape[-1], 1))
    step = c.scalar(n_fft // 4 if hop_length is None else hop_length, _INT64)
    found = b.STFT(signal, step, frame, None, onesided=int(onesided is not False))
    if normalized:
        found = b.Mul(found, n_fft**-0.5)
    found = c.transpose(found, [0, 2, 1, 3])
    return ComplexPair(c.squeeze(found, 0) if x.rank == 1 else found)


@aten("view_as_real.default", complex=True)
def view_as_real(c: Call, x: ComplexPair) -> Value:
    """view_as_real(Tensor(a) self) -> Tensor(a)"""
    return x.parts


@aten("view_as_complex.default", complex=True)
def view_as_complex(c: Call, x: Value) -> ComplexPair:
    """view_as_complex(Tensor(a) self) -> Tensor(a)"""
    return ComplexPair(x)


@aten("complex.default", complex=True)
def complex_(c: Call, real: Value, imag: Value) -> ComplexPair:
    """complex(Tensor real, Tensor imag) -> Tensor"""
    return pair(c, real, imag)


@aten("polar.default", complex=True)
def polar(c: Call, abs: Value, angle: Value) -> ComplexPair:
    """polar(Tensor abs, Tensor angle) -> Tensor"""
    b = c.b
    return pair(c, b.Mul(abs, b.Cos(angle)), b.Mul(abs, b.Sin(angle)))


def pair(c: Call, real: Value, imag: Value) -> ComplexPair:
    """A complex tensor of the result's shape from its parts."""
    shape = c.shape()
    parts = [c.unsqueeze(c.expand(part, shape), len(shape)) for part in (real, imag)]
    return ComplexPair(c.b.Concat(parts, axis=len(shape)))


def split(c: Call, x: ComplexPair) -> tuple[Value, Value]:
    """Real and imaginary part."""
    axis = x.parts.rank - 1
    real, imag = (c.b.Gather(x.parts, part, axis=axis) for part in (0, 1))
    return real, imag


@aten("real.default", "imag.default", complex=True)
def real(c: Call, x: Value | ComplexPair) -> Value:
    """real(Tensor(a) self) -> Tensor(a)
    imag(Tensor(a) self) -> Tensor(a)
    """
    if not isinstance(x, ComplexPair):
        return x
    return split(c, x)[int(c.name.startswith("imag"))]


@aten("angle.default", complex=True)
def angle(c: Call, x: Value | ComplexPair) -> Value:
    """angle(Tensor self) -> Tensor"""
    b = c.b
    if isinstance(x, ComplexPair):
        real, imag = split(c, x)
        return b.ge.Atan2(imag, real)
    x = c.cast(x, c.dtype())
    turned = b.Where(b.Less(x, 0.0), c.scalar(math.pi, x.dtype), c.scalar(0, x.dtype))
    return b.Where(b.IsNaN(x), x, turned)


@aten("conj.default", "_conj.default", "conj_physical.default", "_conj_physical.default", complex=True)
def conj(c: Call, x: Value | ComplexPair) -> Value | ComplexPair:
    """conj(Tensor(a) self) -> Tensor(a)
    _conj(Tensor(a) self) -> Tensor(a)
    conj_physical(Tensor self) -> Tensor
    _conj_physical(Tensor self) -> Tensor
    """
    if not isinstance(x, ComplexPair):
        return x
    real, imag = split(c, x)
    return pair(c, real, c.b.Neg(imag))


def complex_product(c: Call, x: Operand | ComplexPair, other: Operand | ComplexPair) -> ComplexPair:
    """(a + bi)(d + ei) = (ad - be) + (ae + bd)i; a real factor scales both parts."""
    b = c.b
    if isinstance(x, ComplexPair) and isinstance(other, ComplexPair):
        (a, i), (d, e) = split(c, x), split(c, other)
        return pair(c, b.Sub(b.Mul(a, d), b.Mul(i, e)), b.Add(b.Mul(a, e), b.Mul(i, d)))
    number, factor = (x, other) if isinstance(x, ComplexPair) else (other, x)
    assert isinstance(number, ComplexPair) and not isinstance(factor, ComplexPair)
    scale = c.scalar(factor, number.parts.dtype)
    return ComplexPair(b.Mul(number.parts, c.unsqueeze(scale, scale.rank)))
