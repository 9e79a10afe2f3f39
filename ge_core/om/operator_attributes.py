"""Attributes of the IR's nodes in GE's AttrDefs, and back without loss.

AttrDef has float32 only, and no lists of sizes. A value that it cannot hold exactly is written as near as it can be,
for the tools that read GE's messages, and exactly in the JSON of `ge.exact`, which our reader prefers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ge_core.errors import GeError, OfflineModelError
from ge_core.ir.builder import normal_attribute
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DTYPES, DType
from ge_core.ir.graph import Attr, Node
from ge_core.om import attributes
from ge_core.om import vocabulary as words
from ge_core.om.attributes import DataTypeNumber, Expression
from ge_core.om.descriptors import DescriptorReader, DescriptorWriter
from ge_core.om.message_table import Message
from ge_core.om.messages import message_class
from ge_core.om.tensors import TensorReader, TensorWriter
from ge_core.ops.schema import Schema

_BY_MEMORY = {d.ge_memory: d for d in DTYPES if d.ge_memory is not None}
_BY_NAME = {d.name: d for d in DTYPES}
_INT64 = range(-(1 << 63), 1 << 63)


def write_attributes(node: Node, attrs: Message, descriptors: DescriptorWriter, tensors: TensorWriter) -> None:
    """Put a node's attributes into the map of an OpDef.

    Raises:
        OfflineModelError: a value that is no attribute of the IR, or a name that belongs to this form.
    """
    exact = {}
    for name, value in node.attrs.items():
        if name.startswith("ge."):
            raise OfflineModelError(f"{node.op} has an attribute {name}", expected="no name that begins with ge.")
        if isinstance(value, Constant):
            tensors.write(value, attrs[name].t, descriptors)
            continue
        near, is_exact = _near(value, descriptors)
        attributes.set_value(attrs[name], near)
        if not is_exact:
            exact[name] = _exact(value, descriptors)
    if exact:
        text = json.dumps(exact, sort_keys=True, separators=(",", ":"))
        attributes.set_value(attrs[words.EXACT], text)


def read_attributes(
    declared: Schema,
    stated: Mapping[str, Any],
    descriptors: DescriptorReader,
    tensors: TensorReader,
) -> dict[str, Attr]:
    """The attributes of a node from the decoded map of an OpDef; names that begin with `ge.` are skipped.

    Raises:
        OfflineModelError: a value that the operator's schema does not allow there.
    """
    exact = _exact_values(stated.get(words.EXACT), descriptors)
    found: dict[str, Attr] = {}
    for name, value in stated.items():
        if name.startswith("ge."):
            continue
        if name in exact:
            found[name] = exact.pop(name)
        else:
            found[name] = _from_near(value, descriptors, tensors)
        _check(declared, name, found[name])
    if exact:
        raise OfflineModelError(f"exact values of attributes that {declared.name} does not have: {min(exact)}")
    return found


def _near(value: Any, descriptors: DescriptorWriter) -> tuple[Any, bool]:
    """What AttrDef holds for a value, and whether that is all of it."""
    if isinstance(value, tuple):
        parts = [_near(item, descriptors) for item in value]
        near, kinds = [item for item, _ in parts], {type(item) for item, _ in parts}
        if len(kinds) > 1 or Expression in kinds or any(isinstance(item, tuple) for item in value):
            return [str(item) for item in value], False
        return near, all(is_exact for _, is_exact in parts)
    if isinstance(value, bool) or type(value) is bytes:
        return value, True
    if type(value) is int:
        return (value, True) if value in _INT64 else (str(value), False)
    if type(value) is float:
        return value, math.isnan(value) or attributes.float32(value) == value
    if type(value) is str:
        return value, True
    if isinstance(value, DType):
        return (DataTypeNumber(value.ge_memory), True) if value.ge_memory is not None else (value.name, False)
    if isinstance(value, Dim):
        return Expression(descriptors.size(value)), True
    raise OfflineModelError(f"{value!r} of type {type(value).__name__} is no attribute of the IR")


def _from_near(value: Any, descriptors: DescriptorReader, tensors: TensorReader) -> Attr:
    if isinstance(value, list):
        return tuple(_from_near(item, descriptors, tensors) for item in value)  # type: ignore[misc]
    if isinstance(value, DataTypeNumber):
        if value.number not in _BY_MEMORY:
            raise OfflineModelError(f"element type number {value.number} is not supported")
        return _BY_MEMORY[value.number]
    if isinstance(value, Expression):
        return descriptors.size(value.text)
    if isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, message_class("TensorDef")):
        return tensors.read(value, descriptors)
    raise OfflineModelError(f"an attribute of type {type(value).__name__} has no meaning in the IR")


def _exact(value: Any, descriptors: DescriptorWriter) -> list[Any]:
    """The JSON form [kind, content]."""
    if isinstance(value, tuple):
        return ["list", [_exact(item, descriptors) for item in value]]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["int", str(value)]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, str):
        return ["str", value]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, DType):
        return ["dtype", value.name]
    return ["size", descriptors.size(value)]


def _exact_values(text: Any, descriptors: DescriptorReader) -> dict[str, Attr]:
    if text is None:
        return {}
    try:
        return {name: _from_exact(value, descriptors) for name, value in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError) as error:
        raise OfflineModelError(f"exact attribute values are damaged: {str(text)[:80]!r}") from error


def _from_exact(value: Any, descriptors: DescriptorReader) -> Any:
    kind, content = value
    if kind == "list":
        return tuple(_from_exact(item, descriptors) for item in content)
    if kind == "bool" and isinstance(content, bool):
        return content
    if kind == "int":
        return int(content)
    if kind == "float":
        return float.fromhex(content)
    if kind == "str" and isinstance(content, str):
        return content
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "dtype":
        return _BY_NAME[content]
    if kind == "size":
        return descriptors.size(content)
    raise ValueError(kind)


def _check(declared: Schema, name: str, value: Attr) -> None:
    """The schema's type of an attribute; that required ones are there is the verifier's question."""
    attribute = declared.attributes.get(name)
    if attribute is None or attribute.type == "graph":
        raise OfflineModelError(f"{declared.name} has no attribute {name}")
    try:
        normal = normal_attribute(attribute, value, declared.name)
    except GeError as error:
        raise OfflineModelError(error.what) from error
    texts = attribute.type == "strings" and isinstance(value, tuple)
    if (texts and not all(isinstance(item, (str, bytes)) for item in value)) or (  # type: ignore[union-attr]
        normal is not value and normal != value and repr(normal) != repr(value)
    ):
        raise OfflineModelError(f"{declared.name}: attribute {name} is {str(value)[:80]}", expected=attribute.type)
