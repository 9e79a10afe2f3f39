"""Brings the nodes of each block into the order that needs the least memory."""

from __future__ import annotations

from collections.abc import Mapping

from ge_core.backend import Implementation, operands
from ge_core.ir import dims
from ge_core.ir.graph import Block, Graph, Node, Value, source_of
from ge_core.ir.traverse import blocks, effect_of
from ge_core.passes.planned.depends import Dependences
from ge_core.plan.alias import stored_bytes
from ge_core.plan.order import OrderGraph, OrderValue, order
from ge_core.plan.views import viewed

TYPICAL = 64
"""A size without an upper bound is taken to be this, or its least value where that is larger."""


def reorder(graph: Graph, chosen: Mapping[Node, Implementation]) -> bool:
    """Reorder every block in place; whether anything moved. Nodes with effects keep their order."""
    changed = False
    for block in list(blocks(graph)):
        node = getattr(block, "node", None)
        if node is None or node.op != "ge.Fused":
            changed |= _reorder_block(block, chosen)
    return changed


def _reorder_block(block: Block, chosen: Mapping[Node, Implementation]) -> bool:
    nodes = list(block.nodes)
    if len(nodes) < 3:
        return False
    places = order(_Problem(block, nodes, chosen).graph())
    if places == list(range(len(nodes))):
        return False
    for place in places:
        block.nodes.unlink(nodes[place])
        block.nodes.append(nodes[place])
    return True


class _Problem:
    """A block as the order search sees it: views are left out, a value stands for all that looks at its bytes."""

    def __init__(self, block: Block, nodes: list[Node], chosen: Mapping[Node, Implementation]) -> None:
        self.block, self.nodes, self.chosen = block, nodes, chosen
        self.root: dict[Value, Value] = {}
        self.depends = Dependences(block)
        self.position = self.depends.position
        self.edges: list[tuple[int, int]] = []

    def graph(self) -> OrderGraph:
        readers: dict[Value, set[int]] = {}
        for i, node in enumerate(self.nodes):
            for value in operands(node):
                if value is not None:
                    readers.setdefault(self.root.get(value, value), set()).add(i)
            self.edges += [(self.position[p], i) for p in self.depends.of(node)]
            for out, source, _ in viewed(node) or ():
                self.root[out] = self.root.get(source, source)
        index: dict[Value, int] = {}
        values: list[OrderValue] = []
        kept = {self.root.get(v, v) for v in self.block.outputs} | set(self._state_writes())
        for i, node in enumerate(self.nodes):
            for value in node.outputs:
                if value in self.root:
                    continue
                index[value] = len(values)
                values.append(OrderValue(_typical(value), i, tuple(sorted(readers.get(value, ()))), value in kept))
        self._order_effects()
        return OrderGraph(len(self.nodes), tuple(values), tuple(self._in_place(index, values)), tuple(self.edges))

    def _state_writes(self) -> list[Value]:
        if not isinstance(self.block, Graph):
            return []
        return [self.root.get(s.write, s.write) for s in self.block.states if s.write is not None]

    def _order_effects(self) -> None:
        """Nodes with effects stay in order; so do the readers of a state before the node that writes it anew."""
        last = -1
        for i, node in enumerate(self.nodes):
            if effect_of(node) != "pure":
                if last >= 0:
                    self.edges.append((last, i))
                last = i
        for state in self.block.states if isinstance(self.block, Graph) else ():
            writer = None if state.write is None else state.write.producer
            if writer is None or writer not in self.position:
                continue
            for use in state.read.uses:
                reader = use.user
                if isinstance(reader, Node) and reader in self.position and reader is not writer:
                    before, after = self.position[reader], self.position[writer]
                    if before < after:
                        self.edges.append((before, after))

    def _in_place(self, index: Mapping[Value, int], values: list[OrderValue]) -> list[tuple[int, int]]:
        pairs = []
        for node in self.nodes:
            implementation = self.chosen.get(node)
            if implementation is None:
                continue
            reads = operands(node)
            for i, j in implementation.in_place:
                operand = reads[i] if i < len(reads) else None
                if operand is None or j >= len(node.outputs):
                    continue
                read, made = index.get(self.root.get(operand, operand)), index.get(node.outputs[j])
                if read is None or made is None or values[read].is_output:
                    continue
                if values[made].size <= values[read].size:
                    pairs.append((made, read))
        return pairs


def _typical(value: Value) -> int:
    """Bytes of a value at typical sizes; 0 for what has none."""
    size = stored_bytes(value)
    if size is None or source_of(value).constant is not None:
        return 0
    if isinstance(size, int):
        return size
    env = {s.name: max(s.lo, TYPICAL if s.hi is None else min(s.hi, TYPICAL)) for s in dims.symbols(size)}
    return max(dims.evaluate(size, env), 0)
