"""Computes nodes whose inputs are all constants, by the reference kernels.

A result may not be much larger than what it is computed from (Tile, Expand, ConstantOfShape of a large size stay),
and a node that fails stays, so that the error comes when and if it is run.

What is made of large constants in a file, or of absent ones, is computed when it is needed, and only by operators that
cannot fail. Joined ones of absent data stay: that two halves are the same is seen by their Concat alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ge_core.errors import GeError
from ge_core.ir.clone import isolated
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

_CANNOT_FAIL = frozenset(
    {"Cast", "Concat", "Identity", "Neg", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"}
)


_WEIGHTED = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
"""Operators whose quantised weights stay as they are."""


@dataclass(frozen=True)
class ConstantFolding(Pass):
    """Enters regions. Results are those of the reference kernels bit for bit."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        retyper = Retyper(graph)
        changed = False
        for node in walk(graph):
            if node.block is None or not _foldable(node, ctx.limits):
                continue
            results = _results(node, ctx.limits)
            if results is None or not ctx.allow("fold", node):
                continue
            for old, result in zip(node.outputs, results, strict=True):
                if old.has_uses:
                    constant = graph.add_constant(result, old.name)
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
    if any(c is None for c in sources) or _is_quantised_weight(node):
        return False
    if not all(isinstance(v.type, TensorType) for v in node.outputs):
        return False
    given = sum(c.nbytes for c in sources if c is not None)
    if sum(_elements(c.type) for c in sources if c is not None) > limits.fold_work:
        return False
    if not all(v.tensor.is_static for v in node.outputs):
        return given <= limits.fold_growth
    return sum(_bytes(v.tensor) for v in node.outputs) <= given + limits.fold_growth


def _is_quantised_weight(node: Node) -> bool:
    """Whether a node dequantises the weights of a contraction: targets multiply the bytes themselves, however few."""
    if node.op != "DequantizeLinear" or node.inputs[0] is None or node.inputs[0].dtype.bits > 8:
        return False
    return any(isinstance(use.user, Node) and use.user.op in _WEIGHTED for use in node.output.uses)


def _elements(t: TensorType) -> int:
    n = t.elements
    assert isinstance(n, int)
    return n


def _bytes(t: TensorType) -> int:
    n = t.nbytes()
    assert isinstance(n, int)
    return n


def _results(node: Node, limits: Limits) -> list[Constant] | None:
    """The results of a node on its constants; None when it fails or they grew beyond the limit."""
    sources = [c for v in node.inputs if (c := constant_of(v)) is not None]
    if all(c.known() is not None for c in sources):
        arrays = _evaluated(node, limits)
        if arrays is None:
            return None
        return [Constant.of(a, v.dtype) for a, v in zip(arrays, node.outputs, strict=True)]
    if not all(v.tensor.is_static for v in node.outputs) or node.op not in _CANNOT_FAIL:
        return None
    if node.op == "Concat" and any(c.residence == "absent" for c in sources):
        return None
    alone = next(iter(isolated(node).nodes))  # the graph goes on to change
    return [
        Constant.derived(v.tensor, sources, lambda k=k: _computed(alone)[k], sources[0].source)  # type: ignore[misc]
        for k, v in enumerate(node.outputs)
    ]


def _computed(node: Node) -> list[np.ndarray]:
    """The results of a node on its constants.

    Raises:
        GeError: it fails, or a constant is absent.
    """
    inputs: list[Any] = []
    for v in node.inputs:
        c = constant_of(v)
        inputs.append(None if c is None else c.array())
    return compute(node, inputs, {})


def _evaluated(node: Node, limits: Limits) -> list[np.ndarray] | None:
    try:
        results = _computed(node)
    except GeError:
        return None
    given = sum(c.nbytes for v in node.inputs if (c := constant_of(v)) is not None)
    if sum(r.nbytes for r in results) > given + limits.fold_growth and not all(
        v.tensor.is_static for v in node.outputs
    ):
        return None
    return results
