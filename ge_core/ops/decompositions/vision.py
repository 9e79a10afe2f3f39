"""Grids as a product of coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.registry import decomposition


@decomposition("AffineGrid")
def affine_grid(b: Builder, node: Node) -> Sequence[Value]:
    """(x, y(, z), 1) of every place, times theta transposed"""
    theta = widened(b, operand(node.inputs, 0))
    batch, *sizes, rank = node.output.shape
    align = bool(node.attrs.get("align_corners", 0))
    parts = []
    for axis in reversed(range(len(sizes))):
        line = b.Unsqueeze(
            _line(b, sizes[axis], align, theta.dtype), b.ints([i for i in range(len(sizes)) if i != axis])
        )
        parts.append(b.Unsqueeze(b.Expand(line, b.ints(sizes)), b.ints(-1)))
    parts.append(b.Expand(b.constant(1.0, theta.dtype), b.ints(*sizes, 1)))
    places = b.Reshape(b.Concat(parts, axis=-1), b.ints(dims.product(sizes), rank + 1))
    grid = b.MatMul(places, b.Transpose(theta, perm=[0, 2, 1]))
    return [cast(b, b.Reshape(grid, b.ints(batch, *sizes, rank)), node.output.dtype)]


def _line(b: Builder, n: Size, align_corners: bool, dtype: DType) -> Value:
    """n positions evenly spaced in [-1, 1]: at the ends with align_corners, else at centres of n equal parts."""
    places = b.Cast(b.Range(b.scalar(0), b.scalar(n), b.scalar(1)), to=dtype)
    if align_corners:
        if n == 1:
            return places
        last = b.Cast(b.scalar(dims.maximum(n - 1, 1)), to=dtype)
        line = b.Sub(b.Div(b.Mul(places, 2.0), last), 1.0)
        if dims.less_equal(2, n) is not True:
            line = b.Where(b.Equal(b.scalar(n), b.scalar(1)), b.constant(0.0, dtype), line)
        return line
    count = b.Cast(b.scalar(n), to=dtype)
    return b.Sub(b.Div(b.Add(b.Mul(places, 2.0), 1.0), count), 1.0)
