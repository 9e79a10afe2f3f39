"""TopK below 10."""

from __future__ import annotations

from ..call import Call
from ..registry import Results, before


@before(10, "TopK")
def k_attribute(c: Call) -> Results:
    """Below 10 the number is an attribute."""
    c.only("k", "axis")
    return c.build("TopK", [c.input(0), c.b.ints(c.needed("k"))], {"axis": c.attr("axis", -1)})
