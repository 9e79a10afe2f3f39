"""Softmax, LogSoftmax and Hardmax below 13: over all axes from `axis` on, taken as one."""

from __future__ import annotations

from ..call import Call
from ..registry import Results, before


@before(13, "Softmax", "LogSoftmax", "Hardmax")
def over_flattened_axes(c: Call) -> Results:
    """The input is taken as a matrix: the axes before `axis` are its rows, the others its columns."""
    c.only("axis")
    b, x, axis = c.b, c.input(0), c.attr("axis", 1)
    if x.tensor.shape is not None:
        rank = x.rank
        if not -rank <= axis <= rank:
            raise c.error(f"axis {axis} is out of range for rank {rank}")
        if axis in (rank - 1, -1):
            return b.op(c.op, x, axis=-1)
    flat = b.op(c.op, b.Flatten(x, axis=axis), axis=-1)
    return b.Reshape(flat, c.shape_of(x), allowzero=1)
