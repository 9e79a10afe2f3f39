"""Operators that are loop nests, and groups of them."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.groups import typical
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import launch_data
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.lower import Lowered, lower
from ge_backend_cpu.loops.part import Part
from ge_backend_cpu.loops.registry import rules
from ge_core.backend import Implementation, Options, Storage, operands
from ge_core.ir.graph import Node, constant_of
from ge_core.ir.types import Layout, TensorType


@implementation(*rules(), "ge.Fused")
def offer(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """One implementation that stores everything row-major, next to convolutions one with the channels last as well;
    a conversion of storage keeps what its values have."""
    try:
        if node.op == "ge.Relayout":
            return _relayout(node)
        found = [implemented(node, lower(Part.of(node)))]
    except Unsupported:
        return []
    rank = node.outputs[0].rank if node.outputs else 0
    if rank >= 3 and all(v.rank == rank for v in node.outputs) and _touches_image(node):
        try:
            found.append(_channels_last(node, rank))
        except Unsupported:
            return found
    return found


_IMAGES = frozenset({
    "Conv", "ConvTranspose", "ConvInteger", "MaxPool", "AveragePool", "ge.AveragePool", "GlobalAveragePool",
})  # fmt: skip
"""Operators whose kernels take images with their channels last."""


def _touches_image(node: Node) -> bool:
    """Whether an operand comes from an operator on images, or a result goes to one."""
    readers = [use.user for v in node.outputs for use in v.uses if isinstance(use.user, Node)]
    makers = [v.producer for v in operands(node) if v is not None and v.producer is not None]
    return any(_on_image(other) for other in (*readers, *makers))


def _on_image(node: Node) -> bool:
    return node.op in _IMAGES or (
        node.op == "ge.Fused" and any(inner.op in _IMAGES for inner in node.regions["body"].nodes)
    )


def _channels_last(node: Node, rank: int) -> Implementation:
    """Every operand of the results' rank that is no constant, and every result, with the channels innermost.

    Raises:
        Unsupported: loop nests cannot compute it so.
    """
    last = Layout((0, *range(2, rank), 1))
    inputs = [
        last if v is not None and constant_of(v) is None and isinstance(v.type, TensorType) and v.rank == rank else None
        for v in operands(node)
    ]
    outputs = [last] * len(node.outputs)
    lowered = lower(Part.of(node), inputs, outputs)
    stored = tuple(Storage(layout) for layout in inputs)
    return implemented(node, lowered, stored, tuple(Storage(layout) for layout in outputs))


def _relayout(node: Node) -> Sequence[Implementation]:
    """A copy between two layouts without a halo."""
    (source,) = node.inputs
    assert source is not None
    layouts = source.layout, node.output.layout
    if any(layout is not None and any(map(any, layout.halo)) for layout in layouts):
        return []
    lowered = lower(Part.of(node), layouts[:1], layouts[1:])
    return [implemented(node, lowered, (Storage(layouts[0]),), (Storage(layouts[1]),))]


def implemented(
    node: Node, lowered: Lowered, inputs: tuple[Storage, ...] = (), outputs: tuple[Storage, ...] = ()
) -> Implementation:
    """What was lowered, as the core takes it."""
    return Implementation(
        name=f"loops.{node.op}",
        inputs=inputs,
        outputs=outputs,
        workspace=lowered.workspace,
        in_place=lowered.in_place,
        cost=typical(lowered.picoseconds) * 1e-12,
        precision="accurate",
        data=launch_data(lowered.launches),
    )
