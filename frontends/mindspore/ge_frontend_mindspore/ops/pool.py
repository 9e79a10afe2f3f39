"""Pools. Data [N, C, *spatial], or without N."""

from __future__ import annotations

import math
from typing import Any

from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive
from .conv import batched, pads_of, spatial_of

_NHWC = 1  # MindSpore's Format


def _no_channels_last(c: Call, format: Any) -> None:
    if format in (_NHWC, "NHWC", "NDHWC"):
        raise c.unsupported(f"the data format {format!r}")


@primitive("MaxPool")
def max_pool(c: Call, x: Value, kernel_size: Any, strides: Any, pad_mode: Any, format: str = "NCHW") -> Value:
    """MaxPool(kernel_size=1, strides=1, pad_mode='valid', data_format='NCHW')(x)"""
    _no_channels_last(c, format)
    rank = x.rank - 2
    return c.b.MaxPool(
        x, kernel_shape=spatial_of(kernel_size, rank), strides=spatial_of(strides, rank), num_outputs=1,
        **pads_of(c, pad_mode, 0, rank),
    )  # fmt: skip


@primitive("MaxPool3D", ignores=("data_format",))
def max_pool3d(
    c: Call,
    x: Value,
    kernel_size: Any,
    strides: Any,
    pad_mode: Any,
    pad_list: Any = 0,
    ceil_mode: Any = 0,
    format: str = "NCDHW",
) -> Value:
    """MaxPool3D(kernel_size=1, strides=1, pad_mode='VALID', pad_list=0, ceil_mode=None, data_format='NCDHW')(x)"""
    _no_channels_last(c, format)
    return c.b.MaxPool(
        x, kernel_shape=spatial_of(kernel_size, 3), strides=spatial_of(strides, 3), ceil_mode=int(bool(ceil_mode)),
        num_outputs=1, **pads_of(c, pad_mode, pad_list, 3),
    )  # fmt: skip


@primitive("AvgPool")
def avg_pool(c: Call, x: Value, kernel_size: Any, strides: Any, pad_mode: Any, data_format: Any = 0) -> Value:
    """AvgPool(kernel_size=1, strides=1, pad_mode='VALID', data_format='NCHW')(x)"""
    _no_channels_last(c, data_format)
    rank = x.rank - 2
    return c.b.AveragePool(
        x, kernel_shape=spatial_of(kernel_size, rank), strides=spatial_of(strides, rank), count_include_pad=0,
        **pads_of(c, pad_mode, 0, rank),
    )  # fmt: skip


@primitive("AvgPool3D", ignores=("pad", "data_format"))
def avg_pool3d(
    c: Call,
    x: Value,
    kernel_size: Any,
    strides: Any,
    pad_mode: Any,
    pad_list: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    format: str = "NCDHW",
) -> Value:
    """AvgPool3D(kernel_size=1, strides=1, pad_mode='valid', pad=0, ceil_mode=False, count_include_pad=True,
    divisor_override=0, data_format='NCDHW')(x)"""
    _no_channels_last(c, format)
    kernel, steps = spatial_of(kernel_size, 3), spatial_of(strides, 3)
    pads = pads_of(c, pad_mode, pad_list, 3)
    if "pads" not in pads:
        return c.b.AveragePool(x, kernel_shape=kernel, strides=steps, count_include_pad=int(count_include_pad), **pads)
    return c.b.ge.AveragePool(
        x, kernel_shape=kernel, strides=steps, dilations=[1] * 3, ceil_mode=int(ceil_mode), divisor=divisor_override,
        count_include_pad=int(count_include_pad), **pads,
    )  # fmt: skip


@primitive("AvgPool1D", "AvgPool2D", "AvgPool3DExt")
def avg_pool_ext(
    c: Call,
    input: Value,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Value:
    """AvgPool2D(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
    divisor_override=None); AvgPool1D; AvgPool3DExt"""
    rank = {"AvgPool1D": 1, "AvgPool2D": 2, "AvgPool3DExt": 3}[c.op]
    kernel = spatial_of(kernel_size, rank)
    steps = spatial_of(stride, rank) if stride else kernel

    def build(x: Value) -> Value:
        result: Value = c.b.ge.AveragePool(
            x, kernel_shape=kernel, strides=steps, pads=spatial_of(padding, rank) * 2, dilations=[1] * rank,
            ceil_mode=int(ceil_mode), count_include_pad=int(count_include_pad), divisor=divisor_override or 0,
        )  # fmt: skip
        return result

    found: Value = batched(c, input, rank, build)
    return found


@primitive("MaxPoolWithArgmaxV2", "MaxPoolWithIndices", ignores=("argmax_type", "data_format", "format"))
def max_pool_with_places(
    c: Call, x: Value, kernel_size: Any, strides: Any, pads: Any, dilation: Any, ceil_mode: bool
) -> tuple[Value, Value]:
    """MaxPoolWithArgmaxV2(kernel_size, strides=None, pads=0, dilation=(1, 1), ceil_mode=False, argmax_type)(x);
    MaxPoolWithIndices(input, kernel_size, strides=None, pads=0, dilation=1, ceil_mode=False, argmax_type)"""
    return _with_places(c, x, 2, kernel_size, strides, pads, dilation, ceil_mode)


@primitive("MaxPool3DWithArgmax", ignores=("argmax_type", "data_format", "format"))
def max_pool3d_with_places(
    c: Call, x: Value, ksize: Any, strides: Any, pads: Any, dilation: Any, ceil_mode: bool
) -> tuple[Value, Value]:
    """MaxPool3DWithArgmax(ksize, strides, pads, dilation=(1, 1, 1), ceil_mode=False, data_format='NCDHW')(x)"""
    return _with_places(c, x, 3, ksize, strides, pads, dilation, ceil_mode)


def _with_places(
    c: Call, x: Value, rank: int, kernel_size: Any, strides: Any, pads: Any, dilation: Any, ceil_mode: bool
) -> tuple[Value, Value]:
    """A pool of the largest, and the places of what it took, counted within a plane."""
    kernel = spatial_of(kernel_size, rank)
    steps = spatial_of(strides, rank) if strides else kernel

    def build(data: Value) -> tuple[Value, Value]:
        values, places = c.b.MaxPool(
            data, kernel_shape=kernel, strides=steps, pads=spatial_of(pads, rank) * 2,
            dilations=spatial_of(dilation, rank), ceil_mode=int(ceil_mode), num_outputs=2,
        )  # fmt: skip
        # ONNX counts places over the whole tensor
        plane = c.tensor(c.b.scalar(dims.product(data.shape[2:])), None)
        return values, c.cast(c.b.Mod(places, plane), c.dtype(1))

    found: tuple[Value, Value] = batched(c, x, rank, build)
    return found


@primitive("FuncMaxPool2D")
def func_max_pool2d(
    c: Call, input: Value, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: bool
) -> Any:
    """FuncMaxPool2D(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)"""
    return max_pool_with_places(c, input, kernel_size, stride, padding, dilation, ceil_mode)


@primitive("AdaptiveAvgPool1D", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveAvgPool2DExt",
           "AdaptiveAvgPool3DExt")  # fmt: skip
def adaptive_avg_pool(c: Call, x: Value, output_size: Any) -> Value:
    """AdaptiveAvgPool2D(output_size)(x); AdaptiveAvgPool1D(input, output_size) and the like"""
    rank = _rank_of(c.op)

    def build(data: Value) -> Value:
        sizes = _wanted(c, output_size, data, rank)
        if all(s == 1 for s in sizes):
            result: Value = c.b.GlobalAveragePool(data)
            return result
        whole = [dims.exact_div(n, s) if s != 0 else None for n, s in zip(data.shape[2:], sizes, strict=True)]
        if all(isinstance(k, int) and k > 0 for k in whole):
            result = c.b.AveragePool(data, kernel_shape=whole, strides=whole)
            return result
        result = c.b.ge.AdaptivePool(data, output_size=sizes, mode="average", num_outputs=1)
        return result

    found: Value = batched(c, x, rank, build)
    return found


def _rank_of(op: str) -> int:
    return next(int(ch) for ch in op if ch.isdigit())


def _wanted(c: Call, output_size: Any, x: Value, rank: int) -> list[Any]:
    """The sizes of the output; None and -1 keep the input's."""
    given = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * rank
    given = given * rank if len(given) == 1 else given
    return [x.shape[2 + k] if s in (None, -1) else c.size(s) for k, s in enumerate(given)]


@primitive("AdaptiveMaxPool1D", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D")
def adaptive_max_pool(c: Call, x: Value, output_size: Any) -> tuple[Value, Value]:
    """AdaptiveMaxPool2D(input, output_size); AdaptiveMaxPool3D()(x, output_size)"""
    rank = _rank_of(c.op)

    def build(data: Value) -> tuple[Value, Value]:
        sizes = _wanted(c, c.sizes(output_size) if isinstance(output_size, Value) else output_size, data, rank)
        values, places = c.b.ge.AdaptivePool(data, output_size=sizes, mode="max", num_outputs=2)
        return values, c.cast(places, c.dtype(1) if c.results > 1 else DType.of("int64"))

    found: tuple[Value, Value] = batched(c, x, rank, build)
    return found if c.results > 1 else found[0]  # type: ignore[return-value]


@primitive("MaxUnpool2D", "MaxUnpool3D", ignores=("data_format", "format", "ksize", "strides", "pads", "output_shape"))
def max_unpool(c: Call, x: Value, argmax: Value) -> Value:
    """MaxUnpool2D(ksize, strides=0, pads=0, output_shape=(), data_format='NCHW')(x, argmax)"""
    rank = 2 if c.op == "MaxUnpool2D" else 3
    said = c.described().sizes
    if said is None or any(s < 0 for s in said):
        raise c.unsupported("an output of unknown size")
    lead = list(said[:-rank])
    rows, plane = math.prod(lead), math.prod(said[-rank:])
    inner = dims.product(x.shape[-rank:])
    flat = c.full((rows, plane), 0, x.dtype)
    places = c.b.Cast(c.reshape(argmax, (rows, inner)), to="int64")
    return c.reshape(c.b.ScatterElements(flat, places, c.reshape(x, (rows, inner)), axis=1), said)
