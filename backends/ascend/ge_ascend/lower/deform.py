"""Deformable convolutions: the operand sampled where each element of a window moved to, then a product.

DeformableConv2D, whose order of offsets and masks no plugin confirms, is used where unconfirmed mappings may be, on
chips that have it. GridSampler2D samples in float32, since
half precision does not tell places apart; without align_corners a place p on n elements is (2 p + 1) / n - 1 there.
"""

from __future__ import annotations

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.matmul import interleaved
from ge_ascend.lower.product import matrices
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.dtype import float32, int64


@lowering("DeformConv")
def deform_conv(c: LowerCall) -> Out:
    """filter [O, C / group * K] times the samples [C / group * K, places], for each group."""
    if c.rank() != 4:
        raise c.refuse(f"{c.rank() - 2} spatial axes")
    sizes = [size for size in (*c.shape()[1:], *c.shape(1), *c.output_shape()[2:]) if isinstance(size, int)]
    if len(sizes) != 9:
        raise c.refuse("sizes other than the batch that are known at run time only")
    direct = _direct(c)
    if direct is not None:
        return direct
    channels, height, width, outs, ins, rows, columns, out_rows, out_columns = sizes
    batch, group, parts, count = c.shape()[0], c.attr("group"), c.attr("offset_group"), rows * columns
    grid = _places(c, [height, width], [rows, columns], [out_rows, out_columns])
    grid = c.reshape(grid, [batch * parts, count * out_rows, out_columns, 2])
    x = c.reshape(c.cast(c.as_is(0), float32), [batch * parts, channels // parts, height, width])
    sampled = c.op("GridSampler2D", x, grid, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False)
    if c.node.input(4) is not None:
        mask = c.reshape(c.cast(c.as_is(4), float32), [batch * parts, 1, count * out_rows, out_columns])
        sampled = c.op("Mul", sampled, mask)
    c.note("form", "DeformConv as GridSampler2D and a product")
    depth = ins * count
    samples = c.cast(c.reshape(sampled, [batch, group, depth, out_rows * out_columns]), c.float_type)
    filters = c.reshape(c[1], [1, group, outs // group, depth])
    y = c.reshape(matrices(c, filters, samples), c.output_shape())
    bias = c.get(3)
    return y if bias is None else c.op("Add", y, c.reshape(c.cast(bias, y.value.dtype), [1, outs, 1, 1]))


def _direct(c: LowerCall) -> Out | None:
    """DeformableConv2D with channels of offsets for the width, the height and the factors, in this order."""
    ins, rows, columns = (int(size) for size in c.shape(1)[1:])  # type: ignore[arg-type]
    count = c.attr("offset_group") * rows * columns
    if (
        not c.may_use("DeformConv")
        or not c.engine.chip.kernels
        or rows * columns > 2048
        or rows * columns * ins > 65535
    ):
        return None
    batch, _, *places = c.shape(2)
    moved, kind = c.get(2), c.float_type
    assert moved is not None
    parts = [
        c.op("GatherV2", moved, c.const(np.arange(first, 2 * count, 2), int64), c.const(1, int64)) for first in (1, 0)
    ]
    factors = c.get(4) or c.op("BroadcastTo", c.const(1.0, kind), c.ints([batch, count, *places]))
    offsets = c.op("ConcatV2", [*parts, factors], c.const(1, int64), N=3)
    strides, dilations = (list(c.attr(name) or [1, 1]) for name in ("strides", "dilations"))
    y = c.ops(
        "DeformableConv2D", c[0], c[1], offsets, strides=[1, 1, *strides],
        pads=interleaved(list(c.attr("pads") or [0] * 4)), dilations=[1, 1, *dilations], groups=c.attr("group"),
        data_format="NCHW", deformable_groups=c.attr("offset_group"),
        formats=dict.fromkeys(("x", "filter", "offsets", "y"), "NCHW"),
    )[0]  # fmt: skip
    c.note("form", "DeformConv as DeformableConv2D")
    bias = c.get(3)
    return y if bias is None else c.op("Add", y, c.reshape(c.cast(bias, y.value.dtype), [1, c.shape(1)[0], 1, 1]))


def _places(c: LowerCall, sizes: list[int], kernel: list[int], outs: list[int]) -> Out:
    """Where the elements of windows are: [batch, parts, K, rows, columns, (x, y)], as GridSampler2D takes it."""
    strides, dilations = (list(c.attr(name) or [1, 1]) for name in ("strides", "dilations"))
    pads = list(c.attr("pads") or [0, 0])
    base = np.zeros((kernel[0], kernel[1], 2, outs[0], outs[1]), np.float32)
    for axis in range(2):
        step = np.arange(outs[axis]) * strides[axis] - pads[axis]
        within = np.arange(kernel[axis]) * dilations[axis]
        base[:, :, axis] += step.reshape([-1 if i == 2 + axis else 1 for i in range(4)])
        base[:, :, axis] += within.reshape([-1 if i == axis else 1 for i in range(4)])
    count = kernel[0] * kernel[1]
    moved = c.reshape(c.cast(c.as_is(2), float32), [c.shape()[0], c.attr("offset_group"), count, 2, *outs])
    moved = c.op("Add", moved, c.const(base.reshape(1, 1, count, 2, *outs)))
    extent = np.array(sizes, np.float32).reshape(1, 1, 1, 2, 1, 1)
    moved = c.op("Add", c.op("Mul", moved, c.const(2 / extent)), c.const(1 / extent - 1))
    moved = c.op("GatherV2", moved, c.const([1, 0], int64), c.const(3, int64))
    return c.transpose(moved, [0, 1, 2, 4, 5, 3])
