"""TensorList and TensorArray: lists of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import INT64, Call
from ..registry import tf_op
from ..tensor_list import Partial, TensorList, get_item, push_back, set_item


def _partial(c: Call, shape: Value) -> Partial | None:
    """The shape of elements that an argument tells: -1 is unknown, a scalar -1 tells nothing."""
    sizes = c.maybe_sizes(shape)
    if sizes is None or (shape.tensor.shape == () and sizes == [-1]):
        return None
    return tuple(s if isinstance(s, int) and s >= 0 else None for s in sizes)


def _sizes(c: Call, shape: Value) -> tuple[Size, ...] | None:
    sizes = c.maybe_sizes(shape)
    if sizes is None or shape.tensor.shape == () or any(isinstance(s, int) and s < 0 for s in sizes):
        return None
    return tuple(sizes)


@tf_op("TensorListReserve", raw=True)
def reserve(c: Call, element_shape: Value, num_elements: Value) -> TensorList:
    """TensorListReserve(element_shape, num_elements) -> handle; element_dtype, shape_type"""
    shape = _sizes(c, element_shape)
    found = TensorList(c.dtype("element_dtype"), _partial(c, element_shape), c.size(num_elements))
    if shape is not None and any(not isinstance(s, int) for s in shape):
        return found.written(found.dense(c, shape))
    return found


@tf_op("EmptyTensorList", raw=True)
def empty(c: Call, element_shape: Value, max_num_elements: Value) -> TensorList:
    """EmptyTensorList(element_shape, max_num_elements) -> handle; element_dtype, shape_type"""
    return TensorList(c.dtype("element_dtype"), _partial(c, element_shape), 0)


@tf_op("TensorListFromTensor", raw=True)
def from_tensor(c: Call, tensor: Value, element_shape: Value) -> TensorList:
    """TensorListFromTensor(tensor, element_shape) -> output_handle; element_dtype, shape_type"""
    return TensorList(tensor.dtype, _partial(c, element_shape), tensor.shape[0], tensor)


@tf_op("TensorListGetItem", raw=True)
def item(c: Call, input_handle: TensorList, index: Value, element_shape: Value) -> Value:
    """TensorListGetItem(input_handle, index, element_shape) -> item; element_dtype, Tshape"""
    return get_item(c, input_handle, index, _sizes(c, element_shape))


@tf_op("TensorListSetItem", raw=True)
def set_(c: Call, input_handle: TensorList, index: Value, item: Value) -> TensorList:
    """TensorListSetItem(input_handle, index, item) -> output_handle; element_dtype, resize_if_index_out_of_bounds"""
    from ..loop import _Empty

    if isinstance(input_handle, _Empty):
        return input_handle.written(c.unsqueeze(item, 0))
    return set_item(c, input_handle, index, item, c.attr("resize_if_index_out_of_bounds"))


@tf_op("TensorListPushBack", raw=True)
def push(c: Call, input_handle: TensorList, tensor: Value) -> TensorList:
    """TensorListPushBack(input_handle, tensor) -> output_handle; element_dtype"""
    return push_back(c, input_handle, tensor)


@tf_op("TensorListPopBack", raw=True)
def pop(c: Call, input_handle: TensorList, element_shape: Value) -> list[Any]:
    """TensorListPopBack(input_handle, element_shape) -> output_handle, tensor; element_dtype"""
    items = input_handle.dense(c)
    last = c.b.Gather(items, np.int64(-1), axis=0)
    return [input_handle.written(c.slice(items, 0, 0, items.shape[0] - 1)), last]


@tf_op("TensorListStack", raw=True)
def stack(c: Call, input_handle: TensorList, element_shape: Value) -> Value:
    """TensorListStack(input_handle, element_shape) -> tensor; element_dtype, num_elements"""
    shape = input_handle.element_shape() or _sizes(c, element_shape)
    return input_handle.dense(c, shape)


@tf_op("TensorListLength", raw=True)
def length(c: Call, input_handle: TensorList) -> Value:
    """TensorListLength(input_handle) -> length"""
    from ge_core.ir.dtype import DType

    return c.scalar(input_handle.length, DType.of("int32"))


@tf_op("TensorListElementShape", raw=True)
def element_shape(c: Call, input_handle: TensorList) -> Value:
    """TensorListElementShape(input_handle) -> element_shape; shape_type"""
    shape: Sequence[Size] | None = input_handle.element_shape()
    if shape is None and input_handle.element is not None:
        shape = [-1 if s is None else s for s in input_handle.element]
    if shape is None:
        return c.number(-1, c.dtype("shape_type"))
    return c.size_tensor(shape, c.dtype("shape_type"))


@tf_op("TensorListResize", raw=True)
def resize(c: Call, input_handle: TensorList, size: Value) -> TensorList:
    """TensorListResize(input_handle, size) -> output_handle"""
    wanted = c.size(size)
    items = input_handle.items
    if items is None:
        return TensorList(input_handle.dtype, input_handle.element, wanted)
    rest = wanted - items.shape[0]
    if dims.less_equal(rest, 0) is True:
        return input_handle.written(c.slice(items, 0, 0, wanted))
    more = dims.maximum(rest, 0)
    grown = c.b.Concat([items, c.full((more, *items.shape[1:]), 0, items.dtype)], axis=0)
    return input_handle.written(c.slice(grown, 0, 0, wanted))


@tf_op("TensorListGather", raw=True)
def gather(c: Call, input_handle: TensorList, indices: Value, element_shape: Value) -> Value:
    """TensorListGather(input_handle, indices, element_shape) -> values; element_dtype"""
    return c.b.Gather(input_handle.dense(c, _sizes(c, element_shape)), c.int64(indices), axis=0)


@tf_op("TensorListScatter", raw=True)
def scatter(c: Call, tensor: Value, indices: Value, element_shape: Value) -> TensorList:
    """TensorListScatter(tensor, indices, element_shape) -> output_handle; element_dtype, shape_type"""
    count = c.b.Add(c.b.ReduceMax(c.int64(indices), keepdims=0), np.int64(1))
    content = count.content or c.b.ge.BindDim(count).content
    known = c.array(indices)
    size: Size = int(known.max()) + 1 if known is not None and known.size else content[0]
    return _scattered(c, tensor, indices, TensorList(tensor.dtype, _partial(c, element_shape), size))


@tf_op("TensorListScatterV2", raw=True)
def scatter_v2(c: Call, tensor: Value, indices: Value, element_shape: Value, num_elements: Value) -> TensorList:
    """TensorListScatterV2(tensor, indices, element_shape, num_elements) -> output_handle; element_dtype, shape_type"""
    known = c.maybe_sizes(num_elements)
    if known == [-1]:
        return scatter(c, tensor, indices, element_shape)
    return _scattered(c, tensor, indices, TensorList(tensor.dtype, _partial(c, element_shape), c.size(num_elements)))


@tf_op("TensorListScatterIntoExistingList", raw=True)
def scatter_into(c: Call, input_handle: TensorList, tensor: Value, indices: Value) -> TensorList:
    """TensorListScatterIntoExistingList(input_handle, tensor, indices) -> output_handle; element_dtype"""
    return _scattered(c, tensor, indices, input_handle)


def _scattered(c: Call, tensor: Value, indices: Value, list: TensorList) -> TensorList:
    items = list.dense(c, tensor.shape[1:])
    return list.written(c.b.ScatterND(items, c.unsqueeze(c.int64(indices), 1), tensor))


@tf_op("TensorListConcat", "TensorListConcatV2", raw=True)
def concat(c: Call, input_handle: TensorList, *element_shape: Any) -> list[Value]:
    """TensorListConcat(input_handle) -> tensor, lengths; element_dtype, element_shape
    TensorListConcatV2(input_handle, element_shape, leading_dims) -> tensor, lengths; element_dtype, shape_type
    """
    shape = _sizes(c, element_shape[0]) if element_shape else None
    items = input_handle.dense(c, shape)
    rows, each = items.shape[:2]
    flat = c.reshape(items, (rows * each, *items.shape[2:]))
    return [flat, c.full((rows,), c.b.scalar(each)) if not isinstance(each, int) else c.full((rows,), each, INT64)]


@tf_op("TensorListConcatLists", raw=True)
def concat_lists(c: Call, input_a: TensorList, input_b: TensorList) -> TensorList:
    """TensorListConcatLists(input_a, input_b) -> output; element_dtype"""
    return input_a.written(c.b.Concat([input_a.dense(c), input_b.dense(c)], axis=0))


@tf_op("TensorListSplit", raw=True)
def split(c: Call, tensor: Value, element_shape: Value, lengths: Value) -> TensorList:
    """TensorListSplit(tensor, element_shape, lengths) -> output_handle; element_dtype, shape_type"""
    sizes = c.ints(lengths, "lengths")
    if not sizes or any(s != sizes[0] for s in sizes):
        raise c.unsupported("elements of different lengths")
    items = c.reshape(tensor, (len(sizes), sizes[0], *tensor.shape[1:]))
    return TensorList(tensor.dtype, None, len(sizes), items)
