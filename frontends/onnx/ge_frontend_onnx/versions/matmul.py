"""Gemm below 7."""

from __future__ import annotations

from ..call import Call
from ..registry import Results, before


@before(7, "Gemm")
def gemm_broadcast(c: Call) -> Results:
    """Below 7 an attribute says whether C is broadcast; now its shape does."""
    c.attrs.pop("broadcast", None)
    return c.build("Gemm", c.inputs, c.attrs)
