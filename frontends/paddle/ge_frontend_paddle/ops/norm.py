"""Normalisations, in their inference forms."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import pd
from ..windows import channels_first


def _channels(c: Call, given: Value | None, number: float, count: Size, dtype: DType) -> Value:
    """A vector with one element for each channel; a constant one when none is given."""
    return c.full((count,), number, dtype) if given is None else c.flat(given)


@pd("batch_norm", "sync_batch_norm", ignores=("momentum",))
def batch_norm(
    c: Call,
    x: Value,
    mean: Value,
    variance: Value,
    scale: Value | None = None,
    bias: Value | None = None,
    *,
    is_test: bool,
    epsilon: float,
    data_format: str = "NCHW",
    use_global_stats: bool = False,
    trainable_statistics: bool = False,
) -> tuple[Value, Value, Value]:
    """batch_norm(x, mean, variance, scale, bias, *, is_test, momentum, epsilon, data_format, use_global_stats,
        trainable_statistics) -> out, mean_out, variance_out, saved_mean, saved_variance, reserve_space
    sync_batch_norm_(x, mean, variance, scale, bias, *, is_test, momentum, epsilon, data_format, use_global_stats,
        trainable_statistics) -> out, mean_out, variance_out, saved_mean, saved_variance, reserve_space
    """
    if not (is_test or use_global_stats) or trainable_statistics:
        raise c.unsupported("training mode", "call eval() on the layer")

    def build(data: Value) -> Value:
        channels = data.shape[1]
        return c.b.BatchNormalization(
            data,
            _channels(c, scale, 1, channels, mean.dtype),
            _channels(c, bias, 0, channels, mean.dtype),
            mean,
            variance,
            epsilon=float(epsilon),
        )

    wide = x if x.rank > 2 else c.unsqueeze(x, *range(2, 4)) if data_format == "NCHW" and x.rank == 2 else x
    if wide is not x:
        return c.squeeze(build(wide), 2, 3), mean, variance
    found: Value = channels_first(c, x, data_format, build) if x.rank > 2 else build(x)
    return found, mean, variance


@pd("affine_channel")
def affine_channel(c: Call, x: Value, scale: Value, bias: Value, *, data_layout: str = "AnyLayout") -> Value:
    """affine_channel(x, scale, bias, *, data_layout="AnyLayout") -> out"""
    shape = (-1,) if data_layout == "NHWC" else (-1, *(1 for _ in range(x.rank - 2)))
    factor, offset = (c.b.Reshape(v, c.b.ints(shape)) for v in (scale, bias))
    return c.b.Add(c.b.Mul(x, factor), offset)


@pd("instance_norm")
def instance_norm(
    c: Call, x: Value, scale: Value | None = None, bias: Value | None = None, *, epsilon: float = 1e-5
) -> tuple[Value]:
    """instance_norm(x, scale, bias, *, epsilon=1e-5) -> y, saved_mean, saved_variance"""
    channels = x.shape[1]
    return (
        c.b.InstanceNormalization(
            x,
            c.cast(_channels(c, scale, 1, channels, x.dtype), x.dtype),
            c.cast(_channels(c, bias, 0, channels, x.dtype), x.dtype),
            epsilon=float(epsilon),
        ),
    )


@pd("layer_norm")
def layer_norm(
    c: Call,
    x: Value,
    scale: Value | None = None,
    bias: Value | None = None,
    *,
    epsilon: float = 1e-5,
    begin_norm_axis: int = 1,
) -> tuple[Value, Value, Value]:
    """layer_norm(x, scale, bias, *, epsilon=1e-5, begin_norm_axis=1) -> out, mean, variance"""
    inner = x.shape[begin_norm_axis:]
    y, mean, deviation = c.b.LayerNormalization(
        x,
        c.full(inner, 1, x.dtype) if scale is None else c.reshape(c.cast(scale, x.dtype), inner),
        None if bias is None else c.reshape(c.cast(bias, x.dtype), inner),
        axis=begin_norm_axis,
        epsilon=float(epsilon),
        num_outputs=3,
    )
    lead = (dims.product(x.shape[:begin_norm_axis]),)
    # ONNX gives the inverse of the deviation
    variance = c.b.Sub(c.b.Reciprocal(c.b.Mul(deviation, deviation)), c.scalar(epsilon, deviation.dtype))
    shape = lead if len(c.result_tensor(1).shape) == 1 else x.shape[:begin_norm_axis]
    mean, variance = (c.reshape(c.cast(v, c.dtype(1)), shape) for v in (mean, variance))
    return y, mean, variance


@pd("group_norm")
def group_norm(
    c: Call,
    x: Value,
    scale: Value | None = None,
    bias: Value | None = None,
    *,
    epsilon: float = 1e-5,
    groups: int = -1,
    data_format: str = "NCHW",
) -> tuple[Value]:
    """group_norm(x, scale, bias, *, epsilon=1e-5, groups=-1, data_format="NCHW") -> y, mean, variance"""

    def build(data: Value) -> Value:
        channels = data.shape[1]
        return c.b.GroupNormalization(
            data,
            c.cast(_channels(c, scale, 1, channels, x.dtype), x.dtype),
            c.cast(_channels(c, bias, 0, channels, x.dtype), x.dtype),
            num_groups=groups,
            epsilon=float(epsilon),
        )

    return (channels_first(c, x, data_format, build),)


@pd("rms_norm")
def rms_norm(
    c: Call, x: Value, scale: Value | None = None, *, normalized_shape: Sequence[int] = (), epsilon: float = 1e-5
) -> tuple[Value]:
    """rms_norm(x, scale, *, normalized_shape={}, epsilon=1e-5) -> y, invvar"""
    count = max(len(normalized_shape), 1)
    weight = c.full(x.shape[x.rank - count :], 1, x.dtype) if scale is None else c.cast(scale, x.dtype)
    return (c.cast(c.b.RMSNormalization(x, weight, axis=-count, epsilon=float(epsilon)), x.dtype),)


@pd("lrn")
def lrn(
    c: Call, x: Value, *, n: int = 5, k: float = 2.0, alpha: float = 0.0001, beta: float = 0.75,
    data_format: str = "AnyLayout",
) -> tuple[Value]:  # fmt: skip
    """lrn(x, *, n=5, k=2.0, alpha=0.0001, beta=0.75, data_format="AnyLayout") -> out, mid_out"""

    def build(data: Value) -> Value:
        # ONNX divides alpha by the size of the window, Paddle does not
        return c.b.LRN(data, size=n, alpha=float(alpha) * n, beta=float(beta), bias=float(k))

    return (channels_first(c, x, "NHWC" if data_format == "NHWC" else "NCHW", build),)


@pd("spectral_norm")
def spectral_norm(
    c: Call, weight: Value, u: Value, v: Value, *, dim: int = 0, power_iters: int = 1, eps: float = 1e-12
) -> Value:
    """spectral_norm(weight, u, v, *, dim=0, power_iters=1, eps=1e-12f) -> out"""
    b = c.b
    if power_iters > 64:
        raise c.unsupported(f"{power_iters} power iterations")
    order = [dim, *(a for a in range(weight.rank) if a != dim)]
    moved = c.transpose(weight, order)
    matrix = c.reshape(moved, (moved.shape[0], dims.product(moved.shape[1:])))
    left, right = c.reshape(u, (u.shape[0], 1)), c.reshape(v, (v.shape[0], 1))
    small = c.scalar(eps, weight.dtype)

    def unit(x: Value) -> Value:
        return b.Div(x, b.Add(b.ReduceL2(x, b.ints(0, 1), keepdims=1), small))

    for _ in range(power_iters):
        right = unit(b.MatMul(c.swap(matrix), left))
        left = unit(b.MatMul(matrix, right))
    sigma = c.reshape(b.MatMul(c.swap(left), b.MatMul(matrix, right)), ())
    return b.Div(weight, sigma)


@pd("skip_layernorm")
def skip_layernorm(
    c: Call, x: Value, y: Value, scale: Value, bias: Value, *, epsilon: float, begin_norm_axis: int
) -> Value:
    """skip_layernorm(x, y, scale, bias, *, epsilon, begin_norm_axis) -> out"""
    total = c.b.Add(x, y)
    inner = x.shape[begin_norm_axis:]
    return c.b.LayerNormalization(
        total, c.reshape(scale, inner), c.reshape(bias, inner), axis=begin_norm_axis, epsilon=float(epsilon),
        num_outputs=1,
    )  # fmt: skip
