"""Expands composites that a backend lacks, by the operators' decompositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from ge_core.errors import PassError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim
from ge_core.ir.graph import Block, Graph, Node, Region, Value
from ge_core.ir.traverse import walk
from ge_core.ops.registry import DECOMPOSITIONS
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.retype import Retyper
from ge_core.passes.rewrite import between, defined_sizes

_DEPTH = 8


@dataclass(frozen=True)
class ExpandComposites(Pass):
    """Replaces every node that `supports` denies and that has a decomposition, again in what comes out.

    Attributes:
        supports: whether the backend takes a node as it is. Nodes that it denies and that have no decomposition
            stay; the backend's `check` reports them.
        rule: the decomposition of an operator, None for those that stay; by default the core's own.

    A node stays, too, whose expansion needs a size that the data decide and that only the node itself finds out.
    Enters regions.
    """

    supports: Callable[[Node], bool]
    rule: Callable[[str], Callable[[Builder, Node], Sequence[Value]] | None] = DECOMPOSITIONS.get

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        retyper, changed = Retyper(graph), False
        work = [(node, 0) for node in walk(graph)]
        while work:
            node, depth = work.pop()
            expand = self.rule(node.op)
            if node.block is None or expand is None or self.supports(node):
                continue
            if depth == _DEPTH:
                raise PassError(f"the decomposition of {node.op} does not end", where=node.loc)
            if not ctx.allow(f"expand-{node.op}", node):
                continue
            before, constants = node.prev, len(graph.constants)
            results = list(expand(Builder(node.block, node, node.loc), node))
            made = list(between(before, node))
            if _undefined(node, made):
                _take_back(graph, node.block, made, constants)
                continue
            work.extend((n, depth + 1) for n in made)
            work.extend((inner, depth + 1) for n in made for r in n.regions.values() for inner in walk(r))
            for old, new in zip(node.outputs, results, strict=True):
                retyper.replace(old, new, f"decomposition of {node.op}", made=new.producer in made)
            node.block.nodes.remove(node)
            changed = True
        retyper.finish()
        return changed


def _undefined(node: Node, made: Sequence[Node]) -> bool:
    """Whether an expansion reads a size that the data decide, and that the node alone finds out when it runs."""
    missing = set(defined_sizes(node))
    for inner in made:
        if missing and inner.op == "ge.Dims":
            exprs = inner.attrs["exprs"]
            assert isinstance(exprs, tuple)
            if any(dims.symbols(e) & missing for e in exprs if isinstance(e, Dim)):
                return True
        missing -= defined_sizes(inner)
    return False


def _take_back(graph: Graph, block: Block, made: Sequence[Node], constants: int) -> None:
    """Remove the nodes of an expansion, and the constants behind the first `constants` ones."""
    for node in reversed(made):
        block.nodes.remove(node)
    if isinstance(block, Region):
        block.remove_unused_captures()
    for value in list(islice(reversed(graph.constants), len(graph.constants) - constants)):
        graph.remove_constant(value)
