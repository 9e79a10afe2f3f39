"""Pools. Data [N, C, *spatial], or without N."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten


def _of_name(name: str) -> int:
    """The number of spatial axes: 1 for `max_pool1d`, 2 for `avg_pool2d`."""
    return next(int(ch) for ch in name if ch.isdigit())


def _all(numbers: int | Sequence[int], spatial: int) -> list[int]:
    given = [numbers] if isinstance(numbers, int) else list(numbers)
    return given * spatial if len(given) == 1 else given


def _batched(c: Call, x: Value, spatial: int, build: Callable[[Value], Any]) -> Any:
    """An operator on data with a batch axis, for data without it too; it may have several results."""
    if x.rank == spatial + 2:
        return build(x)
    found = build(c.unsqueeze(x, 0))
    return tuple(c.squeeze(v, 0) for v in found) if isinstance(found, tuple) else c.squeeze(found, 0)


def _max_pool(
    c: Call,
    x: Value,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    with_indices: bool,
) -> Any:
    b, spatial = c.b, _of_name(c.name)
    kernel, pads = _all(kernel_size, spatial), _all(padding, spatial)

    def build(data: Value) -> Any:
        result = b.op(
            "MaxPool",
            data,
            kernel_shape=kernel,
            strides=_all(stride, spatial) if stride else kernel,
            pads=[*pads, *pads],
            dilations=_all(dilation, spatial),
            ceil_mode=int(ceil_mode),
            num_outputs=2 if with_indices else 1,
        )
        if not with_indices:
            return result
        values, places = result
        # ONNX counts places over the whole tensor, torch within a plane
        plane = c.scalar(dims.product(data.shape[2:]), DType.of("int64"))
        return values, b.Mod(places, plane)

    return _batched(c, x, spatial, build)


@aten("max_pool1d.default", "max_pool2d.default", "max_pool3d.default")
def max_pool(
    c: Call,
    x: Value,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Value:
    """max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1],
        bool ceil_mode=False) -> Tensor
    max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool
        ceil_mode=False) -> Tensor
    max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool
        ceil_mode=False) -> Tensor
    """
    return _max_pool(c, x, kernel_size, stride, padding, dilation, ceil_mode, False)


@aten("max_pool1d_with_indices.default", "max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool_with_indices(
    c: Call,
    x: Value,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> tuple[Value, Value]:
    """max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1]
        dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)
    max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2]
        dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
    max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3]
        dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
    """
    return _max_pool(c, x, kernel_size, stride, padding, dilation, ceil_mode, True)


@aten("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def avg_pool(
    c: Call,
    x: Value,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Value:
    """avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False,
        bool count_include_pad=True) -> Tensor
    avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False,
        bool count_include_pad=True, int? divisor_override=None) -> Tensor
    avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False,
        bool count_include_pad=True, int? divisor_override=None) -> Tensor
    """
    spatial = _of_name(c.name)
    kernel, pads = _all(kernel_size, spatial), _all(padding, spatial)
    divisor: dict[str, Any] = {"divisor": divisor_override} if divisor_override else {}

    def build(data: Value) -> Value:
        return c.b.op(
            "ge.AveragePool" if ceil_mode or divisor_override else "AveragePool",
            data,
            kernel_shape=kernel,
            strides=_all(stride, spatial) if stride else kernel,
            pads=[*pads, *pads],
            dilations=[1] * spatial,
            ceil_mode=int(ceil_mode),
            count_include_pad=int(count_include_pad),
            **divisor,
        )

    return _batched(c, x, spatial, build)


@aten("adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "adaptive_avg_pool3d.default",
      "_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default")  # fmt: skip
def adaptive_avg_pool(c: Call, x: Value, output_size: Sequence[Size]) -> Value:
    """adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor
    adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor
    adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor
    _adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor
    _adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor
    """
    spatial = _of_name(c.name)
    sizes = c.shape()[-spatial:]

    def build(data: Value) -> Value:
        inner = data.shape[2:]
        if all(size == 1 for size in sizes):
            return c.b.GlobalAveragePool(data)
        if sizes == inner:
            return data
        whole = [dims.exact_div(n, size) for n, size in zip(inner, sizes, strict=True)]
        if all(isinstance(k, int) and k > 0 for k in whole):
            value = c.b.AveragePool(data, kernel_shape=whole, strides=whole)
            return value
        value = c.b.ge.AdaptivePool(data, output_size=sizes, mode="average", num_outputs=1)
        return value

    return _batched(c, x, spatial, build)


@aten("adaptive_max_pool1d.default", "adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def adaptive_max_pool(c: Call, x: Value, output_size: Sequence[Size]) -> tuple[Value, Value]:
    """adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)
    adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)
    adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)
    """
    spatial = _of_name(c.name)
    sizes = c.shape()[-spatial:]

    def build(data: Value) -> tuple[Value, Value]:
        return c.b.ge.AdaptivePool(data, output_size=sizes, mode="max", num_outputs=2)

    return _batched(c, x, spatial, build)


@aten("max_unpool2d.default")
def max_unpool2d(c: Call, x: Value, indices: Value, output_size: Sequence[Size]) -> Value:
    """max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor"""
    b = c.b
    *lead, height, width = c.shape()
    count = dims.product(lead)
    flat = c.full((count, height * width), 0, x.dtype)
    inner = dims.product(x.shape[-2:])
    places, values = c.reshape(indices, (count, inner)), c.reshape(x, (count, inner))
    return c.reshape(b.ScatterElements(flat, places, values, axis=1), (*lead, height, width))
