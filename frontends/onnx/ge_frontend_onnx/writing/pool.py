"""Windows that ONNX's pools lack: of other divisors, that reach further, with holes, of different sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.infer import Infer
from ge_core.ops.windows import Windows, window_attributes

from .lowerings import lowers
from .sizes import Sizes


def _ints(node: Node, name: str) -> list[int]:
    found: Any = node.attrs[name]
    return [int(n) for n in found]


@lowers("ge.AveragePool")
def average_pool(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """ONNX's pool; a divisor of its own scales the mean over whole windows."""
    divisor = int(node.attrs.get("divisor", 0))  # type: ignore[arg-type]
    if node.attrs["ceil_mode"]:
        return _over_pads(b, node, sizes, bool(node.attrs["count_include_pad"]), divisor)
    attrs = {name: node.attrs[name] for name in ("kernel_shape", "strides", "pads", "dilations")}
    include = 1 if divisor else int(node.attrs["count_include_pad"])  # type: ignore[arg-type]
    y = b.AveragePool(operand(node.inputs, 0), count_include_pad=include, **attrs)
    if divisor:
        y = b.Mul(y, b.constant(math.prod(_ints(node, "kernel_shape")) / divisor, y.dtype))
    return [y]


@lowers("AveragePool")
def average_pool_with_holes(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 19."""
    return _over_pads(b, node, sizes, bool(node.attrs.get("count_include_pad", 0)), 0)


@lowers("LpPool")
def lp_pool_with_holes(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 18: the root of the sum of powers."""
    x = operand(node.inputs, 0)
    p = float(node.attrs.get("p", 2))  # type: ignore[arg-type]
    windows = _windows(node)
    data = b.Abs(widened(b, x))
    powers = b.Pow(data, b.constant(p, data.dtype))
    before, counted, beyond = _reach(x, node.output, windows)
    behind = [c + o for c, o in zip(counted, beyond, strict=True)]
    mean = _means(b, _padded(b, powers, before, behind, 0.0, sizes), windows, sizes)
    total = b.Mul(mean, b.constant(math.prod(_ints(node, "kernel_shape")), mean.dtype))
    return [cast(b, b.Pow(total, b.constant(1 / p, total.dtype)), x.dtype)]


def _windows(node: Node) -> Windows:
    c = Infer(node, len(node.outputs))
    return window_attributes(c, c.error, _ints(node, "kernel_shape"), c.shape(0)[2:])


def _reach(x: Value, y: Value, windows: Windows) -> tuple[list[Size], list[Size], list[Size]]:
    """What the windows need before the data, behind it as far as it is a pad, and beyond that."""
    counted: list[Size] = []
    beyond: list[Size] = []
    for i, (n, m) in enumerate(zip(x.shape[2:], y.shape[2:], strict=True)):
        needed = dims.maximum((m - 1) * windows.strides[i] + windows.extent(i) - n - windows.begin[i], 0)
        counted.append(dims.minimum(needed, windows.end[i]))
        beyond.append(needed - counted[i])
    return list(windows.begin), counted, beyond


def _over_pads(b: Builder, node: Node, sizes: Sizes, include: bool, divisor: int) -> Sequence[Value]:
    """Means with zeros beyond the data, over how much of each window counts."""
    x = operand(node.inputs, 0)
    data, windows = widened(b, x), _windows(node)
    before, counted, beyond = _reach(x, node.output, windows)
    behind = [c + o for c, o in zip(counted, beyond, strict=True)]
    y = _means(b, _padded(b, data, before, behind, 0.0, sizes), windows, sizes)
    if divisor:
        y = b.Mul(y, b.constant(math.prod(_ints(node, "kernel_shape")) / divisor, y.dtype))
    else:
        plane = b.Expand(b.constant(1.0, data.dtype), _vector(b, (1, 1, *x.shape[2:]), sizes))
        part = _padded(b, plane, before, counted, float(include), sizes)
        whole = _padded(b, part, [0] * windows.rank, beyond, 0.0, sizes)
        y = b.Div(y, _means(b, whole, windows, sizes))
    return [cast(b, y, x.dtype)]


def _vector(b: Builder, shape: Sequence[Size], sizes: Sizes) -> Value:
    made: Value = b.Concat([sizes.vector(b, n) for n in shape], axis=0)
    return made


def _padded(b: Builder, x: Value, before: Sequence[Size], behind: Sequence[Size], fill: float, sizes: Sizes) -> Value:
    made: Value = b.Pad(x, _vector(b, (0, 0, *before, 0, 0, *behind), sizes), b.constant(fill, x.dtype))
    return made


def _means(b: Builder, x: Value, windows: Windows, sizes: Sizes) -> Value:
    """Means over whole windows; those with holes by a convolution of each channel."""
    kernel = [int(k) for k in windows.kernel]  # type: ignore[arg-type]
    if all(d == 1 for d in windows.dilations):
        made: Value = b.AveragePool(x, kernel_shape=kernel, strides=windows.strides)
        return made
    planes = _vector(b, (dims.product(x.shape[:2]), 1, *x.shape[2:]), sizes)
    weights = b.constant(np.full((1, 1, *kernel), 1 / math.prod(kernel)), x.dtype)
    means = b.Conv(b.Reshape(x, planes, allowzero=1), weights, strides=windows.strides, dilations=windows.dilations)
    made = b.Reshape(means, _vector(b, (*x.shape[:2], *means.shape[2:]), sizes), allowzero=1)
    return made


@lowers("ge.AdaptivePool")
def adaptive_pool(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """ONNX's pools where all windows have one size; else what each window holds is gathered, axis by axis."""
    x = operand(node.inputs, 0)
    out: Any = node.attrs["output_size"]
    rank, average = len(out), node.attrs["mode"] == "average"
    spatial = x.shape[x.rank - rank :]
    if len(node.outputs) == 1 and rank == x.rank - 2:
        parts = [dims.exact_div(n, m) for n, m in zip(spatial, out, strict=True)]
        if all(isinstance(n, int) and n > 0 for n in parts):
            return [b.op("AveragePool" if average else "MaxPool", x, kernel_shape=parts, strides=parts)]
    y = widened(b, x)
    places: Value | None = None
    if len(node.outputs) > 1:
        numbers = b.Range(np.int64(0), _scalar(b, dims.product(spatial), sizes), np.int64(1))
        whole = _vector(b, x.shape, sizes)
        places = b.Expand(b.Reshape(numbers, _vector(b, spatial, sizes)), whole)
    for i in reversed(range(rank)):
        y, places = _pooled(b, y, places, x.rank - rank + i, spatial[i], out[i], average, sizes)
    return [cast(b, y, x.dtype)] if places is None else [cast(b, y, x.dtype), places]


def _scalar(b: Builder, size: Size, sizes: Sizes) -> Value:
    made: Value = b.Reshape(sizes.vector(b, size), b.constant(np.zeros(0, np.int64)))
    return made


def _pooled(
    b: Builder, x: Value, places: Value | None, axis: int, n: Size, m: Size, average: bool, sizes: Sizes
) -> tuple[Value, Value | None]:
    """One axis of size n in m windows: window j holds floor(j n / m) up to ceil((j + 1) n / m)."""
    count, size = sizes.vector(b, m), sizes.vector(b, n)
    numbers = b.Range(np.int64(0), _scalar(b, m, sizes), np.int64(1))
    first = b.Div(b.Mul(numbers, size), count)
    last = b.Div(b.Sub(b.Add(b.Mul(b.Add(numbers, np.int64(1)), size), count), np.int64(1)), count)
    longest = b.Reshape(b.ReduceMax(b.Sub(last, first), keepdims=0), b.constant(np.zeros(0, np.int64)))
    steps = b.Unsqueeze(b.Range(np.int64(0), longest, np.int64(1)), b.ints(0))
    # a window that is shorter holds its last element several times
    reached = b.Add(b.Unsqueeze(first, b.ints(1)), steps)
    end = b.Unsqueeze(last, b.ints(1))
    inside = b.Less(reached, end)
    windows = b.Gather(x, b.Where(inside, reached, b.Sub(end, np.int64(1))), axis=axis)
    if average:
        behind = list(range(2, 2 + x.rank - axis - 1))
        weights = b.Div(b.Cast(inside, to=x.dtype), b.Cast(b.Sub(end, b.Unsqueeze(first, b.ints(1))), to=x.dtype))
        weights = b.Unsqueeze(weights, b.ints(behind)) if behind else weights
        return b.ReduceSum(b.Mul(windows, weights), b.ints(axis + 1), keepdims=0), None
    if places is None:
        return b.ReduceMax(windows, b.ints(axis + 1), keepdims=0), None
    best = b.ArgMax(windows, axis=axis + 1, keepdims=1)
    held = b.Gather(places, b.Where(inside, reached, b.Sub(end, np.int64(1))), axis=axis)
    one, where = (b.Squeeze(b.GatherElements(v, best, axis=axis + 1), b.ints(axis + 1)) for v in (windows, held))
    return one, where
