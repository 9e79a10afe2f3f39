"""Windows as cosines of a range."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, float32
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand
from ge_core.ops.registry import decomposition
from ge_core.ops.signal import COSINES


@decomposition("HannWindow", "HammingWindow", "BlackmanWindow")
def window(b: Builder, node: Node) -> Sequence[Value]:
    """a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n); n is the size, less one when the window is symmetric"""
    size = operand(node.inputs, 0)
    dtype = node.attrs.get("output_datatype", float32)
    assert isinstance(dtype, DType)
    compute = DType.of("float64") if dtype.bits > 32 or dtype.is_integer else float32
    n = size if node.attrs.get("periodic", 1) else b.Max(b.Sub(size, 1), b.constant(1, size.dtype))
    places = b.Cast(b.Range(b.constant(0, size.dtype), size, b.constant(1, size.dtype)), to=compute)
    angle = b.Div(b.Mul(places, 2 * math.pi), cast(b, n, compute))
    if not node.attrs.get("periodic", 1):
        # a symmetric window of one element is 1, the value in the middle
        single = b.Equal(size, b.constant(1, size.dtype))
        angle = b.Where(single, b.constant(math.pi, compute), angle)
    a0, a1, a2 = COSINES[node.op]
    y = b.Add(b.Mul(b.Cos(angle), -a1), a0)
    if a2:
        y = b.Add(y, b.Mul(b.Cos(b.Mul(angle, 2.0)), a2))
    return [cast(b, y, dtype)]
