"""Reference kernels of normalisations, softmax and dropout in their inference forms."""

from __future__ import annotations

import math

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.matmul import aligned
from ge_core.reference.precision import narrow, widen


@kernel("BatchNormalization")
def batch_normalization(
    call: Call, x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, var: np.ndarray
) -> np.ndarray:
    wide = widen(x)
    factor = widen(scale) / np.sqrt(widen(var) + widen(var).dtype.type(call.attr("epsilon")))
    axis = min(1, x.ndim - 1)

    def spread(v: np.ndarray) -> np.ndarray:
        return aligned(v, x.ndim, axis).astype(wide.dtype)

    y = wide - spread(widen(mean))
    y *= spread(factor)
    y += spread(widen(bias))
    return narrow(y, call.dtype())


def _stage_one(call: Call, x: np.ndarray) -> np.ndarray:
    """The data in the type of the first stage: stash_type, or the data's own type where that is wider."""
    stash: DType = call.attr("stash_type")
    wide = widen(x)
    return wide.astype(stash.numpy) if stash.bits > 8 * wide.dtype.itemsize else wide


def centred(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x - mean, the mean, and 1 / sqrt(variance + epsilon), over `axes`, which are kept with size 1."""
    mean = x.mean(axis=axes, keepdims=True)
    x = x - mean
    variance = np.square(x).mean(axis=axes, keepdims=True)
    return x, mean, 1 / np.sqrt(variance + x.dtype.type(epsilon))


@kernel("LayerNormalization")
def layer_normalization(
    call: Call, x: np.ndarray, scale: np.ndarray, bias: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    axes = tuple(range(call.attr("axis") % x.ndim, x.ndim))
    y, mean, inverse = centred(_stage_one(call, x), axes, call.attr("epsilon"))
    y *= inverse
    y *= widen(scale)
    if bias is not None:
        y += widen(bias)
    statistics = [narrow(s, call.dtype(i)) for i, s in ((1, mean), (2, inverse)) if call.wants(i)]
    return (narrow(y, call.dtype()), *statistics)


@kernel("RMSNormalization")
def rms_normalization(call: Call, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    wide = _stage_one(call, x)
    axes = tuple(range(call.attr("axis") % x.ndim, x.ndim))
    square = np.square(wide).mean(axis=axes, keepdims=True)
    y = wide / np.sqrt(square + wide.dtype.type(call.attr("epsilon")))
    return narrow(y * widen(scale), call.dtype())


@kernel("GroupNormalization")
def group_normalization(call: Call, x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    groups = _stage_one(call, x).reshape(len(x), call.attr("num_groups"), -1)
    y, _, inverse = centred(groups, (2,), call.attr("epsilon"))
    y = (y * inverse).reshape(x.shape)
    y = y * aligned(np.atleast_1d(widen(scale)), x.ndim, 1) + aligned(np.atleast_1d(widen(bias)), x.ndim, 1)
    return narrow(y, call.dtype())


@kernel("InstanceNormalization")
def instance_normalization(call: Call, x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    y, _, inverse = centred(widen(x), tuple(range(2, x.ndim)), call.attr("epsilon"))
    return narrow(y * (inverse * aligned(widen(scale), x.ndim, 1)) + aligned(widen(bias), x.ndim, 1), call.dtype())


@kernel("LpNormalization")
def lp_normalization(call: Call, x: np.ndarray) -> np.ndarray:
    wide, axis = widen(x), call.attr("axis")
    if call.attr("p") == 1:
        length = np.abs(wide).sum(axis=axis, keepdims=True)
    else:
        length = np.sqrt(np.square(wide).sum(axis=axis, keepdims=True))
    return narrow(np.where(length == 0, 0, wide / np.where(length == 0, 1, length)), call.dtype())


@kernel("MeanVarianceNormalization")
def mean_variance_normalization(call: Call, x: np.ndarray) -> np.ndarray:
    wide, axes = widen(x), tuple(call.attr("axes"))
    y = wide - wide.mean(axis=axes, keepdims=True)
    deviation = np.sqrt(np.square(y).mean(axis=axes, keepdims=True))
    return narrow(y / (deviation + wide.dtype.type(1e-9)), call.dtype())


@kernel("LRN")
def lrn(call: Call, x: np.ndarray) -> np.ndarray:
    wide, size, channels = widen(x), call.attr("size"), x.shape[1]
    square = np.square(wide)
    total = np.zeros_like(square)
    for shift in range(-((size - 1) // 2), math.ceil((size - 1) / 2) + 1):
        low, high = max(0, -shift), min(channels, channels - shift)
        if low < high:
            total[:, low:high] += square[:, low + shift : high + shift]
    scale = wide.dtype.type(call.attr("bias")) + wide.dtype.type(call.attr("alpha") / size) * total
    return narrow(wide / scale ** wide.dtype.type(call.attr("beta")), call.dtype())


def softmax_along(x: np.ndarray, axis: int) -> np.ndarray:
    """exp(x - max) / sum(exp(x - max)) along an axis."""
    if not x.size:
        return x
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    e /= e.sum(axis=axis, keepdims=True)
    return e


def log_softmax_along(x: np.ndarray, axis: int) -> np.ndarray:
    """x - max - log(sum(exp(x - max))) along an axis."""
    if not x.size:
        return x
    x = x - x.max(axis=axis, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=axis, keepdims=True)))


@kernel("Softmax")
def softmax(call: Call, x: np.ndarray) -> np.ndarray:
    return narrow(softmax_along(np.atleast_1d(widen(x)), call.attr("axis")).reshape(x.shape), call.dtype())


@kernel("LogSoftmax")
def log_softmax(call: Call, x: np.ndarray) -> np.ndarray:
    return narrow(log_softmax_along(np.atleast_1d(widen(x)), call.attr("axis")).reshape(x.shape), call.dtype())


@kernel("Dropout")
def dropout(call: Call, x: np.ndarray, *_: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    return x, np.ones(x.shape, np.bool_)
