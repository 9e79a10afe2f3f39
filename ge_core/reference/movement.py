"""Reference kernels of operators that move elements."""

from __future__ import annotations

import numpy as np

from ge_core.errors import ExecutionError, IndexRangeError, SizeBoundError
from ge_core.ir.dtype import string
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call

Array = np.ndarray


@kernel("Transpose")
def transpose(call: Call, x: Array) -> Array:
    return x.transpose(call.attr("perm"))


@kernel("Concat")
def concat(call: Call, *parts: Array) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, call.attr("axis"))


@kernel("Split")
def split(call: Call, x: Array, sizes: Array | None = None) -> tuple[Array, ...]:
    axis = call.attr("axis")
    count = call.num_outputs
    if sizes is None:
        part = -(-x.shape[axis] // count)
        ends = [min(part * i, x.shape[axis]) for i in range(1, count)]
    else:
        if sizes.sum() != x.shape[axis] or (sizes < 0).any():
            raise call.error(SizeBoundError, f"parts {sizes.tolist()} do not make {x.shape[axis]}")
        ends = np.cumsum(sizes)[:-1].tolist()
    return tuple(np.split(x, ends, axis))


@kernel("Slice")
def slice_(
    call: Call, x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> Array:
    places = range(len(starts)) if axes is None else [int(a) for a in axes]
    strides = [1] * len(starts) if steps is None else [int(s) for s in steps]
    cut = [slice(None)] * x.ndim
    for axis, start, end, step in zip(places, starts.tolist(), ends.tolist(), strides, strict=True):
        cut[axis] = slice(start, end, step)
    return x[tuple(cut)]


@kernel("Tile")
def tile(call: Call, x: Array, repeats: Array) -> Array:
    return np.tile(x, [int(r) for r in repeats])


@kernel("Pad")
def pad(call: Call, x: Array, pads: Array, value: Array | None = None, axes: Array | None = None) -> Array:
    places = range(x.ndim) if axes is None else [int(a) for a in axes]
    if any(not -x.ndim <= a < x.ndim for a in places):
        raise call.error(IndexRangeError, f"axes {list(places)} are out of range for rank {x.ndim}")
    amounts = [int(n) for n in pads]
    mode = call.attr("mode")
    before, after = [0] * x.ndim, [0] * x.ndim
    for k, axis in enumerate(places):
        before[axis], after[axis] = amounts[k], amounts[k + len(amounts) // 2]
    sizes = [n + b + a for n, b, a in zip(x.shape, before, after, strict=True)]
    if min(sizes, default=0) < 0:
        raise call.error(SizeBoundError, f"pads {amounts} take more than shape {list(x.shape)} has")
    if mode == "constant":
        return _pad_constant(call, x, before, sizes, value)
    for axis, (b, n) in enumerate(zip(before, sizes, strict=True)):
        if b or n != x.shape[axis]:
            if x.shape[axis] == 0 and n:
                raise call.error(SizeBoundError, f"axis {axis} is empty, mode {mode} has nothing to pad with")
            x = x.take(_padded_places(np.arange(-b, n - b), x.shape[axis], mode), axis)
    return x


def _pad_constant(call: Call, x: Array, before: list[int], sizes: list[int], value: Array | None) -> Array:
    blank = "" if call.dtype() == string else 0
    fill = np.asarray(blank, x.dtype) if value is None else value.reshape(())
    out = np.empty(sizes, x.dtype)
    out[...] = fill
    # where an axis begins and ends in the result; of one that is taken away as a whole nothing is left
    begins = [min(max(b, 0), size) for b, size in zip(before, sizes, strict=True)]
    ends = [max(min(b + n, s), first) for b, n, s, first in zip(before, x.shape, sizes, begins, strict=True)]
    inside = tuple(map(slice, begins, ends))
    out[inside] = x[tuple(slice(i - b, j - b) for i, j, b in zip(begins, ends, before, strict=True))]
    return out


def _padded_places(at: Array, size: int, mode: str) -> Array:
    """Where positions outside 0..size-1 read: the edge, mirrored without repeating it, or around."""
    if mode == "edge":
        return np.clip(at, 0, size - 1)
    if mode == "wrap":
        return at % size
    period = max(2 * (size - 1), 1)
    folded = at % period
    return np.minimum(folded, period - folded) if size > 1 else np.zeros_like(at)


@kernel("Trilu")
def trilu(call: Call, x: Array, k: Array | None = None) -> Array:
    offset = 0 if k is None else int(k.reshape(()))
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    kept = columns - rows >= offset if call.attr("upper") else columns - rows <= offset
    return np.where(kept, x, np.zeros((), x.dtype))


@kernel("DepthToSpace")
def depth_to_space(call: Call, x: Array) -> Array:
    n, depth, h, w = x.shape
    b = call.attr("blocksize")
    if call.attr("mode") == "DCR":
        parts = x.reshape(n, b, b, depth // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, depth // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, depth // (b * b), h * b, w * b)


@kernel("SpaceToDepth")
def space_to_depth(call: Call, x: Array) -> Array:
    n, depth, h, w = x.shape
    b = call.attr("blocksize")
    order = (0, 3, 5, 1, 2, 4) if call.attr("mode") == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = x.reshape(n, depth, h // b, b, w // b, b).transpose(order)
    return parts.reshape(n, depth * b * b, h // b, w // b)


@kernel("ReverseSequence")
def reverse_sequence(call: Call, x: Array, lengths: Array) -> Array:
    time, batch = call.attr("time_axis"), call.attr("batch_axis")
    if ((lengths < 0) | (lengths > x.shape[time])).any():
        raise call.error(IndexRangeError, f"sequence_lens {lengths.tolist()} exceed {x.shape[time]} steps")
    steps = np.arange(x.shape[time])
    places = np.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    return x[places.T, np.arange(x.shape[batch])] if time == 0 else x[np.arange(x.shape[batch])[:, None], places]


@kernel("CenterCropPad")
def center_crop_pad(call: Call, x: Array, wanted: Array) -> Array:
    axes = [a % x.ndim for a in call.attr("axes", tuple(range(x.ndim)))]
    for axis, size in zip(axes, wanted.tolist(), strict=True):
        extra = size - x.shape[axis]
        if extra <= 0:
            first = -extra // 2
            x = x[(slice(None),) * axis + (slice(first, first + size),)]
            continue
        out = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
        first = extra // 2
        out[(slice(None),) * axis + (slice(first, first + x.shape[axis]),)] = x
        x = out
    return x


@kernel("Compress")
def compress(call: Call, x: Array, condition: Array) -> Array:
    axis = call.attr("axis")
    x = x.reshape(-1) if axis is None else x
    axis = axis or 0
    (places,) = condition.nonzero()
    if places.size and places[-1] >= x.shape[axis]:
        raise call.error(IndexRangeError, f"condition picks slice {places[-1]} of {x.shape[axis]}")
    return x.take(places, axis)


@kernel("ge.RepeatInterleave")
def repeat_interleave(call: Call, x: Array, repeats: Array) -> Array:
    if (repeats < 0).any():
        raise call.error(ExecutionError, "a count of repeats is negative")
    counts = repeats.reshape(-1)
    return np.repeat(x, int(counts[0]) if counts.size == 1 else counts, call.attr("axis"))
