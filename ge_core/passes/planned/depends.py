"""Which nodes must run before a node: the producers of what it reads, and the definers of the sizes it mentions.

A data-dependent size is defined by a node (NonZero, ge.BindDim) and mentioned by nodes that may read nothing of it
(ge.Dims): an order that looked at values alone would let them run too early.
"""

from __future__ import annotations

from collections.abc import Iterator

from ge_core.backend import operands
from ge_core.ir.dims import Dim, Symbol, symbols
from ge_core.ir.graph import Block, Node
from ge_core.ir.traverse import type_symbols, walk


class Dependences:
    """The nodes of one block and what each waits for."""

    def __init__(self, block: Block) -> None:
        self.position = {node: i for i, node in enumerate(block.nodes)}
        self._definer: dict[Symbol, Node] = {}
        defined = {s for p in block.params for s in type_symbols(p.type)}
        self._mentioned: dict[Node, frozenset[Symbol]] = {}
        for node in block.nodes:
            found = frozenset(_mentioned(node))
            if found:
                self._mentioned[node] = found
            for s in found - defined:
                self._definer.setdefault(s, node)

    def of(self, node: Node) -> Iterator[Node]:
        """The nodes of the block that must run before `node`; some more than once."""
        for value in operands(node):
            if value is not None and value.producer in self.position:
                assert value.producer is not None
                yield value.producer
        for s in self._mentioned.get(node, ()):
            definer = self._definer.get(s)
            if definer is not None and definer is not node:
                yield definer


def _mentioned(node: Node) -> Iterator[Symbol]:
    """Symbols in the attributes and results of a node and of what its regions hold."""
    inner = (n for region in node.regions.values() for n in walk(region))
    for n in (node, *inner):
        for attr in n.attrs.values():
            for part in attr if isinstance(attr, tuple) else (attr,):
                if isinstance(part, Dim):
                    yield from symbols(part)
        for value in n.outputs:
            yield from type_symbols(value.type)
            for size in value.content or ():
                yield from symbols(size)
