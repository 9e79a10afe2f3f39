"""DFT below 20."""

from __future__ import annotations

from typing import Any

from ..call import Call
from ..registry import Results, before


@before(20, "DFT")
def axis_attribute(c: Call) -> Results:
    """Below 20 the axis is an attribute, by default 1."""
    c.only("axis", "inverse", "onesided")
    attrs: dict[str, Any] = {name: c.attrs[name] for name in ("inverse", "onesided") if name in c.attrs}
    return c.build("DFT", [c.input(0), c.optional(1), c.b.scalar(c.attr("axis", 1))], attrs)
