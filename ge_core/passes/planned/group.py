"""Grows fusion groups along producer-consumer edges, as far as the backend's judgement goes. A node that reads
several groups joins one of them, and the others become one with it where the backend lets them.

A group is one `ge.Fused` node whose region holds the original nodes. What the group computes with from outside are
its inputs; constants are captured, so that type rules and kernels inside still see their data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ge_core.backend import Group, Merges, PlannedBackend, Refusal
from ge_core.ir.dims import Symbol
from ge_core.ir.graph import Block, Graph, Node, Region, Value, source_of
from ge_core.ir.traverse import blocks, effect_of, type_symbols, walk
from ge_core.ir.types import TensorType
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.inline import inline_region
from ge_core.passes.planned.depends import Dependences
from ge_core.passes.rewrite import defined_sizes

SEARCHED = 2000
"""Nodes visited to prove that a group would not feed itself; beyond, the node stays out."""
MEMBERS = 256
"""Nodes in one group at most."""


@dataclass(frozen=True)
class WhyNot:
    """A producer-consumer edge that no group crosses: which node stayed out of its producer's group, and why."""

    producer: Node
    node: Node
    code: str
    reason: str


@dataclass(frozen=True)
class GroupNodes(Pass):
    """Makes `ge.Fused` groups in every block.

    Attributes:
        backend: judges each step of growth.
        why_not: receives the refusals, for the report.
    """

    backend: PlannedBackend
    why_not: list[WhyNot] = field(default_factory=list)

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = False
        for block in list(blocks(graph)):
            if not isinstance(block, Region) or block.node is None or block.node.op != "ge.Fused":
                changed |= _BlockGroups(self, block, ctx).run()
        return changed


class _BlockGroups:
    """The groups of one block while they grow; a node that joined nothing is a group of its own."""

    def __init__(self, owner: GroupNodes, block: Block, ctx: PassContext) -> None:
        self.owner, self.block, self.ctx = owner, block, ctx
        self.depends = Dependences(block)
        self.position = self.depends.position
        self.members: dict[Node, list[Node]] = {node: [node] for node in block.nodes}
        self.leader: dict[Node, Node] = {node: node for node in block.nodes}
        self.defined: dict[Node, frozenset[Symbol]] = {}

    def run(self) -> bool:
        for node in list(self.block.nodes):
            if node.op != "ge.Fused" and not node.regions and effect_of(node) == "pure":
                self._place(node)
        groups = [nodes for nodes in self.members.values() if len(nodes) > 1]
        groups = [nodes for nodes in groups if self.ctx.allow("group", nodes[0])]
        if not groups:
            return False
        self._sort(groups)
        for nodes in groups:
            fuse(nodes)
        return True

    def _place(self, node: Node) -> None:
        """Let the node join the group of one of its producers; the latest first."""
        producers = [v.producer for v in node.inputs if v is not None and v.producer in self.position]
        for producer in sorted(set(producers), key=lambda p: -self.position[p]):
            assert producer is not None
            leader = self.leader[producer]
            refusal = self._refusal(leader, node)
            if refusal is None:
                self.members[leader].append(node)
                self.leader[node] = leader
                del self.members[node]
                self._merge_others(leader, producers)
                return
            self.owner.why_not.append(WhyNot(producer, node, refusal.code, refusal.reason))

    def _merge_others(self, leader: Node, producers: Sequence[Node | None]) -> None:
        """Take the groups of a member's other producers in."""
        if not isinstance(self.owner.backend, Merges):
            return
        for producer in producers:
            assert producer is not None
            other = self.leader[producer]
            if other is not leader and self._may_merge(self.owner.backend, leader, other):
                nodes = self.members.pop(other)
                self.members[leader] = sorted(self.members[leader] + nodes, key=self.position.__getitem__)
                self.leader.update(dict.fromkeys(nodes, leader))

    def _may_merge(self, backend: Merges, leader: Node, other: Node) -> bool:
        parts = self.members[leader], self.members[other]
        together = sorted((*parts[0], *parts[1]), key=self.position.__getitem__)
        if len(together) > MEMBERS or self._never(other, together) or any(map(self._defined, together)):
            return False
        if not backend.may_merge((Group(tuple(parts[0])), Group(tuple(parts[1]))), Group(tuple(together))):
            return False
        return not self._feed_themselves((leader, other), together)

    def _never(self, leader: Node, nodes: Sequence[Node]) -> Refusal | None:
        """What no target's judgement changes."""
        if leader.regions or effect_of(leader) != "pure":
            return Refusal("no-group", f"{leader.op} takes no part in groups")
        if not all(isinstance(v.type, TensorType) for n in nodes for v in n.outputs):
            return Refusal("no-tensor", "groups compute tensors alone")
        return None

    def _refusal(self, leader: Node, node: Node) -> Refusal | None:
        nodes = self.members[leader]
        never = self._never(leader, (*nodes, node))
        if never is not None:
            return never
        if len(nodes) >= MEMBERS:
            return Refusal("too-large", f"the group has {MEMBERS} nodes")
        if any(map(self._defined, nodes)) or self._defined(node) & set(_sizes_of_results(node)):
            return Refusal("defines-size", "a size that the data decide must be bound before a kernel can take it")
        judged = self.owner.backend.may_join(Group(tuple(nodes)), node)
        if not judged:
            return judged if isinstance(judged, Refusal) else Refusal("refused", "the target does not fuse these")
        if self._feed_themselves((leader,), (node,)):
            return Refusal("cycle", "a node outside the group stands between them")
        return None

    def _defined(self, node: Node) -> frozenset[Symbol]:
        """The sizes that the node gives a value. One that is its result's content is bound behind its group."""
        if node not in self.defined:
            self.defined[node] = defined_sizes(node)
        return self.defined[node]

    def _feed_themselves(self, leaders: tuple[Node, ...], nodes: Sequence[Node]) -> bool:
        """Whether a path leaves the groups and comes back in one of `nodes`."""
        first = min(self.position[self.members[leader][0]] for leader in leaders)
        stack = [p for node in nodes for p in self.depends.of(node) if self.leader[p] not in leaders]
        seen: set[Node] = set()
        while stack:
            current = self.leader[stack.pop()]
            if current in seen:
                continue
            seen.add(current)
            if len(seen) > SEARCHED:
                return True
            for member in self.members[current]:
                for producer in self.depends.of(member):
                    if self.leader[producer] in leaders:
                        return True
                    if self._latest(producer) >= first:
                        stack.append(producer)
        return False

    def _latest(self, node: Node) -> int:
        """Where the last member of the node's group stands: what ends before a group begins cannot depend on it."""
        return self.position[self.members[self.leader[node]][-1]]

    def _sort(self, groups: list[list[Node]]) -> None:
        """Bring each group's nodes together, in an order in which every value is made before it is read."""
        leads = {id(nodes): nodes for nodes in groups}
        group_of = {node: nodes for nodes in leads.values() for node in nodes}
        done: set[Node] = set()
        order: list[Node] = []
        for start in list(self.block.nodes):
            stack = [start]
            while stack:
                node = stack[-1]
                if node in done:
                    stack.pop()
                    continue
                nodes = group_of.get(node, [node])
                waiting = [
                    p
                    for n in nodes
                    for p in self.depends.of(n)
                    if p not in done and p is not n and group_of.get(p, n) is not nodes
                ]
                if waiting:
                    stack += reversed(waiting)
                    continue
                order += nodes
                done.update(nodes)
                stack.pop()
        if order == list(self.position):
            return
        for node in order:
            self.block.nodes.unlink(node)
            self.block.nodes.append(node)


def _sizes_of_results(node: Node) -> Iterator[Symbol]:
    for value in node.outputs:
        yield from type_symbols(value.type)


def fuse(nodes: list[Node], kind: str = "") -> Node:
    """Make neighbouring nodes one `ge.Fused` node in the place of the last one."""
    block = nodes[-1].block
    assert block is not None
    group = Group(tuple(nodes))
    inputs = [v for v in group.inputs if source_of(v).constant is None]
    outputs = list(group.outputs)
    region = Region(block.graph, block)
    fused = Node("ge.Fused", inputs, {"kind": kind} if kind else {}, nodes[-1].loc)
    inside: dict[Value, Value] = {}
    for value in inputs:
        param = inside[value] = region.add_param(value.name, value.type)
        param.content = value.content
    for value in group.inputs:
        if value not in inside:
            inside[value] = region.capture(value)
    block.nodes.insert_after(nodes[-1], fused)
    own = set(nodes)
    results = []
    for value in outputs:
        result = Value(block.graph.fresh_name(value.name), value.type, fused, block)
        result.content, result.layout = value.content, value.layout
        results.append(result)
    for node in nodes:
        block.nodes.unlink(node)
        region.nodes.append(node)
        for i, operand in enumerate(node.inputs):
            if operand in inside:
                node.set_input(i, inside[operand])
    for value, result in zip(outputs, results, strict=True):
        value.replace_uses(result, lambda use: use.user not in own)
    region.set_outputs(outputs)
    fused.outputs.extend(results)
    fused.add_region("body", region)
    return fused


def ungroup(graph: Graph) -> bool:
    """Expand all groups of a graph in place; whether there were any."""
    groups = [node for node in walk(graph) if node.op == "ge.Fused"]
    for node in groups:
        assert node.block is not None
        values = inline_region(node.regions["body"], node, [v for v in node.inputs if v is not None])
        for old, new in zip(node.outputs, values, strict=True):
            old.replace_uses(new)
        node.block.nodes.remove(node)
    return bool(groups)
