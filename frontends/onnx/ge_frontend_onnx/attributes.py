"""AttributeProtos as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_core.errors import ModelImportError

from .weights import Weights

# AttributeProto.AttributeType, by number.
_SINGLE = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 11: "sparse_tensor", 13: "tp"}
_SEVERAL = {6: "floats", 7: "ints", 8: "strings", 9: "tensors", 10: "graphs", 12: "sparse_tensors", 14: "type_protos"}
_FIELDS = {**_SINGLE, **_SEVERAL}


def read_attributes(
    protos: Sequence[Any], weights: Weights, referred: Mapping[str, Any], where: object
) -> dict[str, Any]:
    """The attributes of a node: numbers, text, tuples of them, Constants, GraphProtos, TypeProtos.

    Args:
        protos: its AttributeProtos.
        weights: reads tensors.
        referred: AttributeProtos by name that attributes of a function's nodes may refer to.
        where: the node's place.

    Raises:
        ModelImportError: an attribute is given twice, has no type, or its tensor is damaged.
    """
    found: dict[str, Any] = {}
    for proto in protos:
        name = proto.name
        if name in found:
            raise ModelImportError(f"the attribute {name} is given twice", where=where)
        if proto.ref_attr_name:
            if proto.ref_attr_name not in referred:
                continue  # the caller leaves it out, and so does the node
            proto = referred[proto.ref_attr_name]
        found[name] = _value(proto, name, weights, where)
    return found


def resolve(protos: Sequence[Any], referred: Mapping[str, Any]) -> dict[str, Any]:
    """AttributeProtos by name, references replaced by what they refer to."""
    found: dict[str, Any] = {}
    for proto in protos:
        if not proto.ref_attr_name:
            found[proto.name] = proto
        elif proto.ref_attr_name in referred:
            found[proto.name] = referred[proto.ref_attr_name]
    return found


def _value(proto: Any, name: str, weights: Weights, where: object) -> Any:
    kind = proto.type or _guessed(proto)
    field = _FIELDS.get(kind)
    if field is None:
        raise ModelImportError(f"the attribute {name} has the unknown type {kind}", where=where)
    value = getattr(proto, field)
    if field in _SINGLE.values() and not proto.HasField(field) and field in ("t", "g", "sparse_tensor", "tp"):
        raise ModelImportError(f"the attribute {name} holds no {field}", where=where)
    if field == "t":
        return weights.constant(value, name)
    if field == "sparse_tensor":
        return weights.dense(value, name)
    if field == "tensors":
        return tuple(weights.constant(t, name) for t in value)
    if field == "s":
        return _text(value)
    if field == "strings":
        return tuple(map(_text, value))
    return value if field in _SINGLE.values() else tuple(value)


def _guessed(proto: Any) -> int:
    """The type of an attribute of a very old model, which does not say it."""
    for kind, field in _SINGLE.items():
        if proto.HasField(field):
            return kind
    for kind, field in _SEVERAL.items():
        if len(getattr(proto, field)):
            return kind
    return 0


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw


def subgraphs(node: Any) -> list[Any]:
    """The GraphProtos in a node's attributes."""
    found = []
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found.append(attribute.g)
        found.extend(attribute.graphs)
    return found
