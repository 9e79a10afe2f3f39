"""Precision assignment: under "speed", large float32 weights of products are stored in smaller types.

Only the storage shrinks: a Cast brings the weights back, which backends read through; the product stays in float32.
- Half: a weight whose float16 form overflows, or loses more than 2⁻¹⁰ of its largest element, stays.
- Bytes (see `bytes`), for products of few rows, whose time is that of reading the weights: x @ w ≈ (x @ q) s. A weight
  that loses more than 1 % of its root mean square by that (a few large elements among many small ones) is stored in
  half.

Weights in a file are read to decide, one at a time, and converted again when they are used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType, float16, float32, int8
from ge_core.ir.graph import Graph, Node, Value, constant_of
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.bytes import in_bytes

FEW_ROWS = 4
"""Rows of a product up to which its weights are stored in bytes."""
LOSS = 0.01
"""Of a weight's root mean square, that storing it in bytes may cost."""
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
        if constant.residence == "absent":
            return True
        array = constant.array()
        with np.errstate(over="ignore"):
            rounded = array.astype(np.float16).astype(np.float32)
        largest = float(np.abs(array).max())
        return bool(np.isfinite(rounded).all()) and float(np.abs(rounded - array).max()) <= largest * 2.0**-10

    def _stored(self, graph: Graph, node: Node, weight: Value, constant: Constant, half: dict[Value, Value]) -> Value:
        if weight not in half:
            if constant.residence == "memory":
                stored = Constant.of(constant.array().astype(np.float16))
            else:
                kind = TensorType(float16, constant.type.shape)
                stored = Constant.derived(
                    kind, [constant], lambda: constant.array().astype(np.float16), constant.source
                )
            half[weight] = graph.add_constant(stored, f"{weight.name}.half")
        assert node.block is not None
        b = Builder(node.block, node, node.loc)
        result: Value = b.Cast(half[weight], to=DType.of("float32"))
        return result


@dataclass(frozen=True)
class StoreWeightsInBytes(Pass):
    """Enters regions. Changes results by the rounding of the weights.

    Attributes:
        least_bytes: smaller weights stay as they are: they lie in a cache anyway.
    """

    least_bytes: int = 1 << 20

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = False
        known: dict[Value, tuple[Value, Value]] = {}
        for node in list(walk(graph)):
            weight = node.input(1) if node.op in ("MatMul", "Gemm") else None
            constant = constant_of(weight)
            if weight is None or constant is None or not self._fits(node, constant):
                continue
            if weight not in known:
                stored = _stored(graph, weight, constant, 0 if _transposed(node) else 1)
                if stored is None:
                    continue
                known[weight] = stored
            if not ctx.allow("byte-weights", node):
                return changed
            _rewrite(node, *known[weight])
            changed = True
        return changed

    def _fits(self, node: Node, constant: Constant) -> bool:
        left = node.input(0)
        large = constant.type.dtype.name == "float32" and constant.nbytes >= self.least_bytes
        if left is None or not large or constant.type.rank != 2 or node.attrs.get("transA", 0):
            return False
        shape = left.tensor.shape
        rows = None if shape is None else dims.bounds(dims.product(shape[:-1]))[1]
        return rows is not None and rows <= FEW_ROWS


def _transposed(node: Node) -> bool:
    return bool(node.attrs.get("transB", 0))


def _stored(graph: Graph, weight: Value, constant: Constant, columns: int) -> tuple[Value, Value] | None:
    """The constants of a matrix in bytes and of its scales; None where too much is lost, which absent data never do."""
    kind = TensorType(int8, constant.type.shape)
    if constant.residence == "absent":
        assert kind.shape is not None
        count = TensorType(float32, (kind.shape[columns],))
        scales = Constant.derived(count, [constant], constant.array, constant.source)
        return _add(graph, weight, Constant.derived(kind, [constant], constant.array, constant.source), scales)
    found = in_bytes(constant.array(), columns)
    if found is None or found.lost > LOSS:
        return None
    if constant.residence == "memory":
        return _add(graph, weight, Constant.of(found.stored), Constant.of(found.scales))

    def again() -> np.ndarray:
        found = in_bytes(constant.array(), columns)
        assert found is not None
        return found.stored

    stored = Constant.derived(kind, [constant], again, constant.source)
    return _add(graph, weight, stored, Constant.of(found.scales))


def _add(graph: Graph, weight: Value, stored: Constant, scales: Constant) -> tuple[Value, Value]:
    return graph.add_constant(stored, f"{weight.name}.bytes"), graph.add_constant(scales, f"{weight.name}.scales")


def _rewrite(node: Node, stored: Value, scales: Value) -> None:
    """y = x @ w + c as (x @ q) * s + c."""
    assert node.block is not None
    b = Builder(node.block, node, node.loc)
    x, w = node.input(0), b.Cast(stored, to=DType.of("float32"))
    attributes = {name: node.attrs[name] for name in ("transB", "alpha") if name in node.attrs}
    y = b.Mul(b.Gemm(x, w, **attributes) if node.op == "Gemm" else b.MatMul(x, w), scales)
    added, beta = node.input(2) if node.op == "Gemm" else None, node.attrs.get("beta", 1.0)
    if added is not None and beta != 0:
        y = b.Add(y, added if beta == 1 else b.Mul(added, beta))
    node.output.replace_uses(y)
    node.output.name, y.name = y.name, node.output.name
    node.block.nodes.remove(node)
