"""Infers every type again, in order, so that ranks and sizes known by now reach everything."""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.ir.graph import Graph
from ge_core.ir.traverse import walk
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.retype import Retyper


@dataclass(frozen=True)
class InferTypes(Pass):
    """Enters regions; the types of their params stay as they are."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        retyper = Retyper(graph)
        changed = False
        for node in list(walk(graph)):
            changed |= retyper.node(node)
        return retyper.finish() or changed
