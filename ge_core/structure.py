"""The nested structure of a model's arguments and results: flat for the graph, rebuilt for the caller.

A structure is a tree of containers over two kinds of leaf: a slot (the number of a graph input or output)
and a constant (a value that is no tensor, burnt in when the model was imported). It is plain data and goes
into the offline model as JSON.
"""

from __future__ import annotations

import math
import re
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from keyword import iskeyword
from typing import Literal, cast

from ge_core.errors import InputError, OfflineModelError

Scalar = None | bool | int | float | str
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

MAX_DEPTH = 64
_JSON_KINDS = frozenset(("slot", "constant", "opaque", "float", "list", "tuple", "dict", "dataclass", "namedtuple"))


@dataclass(frozen=True)
class Slot:
    """A tensor: the graph's input or output of this number."""

    index: int


@dataclass(frozen=True)
class Constant:
    """A value that is no tensor. `opaque`: `value` is the text of something that JSON cannot say."""

    value: Scalar
    opaque: bool = False

    @classmethod
    def of(cls, value: object) -> Constant:
        if value is None:
            return cls(None)
        for plain in (bool, int, float, str):
            if isinstance(value, plain):  # numpy's scalars and enums among them
                return cls(plain(value))
        return cls(repr(value), opaque=True)

    def equals(self, value: object) -> bool:
        """Whether `value` is what was burnt in; NaN equals NaN, and 1, 1.0 and True differ."""
        other = Constant.of(value)
        if isinstance(self.value, float) and isinstance(other.value, float) and math.isnan(self.value):
            return math.isnan(other.value)
        return (type(self.value), self) == (type(other.value), other)


@dataclass(frozen=True)
class Items:
    """A list or a tuple."""

    kind: Literal["list", "tuple"]
    items: tuple[Tree, ...]


@dataclass(frozen=True)
class Fields:
    """A dict, a dataclass or a named tuple.

    Args:
        kind: "dict", "dataclass" or "namedtuple".
        names: keys (of a dict: strings or integers) or field names, in order.
        items: one tree per name.
        class_path: "module:qualified name" of a dataclass or named tuple.
    """

    kind: Literal["dict", "dataclass", "namedtuple"]
    names: tuple[str | int, ...]
    items: tuple[Tree, ...]
    class_path: str = ""


Tree = Slot | Constant | Items | Fields


def describe(value: object, is_tensor: Callable[[object], bool], first: int = 0) -> tuple[Tree, list[object]]:
    """The structure of a value and its tensors in order.

    Args:
        value: nested lists, tuples, dicts, dataclasses and named tuples; what is none of these and no
            tensor is a constant.
        is_tensor: tells a tensor from everything else.
        first: the number of the first slot.

    Raises:
        InputError: the value is nested deeper than 64 levels.
    """
    tensors: list[object] = []

    def visit(part: object, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise InputError(f"the value is nested deeper than {MAX_DEPTH} levels")
        if is_tensor(part):
            tensors.append(part)
            return Slot(first + len(tensors) - 1)
        opened = _open(part)
        if opened is None:
            return Constant.of(part)
        empty, parts = opened
        items = tuple(visit(child, depth + 1) for child in parts)
        if isinstance(empty, Items):
            return Items(empty.kind, items)
        return Fields(empty.kind, empty.names, items, empty.class_path)

    return visit(value, 0), tensors


def slots(tree: Tree) -> Iterator[int]:
    """The numbers of the tree's slots, in order."""
    if isinstance(tree, Slot):
        yield tree.index
    elif isinstance(tree, Items | Fields):
        for item in tree.items:
            yield from slots(item)


def flatten(tree: Tree, value: object, where: str, found: dict[int, object]) -> None:
    """Put the tensors of `value`, which must have the structure `tree`, into `found` by slot number.

    Raises:
        InputError: the structure differs, or a constant differs from the one burnt in; `where` and the path
            within it say where.
    """
    if isinstance(tree, Slot):
        found[tree.index] = value
        return
    if isinstance(tree, Constant):
        if not tree.equals(value):
            raise InputError(
                f"{where} was {tree.value!r} when the model was compiled; this call gives {_short(value)}",
                expected=f"{tree.value!r}, which is part of the compiled model",
                fix="compile again with the other value, or pass the same one",
            )
        return
    opened = _open(value)
    if isinstance(tree, Items):
        if opened is None or not isinstance(opened[0], Items) or len(opened[1]) != len(tree.items):
            raise _differs(tree, value, where)
        for number, (child, part) in enumerate(zip(tree.items, opened[1], strict=True)):
            flatten(child, part, f"{where}[{number}]", found)
        return
    if opened is None or not isinstance(opened[0], Fields):
        raise _differs(tree, value, where)
    given = dict(zip(opened[0].names, opened[1], strict=True))
    _match_fields(tree, given, where)
    for name, child in zip(tree.names, tree.items, strict=True):
        flatten(child, given.get(name), f"{where}[{name!r}]", found)


def unflatten(tree: Tree, leaves: Sequence[object]) -> object:
    """The caller's structure with `leaves` in its slots.

    A dataclass is rebuilt only by a class that this process has imported already and that has these
    fields; otherwise it comes back as a dict with its keys. Nothing is imported, so that a file cannot
    name code to run. A named tuple whose class is not there comes back as a fresh one of the same name.
    """
    if isinstance(tree, Slot):
        return leaves[tree.index]
    if isinstance(tree, Constant):
        return tree.value
    parts = [unflatten(item, leaves) for item in tree.items]
    if isinstance(tree, Items):
        return parts if tree.kind == "list" else tuple(parts)
    named = dict(zip(tree.names, parts, strict=True))
    if tree.kind == "dict":
        return named
    cls = _imported_class(tree)
    if cls is not None:
        return cls(**{str(name): part for name, part in named.items()})
    return _fresh_namedtuple(tree)(*parts) if tree.kind == "namedtuple" else named


def to_json(tree: Tree) -> Json:
    """The tree as JSON data; floats as text, so that infinities and NaN survive."""
    if isinstance(tree, Slot):
        return {"slot": tree.index}
    if isinstance(tree, Constant):
        if isinstance(tree.value, float):
            return {"float": repr(tree.value)}
        return {"opaque" if tree.opaque else "constant": tree.value}
    items: list[Json] = [to_json(item) for item in tree.items]
    if isinstance(tree, Items):
        return {tree.kind: items}
    row: dict[str, Json] = {tree.kind: items, "names": list(tree.names)}
    if tree.class_path:
        row["class"] = tree.class_path
    return row


def from_json(data: Json, slot_count: int, depth: int = 0) -> Tree:
    """The tree from its JSON data, which may come from a hostile file.

    Args:
        slot_count: how many graph inputs or outputs there are.

    Raises:
        OfflineModelError: the data is no tree, nests deeper than 64 levels, or names a slot that is not
            there.
    """
    kinds = _JSON_KINDS.intersection(data) if isinstance(data, dict) else ()
    if not isinstance(data, dict) or len(kinds) != 1 or depth > MAX_DEPTH:
        raise _damaged(data)
    (kind,) = kinds
    body = data[kind]
    if kind == "slot":
        if not isinstance(body, int) or isinstance(body, bool) or not 0 <= body < slot_count:
            raise _damaged(data)
        return Slot(body)
    if kind in ("constant", "opaque", "float"):
        return _constant_from_json(kind, body)
    if not isinstance(body, list):
        raise _damaged(data)
    items = tuple(from_json(item, slot_count, depth + 1) for item in body)
    if kind in ("list", "tuple"):
        return Items(cast("Literal['list', 'tuple']", kind), items)
    return _fields_from_json(kind, data, items)


def _open(value: object) -> tuple[Items | Fields, list[object]] | None:
    """A container as an empty tree of its kind, and its parts; None for what is no container."""
    cls = type(value)
    if is_dataclass(value) and not isinstance(value, type):
        # A dataclass that is a mapping too (Hugging Face's outputs) leaves its None fields out of its keys.
        names = tuple(value) if isinstance(value, Mapping) else tuple(field.name for field in fields(value))
        parts = [getattr(value, name) for name in names]
        return Fields("dataclass", names, (), f"{cls.__module__}:{cls.__qualname__}"), parts
    if isinstance(value, tuple):
        field_names = getattr(cls, "_fields", None)
        if isinstance(field_names, tuple):
            return Fields("namedtuple", field_names, (), f"{cls.__module__}:{cls.__qualname__}"), list(value)
        return Items("tuple", ()), list(value)
    if isinstance(value, list):
        return Items("list", ()), value
    if not isinstance(value, Mapping):
        return None
    odd = [key for key in value if not isinstance(key, str | int) or isinstance(key, bool)]
    if odd:
        raise InputError(f"a dict has the key {odd[0]!r}", expected="keys that are strings or integers")
    return Fields("dict", tuple(value), ()), list(value.values())


def _match_fields(tree: Fields, given: Mapping[str | int, object], where: str) -> None:
    missing = [
        name
        for name, child in zip(tree.names, tree.items, strict=True)
        if name not in given and child != Constant(None)
    ]
    unknown = [name for name, value in given.items() if name not in tree.names and value is not None]
    if missing or unknown:
        parts = [f"{_list(missing)} missing"] if missing else []
        parts += [f"{_list(unknown)} not expected"] if unknown else []
        raise InputError(
            f"{where} has other keys than when the model was compiled: {'; '.join(parts)}",
            expected=f"the keys {_list(tree.names)}",
        )


def _imported_class(tree: Fields) -> Callable[..., object] | None:
    module_name, _, qualified = tree.class_path.partition(":")
    found: object = sys.modules.get(module_name)
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        return None
    if tree.kind == "namedtuple":
        return found if issubclass(found, tuple) and getattr(found, "_fields", None) == tree.names else None
    if not is_dataclass(found):
        return None
    accepted = {field.name for field in fields(found) if field.init}
    return found if accepted.issuperset(tree.names) else None


def _fresh_namedtuple(tree: Fields) -> Callable[..., object]:
    name = re.split("[.:]", tree.class_path)[-1]
    return namedtuple(name, [str(field) for field in tree.names])


def _constant_from_json(kind: str, body: Json) -> Constant:
    if kind == "float" and isinstance(body, str):
        try:
            return Constant(float(body))
        except ValueError as error:
            raise _damaged(body) from error
    if kind == "opaque" and isinstance(body, str):
        return Constant(body, opaque=True)
    if kind == "constant" and (body is None or isinstance(body, bool | int | str)):
        return Constant(body)
    raise _damaged(body)


def _fields_from_json(kind: str, data: dict[str, Json], items: tuple[Tree, ...]) -> Fields:
    names, class_path = data.get("names"), data.get("class", "")
    if not isinstance(names, list) or not isinstance(class_path, str):
        raise _damaged(data)
    keys = [name for name in names if isinstance(name, str | int) and not isinstance(name, bool)]
    if len(keys) != len(items) or len(names) != len(items) or len(set(keys)) != len(keys):
        raise _damaged(data)
    if kind == "dict":
        return Fields("dict", tuple(keys), items)
    # What becomes a keyword or the field of a class made at run time must be a plain identifier.
    last = class_path.partition(":")[2].rpartition(".")[2]
    hidden = kind == "namedtuple" and any(str(key).startswith("_") for key in keys)
    if hidden or not all(_is_plain(name) for name in (last, *keys)):
        raise _damaged(data)
    return Fields(cast("Literal['dataclass', 'namedtuple']", kind), tuple(keys), items, class_path)


def _is_plain(name: str | int) -> bool:
    return isinstance(name, str) and name.isidentifier() and not iskeyword(name)


def _differs(tree: Items | Fields, value: object, where: str) -> InputError:
    return InputError(
        f"{where} has another structure than when the model was compiled",
        expected=f"a {tree.kind} of {len(tree.items)}, got {_short(value)}",
    )


def _damaged(data: Json) -> OfflineModelError:
    return OfflineModelError(f"the stored structure of inputs or outputs is damaged: {_short(data)}")


def _short(value: object) -> str:
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__qualname__}"


def _list(names: Sequence[str | int]) -> str:
    return ", ".join(repr(name) for name in names)
