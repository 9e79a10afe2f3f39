"""Fourier transforms as products with their matrices, for opsets without them or with axes that come with the call."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened

from .cases import by_cases
from .forms import InexpressibleError
from .lowerings import lowers
from .sizes import Sizes


@lowers("DFT")
def dft(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 17, with an axis of the call below 20."""
    x, axis = operand(node.inputs, 0), node.input(2)
    inverse, onesided = bool(node.attrs.get("inverse", 0)), bool(node.attrs.get("onesided", 0))

    def along(r: Builder, k: int) -> Value:
        length = node.input(1)
        return _transformed(r, x, k, None if length is None else r.Reshape(length, r.ints(1)), inverse, onesided)

    if axis is None:
        return [along(b, x.rank - 2)]
    return [by_cases(b, axis, x.rank, "the axis of DFT", along, cases=x.rank - 1)]


@lowers("STFT")
def stft(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """The frames gathered, times the window, and their transforms."""
    x, step = operand(node.inputs, 0), b.Reshape(b.Cast(operand(node.inputs, 1), to="int64"), b.ints(1))
    window, length = node.input(2), node.input(3)
    if window is not None:
        size = b.Shape(window)
    else:
        size = b.Shape(x, start=1, end=2) if length is None else b.Reshape(b.Cast(length, to="int64"), b.ints(1))
    count = b.Add(b.Div(b.Sub(b.Shape(x, start=1, end=2), size), step), np.int64(1))
    first = b.Mul(b.Unsqueeze(_numbers(b, count), b.ints(1)), step)
    frames = b.Gather(widened(b, x), b.Add(first, b.Unsqueeze(_numbers(b, size), b.ints(0))), axis=1)
    if window is not None:
        frames = b.Mul(frames, b.Unsqueeze(cast(b, window, frames.dtype), b.ints(1)))
    return [cast(b, _transformed(b, frames, 2, None, False, bool(node.attrs.get("onesided", 1))), x.dtype)]


def _numbers(b: Builder, count: Value) -> Value:
    """The numbers below a count, which is a vector of one element."""
    made: Value = b.Range(np.int64(0), b.Reshape(count, b.constant(np.zeros(0, np.int64))), np.int64(1))
    return made


def _transformed(b: Builder, x: Value, axis: int, length: Value | None, inverse: bool, onesided: bool) -> Value:
    """The transform along an axis; the last axis of x holds real and imaginary parts, or real ones alone.

    Args:
        length: how many elements the transform has, a vector of one; by default what x says.
    """
    parts, rank = x.shape[-1], x.rank
    if not isinstance(parts, int):
        raise InexpressibleError("DFT of numbers of which nothing says whether they are real")
    data = widened(b, x)
    given = b.Shape(data, start=axis, end=axis + 1)
    half = inverse and onesided  # of a real signal there is one half of the numbers
    if length is None:
        length = b.Mul(b.Sub(given, np.int64(1)), np.int64(2)) if half else given
    wanted = b.Add(b.Div(length, np.int64(2)), np.int64(1)) if half else length
    zero = b.ints(0)
    ends = [zero] * rank + [b.Sub(wanted, given) if i == axis else zero for i in range(rank)]
    data = b.Pad(data, b.Concat(ends, axis=0))
    order = [i for i in range(rank - 1) if i != axis] + [axis]
    back = [order.index(i) for i in range(rank - 1)]
    planes = [b.Transpose(b.Gather(data, np.int64(k), axis=-1), perm=order) for k in range(parts)]
    made = b.Add(b.Div(length, np.int64(2)), np.int64(1)) if onesided and not inverse else length
    turns = b.Mod(b.Mul(b.Unsqueeze(_numbers(b, wanted), b.ints(1)), b.Unsqueeze(_numbers(b, made), b.ints(0))), length)
    wide = DType.of("float64")
    total = b.Cast(length, to=wide)
    angle = b.Div(b.Mul(b.Cast(turns, to=wide), 2 * math.pi), total)
    cosine, sine = b.Cos(angle), b.Sin(angle)
    if inverse:
        cosine, sine = b.Div(cosine, total), b.Div(b.Neg(sine), total)
    if half:
        # the other half are the conjugates: all count twice but the first, and the last of an even length
        number = _numbers(b, wanted)
        twice = b.And(b.Less(np.int64(0), number), b.Not(b.Equal(b.Mul(number, np.int64(2)), length)))
        weight = b.Unsqueeze(b.Add(b.Cast(twice, to=wide), 1.0), b.ints(1))
        cosine, sine = b.Mul(cosine, weight), b.Mul(sine, weight)
    cosine, sine = cast(b, cosine, data.dtype), cast(b, sine, data.dtype)
    real = b.MatMul(planes[0], cosine)
    imaginary = b.Neg(b.MatMul(planes[0], sine))
    if parts == 2:
        real = b.Add(real, b.MatMul(planes[1], sine))
        imaginary = b.Add(imaginary, b.MatMul(planes[1], cosine))
    results = [real] if half else [real, imaginary]
    y = b.Concat([b.Unsqueeze(b.Transpose(r, perm=back), b.ints(-1)) for r in results], axis=-1)
    return cast(b, y, x.dtype)
