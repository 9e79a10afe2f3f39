"""Tensors from sizes and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, FLOAT64, INT64, Call, Sizes, element
from ..registry import pd


@pd("full")
def full(c: Call, *, shape: Sequence[int], value: float, dtype: DType | None = None) -> Value:
    """full(*, shape, value, dtype=phi::DataType::FLOAT32, place=phi::CPUPlace()) -> out"""
    return c.full(shape, value, c.dtype())


@pd("full_int_array")
def full_int_array(c: Call, *, value: Sequence[int], dtype: DType | None = None) -> Value:
    """full_int_array(*, value, dtype=phi::DataType::FLOAT32, place=phi::CPUPlace()) -> out"""
    return c.b.constant(np.array(value, c.dtype().numpy))


@pd("full_like")
def full_like(c: Call, x: Value, value: Value, *, dtype: DType | None = None) -> Value:
    """full_like(x, value, *, dtype=phi::DataType::UNDEFINED, place={}) -> out"""
    number = c.number(value)
    return c.full(x.shape, c.reshape(value, ()) if number is None else number, c.dtype())


@pd("full_with_tensor")
def full_with_tensor(c: Call, value: Value, shape: Sizes, *, dtype: DType | None = None) -> Value:
    """full_with_tensor(value, shape, *, dtype=phi::DataType::FLOAT32) -> out"""
    number, sizes = c.number(value), c.sizes(shape)
    if sizes is None:
        scalar = c.cast(c.reshape(value, ()), c.dtype())
        return c.b.Expand(scalar, c.vector(shape))
    return c.full(sizes, c.reshape(value, ()) if number is None else number, c.dtype())


@pd("full_batch_size_like")
def full_batch_size_like(
    c: Call,
    input: Value,
    *,
    shape: Sequence[int],
    value: float,
    input_dim_idx: int,
    output_dim_idx: int,
    dtype: DType | None = None,
) -> Value:
    """full_batch_size_like(input, *, shape, dtype, value, input_dim_idx, output_dim_idx, place=phi::CPUPlace()) ->
    out
    """
    sizes: list[Size] = list(shape)
    sizes[output_dim_idx] = input.shape[input_dim_idx]
    return c.full(sizes, value, c.dtype())


@pd("zeros", "ones")
def zeros(c: Call, *, shape: Sequence[int], dtype: DType | None = None) -> Value:
    """zeros(*, shape, dtype=phi::DataType::FLOAT32, place=phi::CPUPlace()) -> out
    ones(*, shape, dtype=phi::DataType::FLOAT32, place=phi::CPUPlace()) -> out
    """
    return c.full(shape, int(c.name == "ones"), c.dtype())


@pd("zeros_like", "ones_like", "empty_like")
def zeros_like(c: Call, x: Value, *, dtype: DType | None = None) -> Value:
    """zeros_like(x, *, dtype=phi::DataType::UNDEFINED, place={}) -> out
    ones_like(x, *, dtype=phi::DataType::UNDEFINED, place={}) -> out
    empty_like(x, *, dtype=phi::DataType::UNDEFINED, place={}) -> out
    """
    return c.full(x.shape, int(c.name == "ones_like"), c.dtype())


@pd("empty")
def empty(c: Call, shape: Sizes, *, dtype: DType | None = None) -> Value:
    """empty(shape, *, dtype=phi::DataType::FLOAT32, place=phi::CPUPlace()) -> out"""
    sizes = c.sizes(shape)
    if sizes is None:
        return c.b.Expand(c.scalar(0, c.dtype()), c.vector(shape))
    return c.full(sizes, 0, c.dtype())


@pd("fill")
def fill(c: Call, x: Value, value: Value) -> Value:
    """fill(x, value) -> out"""
    number = c.number(value)
    return c.full(x.shape, c.reshape(value, ()) if number is None else number, x.dtype)


@pd("assign_value")
def assign_value(
    c: Call, output: Value | None = None, *, shape: Sequence[int], values: Sequence[Any], dtype: DType | None = None
) -> Value:
    """assign_value(*, shape, dtype, values, place={}) -> out"""
    kind = c.dtype().numpy
    flat = np.array([complex(v).real if isinstance(v, complex) else v for v in values])
    with np.errstate(all="ignore"):
        return c.b.constant(flat.astype(kind).reshape([int(size) for size in shape]))


@pd("eye")
def eye(c: Call, num_rows: Value, num_columns: Value, *, dtype: DType | None = None) -> Value:
    """eye(num_rows, num_columns, *, dtype=phi::DataType::FLOAT32, place={}) -> out"""
    rows = c.known_sizes(num_rows, "a number of rows")[0]
    columns = c.known_sizes(num_columns, "a number of columns")[0]
    columns = rows if columns == -1 else columns
    return c.b.EyeLike(c.full((rows, columns), 0, c.dtype()), dtype=c.dtype())


@pd("arange", "range_v2")
def arange(c: Call, start: Value, end: Value, step: Value, *, dtype: DType | None = None) -> Value:
    """arange(start, end, step, *, dtype=phi::DataType::FLOAT64, place=phi::CPUPlace()) -> out
    range_v2(start, end, step, *, dtype=phi::DataType::FLOAT64, place=phi::CPUPlace()) -> out
    """
    b, kind = c.b, c.dtype()
    numbers = [c.number(v) for v in (start, end, step)]
    if all(isinstance(n, (int, float)) for n in numbers):
        first, last, by = (float(n) if isinstance(n, float) else int(n) for n in numbers)  # type: ignore[arg-type]
        if not kind.is_float:
            return b.Range(*(b.constant(element(n, kind)) for n in (int(first), int(last), int(by))))
        count = max(math.ceil((last - first) / by), 0)
        # Paddle counts in the element type
        values = kind.numpy.type(first) + kind.numpy.type(by) * np.arange(count).astype(kind.numpy)
        return b.constant(values.astype(kind.numpy))
    contents = [c.sizes(v) for v in (start, end, step)]
    if kind.is_integer and all(content is not None for content in contents):
        line = b.Range(*(b.scalar(content[0]) for content in contents if content is not None))
        return c.cast(line, kind)
    scalars = [c.reshape(c.cast(v, kind), ()) for v in (start, end, step)]
    return b.Range(*scalars)


@pd("linspace")
def linspace(c: Call, start: Value, stop: Value, number: Value, *, dtype: DType | None = None) -> Value:
    """linspace(start, stop, number, *, dtype, place) -> out"""
    count = c.known_sizes(number, "a number of steps")[0]
    return c.cast(_spaced(c, start, stop, count, c.dtype()), c.dtype())


def _spaced(c: Call, start: Value, stop: Value, count: Size, kind: DType) -> Value:
    """Numbers at equal distances, in float64; the second half is counted from the end, as Paddle does."""
    b = c.b
    first, last = (c.cast(c.reshape(c.cast(v, kind), ()), FLOAT64) for v in (start, stop))
    if count == 1:
        return c.unsqueeze(first, 0)
    place = b.Cast(c.range(count), to=FLOAT64)
    whole = b.Sub(c.scalar(count, FLOAT64), 1.0)
    step = b.Div(b.Sub(last, first), whole)
    rising = b.Add(first, b.Mul(step, place))
    falling = b.Sub(last, b.Mul(step, b.Sub(whole, place)))
    return b.Where(b.Less(place, b.Floor(b.Div(c.scalar(count, FLOAT64), 2.0))), rising, falling)


@pd("logspace")
def logspace(c: Call, start: Value, stop: Value, num: Value, base: Value, *, dtype: DType | None = None) -> Value:
    """logspace(start, stop, num, base, *, dtype, place={}) -> out"""
    count = c.known_sizes(num, "a number of steps")[0]
    powers = _spaced(c, start, stop, count, FLOAT64)
    return c.cast(c.b.Pow(c.cast(c.reshape(base, ()), FLOAT64), powers), c.dtype())


@pd("tril_indices")
def tril_indices(c: Call, *, rows: int, cols: int, offset: int, dtype: DType | None = None) -> Value:
    """tril_indices(*, rows, cols, offset, dtype, place={}) -> out"""
    return _indices(c, rows, cols, offset, True)


@pd("triu_indices")
def triu_indices(c: Call, *, row: int, col: int, offset: int, dtype: DType | None = None) -> Value:
    """triu_indices(*, row, col, offset, dtype, place={}) -> out"""
    return _indices(c, row, col, offset, False)


_MOST_PLACES = 1 << 26


def _indices(c: Call, rows: int, cols: int, offset: int, lower: bool) -> Value:
    if rows * cols > _MOST_PLACES:
        raise c.unsupported(f"a triangle of {rows} × {cols}")
    found = np.tril_indices(rows, offset, cols) if lower else np.triu_indices(rows, offset, cols)
    return c.b.constant(np.stack(found).astype(c.dtype().numpy))


@pd("one_hot")
def one_hot(c: Call, x: Value, num_classes: Value) -> Value:
    """one_hot(x, num_classes) -> out"""
    b = c.b
    depth = c.known_sizes(num_classes, "a number of classes")[0]
    b.ge.Check(b.And(_all(c, b.GreaterOrEqual(x, 0)), _all(c, b.Less(x, c.scalar(depth, x.dtype)))),
               message="an index of one_hot is out of range")  # fmt: skip
    return b.OneHot(x, b.scalar(depth), b.constant(np.array([0, 1], c.dtype().numpy)), axis=-1)


def _all(c: Call, x: Value) -> Value:
    b = c.b
    return c.cast(b.ReduceMin(b.Cast(c.flat(x), to="int32"), b.ints(0), keepdims=0), BOOL)


@pd("meshgrid")
def meshgrid(c: Call, inputs: Sequence[Value]) -> list[Value]:
    """meshgrid(inputs) -> out"""
    count = len(inputs)
    shape = [x.shape[0] if x.rank else 1 for x in inputs]
    results = []
    for i, x in enumerate(inputs):
        line: list[Size] = [1] * count
        line[i] = shape[i]
        results.append(c.expand(c.reshape(x, line), shape))
    return results


@pd("increment")
def increment(c: Call, x: Value, *, value: float = 1.0) -> Value:
    """increment(x) -> out"""
    return c.b.Add(x, c.scalar(value, x.dtype))


@pd("shape", "shape64")
def shape(c: Call, input: Value) -> Value:
    """shape(input) -> out
    shape64(input) -> out
    """
    return c.cast(c.b.Shape(input), c.dtype())


@pd("numel")
def numel(c: Call, x: Value) -> Value:
    """numel(x) -> size"""
    return c.b.scalar(dims.product(x.shape))


@pd("is_empty")
def is_empty(c: Call, x: Value) -> Value:
    """is_empty(x) -> out"""
    return c.b.Equal(c.b.scalar(dims.product(x.shape)), 0)


@pd("sequence_mask")
def sequence_mask(c: Call, x: Value, max_len: Value | None = None, *, out_dtype: DType | None = None) -> Value:
    """sequence_mask(x, max_len, *, out_dtype) -> y"""
    b = c.b
    known = None if max_len is None else c.sizes(max_len)
    if known is not None and known[0] not in (-1, 0):
        places = c.range(known[0])
    elif max_len is not None and known is None:
        places = c.cast(b.Range(b.scalar(0), c.cast(c.reshape(max_len, ()), INT64), b.scalar(1)), INT64)
    else:
        longest = b.ReduceMax(c.flat(c.cast(x, INT64)), b.ints(0), keepdims=0)
        places = b.Range(b.scalar(0), longest, b.scalar(1))
    return c.cast(b.Less(places, c.unsqueeze(c.cast(x, INT64), x.rank)), c.dtype())
