"""A piece of a graph that is lowered as one: a node, the body of a group, or nodes that may become a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_core.backend import Group, operands
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Node, Value, source_of
from ge_core.ir.types import Layout

SMALL = 64
"""Constants of up to so many elements belong to what a piece is compared by."""
INDICES = 1 << 16
"""The same for integers, which are looked at to see whether they are indices that need no check."""


@dataclass(frozen=True)
class Part:
    """Nodes with what they read from outside and what is read of them.

    Attributes:
        nodes: in an order in which every value is made before it is read.
        sources: the operands, as the nodes name them; None where the piece is a node that omits one.
        outputs: the results.
    """

    nodes: tuple[Node, ...]
    sources: tuple[Value | None, ...]
    outputs: tuple[Value, ...]

    @staticmethod
    def of(node: Node) -> Part:
        """The body of a group, or a single node; sources and outputs are in the order of the node's."""
        if node.op != "ge.Fused":
            return Part((node,), tuple(operands(node)), tuple(node.outputs))
        region = node.regions["body"]
        inside = (*region.params, *(capture.param for capture in region.captures))
        return Part(tuple(region.nodes), inside, tuple(region.outputs))

    @staticmethod
    def of_group(group: Group) -> Part:
        """Nodes that are not yet a group; sources as `ge_core.passes.planned.group.fuse` orders them."""
        inputs = group.inputs
        constants = [v for v in inputs if source_of(v).constant is not None]
        return Part(group.nodes, (*(v for v in inputs if v not in constants), *constants), group.outputs)

    def key(self, layouts: Sequence[Layout | None]) -> Any:
        """What the lowering depends on: equal keys are lowered alike."""
        numbers: dict[Value, int] = {}
        found: list[Any] = []
        for value in self.sources:
            if value is None:
                found.append(None)
                continue
            numbers.setdefault(value, len(numbers))
            found.append((numbers[value], value.type, value.content, _small(value)))
        for node in self.nodes:
            inputs = tuple(None if v is None else numbers.get(v, -1) for v in node.inputs)
            attributes = tuple((k, _plain(v)) for k, v in sorted(node.attrs.items()))
            for value in node.outputs:
                numbers.setdefault(value, len(numbers))
            outputs = tuple((v.type, v.content) for v in node.outputs)
            found.append((node.op, attributes, inputs, outputs))
        return tuple(found), tuple(numbers[v] for v in self.outputs), tuple(layouts)


def _small(value: Value) -> Any:
    """What stands for the elements of a small constant; for others whether it is one."""
    constant = source_of(value).constant
    if constant is None:
        return False
    count, dtype = constant.type.elements, constant.type.dtype
    few = INDICES if dtype.is_integer and dtype.bits >= 32 else SMALL
    if count in range(few + 1) and constant.residence != "absent" and dtype.kind != "string":
        return constant.digest()
    return True


def _plain(attribute: Any) -> Any:
    return attribute.digest() if isinstance(attribute, Constant) else attribute
