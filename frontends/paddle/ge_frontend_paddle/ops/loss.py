"""Losses and measures, as far as they appear in programs that are run for inference."""

from __future__ import annotations

from ge_core.ir.graph import Value

from ..call import INT32, INT64, Call
from ..registry import pd
from .reduction import reduce


def _reduced(c: Call, x: Value, reduction: str) -> Value:
    """A loss of each element as `mean`, `sum` or as it is."""
    if reduction == "none":
        return x
    if reduction == "batchmean":
        return c.b.Div(reduce(c, "ReduceSum", x, (), False), c.scalar(x.shape[0] if x.rank else 1, x.dtype))
    return reduce(c, "ReduceMean" if reduction == "mean" else "ReduceSum", x, (), False)


@pd("bce_loss")
def bce_loss(c: Call, input: Value, label: Value) -> Value:
    """bce_loss(input, label) -> out"""
    b = c.b
    one, least = c.scalar(1, input.dtype), c.scalar(-100, input.dtype)
    hit, miss = b.Max(b.Log(input), least), b.Max(b.Log(b.Sub(one, input)), least)
    return b.Sub(b.Mul(b.Sub(label, one), miss), b.Mul(label, hit))


@pd("sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    c: Call,
    x: Value,
    label: Value,
    pos_weight: Value | None = None,
    *,
    normalize: bool = False,
    ignore_index: int = -100,
) -> Value:
    """sigmoid_cross_entropy_with_logits(x, label, pos_weight, *, normalize=false, ignore_index=-100) -> out"""
    b, kind = c.b, x.dtype
    rest = b.Softplus(b.Neg(b.Abs(x)))
    if pos_weight is not None:
        # the weight counts for the logarithm of the sigmoid alone
        inverse = b.Max(b.Neg(x), c.scalar(0, kind))
        loss = b.Add(b.Mul(b.Sub(c.scalar(1, kind), label), x), b.Mul(pos_weight, b.Add(rest, inverse)))
    else:
        loss = b.Add(b.Sub(b.Max(x, c.scalar(0, kind)), b.Mul(x, label)), rest)
    kept = b.Not(b.Equal(label, c.scalar(ignore_index, kind)))
    loss = b.Where(kept, loss, c.scalar(0, kind))
    if not normalize:
        return loss
    count = b.ReduceSum(b.Cast(kept, to=kind), b.ints(range(x.rank)), keepdims=0)
    return b.Div(loss, b.Max(count, c.scalar(1e-5, kind)))


@pd("huber_loss")
def huber_loss(c: Call, input: Value, label: Value, *, delta: float) -> tuple[Value, Value]:
    """huber_loss(input, label, *, delta) -> out, residual"""
    b, kind = c.b, input.dtype
    residual = b.Sub(label, input)
    size = b.Abs(residual)
    inner = b.Mul(c.scalar(0.5, kind), b.Mul(residual, residual))
    outer = b.Mul(c.scalar(delta, kind), b.Sub(size, c.scalar(0.5 * delta, kind)))
    return b.Where(b.LessOrEqual(size, c.scalar(delta, kind)), inner, outer), residual


@pd("log_loss")
def log_loss(c: Call, input: Value, label: Value, *, epsilon: float) -> Value:
    """log_loss(input, label, *, epsilon) -> out"""
    b, kind = c.b, input.dtype
    one, small = c.scalar(1, kind), c.scalar(epsilon, kind)
    hit = b.Mul(label, b.Log(b.Add(input, small)))
    miss = b.Mul(b.Sub(one, label), b.Log(b.Add(b.Sub(one, input), small)))
    return b.Neg(b.Add(hit, miss))


@pd("kldiv_loss")
def kldiv_loss(c: Call, x: Value, label: Value, *, reduction: str = "mean", log_target: bool = False) -> Value:
    """kldiv_loss(x, label, *, reduction="mean", log_target=false) -> out"""
    b, kind = c.b, x.dtype
    if log_target:
        loss = b.Mul(b.Exp(label), b.Sub(label, x))
    else:
        positive = b.Less(c.scalar(0, kind), label)
        safe = b.Where(positive, label, c.scalar(1, kind))
        loss = b.Where(positive, b.Mul(label, b.Sub(b.Log(safe), x)), c.scalar(0, kind))
    return _reduced(c, loss, reduction)


@pd("nll_loss")
def nll_loss(
    c: Call,
    input: Value,
    label: Value,
    weight: Value | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> tuple[Value]:
    """nll_loss(input, label, weight, *, ignore_index=-100, reduction="mean") -> out, total_weight"""
    b, kind = c.b, input.dtype
    ignored = b.Equal(label, c.scalar(ignore_index, label.dtype))
    place = b.Where(ignored, c.scalar(0, INT64), c.cast(label, INT64))
    picked = c.squeeze(b.GatherElements(input, c.unsqueeze(place, 1), axis=1), 1)
    share = c.full(label.shape, 1, kind) if weight is None else b.Gather(weight, place, axis=0)
    share = b.Where(ignored, c.scalar(0, kind), share)
    loss = b.Neg(b.Mul(picked, share))
    if reduction == "none":
        return (loss,)
    total = reduce(c, "ReduceSum", loss, (), False)
    return (total if reduction == "sum" else b.Div(total, reduce(c, "ReduceSum", share, (), False)),)


@pd("hinge_loss")
def hinge_loss(c: Call, logits: Value, labels: Value) -> Value:
    """hinge_loss(logits, labels) -> loss"""
    b, kind = c.b, logits.dtype
    one = c.scalar(1, kind)
    side = b.Sub(b.Mul(labels, c.scalar(2, kind)), one)
    return b.Relu(b.Sub(one, b.Mul(logits, side)))


@pd("cross_entropy_with_softmax", ignores=("numeric_stable_mode",))
def cross_entropy_with_softmax(
    c: Call,
    input: Value,
    label: Value,
    *,
    soft_label: bool = False,
    use_softmax: bool = True,
    ignore_index: int = -100,
    axis: int = -1,
) -> tuple[Value, Value]:
    """cross_entropy_with_softmax(input, label, *, soft_label=false, use_softmax=true, numeric_stable_mode=true,
    ignore_index=-100, axis=-1) -> softmax, loss
    """
    b, kind = c.b, input.dtype
    at = c.axis(axis, input.rank)
    logs = b.LogSoftmax(input, axis=at) if use_softmax else b.Log(input)
    chances = b.Softmax(input, axis=at) if use_softmax else input
    if soft_label:
        return chances, b.Neg(b.ReduceSum(b.Mul(label, logs), b.ints(at), keepdims=1))
    places = label if label.rank == input.rank else c.unsqueeze(label, at)
    ignored = b.Equal(places, c.scalar(ignore_index, places.dtype))
    place = b.Where(ignored, c.scalar(0, INT64), c.cast(places, INT64))
    loss = b.Neg(b.GatherElements(logs, place, axis=at))
    return chances, b.Where(ignored, c.scalar(0, kind), loss)


@pd("identity_loss")
def identity_loss(c: Call, x: Value, *, reduction: int = 1) -> Value:
    """identity_loss(x, *, reduction=1) -> out"""
    return _reduced(c, x, ("sum", "mean", "none")[reduction])


@pd("accuracy")
def accuracy(c: Call, x: Value, indices: Value, label: Value) -> tuple[Value, Value, Value]:
    """accuracy(x, indices, label) -> accuracy, correct, total"""
    b = c.b
    same = b.Cast(b.Equal(c.cast(indices, INT64), c.cast(label, INT64)), to="int32")
    hits = b.ReduceMax(same, b.ints(1), keepdims=0)
    correct = b.ReduceSum(hits, b.ints(0), keepdims=0)
    count = c.scalar(indices.shape[0], INT32)
    share = b.Div(c.cast(correct, c.dtype(0)), c.cast(count, c.dtype(0)))
    return share, correct, count
