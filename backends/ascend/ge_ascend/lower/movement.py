"""Operators that move, repeat and join elements, and those of shapes."""

from __future__ import annotations

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.lower.scope import bare_symbol
from ge_ascend.net import Out
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import float32, int32, int64, uint8

_LAST = 2**31 - 1


@lowering("Transpose")
def transpose(c: LowerCall) -> Out:
    perm = c.attr("perm")
    return c.transpose(c[0], list(reversed(range(c.rank()))) if perm is None else perm)


@lowering("Reshape")
def reshape(c: LowerCall) -> Out:
    """The result's own sizes, so that no zero or -1 is left to be read in two ways."""
    return c.reshape(c[0], _one_free(c.output_shape()))


def _one_free(sizes: tuple[Size, ...]) -> list[Size]:
    """The sizes with -1 for the only symbolic one, which saves computing it."""
    symbolic = [i for i, size in enumerate(sizes) if isinstance(size, Dim)]
    if len(symbolic) == 1 and all(size != 0 for size in sizes if isinstance(size, int)):
        return [-1 if i == symbolic[0] else size for i, size in enumerate(sizes)]
    return list(sizes)


@lowering("Flatten")
def flatten(c: LowerCall) -> Out:
    return c.reshape(c[0], _one_free(c.output_shape()))


@lowering("Squeeze")
def squeeze(c: LowerCall) -> Out:
    given = c.content(1)
    rank = c.rank()
    axes = [a % rank for a in c.known(1)] if given is not None else [i for i, s in enumerate(c.shape()) if s == 1]
    return c.op("Squeeze", c[0], axis=axes) if axes else c.op("Identity", c[0])


@lowering("Unsqueeze")
def unsqueeze(c: LowerCall) -> Out:
    rank = len(c.output_shape())
    return c.op("Unsqueeze", c[0], axes=sorted(a % rank for a in c.known(1)))


@lowering("Concat")
def concat(c: LowerCall) -> Out:
    parts = c.all()
    if len(parts) == 1:
        return c.op("Identity", parts[0])
    axis = c.attr("axis") % c.rank()
    return c.op("ConcatV2", parts, c.const(axis, int32), N=len(parts))


@lowering("Split")
def split(c: LowerCall) -> list[Out]:
    axis = c.attr("axis") % c.rank()
    sizes = [value.shape[axis] for value in c.node.outputs]
    if len(sizes) == 1:
        return [c.op("Identity", c[0])]
    return list(c.ops("SplitV", c[0], c.ints(sizes), c.const(axis, int32), num_split=len(sizes), count=len(sizes)))


@lowering("Slice")
def slice_(c: LowerCall) -> Out:
    """StridedSlice with a begin, end and stride for every axis."""
    rank = c.rank()
    begins, ends = c.content(1), c.content(2)
    axes = [a % rank for a in c.known(3)] if c.node.input(3) is not None else list(range(rank))
    steps = c.known(4) if c.node.input(4) is not None else (1,) * len(axes)
    if begins is None or ends is None:
        return _slice_by_data(c, axes, steps)
    if any(step < 0 for step in steps):
        return _reversed(c, axes, begins, ends, steps)
    full: list[tuple[Size, Size, int]] = [(0, size if isinstance(size, int) else _LAST, 1) for size in c.shape()]
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        full[axis] = (_clipped(begin), _clipped(end), step)
    return c.op(
        "StridedSlice", c[0], c.ints(f[0] for f in full), c.ints(f[1] for f in full), c.ints(f[2] for f in full)
    )


def _clipped(size: Size) -> Size:
    return max(-_LAST, min(_LAST, size)) if isinstance(size, int) else size


def _slice_by_data(c: LowerCall, axes: list[int], steps: tuple[int, ...]) -> Out:
    """Bounds that the data decide: StridedSlice on the leading axes, with the given ones at their places."""
    if any(step < 0 for step in steps):
        raise c.refuse("a negative step with bounds that are computed from data")
    rank = c.rank()
    begin = _spread(c, c.as_is(1), axes, [0] * rank)
    end = _spread(c, c.as_is(2), axes, [_LAST] * rank)
    strides = [1] * rank
    for axis, step in zip(axes, steps, strict=True):
        strides[axis] = step
    return c.op("StridedSlice", c[0], begin, end, c.ints(strides))


def _spread(c: LowerCall, given: Out, axes: list[int], rest: list[int]) -> Out:
    parts = []
    wide = c.cast(given, int64)
    for axis, value in enumerate(rest):
        if axis in axes:
            at = c.const([axes.index(axis)], int64)
            parts.append(c.op("GatherV2", wide, at, c.const(0, int64)))
        else:
            parts.append(c.const([value], int64))
    return c.op("ConcatV2", parts, c.const(0, int32), N=len(parts)) if len(parts) > 1 else parts[0]


def _reversed(
    c: LowerCall, axes: list[int], begins: tuple[Size, ...], ends: tuple[Size, ...], steps: tuple[int, ...]
) -> Out:
    """Whole axes backwards by ReverseV2; a negative step otherwise is no certain operator."""
    out = c[0]
    sizes = c.shape()
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        size = sizes[axis]
        from_end = begin == -1 or (isinstance(begin, int) and isinstance(size, int) and begin >= size - 1)
        to_start = isinstance(end, int) and (isinstance(size, int) and end < -size or end <= -_LAST)
        if step != -1 or not from_end or not to_start:
            if step > 0:
                raise c.refuse("slices forwards and backwards at once")
            raise c.refuse(f"the slice {begin}:{end}:{step} of {size} elements")
        out = c.op("ReverseV2", out, c.ints([axis]))
    return out


@lowering("Expand")
def expand(c: LowerCall) -> Out:
    """BroadcastTo the result's sizes; a tensor of more axes stays as it is."""
    return c.op("BroadcastTo", c[0], c.ints(c.output_shape()))


@lowering("Tile")
def tile(c: LowerCall) -> Out:
    found = c.content(1)
    return c.op("Tile", c[0], c.as_is(1) if found is None else c.ints(found))


@lowering("Pad")
def pad(c: LowerCall) -> Out:
    """PadV3 with begin and end per axis, as the operator wants them."""
    pads, rank = c.content(1), c.rank()
    mode = c.attr("mode")
    if pads is None:
        raise c.refuse("paddings that are computed from data")
    if mode == "wrap":
        raise c.refuse("the mode wrap", "repeat the tensor and slice it")
    axes = [a % rank for a in c.known(3)] if c.node.input(3) is not None else list(range(rank))
    full: list[Size] = [0] * (2 * rank)
    for i, axis in enumerate(axes):
        full[2 * axis], full[2 * axis + 1] = pads[i], pads[len(axes) + i]
    if any(isinstance(size, int) and size < 0 for size in full):
        return _cropped(c, full, mode)
    value = c.get(2)
    if mode == "constant" and value is None:
        value = c.const(0, c[0].value.dtype)
    return c.op("PadV3", c[0], c.ints(full), value if mode == "constant" else None, mode=mode)


def _cropped(c: LowerCall, full: list[Size], mode: str) -> Out:
    """Negative paddings cut: a slice, then the rest of the padding."""
    low = [-p if isinstance(p, int) and p < 0 else 0 for p in full[::2]]
    high = [p if isinstance(p, int) and p < 0 else _LAST for p in full[1::2]]
    out = c.op("StridedSlice", c[0], c.ints(low), c.ints(high), c.ints([1] * len(low)))
    rest = [p if isinstance(p, Dim) or p > 0 else 0 for p in full]
    if all(p == 0 for p in rest):
        return out
    value = c.get(2)
    if mode == "constant" and value is None:
        value = c.const(0, out.value.dtype)
    return c.op("PadV3", out, c.ints(rest), value if mode == "constant" else None, mode=mode)


@lowering("BitCast")
def bit_cast(c: LowerCall) -> Out:
    """Types of one size: the same bytes read in another way."""
    wanted = c.node.outputs[0].dtype
    if wanted.bits != c.input(0).dtype.bits or c.as_is(0).value.dtype != c.input(0).dtype:
        raise c.refuse(f"from {c.input(0).dtype} to {wanted}")
    return c.op("Bitcast", c.as_is(0), type=wanted.ge_memory)


@lowering("ge.Dims")
def sizes(c: LowerCall) -> Out:
    exprs = c.attr("exprs")
    return c.scalar(exprs[0]) if c.attr("scalar") else c.ints(exprs)


@lowering("Shape")
def shape(c: LowerCall) -> Out:
    return c.ints(_shape_part(c))


def _shape_part(c: LowerCall) -> tuple[Size, ...]:
    found = c.shape()
    start, end = c.attr("start") or 0, c.attr("end")
    return found[start:end]


@lowering("Size")
def size(c: LowerCall) -> Out:
    return c.scalar(c.input(0).tensor.elements)


@lowering("ge.BindDim")
def bind_dim(c: LowerCall) -> Out:
    """From here on the scalar is the symbol."""
    out = c.cast(c.as_is(0), int64)
    content = c.node.outputs[0].content
    if out.value.rank:
        out = c.reshape(out, [])
    symbol = bare_symbol(content[0]) if content else None
    if symbol is not None:
        c.scope.scalars.setdefault(symbol.name, out)
    return out


@lowering("ge.Check")
def check(c: LowerCall) -> list[Out]:
    """Assertions are left out: the compiled model has no way to tell which one failed."""
    c.note("left out", "an assertion")
    return []


@lowering("DepthToSpace")
def depth_to_space(c: LowerCall) -> Out:
    return c.ops(
        "DepthToSpace", c[0], block_size=c.attr("blocksize"), mode=c.attr("mode"), data_format="NCHW",
        formats={"x": "NCHW", "y": "NCHW"},
    )[0]  # fmt: skip


@lowering("SpaceToDepth")
def space_to_depth(c: LowerCall) -> Out:
    return c.ops(
        "SpaceToDepth", c[0], block_size=c.attr("blocksize"), data_format="NCHW", formats={"x": "NCHW", "y": "NCHW"}
    )[0]


@lowering("Trilu")
def trilu(c: LowerCall) -> Out:
    k = c.known(1)[0] if c.node.input(1) is not None else 0
    x = c[0]
    if x.value.dtype.kind == "bool":
        return c.cast(c.op(_triangle(c), c.cast(x, uint8), diagonal=k), x.value.dtype)
    return c.op(_triangle(c), x, diagonal=k)


def _triangle(c: LowerCall) -> str:
    return "Triu" if c.attr("upper") else "Tril"


@lowering("ReverseSequence")
def reverse_sequence(c: LowerCall) -> Out:
    return c.op("ReverseSequence", c[0], c[1], seq_dim=c.attr("time_axis"), batch_dim=c.attr("batch_axis"))


@lowering("ConstantOfShape")
def constant_of_shape(c: LowerCall) -> Out:
    value = c.attr("value")
    array = np.zeros((), np.float32) if value is None else value.array().reshape(())
    dims = c.content(0)
    vector = c.as_is(0) if dims is None else c.ints(dims)
    return c.op("Fill", vector, c.const(array, c.output_type()))


@lowering("Range")
def range_(c: LowerCall) -> Out:
    """In float32 or integers: half precision cannot count beyond 2048."""
    operands = [c.as_is(i) for i in range(3)]
    if c.input(0).dtype.is_float:
        operands = [c.cast(out, float32) for out in operands]
    return c.op("Range", *operands)


@lowering("EyeLike")
def eye_like(c: LowerCall) -> Out:
    rows, columns = c.shape()
    if isinstance(rows, Dim) or isinstance(columns, Dim):
        raise c.refuse("sizes that are known at run time only")
    found = c.const(np.eye(rows, columns, k=c.attr("k") or 0), c.output_type())
    return c.op("Identity", found)


@lowering("ge.RepeatInterleave")
def repeat_interleave(c: LowerCall) -> Out:
    return c.op("RepeatInterleave", c[0], c.as_is(1), axis=c.attr("axis") % c.rank())
