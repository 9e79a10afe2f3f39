"""Normalisations and softmax, in their inference forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten

_TRAINING = "export the module after eval()"


def _per_channel(c: Call, given: Value | None, number: float, channels: Size, dtype: DType) -> Value:
    """A vector with one element for each channel; a constant one when torch has none."""
    return c.full((channels,), number, dtype) if given is None else given


def _batch_norm(
    c: Call,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    var: Value | None,
    eps: float,
) -> Value:
    """(x - mean) / sqrt(var + eps) * weight + bias, one number each for a channel, the second axis."""
    channels = x.shape[1]
    if mean is None or var is None:
        mean, var = _batch_statistics(c, x)
    return c.b.BatchNormalization(
        x,
        _per_channel(c, weight, 1, channels, mean.dtype),
        _per_channel(c, bias, 0, channels, mean.dtype),
        mean,
        var,
        epsilon=float(eps),
    )


def _batch_statistics(c: Call, x: Value) -> tuple[Value, Value]:
    """Mean and biased variance of each channel over all other axes."""
    b = c.b
    axes = b.ints([0, *range(2, x.rank)])
    wide = c.cast(x, DType.of("float32")) if x.dtype.bits == 16 else x
    mean = b.ReduceMean(wide, axes, keepdims=1)
    distance = b.Sub(wide, mean)
    var = b.ReduceMean(b.Mul(distance, distance), axes, keepdims=0)
    return c.reshape(mean, (x.shape[1],)), var


@aten("batch_norm.default", "_native_batch_norm_legit_no_training.default", ignores=("momentum", "cudnn_enabled"))
def batch_norm(
    c: Call,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    eps: float,
    input: Value,
    training: bool = False,
) -> Value | tuple[Value, Value, Value]:
    """batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
        training, float momentum, float eps, bool cudnn_enabled) -> Tensor
    _native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean,
        Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)
    """
    if training and running_mean is not None:
        raise c.unsupported("batch_norm in training mode", _TRAINING)
    value = _batch_norm(c, input, weight, bias, running_mean, running_var, eps)
    if c.name == "batch_norm.default":
        return value
    nothing = c.full((0,), 0, DType.of("float32"))
    return value, nothing, nothing


@aten("_native_batch_norm_legit.no_stats", "_native_batch_norm_legit.default", "native_batch_norm.default",
      ignores=("momentum",))  # fmt: skip
def native_batch_norm(
    c: Call,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    training: bool,
    eps: float,
    running_mean: Value | None = None,
    running_var: Value | None = None,
) -> tuple[Value, Value, Value]:
    """_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float
        momentum, float eps) -> (Tensor, Tensor, Tensor)
    _native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!)
        running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
    native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
        bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
    """
    if training and running_mean is not None:
        raise c.unsupported("batch_norm in training mode", _TRAINING)
    value = _batch_norm(c, input, weight, bias, running_mean, running_var, eps)
    if not training:
        nothing = c.full((0,), 0, DType.of("float32"))
        return value, nothing, nothing
    mean, var = _batch_statistics(c, input)
    return value, mean, c.b.ge.Rsqrt(c.b.Add(var, float(eps)))


@aten("instance_norm.default", ignores=("momentum", "cudnn_enabled"))
def instance_norm(
    c: Call,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    use_input_stats: bool,
    eps: float,
) -> Value:
    """instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
    bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor
    """
    if not use_input_stats:
        return _batch_norm(c, input, weight, bias, running_mean, running_var, eps)
    channels = input.shape[1]
    return c.b.InstanceNormalization(
        input,
        _per_channel(c, weight, 1, channels, input.dtype),
        _per_channel(c, bias, 0, channels, input.dtype),
        epsilon=float(eps),
    )


def _scale(c: Call, weight: Value | None, shape: Sequence[Size], dtype: DType) -> Value:
    """The scale of a normalisation over the last axes; ones when torch has none."""
    return c.full(shape, 1, dtype) if weight is None else c.cast(weight, dtype)


@aten("layer_norm.default", ignores=("cudnn_enable",))
def layer_norm(
    c: Call, input: Value, normalized_shape: Sequence[Size], weight: Value | None, bias: Value | None, eps: float
) -> Value:
    """layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float
    eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor
    """
    return c.b.LayerNormalization(
        input,
        _scale(c, weight, input.shape[input.rank - len(normalized_shape) :], input.dtype),
        None if bias is None else c.cast(bias, input.dtype),
        axis=-len(normalized_shape),
        epsilon=float(eps),
        num_outputs=1,
    )


@aten("native_layer_norm.default")
def native_layer_norm(
    c: Call, input: Value, normalized_shape: Sequence[Size], weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    """native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) ->
    (Tensor, Tensor, Tensor)
    """
    y, mean, deviation = c.b.LayerNormalization(
        input,
        _scale(c, weight, input.shape[input.rank - len(normalized_shape) :], input.dtype),
        None if bias is None else c.cast(bias, input.dtype),
        axis=-len(normalized_shape),
        epsilon=float(eps),
        num_outputs=3,
    )
    return y, c.cast(mean, c.dtype(1)), c.cast(deviation, c.dtype(2))


@aten("rms_norm.default")
def rms_norm(
    c: Call, input: Value, normalized_shape: Sequence[Size], weight: Value | None = None, eps: float | None = None
) -> Value:
    """rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"""
    least = float(np.finfo(np.float64 if input.dtype.bits == 64 else np.float32).eps) if eps is None else float(eps)
    scale = _scale(c, weight, input.shape[input.rank - len(normalized_shape) :], input.dtype)
    return c.cast(c.b.RMSNormalization(input, scale, axis=-len(normalized_shape), epsilon=least), c.dtype())


@aten("group_norm.default", ignores=("cudnn_enabled",))
def group_norm(c: Call, input: Value, num_groups: int, weight: Value | None, bias: Value | None, eps: float) -> Value:
    """group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float
    eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor
    """
    channels, dtype = input.shape[1], input.dtype
    return c.b.GroupNormalization(
        input,
        c.cast(_per_channel(c, weight, 1, channels, dtype), dtype),
        c.cast(_per_channel(c, bias, 0, channels, dtype), dtype),
        num_groups=num_groups,
        epsilon=float(eps),
    )


@aten("_weight_norm.default")
def weight_norm(c: Call, v: Value, g: Value, dim: int) -> Value:
    """_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor"""
    b = c.b
    axes = [axis for axis in range(v.rank) if axis != c.axis(dim, v.rank)] if dim != -1 else list(range(v.rank))
    length = b.ReduceL2(v, b.ints(axes), keepdims=1)
    return b.Mul(v, b.Div(g, length))


@aten("softmax.int", "_softmax.default", ignores=("half_to_float",))
def softmax(c: Call, x: Value, dim: int, dtype: DType | None = None) -> Value:
    """softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
    _softmax(Tensor self, int dim, bool half_to_float) -> Tensor
    """
    return _softmax(c, "Softmax", x, dim)


@aten("log_softmax.int", "_log_softmax.default", ignores=("half_to_float",))
def log_softmax(c: Call, x: Value, dim: int, dtype: DType | None = None) -> Value:
    """log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
    _log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
    """
    return _softmax(c, "LogSoftmax", x, dim)


@aten("_safe_softmax.default")
def safe_softmax(c: Call, x: Value, dim: int, dtype: DType | None = None) -> Value:
    """_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"""
    b = c.b
    axis = c.axis(dim, x.rank)
    top = b.ReduceMax(x, b.ints(axis), keepdims=1)
    weights = _softmax(c, "Softmax", x, dim)
    # a row of nothing but -inf gives zeros
    return b.Where(b.IsInf(top, detect_positive=0), c.scalar(0, weights.dtype), weights)


def _softmax(c: Call, op: str, x: Value, dim: int) -> Value:
    x = c.cast(x, c.dtype())
    if not x.rank:
        return c.reshape(c.b.op(op, c.reshape(x, (1,)), axis=0), ())
    return c.b.op(op, x, axis=c.axis(dim, x.rank))
