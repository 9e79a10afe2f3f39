"""Python values in GE's attributes (AttrDef), and back."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, Union

from ge_core.errors import OfflineModelError
from ge_core.om.message_table import Message
from ge_core.om.messages import message_class


@dataclass(frozen=True)
class DataTypeNumber:
    """An element type as an attribute; the number of GE's in-memory enumeration."""

    number: int


@dataclass(frozen=True)
class Expression:
    """The text of a symbolic size."""

    text: str


@dataclass(frozen=True)
class Named:
    """Attributes under a name (NamedAttrs)."""

    name: str
    attrs: Mapping[str, AttrValue] = field(default_factory=dict)


AttrValue: TypeAlias = Union[  # noqa: UP007 - a forward reference cannot be joined with |
    bool, int, float, str, bytes, DataTypeNumber, Expression, Named, Message, Sequence["AttrValue"]
]
"""What an attribute holds; a Message is a TensorDescriptor, TensorDef or GraphDef, a sequence has one type."""

_UNKNOWN_LIST, _STRING, _INT, _FLOAT, _BOOL, _BYTES, _DESC, _TENSOR, _GRAPH, _NAMED, _DTYPE = range(11)
_LIST_FIELDS = {
    _STRING: "s", _INT: "i", _FLOAT: "f", _BOOL: "b", _BYTES: "bt", _DESC: "td", _TENSOR: "t", _GRAPH: "g",
    _NAMED: "na", _DTYPE: "dt",
}  # fmt: skip
_LIST_TYPES = {name: kind for kind, name in _LIST_FIELDS.items()}
_MESSAGE_FIELDS = {"TensorDescriptor": ("td", _DESC), "TensorDef": ("t", _TENSOR), "GraphDef": ("g", _GRAPH)}


def encode(value: AttrValue) -> Message:
    """An AttrDef that holds `value`; sequences become lists with their val_type, without which GE drops them.

    A float is rounded to float32, the only kind that AttrDef has; an empty sequence has no element type.

    Raises:
        OfflineModelError: a value of another type, a sequence of several types, or an integer beyond int64.
    """
    attr = message_class("AttrDef")()
    set_value(attr, value)
    return attr


def set_value(attr: Message, value: AttrValue) -> None:
    """Make an existing AttrDef hold `value`; see `encode`."""
    try:
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            _set_list(attr, value)
            return
        name, kind = _kind(value)
        if kind in (_NAMED, _DESC, _TENSOR, _GRAPH):
            getattr(attr, name).CopyFrom(_plain(value, kind))
        else:
            setattr(attr, name, _plain(value, kind))
    except (ValueError, TypeError, OverflowError) as error:
        raise OfflineModelError(f"{value!r} cannot be an attribute: {error}") from error


def decode(attr: Message) -> Any:
    """The value of an AttrDef, lists as lists.

    Raises:
        OfflineModelError: it holds nothing, or a list that mixes types.
    """
    name = attr.WhichOneof("value")
    if name is None:
        raise OfflineModelError("an attribute without a value")
    value = getattr(attr, name)
    if name == "list":
        return _decode_list(value)
    if name == "list_list_int":
        return [list(inner.list_i) for inner in value.list_list_i]
    if name == "list_list_float":
        return [list(inner.list_f) for inner in value.list_list_f]
    return _decoded(name, value)


def decode_map(attrs: Mapping[str, Message]) -> dict[str, Any]:
    """The values of an attribute map, sorted by name."""
    decoded = {}
    for name in sorted(attrs):
        try:
            decoded[name] = decode(attrs[name])
        except OfflineModelError as error:
            raise OfflineModelError(error.what, where=f"attribute {name}") from error
    return decoded


def encode_map(attrs: Message, values: Mapping[str, AttrValue]) -> None:
    """Put values into the `attr` map of a message."""
    for name, value in values.items():
        set_value(attrs[name], value)


def float32(value: float) -> float:
    """The value after rounding to float32; beyond its range infinity, as the hardware rounds."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _kind(value: object) -> tuple[str, int]:
    """The AttrDef field and the val_type of a value that is no sequence."""
    if isinstance(value, bool):
        return "b", _BOOL
    if isinstance(value, int):
        return "i", _INT
    if isinstance(value, float):
        return "f", _FLOAT
    if isinstance(value, str):
        return "s", _STRING
    if isinstance(value, bytes):
        return "bt", _BYTES
    if isinstance(value, DataTypeNumber):
        return "dt", _DTYPE
    if isinstance(value, Named):
        return "func", _NAMED
    if isinstance(value, Expression):
        return "expression", _UNKNOWN_LIST
    described = getattr(value, "DESCRIPTOR", None)
    if described is not None and described.name in _MESSAGE_FIELDS:
        return _MESSAGE_FIELDS[described.name]
    raise TypeError(f"a {type(value).__name__} has no form in GE")


def _plain(value: Any, kind: int) -> Any:
    """What is assigned to the protobuf field."""
    if kind == _STRING:
        return value.encode()
    if kind == _FLOAT:
        return float32(value)
    if kind == _DTYPE:
        return value.number
    if kind == _NAMED:
        named = message_class("NamedAttrs")(name=value.name)
        encode_map(named.attr, value.attrs)
        return named
    return value.text if isinstance(value, Expression) else value


def _set_list(attr: Message, values: Sequence[Any]) -> None:
    if not values:
        attr.list.SetInParent()
        return
    if all(isinstance(inner, (list, tuple)) for inner in values):
        kinds = {_kind(item)[1] for inner in values for item in inner}
        if kinds == {_FLOAT}:
            for inner in values:
                attr.list_list_float.list_list_f.add().list_f.extend(map(float32, inner))
        elif kinds <= {_INT}:
            for inner in values:
                attr.list_list_int.list_list_i.add().list_i.extend(inner)
        else:
            raise TypeError("lists of lists hold integers or floats")
        return
    kinds = {_kind(item)[1] for item in values}
    kind = kinds.pop()
    if kinds or kind == _UNKNOWN_LIST:
        raise TypeError("a list holds values of one type")
    attr.list.val_type = kind
    getattr(attr.list, _LIST_FIELDS[kind]).extend(_plain(value, kind) for value in values)


def _decode_list(listed: Message) -> list[Any]:
    filled = [(field.name, values) for field, values in listed.ListFields() if field.name != "val_type"]
    if not filled:
        return []
    if len(filled) > 1:
        raise OfflineModelError("a list attribute that mixes types")
    ((name, values),) = filled
    kind = _LIST_TYPES[name]
    # GE itself writes some lists (port names) without a val_type.
    if listed.val_type not in (_UNKNOWN_LIST, kind):
        raise OfflineModelError(f"a list attribute of type {listed.val_type} that holds type {kind}")
    return [_decoded("func" if name == "na" else name, value) for value in values]


def _decoded(name: str, value: Any) -> Any:
    if name == "s":
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise OfflineModelError("a string attribute that is not UTF-8") from error
    if name == "dt":
        return DataTypeNumber(value)
    if name == "expression":
        return Expression(value)
    if name == "func":
        return Named(value.name, decode_map(value.attr))
    return value
