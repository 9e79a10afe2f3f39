"""Merges nodes that compute the same value, and constants with the same data.

Constants are one when bytes, element type and shape are: 0.0 and -0.0 stay apart, and names never count; large ones in
a file only when they are the same place in it. A node
in a region merges with an equal one outside, which is then captured.
"""

from __future__ import annotations

import struct
from collections import ChainMap
from collections.abc import Hashable
from dataclasses import dataclass

from ge_core.ir.constant import Constant
from ge_core.ir.graph import Attr, Block, Graph, Node, Region, Value, source_of
from ge_core.ir.traverse import effect_of
from ge_core.ir.types import TensorType
from ge_core.ops.schema import schema
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.locations import merged
from ge_core.passes.retype import Retyper

# Max and Min are not here: of -0.0 and 0.0 they may return the first.
_COMMUTATIVE = frozenset({"Add", "Mul", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"})


@dataclass(frozen=True)
class CommonSubexpressions(Pass):
    """Enters regions, groups (ge.Fused) excepted. Results stay the same bit for bit."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = _merge_constants(graph, ctx)
        merger = _Merger(graph, ctx)
        changed |= merger.block(graph, ChainMap())
        merger.retyper.finish()
        return changed


class _Merger:
    def __init__(self, graph: Graph, ctx: PassContext) -> None:
        self.ctx = ctx
        self.retyper = Retyper(graph)

    def block(self, block: Block, outer: ChainMap[Hashable, Node]) -> bool:
        changed = False
        scope = outer.new_child()  # sees the enclosing nodes; what it adds does not leak to its siblings
        for node in block.nodes:
            if node.regions:
                if node.op != "ge.Fused":
                    for region in node.regions.values():
                        changed |= self.block(region, scope)
                continue
            if not node.outputs or effect_of(node) != "pure":
                continue
            key = _key(node)
            first = scope.get(key)
            if first is None:
                scope[key] = node
            elif self.ctx.allow("same-node", node):
                self.merge(node, first)
                changed = True
        return changed

    def merge(self, node: Node, first: Node) -> None:
        block = node.block
        assert block is not None
        for old, new in zip(node.outputs, first.outputs, strict=True):
            seen = visible(new, block)
            self.retyper.replace(old, seen, "same-node")
        first.loc = merged(first.loc, [node.loc])
        block.nodes.remove(node)


def visible(value: Value, block: Block) -> Value:
    """`value`, defined in `block` or a block around it, as seen from `block`."""
    chain: list[Region] = []
    at = block
    while at is not value.owner:
        assert isinstance(at, Region) and at.outer is not None
        chain.append(at)
        at = at.outer
    for region in reversed(chain):
        value = region.capture(value)
    return value


def _key(node: Node) -> Hashable:
    inputs: list[Hashable] = [None if v is None else source_of(v) for v in node.inputs]
    if node.op in _COMMUTATIVE:
        inputs.sort(key=id)
    declared = schema(node.op).attributes
    attrs = {name: a.default for name, a in declared.items() if a.default is not None}
    attrs.update(node.attrs)
    return (
        node.op,
        tuple(inputs),
        tuple((k, _attr_key(attrs[k])) for k in sorted(attrs)),
        len(node.outputs),
        tuple(v.layout for v in node.outputs),
    )


def _attr_key(attr: Attr) -> Hashable:
    if isinstance(attr, tuple):
        return tuple(map(_attr_key, attr))
    if isinstance(attr, Constant):
        return attr.digest()
    if isinstance(attr, float):
        return struct.pack("<d", attr)
    return (type(attr).__name__, attr)


def _merge_constants(graph: Graph, ctx: PassContext) -> bool:
    """Point all uses of equal constants at the first; a digest is taken only where a sample agrees."""
    by_type: dict[TensorType, list[Value]] = {}
    for value in graph.constants:
        by_type.setdefault(value.tensor, []).append(value)
    by_sample: dict[Hashable, list[Value]] = {}
    for group in by_type.values():
        for value in group if len(group) > 1 else ():
            assert value.constant is not None
            known = value.constant.is_known()
            sample: Hashable = value.constant.sample() if known else value.constant.key()
            by_sample.setdefault((value.tensor, sample), []).append(value)
    changed = False
    for group in by_sample.values():
        if len(group) == 1:
            continue
        first: dict[Hashable, Value] = {}
        for value in group:
            assert value.constant is not None
            known = value.constant.is_known()
            kept = first.setdefault(value.constant.digest() if known else value.constant.key(), value)
            if kept is not value and ctx.allow("same-constant"):
                value.replace_uses(kept)
                graph.remove_constant(value)
                changed = True
    return changed
