"""What expansions compute and nothing reads, such as results that a node does not have, is left out."""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.ir.graph import Graph
from ge_core.passes.base import PassContext
from ge_core.passes.dce import DeadCode


@dataclass(frozen=True)
class LeaveOutUnread(DeadCode):
    """Dead code, where the switch for it is on."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        return "dce" in ctx.switches and super().run(graph, ctx)
