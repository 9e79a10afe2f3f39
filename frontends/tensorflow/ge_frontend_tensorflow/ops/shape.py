"""Shapes, and operators that move elements without looking at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import INT64, Call
from ..complex_pair import ComplexPair
from ..registry import tf_op

Either = Value | ComplexPair


def shape_of(x: Either) -> tuple[Size, ...]:
    """The shape; of a complex tensor without the parts' axis."""
    return x.parts.shape[:-1] if isinstance(x, ComplexPair) else x.shape


def parts_of(x: Either) -> Value:
    """The tensor, or a complex one's parts."""
    return x.parts if isinstance(x, ComplexPair) else x


def like(x: Either, parts: Value) -> Either:
    """`parts` as a complex tensor where `x` is one."""
    return ComplexPair(parts) if isinstance(x, ComplexPair) else parts


@tf_op("Shape", complex=True)
def shape(c: Call, input: Either) -> Value:
    """Shape(input) -> output; T, out_type"""
    return c.size_tensor(shape_of(input), c.dtype("out_type"))


@tf_op("ShapeN")
def shape_n(c: Call, input: Sequence[Value]) -> list[Value]:
    """ShapeN(input...) -> output...; N, T, out_type"""
    return [c.size_tensor(x.shape, c.dtype("out_type")) for x in input]


@tf_op("Size")
def size(c: Call, input: Value) -> Value:
    """Size(input) -> output; T, out_type"""
    return c.scalar(input.tensor.elements, c.dtype("out_type"))


@tf_op("Rank")
def rank(c: Call, input: Value) -> Value:
    """Rank(input) -> output; T"""
    return c.b.constant(np.int32(input.rank))


@tf_op("Reshape", complex=True)
def reshape(c: Call, tensor: Either, shape: Value) -> Either:
    """Reshape(tensor, shape) -> output; T, Tshape"""
    x = parts_of(tensor)
    more: list[Size] = [2] if isinstance(tensor, ComplexPair) else []
    wanted = c.maybe_sizes(shape)
    if wanted is not None:
        return like(tensor, c.reshape(x, [*completed(shape_of(tensor), wanted), *more]))
    if more:
        raise c.unsupported("a shape that the data decide, of complex numbers")
    return c.b.Reshape(x, c.int64(shape), allowzero=1)


def completed(old: Sequence[Size], wanted: list[Size]) -> list[Size]:
    """The sizes with -1 replaced by what is left."""
    if not any(isinstance(s, int) and s == -1 for s in wanted):
        return wanted
    place = wanted.index(-1)
    rest = dims.product([*wanted[:place], *wanted[place + 1 :]])
    total = dims.product(old)
    whole = dims.exact_div(total, rest) if dims.equal(rest, 0) is not True else 0
    if whole is None:
        whole = dims.floordiv(total, rest)
    return [*wanted[:place], whole, *wanted[place + 1 :]]


@tf_op("Squeeze", complex=True)
def squeeze(c: Call, input: Either) -> Either:
    """Squeeze(input) -> output; T, squeeze_dims"""
    sizes = shape_of(input)
    axes = [c.axis(a, len(sizes)) for a in c.attr("squeeze_dims")]
    if not axes:
        if any(not isinstance(s, int) for s in sizes):
            raise c.unsupported("without axes, of sizes that are not known", "name the axes")
        axes = [i for i, s in enumerate(sizes) if s == 1]
    for axis in axes:
        if dims.equal(sizes[axis], 1) is False:
            raise c.unsupported(f"of an axis of size {sizes[axis]}")
    return like(input, c.squeeze(parts_of(input), *sorted(set(axes))))


@tf_op("ExpandDims", complex=True)
def expand_dims(c: Call, input: Either, dim: Value) -> Either:
    """ExpandDims(input, dim) -> output; T, Tdim"""
    count = len(shape_of(input)) + 1
    return like(input, c.unsqueeze(parts_of(input), c.axis(c.whole(dim, "an axis"), count)))


@tf_op("Transpose", complex=True)
def transpose(c: Call, x: Either, perm: Value) -> Either:
    """Transpose(x, perm) -> y; T, Tperm"""
    count = len(shape_of(x))
    order = [c.axis(p, count) for p in c.ints(perm, "a permutation")]
    if isinstance(x, ComplexPair):
        order.append(count)
    return like(x, c.transpose(parts_of(x), order))


@tf_op("ConjugateTranspose", complex=True)
def conjugate_transpose(c: Call, x: Either, perm: Value) -> Either:
    """ConjugateTranspose(x, perm) -> y; T, Tperm"""
    from .complex_number import conj

    found = transpose(c, x, perm)
    return conj(c, found)


@tf_op("ConcatV2", complex=True, raw=True)
def concat_v2(c: Call, values: Sequence[Any], axis: Value) -> Any:
    """ConcatV2(values..., axis) -> output; N, T, Tidx"""
    return _concat(c, values, axis)


@tf_op("Concat")
def concat(c: Call, concat_dim: Value, values: Sequence[Value]) -> Any:
    """Concat(concat_dim, values...) -> output; N, T"""
    return _concat(c, values, concat_dim)


def _concat(c: Call, values: Sequence[Either], axis: Value) -> Either:
    first = values[0]
    place = c.axis(c.whole(axis, "an axis"), len(shape_of(first)))
    joined = [parts_of(v) for v in values]
    return first if len(joined) == 1 else like(first, c.b.Concat(joined, axis=place))


@tf_op("ParallelConcat")
def parallel_concat(c: Call, values: Sequence[Value]) -> Value:
    """ParallelConcat(values...) -> output; N, T, shape"""
    return c.b.Concat(list(values), axis=0)


@tf_op("Pack", complex=True)
def pack(c: Call, values: Sequence[Either]) -> Either:
    """Pack(values...) -> output; N, T, axis"""
    sizes = _small_ints(values)
    first = values[0]
    if sizes is not None:
        assert isinstance(first, Value)
        return c.size_tensor(sizes, first.dtype)
    axis = c.axis(c.attr("axis"), len(shape_of(first)) + 1)
    rows = [c.unsqueeze(parts_of(v), axis) for v in values]
    return like(first, rows[0] if len(rows) == 1 else c.b.Concat(rows, axis=axis))


def _small_ints(values: Sequence[Either]) -> list[Size] | None:
    """Scalars that are sizes."""
    found: list[Size] = []
    for v in values:
        if isinstance(v, ComplexPair) or v.content is None or v.rank != 0 or not v.dtype.is_integer:
            return None
        found += v.content
    return found


@tf_op("Unpack", complex=True)
def unpack(c: Call, value: Either) -> list[Either]:
    """Unpack(value) -> output...; num, T, axis"""
    axis = c.axis(c.attr("axis"), len(shape_of(value)))
    x = parts_of(value)
    found: list[Either] = []
    for i in range(c.attr("num")):
        found.append(like(value, c.b.Gather(x, np.int64(i), axis=axis)))
    return found


@tf_op("Split")
def split(c: Call, split_dim: Value, value: Value) -> list[Value]:
    """Split(split_dim, value) -> output...; num_split, T"""
    count = c.attr("num_split")
    axis = c.axis(c.whole(split_dim, "an axis"), value.rank)
    if count == 1:
        return [value]
    whole = dims.exact_div(value.shape[axis], count)
    if whole is None:
        if isinstance(value.shape[axis], int):
            raise c.unsupported(f"{value.shape[axis]} elements in {count} equal parts")
        b, whole = c.b, dims.floordiv(value.shape[axis], count)
        b.ge.Check(b.Equal(b.scalar(value.shape[axis]), b.scalar(whole * count)), message="the parts are not equal")
    if isinstance(whole, int):
        return list(c.b.Split(value, c.b.ints([whole] * count), axis=axis, num_outputs=count))
    return [c.slice(value, axis, whole * i, whole * (i + 1)) for i in range(count)]


@tf_op("SplitV")
def split_v(c: Call, value: Value, size_splits: Value, split_dim: Value) -> list[Value]:
    """SplitV(value, size_splits, split_dim) -> output...; num_split, T, Tlen"""
    axis = c.axis(c.whole(split_dim, "an axis"), value.rank)
    sizes = c.sizes(size_splits)
    assert sizes is not None
    if any(isinstance(s, int) and s == -1 for s in sizes):
        place = sizes.index(-1)
        rest: Size = 0
        for s in (*sizes[:place], *sizes[place + 1 :]):
            rest = rest + s
        sizes[place] = value.shape[axis] - rest
    if len(sizes) == 1:
        return [value]
    if all(isinstance(s, int) for s in (*sizes, value.shape[axis])):
        return list(c.b.Split(value, c.b.ints(sizes), axis=axis, num_outputs=len(sizes)))
    found: list[Value] = []
    at: Size = 0
    for s in sizes:
        found.append(c.slice(value, axis, at, at + s))
        at = at + s
    return found


@tf_op("Tile")
def tile(c: Call, input: Value, multiples: Value) -> Value:
    """Tile(input, multiples) -> output; T, Tmultiples"""
    sizes = c.sizes(multiples)
    assert sizes is not None
    if all(isinstance(s, int) and s == 1 for s in sizes):
        return input
    return c.b.Tile(input, c.b.ints(sizes))


@tf_op("BroadcastTo")
def broadcast_to(c: Call, input: Value, shape: Value) -> Value:
    """BroadcastTo(input, shape) -> output; T, Tidx"""
    sizes = c.sizes(shape)
    if sizes is None:
        return c.b.Expand(input, c.int64(shape))
    return c.expand(input, sizes)


@tf_op("BroadcastArgs")
def broadcast_args(c: Call, s0: Value, s1: Value) -> Value:
    """BroadcastArgs(s0, s1) -> r0; T"""
    first, second = c.sizes(s0), c.sizes(s1)
    assert first is not None and second is not None
    count = max(len(first), len(second))
    a = [*([1] * (count - len(first))), *first]
    b = [*([1] * (count - len(second))), *second]
    found: list[Size] = []
    for x, y in zip(a, b, strict=True):
        found.append(y if dims.equal(x, 1) is True else x if dims.equal(y, 1) is True else dims.maximum(x, y))
    return c.size_tensor(found, s0.dtype)


@tf_op("BroadcastGradientArgs")
def broadcast_gradient_args(c: Call, s0: Value, s1: Value) -> tuple[Value, Value]:
    """BroadcastGradientArgs(s0, s1) -> r0, r1; T"""
    first, second = c.ints(s0, "a shape"), c.ints(s1, "a shape")
    count = max(len(first), len(second))
    a, b = [1] * (count - len(first)) + first, [1] * (count - len(second)) + second
    found = []
    for mine, other, short in ((a, b, count - len(first)), (b, a, count - len(second))):
        axes = [i for i in range(count) if mine[i] == 1 and (other[i] != 1 or i < short)]
        both = [i for i in range(count) if a[i] == 1 and b[i] == 1]
        found.append(c.size_tensor(sorted({*axes, *both}), s0.dtype))
    return found[0], found[1]


@tf_op("Slice", complex=True)
def slice_(c: Call, input: Either, begin: Value, size: Value) -> Either:
    """Slice(input, begin, size) -> output; T, Index"""
    sizes_in = shape_of(input)
    starts, sizes = c.sizes(begin), c.sizes(size)
    assert starts is not None and sizes is not None
    axes, first, last = [], [], []
    for axis, (start, count) in enumerate(zip(starts, sizes, strict=True)):
        whole = isinstance(count, int) and count == -1
        if whole and dims.equal(start, 0) is True:
            continue
        axes.append(axis)
        first.append(start)
        last.append(sizes_in[axis] if whole else start + count)
    if not axes:
        return input
    b = c.b
    return like(input, b.Slice(parts_of(input), b.ints(first), b.ints(last), b.ints(axes)))


@tf_op("Pad")
def pad(c: Call, input: Value, paddings: Value) -> Value:
    """Pad(input, paddings) -> output; T, Tpaddings"""
    return padded(c, input, _pad_sizes(c, paddings), c.like(0, input))


@tf_op("PadV2")
def pad_v2(c: Call, input: Value, paddings: Value, constant_values: Value) -> Value:
    """PadV2(input, paddings, constant_values) -> output; T, Tpaddings"""
    return padded(c, input, _pad_sizes(c, paddings), constant_values)


@tf_op("MirrorPad")
def mirror_pad(c: Call, input: Value, paddings: Value) -> Value:
    """MirrorPad(input, paddings) -> output; T, Tpaddings, mode"""
    mode = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}[c.attr("mode")]
    sizes = _pad_sizes(c, paddings)
    if mode == "reflect":
        return c.b.Pad(input, c.b.ints([*(a for a, _ in sizes), *(z for _, z in sizes)]), mode="reflect")
    # each side of a symmetric mirror starts with the edge itself
    for axis, (before, after) in enumerate(sizes):
        n = input.shape[axis]
        pieces = [input]
        if dims.equal(before, 0) is not True:
            pieces.insert(0, _flipped(c, input, axis, 0, before))
        if dims.equal(after, 0) is not True:
            pieces.append(_flipped(c, input, axis, n - after, n))
        input = pieces[0] if len(pieces) == 1 else c.b.Concat(pieces, axis=axis)
    return input


def _flipped(c: Call, x: Value, axis: int, start: Size, end: Size) -> Value:
    return reversed_(c, c.slice(x, axis, start, end), [axis])


def _pad_sizes(c: Call, paddings: Value) -> list[tuple[Size, Size]]:
    flat = c.sizes(paddings)
    if flat is None:
        raise c.unsupported("an unknown number of paddings")
    return list(zip(flat[::2], flat[1::2], strict=True))


def padded(c: Call, x: Value, sizes: Sequence[tuple[Size, Size]], value: Value) -> Value:
    """`x` with constant elements around it."""
    if all(isinstance(a, int) and isinstance(z, int) and a == z == 0 for a, z in sizes):
        return x
    return c.b.Pad(x, c.b.ints([*(a for a, _ in sizes), *(z for _, z in sizes)]), value, mode="constant")


@tf_op("ReverseV2")
def reverse_v2(c: Call, tensor: Value, axis: Value) -> Value:
    """ReverseV2(tensor, axis) -> output; Tidx, T"""
    return reversed_(c, tensor, c.axes(axis, tensor.rank))


@tf_op("Reverse")
def reverse(c: Call, tensor: Value, dims: Value) -> Value:
    """Reverse(tensor, dims) -> output; T"""
    flags = c.known_array(dims, "axes").ravel()
    return reversed_(c, tensor, [i for i, flag in enumerate(flags) if flag])


def reversed_(c: Call, x: Value, axes: Sequence[int]) -> Value:
    """`x` with elements along axes in reverse order."""
    if not axes:
        return x
    b, n = c.b, len(axes)
    least = np.iinfo(np.int64).min
    return b.Slice(x, b.ints([-1] * n), b.ints([least] * n), b.ints(axes), b.ints([-1] * n))


@tf_op("ReverseSequence")
def reverse_sequence(c: Call, input: Value, seq_lengths: Value) -> Value:
    """ReverseSequence(input, seq_lengths) -> output; seq_dim, batch_dim, T, Tlen"""
    seq, batch = (c.axis(c.attr(name), input.rank) for name in ("seq_dim", "batch_dim"))
    if {seq, batch} == {0, 1}:
        return c.b.ReverseSequence(input, c.int64(seq_lengths), time_axis=seq, batch_axis=batch)
    order = [batch, seq, *(i for i in range(input.rank) if i not in (batch, seq))]
    moved = c.b.ReverseSequence(c.transpose(input, order), c.int64(seq_lengths), time_axis=1, batch_axis=0)
    return c.transpose(moved, [order.index(i) for i in range(input.rank)])


@tf_op("Roll")
def roll(c: Call, input: Value, shift: Value, axis: Value) -> Value:
    """Roll(input, shift, axis) -> output; T, Tshift, Taxis"""
    shifts, axes = c.sizes(shift), c.ints(axis, "axes")
    assert shifts is not None
    for amount, place in zip(shifts, axes, strict=True):
        along = c.axis(place, input.rank)
        n = input.shape[along]
        if dims.equal(n, 0) is True:
            continue
        start = dims.mod(-1 * amount, n)
        if dims.equal(start, 0) is True:
            continue
        input = c.b.Concat([c.slice(input, along, start, n), c.slice(input, along, 0, start)], axis=along)
    return input


@tf_op("InvertPermutation")
def invert_permutation(c: Call, x: Value) -> Value:
    """InvertPermutation(x) -> y; T"""
    found = c.b.ge.Sort(x, axis=0)[1]
    return c.cast(found, x.dtype)


@tf_op("DataFormatDimMap")
def data_format_dim_map(c: Call, x: Value) -> Value:
    """DataFormatDimMap(x) -> y; T, src_format, dst_format"""
    source, target = c.attr("src_format"), c.attr("dst_format")
    table = np.array([target.index(ch) for ch in source] * 2, x.dtype.numpy)
    return c.b.Gather(c.b.constant(table), c.b.Add(x, c.like(len(source), x)), axis=0)


@tf_op("DataFormatVecPermute")
def data_format_vec_permute(c: Call, x: Value) -> Value:
    """DataFormatVecPermute(x) -> y; T, src_format, dst_format"""
    source, target = c.attr("src_format"), c.attr("dst_format")
    if isinstance(x.shape[0], int) and x.shape[0] < len(source):
        source, target = ("".join(ch for ch in f if ch in "HWD") for f in (source, target))
    order = [source.index(ch) for ch in target]
    return c.b.Gather(x, c.b.ints(order), axis=0)


@tf_op("UnravelIndex")
def unravel_index(c: Call, indices: Value, dims: Value) -> Value:
    """UnravelIndex(indices, dims) -> output; Tidx"""
    b = c.b
    sizes = c.ints(dims, "sizes")
    rows: list[Value] = []
    rest = c.cast(indices, INT64)
    for n in reversed(sizes):
        size = c.number(n, INT64)
        rows.insert(0, c.unsqueeze(b.ge.FloorMod(rest, size), 0))
        rest = b.ge.FloorDiv(rest, size)
    return c.cast(b.Concat(rows, axis=0), indices.dtype)


@tf_op("ConcatOffset")
def concat_offset(c: Call, concat_dim: Value, shape: Sequence[Value]) -> list[Value]:
    """ConcatOffset(concat_dim, shape...) -> offset...; N, shape_type"""
    rows = [c.sizes(s) or [] for s in shape]
    axis = c.axis(c.whole(concat_dim, "an axis"), len(rows[0]))
    found: list[Value] = []
    at: Size = 0
    for row, value in zip(rows, shape, strict=True):
        found.append(c.size_tensor([at if i == axis else 0 for i in range(len(row))], value.dtype))
        at = at + row[axis]
    return found
