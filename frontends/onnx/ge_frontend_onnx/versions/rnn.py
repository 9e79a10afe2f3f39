"""Recurrent layers with attributes that say nothing any more."""

from __future__ import annotations

from ..call import Call
from ..registry import Results, before


@before(7, "LSTM", "GRU", "RNN")
def output_sequence(c: Call) -> Results:
    """Below 7 an attribute says whether the sequence is wanted; now its output's name does."""
    c.attrs.pop("output_sequence", None)
    if c.attr("direction") == "foward":  # the default of GRU below 3, as it stands there
        c.attrs["direction"] = "forward"
    return c.build(c.op, c.inputs, c.attrs)
