"""Reference kernels of convolutions.

Three ways, by shape: a 1x1 kernel is a matrix product; one input channel per group is a sum over the points of
the kernel; anything else copies windows of a band of rows (`_BAND` elements at most) and multiplies on BLAS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.errors import ExecutionError
from ge_core.ops.conv import transposed_windows
from ge_core.ops.registry import kernel
from ge_core.ops.windows import Windows, auto_pad_of, output_positions, window_attributes
from ge_core.reference.call import Call
from ge_core.reference.matmul import aligned, centred
from ge_core.reference.precision import narrow, widen
from ge_core.reference.quantise import requantise
from ge_core.reference.windows import concrete, kernel_offsets, overlap_add, padded, shifted, window_view

_BAND = 1 << 20
_BLOCK = 1 << 15


def call_windows(call: Call, kernel: Sequence[int], spatial: Sequence[int]) -> tuple[Windows, tuple[int, ...]]:
    """The windows of a node and their positions for actual sizes.

    Raises:
        ExecutionError: a window is larger than the padded input.
    """

    def fail(message: str) -> ExecutionError:
        return call.error(ExecutionError, message)

    windows = window_attributes(call, fail, kernel, spatial)
    ceil_mode = bool(call.attr("ceil_mode")) if "ceil_mode" in call.schema.attributes else False
    return windows, concrete(output_positions(windows, auto_pad_of(call), spatial, ceil_mode, fail))


def convolve(x: np.ndarray, w: np.ndarray, windows: Windows, positions: tuple[int, ...], group: int) -> np.ndarray:
    """Cross-correlation of [N, C, *spatial] with [O, C/group, *kernel], in the arrays' own floating type."""
    n, channels = x.shape[:2]
    if channels != w.shape[1] * group or w.shape[0] % group:
        raise ValueError(f"{channels} channels do not fit weights {list(w.shape)} in {group} groups")
    x = padded(x, concrete(windows.begin), concrete(windows.end))
    y = np.zeros((n, w.shape[0], *positions), x.dtype)
    if not y.size or not w.size:
        return y
    if w.shape[1] == 1 and group > 1:
        _convolve_depthwise(x, w, windows, y)
    elif math.prod(w.shape[2:]) == 1:
        x = shifted(x, windows, positions, (0,) * windows.rank)
        flat = x.reshape(n, group, channels // group, -1)
        np.matmul(w.reshape(group, -1, w.shape[1]), flat, out=y.reshape(n, group, w.shape[0] // group, -1))
    else:
        _convolve_bands(x, w, windows, y, group)
    return y


def _convolve_bands(x: np.ndarray, w: np.ndarray, windows: Windows, y: np.ndarray, group: int) -> None:
    positions = y.shape[2:]
    view = window_view(x, windows, positions)
    weights = w.reshape(group, w.shape[0] // group, -1)
    row = math.prod(positions[1:])
    flat = y.reshape(len(y), group, w.shape[0] // group, -1)
    band = max(1, _BAND // (x.shape[1] * math.prod(w.shape[2:]) * row))
    rank = windows.rank
    for image in range(len(x)):
        for start in range(0, positions[0], band):
            stop = min(start + band, positions[0])
            columns = view[image][(slice(None),) * (1 + rank) + (slice(start, stop),)]
            columns = columns.reshape(group, weights.shape[2], -1)
            np.matmul(weights, columns, out=flat[image, :, :, start * row : stop * row])


def _convolve_depthwise(x: np.ndarray, w: np.ndarray, windows: Windows, y: np.ndarray) -> None:
    positions = y.shape[2:]
    channels, multiplier = x.shape[1], w.shape[0] // x.shape[1]
    weights = w.reshape(channels, multiplier, -1)
    ones = (1,) * windows.rank
    block = max(1, _BLOCK // (multiplier * math.prod(positions)))
    for image in range(len(x)):
        for start in range(0, channels, block):
            part = x[image, start : start + block, None]
            factors = weights[start : start + block]
            total = y[image].reshape(channels, multiplier, *positions)[start : start + block]
            term = np.empty_like(total)
            for k, point in enumerate(kernel_offsets(windows)):
                factor = factors[..., k].reshape(*factors.shape[:2], *ones)
                np.multiply(shifted(part, windows, positions, point), factor, out=term)
                total += term


@kernel("Conv")
def conv(call: Call, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    windows, positions = call_windows(call, w.shape[2:], x.shape[2:])
    y = convolve(widen(x), widen(w), windows, positions, call.attr("group"))
    return narrow(_biased(y, bias), call.dtype())


def _biased(y: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    if bias is not None:
        y += aligned(np.atleast_1d(widen(bias)), y.ndim, 1).astype(y.dtype)
    return y


def _exact(x: np.ndarray, w: np.ndarray, windows: Windows, positions: tuple[int, ...], call: Call) -> np.ndarray:
    """A convolution of whole numbers: by float64 where no sum can exceed 2^53, else in wrapping int64."""
    terms = math.prod(w.shape[1:])
    if terms * np.abs(x).max(initial=0) * np.abs(w).max(initial=0) >= 2.0**53:
        x, w = x.astype(np.int64), w.astype(np.int64)
    return convolve(x, w, windows, positions, call.attr("group")).astype(np.int64)


@kernel("ConvInteger")
def conv_integer(
    call: Call,
    x: np.ndarray,
    w: np.ndarray,
    x_zero_point: np.ndarray | None = None,
    w_zero_point: np.ndarray | None = None,
) -> np.ndarray:
    windows, positions = call_windows(call, w.shape[2:], x.shape[2:])
    y = _exact(centred(x, x_zero_point, 1), centred(w, w_zero_point, 0), windows, positions, call)
    return y.astype(np.int32)


@kernel("QLinearConv")
def qlinear_conv(call: Call, *inputs: Any) -> np.ndarray:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = inputs[:8]
    bias = inputs[8] if len(inputs) > 8 else None
    windows, positions = call_windows(call, w.shape[2:], x.shape[2:])
    y = _exact(centred(x, x_zero, 1), centred(w, w_zero, 0), windows, positions, call)
    y = _biased(y, bias)
    scale = x_scale.astype(np.float64).reshape(()) * aligned(w_scale.astype(np.float64), y.ndim, 1)
    return requantise(y * (scale / y_scale.astype(np.float64).reshape(())), y_zero.reshape(()), call.dtype())


@kernel("ConvTranspose")
def conv_transpose(call: Call, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    spatial, group = x.shape[2:], call.attr("group")
    windows, sizes = transposed_windows(call, lambda m: call.error(ExecutionError, m), w.shape[2:], spatial)
    wide_x = widen(x)
    weights = widen(w).reshape(group, w.shape[0] // group, -1).swapaxes(1, 2)
    y = np.empty((len(x), w.shape[1] * group, *concrete(sizes)), wide_x.dtype)
    for image in range(len(x)):
        columns = wide_x[image].reshape(group, x.shape[1] // group, -1)
        blocks = np.matmul(weights, columns).reshape(y.shape[1], -1, *spatial)
        y[image] = overlap_add(blocks, windows, spatial, y.shape[2:])
    return narrow(_biased(y, bias), call.dtype())


@kernel("Col2Im")
def col2im(call: Call, x: np.ndarray, image_shape: np.ndarray, block_shape: np.ndarray) -> np.ndarray:
    image, block = concrete(image_shape), concrete(block_shape)
    windows, positions = call_windows(call, block, image)
    if x.shape[2] != math.prod(positions) or x.shape[1] % math.prod(block):
        raise ValueError(f"input {list(x.shape)} does not hold {math.prod(positions)} blocks of {list(block)} elements")
    blocks = widen(x).reshape(len(x), x.shape[1] // math.prod(block), math.prod(block), *positions)
    return narrow(overlap_add(blocks, windows, positions, image), call.dtype())


@kernel("ge.Im2Col")
def im2col(call: Call, x: np.ndarray) -> np.ndarray:
    windows, positions = call_windows(call, call.attr("kernel_shape"), x.shape[2:])
    view = window_view(padded(x, concrete(windows.begin), concrete(windows.end)), windows, positions)
    return view.reshape(len(x), x.shape[1] * math.prod(concrete(windows.kernel)), math.prod(positions))


@kernel("CausalConvWithState")
def causal_conv_with_state(
    call: Call,
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    past: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    n, channels, length = x.shape
    memory = w.shape[2] - 1
    state = np.zeros((n, channels, memory), x.dtype) if past is None else past
    whole = np.concatenate([state, x], axis=2)
    windows = Windows((w.shape[2],), (1,), (1,), (0,), (0,))
    y = _biased(convolve(widen(whole), widen(w), windows, (length,), channels), bias)
    if call.attr("activation") != "none":
        y = y / (1 + np.exp(-y))
    return narrow(y, call.dtype()), whole[:, :, whole.shape[2] - memory :]
