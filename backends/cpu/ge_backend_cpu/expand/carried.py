"""Operators that move or choose elements, on the bytes of quantised operands.

With q' = quantise(f(dequantise(q))), one scale and one zero point for both, and an f that only moves elements or takes
the largest: q' = f(q), since round(fl(fl(s n) / s)) = n for |n| < 256.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ge_backend_cpu.contract.quantising import SCALES, is_quantising
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Graph, Node, Value, constant_of
from ge_core.ir.traverse import walk
from ge_core.passes.base import Pass, PassContext

CARRYING = frozenset({"MaxPool", "GlobalMaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"})
"""Operators whose result holds nothing but elements of the first operand."""


@dataclass(frozen=True)
class CarryBytes(Pass):
    """Where the switch "fusion" is on; enters regions. Results stay the same."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = False
        for node in list(walk(graph)):
            if "fusion" not in ctx.switches or node.block is None or node.op not in CARRYING:
                continue
            quantisers = _quantisers(node)
            if quantisers and ctx.allow("carried-bytes", node):
                _rewrite(node, quantisers)
                changed = True
        return changed


def _quantisers(node: Node) -> list[Node]:
    """What quantises the node's result again, if that is all that reads it and it may be left out."""
    source = node.inputs[0].producer if node.inputs[0] is not None else None
    if source is None or source.op != "DequantizeLinear" or not is_quantising(source) or len(node.outputs) > 1:
        return []
    found = []
    for use in node.output.uses:
        reader = use.user
        if not isinstance(reader, Node) or reader.op != "QuantizeLinear" or use.index != 0:
            return []
        if not is_quantising(reader) or not _equal(source, reader):
            return []
        found.append(reader)
    return found


def _equal(source: Node, reader: Node) -> bool:
    """Whether both have one scale and one zero point, which are known."""
    q = source.input(0)
    scales = [constant_of(n.input(1)) for n in (source, reader)]
    if q is None or q.dtype != reader.output.dtype or scales[0] is None or scales[1] is None:
        return False
    first, second = (float(s.array().reshape(())) for s in scales if s is not None)
    if first != second or not SCALES[0] <= first <= SCALES[1]:
        return False
    points = [_point(n) for n in (source, reader)]
    return points[0] is not None and points[0] == points[1]


def _point(node: Node) -> int | None:
    zero = node.input(2)
    known = constant_of(zero)
    if zero is None:
        return 0
    return None if known is None else int(known.array().reshape(()))


def _rewrite(node: Node, quantisers: list[Node]) -> None:
    assert node.block is not None and node.inputs[0] is not None and node.inputs[0].producer is not None
    q = node.inputs[0].producer.input(0)
    b = Builder(node.block, node, node.loc)
    attributes: dict[str, Any] = dict(node.attrs)
    y: Value = b.op(node.op, q, *node.inputs[1:], **attributes)
    for reader in quantisers:
        assert reader.block is not None
        reader.output.replace_uses(y)
        y.name, reader.output.name = reader.output.name, y.name
        reader.block.nodes.remove(reader)
    node.block.nodes.remove(node)
