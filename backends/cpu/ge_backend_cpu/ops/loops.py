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
from ge_core.backend import Implementation, Options, Storage
from ge_core.ir.graph import Node


@implementation(*rules(), "ge.Fused")
def offer(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """One implementation that stores everything row-major; a conversion of storage keeps what its values have."""
    try:
        if node.op == "ge.Relayout":
            return _relayout(node)
        return [implemented(node, lower(Part.of(node)))]
    except Unsupported:
        return []


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
