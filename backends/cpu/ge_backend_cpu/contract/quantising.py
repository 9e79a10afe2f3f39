"""Quantisation in epilogues: which nodes they take, and how large what they quantise can be.

A quotient is x * (1 / s), put right by what is missing: with r the rounded 1 / s and q the rounded x r,
q + r (x - q s), each sum in one step, is x / s rounded (P. Markstein, IBM J. Res. Dev. 34, 1990), as long as nothing
leaves the range of float32: what is known of the operands has to show that.
"""

from __future__ import annotations

import numpy as np

from ge_backend_cpu.contract.windows import NodeAttributes
from ge_core.ir import dims
from ge_core.ir.dtype import float32
from ge_core.ir.graph import Node, Value, constant_of
from ge_core.ir.types import TensorType

QUANTISING = frozenset({"QuantizeLinear", "DequantizeLinear"})
MOST = 2.0**100
"""Magnitudes below which a value times a factor of `SCALES` stays far within float32."""
SCALES = (2.0**-40, 2.0**40)
SEARCHED = 500
"""Nodes between two that one node reads that are looked through."""
_SUMS = 2.0**31
_KEEPING = frozenset({"Relu", "Neg", "Abs", "Identity"})
_LARGEST = frozenset({"Max", "Min", "Clip"})


def is_quantising(node: Node) -> bool:
    """Whether a node converts between float32 and 8-bit integers, with one scale for all."""
    if node.op not in QUANTISING:
        return False
    values = [node.output, *(v for v in node.inputs if v is not None)]
    if not all(isinstance(v.type, TensorType) and v.type.shape is not None for v in values):
        return False
    whole, scale, zero = node.input(0), node.input(1), node.input(2)
    assert whole is not None and scale is not None
    bytes_, floats = (node.output, whole) if node.op == "QuantizeLinear" else (whole, node.output)
    attributes = NodeAttributes(node)
    if node.op == "QuantizeLinear" and attributes.attr("precision", 0) not in (0, float32.onnx):
        return False
    single = all(dims.product(v.shape) == 1 for v in (scale, zero) if v is not None)
    eight = bytes_.dtype.is_integer and bytes_.dtype.bits == 8
    return single and eight and floats.dtype == float32 == scale.dtype and not attributes.attr("block_size", 0)


def meets_later_bytes(node: Node) -> bool:
    """Whether the only reader of a DequantizeLinear reads another one that stands further behind: a later contraction
    then takes both in, and reads bytes."""
    readers = [use.user for use in node.output.uses]
    reader = readers[0] if len(readers) == 1 else None
    if not isinstance(reader, Node) or len(reader.inputs) != 2:
        return False
    others = [v.producer for v in reader.inputs if v is not None and v is not node.output]
    if not others or others[0] is None or others[0].op != "DequantizeLinear" or not is_quantising(others[0]):
        return False
    following, seen = node.next, 0
    while following is not None and following is not reader and seen < SEARCHED:
        if following is others[0]:
            return True
        following, seen = following.next, seen + 1
    return False


class Magnitudes:
    """The largest magnitudes of the values of an epilogue, as far as they are known; what is known is no NaN.

    Args:
        core: the contraction's result, whole numbers of int32.
    """

    def __init__(self, core: Value) -> None:
        self._known: dict[Value, float | None] = {core: _SUMS if core.dtype.is_integer else None}
        self._nodes: dict[Value, Node] = {}

    def of(self, value: Value | None) -> float | None:
        """The largest magnitude of a value."""
        if value is None:
            return None
        if value not in self._known:
            node = self._nodes.get(value)
            self._known[value] = _constant(value) if node is None else self._result(node)
        return self._known[value]

    def add(self, node: Node) -> None:
        """Take in a node after those that make its operands; it is looked at when somebody asks for its result."""
        self._nodes[node.output] = node

    def divides(self, node: Node) -> bool:
        """Whether a quotient by the reciprocal is that of the division, for a QuantizeLinear."""
        scale, size = constant_of(node.input(1)), self.of(node.input(0))
        if scale is None or scale.residence == "absent" or size is None or size >= MOST:
            return False
        return bool(SCALES[0] <= float(scale.array().reshape(())) <= SCALES[1])

    def _result(self, node: Node) -> float | None:
        if node.op == "QuantizeLinear":
            return 256.0
        if node.op == "Cast":
            return self.of(node.input(0)) if node.output.dtype == float32 else None
        sizes = [self.of(v) for v in node.inputs if v is not None]
        if node.op == "DequantizeLinear":
            return None if sizes[1] is None else 512 * sizes[1]
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes) or not node.output.dtype.is_float:
            return None
        if node.op in ("Add", "Sub"):
            return sum(known)
        if node.op == "Mul":
            return known[0] * known[1]
        if node.op in _KEEPING:
            return known[0]
        return max(known) if node.op in _LARGEST else None


def _constant(value: Value) -> float | None:
    if value.dtype.is_integer and value.dtype.bits == 8:
        return 256.0
    data = constant_of(value)
    if data is None or data.residence == "absent" or not value.dtype.is_float:
        return None
    found = float(np.abs(data.array().astype(np.float64)).max(initial=0.0))
    return found if np.isfinite(found) else None
