"""Activations in uint8: int8 ones are stored with 128 added, which is what products of bytes multiply.

q + 128 = saturate_uint8(round(x / s) + (z + 128)), and s (q - z) = s ((q + 128) - (z + 128))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_backend_cpu.expand.carried import CARRYING
from ge_core.ir.builder import Builder
from ge_core.ir.dtype import int8, uint8
from ge_core.ir.graph import Graph, Node, Value, constant_of
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.passes.base import Pass, PassContext


@dataclass(frozen=True)
class UnsignedActivations(Pass):
    """Where QuantizeLinear makes int8, and only DequantizeLinear reads them or what moves them; enters regions.

    Results stay the same.
    """

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = False
        for node in list(walk(graph)):
            if node.op != "QuantizeLinear" or node.output.dtype != int8 or node.block is None:
                continue
            readers = _readers(node.output)
            fits = "fusion" in ctx.switches and readers and _known(node)
            if fits and ctx.allow("unsigned-activations", node):
                _rewrite([node, *readers])
                changed = True
        return changed


def _readers(value: Value) -> list[Node]:
    """The nodes that read the bytes, those that move them included; none where others do."""
    found: list[Node] = []
    for use in value.uses:
        reader = use.user
        if not isinstance(reader, Node) or use.index != 0 or len(reader.outputs) > 1:
            return []
        found.append(reader)
        if reader.op in CARRYING:
            further = _readers(reader.output)
            if not further:
                return []
            found += further
        elif reader.op != "DequantizeLinear" or not _known(reader):
            return []
    return found


def _known(node: Node) -> bool:
    """Whether the zero point is a constant, or 0 for a scale of known shape."""
    scale = node.inputs[1]
    if node.input(2) is None:
        return scale is not None and all(isinstance(n, int) for n in scale.shape)
    return constant_of(node.input(2)) is not None


def _rewrite(nodes: Sequence[Node]) -> None:
    for node in nodes:
        assert node.block is not None
        if node.op != "DequantizeLinear":
            node.output.type = TensorType(uint8, node.output.tensor.shape)
        if node.op in CARRYING:
            continue
        if node.op == "QuantizeLinear":
            node.attrs.pop("output_dtype", None)
        scale, point = node.inputs[1], constant_of(node.input(2))
        assert scale is not None
        shape = [n for n in scale.shape if isinstance(n, int)]
        known = np.zeros(shape, np.int16) if point is None else point.array().astype(np.int16)
        value = Builder(node.block, node, node.loc).constant((known + 128).astype(np.uint8), uint8)
        if len(node.inputs) > 2:
            node.set_input(2, value)
        else:
            node.append_input(value)
