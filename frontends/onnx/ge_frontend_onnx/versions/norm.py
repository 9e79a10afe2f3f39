"""Normalisations: statistics by feature, statistics of the batch, scales by group."""

from __future__ import annotations

from ge_core.ir import dims

from ..call import Call
from ..ops.norm import batch_statistics
from ..registry import Results, before

_BATCH_NORM = ("epsilon", "momentum", "spatial", "is_test", "consumed_inputs")


@before(7, "BatchNormalization")
def batch_normalization_with_mode(c: Call) -> Results:
    """Below 7 `is_test` is what tells inference from training."""
    if not c.attr("is_test", 0):
        raise c.unsupported("training mode (is_test = 0)", "export the model for inference")
    return batch_normalization_by_feature(c)


@before(9, "BatchNormalization")
def batch_normalization_by_feature(c: Call) -> Results:
    """Below 9 the statistics may be those of each feature (spatial = 0) in place of each channel."""
    c.only(*_BATCH_NORM)
    if c.attr("spatial", 1):
        return batch_normalization_by_outputs(c)
    if c.num_outputs > 1:
        raise c.unsupported("statistics of the batch by feature")
    b = c.b
    x, scale, bias, mean, var = (c.input(i) for i in range(5))
    epsilon = c.scalar(c.attr("epsilon", 1e-5), var.dtype)
    factor = b.Div(scale, b.Sqrt(b.Add(var, epsilon)))
    return b.Add(b.Mul(b.Sub(x, mean), factor), bias)


@before(14, "BatchNormalization")
def batch_normalization_by_outputs(c: Call) -> Results:
    """Below 14 more outputs than the first one mean training: running and batch statistics."""
    c.only(*_BATCH_NORM)
    if c.num_outputs == 1:
        return c.build("BatchNormalization", c.inputs, {"epsilon": c.attr("epsilon", 1e-5)})
    if c.wants(3) or c.wants(4):
        raise c.unsupported("saved statistics of the batch", "export the model for inference")
    return batch_statistics(c, *(c.input(i) for i in range(5)))


@before(21, "GroupNormalization")
def group_normalization_by_group(c: Call) -> Results:
    """Below 21 scale and bias belong to a group, not to a channel."""
    b, x, groups = c.b, c.input(0), c.needed("num_groups")
    channels = x.shape[1]
    size = dims.exact_div(channels, groups)
    if size is None:
        raise c.error(f"{channels} channels are no multiple of {groups} groups")
    scale, bias = (
        b.Reshape(b.Expand(c.unsqueeze(c.input(i), 1), b.ints(groups, size)), b.ints(channels)) for i in (1, 2)
    )
    return c.build("GroupNormalization", [x, scale, bias], c.attrs)
