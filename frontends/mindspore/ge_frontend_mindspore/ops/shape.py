"""Operators that move elements without computing: reshapes, transposes, joins, splits, repeats, pads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value, constant_of

from ..call import Call
from ..messages import damaged
from ..registry import primitive

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "circular": "wrap", "wrap": "wrap"}


def reshaped(c: Call, x: Value, shape: Any) -> Value:
    """`x` in a shape of which one size may be -1."""
    if isinstance(shape, Value) and shape.content is None:
        return c.b.Reshape(x, c.b.Cast(shape, to="int64"))
    sizes = c.sizes(shape)
    if -1 in sizes:
        rest = dims.product(s for s in sizes if s != -1)
        whole = dims.product(x.shape)
        found = dims.exact_div(whole, rest) if rest != 0 else 0
        if found is None:
            # the rest divides the whole for every shape that can run, though not as polynomials
            found = dims.floordiv(whole, rest)
        sizes[sizes.index(-1)] = found
    return c.reshape(x, sizes)


@primitive("Reshape", "View")
def reshape(c: Call, input: Value, shape: Any) -> Value:
    """Reshape(input, shape); View(input, shape)"""
    return reshaped(c, input, shape)


@primitive("ViewAs", "ReshapeAs")
def view_as(c: Call, input: Value, other: Value) -> Value:
    """ViewAs(input, other)"""
    return c.reshape(input, other.shape)


@primitive("Flatten")
def flatten(c: Call, input_x: Value) -> Value:
    """Flatten(input_x): to [N, the rest]"""
    first = input_x.shape[0] if input_x.rank else 1
    return c.reshape(input_x, (first, dims.product(input_x.shape[1:])))


@primitive("FlattenExt")
def flatten_ext(c: Call, input: Value, start_dim: int, end_dim: int) -> Value:
    """FlattenExt(input, start_dim=0, end_dim=-1)"""
    if input.rank == 0:
        return c.reshape(input, (1,))
    first, last = c.axis(start_dim, input.rank), c.axis(end_dim, input.rank)
    shape = input.shape
    return c.reshape(input, (*shape[:first], dims.product(shape[first : last + 1]), *shape[last + 1 :]))


@primitive("Squeeze")
def squeeze(c: Call, input: Value, axis: Any) -> Value:
    """Squeeze(input, axis=()): all axes of size 1 where none is given"""
    if axis == () or axis is None:
        return c.squeeze(input, *(k for k, size in enumerate(input.shape) if size == 1))
    return c.squeeze(input, *(a for a in c.axes(axis, input.rank) if input.shape[a] == 1))


@primitive("ExpandDims", "ExpandDimsView", "Unsqueeze")
def expand_dims(c: Call, input_x: Value, axis: Any) -> Value:
    """ExpandDims(input_x, axis)"""
    return c.unsqueeze(input_x, *(a % (input_x.rank + 1) for a in c.integers(axis, "an axis")))


@primitive("Transpose", "TransposeView")
def transpose(c: Call, input: Value, dims: Any) -> Value:
    """Transpose(input, dims)"""
    return c.transpose(input, [c.axis(a, input.rank) for a in c.integers(dims, "an order of axes")])


@primitive("TransposeExtView", "TransposeExt")
def transpose_ext(c: Call, input: Value, dim0: int, dim1: int) -> Value:
    """TransposeExtView(input, dim0, dim1)"""
    return c.swap(input, c.axis(dim0, input.rank), c.axis(dim1, input.rank)) if input.rank else input


@primitive("TExt")
def t_ext(c: Call, input: Value) -> Value:
    """TExt(input): a matrix transposed; a vector as it is"""
    return c.swap(input) if input.rank == 2 else input


def broadcast(c: Call, x: Value, shape: Any) -> Value:
    """`x` in a shape in which -1 keeps a size."""
    sizes = c.sizes(shape)
    offset = len(sizes) - x.rank
    kept = [x.shape[k - offset] if s == -1 else s for k, s in enumerate(sizes)]
    return c.expand(x, kept)


@primitive("BroadcastTo", "BroadcastToView", "DynamicBroadcastTo", "Expand")
def broadcast_to(c: Call, input: Value, shape: Any) -> Value:
    """BroadcastTo(input, shape)"""
    return broadcast(c, input, shape)


@primitive("ExpandAs")
def expand_as(c: Call, input: Value, other: Value) -> Value:
    """ExpandAs(input, other)"""
    return c.expand(input, other.shape)


@primitive("Concat", "SequenceConcat")
def concat(c: Call, tensors: Sequence[Value], axis: int = 0) -> Value:
    """Concat(tensors, axis=0)"""
    parts = [c.cast(t, c.dtype()) for t in tensors]
    return parts[0] if len(parts) == 1 else c.b.Concat(parts, axis=c.axis(axis, parts[0].rank))


@primitive("Stack", "StackExt", "SequenceStack", ignores=("num",))
def stack(c: Call, tensors: Sequence[Any], axis: int = 0) -> Value:
    """Stack(axis=0)(x); StackExt(tensors, dim=0)"""
    parts = [c.tensor(t, c.dtype()) for t in tensors]
    place = axis % (parts[0].rank + 1)
    return c.b.Concat([c.unsqueeze(p, place) for p in parts], axis=place)


@primitive("Unstack", "UnstackExtView", "SequenceUnstack", ignores=("num",))
def unstack(c: Call, x: Value, axis: int = 0) -> tuple[Value, ...]:
    """Unstack(axis=0)(x); UnstackExtView(input, dim)"""
    place = c.axis(axis, x.rank)
    size = x.shape[place]
    if not isinstance(size, int):
        raise c.unsupported("a number of results that changes with a size")
    return tuple(c.squeeze(p, place) for p in _split(c, x, place, [1] * size))


def _split(c: Call, x: Value, axis: int, sizes: Sequence[Size]) -> tuple[Value, ...]:
    """`x` in parts along an axis."""
    if len(sizes) == 1:
        return (x,)
    found: tuple[Value, ...] = c.b.Split(x, c.b.ints(sizes), axis=axis, num_outputs=len(sizes))
    return found


@primitive("Split", ignores=("size_splits",))
def split(c: Call, input_x: Value, axis: int, output_num: int) -> tuple[Value, ...]:
    """Split(input_x, axis=0, output_num=1): into equal parts"""
    place = c.axis(axis, input_x.rank)
    part = dims.exact_div(input_x.shape[place], output_num)
    if part is None:
        raise c.unsupported(f"a split of {input_x.shape[place]} into {output_num} parts")
    return _split(c, input_x, place, [part] * output_num)


@primitive("SplitTensor", "SplitTensorView")
def split_tensor(c: Call, input: Value, split_size: int, dim: int) -> tuple[Value, ...]:
    """SplitTensor(input, split_size, dim=0): parts of a size, the last one smaller"""
    place = c.axis(dim, input.rank)
    return _split(c, input, place, _parts(c, input.shape[place], c.integer(split_size, "a split size")))


def _parts(c: Call, size: Size, part: int) -> list[Size]:
    if not isinstance(size, int):
        count = c.results
        return [*([part] * (count - 1)), size - part * (count - 1)]
    full, rest = divmod(size, part) if part else (1, 0)
    found: list[Size] = [part for _ in range(full)]
    return [*found, rest] if rest or not found else found


@primitive("SplitWithSize", "SplitWithSizeView", "SplitV", ignores=("num_split",))
def split_with_size(c: Call, input: Value, split_size: Any, dim: int) -> tuple[Value, ...]:
    """SplitWithSize(input, split_size, dim=0)"""
    return _split(c, input, c.axis(dim, input.rank), c.sizes(split_size))


@primitive("Chunk", "ChunkView")
def chunk(c: Call, input: Value, chunks: int, dim: int) -> tuple[Value, ...]:
    """Chunk(input, chunks, dim=0)"""
    place = c.axis(dim, input.rank)
    size = input.shape[place]
    if not isinstance(size, int):
        raise c.unsupported("a number of results that changes with a size")
    return _split(c, input, place, _parts(c, size, max(-(-size // c.integer(chunks, "chunks")), 1)))


@primitive("Tile", "Repeat")
def tile(c: Call, input: Value, dims: Any) -> Value:
    """Tile(input, dims); Repeat(input, repeats)"""
    times = c.sizes(dims)
    x = c.unsqueeze(input, *range(max(len(times) - input.rank, 0)))
    times = [*(1 for _ in range(x.rank - len(times))), *times]
    return x if all(t == 1 for t in times) else c.b.Tile(x, c.b.ints(times))


@primitive("RepeatInterleaveInt", "RepeatInterleaveTensor")
def repeat_interleave(c: Call, input: Value, repeats: Any, dim: int | None, output_size: Any) -> Value:
    """RepeatInterleaveInt(input, repeats, dim=None, output_size=None): each slice repeated"""
    x = c.reshape(input, (dims.product(input.shape),)) if dim is None else input
    return c.b.ge.RepeatInterleave(x, c.tensor(repeats, None), axis=0 if dim is None else c.axis(dim, x.rank))


@primitive("ReverseV2")
def reverse(c: Call, input: Value, axis: Any) -> Value:
    """ReverseV2(input, axis)"""
    axes = c.axes(axis, input.rank) if axis != () else []
    if not axes or input.rank == 0:
        return input
    b, low = c.b, np.iinfo(np.int64).min
    starts, ends = b.ints([-1] * len(axes)), b.ints([low] * len(axes))
    return b.Slice(input, starts, ends, b.ints(axes), b.ints([-1] * len(axes)))


@primitive("ReverseSequence")
def reverse_sequence(c: Call, x: Value, seq_lengths: Value, seq_dim: int, batch_dim: int = 0) -> Value:
    """ReverseSequence(seq_dim, batch_dim=0)(x, seq_lengths)"""
    time, batch = c.axis(seq_dim, x.rank), c.axis(batch_dim, x.rank)
    if {time, batch} == {0, 1}:
        return c.b.ReverseSequence(x, c.b.Cast(seq_lengths, to="int64"), time_axis=time, batch_axis=batch)
    order = [time, batch, *(k for k in range(x.rank) if k not in (time, batch))]
    moved = c.transpose(x, order)
    turned = c.b.ReverseSequence(moved, c.b.Cast(seq_lengths, to="int64"), time_axis=0, batch_axis=1)
    return c.transpose(turned, [order.index(k) for k in range(x.rank)])


@primitive("Roll")
def roll(c: Call, input: Value, shifts: Any, axis: Any) -> Value:
    """Roll(input, shifts, dims=None): a rotation, over all elements where no axis is given"""
    axes = list(axis) if isinstance(axis, (tuple, list)) else [] if axis is None else [axis]
    steps = c.integers(shifts, "a shift")
    if not axes:
        flat = c.reshape(input, (dims.product(input.shape),))
        return c.reshape(_rolled(c, flat, 0, steps[0]), input.shape)
    x = input
    for a, step in zip(axes, steps, strict=True):
        x = _rolled(c, x, c.axis(a, x.rank), step)
    return x


@primitive("FFTShift", "IFFTShift")
def shifted(c: Call, input: Value, dim: Any) -> Value:
    """FFTShift(input, dim=None); IFFTShift(input, dim=None): the middle to the front, or back"""
    x = input
    for axis in c.axes(dim, x.rank):
        half = dims.floordiv(x.shape[axis], 2)
        if not isinstance(half, int):
            raise c.unsupported("a symbolic size")
        x = _rolled(c, x, axis, half if c.op == "FFTShift" else -half)
    return x


def _rolled(c: Call, x: Value, axis: int, step: int) -> Value:
    size = x.shape[axis]
    if size in (0, 1):
        return x
    cut = dims.mod(-step, size)
    if cut == 0:
        return x
    return c.b.Concat([c.slice(x, axis, cut, size), c.slice(x, axis, 0, cut)], axis=axis)


@primitive("Meshgrid")
def meshgrid(c: Call, inputs: Sequence[Value], indexing: Any = "xy") -> tuple[Value, ...]:
    """Meshgrid(indexing='xy')(inputs)"""
    count = len(inputs)
    places = list(range(count))
    if indexing in ("xy", _XY) and count > 1:
        places[0], places[1] = 1, 0
    sizes = [x.shape[0] if x.rank else 1 for x in inputs]
    shape: list[Size] = [0] * count
    for place, size in zip(places, sizes, strict=True):
        shape[place] = size
    found = []
    for x, place, size in zip(inputs, places, sizes, strict=True):
        flat = c.reshape(x, [size if k == place else 1 for k in range(count)])
        found.append(c.expand(flat, shape))
    return tuple(found)


_XY = 1  # MindSpore's MeshIndexing


@primitive("ChannelShuffle", "ShuffleChannel")
def channel_shuffle(c: Call, x: Value, group: int) -> Value:
    """ChannelShuffle(group)(x)"""
    batch, channels, *rest = x.shape
    inner = dims.exact_div(channels, group)
    if inner is None:
        raise damaged(f"{channels} channels are shuffled in {group} groups")
    return c.reshape(c.swap(c.reshape(x, (batch, group, inner, *rest)), 1, 2), x.shape)


@primitive("PixelShuffle", "DepthToSpace", "SpaceToDepth", ignores=("data_format", "format"))
def blocks(c: Call, x: Value, block_size: int) -> Value:
    """PixelShuffle(input, upscale_factor); DepthToSpace(block_size)(x); SpaceToDepth(block_size)(x)"""
    if c.op == "PixelShuffle":
        *lead, channels, height, width = x.shape
        flat = c.reshape(x, (dims.product(lead), channels, height, width))
        found = c.b.DepthToSpace(flat, blocksize=block_size, mode="CRD")
        return c.reshape(found, (*lead, *found.shape[1:]))
    if c.op == "DepthToSpace":
        return c.b.DepthToSpace(x, blocksize=block_size, mode="DCR")
    return c.b.SpaceToDepth(x, blocksize=block_size)


@primitive("SpaceToBatchND")
def space_to_batch(c: Call, x: Value, block_shape: Any, paddings: Any) -> Value:
    """SpaceToBatchND(block_shape, paddings)(x)"""
    block = c.integers(block_shape, "a block")
    edges = [c.integers(p, "a padding") for p in paddings]
    count = len(block)
    lead = x.rank - count  # batch, and channels where there are any
    zeros = [0] * lead
    x = c.b.Pad(x, c.b.ints(zeros, [p[0] for p in edges], zeros, [p[1] for p in edges]))
    inner = [dims.floordiv(s, k) for s, k in zip(x.shape[lead:], block, strict=True)]
    split = [n for pair in zip(inner, block, strict=True) for n in pair]
    parts = c.reshape(x, (*x.shape[:lead], *split))
    order = [*(lead + 2 * k + 1 for k in range(count)), *range(lead), *(lead + 2 * k for k in range(count))]
    return c.reshape(c.transpose(parts, order), (x.shape[0] * math.prod(block), *x.shape[1:lead], *inner))


@primitive("BatchToSpaceND", "BatchToSpaceNDV2")
def batch_to_space(c: Call, x: Value, block_shape: Any, crops: Any) -> Value:
    """BatchToSpaceND(block_shape, crops)(x); BatchToSpaceNDV2()(x, block_shape, crops)"""
    block = c.integers(block_shape, "a block")
    edges = [c.integers(p, "a crop") for p in crops]
    count = len(block)
    lead = x.rank - count
    batch = dims.floordiv(x.shape[0], math.prod(block))
    whole = c.reshape(x, (*block, batch, *x.shape[1:]))
    order = [count + k for k in range(lead)]
    for k in range(count):
        order += [count + lead + k, k]
    merged = [s * k for s, k in zip(x.shape[lead:], block, strict=True)]
    out = c.reshape(c.transpose(whole, order), (batch, *x.shape[1:lead], *merged))
    for k, (low, high) in enumerate(edges):
        out = c.slice(out, lead + k, low, merged[k] - high) if low or high else out
    return out


@primitive("Pad")
def pad(c: Call, x: Value, paddings: Any) -> Value:
    """Pad(paddings)(x): zeros, a pair for each axis"""
    pairs = [c.integers(p, "a padding") for p in paddings]
    return _padded(c, x, [p[0] for p in pairs], [p[1] for p in pairs], "constant", None)


@primitive("MirrorPad")
def mirror_pad(c: Call, x: Value, paddings: Any, mode: str = "REFLECT") -> Value:
    """MirrorPad(mode='REFLECT')(x, paddings)"""
    flat = _constant_ints(c, paddings)
    low, high = list(flat[0::2]), list(flat[1::2])
    if mode == "REFLECT":
        return _padded(c, x, low, high, "reflect", None)
    for axis, (a, b) in enumerate(zip(low, high, strict=True)):
        parts = [x]
        if a:
            parts.insert(0, reverse(c, c.slice(x, axis, 0, a), (axis,)))
        if b:
            size = x.shape[axis]
            parts.append(reverse(c, c.slice(x, axis, size - b, size), (axis,)))
        x = c.b.Concat(parts, axis=axis) if len(parts) > 1 else x
    return x


def _constant_ints(c: Call, x: Any) -> list[int]:
    if isinstance(x, Value):
        constant = constant_of(x)
        if constant is None:
            raise c.unsupported("paddings that the model computes")
        return [int(n) for n in constant.array().ravel()]
    return [n for p in x for n in (c.integers(p, "a padding"))]


@primitive("PadV3", ignores=("paddings_contiguous",))
def pad_v3(c: Call, x: Value, paddings: Any, constant_value: Any = None, mode: str = "constant") -> Value:
    """PadV3(mode='constant', paddings_contiguous=True)(x, paddings, constant_value): pairs from the last axis on"""
    flat = _sizes_of(c, paddings)
    return _from_last(c, x, flat, mode, constant_value)


def _sizes_of(c: Call, x: Any) -> list[Size]:
    if isinstance(x, Value) and x.content is None:
        return list(_constant_ints(c, x))
    return c.sizes(x)


def _from_last(c: Call, x: Value, flat: Sequence[Size], mode: str, value: Any) -> Value:
    """Pad by pairs for the last axis, the one before it and so on."""
    if mode not in _PAD_MODES:
        raise c.unsupported(f"the padding mode {mode!r}")
    low, high = [0] * x.rank, [0] * x.rank
    low_sizes: list[Size] = list(low)
    high_sizes: list[Size] = list(high)
    for k in range(len(flat) // 2):
        low_sizes[x.rank - 1 - k], high_sizes[x.rank - 1 - k] = flat[2 * k], flat[2 * k + 1]
    return _padded(c, x, low_sizes, high_sizes, _PAD_MODES[mode], value)


def _padded(c: Call, x: Value, low: Sequence[Size], high: Sequence[Size], mode: str, value: Any) -> Value:
    if all(n == 0 for n in (*low, *high)):
        return x
    fill = None if value is None or mode != "constant" else c.reshape(c.tensor(value, x.dtype), ())
    return c.b.Pad(x, c.b.ints(low, high), fill, mode=mode)


@primitive("ConstantPadND")
def constant_pad_nd(c: Call, input: Value, padding: Any, value: Any) -> Value:
    """ConstantPadND(input, padding, value=0)"""
    return _from_last(c, input, _sizes_of(c, padding), "constant", value)


@primitive("ReflectionPad1D", "ReflectionPad2D", "ReflectionPad3D")
def reflection_pad(c: Call, input: Value, padding: Any) -> Value:
    """ReflectionPad2D(input, padding)"""
    return _from_last(c, input, _sizes_of(c, padding), "reflect", None)


@primitive("ReplicationPad1D", "ReplicationPad2D", "ReplicationPad3D")
def replication_pad(c: Call, input: Value, padding: Any) -> Value:
    """ReplicationPad2D(input, padding)"""
    return _from_last(c, input, _sizes_of(c, padding), "edge", None)


@primitive("Identity", "Contiguous", "Copy", "Clone", "Detach", "StopGradient", "MoveTo", "CopyToDevice",
           "CopyToHost", "Reusing", "FormatCast", "TensorReport", "ConvertToDynamic",
           ignores=("is_dynamic_rank", "acl_format"))  # fmt: skip
def identity(c: Call, input_x: Value, *rest: Any) -> Value:
    """Identity(input_x); Contiguous(input); StopGradient(x) and the like"""
    return input_x


@primitive("IdentityN")
def identity_n(c: Call, x: Any) -> Any:
    """IdentityN()(x)"""
    return x
