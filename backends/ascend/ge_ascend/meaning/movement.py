"""Operators that move, repeat and join elements, and those of shapes."""

from __future__ import annotations

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.dims import exact_div
from ge_core.ir.dtype import int64
from ge_core.ir.graph import Value


@meaning("Transpose")
def transpose(c: Call) -> Result:
    """Transpose(x, perm)"""
    result: Value = c.b.Transpose(c["x"], perm=c.numbers("perm"))
    return result


@meaning("Reshape")
def reshape(c: Call) -> Result:
    """Reshape(x, shape; axis=0, num_axes=-1)"""
    if c.attr("axis") != 0 or c.attr("num_axes") != -1:
        raise c.error("a reshape of some axes only is not supported")
    result: Value = c.b.Reshape(c["x"], c.cast(c["shape"], int64), allowzero=1)
    return result


@meaning("Squeeze")
def squeeze(c: Call) -> Result:
    """Squeeze(x; axis)"""
    axes = c.attr("axis")
    result: Value = c.b.Squeeze(c["x"], c.b.ints(*axes) if axes else None)
    return result


@meaning("Unsqueeze")
def unsqueeze(c: Call) -> Result:
    """Unsqueeze(x; axes)"""
    result: Value = c.b.Unsqueeze(c["x"], c.b.ints(*c.attr("axes")))
    return result


@meaning("SqueezeV3")
def squeeze_v3(c: Call) -> Result:
    """SqueezeV3(x, axes)"""
    result: Value = c.b.Squeeze(c["x"], c.get("axes"))
    return result


@meaning("UnsqueezeV3")
def unsqueeze_v3(c: Call) -> Result:
    """UnsqueezeV3(x, axes)"""
    result: Value = c.b.Unsqueeze(c["x"], c["axes"])
    return result


@meaning("ExpandDims")
def expand_dims(c: Call) -> Result:
    """ExpandDims(x, axis)"""
    result: Value = c.b.Unsqueeze(c["x"], c.b.ints(*c.numbers("axis")))
    return result


@meaning("Flatten")
def flatten(c: Call) -> Result:
    """Flatten(x; axis)"""
    result: Value = c.b.Flatten(c["x"], axis=c.attr("axis"))
    return result


@meaning("Pack")
def pack(c: Call) -> Result:
    """Pack(x0, x1, ...; axis, N)"""
    axis = c.b.ints(c.attr("axis"))
    result: Value = c.b.Concat([c.b.Unsqueeze(x, axis) for x in c.dynamic("x")], axis=c.attr("axis"))
    return result


@meaning("Unpack")
def unpack(c: Call) -> Result:
    """Unpack(x; num, axis) -> y0, y1, ..."""
    count, axis = c.attr("num"), c.attr("axis")
    parts = c.b.Split(c["x"], axis=axis, num_outputs=count) if count > 1 else (c["x"],)
    return [c.b.Squeeze(part, c.b.ints(axis)) for part in parts]


@meaning("ConcatV2")
def concat(c: Call) -> Result:
    """ConcatV2(x0, x1, ..., concat_dim; N)"""
    (axis,) = c.numbers("concat_dim")
    result: Value = c.b.Concat(c.dynamic("x"), axis=axis)
    return result


@meaning("ConcatD", "ConcatV2D")
def concat_d(c: Call) -> Result:
    """ConcatD(x0, x1, ...; concat_dim, N)"""
    result: Value = c.b.Concat(c.dynamic("x"), axis=c.attr("concat_dim"))
    return result


@meaning("SplitV")
def split_v(c: Call) -> Result:
    """SplitV(x, size_splits, split_dim; num_split) -> y0, y1, ..."""
    (axis,) = c.numbers("split_dim")
    sizes = c.cast(c["size_splits"], int64)
    return _parts(c.b.Split(c["x"], sizes, axis=axis, num_outputs=c.attr("num_split")))


@meaning("Split")
def split(c: Call) -> Result:
    """Split(split_dim, x; num_split) -> y0, y1, ..., all of one size"""
    (axis,) = c.numbers("split_dim")
    count = c.attr("num_split")
    x = c["x"]
    if count == 1:
        return [c.b.Identity(x)]
    return _parts(_equal_parts(c, x, axis, count))


def _equal_parts(c: Call, x: Value, axis: int, count: int) -> object:
    part = exact_div(x.shape[axis], count)
    if part is None:
        raise c.error(f"{x.shape[axis]} elements cannot be split into {count} equal parts")
    return c.b.Split(x, c.b.ints(*[part] * count), axis=axis, num_outputs=count)


def _parts(found: object) -> list[Value]:
    return list(found) if isinstance(found, tuple) else [found]  # type: ignore[list-item]


@meaning("StridedSlice")
def strided_slice(c: Call) -> Result:
    """StridedSlice(x, begin, end, strides; masks): only without new or shrunk axes."""
    if c.attr("ellipsis_mask") or c.attr("new_axis_mask"):
        raise c.error("an ellipsis or a new axis is not supported")
    x, rank = c["x"], c["x"].rank
    begin, end, strides = c["begin"], c["end"], c["strides"]
    count = begin.shape[0]
    if not isinstance(count, int) or count > rank:
        raise c.error("the number of sliced axes is not known")
    low, high, shrink = c.attr("begin_mask"), c.attr("end_mask"), c.attr("shrink_axis_mask")
    if low or high or shrink:
        steps = c.numbers("strides")
        lows, highs = list(c.sizes("begin")), list(c.sizes("end"))
        for i in range(count):
            if low >> i & 1:
                lows[i] = 0 if steps[i] > 0 else _LAST
            if high >> i & 1:
                highs[i] = _LAST if steps[i] > 0 else -_LAST
            if shrink >> i & 1:
                highs[i] = _LAST if lows[i] == -1 else lows[i] + 1
        begin, end = c.b.ints(*lows), c.b.ints(*highs)
    axes = c.b.ints(*range(count))
    y = c.b.Slice(x, c.cast(begin, int64), c.cast(end, int64), axes, c.cast(strides, int64))
    gone = [i for i in range(count) if shrink >> i & 1]
    result: Value = c.b.Squeeze(y, c.b.ints(*gone)) if gone else y
    return result


_LAST = 2**31 - 1


@meaning("StridedSliceV2")
def strided_slice_v2(c: Call) -> Result:
    """StridedSliceV2(x, begin, end, axes, strides)"""
    for mask in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"):
        if c.attr(mask):
            raise c.error(f"{mask} is not supported")
    given = [c.cast(v, int64) if (v := c.get(p)) is not None else None for p in ("axes", "strides")]
    result: Value = c.b.Slice(c["x"], c.cast(c["begin"], int64), c.cast(c["end"], int64), *given)
    return result


@meaning("Slice")
def slice_by_size(c: Call) -> Result:
    """Slice(x, offsets, size): size -1 is up to the end."""
    lows, sizes = c.sizes("offsets"), c.sizes("size")
    highs = [_LAST if size == -1 else low + size for low, size in zip(lows, sizes, strict=True)]
    result: Value = c.b.Slice(c["x"], c.b.ints(*lows), c.b.ints(*highs), c.b.ints(*range(len(lows))))
    return result


@meaning("BroadcastTo", "Expand")
def broadcast_to(c: Call) -> Result:
    """BroadcastTo(x, shape)"""
    result: Value = c.b.Expand(c["x"], c.cast(c["shape"], int64))
    return result


@meaning("Tile")
def tile(c: Call) -> Result:
    """Tile(x, multiples)"""
    result: Value = c.b.Tile(c["x"], c.cast(c["multiples"], int64))
    return result


@meaning("PadV3")
def pad(c: Call) -> Result:
    """PadV3(x, paddings, constant_values; mode, paddings_contiguous): contiguous is begin, end per axis."""
    pads = c.cast(c["paddings"], int64)
    if c.attr("paddings_contiguous"):
        pads = c.b.Reshape(c.b.Transpose(c.b.Reshape(pads, c.b.ints(-1, 2)), perm=[1, 0]), c.b.ints(-1))
    value = c.get("constant_values")
    if value is not None and value.rank != 0:
        value = c.b.Reshape(value, c.b.ints([]))
    result: Value = c.b.Pad(c["x"], pads, value, mode=c.attr("mode"))
    return result


@meaning("Pad")
def pad_zero(c: Call) -> Result:
    """Pad(x, paddings): zeros; paddings [rank, 2]"""
    pads = c.cast(c["paddings"], int64)
    flat = c.b.Reshape(c.b.Transpose(c.b.Reshape(pads, c.b.ints(-1, 2)), perm=[1, 0]), c.b.ints(-1))
    result: Value = c.b.Pad(c["x"], flat)
    return result


@meaning("Shape")
def shape(c: Call) -> Result:
    """Shape(x; dtype)"""
    return c.cast(c.b.Shape(c["x"]), c.dtype_attr("dtype"))


@meaning("Bitcast")
def bit_cast(c: Call) -> Result:
    """Bitcast(x; type): types of one size"""
    wanted = c.dtype_attr("type")
    if wanted.bits != c["x"].dtype.bits:
        raise c.error(f"from {c['x'].dtype} to {wanted}")
    result: Value = c.b.BitCast(c["x"], to=wanted)
    return result


@meaning("Size")
def size(c: Call) -> Result:
    """Size(x; dtype)"""
    return c.cast(c.b.Size(c["x"]), c.dtype_attr("dtype"))


@meaning("ReverseV2")
def reverse(c: Call) -> Result:
    """ReverseV2(x, axis)"""
    axes = c.numbers("axis")
    ends = np.full(len(axes), np.iinfo(np.int64).min, np.int64)
    ones = np.full(len(axes), -1, np.int64)
    result: Value = c.b.Slice(c["x"], c.b.constant(ones), c.b.constant(ends), c.b.ints(*axes), c.b.constant(ones))
    return result


@meaning("ReverseSequence")
def reverse_sequence(c: Call) -> Result:
    """ReverseSequence(x, seq_lengths; seq_dim, batch_dim)"""
    result: Value = c.b.ReverseSequence(
        c["x"], c.cast(c["seq_lengths"], int64), time_axis=c.attr("seq_dim"), batch_axis=c.attr("batch_dim")
    )
    return result


@meaning("DepthToSpace")
def depth_to_space(c: Call) -> Result:
    """DepthToSpace(x; block_size, mode, data_format)"""
    _channels_first(c)
    result: Value = c.b.DepthToSpace(c["x"], blocksize=c.attr("block_size"), mode=c.attr("mode"))
    return result


@meaning("SpaceToDepth")
def space_to_depth(c: Call) -> Result:
    """SpaceToDepth(x; block_size, data_format)"""
    _channels_first(c)
    result: Value = c.b.SpaceToDepth(c["x"], blocksize=c.attr("block_size"))
    return result


def _channels_first(c: Call) -> None:
    if c.formats.get("x", c.attr("data_format")) != "NCHW":
        raise c.error("only the format NCHW is supported")


@meaning("Triu")
def triu(c: Call) -> Result:
    """Triu(x; diagonal)"""
    result: Value = c.b.Trilu(c["x"], np.int64(c.attr("diagonal")), upper=1)
    return result


@meaning("Tril")
def tril(c: Call) -> Result:
    """Tril(x; diagonal)"""
    result: Value = c.b.Trilu(c["x"], np.int64(c.attr("diagonal")), upper=0)
    return result


@meaning("Fill")
def fill(c: Call) -> Result:
    """Fill(dims, value)"""
    value = c["value"]
    if value.rank:
        value = c.b.Reshape(value, c.b.ints([]))
    result: Value = c.b.Expand(value, c.cast(c["dims"], int64))
    return result


@meaning("Range")
def range_(c: Call) -> Result:
    """Range(start, limit, delta)"""
    operands = [c[p] if c[p].rank == 0 else c.b.Reshape(c[p], c.b.ints([])) for p in ("start", "limit", "delta")]
    result: Value = c.b.Range(*operands)
    return result


_MOST_MADE = 1 << 24
"""Elements of a constant that an operator makes out of a few numbers."""


@meaning("Eye")
def eye(c: Call) -> Result:
    """Eye(; num_rows, num_columns, batch_shape, dtype): a constant"""
    if c.attr("batch_shape"):
        raise c.error("batches are not supported")
    rows, columns = c.attr("num_rows"), c.attr("num_columns")
    if not 0 <= rows * max(columns, 1) <= _MOST_MADE:
        raise c.error(f"{rows} rows and {columns} columns")
    result: Value = c.b.constant(np.eye(rows, columns or rows, dtype=c.dtype_attr("dtype").numpy))
    return result
