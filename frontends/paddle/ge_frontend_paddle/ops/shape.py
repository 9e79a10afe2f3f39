"""Shapes, parts and orders: reshape, transpose, split, slice, pad and their like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import INT64, Call, Sizes
from ..registry import pd
from .reduction import reversed_


@pd("reshape", "legacy_reshape")
def reshape(c: Call, x: Value, shape: Sizes) -> Value:
    """reshape(x, shape) -> out
    legacy_reshape(x, shape) -> out
    """
    sizes = c.sizes(shape)
    if sizes is None:
        return c.b.Reshape(x, c.vector(shape))
    return _reshaped(c, x, sizes)


def _reshaped(c: Call, x: Value, sizes: Sequence[Size]) -> Value:
    """0 stands for the size at that place; of an empty tensor it may be the size 0 itself."""
    copied = [x.shape[i] if size == 0 and i < x.rank else size for i, size in enumerate(sizes)]
    if -1 in copied:
        rest = dims.product(size for size in copied if not isinstance(size, int) or size != -1)
        whole = dims.exact_div(dims.product(x.shape), rest) if rest != 0 else 0
        if whole is None:
            return c.b.Reshape(x, c.b.ints(copied))
        copied = [whole if isinstance(size, int) and size == -1 else size for size in copied]
    return c.reshape(x, copied)


@pd("view_shape")
def view_shape(c: Call, input: Value, *, dims: Sequence[int]) -> Value:
    """view_shape(input, *, dims={}) -> out"""
    return _reshaped(c, input, dims)


@pd("transpose", "trans_layout")
def transpose(c: Call, x: Value, *, perm: Sequence[int]) -> Value:
    """transpose(x, *, perm) -> out
    trans_layout(x, *, perm) -> out
    """
    return c.transpose(x, [c.axis(p, x.rank) for p in perm])


@pd("squeeze")
def squeeze(c: Call, x: Value, axis: Sizes | None = None) -> Value:
    """squeeze(x, axis) -> out"""
    given = [] if axis is None else c.known_ints(axis, "axes")
    if not x.rank:
        return x
    if given:
        wanted = c.axes(given, x.rank)
        # a size that is not fixed is taken to be 1 when Paddle's result says so
        kept = len(c.result_tensor().shape)
        axes = [a for a in wanted if x.shape[a] == 1]
        axes = wanted if x.rank - len(wanted) == kept else axes
    else:
        axes = [a for a, size in enumerate(x.shape) if size == 1]
    return c.squeeze(x, *axes)


@pd("unsqueeze")
def unsqueeze(c: Call, x: Value, axis: Sizes) -> Value:
    """unsqueeze(x, axis) -> out"""
    for place in c.known_ints(axis, "axes"):  # one after another, as Paddle does
        x = c.unsqueeze(x, place + x.rank + 1 if place < 0 else place)
    return x


@pd("flatten")
def flatten(c: Call, x: Value, *, start_axis: int = 1, stop_axis: int = 1) -> Value:
    """flatten(x, *, start_axis=1, stop_axis=1) -> out"""
    if not x.rank:
        return c.reshape(x, (1,))
    first, last = c.axis(start_axis, x.rank), c.axis(stop_axis, x.rank)
    middle = dims.product(x.shape[first : last + 1])
    return c.reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))


@pd("concat")
def concat(c: Call, x: Sequence[Value], axis: Value) -> Value:
    """concat(x, axis) -> out"""
    kind = c.dtype()
    parts = [c.cast(part, kind) for part in x]
    if not parts[0].rank:
        return c.concat([c.reshape(part, (1,)) for part in parts], 0)
    return c.concat(parts, c.axis_of(axis, parts[0].rank))


@pd("stack")
def stack(c: Call, x: Sequence[Value], *, axis: int = 0) -> Value:
    """stack(x, *, axis=0) -> out"""
    at = c.axis(axis, x[0].rank + 1)
    known = [part.content for part in x if part.content is not None]
    if not x[0].rank and len(known) == len(x):
        return c.integers([size for (size,) in known], x[0].dtype)
    return c.concat([c.unsqueeze(part, at) for part in x], at)


@pd("split")
def split(c: Call, x: Value, sections: Sizes, axis: Value) -> list[Value]:
    """split(x, sections, axis) -> out"""
    at = c.axis_of(axis, x.rank)
    sizes: list[Size] = list(c.known_sizes(sections, "sizes of parts"))
    open_ = [i for i, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if open_:
        sizes[open_[0]] = x.shape[at] - sum(size for i, size in enumerate(sizes) if i != open_[0])
    return c.split(x, sizes, at)


@pd("split_with_num")
def split_with_num(c: Call, x: Value, axis: Value, *, num: int) -> list[Value]:
    """split_with_num(x, axis, *, num) -> out"""
    at = c.axis_of(axis, x.rank)
    size = dims.floordiv(x.shape[at], c.count())
    return c.split(x, [size] * c.count(), at)


@pd("unbind", "unstack")
def unbind(c: Call, x: Value, *, axis: int = 0, num: int = 0) -> list[Value]:
    """unbind(input, *, axis=0) -> out
    unstack(x, *, axis=0, num=0) -> out
    """
    at = c.axis(axis, x.rank)
    return [c.squeeze(part, at) for part in c.split(x, [1] * c.count(), at)]


@pd("tile")
def tile(c: Call, x: Value, repeat_times: Sizes) -> Value:
    """tile(x, repeat_times) -> out"""
    times = c.known_sizes(repeat_times, "numbers of repetitions")
    x = c.unsqueeze(x, *range(len(times) - x.rank))
    counts = [*(1 for _ in range(x.rank - len(times))), *times]
    return c.b.Tile(x, c.b.ints(counts)) if counts else x


@pd("expand")
def expand(c: Call, x: Value, shape: Sizes) -> Value:
    """expand(x, shape) -> out"""
    sizes = c.sizes(shape)
    if sizes is None:
        # -1 keeps a size, as 1 does in a broadcast
        wanted = c.vector(shape)
        return c.b.Expand(x, c.b.Where(c.b.Less(wanted, 0), c.b.scalar(1), wanted))
    lead = len(sizes) - x.rank
    kept = [x.shape[i - lead] if isinstance(n, int) and n == -1 and i >= lead else n for i, n in enumerate(sizes)]
    return c.expand(x, kept)


@pd("expand_as")
def expand_as(c: Call, x: Value, y: Value | None = None, *, target_shape: Sequence[int] = ()) -> Value:
    """expand_as(x, y, *, target_shape={}) -> out"""
    return c.expand(x, target_shape if y is None else y.shape)


@pd("broadcast_tensors")
def broadcast_tensors(c: Call, input: Sequence[Value]) -> list[Value]:
    """broadcast_tensors(input) -> out"""
    shape: tuple[Size, ...] = ()
    for x in input:
        shape = broadcast(shape, x.shape)
    return [c.expand(x, shape) for x in input]


def broadcast(a: Sequence[Size], b: Sequence[Size]) -> tuple[Size, ...]:
    """The shape of both together."""
    if len(a) < len(b):
        a, b = b, a
    tail = a[len(a) - len(b) :]
    return (*a[: len(a) - len(b)], *(q if p == 1 else p for p, q in zip(tail, b, strict=True)))


@pd("shape_broadcast")
def shape_broadcast(c: Call, x: Value, y: Value) -> Value:
    """shape_broadcast(x, y) -> out"""
    left, right = c.known_sizes(x, "a shape"), c.known_sizes(y, "a shape")
    return c.cast(c.b.ints(broadcast(left, right)), c.dtype())


@pd("slice", ignores=("infer_flags",))
def slice_(
    c: Call,
    input: Value,
    starts: Sizes,
    ends: Sizes,
    *,
    axes: Sequence[int],
    decrease_axis: Sequence[int] = (),
) -> Value:
    """slice(input, starts, ends, *, axes, infer_flags, decrease_axis) -> out"""
    b = c.b
    first, last = c.sizes(starts), c.sizes(ends)
    picked = [c.axis(a, input.rank) for a in decrease_axis]
    at = [c.axis(a, input.rank) for a in axes]
    part = _known_part(input, first, last)
    if part is not None and len(at) == 1 and len(part) >= len(picked):
        return c.integers(part, input.dtype, scalar=bool(picked))
    if picked and picked == at and first is None:
        # each axis is reduced to one place
        found = input
        for i, axis in sorted(enumerate(at), key=lambda entry: -entry[1]):
            place = b.Gather(c.vector(starts), b.scalar(i), axis=0)
            found = b.Gather(found, place, axis=axis)
        return found
    if first is None or last is None:
        found = b.Slice(input, c.vector(starts), c.vector(ends), b.ints(at), b.ints([1] * len(at)))
    else:
        found = input
        keep = [i for i, a in enumerate(at) if not _whole(input, a, first[i], last[i])]
        if keep:
            begin, end = [first[i] for i in keep], [last[i] for i in keep]
            found = b.Slice(input, b.ints(begin), b.ints(end), b.ints(at[i] for i in keep), b.ints([1] * len(keep)))
    return c.squeeze(found, *sorted(picked))


def _known_part(x: Value, first: Sequence[Size] | None, last: Sequence[Size] | None) -> tuple[Size, ...] | None:
    """The elements of a vector between two places; None when they or the places are not known."""
    if x.content is None or x.rank != 1 or first is None or last is None:
        return None
    start, end = first[0], last[0]
    return x.content[start:end] if isinstance(start, int) and isinstance(end, int) else None


def _whole(x: Value, axis: int, start: Size, end: Size) -> bool:
    return start == 0 and (end == x.shape[axis] or (isinstance(end, int) and end >= (1 << 31) - 1))


@pd("strided_slice")
def strided_slice(c: Call, x: Value, starts: Sizes, ends: Sizes, strides: Sizes, *, axes: Sequence[int]) -> Value:
    """strided_slice(x, starts, ends, strides, *, axes) -> out"""
    at = c.b.ints([c.axis(a, x.rank) for a in axes])
    return c.b.Slice(x, c.vector(starts), c.vector(ends), at, c.vector(strides))


@pd("view_slice")
def view_slice(c: Call, input: Value, *, begin_idx: int, end_idx: int) -> Value:
    """view_slice(input, *, begin_idx, end_idx) -> out"""
    return c.slice(input, 0, begin_idx, end_idx)


@pd("crop")
def crop(c: Call, x: Value, shape: Sizes, offsets: Sizes) -> Value:
    """crop(x, shape, offsets) -> out"""
    b = c.b
    sizes, first = c.known_sizes(shape, "a shape"), c.known_sizes(offsets, "offsets")
    ends = [
        x.shape[i] if isinstance(size, int) and size == -1 else start + size
        for i, (start, size) in enumerate(zip(first, sizes, strict=True))
    ]
    axes = range(x.rank)
    return b.Slice(x, b.ints(first), b.ints(ends), b.ints(axes), b.ints([1] * x.rank)) if x.rank else x


@pd("flip")
def flip(c: Call, x: Value, *, axis: Sequence[int]) -> Value:
    """flip(x, *, axis) -> out"""
    return reversed_(c, x, *c.axes(axis, x.rank)) if x.rank and axis else x


@pd("reverse")
def reverse(c: Call, x: Value, axis: Sizes) -> Value:
    """reverse(x, axis) -> out"""
    given = c.known_ints(axis, "axes")
    return reversed_(c, x, *c.axes(given, x.rank)) if x.rank and given else x


@pd("roll")
def roll(c: Call, x: Value, shifts: Sizes, *, axis: Sequence[int] = ()) -> Value:
    """roll(x, shifts, *, axis={}) -> out"""
    by = c.known_ints(shifts, "shifts")
    if not axis:
        return c.reshape(_rolled(c, c.flat(x), by[0], 0), x.shape)
    for shift, at in zip(by, axis, strict=True):
        x = _rolled(c, x, shift, c.axis(at, x.rank))
    return x


def _rolled(c: Call, x: Value, shift: int, axis: int) -> Value:
    size = x.shape[axis]
    if size == 0 or (isinstance(size, int) and shift % size == 0):
        return x
    cut = size - dims.mod(shift, size)
    return c.concat([c.slice(x, axis, cut, size), c.slice(x, axis, 0, cut)], axis)


@pd("tril", "triu")
def tril(c: Call, x: Value, *, diagonal: int = 0) -> Value:
    """tril(x, *, diagonal=0) -> out
    triu(x, *, diagonal=0) -> out
    """
    return c.b.Trilu(x, c.b.scalar(diagonal), upper=int(c.name == "triu"))


def diagonal_of(c: Call, x: Value, offset: int, axis1: int, axis2: int) -> Value:
    """The diagonal of two axes, as the last axis."""
    b = c.b
    first, second = c.axis(axis1, x.rank), c.axis(axis2, x.rank)
    rest = [a for a in range(x.rank) if a not in (first, second)]
    rows, columns = x.shape[first], x.shape[second]
    count = dims.maximum(dims.minimum(rows + min(offset, 0), columns - max(offset, 0)), 0)
    steps = c.range(count)
    index = c.concat([c.unsqueeze(b.Add(steps, max(-offset, 0)), 1), c.unsqueeze(b.Add(steps, max(offset, 0)), 1)], 1)
    picked = b.GatherND(c.transpose(x, [first, second, *rest]), index)
    return c.transpose(picked, [*range(1, picked.rank), 0])


@pd("diagonal")
def diagonal(c: Call, x: Value, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """diagonal(x, *, offset=0, axis1=0, axis2=1) -> out"""
    return diagonal_of(c, x, offset, axis1, axis2)


def _on_diagonal(c: Call, x: Value, offset: int, fill: Value) -> Value:
    """Matrices that have the last axis of x on a diagonal and `fill` elsewhere."""
    b = c.b
    size = x.shape[-1] + abs(offset)
    rows, columns = c.unsqueeze(c.range(size), 1), c.range(size)
    on = b.Equal(b.Add(rows, offset), columns)
    place = b.Clip(b.Add(columns, min(-offset, 0)), c.scalar(0, INT64), b.scalar(dims.maximum(x.shape[-1] - 1, 0)))
    wide = c.unsqueeze(b.Gather(x, place, axis=x.rank - 1), x.rank - 1)
    return b.Where(on, wide, fill)


@pd("diag")
def diag(c: Call, x: Value, *, offset: int = 0, padding_value: float = 0.0) -> Value:
    """diag(x, *, offset=0, padding_value=0.0) -> out"""
    if x.rank == 2:
        return diagonal_of(c, x, offset, 0, 1)
    return _on_diagonal(c, c.flat(x), offset, c.scalar(padding_value, x.dtype))


@pd("diag_embed")
def diag_embed(c: Call, input: Value, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """diag_embed(input, *, offset=0, dim1=-2, dim2=-1) -> out"""
    made = _on_diagonal(c, input, offset, c.scalar(0, input.dtype))
    first, second = c.axis(dim1, made.rank), c.axis(dim2, made.rank)
    if first > second:
        made, first, second = c.swap(made), second, first
    order = list(range(made.rank - 2))
    order.insert(first, made.rank - 2)
    order.insert(second, made.rank - 1)
    return c.transpose(made, order)


@pd("fill_diagonal")
def fill_diagonal(c: Call, x: Value, *, value: float = 0.0, offset: int = 0, wrap: bool = False) -> Value:
    """fill_diagonal(x, *, value=0, offset=0, wrap=false) -> out"""
    b = c.b
    if x.rank != 2:
        raise c.unsupported(f"a tensor of rank {x.rank}")
    rows, columns = c.unsqueeze(c.range(x.shape[0]), 1), c.range(x.shape[1])
    if wrap:
        rows = b.Mod(rows, b.scalar(x.shape[1] + 1))
    on = b.Equal(b.Add(rows, offset), columns)
    return b.Where(on, c.scalar(value, x.dtype), x)


@pd("fill_diagonal_tensor")
def fill_diagonal_tensor(c: Call, x: Value, y: Value, *, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """fill_diagonal_tensor(x, y, *, offset=0, dim1=0, dim2=1) -> out"""
    b = c.b
    first, second = c.axis(dim1, x.rank), c.axis(dim2, x.rank)
    order = [first, second, *(a for a in range(x.rank) if a not in (first, second))]
    count = y.shape[-1] if y.rank else 1
    steps = c.range(count)
    table = c.concat([c.unsqueeze(b.Add(steps, max(-offset, 0)), 1), c.unsqueeze(b.Add(steps, max(offset, 0)), 1)], 1)
    updates = c.transpose(y, [y.rank - 1, *range(y.rank - 1)])
    written = b.ScatterND(c.transpose(x, order), table, updates)
    return c.transpose(written, list(np.argsort(order)))


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pd("pad3d")
def pad3d(
    c: Call,
    x: Value,
    paddings: Sizes,
    *,
    mode: str = "constant",
    pad_value: float = 0.0,
    data_format: str = "NCDHW",
) -> Value:
    """pad3d(x, paddings, *, mode="constant", pad_value=0.0, data_format="NCDHW") -> out"""
    # pairs from the last spatial axis to the first
    spatial = list(range(1, x.rank - 1)) if data_format.endswith("C") else list(range(2, x.rank))
    pads = c.sizes(paddings)
    if pads is None:
        return _padded_by(c, x, c.vector(paddings), spatial, _PAD_MODES[mode], pad_value)
    before: list[Size] = [0] * x.rank
    after: list[Size] = [0] * x.rank
    for i, axis in enumerate(reversed(spatial)):
        before[axis], after[axis] = pads[2 * i], pads[2 * i + 1]
    return _padded(c, x, before, after, _PAD_MODES[mode], pad_value)


def _padded_by(c: Call, x: Value, pads: Value, spatial: Sequence[int], mode: str, value: float) -> Value:
    """Paddings that the model computes: pairs from the last of these axes to the first."""
    b, count = c.b, len(spatial)
    pairs = b.Reshape(pads, b.ints(count, 2))
    rows = c.transpose(b.Gather(pairs, b.ints(range(count - 1, -1, -1)), axis=0), [1, 0])
    fill = c.scalar(value, x.dtype) if mode == "constant" else None
    return b.Pad(x, b.Reshape(rows, b.ints(-1)), fill, b.ints(spatial), mode=mode)


def _padded(c: Call, x: Value, before: Sequence[Size], after: Sequence[Size], mode: str, value: float) -> Value:
    if all(p == 0 for p in (*before, *after)):
        return x
    fill = c.scalar(value, x.dtype) if mode == "constant" else None
    return c.b.Pad(x, c.b.ints([*before, *after]), fill, mode=mode)


@pd("pad")
def pad(c: Call, x: Value, pad_value: Value | None = None, *, paddings: Sequence[int]) -> Value:
    """pad(x, pad_value, *, paddings) -> out"""
    number = 0 if pad_value is None else c.number(pad_value)
    if number is None:
        raise c.unsupported("a padding value that is computed", "give the value as a number")
    return _padded(c, x, paddings[::2], paddings[1::2], "constant", number)


@pd("repeat_interleave")
def repeat_interleave(c: Call, x: Value, *, repeats: int, axis: int, output_size: int = -1) -> Value:
    """repeat_interleave(x, *, repeats, axis, output_size=-1) -> out"""
    at = c.axis(axis, x.rank)
    wide = c.expand(c.unsqueeze(x, at + 1), (*x.shape[: at + 1], repeats, *x.shape[at + 1 :]))
    return c.reshape(wide, (*x.shape[:at], x.shape[at] * repeats, *x.shape[at + 1 :]))


@pd("repeat_interleave_with_tensor_index")
def repeat_interleave_with_tensor_index(
    c: Call, x: Value, repeats: Value, *, axis: int, output_size: int = -1
) -> Value:
    """repeat_interleave_with_tensor_index(x, repeats, *, axis, output_size=-1) -> out"""
    counts = c.cast(repeats, INT64)
    counts = c.squeeze(counts, 0) if counts.rank == 1 and counts.shape[0] == 1 else counts
    return c.b.ge.RepeatInterleave(x, counts, axis=c.axis(axis, x.rank))


@pd("frame")
def frame(c: Call, x: Value, *, frame_length: int, hop_length: int, axis: int = -1) -> Value:
    """frame(x, *, frame_length, hop_length, axis=-1) -> out"""
    b = c.b
    at = x.rank - 1 if axis == -1 else 0
    count = dims.floordiv(x.shape[at] - frame_length, hop_length) + 1
    starts = b.Mul(c.range(count), b.scalar(hop_length))
    if at == 0 and axis == 0:
        return b.Gather(x, b.Add(c.unsqueeze(starts, 1), c.range(frame_length)), axis=0)
    return b.Gather(x, b.Add(c.unsqueeze(c.range(frame_length), 1), starts), axis=at)


@pd("overlap_add")
def overlap_add(c: Call, x: Value, *, hop_length: int, axis: int = -1) -> Value:
    """overlap_add(x, *, hop_length, axis=-1) -> out"""
    b = c.b
    first = axis == 0
    # frames last: [..., frame_length, frames]
    moved = c.transpose(x, [*range(2, x.rank), 1, 0]) if first else x
    length, count = moved.shape[-2:]
    total = (count - 1) * hop_length + length
    places = b.Add(c.unsqueeze(c.range(length), 1), b.Mul(c.range(count), b.scalar(hop_length)))
    lead = moved.shape[:-2]
    flat = c.reshape(moved, (dims.product(lead), length * count))
    index = c.expand(c.reshape(places, (1, length * count)), flat.shape)
    empty = c.full((dims.product(lead), total), 0, x.dtype)
    found = c.reshape(b.ScatterElements(empty, index, flat, axis=1, reduction="add"), (*lead, total))
    return c.transpose(found, [found.rank - 1, *range(found.rank - 1)]) if first else found
