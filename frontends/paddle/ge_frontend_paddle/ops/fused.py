"""Operators that Paddle's passes and libraries make of several."""

from __future__ import annotations

import numpy as np

from ge_core.ir.graph import Value

from ..call import BOOL, INT32, INT64, Call
from ..registry import pd


@pd("add_position_encoding")
def add_position_encoding(c: Call, x: Value, *, alpha: float = 1.0, beta: float = 1.0) -> Value:
    """add_position_encoding(x, *, alpha=1.0f, beta=1.0f) -> out"""
    b, kind = c.b, x.dtype
    length, width = x.shape[1:]
    if not isinstance(width, int):
        raise c.unsupported("a width that is not fixed")
    half = width // 2
    powers = [10000.0 ** (k / (half - 1)) if half > 1 else 10000.0 for k in range(half)]
    angles = b.Div(c.unsqueeze(c.cast(c.range(length), kind), 1), b.constant(np.array(powers).astype(kind.numpy)))
    encoded = b.Concat([b.Sin(angles), b.Cos(angles)], axis=1)
    return b.Add(b.Mul(x, c.scalar(alpha, kind)), b.Mul(encoded, c.scalar(beta, kind)))


@pd("fused_softmax_mask")
def fused_softmax_mask(c: Call, x: Value, mask: Value) -> Value:
    """fused_softmax_mask(x, mask) -> out"""
    return c.b.Softmax(c.b.Add(x, mask), axis=x.rank - 1)


@pd("fused_softmax_mask_upper_triangle")
def fused_softmax_mask_upper_triangle(c: Call, x: Value) -> Value:
    """fused_softmax_mask_upper_triangle(X) -> Out"""
    b = c.b
    rows, columns = c.unsqueeze(c.range(x.shape[-2]), 1), c.range(x.shape[-1])
    masked = b.Where(c.cast(b.LessOrEqual(columns, rows), BOOL), x, c.scalar(-10000.0, x.dtype))
    chances = b.Softmax(masked, axis=x.rank - 1)
    return b.Where(b.LessOrEqual(columns, rows), chances, c.scalar(0, x.dtype))


@pd("batch_fc")
def batch_fc(c: Call, input: Value, w: Value, bias: Value) -> Value:
    """batch_fc(input, w, bias) -> out"""
    return c.b.Add(c.b.MatMul(input, w), c.unsqueeze(bias, 1))


@pd("ctc_align")
def ctc_align(
    c: Call,
    input: Value,
    input_length: Value | None = None,
    *,
    blank: int = 0,
    merge_repeated: bool = True,
    padding_value: int = 0,
) -> tuple[Value, Value]:
    """ctc_align(input, input_length, *, blank=0, merge_repeated=true, padding_value=0) -> output, output_length"""
    b, kind = c.b, input.dtype
    if input_length is None:
        raise c.unsupported("rows of different lengths (LoD)", "give the lengths")
    rows, length = input.shape
    places = c.range(length)
    inside = b.Less(places, c.reshape(c.cast(input_length, INT64), (rows, 1)))
    kept = b.And(inside, b.Not(b.Equal(input, c.scalar(blank, kind))))
    if merge_repeated:
        first = c.full((rows, 1), -1, kind)
        earlier = b.Concat([first, c.slice(input, 1, 0, length - 1)], axis=1)
        kept = b.And(kept, b.Not(b.Equal(input, earlier)))
    counts = b.ReduceSum(b.Cast(kept, to=INT64), b.ints(1), keepdims=1)
    # kept elements move to the front in their order
    _, order = b.ge.Sort(b.Cast(b.Not(kept), to="int32"), axis=1, descending=0)
    moved = b.GatherElements(input, order, axis=1)
    found = b.Where(b.Less(places, counts), moved, c.scalar(padding_value, kind))
    return found, c.cast(counts, INT32)
