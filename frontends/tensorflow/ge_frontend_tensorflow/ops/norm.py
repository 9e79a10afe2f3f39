"""Normalisation."""

from __future__ import annotations

from typing import Any

from ge_core.ir.graph import Value

from ..call import Call
from ..layout import channels_first, is_last, to_first, to_last
from ..registry import tf_op


@tf_op("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(c: Call, x: Value, scale: Value, offset: Value, mean: Value, variance: Value) -> list[Any]:
    """FusedBatchNorm(x, scale, offset, mean, variance) -> y, batch_mean, batch_variance, reserve_space_1,
        reserve_space_2; T, epsilon, exponential_avg_factor, data_format, is_training
    FusedBatchNormV2(x, scale, offset, mean, variance) -> y, batch_mean, batch_variance, reserve_space_1,
        reserve_space_2; T, U, epsilon, exponential_avg_factor, data_format, is_training
    FusedBatchNormV3(x, scale, offset, mean, variance) -> y, batch_mean, batch_variance, reserve_space_1,
        reserve_space_2, reserve_space_3; T, U, epsilon, exponential_avg_factor, data_format, is_training
    """
    b = c.b
    found = [mean, variance]
    if c.attr("is_training"):
        first = to_first(c, x) if is_last(c) else x
        wide = c.cast(first, scale.dtype)
        axes = b.ints([0, *range(2, first.rank)])
        mean = b.ReduceMean(wide, axes, keepdims=0)
        centred = b.Sub(wide, c.reshape(mean, (1, mean.shape[0], *[1] * (first.rank - 2))))
        variance = b.ReduceMean(b.ge.Square(centred), axes, keepdims=0)
        total = b.scalar(first.tensor.elements)
        rows = b.Div(c.cast(total, scale.dtype), c.cast(b.scalar(first.shape[1]), scale.dtype))
        one = c.like(1, rows)
        unbiased = b.Mul(variance, b.Div(rows, b.Max([b.Sub(rows, one), one])))
        found = [mean, unbiased]
    epsilon = c.attr("epsilon")
    y = channels_first(c, x, lambda v: b.BatchNormalization(v, scale, offset, mean, variance, epsilon=epsilon))
    reserved = [mean, variance]
    result = [y, *found, *reserved]
    return [*result, c.full((0,), 0, scale.dtype)] if c.name.endswith("V3") else result


@tf_op("LRN")
def lrn(c: Call, input: Value) -> Value:
    """LRN(input) -> output; depth_radius, bias, alpha, beta, T"""
    size = 2 * c.attr("depth_radius") + 1
    attrs = {"size": size, "alpha": c.attr("alpha") * size, "beta": c.attr("beta"), "bias": c.attr("bias")}
    return to_last(c, c.b.LRN(to_first(c, input), **attrs))


@tf_op("Softmax")
def softmax(c: Call, logits: Value) -> Value:
    """Softmax(logits) -> softmax; T"""
    return c.b.Softmax(logits, axis=-1)


@tf_op("LogSoftmax")
def log_softmax(c: Call, logits: Value) -> Value:
    """LogSoftmax(logits) -> logsoftmax; T"""
    return c.b.LogSoftmax(logits, axis=-1)


@tf_op("L2Loss")
def l2_loss(c: Call, t: Value) -> Value:
    """L2Loss(t) -> output; T"""
    b = c.b
    return b.Div(b.ReduceSum(b.ge.Square(t), keepdims=0), c.like(2, t))


@tf_op("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(c: Call, features: Value, labels: Value) -> tuple[Value, Value]:
    """SoftmaxCrossEntropyWithLogits(features, labels) -> loss, backprop; T"""
    b = c.b
    log = b.LogSoftmax(features, axis=-1)
    loss = b.Neg(b.ReduceSum(b.Mul(labels, log), b.ints(-1), keepdims=0))
    return loss, b.Sub(b.Softmax(features, axis=-1), labels)


@tf_op("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(c: Call, features: Value, labels: Value) -> tuple[Value, Value]:
    """SparseSoftmaxCrossEntropyWithLogits(features, labels) -> loss, backprop; T, Tlabels"""
    from .indexing import one_hot_of

    b = c.b
    log = b.LogSoftmax(features, axis=-1)
    picked = b.GatherElements(log, c.unsqueeze(c.int64(labels), 1), axis=1)
    hot = one_hot_of(c, labels, features.shape[1], c.like(1, features), c.like(0, features), 1)
    return b.Neg(c.squeeze(picked, 1)), b.Sub(b.Softmax(features, axis=-1), hot)
