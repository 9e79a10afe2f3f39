"""Reductions at places: by ONNX's scatters, and where an opset has no such reduction by rounds of plain ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, int64
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened

from .lowerings import lowers
from .sizes import Sizes

_NAMES = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min"}


def _identity(reduction: str, dtype: DType) -> float | int:
    """What changes nothing."""
    if reduction in ("max", "min"):
        if dtype.is_float:
            return -np.inf if reduction == "max" else np.inf
        return int(dtype.min if reduction == "max" else dtype.max)
    return 1 if reduction == "prod" else 0


def _divided(b: Builder, total: Value, counts: Value) -> Value:
    """Means; of integers rounded down."""
    count = cast(b, b.Max([counts, np.int64(1)]), total.dtype)
    made: Value = b.Div(total, count) if total.dtype.is_float else b.ge.FloorDiv(total, count)
    return made


@lowers("ge.ScatterReduce")
def scatter_reduce(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """ScatterElements; old values that do not count are replaced first."""
    x, indices, updates = (operand(node.inputs, i) for i in range(3))
    reduction, axis = str(node.attrs["reduction"]), node.attrs["axis"]
    own = bool(node.attrs.get("include_self", 1))
    y, updates = widened(b, x), widened(b, updates)
    shape = b.Shape(indices)
    if updates.tensor.shape != indices.tensor.shape:  # the updates may reach further than the indices
        rank = indices.rank
        updates = b.Slice(updates, b.ints([0] * rank), shape, b.ints(range(rank)))
    if not own:
        blank = b.Expand(b.constant(_identity(reduction, y.dtype), y.dtype), shape)
        y = b.ScatterElements(y, indices, blank, axis=axis)
    y = b.ScatterElements(y, indices, updates, axis=axis, reduction=_NAMES[reduction])
    if reduction == "mean":
        counts = b.Expand(b.constant(np.int64(own)), b.Shape(x))
        ones = b.Expand(b.constant(np.int64(1)), shape)
        y = _divided(b, y, b.ScatterElements(counts, indices, ones, axis=axis, reduction="add"))
    return [cast(b, y, x.dtype)]


@lowers("ge.SegmentReduce")
def segment_reduce(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Rows scattered onto rows of what changes nothing."""
    x, ids, size = (operand(node.inputs, i) for i in range(3))
    reduction = str(node.attrs["reduction"])
    rows, places = widened(b, x), b.Unsqueeze(cast(b, ids, int64), b.ints(1))
    count = b.Reshape(size, b.ints(1))
    shape = count if x.rank == 1 else b.Concat([count, b.Shape(x, start=1)], axis=0)
    blank = b.Expand(b.constant(_identity(reduction, rows.dtype), rows.dtype), shape)
    y = b.ScatterND(blank, places, rows, reduction=_NAMES[reduction])
    if reduction == "mean":
        ones = b.Expand(b.constant(np.int64(1)), b.Shape(ids))
        counts = b.ScatterND(b.Expand(b.constant(np.int64(0)), count), places, ones, reduction="add")
        inner = list(range(1, x.rank))
        y = _divided(b, y, b.Unsqueeze(counts, b.ints(inner)) if inner else counts)
    return [cast(b, y, x.dtype)]


@lowers("ge.BinCount")
def bin_count(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Ones or weights added at their bins; weights of 32 bits and less in float64, as they are summed everywhere."""
    x, weights, size = operand(node.inputs, 0), node.input(1), operand(node.inputs, 2)
    dtype = node.output.dtype
    wide = DType.of("float64") if dtype.is_float else dtype
    each = b.Expand(b.constant(np.int64(1)), b.Shape(x)) if weights is None else cast(b, weights, wide)
    blank = b.Expand(b.constant(0, wide), b.Reshape(size, b.ints(1)))
    return [cast(b, b.ScatterND(blank, b.Unsqueeze(cast(b, x, int64), b.ints(1)), each, reduction="add"), dtype)]


@lowers("ScatterElements")
def scatter_elements(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """The numbers of all places in the flat data, and a scatter of single elements there."""
    x, indices, updates = (operand(node.inputs, i) for i in range(3))
    axis = int(node.attrs.get("axis", 0)) % x.rank  # type: ignore[arg-type]
    along = cast(b, indices, int64)
    size = b.Shape(x, start=axis, end=axis + 1)
    places: Value = b.Where(b.Less(along, np.int64(0)), b.Add(along, size), along)
    stride = b.ints(1)
    flat: Value | None = None
    for i in reversed(range(x.rank)):
        if i == axis:
            part = places
        else:
            count = b.Reshape(b.Shape(indices, start=i, end=i + 1), b.constant(np.zeros(0, np.int64)))
            line = b.Range(np.int64(0), count, np.int64(1))
            others = [k for k in range(x.rank) if k != i]
            part = b.Unsqueeze(line, b.ints(others)) if others else line
        part = b.Mul(part, stride)
        flat = part if flat is None else b.Add(flat, part)
        stride = b.Mul(stride, b.Shape(x, start=i, end=i + 1))
    made = _in_rounds(b, b.Reshape(x, b.ints(-1)), b.Reshape(flat, b.ints(-1)), b.Reshape(updates, b.ints(-1)), node)
    return [b.Reshape(made, b.Shape(x), allowzero=1)]


@lowers("ScatterND")
def scatter_nd(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """The numbers of all places among the slices that are written, and a scatter of slices there."""
    x, indices, updates = (operand(node.inputs, i) for i in range(3))
    depth = int(indices.shape[-1])  # type: ignore[arg-type]
    flat: Value = b.constant(np.int64(0))
    stride = b.ints(1)
    for i in reversed(range(depth)):
        part = b.Gather(indices, np.int64(i), axis=-1)
        size = b.Shape(x, start=i, end=i + 1)
        part = b.Where(b.Less(part, np.int64(0)), b.Add(part, size), part)
        flat = b.Add(flat, b.Mul(part, stride))
        stride = b.Mul(stride, size)
    inner = b.Shape(x, start=depth) if depth < x.rank else None
    # the first size is written out, since nothing follows from -1 where another size is 0
    rows, count = stride, b.Reshape(b.Size(flat), b.ints(1))
    data, new = (
        b.Reshape(v, n if inner is None else b.Concat([n, inner], axis=0), allowzero=1)
        for v, n in ((x, rows), (updates, count))
    )
    made = _in_rounds(b, data, b.Reshape(flat, b.ints(-1)), new, node)
    return [b.Reshape(made, b.Shape(x), allowzero=1)]


def _in_rounds(b: Builder, data: Value, places: Value, updates: Value, node: Node) -> Value:
    """Rows of the data reduced with the updates of their places: in round r the r-th update of every place."""
    reduction = str(node.attrs["reduction"])
    op = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}[reduction]
    count = b.Shape(places)
    ordered, order = b.TopK(places, count, axis=0, largest=0)  # of equal ones the first comes first
    before = b.Concat([b.ints(-1), ordered], axis=0)
    first = b.Not(b.Equal(ordered, b.Slice(before, b.ints(0), b.ints(-1), b.ints(0))))
    starts = b.Reshape(b.NonZero(first), b.ints(-1))
    group = b.Sub(b.CumSum(b.Cast(first, to="int64"), np.int64(0)), np.int64(1))
    whole = b.Reshape(count, b.constant(np.zeros(0, np.int64)))
    turn = b.Sub(b.Range(np.int64(0), whole, np.int64(1)), b.Gather(starts, group, axis=0))
    # one more than the largest turn; none where there are no updates
    rounds = b.Reshape(b.ReduceMax(b.Concat([b.Add(turn, np.int64(1)), b.ints(0)], axis=0), keepdims=0),
                       b.constant(np.zeros(0, np.int64)))  # fmt: skip

    def body(r: Builder, k: Value, go: Value, y: Value) -> list[Value]:
        now = r.Reshape(r.NonZero(r.Equal(turn, k)), r.ints(-1))
        at = r.Gather(ordered, now, axis=0)
        new = r.Gather(updates, r.Gather(order, now, axis=0), axis=0)
        old = r.Gather(y, at, axis=0)
        found = r.op(op, [old, new]) if op in ("Max", "Min") else r.op(op, old, new)
        return [go, r.ScatterND(y, r.Unsqueeze(at, r.ints(1)), found)]

    made: Value = b.Loop(rounds, None, [data], body=body)
    return made
