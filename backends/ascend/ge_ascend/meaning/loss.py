"""Losses."""

from __future__ import annotations

from ge_ascend.meaning.call import Call, Result, meaning


@meaning("NLLLoss")
def nll_loss(c: Call) -> Result:
    """NLLLoss(x [N, C], target [N], weight [C]; reduction, ignore_index) -> y, total_weight"""
    b, x, target, weight = c.b, c["x"], c["target"], c.get("weight")
    if x.rank != 2:
        raise c.error(f"scores of {x.rank} axes are not supported")
    reduction, ignored = c.attr("reduction"), c.attr("ignore_index")
    y = b.NegativeLogLikelihoodLoss(x, target, weight, reduction=reduction, ignore_index=ignored)
    counted = b.Not(b.Equal(target, b.constant(ignored, target.dtype)))
    factors = b.Expand(b.constant(1.0, x.dtype), b.ints(x.shape[1])) if weight is None else weight
    picked = b.Gather(factors, b.Where(counted, target, b.constant(0, target.dtype)), axis=0)
    return [y, b.ReduceSum(b.Where(counted, picked, b.constant(0.0, picked.dtype)), keepdims=0)]
