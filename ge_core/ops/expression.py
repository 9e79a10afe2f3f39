"""Expressions of pointwise rows: the text parsed into a tree, with a node's attributes and inputs filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeAlias

from ge_core.errors import GraphError
from ge_core.ir.graph import Node
from ge_core.ops.pointwise import POINTWISE, PRIMITIVES, Row


@dataclass(frozen=True)
class Arg:
    """Input `index` of the node."""

    index: int


@dataclass(frozen=True)
class Number:
    """A literal or an attribute's value, of the type in which the expression is computed."""

    value: float | int


@dataclass(frozen=True)
class Apply:
    """A primitive of `PRIMITIVES` applied to operands."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Name:
    """A name before it is replaced; never in a finished expression."""

    text: str


Expr: TypeAlias = Arg | Number | Apply | Name

_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|(\d+\.\d+(?:e-?\d+)?|\d+)|([(),]))")


@cache
def parse(text: str) -> Expr:
    """The tree of an expression; inputs and attributes are left as names.

    Raises:
        GraphError: bad syntax, an unknown primitive, or a wrong number of operands.
    """
    tokens = [m.group(m.lastindex or 0) for m in _TOKEN.finditer(text)]
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise GraphError(f"not a pointwise expression: {text}")
    tree, end = _parse(tokens, 0, text)
    if end != len(tokens):
        raise GraphError(f"not a pointwise expression: {text}")
    return tree


def _parse(tokens: list[str], at: int, text: str) -> tuple[Expr, int]:
    word = tokens[at] if at < len(tokens) else ")"
    if word[0].isdigit():
        return Number(float(word) if "." in word else int(word)), at + 1
    if not word[0].isalpha():
        raise GraphError(f"not a pointwise expression: {text}")
    if at + 1 >= len(tokens) or tokens[at + 1] != "(":
        return Name(word), at + 1
    args: list[Expr] = []
    at += 1
    while at < len(tokens) and tokens[at] in "(,":
        arg, at = _parse(tokens, at + 1, text)
        args.append(arg)
    if at >= len(tokens) or PRIMITIVES.get(word) != len(args):
        raise GraphError(f"bad call of {word} in the pointwise expression {text}")
    return Apply(word, tuple(args)), at + 1


def replace(tree: Expr, names: Mapping[str, Expr]) -> Expr:
    """The tree with every name replaced.

    Raises:
        GraphError: a name is not in the mapping.
    """
    if isinstance(tree, Apply):
        return Apply(tree.name, tuple(replace(a, names) for a in tree.args))
    if isinstance(tree, Name):
        if tree.text not in names:
            raise GraphError(f"unknown name {tree.text} in a pointwise expression")
        return names[tree.text]
    return tree


Key: TypeAlias = tuple[str, tuple[float | int | str, ...], tuple[bool, ...]]


def expression_of(node: Node) -> Expr:
    """The expression of a pointwise node over its inputs, made of Arg, Number and Apply only."""
    return resolved(expression_key(node))


def expression_key(node: Node) -> Key:
    """What the expression of a node depends on: its operator, its attributes, and which inputs are there."""
    attributes = tuple(node.attrs.get(name, default) for name, default in POINTWISE[node.op].attributes.items())
    return node.op, attributes, tuple(v is not None for v in node.inputs)  # type: ignore[return-value]


@lru_cache(maxsize=4096)
def resolved(key: Key) -> Expr:
    """The expression of an `expression_key`."""
    op, values, present = key
    row = POINTWISE[op]
    attributes = dict(zip(row.attributes, values, strict=True))
    names: dict[str, Expr] = {k: Number(v) for k, v in attributes.items() if not isinstance(v, str)}
    if row.fold is not None:
        total: Expr = Arg(0)
        for i in range(1, len(present)):
            total = replace(parse(row.fold), {"a": total, "b": Arg(i)})
        return replace(parse(row.expression), {**names, "a": total, "count": Number(len(present))})
    given = {name for (name, _), there in zip(row.inputs, present, strict=False) if there}
    names |= {name: Arg(i) for i, (name, _) in enumerate(row.inputs) if name in given}
    return replace(parse(_text(row, attributes, given)), names)


def _text(row: Row, attributes: Mapping[str, object], given: set[str]) -> str:
    for condition, text in row.variants.items():
        if all(_holds(part, attributes, given) for part in condition.split(",")):
            return text
    return row.expression


def _holds(condition: str, attributes: Mapping[str, object], given: set[str]) -> bool:
    if condition.startswith("no "):
        return condition.removeprefix("no ") not in given
    name, _, value = condition.partition("=")
    return str(attributes[name]) == value
