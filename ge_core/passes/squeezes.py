"""Moves a Squeeze that names no axes behind pointwise operators.

    f(squeeze(x), scalars) = squeeze(f(x, scalars))

Its result has a number of axes that only the call decides, and what reads such a value runs on the host; the operators
that are moved in front of it do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ge_core.ir.builder import Builder, replace_node
from ge_core.ir.graph import Graph, Node, Value
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.ops.pointwise import POINTWISE
from ge_core.passes.base import Pass, PassContext


@dataclass(frozen=True)
class SinkSqueezes(Pass):
    """Enters regions. Results stay the same bit for bit."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = False
        for node in list(walk(graph)):
            squeezed = _squeezed(node)
            if squeezed is None or not ctx.allow("sink-squeeze", node):
                continue
            assert squeezed.producer is not None and node.block is not None
            whole = squeezed.producer.inputs[0]
            b = Builder(node.block, before=node, loc=node.loc)
            attrs: dict[str, Any] = dict(node.attrs)
            made = b.op(node.op, *(whole if v is squeezed else v for v in node.inputs), **attrs)
            result = b.Squeeze(made)
            result.name, node.output.name = node.output.name, result.name
            replace_node(node, [result])
            changed = True
        return changed


def _squeezed(node: Node) -> Value | None:
    """The one operand of a pointwise node that is no scalar, where a Squeeze without axes makes it."""
    if node.op not in POINTWISE or node.op == "Identity" or len(node.outputs) != 1:
        return None
    others = {v for v in node.inputs if v is not None and not _is_scalar(v)}
    if len(others) != 1:
        return None
    (value,) = others
    producer = value.producer
    if producer is None or producer.op != "Squeeze" or producer.input(1) is not None or value.owner is not node.block:
        return None
    return value if isinstance(value.type, TensorType) and value.type.shape is None else None


def _is_scalar(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.shape == ()
