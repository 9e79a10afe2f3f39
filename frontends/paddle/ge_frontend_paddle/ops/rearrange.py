"""Channels that become space, places of other channels, or other times."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import pd


@pd("pixel_shuffle")
def pixel_shuffle(c: Call, x: Value, *, upscale_factor: int = 1, data_format: str = "NCHW") -> Value:
    """pixel_shuffle(x, *, upscale_factor=1, data_format="NCHW") -> out"""
    if data_format == "NHWC":
        n, height, width, channels = x.shape
        r = upscale_factor
        parts = c.reshape(x, (n, height, width, dims.floordiv(channels, r * r), r, r))
        return c.reshape(
            c.transpose(parts, [0, 1, 4, 2, 5, 3]), (n, height * r, width * r, dims.floordiv(channels, r * r))
        )
    return c.b.DepthToSpace(x, blocksize=upscale_factor, mode="CRD")


@pd("pixel_unshuffle")
def pixel_unshuffle(c: Call, x: Value, *, downscale_factor: int = 1, data_format: str = "NCHW") -> Value:
    """pixel_unshuffle(x, *, downscale_factor=1, data_format="NCHW") -> out"""
    r, last = downscale_factor, data_format == "NHWC"
    if last:
        x = c.transpose(x, [0, 3, 1, 2])
    n, channels, height, width = x.shape
    down, across = dims.floordiv(height, r), dims.floordiv(width, r)
    parts = c.transpose(c.reshape(x, (n, channels, down, r, across, r)), [0, 1, 3, 5, 2, 4])
    found = c.reshape(parts, (n, channels * r * r, down, across))
    return c.transpose(found, [0, 2, 3, 1]) if last else found


@pd("channel_shuffle")
def channel_shuffle(c: Call, x: Value, *, groups: int, data_format: str = "NCHW") -> Value:
    """channel_shuffle(x, *, groups, data_format="NCHW") -> out"""
    return _shuffled(c, x, groups, 3 if data_format == "NHWC" else 1)


@pd("shuffle_channel")
def shuffle_channel(c: Call, x: Value, *, group: int = 1) -> Value:
    """shuffle_channel(x, *, group=1) -> out"""
    return _shuffled(c, x, group, 1)


def _shuffled(c: Call, x: Value, groups: int, axis: int) -> Value:
    parts = c.reshape(x, (*x.shape[:axis], groups, dims.floordiv(x.shape[axis], groups), *x.shape[axis + 1 :]))
    return c.reshape(c.swap(parts, axis, axis + 1), x.shape)


@pd("temporal_shift")
def temporal_shift(c: Call, x: Value, *, seg_num: int, shift_ratio: float = 0.25, data_format: str = "NCHW") -> Value:
    """temporal_shift(x, *, seg_num, shift_ratio=0.25f, data_format="NCHW") -> out"""
    last = data_format == "NHWC"
    if last:
        x = c.transpose(x, [0, 3, 1, 2])
    count, channels, height, width = x.shape
    if not isinstance(channels, int):
        raise c.unsupported("a number of channels that is not fixed")
    first, second = int(channels * shift_ratio), int(channels * 2 * shift_ratio)
    clips = c.reshape(x, (dims.floordiv(count, seg_num), seg_num, channels, height, width))
    b = c.b
    none = [0, 0, 0, 0, 0]
    zero = c.scalar(0, x.dtype)
    moved = []
    if first:
        earlier = c.slice(c.slice(clips, 2, 0, first), 1, 0, seg_num - 1)
        moved.append(b.Pad(earlier, b.ints([0, 1, 0, 0, 0, *none]), zero))
    if second > first:
        later = c.slice(c.slice(clips, 2, first, second), 1, 1, seg_num)
        moved.append(b.Pad(later, b.ints([*none, 0, 1, 0, 0, 0]), zero))
    if channels > second:
        moved.append(c.slice(clips, 2, second, channels))
    found = c.reshape(c.concat(moved, 2), (count, channels, height, width))
    return c.transpose(found, [0, 2, 3, 1]) if last else found
