"""Rewrite rules and their driver.

A rule is a pattern and a function that checks the match and builds the replacement:

    @rule(Node("Transpose", Node("Transpose", X, name="inner")))
    def double_transpose(m: Match, b: Builder) -> Value:
        m.require(..., "reason")
        return b.Transpose(m["x"], perm=...)

The driver keeps a worklist: a rewrite puts the new nodes, their readers and the producers of the old inputs back
on it, so that the whole is linear in practice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from ge_core.errors import GeError, PassError, UnknownRankError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Symbol
from ge_core.ir.graph import Block, Graph, Node, Region, Value
from ge_core.ir.traverse import effect_of, type_symbols, walk
from ge_core.ir.types import TensorType, Type
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.locations import merged
from ge_core.passes.matching import Match, NoMatch, NotApplicable, Trial
from ge_core.passes.matching import Node as NodePattern
from ge_core.passes.retype import Retyper

Replacement: TypeAlias = Value | Sequence[Value]
Action = Callable[[Match, Builder], Replacement]

# readers that are put back on the worklist for one changed value; a value read more widely waits for the next run
_MAX_READERS = 64


@dataclass(frozen=True)
class Rule:
    """One rewrite.

    Attributes:
        name: in reports.
        pattern: at the root node.
        action: checks the match and returns the values that replace the root's outputs; it raises NoMatch, before
            or after building, to decline.
        single_use: whether the matched nodes below the root must not be read from outside the match; the names
            in `shared` may be.
        explain: whether near misses belong in the report: a composite that somebody expects to be found.
    """

    name: str
    pattern: NodePattern
    action: Action
    single_use: bool = False
    shared: tuple[str, ...] = ()
    explain: bool = False


def rule(
    pattern: NodePattern, *, single_use: bool = False, shared: Sequence[str] = (), name: str = "", explain: bool = False
) -> Callable[[Action], Rule]:
    """Decorator that makes a Rule of an action."""

    def make(action: Action) -> Rule:
        label = name or action.__name__.replace("_", "-")
        return Rule(label, pattern, action, single_use, tuple(shared), explain)

    return make


@dataclass(frozen=True)
class RewritePass(Pass):
    """A pass that applies rules until none matches. Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules, tried in order at each node."""
        raise NotImplementedError

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        return Rewriter(graph, self.rules, ctx).run()


def apply(graph: Graph, rules: Sequence[Rule], ctx: PassContext) -> bool:
    """Apply rules to a graph until none matches; whether anything changed."""
    return Rewriter(graph, rules, ctx).run()


class Rewriter:
    """The worklist of one run."""

    def __init__(self, graph: Graph, rules: Sequence[Rule], ctx: PassContext) -> None:
        self.graph, self.ctx = graph, ctx
        self.by_op: dict[str, list[Rule]] = {}
        for r in rules:
            for op in r.pattern.ops:
                self.by_op.setdefault(op, []).append(r)
        self.queue: deque[Node] = deque()
        self.queued: set[Node] = set()
        self.retyper = Retyper(graph, self.push)

    def push(self, node: Node) -> None:
        if node not in self.queued and node.op in self.by_op:
            self.queued.add(node)
            self.queue.append(node)

    def run(self) -> bool:
        """Whether anything changed."""
        count = 0
        for node in walk(self.graph):
            count += 1
            self.push(node)
        done, budget = 0, self.ctx.limits.rewrites_per_node * (count + 25)
        while self.queue and not self.ctx.exhausted:
            node = self.queue.popleft()
            self.queued.discard(node)
            if node.block is None or not any(v.has_uses for v in node.outputs):
                continue
            if self._try(node):
                done += 1
                if done > budget:
                    names = sorted({r.rule for r in self.ctx.report.trail[-50:]})
                    self.ctx.unsettled(f"{done} rewrites of {count} nodes do not end; last: {', '.join(names)}")
                    break
        self.retyper.finish()
        return done > 0

    def _try(self, node: Node) -> bool:
        for r in self.by_op[node.op]:
            m = self._match(r, node)
            if m is not None and self._rewrite(r, m):
                return True
        return False

    def _match(self, r: Rule, node: Node) -> Match | None:
        m, trial = Match(node, given=self.retyper.inputs), Trial(node)
        for _ in r.pattern.match_node(node, m, trial):
            if not r.single_use:
                return m
            outside = m.shared_inside(r.shared)
            if outside is None:
                return m
            trial.fail(m, f"{outside!r} is read outside the match too", outside)
        if r.explain and trial.depth >= max(2, -(-r.pattern.size * 2 // 3)):
            self.ctx.miss(r.name, trial.node, trial.reason)
        return None

    def _rewrite(self, r: Rule, m: Match) -> bool:
        root = m.root
        block = root.block
        assert block is not None
        before, constants = root.prev, len(self.graph.constants)
        b = Builder(block, root, merged(root.loc, (n.loc for n in m.matched)))
        try:
            result = r.action(m, b)
            new = [result] if isinstance(result, Value) else list(result)
            if len(new) != len(root.outputs):
                raise PassError(f"rule {r.name} gave {len(new)} values for {root!r}", where=root.loc)
            for old, value in zip(root.outputs, new, strict=True):
                if old.has_uses and _loses(old.type, value.type):
                    raise NoMatch(f"%{old.name} is {old.type}, the replacement only {value.type}")
        except (NoMatch, UnknownRankError) as e:
            self._discard(block, before, root, constants)
            if r.explain and isinstance(e, NoMatch) and not isinstance(e, NotApplicable):
                self.ctx.miss(r.name, e.node or root, e.reason)
            return False
        except GeError as e:
            raise PassError(f"rule {r.name} failed at {root!r}: {e.what}", where=root.loc, details=e.details) from e
        self.ctx.allow(r.name, root)
        self._replace(r.name, root, new, before, self._constants_after(constants))
        return True

    def _replace(
        self, name: str, root: Node, new: Sequence[Value], before: Node | None, constants: Sequence[Value]
    ) -> None:
        producers = [v.producer for v in root.inputs if v is not None and v.producer is not None]
        made = list(between(before, root))
        for node in made:
            self.push(node)
            producers.extend(v.producer for v in node.inputs if v is not None and v.producer is not None)
        for old, value in zip(root.outputs, new, strict=True):
            if value is old:
                raise PassError(f"rule {name} replaces %{old.name} by itself", where=root.loc)
            self.retyper.replace(old, value, name, made=value.producer in made or value in constants)
            self._push_readers(value)
        assert root.block is not None
        erase(root, self._gone)
        for producer in producers:
            if producer.block is not None:
                self.push(producer)

    def _push_readers(self, value: Value) -> None:
        """The readers of a value and their readers, as far as they are few."""
        level = [value]
        for _ in range(3):
            following: list[Value] = []
            for v in level:
                if v.use_count > _MAX_READERS:
                    continue
                for use in v.uses:
                    if isinstance(use.user, Node):
                        self.push(use.user)
                        following.extend(use.user.outputs)
                    elif isinstance(use.user, Region) and use.kind == "capture":
                        following.append(use.user.captures[use.index].param)
            level = following[:_MAX_READERS]

    def _gone(self, producer: Node) -> None:
        """A reader of this node's output is gone."""
        self.push(producer)

    def _discard(self, block: Block, before: Node | None, root: Node, constants: int) -> None:
        """Take back what a declining rule built."""
        built = list(between(before, root))
        if not built and len(self.graph.constants) == constants:
            return
        for node in reversed(built):
            block.nodes.remove(node)
        if isinstance(block, Region):
            block.remove_unused_captures()
        for value in self._constants_after(constants):
            self.graph.remove_constant(value)

    def _constants_after(self, count: int) -> list[Value]:
        """The constants that were made since the graph had `count` of them."""
        return list(islice(reversed(self.graph.constants), len(self.graph.constants) - count))


def between(before: Node | None, root: Node) -> Iterator[Node]:
    """The nodes that stand after `before` (None: from the first) and in front of `root`."""
    assert root.block is not None
    node = root.block.nodes.first if before is None else before.next
    while node is not None and node is not root:
        following = node.next
        yield node
        node = following


def erase(node: Node, gone: Callable[[Node], None] | None = None) -> None:
    """Remove a node without uses, and every pure node that only it kept alive.

    Args:
        node: its outputs have no uses.
        gone: called with each producer that lost a reader and stays.
    """
    stack = [node]
    while stack:
        dead = stack.pop()
        if dead.block is None:
            continue
        inputs = [v for v in dead.inputs if v is not None]
        inputs += [c.outer for region in dead.regions.values() for c in region.captures]
        dead.block.nodes.remove(dead)
        for v in inputs:
            producer = v.producer
            if producer is None or producer.block is None:
                continue
            if any(o.has_uses for o in producer.outputs):
                if gone is not None:
                    gone(producer)
            elif is_removable(producer):
                stack.append(producer)


def rebuilt(b: Builder, node: Node, inputs: Sequence[Value | None] | None = None, **attrs: Any) -> Any:
    """The same operator with other inputs or attributes; a node without regions. An attribute None is left out."""
    return b.op(
        node.op,
        *(node.inputs if inputs is None else inputs),
        num_outputs=len(node.outputs),
        names=[v.name for v in node.outputs],
        **{**node.attrs, **attrs},
    )


def is_removable(node: Node) -> bool:
    """Whether a node without uses may go: pure or random, and it defines no data-dependent size."""
    return effect_of(node) in ("pure", "random") and not defined_sizes(node)


def defined_sizes(node: Node) -> frozenset[Symbol]:
    """The symbols in the outputs' types and contents that no input mentions: the node binds them when it runs."""
    if node.op == "ge.Dims":
        return frozenset()
    made = {s for v in node.outputs for s in _mentioned(v)}
    if not made:
        return frozenset()
    return frozenset(made.difference(*(_mentioned(v) for v in node.inputs if v is not None)))


def _mentioned(value: Value) -> Iterator[Symbol]:
    yield from type_symbols(value.type)
    for size in value.content or ():
        yield from dims.symbols(size)


def _loses(old: Type, new: Type) -> bool:
    """Whether a size or rank that `old` knows is unknown in `new`."""
    if not isinstance(old, TensorType) or not isinstance(new, TensorType) or old.shape is None:
        return False
    if new.shape is None:
        return True
    return any(isinstance(a, int) and not isinstance(b, int) for a, b in zip(old.shape, new.shape, strict=False))
