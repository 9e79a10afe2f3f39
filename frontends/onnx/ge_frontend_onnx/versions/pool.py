"""Pools whose order is a float."""

from __future__ import annotations

from ..call import Call
from ..registry import Results, before


@before(2, "LpPool", "GlobalLpPool")
def float_order(c: Call) -> Results:
    """Below 2 the order p is a float."""
    p = c.attr("p", 2.0)
    if p != int(p):
        raise c.unsupported(f"the order p = {p}")
    return c.build(c.op, c.inputs, {**c.attrs, "p": int(p)})
