"""Removes what nothing reads: nodes, unused results of If, Loop and Scan, captures, states and constants.

A dead node stays when it has an effect beyond its outputs (ge.Check), or when it binds a data-dependent size that
something alive mentions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ge_core.ir import dims
from ge_core.ir.dims import Dim, Symbol
from ge_core.ir.graph import Attr, Block, Graph, Node, Region, Use, Value
from ge_core.ir.traverse import effect_of, type_symbols
from ge_core.ops.control import scan_counts
from ge_core.ops.schema import schema
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.retype import input_symbols
from ge_core.passes.rewrite import defined_sizes


@dataclass(frozen=True)
class DeadCode(Pass):
    """Enters regions. Results stay the same bit for bit."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        sweep = _Sweep(graph, ctx)
        changed = sweep.block(graph)
        changed |= _states(graph, ctx)
        dead = [v for v in graph.constants if not v.has_uses]
        if dead and ctx.allow("dead-constants"):
            for value in dead:
                graph.remove_constant(value)
            changed = True
        return changed


def _states(graph: Graph, ctx: PassContext) -> bool:
    """Drop states that nothing reads and that never change."""
    unused = [s for s in graph.states if not s.read.has_uses and s.write is None]
    if not unused or not ctx.allow("dead-states"):
        return False
    for state in unused:
        graph.remove_state(state)
    return True


class _Sweep:
    def __init__(self, graph: Graph, ctx: PassContext) -> None:
        self.ctx = ctx
        self.given = input_symbols(graph)
        self.needed: set[Symbol] = set()

    def block(self, block: Block) -> bool:
        """Sweep from the last node to the first, so that readers go before what they read."""
        changed = False
        for node in reversed(block.nodes):
            changed |= self.node(node)
        if isinstance(block, Region):
            changed |= block.remove_unused_captures()
        return changed

    def node(self, node: Node) -> bool:
        if not any(v.has_uses for v in node.outputs) and self.removable(node):
            if not self.ctx.allow("dead-node", node):
                return False
            assert node.block is not None
            node.block.nodes.remove(node)
            return True
        changed = self.results(node)
        self.need(node)
        for region in node.regions.values():
            changed |= self.block(region)
        return changed

    def removable(self, node: Node) -> bool:
        return effect_of(node) in ("pure", "random") and not (defined_sizes(node) & self.needed)

    def need(self, node: Node) -> None:
        """Note the data-dependent sizes that a live node mentions."""
        sizes = [s for v in node.outputs for s in type_symbols(v.type)]
        for attr in node.attrs.values():
            for a in attr if isinstance(attr, tuple) else (attr,):
                if isinstance(a, Dim):
                    sizes.extend(dims.symbols(a))
        self.needed.update(s for s in sizes if s not in self.given)

    def results(self, node: Node) -> bool:
        """Drop unused outputs where the operator allows it."""
        if node.op == "If":
            return self.drop_each(node, len(node.outputs), self.drop_if)
        if node.op in ("Loop", "Scan"):
            return self.drop_each(node, len(node.outputs), self.drop_loop)
        declared = schema(node.op)
        changed = False
        while (
            len(node.outputs) > max(1, declared.min_outputs)
            and declared.max_outputs is not None
            and not node.outputs[-1].has_uses
            and self.ctx.allow("unused-output", node)
        ):
            node.outputs.pop()
            changed = True
        return changed

    def drop_each(self, node: Node, count: int, drop: object) -> bool:
        changed = False
        for index in reversed(range(count)):
            # the last output of a node stays: something else keeps the node
            if len(node.outputs) > 1 and not node.outputs[index].has_uses:
                assert callable(drop)
                changed |= bool(drop(node, index))
        return changed

    def drop_if(self, node: Node, index: int) -> bool:
        if not self.ctx.allow("unused-branch-output", node):
            return False
        for region in node.regions.values():
            _drop_output(region, index)
        del node.outputs[index]
        return True

    def drop_loop(self, node: Node, index: int) -> bool:
        body = node.regions["body"]
        # a Loop's inputs and params begin with trip count and condition, its body's outputs with the condition
        first, result = (2, 1) if node.op == "Loop" else (0, 0)
        carried = len(node.inputs) - 2 if node.op == "Loop" else scan_counts(node)[0]
        if index < carried and not _feeds_only(body.params[first + index], body, result + index):
            return False
        if not self.ctx.allow("unused-loop-output", node):
            return False
        _drop_output(body, result + index)
        if index < carried:
            # what computed the carried value inside is dead now and takes the param's uses with it
            for inner in reversed(body.nodes):
                if not any(v.has_uses for v in inner.outputs) and effect_of(inner) in ("pure", "random"):
                    body.nodes.remove(inner)
            body.remove_param(body.params[first + index])
            inputs = list(node.inputs)
            del inputs[first + index]
            node.set_inputs(inputs)
        else:
            for name in ("scan_output_axes", "scan_output_directions"):
                if name in node.attrs:
                    node.attrs[name] = _without(node.attrs[name], index - carried)
        del node.outputs[index]
        return True


def _without(attr: Attr, index: int) -> Attr:
    assert isinstance(attr, tuple)
    return cast(Attr, (*attr[:index], *attr[index + 1 :]))


def _drop_output(region: Region, index: int) -> None:
    kept = list(region.outputs)
    del kept[index]
    region.set_outputs(kept)


def _feeds_only(param: Value, body: Region, output: int) -> bool:
    """Whether everything computed from `param` ends in body output `output` alone, through pure plain nodes."""
    stack, seen = [param], {param}
    while stack:
        for use in stack.pop().uses:
            if not _harmless(use, body, output):
                return False
            if isinstance(use.user, Node):
                for v in use.user.outputs:
                    if v not in seen:
                        seen.add(v)
                        stack.append(v)
    return True


def _harmless(use: Use, body: Region, output: int) -> bool:
    if use.kind == "output":
        return use.user is body and use.index == output
    return isinstance(use.user, Node) and not use.user.regions and effect_of(use.user) in ("pure", "random")
