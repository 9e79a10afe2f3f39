"""Type rules of operators that move elements: transpose, concatenate, split, tile, pad, blocks, sequences."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.types import Shape, TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.shape import axes_of, same_content


@type_rule("Transpose")
def transpose(c: Infer) -> Type:
    shape = c.shape(0)
    perm = c.attr("perm", tuple(reversed(range(len(shape)))))
    if sorted(perm) != list(range(len(shape))):
        raise c.error(f"perm {list(perm)} is no permutation of {len(shape)} axes")
    same_content(c, shape)
    return TensorType(c.dtype(0), tuple(shape[i] for i in perm))


@type_rule("Concat")
def concat(c: Infer) -> Type:
    out = list(c.shape(0))
    axis = c.axis("axis", len(out))
    if not out:
        raise c.error("scalars cannot be concatenated")
    for i in range(1, c.num_inputs):
        shape = c.shape(i)
        if len(shape) != len(out):
            raise c.error(f"inputs have ranks {len(out)} and {len(shape)}")
        for k, d in enumerate(shape):
            out[k] = out[k] + d if k == axis else c.merge(out[k], d, f"sizes of axis {k}")
    contents = [c.content(i) for i in range(c.num_inputs)]
    if len(out) == 1 and all(e is not None for e in contents):
        c.set_content(0, [x for e in contents if e is not None for x in e])
    return TensorType(c.dtype(0), tuple(out))


@type_rule("Split")
def split(c: Infer) -> Sequence[Type]:
    shape = c.shape(0)
    axis = c.axis("axis", len(shape))
    parts = _split_sizes(c, shape[axis])
    if len(parts) != c.num_outputs:
        raise c.error(f"has {c.num_outputs} outputs, split into {len(parts)} parts")
    content, at = c.content(0), 0
    for i, part in enumerate(parts):
        if content is None or not isinstance(part, int):
            break
        c.set_content(i, content[at : at + part])
        at += part
    return [TensorType(c.dtype(0), (*shape[:axis], part, *shape[axis + 1 :])) for part in parts]


def _split_sizes(c: Infer, size: Size) -> Sequence[Size]:
    if not c.has(1):
        return even_parts(size, c.num_outputs)  # the outputs themselves say how many, not the attribute
    content = c.content(1)
    if content is None:
        axis = c.axis("axis", c.rank(0))
        return [c.data_dim(i, axis, 0, size) for i in range(c.num_outputs)]
    total = sum(content, 0)
    if dims.equal(total, size) is False:
        raise c.error(f"parts {list(content)} add up to {total}, the axis has {size}")
    c.require(total, size)
    return content


def even_parts(size: Size, count: int) -> list[Size]:
    """Sizes of `count` parts of an axis: all ceil(size / count), the last ones smaller when it does not divide."""
    exact = dims.exact_div(size, count)
    if exact is not None:
        return [exact] * count
    part = dims.ceildiv(size, count)
    if count == 2:
        return [part, size - part]
    return [dims.minimum(part, dims.maximum(0, size - i * part)) for i in range(count)]


@type_rule("Tile")
def tile(c: Infer) -> Type:
    shape, repeats = c.shape(0), c.content(1)
    if repeats is None:
        return TensorType(c.dtype(0), tuple(c.data_dim(0, i) for i in range(len(shape))))
    if len(repeats) != len(shape):
        raise c.error(f"{len(repeats)} repeats for rank {len(shape)}")
    content = c.content(0)
    if content is not None and len(shape) == 1 and isinstance(repeats[0], int):
        c.set_content(0, content * min(repeats[0], 65))
    return TensorType(c.dtype(0), tuple(d * r for d, r in zip(shape, repeats, strict=True)))


@type_rule("Pad")
def pad(c: Infer) -> Type:
    shape = c.shape(0)
    if c.attr("mode") not in ("constant", "reflect", "edge", "wrap"):
        raise c.error(f"unknown mode {c.attr('mode')!r}")
    axes = axes_of(c, 3, len(shape)) if c.has(3) else tuple(range(len(shape)))
    pads = c.content(1)
    if axes is None or pads is None:
        known = axes or ()
        touched = range(len(shape)) if axes is None else known
        return TensorType(c.dtype(0), tuple(c.data_dim(0, i) if i in touched else d for i, d in enumerate(shape)))
    if len(pads) != 2 * len(axes):
        raise c.error(f"{len(pads)} pads for {len(axes)} axes")
    out = list(shape)
    for k, axis in enumerate(axes):
        out[axis] = out[axis] + pads[k] + pads[len(axes) + k]
        if dims.less_equal(0, out[axis]) is False:
            raise c.error(f"pads {list(pads)} take more than axis {axis} has")
    return TensorType(c.dtype(0), tuple(out))


@type_rule("Trilu")
def trilu(c: Infer) -> Type:
    if c.rank(0) < 2:
        raise c.error(f"needs a matrix, got {c.type(0)}")
    return c.tensor(0)


def _four(c: Infer) -> Shape:
    if c.rank(0) != 4:
        raise c.error(f"needs rank 4, got {c.type(0)}")
    return c.shape(0)


def _divided(c: Infer, size: Size, by: int, what: str) -> Size:
    if isinstance(size, int) and size % by:
        raise c.error(f"{what} {size} is no multiple of {by}")
    return dims.floordiv(size, by)


@type_rule("DepthToSpace")
def depth_to_space(c: Infer) -> Type:
    n, depth, h, w = _four(c)
    block = c.attr("blocksize")
    return TensorType(c.dtype(0), (n, _divided(c, depth, block * block, "depth"), h * block, w * block))


@type_rule("SpaceToDepth")
def space_to_depth(c: Infer) -> Type:
    n, depth, h, w = _four(c)
    block = c.attr("blocksize")
    return TensorType(
        c.dtype(0),
        (n, depth * block * block, _divided(c, h, block, "height"), _divided(c, w, block, "width")),
    )


@type_rule("ReverseSequence")
def reverse_sequence(c: Infer) -> Type:
    shape = c.shape(0)
    if {c.attr("batch_axis"), c.attr("time_axis")} != {0, 1} or len(shape) < 2:
        raise c.error("batch_axis and time_axis must be 0 and 1 of at least two axes")
    c.merge(shape[c.attr("batch_axis")], c.shape(1)[0], "batch sizes of input and sequence_lens")
    return c.tensor(0)


@type_rule("CenterCropPad")
def center_crop_pad(c: Infer) -> Type:
    shape = list(c.shape(0))
    axes = [c.normal_axis(a, len(shape)) for a in c.attr("axes", tuple(range(len(shape))))]
    wanted = c.content(1)
    if wanted is not None and len(wanted) != len(axes):
        raise c.error(f"shape has {len(wanted)} sizes for {len(axes)} axes")
    for k, axis in enumerate(axes):
        shape[axis] = c.data_dim(0, axis) if wanted is None else wanted[k]
    return TensorType(c.dtype(0), tuple(shape))


@type_rule("Compress")
def compress(c: Infer) -> Type:
    axis = c.attr("axis")
    if axis is None:
        return TensorType(c.dtype(0), (c.data_dim(0, 0, 0, dims.product(c.shape(0))),))
    out = list(c.shape(0))
    axis = c.normal_axis(axis, len(out))
    out[axis] = c.data_dim(0, axis, 0, out[axis])
    return TensorType(c.dtype(0), tuple(out))


@type_rule("ge.RepeatInterleave")
def repeat_interleave(c: Infer) -> Type:
    out = list(c.shape(0))
    axis = c.axis("axis", len(out))
    repeats = c.content(1)
    if repeats is None:
        out[axis] = c.data_dim(0, axis)
    elif len(repeats) == 1:
        out[axis] = out[axis] * repeats[0]
    else:
        c.merge(out[axis], len(repeats), "numbers of slices and repeats")
        out[axis] = sum(repeats, 0)
    content = c.content(0)
    if content is not None and len(out) == 1 and repeats is not None:
        counts = repeats * len(content) if len(repeats) == 1 else repeats
        if not any(isinstance(n, Dim) for n in counts) and isinstance(out[0], int) and out[0] <= 64:
            c.set_content(0, [e for e, n in zip(content, counts, strict=True) for _ in range(int(n))])  # type: ignore[arg-type]
    return TensorType(c.dtype(0), tuple(out))
