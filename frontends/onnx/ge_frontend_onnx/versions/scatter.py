"""Scatter, the older name of ScatterElements."""

from __future__ import annotations

from ..call import Call
from ..registry import Results, before


@before(29, "Scatter")
def scatter(c: Call) -> Results:
    """Scatter(T data, Tind indices, T updates) -> (T output); axis"""
    return c.build("ScatterElements", c.inputs, c.attrs)
