"""Reference kernels of losses."""

from __future__ import annotations

import numpy as np

from ge_core.errors import IndexRangeError
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.norm import log_softmax_along
from ge_core.reference.precision import narrow, widen


def _nll(call: Call, log_prob: np.ndarray, labels: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """-log_prob[label] * weight[label], reduced; a label equal to ignore_index counts for nothing.

    Raises:
        IndexRangeError: a label is no class.
    """
    classes, ignored = log_prob.shape[1], call.attr("ignore_index")
    counted = np.ones(labels.shape, np.bool_) if ignored is None else labels != ignored
    at = np.where(counted, labels, 0)
    if at.size and (at.min() < 0 or at.max() >= classes):
        raise call.error(IndexRangeError, f"labels go from {at.min()} to {at.max()}, there are {classes} classes")
    picked = np.take_along_axis(log_prob, at[:, None], axis=1)[:, 0]
    factor = counted.astype(log_prob.dtype) if weight is None else np.where(counted, widen(weight)[at], 0)
    loss = np.where(counted, -picked * factor, 0)
    reduction = call.attr("reduction")
    if reduction == "none":
        return loss
    total = loss.sum(dtype=loss.dtype)
    return np.asarray(total if reduction == "sum" else total / factor.sum(dtype=loss.dtype))


@kernel("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(
    call: Call, x: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    return narrow(_nll(call, widen(x), labels, weight), call.dtype())


@kernel("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(
    call: Call, scores: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    log_prob = log_softmax_along(widen(scores), 1)
    return narrow(_nll(call, log_prob, labels, weight), call.dtype()), narrow(log_prob, call.dtype())
