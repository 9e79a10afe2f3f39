"""Pools."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import INT64, Call
from ..layout import channels_first, is_last, spatial, spatial_sizes, to_first, to_last
from ..padding import explicit_spatial, same_pads, window_pads
from ..registry import tf_op


def _attributes(c: Call, x: Value, kernel: list[int], strides: list[int]) -> dict[str, Any]:
    rates = [1] * len(kernel)
    pads = window_pads(c.attr("padding"), explicit_spatial(c), spatial_sizes(c, x), kernel, strides, rates)
    return {"kernel_shape": kernel, "strides": strides, **pads}


@tf_op("MaxPool", "MaxPool3D")
def max_pool(c: Call, input: Value) -> Value:
    """MaxPool(input) -> output; T, ksize, strides, padding, explicit_paddings, data_format
    MaxPool3D(input) -> output; ksize, strides, padding, data_format, T
    """
    return _max_pool(c, input, c.attr("ksize"), c.attr("strides"))


@tf_op("MaxPoolV2")
def max_pool_v2(c: Call, input: Value, ksize: Value, strides: Value) -> Value:
    """MaxPoolV2(input, ksize, strides) -> output; T, padding, data_format"""
    return _max_pool(c, input, c.ints(ksize, "a window"), c.ints(strides, "strides"))


def _max_pool(c: Call, x: Value, ksize: list[int], strides: list[int]) -> Value:
    if is_last(c) and (ksize[0] != 1 or ksize[-1] != 1):
        if ksize[-1] == 1 or any(k != 1 for k in ksize[1:-1]):
            raise c.unsupported("a window over the batch")
        return _over_channels(c, x, ksize[-1], strides[-1])
    attrs = _attributes(c, x, spatial(c, ksize), spatial(c, strides))
    return channels_first(c, x, lambda v: c.b.op("MaxPool", v, num_outputs=1, **attrs))


def _over_channels(c: Call, x: Value, size: int, stride: int) -> Value:
    """A pool over groups of channels."""
    count = x.shape[-1]
    if size != stride or not isinstance(count, int) or count % size:
        raise c.unsupported("a window over channels that overlap")
    parts = c.reshape(x, (*x.shape[:-1], count // size, size))
    return c.b.ReduceMax(parts, c.b.ints(-1), keepdims=0)


@tf_op("AvgPool", "AvgPool3D")
def avg_pool(c: Call, value: Value) -> Value:
    """AvgPool(value) -> output; ksize, strides, padding, data_format, T
    AvgPool3D(input) -> output; ksize, strides, padding, data_format, T
    """
    kernel, strides = spatial(c, c.attr("ksize")), spatial(c, c.attr("strides"))
    attrs = _attributes(c, value, kernel, strides)
    return channels_first(c, value, lambda v: c.b.AveragePool(v, count_include_pad=0, **attrs))


@tf_op("MaxPoolWithArgmax")
def max_pool_with_argmax(c: Call, input: Value) -> tuple[Value, Value]:
    """MaxPoolWithArgmax(input) -> output, argmax; ksize, strides, Targmax, padding, include_batch_in_index, T"""
    b = c.b
    kernel, strides = c.attr("ksize")[1:-1], c.attr("strides")[1:-1]
    pads = window_pads(c.attr("padding"), [], input.shape[1:-1], kernel, strides, [1, 1])
    values, places = b.op("MaxPool", to_first(c, input), kernel_shape=kernel, strides=strides, num_outputs=2, **pads)
    batch, height, width, channels = input.shape
    plane = c.scalar(height * width, INT64)
    deep = c.scalar(channels, INT64)
    found = b.Mul(b.Mod(places, plane), deep)
    numbers = b.Range(b.scalar(0), b.scalar(channels), b.scalar(1))
    found = b.Add(found, c.reshape(numbers, (channels, 1, 1)))
    if c.attr("include_batch_in_index"):
        rows = b.Range(b.scalar(0), b.scalar(batch), b.scalar(1))
        whole = c.scalar(height * width * channels, INT64)
        found = b.Add(found, b.Mul(c.reshape(rows, (batch, 1, 1, 1)), whole))
    return to_last(c, values), to_last(c, c.cast(found, c.dtype("Targmax")))


def window_slices(
    c: Call,
    x: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    fill: float,
) -> dict[tuple[int, int], Value]:
    """For each place in a window the elements [N, positions.., C] that stand there."""
    from .shape import padded

    sizes = x.shape[1:3]
    pairs: list[tuple[Size, Size]] = [(0, 0)]
    counts: list[Size] = []
    for n, k, s, r in zip(sizes, kernel, strides, rates, strict=True):
        if not isinstance(n, int):
            raise c.unsupported("a spatial size that is not known at import")
        before, after = same_pads(n, k, s, r) if padding == "SAME" else (0, 0)
        pairs.append((before, after))
        counts.append((n + before + after - (k - 1) * r - 1) // s + 1)
    wide = padded(c, x, [*pairs, (0, 0)], c.like(fill, x))
    b = c.b
    found = {}
    for i, j in product(range(kernel[0]), range(kernel[1])):
        starts = [i * rates[0], j * rates[1]]
        ends = [s + (n - 1) * k + 1 for s, n, k in zip(starts, counts, strides, strict=True)]
        found[i, j] = b.Slice(wide, b.ints(starts), b.ints(ends), b.ints(1, 2), b.ints(strides))
    return found


@tf_op("ExtractImagePatches")
def extract_image_patches(c: Call, images: Value) -> Value:
    """ExtractImagePatches(images) -> patches; ksizes, strides, rates, T, padding"""
    kernel, strides, rates = (c.attr(n)[1:-1] for n in ("ksizes", "strides", "rates"))
    parts = window_slices(c, images, kernel, strides, rates, c.attr("padding"), 0)
    return c.b.Concat(list(parts.values()), axis=3)


@tf_op("ExtractVolumePatches")
def extract_volume_patches(c: Call, input: Value) -> Value:
    """ExtractVolumePatches(input) -> patches; ksizes, strides, T, padding"""
    from .shape import padded

    b = c.b
    kernel, strides = c.attr("ksizes")[1:-1], c.attr("strides")[1:-1]
    pairs: list[tuple[Size, Size]] = [(0, 0)]
    counts = []
    for n, k, s in zip(input.shape[1:4], kernel, strides, strict=True):
        if not isinstance(n, int):
            raise c.unsupported("a spatial size that is not known at import")
        before, after = same_pads(n, k, s, 1) if c.attr("padding") == "SAME" else (0, 0)
        pairs.append((before, after))
        counts.append((n + before + after - k) // s + 1)
    wide = padded(c, input, [*pairs, (0, 0)], c.like(0, input))
    found = []
    for place in product(*(range(k) for k in kernel)):
        ends = [p + (n - 1) * s + 1 for p, n, s in zip(place, counts, strides, strict=True)]
        found.append(b.Slice(wide, b.ints(place), b.ints(ends), b.ints(1, 2, 3), b.ints(strides)))
    return b.Concat(found, axis=4)


@tf_op("DepthToSpace")
def depth_to_space(c: Call, input: Value) -> Value:
    """DepthToSpace(input) -> output; T, block_size, data_format"""
    return channels_first(c, input, lambda x: c.b.DepthToSpace(x, blocksize=c.attr("block_size"), mode="DCR"))


@tf_op("SpaceToDepth")
def space_to_depth(c: Call, input: Value) -> Value:
    """SpaceToDepth(input) -> output; T, block_size, data_format"""
    return channels_first(c, input, lambda x: c.b.SpaceToDepth(x, blocksize=c.attr("block_size")))


@tf_op("NthElement")
def nth_element(c: Call, input: Value, n: Value) -> Value:
    """NthElement(input, n) -> values; reverse, T"""
    ordered = c.b.ge.Sort(input, axis=-1, descending=int(c.attr("reverse")))[0]
    return c.b.Gather(ordered, c.int64(n), axis=input.rank - 1)
