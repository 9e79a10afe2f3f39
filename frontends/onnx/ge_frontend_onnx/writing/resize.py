"""Resize in opsets that know neither axes nor filters that widen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Graph, Node, Value, constant_of
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.reference.interpret import interpret

from .forms import InexpressibleError
from .lowerings import lowers
from .sizes import Sizes


@lowers("Resize")
def resize(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 18: numbers for all axes; filters that widen as a matrix for each axis."""
    x, given = operand(node.inputs, 0), dict(node.attrs)
    axes = given.pop("axes", None)
    if node.attrs.get("antialias", 0):
        return [_by_matrices(b, node, x)]
    if not isinstance(axes, tuple) or node.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise InexpressibleError("Resize that keeps the ratio of its sides")
    at = {int(a) % x.rank: i for i, a in enumerate(axes)}  # type: ignore[arg-type]

    def all_axes(numbers: Value | None, others: list[Value], offset: int = 0) -> Value | None:
        if numbers is None or numbers.shape == (0,):
            return numbers
        parts = [
            b.Slice(numbers, b.ints(at[i] + offset), b.ints(at[i] + offset + 1), b.ints(0)) if i in at else others[i]
            for i in range(x.rank)
        ]
        whole: Value = b.Concat(parts, axis=0)
        return whole

    roi = node.input(1)
    if roi is not None and roi.shape != (0,):
        zero, one = b.constant(np.zeros(1), roi.dtype), b.constant(np.ones(1), roi.dtype)
        ends = [all_axes(roi, [value] * x.rank, k * len(axes)) for k, value in enumerate((zero, one))]
        roi = b.Concat(ends, axis=0)
    scales = all_axes(node.input(2), [b.constant(np.array([1], np.float32))] * x.rank)
    wanted = all_axes(node.input(3), [b.Shape(x, start=i, end=i + 1) for i in range(x.rank)])
    return [b.Resize(x, roi, scales, wanted, **given)]


def _by_matrices(b: Builder, node: Node, x: Value) -> Value:
    """Each axis times the matrix of its filter, which is what the operator makes of a unit matrix."""
    whole: Any = node.attrs.get("axes", tuple(range(x.rank)))
    axes = [int(a) % x.rank for a in whole]
    shapes = [(x.shape[a], node.output.shape[a]) for a in axes]
    scales = constant_of(node.input(2))
    numbers = node.input(3) if scales is None else None
    if not all(isinstance(n, int) for pair in shapes for n in pair) or (scales is None and numbers is None):
        raise InexpressibleError("Resize with a filter that widens, over sizes that are not known")
    if not x.dtype.is_float or node.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise InexpressibleError("Resize of integers with a filter that widens")
    y = widened(b, x)
    for i, axis in enumerate(axes):
        size, out = (int(n) for n in shapes[i])  # type: ignore[arg-type]
        scale = None if scales is None else float(scales.array()[i])
        if size == out and scale in (None, 1.0):
            continue
        matrix = _matrix(node, size, out, scale)
        order = [k for k in range(x.rank) if k != axis]
        back = list(np.argsort([*order, axis]))
        moved = b.MatMul(b.Transpose(y, perm=[*order, axis]), b.constant(matrix, y.dtype))
        y = b.Transpose(moved, perm=[int(k) for k in back])
    return cast(b, y, x.dtype)


def _matrix(node: Node, size: int, out: int, scale: float | None) -> np.ndarray:
    """`[size, out]`: the operator along axis 1 of the unit matrix."""
    inner = Builder(Graph("filter"))
    unit = inner.input("unit", "float64", (size, size))
    attrs = {k: v for k, v in node.attrs.items() if k not in ("axes", "keep_aspect_ratio_policy")}
    scales = None if scale is None else inner.constant(np.array([scale], np.float32))
    wanted = inner.ints(out) if scale is None else None
    inner.outputs(inner.Resize(unit, None, scales, wanted, axes=[1], **attrs))
    made: np.ndarray = interpret(inner.graph, [np.eye(size)])[0][0]
    return made
