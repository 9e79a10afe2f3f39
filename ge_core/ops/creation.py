"""Type rules of operators that make tensors from sizes and scalars."""

from __future__ import annotations

import math

import numpy as np

from ge_core.ir import dims
from ge_core.ir.constant import MAX_CONTENT, Constant
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import float32
from ge_core.ir.types import TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.shape import data_shape


@type_rule("Range")
def range_(c: Infer) -> Type:
    dtype = c.same_dtype(0, 1, 2)
    contents = [c.content(i) for i in range(3)]
    size: Size | None = None
    if all(e is not None for e in contents):
        start, limit, delta = (e[0] for e in contents if e is not None)
        if delta == 0:
            raise c.error("delta is 0")
        size = _steps(start, limit, delta)
        if isinstance(size, int) and size <= MAX_CONTENT:
            c.set_content(0, [start + i * delta for i in range(size)])
    else:
        constants = [c.constant(i) for i in range(3)]
        if all(a is not None for a in constants):
            size = range_length(*(float(a.reshape(())) for a in constants if a is not None))
    return TensorType(dtype, (c.data_dim(0, 0) if size is None else size,))


def _steps(start: Size, limit: Size, delta: Size) -> Size | None:
    if isinstance(delta, Dim):
        low = dims.bounds(delta)[0]
        if low is None or low < 1:
            return None
        return dims.maximum(0, dims.floordiv(limit - start + delta - 1, delta))
    length = limit - start if delta > 0 else start - limit
    return dims.maximum(0, dims.ceildiv(length, abs(delta)))


def range_length(start: float, limit: float, delta: float) -> int:
    """Elements of a range of floats.

    Raises:
        ZeroDivisionError: delta is 0.
    """
    return max(0, math.ceil((limit - start) / delta))


@type_rule("ConstantOfShape")
def constant_of_shape(c: Infer) -> Type:
    value: Constant | None = c.attr("value")
    dtype = float32 if value is None else value.type.dtype
    shape = c.content(0)
    if shape is None:
        return TensorType(dtype, data_shape(c, 0))
    if any(isinstance(d, int) and d < 0 for d in shape):
        raise c.error(f"shape {list(shape)} has a negative size")
    count = dims.product(shape)
    if value is not None and (dtype.is_integer or dtype.kind == "bool") and len(shape) <= 1:
        fits = isinstance(count, int) and count <= MAX_CONTENT
        if isinstance(count, int) and fits:
            c.set_content(0, (int(value.array().reshape(())),) * count)
    return TensorType(dtype, shape)


@type_rule("EyeLike")
def eye_like(c: Infer) -> Type:
    if c.rank(0) != 2:
        raise c.error(f"needs a matrix, got {c.type(0)}")
    return TensorType(c.attr("dtype") or c.dtype(0), c.shape(0))


@type_rule("OneHot")
def one_hot(c: Infer) -> Type:
    indices = c.shape(0)
    axis = c.attr("axis")
    if not -len(indices) - 1 <= axis <= len(indices):
        raise c.error(f"axis {axis} is out of range for indices of rank {len(indices)}")
    axis += len(indices) + 1 if axis < 0 else 0
    return TensorType(c.dtype(2), (*indices[:axis], _depth(c, axis), *indices[axis:]))


def _depth(c: Infer, axis: int) -> Size:
    content = c.content(1)
    if content is not None:
        return content[0]
    constant = c.constant(1)
    if constant is not None:
        return int(np.asarray(constant).reshape(()).astype(np.float64))
    return c.data_dim(0, axis)
