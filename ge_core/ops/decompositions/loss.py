"""Losses by gathering the labels' log probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.registry import decomposition


@decomposition("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(b: Builder, node: Node) -> Sequence[Value]:
    return [cast(b, _nll(b, node, widened(b, operand(node.inputs, 0))), node.output.dtype)]


@decomposition("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(b: Builder, node: Node) -> Sequence[Value]:
    log_prob = b.LogSoftmax(widened(b, operand(node.inputs, 0)), axis=1)
    results = (_nll(b, node, log_prob), log_prob)
    return [cast(b, v, o.dtype) for v, o in zip(results, node.outputs, strict=False)]


def _nll(b: Builder, node: Node, log_prob: Value) -> Value:
    """-log_prob[label] * weight[label], reduced; a label equal to ignore_index counts for nothing."""
    labels, weight = operand(node.inputs, 1), node.input(2)
    ignored = node.attrs.get("ignore_index")
    one, zero = b.constant(1.0, log_prob.dtype), b.constant(0.0, log_prob.dtype)
    counted = None
    if ignored is not None:
        assert isinstance(ignored, int)
        counted = b.Not(b.Equal(labels, b.constant(ignored, labels.dtype)))
        labels = b.Where(counted, labels, b.constant(0, labels.dtype))
    picked = b.GatherElements(log_prob, b.Unsqueeze(labels, b.ints(1)), axis=1)
    factor = None if weight is None else b.Gather(widened(b, weight), labels, axis=0)
    if counted is not None:
        factor = b.Where(counted, one if factor is None else factor, zero)
    loss = b.Neg(b.Squeeze(picked, b.ints(1)))
    if factor is not None:
        loss = b.Mul(loss, factor)
    if counted is not None:
        loss = b.Where(counted, loss, zero)
    reduction = node.attrs.get("reduction", "mean")
    if reduction == "none":
        return loss
    if reduction == "mean" and factor is None:
        return b.ReduceMean(loss, keepdims=0)
    total = b.ReduceSum(loss, keepdims=0)
    return total if reduction == "sum" else b.Div(total, b.ReduceSum(factor, keepdims=0))
