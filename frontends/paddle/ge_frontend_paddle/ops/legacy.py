"""Operators of legacy programs that no operator of today says alone (see the table of legacy.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call, Sizes
from ..registry import pd
from ..tensor_array import LoopArray, TensorArray
from .array import array_write
from .creation import assign_value, full_with_tensor
from .indexing import set_value_with_tensor
from .reduction import reduce as reduced
from .shape import pad3d, split, split_with_num, strided_slice


@pd("legacy_reduce")
def reduce(
    c: Call,
    x: Value,
    *,
    dim: Sequence[int] = (),
    keepdim: bool = False,
    reduce_all: bool = False,
    dtype: DType | None = None,
    kind: str,
) -> Value:
    """reduce_sum, reduce_mean and so on: X, dim, keep_dim, reduce_all -> Out"""
    axes = [] if reduce_all or len(dim) >= max(x.rank, 1) else list(dim)
    if kind in ("any", "all"):
        numbers = c.b.Cast(x, to="int32")
        return c.b.Greater(reduced(c, "ReduceMax" if kind == "any" else "ReduceMin", numbers, axes, keepdim), 0)
    op = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd"}.get(kind)
    op = op or ("ReduceMax" if kind.endswith("max") else "ReduceMin")
    return reduced(c, op, c.cast(x, c.dtype()), axes, keepdim)


@pd("legacy_flatten")
def flatten(c: Call, x: Value, *, axis: int = 1) -> Value:
    """flatten2: X, axis -> Out, a matrix"""
    return c.reshape(x, (dims.product(x.shape[:axis]), dims.product(x.shape[axis:])))


@pd("legacy_split")
def split_(c: Call, x: Value, sections: Sizes | None, axis: Value, *, num: int = 0) -> list[Value]:
    """split: X, sections or num, axis -> Out"""
    if num:
        return split_with_num(c, x, axis, num=num)
    assert sections is not None
    return split(c, x, sections, axis)


@pd("legacy_strided_slice", ignores=("infer_flags",))
def strided(
    c: Call,
    x: Value,
    starts: Sizes,
    ends: Sizes,
    strides: Sizes,
    *,
    axes: Sequence[int],
    decrease_axis: Sequence[int] = (),
) -> Value:
    """strided_slice: Input, starts, ends, strides, axes, decrease_axis -> Out"""
    found = strided_slice(c, x, starts, ends, strides, axes=axes)
    return c.squeeze(found, *c.axes(list(decrease_axis), x.rank)) if decrease_axis else found


@pd("legacy_tril_triu")
def tril_triu(c: Call, x: Value, *, diagonal: int = 0, lower: bool = True) -> Value:
    """tril_triu: X, diagonal, lower -> Out"""
    return c.b.Trilu(x, c.b.scalar(diagonal), upper=int(not lower))


@pd("legacy_pad2d")
def pad2d(
    c: Call,
    x: Value,
    paddings: Sizes,
    *,
    mode: str = "constant",
    pad_value: float = 0.0,
    data_format: str = "NCHW",
) -> Value:
    """pad2d: X, paddings (top, bottom, left, right), mode, pad_value -> Out"""
    top, bottom, left, right = c.known_ints(paddings, "paddings")
    mode = "replicate" if mode == "edge" else mode
    return pad3d(c, x, [left, right, top, bottom], mode=mode, pad_value=pad_value, data_format=data_format)


@pd("legacy_fill_constant")
def fill_constant(
    c: Call,
    shape: Sizes,
    value_tensor: Value | None = None,
    *,
    value: float = 0.0,
    str_value: str = "",
    dtype: DType | None = None,
) -> Value:
    """fill_constant: shape, value or its text or tensor -> Out"""
    if value_tensor is not None:
        return full_with_tensor(c, value_tensor, shape)
    number: Any = value
    if str_value:
        number = float(str_value) if not str_value.lstrip("-").isdigit() else int(str_value)
    sizes = c.sizes(shape)
    if sizes is None:
        return c.b.Expand(c.scalar(number, c.dtype()), c.vector(shape))
    return c.full(sizes, number, c.dtype())


def _stored(kind: DType, **given: Sequence[Any]) -> Sequence[Any]:
    """The values of the element type's own attribute, or of the one for all types."""
    name = {"float32": "fp32", "float64": "fp64"}.get(kind.name, kind.name)
    return given.get(f"{name}_values") or given.get("values") or next((v for v in given.values() if v), [])


@pd("legacy_assign_value")
def assign(
    c: Call,
    *,
    shape: Sequence[int],
    dtype: DType | None = None,
    fp32_values: Sequence[float] = (),
    int32_values: Sequence[int] = (),
    int64_values: Sequence[int] = (),
    bool_values: Sequence[int] = (),
    values: Sequence[Any] = (),
) -> Value:
    """assign_value: shape, values -> Out"""
    found = _stored(
        c.dtype(), fp32_values=fp32_values, int32_values=int32_values, int64_values=int64_values,
        bool_values=bool_values, values=values,
    )  # fmt: skip
    return assign_value(c, shape=shape, values=found)


@pd("legacy_write_to_array")
def write_to_array(c: Call, array: TensorArray | LoopArray | None, x: Value, i: Value) -> TensorArray | LoopArray:
    """write_to_array: X, I -> Out"""
    return array_write(c, TensorArray(x.dtype) if array is None else array, x, i)


@pd("legacy_set_value")
def set_value(
    c: Call,
    x: Value,
    value: Value | None,
    starts: Sizes,
    ends: Sizes,
    steps: Sizes,
    *,
    axes: Sequence[int],
    decrease_axes: Sequence[int] = (),
    none_axes: Sequence[int] = (),
    shape: Sequence[int] = (),
    dtype: DType | None = None,
    fp32_values: Sequence[float] = (),
    fp64_values: Sequence[float] = (),
    int32_values: Sequence[int] = (),
    int64_values: Sequence[int] = (),
    bool_values: Sequence[int] = (),
    values: Sequence[Any] = (),
) -> Value:
    """set_value: Input, ValueTensor or values, starts, ends, steps, axes -> Out"""
    if value is None:
        found = _stored(
            x.dtype, fp32_values=fp32_values, fp64_values=fp64_values, int32_values=int32_values,
            int64_values=int64_values, bool_values=bool_values, values=values,
        )  # fmt: skip
        value = assign_value(c, shape=[] if len(found) == 1 else shape, values=found)
    return set_value_with_tensor(
        c, x, value, starts, ends, steps, axes=axes, decrease_axes=decrease_axes, none_axes=none_axes
    )
