"""Attributes of a MindIR file as Python values: numbers, texts, tuples, tensors, and descriptions of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from ge_core.ir.dtype import DType
from ge_core.om.message_table import Message

from .element_types import of_file
from .messages import damaged
from .weights import tensor_constant, tensor_type

# AttributeProto.AttributeType
_FLOAT, _STRING, _BOOL, _DOUBLE, _TENSOR, _TENSORS, _TUPLE, _LIST, _DICT = 1, 8, 9, 11, 17, 19, 20, 21, 22
_UMONAD, _IOMONAD, _NONE, _TYPE_NULL = 23, 24, 25, 36
_INTEGERS = frozenset({2, 3, 4, 5, 6, 7, 12, 13})
_DEEPEST = 32

# MindSpore writes the shape of a number as [0] in descriptions of results.
Literal: TypeAlias = Any


class Monad:
    """A token that orders effects; the order of nodes says the same."""

    def __repr__(self) -> str:
        return "monad"


MONAD = Monad()


@dataclass(frozen=True)
class Described:
    """What the file says of a result.

    Attributes:
        dtype: the element type; None for what is no tensor and no number.
        sizes: the sizes, -1 unknown; None when the rank is unknown too.
    """

    dtype: DType | None
    sizes: tuple[int, ...] | None


Description: TypeAlias = "Described | tuple[Any, ...]"

_NOTHING = Described(None, None)


def literal(attribute: Message, where: str, depth: int = 0) -> Literal:
    """The value of an attribute: a number, bool, str, None, tuple, MONAD, a DType, or a Constant for a tensor.

    Raises:
        ModelImportError: the attribute is damaged or of a kind that no operator takes.
    """
    kind = attribute.type
    if depth > _DEEPEST:
        raise damaged(f"{where} is nested too deep")
    if kind in _INTEGERS:
        return int(attribute.ints[0]) if attribute.ints else int(attribute.i)
    if kind == _BOOL:
        return bool(attribute.ints[0]) if attribute.ints else bool(attribute.i)
    if kind == _FLOAT:
        return float(attribute.floats[0]) if attribute.floats else float(attribute.f)
    if kind == _DOUBLE:
        return float(attribute.doubles[0]) if attribute.doubles else float(attribute.d)
    if kind == _STRING:
        return (attribute.strings[0] if attribute.strings else attribute.s).decode("utf-8", "replace")
    if kind in (_TUPLE, _LIST):
        return tuple(literal(value, where, depth + 1) for value in attribute.values)
    if kind == _TENSORS and len(attribute.tensors) == 1:
        tensor = attribute.tensors[0]
        if not tensor.dims and not tensor.raw_data:
            return of_file(tensor.data_type, where)  # an element type, not a tensor of it
        return tensor_constant(tensor, where)
    if kind == _TENSOR:
        return tensor_constant(attribute.t, where)
    if kind in (_UMONAD, _IOMONAD):
        return MONAD
    if kind in (_NONE, _TYPE_NULL):
        return None
    if kind == _DICT:
        return tuple((value.name, literal(value, where, depth + 1)) for value in attribute.values)
    raise damaged(f"{where} is an attribute of the unknown kind {kind}")


def description(attribute: Message, where: str, depth: int = 0) -> Description:
    """What the attribute `shape` of a node says of its results; a tuple for several.

    Raises:
        ModelImportError: it is damaged.
    """
    if depth > _DEEPEST:
        raise damaged(f"the description of {where} is nested too deep")
    if attribute.type in (_TUPLE, _LIST):
        return tuple(description(value, where, depth + 1) for value in attribute.values)
    if len(attribute.tensors) == 1:  # of a number too, whose kind is another
        return described(attribute.tensors[0], where)
    return _NOTHING


def described(proto: Message, where: str) -> Described:
    """The description in a TensorProto; texts and other things that are no tensors describe nothing."""
    if proto.data_type in (0, 8):
        return _NOTHING
    dtype, sizes = tensor_type(proto, where)
    return Described(dtype, None if -2 in sizes else sizes)
