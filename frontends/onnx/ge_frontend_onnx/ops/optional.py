"""Optionals: an empty one takes its type from the node."""

from __future__ import annotations

from ge_core.ir.types import OptionalType

from ..call import Call
from ..registry import Results, converts
from ..value_types import read_type


@converts("Optional")
def optional(c: Call) -> Results:
    """Optional(V input?) -> (O output); type"""
    if c.has(0):
        value = c.input(0)
        return value if isinstance(value.type, OptionalType) else c.b.Optional(value)
    proto = c.needed("type")
    read_type(proto, lambda dim, axis: c.converter.symbols.size(dim, f"optional_{axis}"), c.outputs[0])
    raise c.unsupported("an optional that is always empty")


@converts("OptionalHasElement")
def optional_has_element(c: Call) -> Results:
    """OptionalHasElement(O input?) -> (B output)"""
    if not c.has(0):
        return c.b.constant(False)
    return c.b.OptionalHasElement(c.input(0))
