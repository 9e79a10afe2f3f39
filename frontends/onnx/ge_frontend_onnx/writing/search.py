"""Sorting, searching and what is found, as ONNX has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import operand

from .lowerings import lowers
from .sizes import Sizes


@lowers("ge.Sort")
def sort(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """All of the axis by TopK, which takes the lower place first among equals."""
    x = operand(node.inputs, 0)
    if x.rank == 0:
        return [b.Identity(x), b.constant(np.int64(0))][: len(node.outputs)]
    axis = int(node.attrs.get("axis", -1))  # type: ignore[arg-type]
    found = b.TopK(x, sizes.vector(b, x.shape[axis]), axis=axis, largest=node.attrs.get("descending", 0))
    return list(found)[: len(node.outputs)]


@lowers("ge.SearchSorted")
def search_sorted(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """How many elements lie below (or not above) each value."""
    rows, values = operand(node.inputs, 0), operand(node.inputs, 1)
    if rows.rank != 1:
        rows = b.Unsqueeze(rows, b.ints(-2))
    each = b.Unsqueeze(values, b.ints(-1))
    below = b.Not(b.Less(each, rows)) if node.attrs.get("right") else b.Less(rows, each)
    return [b.ReduceSum(b.Cast(below, to="int64"), b.ints(-1), keepdims=0)]


@lowers("ge.Places")
def places(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """NonZero of the vector."""
    return [b.Reshape(b.NonZero(operand(node.inputs, 0)), b.ints(-1))]


@lowers("ge.KeptBoxes")
def kept_boxes(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """NonMaxSuppression, whose rows stand image by image and class by class, the best first: each to its own row."""
    scores, shape = operand(node.inputs, 1), node.output.shape
    found = b.NonMaxSuppression(*node.inputs, center_point_box=node.attrs.get("center_point_box", 0))
    image, kind, box = (b.Gather(found, np.int64(i), axis=1) for i in range(3))
    count = b.Reshape(b.Shape(found, start=0, end=1), b.constant(np.zeros(0, np.int64)))
    group = b.Add(b.Mul(image, b.Shape(scores, start=1, end=2)), kind)
    before = b.Concat([b.ints(-1), group], axis=0)
    first = b.Not(b.Equal(group, b.Slice(before, b.ints(0), b.ints(-1), b.ints(0))))
    starts = b.Reshape(b.NonZero(first), b.ints(-1))
    which = b.Sub(b.CumSum(b.Cast(first, to="int64"), np.int64(0)), np.int64(1))
    turn = b.Sub(b.Range(np.int64(0), count, np.int64(1)), b.Gather(starts, which, axis=0))
    at = b.Concat([b.Unsqueeze(v, b.ints(1)) for v in (image, kind, turn)], axis=1)
    empty = b.Expand(b.constant(np.int64(-1)), b.Concat([sizes.vector(b, n) for n in shape], axis=0))
    return [b.ScatterND(empty, at, box)]
