"""Optionals: an empty one takes its type from the node."""

from __future__ import annotations

from typing import Any

from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type

from ..call import Call
from ..registry import Results, converts
from ..value_types import read_type

_ANY = -1


@converts("Optional")
def optional(c: Call) -> Results:
    """Optional(V input?) -> (O output); type"""
    if c.has(0):
        value = c.input(0)
        return value if isinstance(value.type, OptionalType) else c.b.Optional(value)
    element = read_type(c.needed("type"), lambda dim, axis: _static(dim), c.outputs[0])
    return c.b.Optional(type=_without_symbols(element))


def _static(dim: Any) -> int:
    return int(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0 else _ANY


def _without_symbols(type: Type) -> Type:
    """A type that says nothing of sizes that only a value would bring."""
    if isinstance(type, TensorType):
        return TensorType(type.dtype, None if _ANY in (type.shape or ()) else type.shape)
    inner = _without_symbols(type.element)
    assert isinstance(inner, TensorType)
    return SequenceType(inner)


@converts("OptionalHasElement")
def optional_has_element(c: Call) -> Results:
    """OptionalHasElement(O input?) -> (B output)"""
    if not c.has(0):
        return c.b.constant(False)
    return c.b.OptionalHasElement(c.input(0))
