"""Fourier transforms as products with constant cosines and sines: CANN's own work on complex numbers.

X_k = sum over n of x_n exp(-2 pi i k n / N); with x = a + b i, c = cos(2 pi k n / N) and s = sin(2 pi k n / N):
Re X = a c + b s, Im X = b c - a s. The inverse has the other sign and is divided by N.
"""

from __future__ import annotations

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.product import matrices
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.dtype import int64
from ge_core.ir.graph import constant_of

_MOST_FREQUENCIES = 8192
"""The matrices of a transform of this length hold 8192^2 numbers each; longer ones are refused."""


def _tables(c: LowerCall, size: int, kept: int, frequencies: int, sign: float, scale: float) -> tuple[Out, Out]:
    """cos and sign * sin of 2 pi k n / size, `[kept, frequencies]`, times scale."""
    if max(size, frequencies) > _MOST_FREQUENCIES:
        raise c.refuse(f"a transform of {size} elements", "transform the signal before the model")
    # k n mod size keeps the angle exact where k n is large
    angle = 2 * np.pi * (np.outer(np.arange(kept), np.arange(frequencies)) % size) / size
    dtype = c.float_type
    return c.const(scale * np.cos(angle), dtype), c.const(sign * scale * np.sin(angle), dtype)


@lowering("DFT")
def dft(c: LowerCall) -> Out:
    """The axis goes last, both parts are multiplied by the tables, and go back."""
    rank, shape = c.rank(), c.shape()
    axis = (c.known(2)[0] if c.node.input(2) is not None else -2) % rank
    onesided, inverse = bool(c.attr("onesided")), bool(c.attr("inverse"))
    if onesided and inverse:
        raise c.refuse("the inverse of one half of the frequencies", "give all of them")
    size = c.known(1)[0] if c.node.input(1) is not None else shape[axis]
    have = shape[axis]
    if not isinstance(size, int) or not isinstance(have, int):
        raise c.refuse("along a size that is known at run time only", "give the signal a fixed length")
    kept, frequencies = min(size, have), size // 2 + 1 if onesided else size
    cos, sin = _tables(c, size, kept, frequencies, -1.0 if inverse else 1.0, 1.0 / size if inverse else 1.0)
    c.note("form", "DFT as a product with constant tables")
    order = [*(i for i in range(rank - 1) if i != axis), axis]
    parts = [_part(c, i, order, kept) for i in range(shape[-1] if isinstance(shape[-1], int) else 0)]
    if not parts:
        raise c.refuse("of numbers of which it is not known whether they are complex")
    real, imaginary = matrices(c, parts[0], cos), c.op("Neg", matrices(c, parts[0], sin))
    if len(parts) == 2:
        real = c.op("Add", real, matrices(c, parts[1], sin))
        imaginary = c.op("Add", imaginary, matrices(c, parts[1], cos))
    both = c.op("Pack", [real, imaginary], axis=rank - 1, N=2)
    back = [0] * (rank - 1)
    for place, source in enumerate(order):
        back[source] = place
    return c.transpose(both, [*back, rank - 1])


def _part(c: LowerCall, index: int, order: list[int], kept: int) -> Out:
    """The real or imaginary part with the transformed axis last, cut to the elements that count."""
    rank = c.rank()
    part = c.op("GatherV2", c[0], c.const(index, int64), c.const(rank - 1, int64))
    part = part if order == list(range(rank - 1)) else c.transpose(part, order)
    if c.shape()[order[-1]] != kept:
        part = c.op("GatherV2", part, c.const(np.arange(kept), int64), c.const(rank - 2, int64))
    return c.op("Unsqueeze", part, axes=[0]) if rank == 2 else part


@lowering("STFT")
def stft(c: LowerCall) -> Out:
    """A convolution with windowed cosines and sines: one channel per part of each frequency."""
    hop = c.known(1)[0]
    if c.shape()[-1] != 1 and c.rank() == 3:
        raise c.refuse("of a complex signal", "transform the real and the imaginary part apart")
    window = constant_of(c.node.input(2))
    if window is None and c.node.input(2) is not None:
        raise c.refuse("with a window that is computed", "make the window a constant")
    size = window.type.shape[0] if window is not None and window.type.shape else None
    size = c.known(3)[0] if size is None and c.node.input(3) is not None else size
    if not isinstance(size, int):
        raise c.refuse("with frames of a length that is known at run time only", "give the window a fixed length")
    frequencies = size // 2 + 1 if c.attr("onesided") else size
    angle = 2 * np.pi * (np.outer(np.arange(frequencies), np.arange(size)) % size) / size
    weights = np.ones(size) if window is None else window.array().astype(np.float64)
    filters = np.concatenate([np.cos(angle) * weights, -np.sin(angle) * weights])[:, None, None, :]
    c.note("form", "STFT as a convolution with windowed cosines and sines")
    x = c.reshape(c[0], [c.shape()[0], 1, 1, c.shape()[1]])
    formats = {"x": "NCHW", "filter": "NCHW", "y": "NCHW"}
    y = c.product(
        "Conv2D", x, c.const(filters, c.float_type), None, strides=[1, 1, 1, hop], pads=[0, 0, 0, 0],
        dilations=[1, 1, 1, 1], groups=1, data_format="NCHW", formats=formats,
    )  # fmt: skip
    frames = c.output_shape()[1]
    parts = c.reshape(y, [c.shape()[0], 2, frequencies, frames])
    return c.transpose(parts, [0, 3, 2, 1])
