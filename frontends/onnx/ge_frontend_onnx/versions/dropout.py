"""Dropout below 12, where ratio and mode are no inputs."""

from __future__ import annotations

from ..call import Call
from ..ops.dropout import kept
from ..registry import Results, before


@before(7, "Dropout")
def dropout_with_mode(c: Call) -> Results:
    """Below 7 `is_test` tells inference from training."""
    c.only("is_test", "ratio", "consumed_inputs")
    if not c.attr("is_test", 0) and c.attr("ratio", 0.5):
        raise c.unsupported("training mode (is_test = 0)", "export the model for inference")
    return dropout_mask_of_data(c)


@before(10, "Dropout")
def dropout_mask_of_data(c: Call) -> Results:
    """Below 10 the mask has the element type of the data."""
    y, mask = kept(c, c.input(0))
    return [y, None if mask is None else c.cast(mask, c.input(0).dtype)]


@before(12, "Dropout")
def dropout_inference(c: Call) -> Results:
    """Below 12 the operator stands for inference alone."""
    c.only("ratio")
    return kept(c, c.input(0))
