"""Losses: NLLLoss where unconfirmed mappings may be used, else by gathering."""

from __future__ import annotations

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.dtype import int32, int64

_NONE_IGNORED = -100


@lowering("NegativeLogLikelihoodLoss")
def nll_loss(c: LowerCall) -> list[Out]:
    """-score[label] * weight[label] of rows, reduced; a mean divides by the weights"""
    if not c.may_use("NegativeLogLikelihoodLoss") or not c.engine.chip.kernels or c.rank() != 2:
        return c.expand()
    labels = c.as_is(1)
    if labels.value.dtype not in (int32, int64):
        labels = c.cast(labels, int32)
    weight = c.get(2)
    if weight is None:
        weight = c.op("BroadcastTo", c.const(1.0, c.float_type), c.ints([c.shape()[1]]))
    ignored, reduction = c.attr("ignore_index"), c.attr("reduction")
    y, _ = c.ops(
        "NLLLoss", c[0], labels, weight, reduction=reduction,
        ignore_index=_NONE_IGNORED if ignored is None else ignored,
    )  # fmt: skip
    c.note("form", "a loss as NLLLoss")
    return [y if reduction == "none" else c.reshape(y, ())]
