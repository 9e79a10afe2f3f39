"""An If whose condition is a constant becomes the branch that it takes."""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.ir.graph import Graph, constant_of
from ge_core.ir.traverse import walk
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.inline import inline_region
from ge_core.passes.retype import Retyper


@dataclass(frozen=True)
class InlineConstantBranches(Pass):
    """Enters regions. Results stay the same bit for bit."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        retyper, changed = Retyper(graph), False
        for node in list(walk(graph)):
            if node.op != "If" or node.block is None:
                continue
            constant = constant_of(node.inputs[0])
            condition = None if constant is None else constant.known()
            if condition is None or not ctx.allow("constant-branch", node):
                continue
            taken, other = "then_branch", "else_branch"
            if not bool(condition.reshape(-1)[0]):
                taken, other = other, taken
            # what it reads must not bring the If, which is half empty by now, into the types' refreshment
            node.regions[other].drop()
            results = inline_region(node.regions[taken], node, ())
            for old, new in zip(node.outputs, results, strict=True):
                retyper.replace(old, new, "constant-branch")
            node.block.nodes.remove(node)
            changed = True
        retyper.finish()
        return changed
