"""Computes nodes whose inputs are all constants, by the reference kernels.

A result may not be much larger than what it is computed from (Tile, Expand, ConstantOfShape of a large size stay),
and a node that fails stays, so that the error comes when and if it is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ge_core.errors import GeError
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Graph, Node, constant_of
from ge_core.ir.traverse import effect_of, walk
from ge_core.ir.types import TensorType
from ge_core.ops.registry import KERNELS
from ge_core.passes.base import Limits, Pass, PassContext
from ge_core.passes.cse import visible
from ge_core.passes.retype import Retyper
from ge_core.passes.rewrite import erase
from ge_core.reference.call import compute


@dataclass(frozen=True)
class ConstantFolding(Pass):
    """Enters regions. Results are those of the reference kernels bit for bit."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        retyper = Retyper(graph)
        changed = False
        for node in walk(graph):
            if node.block is None or not _foldable(node, ctx.limits):
                continue
            arrays = _evaluated(node, ctx.limits)
            if arrays is None or not ctx.allow("fold", node):
                continue
            for old, array in zip(node.outputs, arrays, strict=True):
                if old.has_uses:
                    constant = graph.add_constant(Constant.of(array, old.dtype), old.name)
                    new = visible(constant, node.block)
                    retyper.replace(old, new, "fold", made=new is constant)
            erase(node)
            changed = True
        retyper.finish()
        return changed


def _foldable(node: Node, limits: Limits) -> bool:
    """Whether a node is pure, has constant inputs only, and its result is known to be small enough."""
    if node.regions or not node.outputs or not any(v.has_uses for v in node.outputs):
        return False
    if node.op == "ge.Dims" or effect_of(node) != "pure" or KERNELS.get(node.op) is None:
        return False
    sources = [constant_of(v) for v in node.inputs if v is not None]
    if any(c is None for c in sources):
        return False
    if not all(isinstance(v.type, TensorType) for v in node.outputs):
        return False
    given = sum(c.nbytes for c in sources if c is not None)
    if sum(c.array().size for c in sources if c is not None) > limits.fold_work:
        return False
    if not all(v.tensor.is_static for v in node.outputs):
        return given <= limits.fold_growth
    return sum(_bytes(v.tensor) for v in node.outputs) <= given + limits.fold_growth


def _bytes(t: TensorType) -> int:
    n = t.nbytes()
    assert isinstance(n, int)
    return n


def _evaluated(node: Node, limits: Limits) -> list[np.ndarray] | None:
    """The results of a node on its constants; None when it fails or they grew beyond the limit."""
    inputs: list[Any] = []
    for v in node.inputs:
        c = constant_of(v)
        inputs.append(None if c is None else c.array())
    try:
        results = compute(node, inputs, {})
    except GeError:
        return None
    given = sum(a.nbytes for a in inputs if a is not None)
    if sum(r.nbytes for r in results) > given + limits.fold_growth and not all(
        v.tensor.is_static for v in node.outputs
    ):
        return None
    return results
