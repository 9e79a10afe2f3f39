"""Tensor arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call, Sizes
from ..registry import pd
from ..tensor_array import LoopArray, TensorArray

AnyArray = TensorArray | LoopArray


def _whole(c: Call, array: AnyArray) -> TensorArray:
    if isinstance(array, LoopArray):
        raise c.unsupported("an array that the loop around it appends to")
    return array


@pd("create_array")
def create_array(c: Call, *, dtype: DType | None = None) -> TensorArray:
    """create_array() -> out"""
    return TensorArray(dtype)


@pd("create_array_like")
def create_array_like(c: Call, input: AnyArray, *, val: float = 0.0) -> TensorArray:
    """create_array_like(input) -> out"""
    array = _whole(c, input)
    filled = tuple(c.full(item.shape, val, item.dtype) for item in array.items)
    tail = None if array.tail is None else c.full(array.tail.shape, val, array.tail.dtype)
    return TensorArray(array.dtype, filled, tail)


@pd("assign_array")
def assign_array(c: Call, x: AnyArray) -> TensorArray:
    """assign_array(x) -> out"""
    return _whole(c, x)


@pd("array_write")
def array_write(c: Call, array: AnyArray, x: Value, i: Value) -> AnyArray:
    """array_write_(array, x, i) -> out"""
    if isinstance(array, LoopArray):
        return replace(array, appended=x)
    return array.written(c, x, i)


@pd("array_read")
def array_read(c: Call, array: AnyArray, i: Value) -> Value:
    """array_read(array, i) -> out"""
    if isinstance(array, LoopArray):
        return array.read(c)
    return array.read(c, i)


@pd("array_length")
def array_length(c: Call, x: AnyArray) -> Value:
    """array_length(x) -> out"""
    shape = [1] * len(c.result_tensor().shape)
    if isinstance(x, LoopArray):
        return c.cast(c.reshape(x.count(c), shape), c.dtype())
    return c.integers([x.length], c.dtype(), scalar=not shape)


@pd("array_to_tensor")
def array_to_tensor(c: Call, x: AnyArray, *, axis: int, use_stack: bool) -> tuple[Value, Value]:
    """array_to_tensor(x, *, axis, use_stack) -> out, out_index"""
    array = _whole(c, x)
    sizes = array.sizes(c, axis)
    if not use_stack:
        return array.joined(c, axis), sizes
    stacked = array.stacked(c)
    at = c.axis(axis, stacked.rank)
    order = [*range(1, at + 1), 0, *range(at + 1, stacked.rank)]
    return c.transpose(stacked, order), sizes


@pd("array_pop")
def array_pop(c: Call, input: AnyArray, *, index: int) -> tuple[TensorArray, Value]:
    """array_pop(input, *, index) -> array_out, out"""
    array = _whole(c, input)
    if array.tail is not None:
        raise c.unsupported("an array that a loop appended to")
    at = c.axis(index, len(array.items))
    rest = (*array.items[:at], *array.items[at + 1 :])
    return TensorArray(array.dtype, rest), array.items[at]


@pd("slice_array")
def slice_array(c: Call, input: AnyArray, starts: Sizes, ends: Sizes) -> TensorArray:
    """slice_array(input) -> out"""
    first, last = c.known_ints(starts, "a start")[0], c.known_ints(ends, "an end")[0]
    return _whole(c, input).part(c, first, last)


@pd("slice_array_dense")
def slice_array_dense(c: Call, input: AnyArray, starts: Sizes) -> Value:
    """slice_array_dense(input) -> out"""
    array = _whole(c, input)
    place = c.sizes(starts)
    if place is not None and isinstance(place[0], int) and place[0] < 0 and array.tail is None:
        return array.items[place[0]]
    return array.read(c, c.vector(starts))


@pd("add_n_array")
def add_n_array(c: Call, inputs: Sequence[AnyArray]) -> TensorArray:
    """add_n_array(inputs) -> out"""
    arrays = [_whole(c, array) for array in inputs]
    if any(array.tail is not None or len(array.items) != len(arrays[0].items) for array in arrays):
        raise c.unsupported("arrays of different lengths")
    sums = [
        parts[0] if len(parts) == 1 else c.b.Sum(list(parts)) for parts in zip(*(a.items for a in arrays), strict=True)
    ]
    return TensorArray(arrays[0].dtype, tuple(sums))
