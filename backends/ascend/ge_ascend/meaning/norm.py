"""Normalisations and softmax."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.dtype import float32
from ge_core.ir.graph import Value


def _statistics(c: Call, x: Value, axes: Sequence[int], epsilon: float) -> tuple[Value, Value]:
    """Mean and 1 / sqrt(variance + epsilon) over axes, in float32, axes kept."""
    wide = c.cast(x, float32)
    where = c.b.ints(*axes)
    mean = c.b.ReduceMean(wide, where, keepdims=1)
    centred = c.b.Sub(wide, mean)
    variance = c.b.ReduceMean(c.b.Mul(centred, centred), where, keepdims=1)
    return mean, c.b.ge.Rsqrt(c.b.Add(variance, epsilon))


@meaning("LayerNormV4")
def layer_norm_v4(c: Call) -> Result:
    """LayerNormV4(x, normalized_shape, gamma, beta; epsilon) -> y, mean, rstd"""
    x = c["x"]
    count = c["normalized_shape"].shape[0]
    if not isinstance(count, int):
        raise c.error("the number of normalised axes is not known")
    axis = x.rank - count
    mean, rstd = _statistics(c, x, range(axis, x.rank), c.attr("epsilon"))
    gamma, beta = c.get("gamma"), c.get("beta")
    if gamma is None:
        gamma = c.b.constant(_ones(x, axis), x.dtype)
    y = c.b.LayerNormalization(
        x, c.cast(gamma, x.dtype), None if beta is None else c.cast(beta, x.dtype), axis=axis,
        epsilon=c.attr("epsilon"),
    )  # fmt: skip
    return [y, mean, rstd]


def _ones(x: Value, axis: int) -> np.ndarray:
    return np.ones([size for size in x.shape[axis:] if isinstance(size, int)])


@meaning("LayerNorm")
def layer_norm(c: Call) -> Result:
    """LayerNorm(x, gamma, beta; begin_norm_axis, begin_params_axis, epsilon) -> y, mean, variance"""
    x = c["x"]
    axis = c.attr("begin_norm_axis") % x.rank
    if c.attr("begin_params_axis") % x.rank != axis:
        raise c.error("begin_params_axis other than begin_norm_axis is not supported")
    mean, rstd = _statistics(c, x, range(axis, x.rank), c.attr("epsilon"))
    y = c.b.LayerNormalization(
        x, c.cast(c["gamma"], x.dtype), c.cast(c["beta"], x.dtype), axis=axis, epsilon=c.attr("epsilon")
    )
    variance = c.b.Sub(c.b.Reciprocal(c.b.Mul(rstd, rstd)), c.attr("epsilon"))
    return [y, c.cast(mean, x.dtype), c.cast(variance, x.dtype)]


def _rms(c: Call, x: Value) -> tuple[Value, Value]:
    gamma = c["gamma"]
    axis = x.rank - gamma.rank
    y = c.b.RMSNormalization(x, c.cast(gamma, x.dtype), axis=axis, epsilon=c.attr("epsilon"))
    wide = c.cast(x, float32)
    square = c.b.ReduceMean(c.b.Mul(wide, wide), c.b.ints(*range(axis, x.rank)), keepdims=1)
    return y, c.b.ge.Rsqrt(c.b.Add(square, c.attr("epsilon")))


@meaning("RmsNorm")
def rms_norm(c: Call) -> Result:
    """RmsNorm(x, gamma; epsilon) -> y, rstd"""
    return _rms(c, c["x"])


@meaning("AddRmsNorm")
def add_rms_norm(c: Call) -> Result:
    """AddRmsNorm(x1, x2, gamma; epsilon) -> y, rstd, x"""
    x = c.b.Add(c["x1"], c["x2"])
    return [*_rms(c, x), x]


@meaning("GroupNormV2")
def group_norm(c: Call) -> Result:
    """GroupNormV2(x, gamma, beta; num_groups, data_format, eps, is_training) -> y, mean, rstd"""
    x, groups = c["x"], c.attr("num_groups")
    y = c.b.GroupNormalization(
        x, c.cast(c["gamma"], x.dtype), c.cast(c["beta"], x.dtype), num_groups=groups, epsilon=c.attr("eps")
    )
    flat = c.b.Reshape(x, c.b.ints(x.shape[0], groups, -1))
    mean, rstd = _statistics(c, flat, [2], c.attr("eps"))
    two = c.b.ints(x.shape[0], groups)
    return [y, *(c.cast(c.b.Reshape(v, two), x.dtype) for v in (mean, rstd))]


@meaning("InstanceNorm")
def instance_norm(c: Call) -> Result:
    """InstanceNorm(x, gamma, beta; data_format, epsilon) -> y, mean, variance"""
    x = c["x"]
    if c.formats.get("x", c.attr("data_format")) not in ("NCHW", "NCDHW", "ND"):
        raise c.error("only channels first is supported")
    y = c.b.InstanceNormalization(x, c.cast(c["gamma"], x.dtype), c.cast(c["beta"], x.dtype), epsilon=c.attr("epsilon"))
    mean, rstd = _statistics(c, x, range(2, x.rank), c.attr("epsilon"))
    variance = c.b.Sub(c.b.Reciprocal(c.b.Mul(rstd, rstd)), c.attr("epsilon"))
    return [y, c.cast(mean, x.dtype), c.cast(variance, x.dtype)]


@meaning("BNInfer")
def bn_infer(c: Call) -> Result:
    """BNInfer(x, scale, offset, mean, variance; epsilon): statistics in float32, result in the type of x"""
    return _batch_norm(c, "scale", "offset", "mean", "variance")


@meaning("BatchNorm")
def batch_norm(c: Call) -> Result:
    """BatchNorm(x, scale, offset, mean, variance; epsilon, is_training=False) -> y, and unused results"""
    if c.attr("is_training"):
        raise c.error("batch normalisation for training is not supported")
    y = _batch_norm(c, "scale", "offset", "mean", "variance")
    return [y, *[c["scale"]] * (c.outputs - 1)]


def _batch_norm(c: Call, *ports: str) -> Value:
    x = c["x"]
    if c.formats.get("x", "NCHW") not in ("NCHW", "NCDHW", "ND"):
        raise c.error("only channels first is supported")
    wide = c.cast(x, float32)
    y = c.b.BatchNormalization(wide, *(c.cast(c[p], float32) for p in ports), epsilon=c.attr("epsilon"))
    return c.cast(y, x.dtype)


@meaning("LRN")
def lrn(c: Call) -> Result:
    """LRN(x; depth_radius, bias, alpha, beta, norm_region)"""
    size = 2 * c.attr("depth_radius") + 1
    result: Value = c.b.LRN(c["x"], size=size, alpha=c.attr("alpha") * size, beta=c.attr("beta"), bias=c.attr("bias"))
    return result


def _one_axis(c: Call) -> int:
    axes = c.attr("axes")
    if len(axes) != 1:
        raise c.error("only one axis is supported")
    return int(axes[0])


@meaning("SoftmaxV2")
def softmax(c: Call) -> Result:
    """SoftmaxV2(x; axes, half_to_float)"""
    x = c.cast(c["x"], float32) if c.attr("half_to_float") else c["x"]
    result: Value = c.b.Softmax(x, axis=_one_axis(c))
    return result


@meaning("LogSoftmaxV2")
def log_softmax(c: Call) -> Result:
    """LogSoftmaxV2(logits; axes)"""
    result: Value = c.b.LogSoftmax(c["logits"], axis=_one_axis(c))
    return result


@meaning("HardMax")
def hard_max(c: Call) -> Result:
    """HardMax(x; axis)"""
    result: Value = c.b.Hardmax(c["x"], axis=c.attr("axis"))
    return result


@meaning("MVNV2")
def mvn(c: Call) -> Result:
    """MVNV2(x; eps, axes)"""
    mean, rstd = _statistics(c, c["x"], [int(a) for a in c.attr("axes")], c.attr("eps"))
    y = c.b.Mul(c.b.Sub(c.cast(c["x"], float32), mean), rstd)
    return c.cast(y, c["x"].dtype)


@meaning("RotaryMul")
def rotary_mul(c: Call) -> Result:
    """RotaryMul(x, r1, r2): x * r1 + (-second half, first half) * r2 along the last axis"""
    return _turned(c, c["x"], c["r1"], c["r2"])


def _turned(c: Call, x: Value, cos: Value, sin: Value) -> Value:
    first, second = c.b.Split(x, axis=-1, num_outputs=2)
    turned = c.b.Concat([c.b.Neg(second), first], axis=-1)
    result: Value = c.b.Add(c.b.Mul(x, cos), c.b.Mul(turned, sin))
    return result


@meaning("ApplyRotaryPosEmb")
def apply_rotary(c: Call) -> Result:
    """ApplyRotaryPosEmb(query, key, cos, sin; layout, rotary_mode): both turned, rows before heads (layout 1)"""
    if c.attr("layout") != 1 or c.attr("rotary_mode") != "half":
        raise c.error(f"layout {c.attr('layout')}, rotary_mode {c.attr('rotary_mode')} is not supported")
    return [_turned(c, c[port], c["cos"], c["sin"]) for port in ("query", "key")]
