"""When each value's bytes must be kept: steps are numbered in one line through all regions.

The branches of an If follow each other in time, so that they may share bytes although only one of them runs. A loop
body stands once in the line; what its rounds share (captured values, carried params) lives from before the first
round to after the last. Spans are half open and list only the times at which the bytes matter: the param of a loop
may die in the middle of the body and be born again where the result is copied into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ge_core.ir.graph import Block, Graph, Node, Region, Value, constant_of
from ge_core.plan.handed import squeezes_output

Span: TypeAlias = tuple[int, int]

CONTROL = frozenset({"If", "Loop", "Scan"})
"""Operators whose regions become nested steps; regions of all others are their kernels' business."""


@dataclass
class Lifetimes:
    """Times of a graph in its present order.

    Attributes:
        time: step of each leaf node; of a control node the step before its regions (branch taken, first copies).
        leave: of a control node: the step after its regions.
        opening, closing: of a region: the step that writes its params, and the one that takes its results.
        spans: when the bytes of a value hold something that is read later; sorted, not overlapping.
        end: the step after the last node, in which states are written and outputs handed out.
    """

    time: dict[Node, int] = field(default_factory=dict)
    leave: dict[Node, int] = field(default_factory=dict)
    opening: dict[Region, int] = field(default_factory=dict)
    closing: dict[Region, int] = field(default_factory=dict)
    spans: dict[Value, tuple[Span, ...]] = field(default_factory=dict)
    end: int = 0

    def last(self, node: Node) -> int:
        """The last step that belongs to a node, regions included."""
        return self.leave.get(node, self.time[node])

    def closes(self, block: Block) -> int:
        """The step in which a block's outputs are taken."""
        return self.closing[block] if isinstance(block, Region) else self.end


def lifetimes(graph: Graph) -> Lifetimes:
    """Number the steps of a graph and find the spans of all its values."""
    lives = Lifetimes()
    lives.end = _number(graph, lives, 0)
    for value in (*graph.inputs, *graph.constants, *(s.read for s in graph.states)):
        lives.spans[value] = ((0, _last_use(value, lives, 0) + 1),)
    _block_spans(graph, lives)
    return lives


def _number(block: Block, lives: Lifetimes, now: int) -> int:
    for node in block.nodes:
        lives.time[node] = now
        now += 1
        if node.op in CONTROL:
            for region in node.regions.values():
                lives.opening[region] = now
                now = _number(region, lives, now + 1)
                lives.closing[region] = now
                now += 1
            lives.leave[node] = now
            now += 1
    return now


def _use_times(value: Value, lives: Lifetimes) -> Iterator[int]:
    for use in value.uses:
        user = use.user
        if use.kind == "input":
            assert isinstance(user, Node)
            scanned = user.op == "Scan" and use.index >= len(user.inputs) - scan_count(user)
            yield lives.leave[user] if scanned else lives.time[user]
            if squeezes_output(user):
                yield lives.end
        elif use.kind == "capture":
            assert isinstance(user, Region) and user.node is not None
            yield lives.time[user.node]
        elif use.kind == "output":
            assert isinstance(user, Block)
            if user in lives.closing or isinstance(user, Graph):
                yield lives.closes(user)
        else:
            yield lives.end


def _last_use(value: Value, lives: Lifetimes, born: int) -> int:
    return max(_use_times(value, lives), default=born)


def _block_spans(block: Block, lives: Lifetimes) -> None:
    for node in block.nodes:
        born = lives.time[node]
        if node.op not in CONTROL:
            for value in node.outputs:
                lives.spans[value] = ((born, _last_use(value, lives, born) + 1),)
            continue
        for region in node.regions.values():
            _region_spans(node, region, lives)
            _block_spans(region, lives)
        leave = lives.leave[node]
        for i, value in enumerate(node.outputs):
            after = (leave, _last_use(value, lives, leave) + 1)
            if node.op == "If":
                taken = [(lives.closing[r], lives.closing[r] + 1) for r in node.regions.values()]
                lives.spans[value] = merged([*taken, after])
            elif i >= carried_count(node) and filled_in_place(node):
                lives.spans[value] = ((born, after[1]),)
            else:
                lives.spans[value] = (after,)


def _region_spans(node: Node, region: Region, lives: Lifetimes) -> None:
    opening, closing, leave = lives.opening[region], lives.closing[region], lives.leave[node]
    loops = node.op != "If"
    for capture in region.captures:
        last = leave if loops else _last_use(capture.param, lives, opening)
        lives.spans[capture.param] = ((lives.time[node], last + 1),)
    first = 2 if node.op == "Loop" else 0
    for i, param in enumerate(region.params):
        last = _last_use(param, lives, opening)
        if first <= i < first + carried_count(node):
            lives.spans[param] = merged([(lives.time[node], last + 1), (closing, leave + 1)])
        else:
            lives.spans[param] = ((opening, last + 1),)


def carried_count(node: Node) -> int:
    """How many values go round a Loop or Scan."""
    if node.op == "Loop":
        return max(len(node.inputs) - 2, 0)
    return len(node.inputs) - scan_count(node)


def scan_count(node: Node) -> int:
    """How many inputs a Scan takes slice by slice."""
    count = node.attrs["num_scan_inputs"]
    assert isinstance(count, int)
    return count


def filled_in_place(node: Node) -> bool:
    """Whether the stacked outputs of a Loop or Scan are written round by round: the rounds are counted before."""
    if node.op == "Scan":
        return True
    return node.input(0) is not None and always_goes_on(node)


def always_goes_on(node: Node) -> bool:
    """Whether a Loop's conditions are all the constant true, so that its trip count alone ends it."""
    body = node.regions["body"]
    first, following = node.input(1), body.outputs[0]
    if first is not None and not _is_true(first):
        return False
    return _is_true(following) or (following is body.params[1] and (first is None or _is_true(first)))


def _is_true(value: Value) -> bool:
    constant = constant_of(value)
    array = None if constant is None else constant.known()
    return array is not None and bool(array.all())


def merged(spans: list[Span]) -> tuple[Span, ...]:
    """Sorted spans without overlaps; those that touch become one."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        elif end > start:
            out.append((start, end))
    return tuple(out)
