"""Linear algebra as loops over columns. ONNX has no errors: a matrix that has no answer gives infinities or NaN."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened

from .lowerings import lowers
from .sizes import Sizes


def _matrices(b: Builder, x: Value, sizes: Sizes) -> Value:
    """`x` as `[count, rows, columns]`."""
    return _reshaped(b, x, (dims.product(x.shape[:-2]), *x.shape[-2:]), sizes)


def _reshaped(b: Builder, x: Value, shape: Sequence[Size], sizes: Sizes) -> Value:
    made: Value = b.Reshape(x, _vector(b, shape, sizes), allowzero=1)
    return made


def _vector(b: Builder, shape: Sequence[Size], sizes: Sizes) -> Value:
    made: Value = b.Concat([sizes.vector(b, n) for n in shape], axis=0)
    return made


def _rows(b: Builder, n: Size, sizes: Sizes) -> tuple[Value, Value]:
    """The scalar n, and the numbers below it."""
    count = b.Reshape(sizes.vector(b, n), b.constant(np.zeros(0, np.int64)))
    return count, b.Range(np.int64(0), count, np.int64(1))


def _solved(b: Builder, a: Value, right: Value, sizes: Sizes) -> Value:
    """The solution of a x = right, `[count, n, m]`, by the method of Gauss and Jordan with row pivots."""
    count, rows = _rows(b, a.shape[-1], sizes)
    whole = b.Concat([a, right], axis=2)

    def body(r: Builder, k: Value, go: Value, m: Value) -> list[Value]:
        column = r.Gather(m, k, axis=2)
        size = r.Where(r.Less(rows, k), r.constant(-1.0, m.dtype), r.Abs(column))
        best = r.ArgMax(size, axis=1, keepdims=1)
        here = r.Equal(rows, k)
        order = r.Where(here, best, r.Where(r.Equal(rows, best), k, rows))
        swapped = r.GatherElements(m, r.Expand(r.Unsqueeze(order, r.ints(2)), r.Shape(m)), axis=1)
        pivot = r.Gather(swapped, k, axis=1)
        pivot = r.Div(pivot, r.Unsqueeze(r.Gather(pivot, k, axis=1), r.ints(1)))
        pivot = r.Unsqueeze(pivot, r.ints(1))
        factors = r.Unsqueeze(r.Gather(swapped, k, axis=2), r.ints(2))
        rest = r.Sub(swapped, r.Mul(factors, pivot))
        return [go, r.Where(r.Unsqueeze(here, r.ints(1)), pivot, rest)]

    done = b.Loop(count, None, [whole], body=body)
    n = sizes.vector(b, a.shape[-1])
    solved: Value = b.Slice(done, n, b.ints(np.iinfo(np.int64).max), b.ints(2))
    return solved


@lowers("ge.Inverse")
def inverse(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """The solution for the unit matrix."""
    x = operand(node.inputs, 0)
    a = _matrices(b, widened(b, x), sizes)
    _, rows = _rows(b, x.shape[-1], sizes)
    unit = b.Cast(b.Equal(b.Unsqueeze(rows, b.ints(0)), b.Unsqueeze(rows, b.ints(1))), to=a.dtype)
    y = _solved(b, a, b.Expand(unit, b.Shape(a)), sizes)
    return [cast(b, _reshaped(b, y, x.shape, sizes), x.dtype)]


@lowers("ge.Solve")
def solve(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """All right-hand sides at once; the leading axes of both operands broadcast."""
    a, right, y = operand(node.inputs, 0), operand(node.inputs, 1), node.output
    sides = [
        _matrices(b, b.Expand(widened(b, x), _vector(b, (*y.shape[:-2], *x.shape[-2:]), sizes)), sizes)
        if x.shape[:-2] != y.shape[:-2]
        else _matrices(b, widened(b, x), sizes)
        for x in (a, right)
    ]
    return [cast(b, _reshaped(b, _solved(b, sides[0], sides[1], sizes), y.shape, sizes), y.dtype)]


@lowers("ge.Cholesky")
def cholesky(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Column k of what is left, over the root of its first element; its square is taken off all that is left."""
    x = operand(node.inputs, 0)
    a = _matrices(b, widened(b, x), sizes)
    upper = bool(node.attrs.get("upper", 0))
    if upper:
        a = b.Transpose(a, perm=[0, 2, 1])
    count, rows = _rows(b, x.shape[-1], sizes)

    def body(r: Builder, k: Value, go: Value, left: Value) -> list[Value]:
        column = r.Gather(left, k, axis=2)
        root = r.Sqrt(r.Gather(column, k, axis=1))
        column = r.Where(r.Less(rows, k), r.constant(0.0, left.dtype), r.Div(column, r.Unsqueeze(root, r.ints(1))))
        square = r.Mul(r.Unsqueeze(column, r.ints(2)), r.Unsqueeze(column, r.ints(1)))
        return [go, r.Sub(left, square), column]

    _, columns = b.Loop(count, None, [a], body=body)
    y = b.Transpose(columns, perm=[1, 0, 2] if upper else [1, 2, 0])
    return [cast(b, _reshaped(b, y, x.shape, sizes), x.dtype)]
