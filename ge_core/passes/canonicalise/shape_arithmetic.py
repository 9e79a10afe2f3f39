"""Chains of Shape, Gather, Mul, Concat … whose result is known become one constant or one `ge.Dims`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim, symbols
from ge_core.ir.graph import Graph, Value
from ge_core.ir.traverse import effect_of, walk
from ge_core.ir.types import TensorType
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.retype import Retyper, input_symbols
from ge_core.passes.rewrite import erase


@dataclass(frozen=True)
class ShapeArithmetic(Pass):
    """Enters regions. A value that depends on data-dependent sizes keeps its chain, which binds them."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        given, retyper, changed = input_symbols(graph), Retyper(graph), False
        for node in walk(graph):
            if node.block is None or node.op == "ge.Dims" or not node.outputs or node.regions:
                continue
            known = [v for v in node.outputs if v.has_uses and _known(v)]
            known = [v for v in known if all(symbols(s) <= given for s in v.content or ())]
            if not known or effect_of(node) != "pure" or not ctx.allow("known-content", node):
                continue
            for old in known:
                new = _materialised(Builder(node.block, node, node.loc), old)
                retyper.replace(old, new, "known-content", made=new.captured is None)
            if not any(v.has_uses for v in node.outputs):
                erase(node)
            changed = True
        retyper.finish()
        return changed


def _known(value: Value) -> bool:
    """Whether a value's elements are known and `ge.Dims` (int64) or a constant can hold them."""
    t = value.type
    if value.content is None or not isinstance(t, TensorType) or t.rank not in (0, 1):
        return False
    return t.dtype.name == "int64" or not any(isinstance(s, Dim) for s in value.content)


def _materialised(b: Builder, value: Value) -> Value:
    assert value.content is not None
    t = value.tensor
    if any(isinstance(s, Dim) for s in value.content):
        return b.scalar(value.content[0]) if t.rank == 0 else b.ints(value.content)
    return b.constant(np.array(value.content, t.dtype.numpy).reshape((-1,) if t.rank else ()))
