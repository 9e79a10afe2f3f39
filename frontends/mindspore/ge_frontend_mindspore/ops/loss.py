"""Losses, which some models return."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive

# MindSpore's Reduction as a number
_REDUCTIONS = {0: "sum", 1: "mean", 2: "none"}


def reduce_loss(c: Call, x: Value, reduction: Any) -> Value:
    """A loss of each element as the model wants it."""
    how = _REDUCTIONS.get(reduction, reduction) if isinstance(reduction, int) else reduction
    if how == "none" or x.rank == 0:
        return x
    if how not in ("sum", "mean"):
        raise c.unsupported(f"the reduction {reduction!r}")
    result: Value = c.b.op("ReduceSum" if how == "sum" else "ReduceMean", x, None, keepdims=0)
    return result


@primitive("L1LossExt", "MSELossExt")
def l1_loss(c: Call, input: Value, target: Value, reduction: Any) -> Value:
    """L1LossExt(input, target, reduction='mean'); MSELossExt(input, target, reduction='mean')"""
    apart = c.b.Sub(c.cast(input, c.dtype()), c.cast(target, c.dtype()))
    return reduce_loss(c, c.b.Abs(apart) if c.op == "L1LossExt" else c.b.ge.Square(apart), reduction)


@primitive("SmoothL1Loss")
def smooth_l1_loss(c: Call, prediction: Value, target: Value, beta: float, reduction: Any) -> Value:
    """SmoothL1Loss(prediction, target, beta=1.0, reduction='none')"""
    b, edge = c.b, c.number(beta, "beta")
    apart = b.Abs(b.Sub(prediction, target))
    if edge == 0:
        return reduce_loss(c, apart, reduction)
    curve = b.Div(b.Mul(b.ge.Square(apart), 0.5), edge)
    return reduce_loss(c, b.Where(b.Less(apart, edge), curve, b.Sub(apart, 0.5 * edge)), reduction)


@primitive("SoftMarginLoss")
def soft_margin_loss(c: Call, input: Value, target: Value, reduction: Any) -> Value:
    """SoftMarginLoss(input, target, reduction='mean'): log(1 + exp(-input * target))"""
    return reduce_loss(c, c.b.Softplus(c.b.Neg(c.b.Mul(input, target))), reduction)


@primitive("KLDiv", "KLDivLoss")
def kl_div(c: Call, input: Value, target: Value, reduction: Any = "mean", log_target: bool = False) -> Value:
    """KLDivLoss(reduction='mean')(logits, labels); KLDiv(input, target, reduction='mean', log_target=False)"""
    b = c.b
    if log_target:
        found = b.Mul(b.Exp(target), b.Sub(target, input))
    else:
        held = b.Where(b.Greater(target, 0.0), target, c.tensor(1.0, target.dtype))
        found = b.Mul(target, b.Sub(b.Log(held), input))
        found = b.Where(b.Greater(target, 0.0), found, c.tensor(0.0, target.dtype))
    if reduction == "batchmean":
        total = b.ReduceSum(found, None, keepdims=0)
        return b.Div(total, c.tensor(b.scalar(input.shape[0]), total.dtype))
    return reduce_loss(c, found, reduction)


@primitive("BinaryCrossEntropy")
def binary_cross_entropy(c: Call, input: Value, target: Value, weight: Value | None, reduction: Any) -> Value:
    """BinaryCrossEntropy(input, target, weight=None, reduction='mean'): logarithms are of at least 1e-12"""
    b, least = c.b, 1e-12
    first = b.Mul(target, b.Log(b.Add(input, least)))
    second = b.Mul(b.Sub(1.0, target), b.Log(b.Add(b.Sub(1.0, input), least)))
    found = b.Neg(b.Add(first, second))
    return reduce_loss(c, found if weight is None else b.Mul(found, weight), reduction)


@primitive("BCEWithLogitsLoss")
def bce_with_logits(
    c: Call, input: Value, target: Value, weight: Value | None, posWeight: Value | None, reduction: Any
) -> Value:
    """BCEWithLogitsLoss(input, target, weight=None, posWeight=None, reduction='mean')"""
    b = c.b
    # (1 - t) x + (1 + (p - 1) t) log(1 + exp(-x))
    curve = b.Softplus(b.Neg(input))
    if posWeight is not None:
        curve = b.Mul(curve, b.Add(b.Mul(b.Sub(posWeight, 1.0), target), 1.0))
    found = b.Add(b.Mul(b.Sub(1.0, target), input), curve)
    return reduce_loss(c, found if weight is None else b.Mul(found, weight), reduction)


@primitive("SigmoidCrossEntropyWithLogits")
def sigmoid_cross_entropy(c: Call, logits: Value, label: Value) -> Value:
    """SigmoidCrossEntropyWithLogits()(logits, label)"""
    return c.b.Add(c.b.Mul(c.b.Sub(1.0, label), logits), c.b.Softplus(c.b.Neg(logits)))


@primitive("NLLLoss", "NLLLoss2d")
def nll_loss(c: Call, logits: Value, labels: Value, weight: Value | None, reduction: Any, ignore_index: int) -> Any:
    """NLLLoss(logits, labels, weight, reduction='mean', ignore_index=-100): the loss, and the weights' sum"""
    b = c.b
    how = _REDUCTIONS.get(reduction, reduction) if isinstance(reduction, int) else reduction
    loss = b.NegativeLogLikelihoodLoss(logits, labels, weight, reduction=how, ignore_index=ignore_index)
    kept = b.Not(b.Equal(labels, ignore_index))
    places = b.Where(kept, labels, c.tensor(0, labels.dtype))
    each = c.full(labels.shape, 1, logits.dtype) if weight is None else b.Gather(weight, places, axis=0)
    total = b.ReduceSum(b.Where(kept, each, c.tensor(0, each.dtype)), None, keepdims=0)
    return loss, total


@primitive("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(c: Call, logits: Value, labels: Value) -> tuple[Value, Value]:
    """SoftmaxCrossEntropyWithLogits()(logits, labels): the loss of each row, and softmax(logits) - labels"""
    b = c.b
    loss = b.Neg(b.ReduceSum(b.Mul(labels, b.LogSoftmax(logits, axis=-1)), b.ints(-1), keepdims=0))
    return loss, b.Sub(b.Softmax(logits, axis=-1), labels)


@primitive("SparseSoftmaxCrossEntropyWithLogits", ignores=("sens",))
def sparse_softmax_cross_entropy(c: Call, logits: Value, labels: Value, is_grad: bool = False) -> Value:
    """SparseSoftmaxCrossEntropyWithLogits(is_grad=False)(logits, labels): the mean over the rows"""
    b = c.b
    if is_grad:
        raise c.unsupported("a gradient")
    own = b.GatherElements(b.LogSoftmax(logits, axis=-1), c.unsqueeze(b.Cast(labels, to="int64"), 1), axis=1)
    return b.Neg(b.ReduceMean(own, None, keepdims=0))


@primitive("MultiMarginLoss")
def multi_margin_loss(
    c: Call, x: Value, target: Value, weight: Value | None = None, p: int = 1, margin: float = 1.0,
    reduction: Any = "mean",
) -> Value:  # fmt: skip
    """MultiMarginLoss(p=1, margin=1.0, reduction='mean')(x, target, weight)"""
    b = c.b
    places = b.Cast(target, to="int64")
    own = b.GatherElements(x, c.unsqueeze(places, 1), axis=1)
    short = b.Max(b.Add(b.Sub(x, own), float(margin)), 0.0)
    short = b.ge.Square(short) if p == 2 else short
    if weight is not None:
        short = b.Mul(short, c.unsqueeze(b.Gather(weight, places, axis=0), 1))
    numbers = b.Range(b.constant(np.int64(0)), b.scalar(x.shape[1]), b.constant(np.int64(1)))
    mine = b.Equal(numbers, c.unsqueeze(places, 1))
    return reduce_loss(c, b.ReduceMean(b.Where(mine, c.tensor(0.0, x.dtype), short), b.ints(1), keepdims=0), reduction)
