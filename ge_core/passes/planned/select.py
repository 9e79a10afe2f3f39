"""Chooses one implementation per node: the least sum for the whole graph under the user's precision.

The sum counts every implementation and every conversion between the storage in which a value is written and the one
in which it is read. It is found exactly on trees and series-parallel parts (`pbqp`); a conversion that several
consumers share is counted for each there, and once in a last round that improves one node after the other. Values
that cross a block's border (inputs, outputs, states, params, captures) are row-major there; constants are stored as
each reader wants them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ge_core.backend import (
    ALLOWED,
    ROW_MAJOR,
    Implementation,
    Measures,
    Options,
    PlannedBackend,
    Precision,
    Storage,
    operands,
)
from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Block, Graph, Node, Region, Use, Value, source_of
from ge_core.ir.traverse import blocks
from ge_core.ir.types import Layout, TensorType
from ge_core.passes.planned.pbqp import Choice
from ge_core.plan.lifetimes import CONTROL

_ROUNDS = 4
"""Rounds of improvement at most."""
BYTES_PER_SECOND = 1e10
"""What a conversion is taken to move; backends say their own in the figure `bytes_per_second`."""


@dataclass(eq=False)
class Selection:
    """What was chosen.

    Attributes:
        chosen: node to implementation.
        rejected: how many candidates lost, and the cost of the next best, per node.
        reasons: why a node is a host step.
    """

    chosen: dict[Node, Implementation] = field(default_factory=dict)
    rejected: dict[Node, tuple[int, float]] = field(default_factory=dict)
    reasons: dict[Node, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Selector:
    """Selection for one target.

    Attributes:
        costs: False takes each node's first implementation (the switch "select" is off).
        measure: let the backend time what it offers, if it can, instead of estimating.
    """

    backend: PlannedBackend
    target: str
    options: Options
    precision: Precision = "balanced"
    costs: bool = True
    bytes_per_second: float = BYTES_PER_SECOND
    measure: bool = False

    def run(self, graph: Graph) -> Selection:
        """Choose for every node outside groups; what a control node holds is chosen block by block."""
        selection = Selection()
        for block in blocks(graph):
            if isinstance(block, Region) and (block.node is None or block.node.op not in CONTROL):
                continue
            _BlockSelection(self, selection).run(block)
        return selection

    def candidates(self, node: Node, selection: Selection) -> list[Implementation]:
        """What the target offers under the precision."""
        offered = self.backend.implementations(node, self.target, self.options)
        allowed = [i for i in offered if i.precision in ALLOWED[self.precision]]
        if not allowed:
            selection.reasons[node] = (
                f"none of its {len(offered)} implementations keeps precision {self.precision!r}"
                if offered
                else "the target has no kernel for it"
            )
        if not self.costs:
            return allowed[:1]
        if self.measure and len(allowed) > 1 and isinstance(self.backend, Measures):
            return list(self.backend.measured(node, allowed, self.target, self.options))
        return allowed

    def seconds(self, value: Value) -> float:
        """What a conversion of a value takes: reading and writing all of it."""
        return 2 * _bytes(value) / self.bytes_per_second


class _BlockSelection:
    """The choice for the nodes of one block."""

    def __init__(self, owner: Selector, selection: Selection) -> None:
        self.owner, self.selection = owner, selection
        self.candidates: dict[Node, list[Implementation]] = {}
        self.chosen: dict[Node, int] = {}

    def run(self, block: Block) -> None:
        for node in block.nodes:
            if node.op not in CONTROL and node.op != "ge.Relayout":
                found = self.owner.candidates(node, self.selection)
                if found:
                    self.candidates[node] = found
        self._solve()
        for _ in range(_ROUNDS):
            improved = [node for node in self.candidates if self._shares(node) and self._improve(node)]
            improved += [node for node in self.candidates for v in node.outputs if self._improve_readers(v)]
            if not improved:
                break
        for node, found in self.candidates.items():
            self.selection.chosen[node] = found[self.chosen[node]]
            self._note_rejected(node, found)
            for index, value in enumerate(node.outputs):
                if not crosses_border(value):
                    value.layout = self.selection.chosen[node].output(index).layout

    def _solve(self) -> None:
        """The least sum, conversions counted for each consumer."""
        problem = Choice()
        number = {node: problem.add_node([i.cost for i in found]) for node, found in self.candidates.items()}
        for node, found in self.candidates.items():
            problem.add_cost(number[node], [self._border_cost(node, i) for i in found])
            for index, value in enumerate(operands(node)):
                if value is None or _is_constant(value):
                    continue
                seconds, producer = self.owner.seconds(value), value.producer
                if producer not in number or producer is node:
                    problem.add_cost(
                        number[node], [seconds * needs_conversion(value, i.input(index), value.layout) for i in found]
                    )
                    continue
                written = self._written(value)
                costs = [[seconds * needs_conversion(value, i.input(index), w) for i in found] for w in written]
                problem.add_edge(number[producer], number[node], np.array(costs))
        self.chosen = dict(zip(self.candidates, problem.solve(), strict=True))

    def _written(self, value: Value) -> list[Layout | None]:
        """The layouts in which the candidates of a value's producer write it."""
        assert value.producer is not None
        place = value.producer.outputs.index(value)
        return [i.output(place).layout for i in self.candidates[value.producer]]

    def _border_cost(self, node: Node, candidate: Implementation) -> float:
        """Bringing results that leave the block, or that a host step reads, into row-major order."""
        return sum(
            self.owner.seconds(v)
            for i, v in enumerate(node.outputs)
            if not plain(candidate.output(i)) and (crosses_border(v) or self._read_by_host(v))
        )

    def _read_by_host(self, value: Value) -> bool:
        return any(
            isinstance(u.user, Node) and u.user not in self.candidates and not _is_relayout(u) for u in value.uses
        )

    def _shares(self, node: Node) -> bool:
        """Whether one of its operands or results has several readers, so that conversions may be shared."""
        if len(self.candidates[node]) == 1:
            return False
        values = [v for v in operands(node) if v is not None and not _is_constant(v)]
        return any(len(v.uses) > 1 for v in (*values, *node.outputs))

    def _improve(self, node: Node) -> bool:
        """Take the alternative with the least true cost, the others' choices as they are."""
        before = self.chosen[node]
        costs = self._true_costs(node)
        self.chosen[node] = min(range(len(costs)), key=lambda k: (costs[k], k != before))
        return self.chosen[node] != before

    def _improve_readers(self, value: Value) -> bool:
        """Let all readers of a value take the alternatives that agree on one storage, if they pay for it together."""
        readers = list(dict.fromkeys(u.user for u in value.uses if u.user in self.candidates))
        nodes = [node for node in readers if isinstance(node, Node) and len(self.candidates[node]) > 1]
        if len(nodes) < 2:
            return False
        before = {node: self.chosen[node] for node in nodes}
        least, best = self._cost_of(nodes), before
        for layout in self._wanted(value, nodes):
            for node in nodes:
                self.chosen[node] = before[node]
                costs = self._true_costs(node, settled={value: layout})
                self.chosen[node] = costs.index(min(costs))
            cost = self._cost_of(nodes)
            if cost < least - 1e-12:
                least, best = cost, {node: self.chosen[node] for node in nodes}
            self.chosen.update(before)
        self.chosen.update(best)
        return best != before

    def _wanted(self, value: Value, nodes: Sequence[Node]) -> list[Layout | None]:
        """The layouts in which alternatives of some nodes read a value."""
        found: dict[Layout | None, None] = {}
        for node in nodes:
            for index in (i for i, v in enumerate(operands(node)) if v is value):
                found.update((c.input(index).layout, None) for c in self.candidates[node])
        return list(found)

    def _cost_of(self, nodes: Sequence[Node]) -> float:
        """What some nodes and the conversions around them cost."""
        around = dict.fromkeys(v for node in nodes for v in _values(node))
        return sum(self.candidates[n][self.chosen[n]].cost for n in nodes) + sum(map(self._conversions, around))

    def _true_costs(self, node: Node, settled: Mapping[Value, Layout | None] | None = None) -> list[float]:
        """What each alternative of a node costs with the conversions around it, the others' choices as they are.

        Args:
            settled: values of which a conversion into a layout is there already.
        """
        settled = settled or {}
        before, costs = self.chosen[node], []
        around = [v for v in _values(node) if v not in settled]
        for k, candidate in enumerate(self.candidates[node]):
            self.chosen[node] = k
            cost = candidate.cost + sum(map(self._conversions, around))
            for index, value in enumerate(operands(node)):
                if value is None or value not in settled:
                    continue
                if needs_conversion(value, candidate.input(index), settled[value]):
                    cost += self.owner.seconds(value)
            costs.append(cost)
        self.chosen[node] = before
        return costs

    def _conversions(self, value: Value) -> float:
        """What all conversions of a value cost: one per distinct storage that somebody reads."""
        stored = value.layout
        if value.producer in self.candidates:
            assert value.producer is not None
            stored = self._written(value)[self.chosen[value.producer]]
        wanted: set[tuple[Layout | None, str]] = set()
        for use in value.uses:
            if _is_relayout(use):
                continue
            if not isinstance(use.user, Node) or use.user not in self.candidates:
                storage = ROW_MAJOR
            else:
                storage = self.candidates[use.user][self.chosen[use.user]].input(use.index)
            if needs_conversion(value, storage, stored):
                layout = None if storage.layout is None or storage.layout.is_row_major else storage.layout
                wanted.add((layout, "" if storage.dtype is None else storage.dtype.name))
        return len(wanted) * self.owner.seconds(value)

    def _note_rejected(self, node: Node, found: list[Implementation]) -> None:
        if len(found) > 1:
            costs = self._true_costs(node)
            del costs[self.chosen[node]]
            self.selection.rejected[node] = len(costs), min(costs)


def _values(node: Node) -> list[Value]:
    """Operands and results, each once, without constants."""
    return list(dict.fromkeys(v for v in (*operands(node), *node.outputs) if v is not None and not _is_constant(v)))


def _is_relayout(use: Use) -> bool:
    return isinstance(use.user, Node) and use.user.op == "ge.Relayout"


def _is_constant(value: Value) -> bool:
    return source_of(value).constant is not None


def crosses_border(value: Value) -> bool:
    """Whether a value must be row-major: a result of its block, or read by a control node, a region or a state."""
    return any(map(is_border, value.uses))


def is_border(use: Use) -> bool:
    """Whether a use reads a value row-major whatever is selected."""
    return use.kind in ("output", "state", "capture") or (isinstance(use.user, Node) and use.user.op in CONTROL)


def plain(storage: Storage) -> bool:
    """Whether a storage is row-major in the graph's element type."""
    return storage.dtype is None and (storage.layout is None or storage.layout.is_row_major)


def same_layout(a: Layout | None, b: Layout | None) -> bool:
    """Whether two layouts put the elements at the same bytes; None is row-major."""
    if a is None or a.is_row_major:
        return b is None or b.is_row_major
    return a == b


def needs_conversion(value: Value, wanted: Storage, stored: Layout | None) -> bool:
    """Whether a value stored in some layout must be brought into another layout or element type for an operand."""
    other: DType | None = wanted.dtype
    if not isinstance(value.type, TensorType):
        return False
    return not same_layout(stored, wanted.layout) or (other is not None and other != value.type.dtype)


def _bytes(value: Value) -> float:
    """Bytes of a value, its least size where it is not known."""
    if not isinstance(value.type, TensorType) or value.type.shape is None:
        return 0.0
    size = value.type.nbytes()
    return float(size if isinstance(size, int) else dims.bounds(size)[0] or 0)
