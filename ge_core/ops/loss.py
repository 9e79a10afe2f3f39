"""Type rules of losses."""

from __future__ import annotations

from ge_core.ir.types import Shape, TensorType
from ge_core.ops.constraints import float_dtype, require_choice, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


def _loss(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 2)
    reduction = require_choice(c, "reduction", ("none", "sum", "mean"))
    scores, labels = c.shape(0), c.shape(1)
    if len(scores) < 2:
        raise c.error(f"scores of rank {len(scores)}, expected at least 2: batch and classes")
    require_rank(c, 1, len(scores) - 1)
    if not c.dtype(1).is_integer:
        raise c.error(f"labels are {c.dtype(1)}, expected integers")
    places: Shape = (scores[0], *scores[2:])
    shape = tuple(c.merge(a, b, "sizes of scores and labels") for a, b in zip(places, labels, strict=True))
    if c.has(2):
        require_rank(c, 2, 1)
        c.merge(c.shape(2)[0], scores[1], "the sizes of weight and classes")
    return TensorType(dtype, shape if reduction == "none" else ())


@type_rule("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(c: Infer) -> TensorType:
    return _loss(c)


@type_rule("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(c: Infer) -> list[TensorType]:
    return [_loss(c), c.tensor(0)]
