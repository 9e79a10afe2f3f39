"""Chooses one implementation per node: the cheapest under the user's precision, conversions counted.

Nodes are taken in order. For each candidate the cost is its own plus that of bringing every operand from the storage
that its producer chose into the one that the candidate reads; the results' storage follows. Values that cross a
block's border (inputs, outputs, constants, states, params, captures) are stored row-major.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ge_core.backend import ALLOWED, Implementation, Options, PlannedBackend, Precision, Storage, operands
from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph, Node, Region, Value
from ge_core.ir.traverse import blocks
from ge_core.ir.types import Layout, TensorType
from ge_core.plan.lifetimes import CONTROL

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
    """

    backend: PlannedBackend
    target: str
    options: Options
    precision: Precision = "balanced"
    costs: bool = True
    bytes_per_second: float = BYTES_PER_SECOND

    def run(self, graph: Graph) -> Selection:
        """Choose for every node outside groups; what a control node holds is chosen node by node."""
        selection = Selection()
        for block in blocks(graph):
            if isinstance(block, Region) and (block.node is None or block.node.op not in CONTROL):
                continue
            for node in block.nodes:
                if node.op not in CONTROL and node.op != "ge.Relayout":
                    self._choose(node, selection)
        return selection

    def _choose(self, node: Node, selection: Selection) -> None:
        offered = self.backend.implementations(node, self.target, self.options)
        allowed = [i for i in offered if i.precision in ALLOWED[self.precision]]
        if not allowed:
            selection.reasons[node] = (
                f"none of its {len(offered)} implementations keeps precision {self.precision!r}"
                if offered
                else "the target has no kernel for it"
            )
            return
        ranked = sorted(allowed, key=lambda i: self._cost(node, i, selection)) if self.costs else list(allowed)
        best = ranked[0]
        selection.chosen[node] = best
        if len(ranked) > 1:
            selection.rejected[node] = len(ranked) - 1, self._cost(node, ranked[1], selection)
        for index, value in enumerate(node.outputs):
            if not crosses_border(value):
                value.layout = best.output(index).layout

    def _cost(self, node: Node, candidate: Implementation, selection: Selection) -> float:
        moved = sum(
            _bytes(v) for i, v in enumerate(operands(node)) if v is not None and needs_conversion(v, candidate.input(i))
        )
        moved += sum(
            _bytes(v) for i, v in enumerate(node.outputs) if crosses_border(v) and not plain(candidate.output(i))
        )
        return candidate.cost + 2 * moved / self.bytes_per_second


def crosses_border(value: Value) -> bool:
    """Whether a value must be row-major: a result of its block, or read by a control node, a region or a state."""
    return any(
        use.kind in ("output", "state", "capture") or (isinstance(use.user, Node) and use.user.op in CONTROL)
        for use in value.uses
    )


def plain(storage: Storage) -> bool:
    """Whether a storage is row-major in the graph's element type."""
    return storage.dtype is None and (storage.layout is None or storage.layout.is_row_major)


def same_layout(a: Layout | None, b: Layout | None) -> bool:
    """Whether two layouts put the elements at the same bytes; None is row-major."""
    if a is None or a.is_row_major:
        return b is None or b.is_row_major
    return a == b


def needs_conversion(value: Value, wanted: Storage) -> bool:
    """Whether a value must be brought into another layout or element type for an operand."""
    other: DType | None = wanted.dtype
    if not isinstance(value.type, TensorType):
        return False
    return not same_layout(value.layout, wanted.layout) or (other is not None and other != value.type.dtype)


def _bytes(value: Value) -> float:
    """Bytes of a value, its least size where it is not known."""
    if not isinstance(value.type, TensorType) or value.type.shape is None:
        return 0.0
    size = value.type.nbytes()
    return float(size if isinstance(size, int) else dims.bounds(size)[0] or 0)


def implementations_of(selection: Selection, nodes: Sequence[Node]) -> list[Implementation | None]:
    """The chosen implementations of some nodes."""
    return [selection.chosen.get(node) for node in nodes]
