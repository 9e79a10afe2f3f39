"""The largest element of each window and where it stands, for windows that no certain operator has.

Windows become an axis by Im2col, after a padding with the type's lowest number; the place of the first of the largest
elements comes from ArgMaxV2. MaxPoolWithArgmaxV1 counts places in another form, V3 is not on these chips.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.net import Out
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int32, int64


def pooled_with_places(
    c: LowerCall, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int]
) -> list[Out]:
    """Maxima and, where they are read, their places in the flattened operand; on one or two spatial axes.

    Args:
        pads: before each axis, then behind each; with known sizes what is needed behind follows from the result's.
    """
    spatial = c.rank() - 2
    if spatial > 2:
        raise c.refuse(f"places of the largest elements, or dilations, on {spatial} axes")
    sizes, outs = list(c.shape()), list(c.output_shape())
    x = c[0]
    kernel, strides, dilations = list(kernel), list(strides), list(dilations)
    begins, behind = list(pads[:spatial]), list(pads[spatial:])
    if spatial == 1:
        x = c.op("Unsqueeze", x, axes=[2])
        kernel, strides, dilations = [1, *kernel], [1, *strides], [1, *dilations]
        begins, behind = [0, *begins], [0, *behind]
        sizes, outs = [*sizes[:2], 1, sizes[2]], [*outs[:2], 1, outs[2]]
    c.note("form", f"{c.node.op} by Im2col{', its places by ArgMaxV2' if _wants(c) else ''}")
    x = _padded(c, x, sizes, outs, kernel, strides, dilations, begins, behind)
    formats = {"x": "NCHW", "y": "NCHW"}
    windows = c.ops("Im2col", x, ksizes=kernel, strides=strides, dilations=dilations, pads=[0] * 4, formats=formats)[0]
    count = kernel[0] * kernel[1]
    windows = c.reshape(windows, [outs[0], outs[1], count, outs[2], outs[3]])
    best = c.reshape(c.op("ReduceMax", windows, c.ints([2]), keep_dims=False), c.output_shape())
    if not _wants(c):
        return [best]
    place = c.cast(c.op("ArgMaxV2", windows, c.const(2, int32), dtype=int64.ge_memory), int64)
    rows = _coordinate(c, place, [i // kernel[1] * dilations[0] for i in range(count)], outs, 2, strides, begins)
    columns = _coordinate(c, place, [i % kernel[1] * dilations[1] for i in range(count)], outs, 3, strides, begins)
    column_major = bool(c.node.op == "MaxPool" and c.attr("storage_order")) and spatial == 2
    slow, fast, length = (columns, rows, sizes[2]) if column_major else (rows, columns, sizes[3])
    within = c.op("Add", c.op("Mul", slow, c.scalar(length)), fast)
    if c.node.op == "MaxPool":
        planes = c.op("Range", c.scalar(0), c.scalar(sizes[0] * sizes[1]), c.const(1, int64))
        planes = c.op("Mul", c.reshape(planes, [sizes[0], sizes[1], 1, 1]), c.scalar(sizes[2] * sizes[3]))
        within = c.op("Add", within, planes)
    return [best, c.reshape(within, c.output_shape())]


def _wants(c: LowerCall) -> bool:
    return len(c.node.outputs) > 1 and c.node.outputs[1].has_uses


def _padded(
    c: LowerCall, x: Out, sizes: list[Size], outs: list[Size], kernel: list[int], strides: list[int],
    dilations: list[int], begins: list[int], behind: list[int],
) -> Out:  # fmt: skip
    """x with the elements that the windows cover."""
    ends: list[int] = []
    for i in range(2):
        covered = (outs[2 + i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1
        missing = covered - sizes[2 + i] - begins[i]
        if not isinstance(missing, int) and c.attr("ceil_mode"):
            raise c.refuse("places of the largest elements with rounding up of sizes that are known at run time only")
        ends.append(max(missing, 0) if isinstance(missing, int) else behind[i])
    if not any(begins) and not any(ends):
        return x
    lowest = np.finfo(np.float16).min if c[0].value.dtype.bits == 16 else np.finfo(np.float32).min
    pads = [0, 0, 0, 0, begins[0], ends[0], begins[1], ends[1]]
    return c.op("PadV3", x, c.ints(pads), c.const(lowest, c[0].value.dtype), mode="constant")


def _coordinate(
    c: LowerCall, place: Out, offsets: list[int], outs: list[Size], axis: int, strides: list[int], begins: list[int]
) -> Out:
    """Where along an axis of the operand the chosen element of each window stands."""
    offset = c.op("GatherV2", c.const(offsets, int64), place, c.const(0, int64))
    if strides[axis - 2] == 0 or outs[axis] == 1:
        return offset if not begins[axis - 2] else c.op("Sub", offset, c.const(begins[axis - 2], int64))
    steps = c.op("Range", c.scalar(0), c.scalar(outs[axis]), c.const(1, int64))
    steps = c.op("Mul", steps, c.const(strides[axis - 2], int64))
    if begins[axis - 2]:
        steps = c.op("Sub", steps, c.const(begins[axis - 2], int64))
    return c.op("Add", offset, c.reshape(steps, [outs[axis] if i == axis else 1 for i in range(4)]))
