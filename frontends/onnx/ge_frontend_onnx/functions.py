"""The functions of a model: operators that it defines itself, by nodes, and that are put in where they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ge_core.errors import ModelImportError

from .attributes import resolve, subgraphs
from .frame import Frame, normal_domain, read_opsets

Key: TypeAlias = tuple[str, str, str]

# Functions that call functions can stand for more nodes than any memory holds.
MOST_NODES = 1_000_000
DEEPEST_CALL = 100


def key_of(node: Any) -> Key:
    """Which function a node would call."""
    return normal_domain(node.domain), node.op_type, node.overload


class Functions:
    """The functions of a model.

    Args:
        protos: its FunctionProtos.

    Raises:
        ModelImportError: a function is defined twice, calls itself, or the model's calls stand for too many nodes.
    """

    def __init__(self, protos: Sequence[Any], nodes: Sequence[Any]) -> None:
        self._protos: dict[Key, Any] = {}
        for proto in protos:
            key = (normal_domain(proto.domain), proto.name, proto.overload)
            if key in self._protos:
                raise ModelImportError(f"the function {_name(key)} is defined twice")
            self._protos[key] = proto
        self._opsets = {key: read_opsets(p.opset_import, f"the function {_name(key)}") for key, p in self.items()}
        self._counts: dict[Key, int] = {}
        if self._protos:
            self._count(nodes, ())

    def items(self) -> list[tuple[Key, Any]]:
        """All functions."""
        return list(self._protos.items())

    def find(self, node: Any) -> Any | None:
        """The function that a node calls, None when it is an operator."""
        return self._protos.get(key_of(node)) if self._protos else None

    def opsets(self, key: Key) -> Mapping[str, int]:
        """The versions of the domains that a function's nodes use."""
        return self._opsets[key]

    def frame(self, caller: Frame, node: Any, proto: Any) -> Frame:
        """What holds in the body of a function that a node calls."""
        name = caller.location(node).module
        defaults = {a.name: a for a in proto.attribute_proto}
        given = resolve(node.attribute, caller.referred)
        return Frame(self._opsets[key_of(node)], f"{name}/", {**defaults, **given})

    def _count(self, nodes: Sequence[Any], calls: tuple[Key, ...]) -> int:
        total = 0
        for node in nodes:
            total += 1
            for graph in subgraphs(node):
                total += self._count(graph.node, calls)
            key = key_of(node)
            if key in self._protos:
                total += self._count_of(key, calls)
            if total > MOST_NODES:
                raise ModelImportError(
                    f"the model's functions stand for more than {MOST_NODES} nodes",
                    where=" > ".join(map(_name, (*calls, key))) if key in self._protos else None,
                )
        return total

    def _count_of(self, key: Key, calls: tuple[Key, ...]) -> int:
        if key in calls:
            circle = (*calls[calls.index(key) :], key)
            raise ModelImportError(f"a function calls itself: {' > '.join(map(_name, circle))}")
        if len(calls) > DEEPEST_CALL:
            raise ModelImportError(f"functions call each other over {DEEPEST_CALL} levels, down to {_name(key)}")
        if key not in self._counts:
            self._counts[key] = self._count(self._protos[key].node, (*calls, key))
        return self._counts[key]


def _name(key: Key) -> str:
    domain, name, overload = key
    return f"{domain}::{name}" + (f":{overload}" if overload else "")
