"""Sizes that must be equal where a node runs, as far as nothing proves that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ge_core.ir.dims import Size
from ge_core.ir.graph import Graph, Node, Region, Value
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.ops.infer import requirements
from ge_core.plan.lifetimes import CONTROL

RequiredSizes: TypeAlias = Mapping[Node, Sequence[tuple[Size, Size]]]


def required_sizes(graph: Graph) -> RequiredSizes:
    """The pairs of each node that has some; a fusion group has those of its nodes."""
    found: dict[Node, list[tuple[Size, Size]]] = {}
    for node in walk(graph):
        if (
            node.op in CONTROL
            or node.op == "ge.Fused"
            or not node.outputs
            or all(_is_static(v) for v in node.inputs if v is not None)
        ):
            continue
        pairs = requirements(node)
        if pairs:
            group = node.block.node if isinstance(node.block, Region) else None
            owner = group if group is not None and group.op == "ge.Fused" else node
            found.setdefault(owner, []).extend(pairs)
    return found


def contradiction(a: Size, b: Size, left: int, right: int) -> str:
    """What a node misses where the sizes `a` and `b`, which are `left` and `right`, must be equal."""
    if b == 0:  # a product of differences: see Infer.broadcast
        return f"needs a size that is 1 or equal to the one it meets: ({a}) is {left}, not 0"
    return f"needs two equal sizes, and they are {left} and {right} ({a} and {b})"


def _is_static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static
