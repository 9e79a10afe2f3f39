"""Precision assignment: under "speed", large float32 weights of products are stored in half.

Only the storage shrinks: a Cast brings the weights back, which backends read through; the product stays in float32.
A weight whose float16 form overflows, or loses more than 2⁻¹⁰ of its largest element, stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph, Node, Value, constant_of
from ge_core.ir.traverse import walk
from ge_core.passes.base import Pass, PassContext

# operator and the input that holds its weights
_WEIGHTS = {"MatMul": 1, "Gemm": 1, "Conv": 1, "ConvTranspose": 1}


@dataclass(frozen=True)
class StoreWeightsInHalf(Pass):
    """Enters regions. Changes results by the rounding of the weights.

    Attributes:
        least_bytes: smaller weights stay as they are.
    """

    least_bytes: int = 1 << 16

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = False
        half: dict[Value, Value] = {}
        for node in walk(graph):
            index = _WEIGHTS.get(node.op)
            weight = None if index is None else node.input(index)
            constant = constant_of(weight)
            if weight is None or index is None or constant is None or not self._fits(constant):
                continue
            if not ctx.allow("half-weights", node):
                return changed
            node.set_input(index, self._stored(graph, node, weight, constant, half))
            changed = True
        return changed

    def _fits(self, constant: Constant) -> bool:
        if constant.type.dtype.name != "float32" or constant.nbytes < self.least_bytes:
            return False
        array = constant.array()
        with np.errstate(over="ignore"):
            rounded = array.astype(np.float16).astype(np.float32)
        largest = float(np.abs(array).max())
        return bool(np.isfinite(rounded).all()) and float(np.abs(rounded - array).max()) <= largest * 2.0**-10

    def _stored(self, graph: Graph, node: Node, weight: Value, constant: Constant, half: dict[Value, Value]) -> Value:
        if weight not in half:
            stored = Constant.of(constant.array().astype(np.float16))
            half[weight] = graph.add_constant(stored, f"{weight.name}.half")
        assert node.block is not None
        b = Builder(node.block, node, node.loc)
        result: Value = b.Cast(half[weight], to=DType.of("float32"))
        return result
