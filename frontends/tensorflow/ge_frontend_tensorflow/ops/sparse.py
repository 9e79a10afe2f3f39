"""Sparse tensors given by their parts: indices [n, rank] int64, values [n], shape [rank] int64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import INT64, Call
from ..registry import tf_op
from .matmul import product


def _shape(c: Call, shape: Value) -> list[Size]:
    sizes = c.sizes(shape)
    if sizes is None:
        raise c.unsupported("a shape of unknown rank")
    return sizes


def _flat(c: Call, indices: Value, sizes: Sequence[Size]) -> Value:
    """The place of each index in the tensor, row by row."""
    b = c.b
    total: Value | None = None
    for axis, size in enumerate(sizes):
        part = b.Gather(indices, np.int64(axis), axis=1)
        total = part if total is None else b.Add(b.Mul(total, b.scalar(size)), part)
    assert total is not None
    return total


def _unflat(c: Call, places: Value, sizes: Sequence[Size]) -> Value:
    """The indices [n, rank] of places."""
    b = c.b
    columns: list[Value] = []
    for size in reversed(sizes):
        columns.insert(0, c.unsqueeze(b.ge.FloorMod(places, b.scalar(size)), 1))
        places = b.ge.FloorDiv(places, b.scalar(size))
    return columns[0] if len(columns) == 1 else b.Concat(columns, axis=1)


def dense(c: Call, indices: Value, values: Value, sizes: Sequence[Size], fill: float = 0) -> Value:
    """The tensor with all of its elements; those at one index add up."""
    base = c.full(sizes, fill, values.dtype)
    return c.b.ScatterND(base, indices, values, reduction="add")


@tf_op("SparseToDense")
def sparse_to_dense(
    c: Call, sparse_indices: Value, output_shape: Value, sparse_values: Value, default_value: Value
) -> Value:
    """SparseToDense(sparse_indices, output_shape, sparse_values, default_value) -> dense; validate_indices, T,
    Tindices
    """
    sizes = _shape(c, output_shape)
    indices = c.int64(sparse_indices)
    if indices.rank < 2:
        indices = c.reshape(indices, (dims.product(indices.shape), 1))
    base = c.full(sizes, default_value)
    return c.b.ScatterND(base, indices, c.expand(sparse_values, (indices.shape[0],)))


@tf_op("SparseTensorDenseMatMul")
def sparse_dense_matmul(c: Call, a_indices: Value, a_values: Value, a_shape: Value, b: Value) -> Value:
    """SparseTensorDenseMatMul(a_indices, a_values, a_shape, b) -> product; T, Tindices, adjoint_a, adjoint_b"""
    left = dense(c, c.int64(a_indices), a_values, _shape(c, a_shape))
    found = product(c, left, b, c.attr("adjoint_a"), c.attr("adjoint_b"))
    assert isinstance(found, Value)
    return found


@tf_op("SparseTensorDenseAdd")
def sparse_dense_add(c: Call, a_indices: Value, a_values: Value, a_shape: Value, b: Value) -> Value:
    """SparseTensorDenseAdd(a_indices, a_values, a_shape, b) -> output; T, Tindices"""
    return c.b.ScatterND(b, c.int64(a_indices), a_values, reduction="add")


@tf_op("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv")
def sparse_dense_binary(c: Call, sp_indices: Value, sp_values: Value, sp_shape: Value, dense: Value) -> Value:
    """SparseDenseCwiseAdd(sp_indices, sp_values, sp_shape, dense) -> output; T
    SparseDenseCwiseMul(sp_indices, sp_values, sp_shape, dense) -> output; T
    SparseDenseCwiseDiv(sp_indices, sp_values, sp_shape, dense) -> output; T
    """
    op = c.name.removeprefix("SparseDenseCwise")
    here = c.b.GatherND(c.expand(dense, _shape(c, sp_shape)), sp_indices)
    if op == "Div" and sp_values.dtype.is_integer:
        return c.b.ge.TruncDiv(sp_values, here)
    return c.b.op(op, sp_values, here)


@tf_op("SparseReshape")
def sparse_reshape(c: Call, input_indices: Value, input_shape: Value, new_shape: Value) -> tuple[Value, Value]:
    """SparseReshape(input_indices, input_shape, new_shape) -> output_indices, output_shape"""
    from .shape import completed

    old = _shape(c, input_shape)
    new = completed(old, _shape(c, new_shape))
    return _unflat(c, _flat(c, input_indices, old), new), c.size_tensor(new, INT64)


@tf_op("SparseReorder")
def sparse_reorder(c: Call, input_indices: Value, input_values: Value, input_shape: Value) -> tuple[Value, Value]:
    """SparseReorder(input_indices, input_values, input_shape) -> output_indices, output_values; T"""
    b = c.b
    order = b.ge.Sort(_flat(c, input_indices, _shape(c, input_shape)), axis=0)[1]
    return b.Gather(input_indices, order, axis=0), b.Gather(input_values, order, axis=0)


@tf_op("SparseReduceSum")
def sparse_reduce_sum(
    c: Call, input_indices: Value, input_values: Value, input_shape: Value, reduction_axes: Value
) -> Value:
    """SparseReduceSum(input_indices, input_values, input_shape, reduction_axes) -> output; keep_dims, T"""
    sizes = _shape(c, input_shape)
    axes = c.axes(reduction_axes, len(sizes)) or list(range(len(sizes)))
    whole = dense(c, input_indices, input_values, sizes)
    return c.b.ReduceSum(whole, c.b.ints(axes), keepdims=int(c.attr("keep_dims")))


@tf_op("SparseReduceMax")
def sparse_reduce_max(
    c: Call, input_indices: Value, input_values: Value, input_shape: Value, reduction_axes: Value
) -> Value:
    """SparseReduceMax(input_indices, input_values, input_shape, reduction_axes) -> output; keep_dims, T

    The largest of the values that are given; 0 where there are none."""
    b = c.b
    sizes = _shape(c, input_shape)
    axes = c.axes(reduction_axes, len(sizes)) or list(range(len(sizes)))
    keep = int(c.attr("keep_dims"))
    lowest = c.full(sizes, input_values.dtype.min, input_values.dtype)
    best = b.ReduceMax(b.ScatterND(lowest, input_indices, input_values), b.ints(axes), keepdims=keep)
    ones = c.full((input_indices.shape[0],), 1, INT64)
    given = b.ScatterND(c.full(sizes, 0, INT64), input_indices, ones)
    some = b.Greater(b.ReduceMax(given, b.ints(axes), keepdims=keep), np.int64(0))
    return b.Where(some, best, c.like(0, best))


@tf_op("SparseSlice")
def sparse_slice(
    c: Call, indices: Value, values: Value, shape: Value, start: Value, size: Value
) -> tuple[Value, Value, Value]:
    """SparseSlice(indices, values, shape, start, size) -> output_indices, output_values, output_shape; T"""
    b = c.b
    whole, first, count = (_shape(c, v) for v in (shape, start, size))
    cut = [dims.minimum(n, w - s) for n, w, s in zip(count, whole, first, strict=True)]
    moved = b.Sub(indices, b.ints(first))
    inside = b.And(b.GreaterOrEqual(moved, np.int64(0)), b.Less(moved, b.ints(cut)))
    kept = b.ReduceMin(inside, b.ints(1), keepdims=0)
    return b.Compress(moved, kept, axis=0), b.Compress(values, kept, axis=0), c.size_tensor(cut, INT64)
