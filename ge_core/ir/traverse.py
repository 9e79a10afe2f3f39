"""The one helper that enters regions, and questions about nodes that need it."""

from __future__ import annotations

from collections.abc import Iterator

from ge_core.ir.dims import Symbol, symbols
from ge_core.ir.graph import Block, Node, Value
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type
from ge_core.ops.registry import Effect, effect

_STRENGTH: dict[Effect, int] = {"pure": 0, "random": 1, "check": 2, "state": 3}


def walk(block: Block) -> Iterator[Node]:
    """Every node of a block and of all regions in it, outer node first."""
    for node in block.nodes:
        yield node
        for region in node.regions.values():
            yield from walk(region)


def blocks(block: Block) -> Iterator[Block]:
    """The block and all regions in it, outermost first."""
    yield block
    for node in block.nodes:
        for region in node.regions.values():
            yield from blocks(region)


def values(block: Block) -> Iterator[Value]:
    """Every value defined in a block and in all regions: params, capture params, node outputs (no constants)."""
    for b in blocks(block):
        yield from b.params
        for c in getattr(b, "captures", ()):
            yield c.param
        for node in b.nodes:
            yield from node.outputs


def effect_of(node: Node) -> Effect:
    """The strongest effect of a node and of everything in its regions."""
    found = effect(node.op)
    for region in node.regions.values():
        for inner in region.nodes:
            e = effect_of(inner)
            if _STRENGTH[e] > _STRENGTH[found]:
                found = e
    return found


def type_symbols(type: Type) -> frozenset[Symbol]:
    """All symbols in the sizes of a type."""
    if isinstance(type, (SequenceType, OptionalType)):
        return type_symbols(type.element)
    assert isinstance(type, TensorType)
    if type.shape is None:
        return frozenset()
    return frozenset(s for d in type.shape for s in symbols(d))


def symbol_table(block: Block) -> dict[str, Symbol]:
    """All symbols of a graph by name, in order of first appearance."""
    table: dict[str, Symbol] = {}
    for value in values(block):
        for s in sorted(type_symbols(value.type)):
            table.setdefault(s.name, s)
        for size in value.content or ():
            for s in sorted(symbols(size)):
                table.setdefault(s.name, s)
    return table
