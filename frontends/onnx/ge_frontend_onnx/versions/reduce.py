"""Reductions with axes as an attribute."""

from __future__ import annotations

from ..call import Call
from ..registry import Results, before


@before(13, "ReduceSum")
@before(
    18, "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSumSquare",
)  # fmt: skip
def axes_attribute(c: Call) -> Results:
    """The axes are an attribute; without any all axes are reduced."""
    c.only("axes", "keepdims")
    axes = c.attr("axes", ())
    return c.b.op(c.op, c.input(0), c.b.ints(axes) if axes else None, keepdims=c.attr("keepdims", 1))
