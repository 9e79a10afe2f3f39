"""A transposed convolution as a convolution over its operand with zeros in between, where the chip has no kernel.

y = conv(x with s - 1 zeros after each element, filters turned round and with their channels exchanged), padded by
d (k - 1) - p on each side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.net import Out
from ge_core.ir.dims import Size
from ge_core.ir.graph import constant_of

_LAST = np.iinfo(np.int32).max


def spread_product(
    c: LowerCall, x: Out, bias: Out | None, strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int],
    extra: Sequence[int],
) -> Out:  # fmt: skip
    """The transposed convolution on three spatial axes by Conv3D; its filters are constant."""
    filters = constant_of(c.node.input(1))
    if filters is None:
        raise c.refuse("in this type with filters that are computed", "precision_mode='mixed_float16'")
    c.note("form", "ConvTranspose as Conv3D over spread elements")
    wide = filters.array()
    groups, (ins, outs, *kernel) = c.attr("group"), wide.shape
    turned = np.flip(wide, (2, 3, 4)).reshape(groups, ins // groups, outs, *kernel).swapaxes(1, 2)
    turned = np.ascontiguousarray(turned.reshape(groups * outs, ins // groups, *kernel))
    begins, ends = [], []
    for i, (size, stride, dilation) in enumerate(zip(kernel, strides, dilations, strict=True)):
        reach = dilation * (size - 1)
        begins.append(reach - pads[i])
        ends.append(reach - pads[3 + i] + extra[i] - (stride - 1))
    x = _spread(c, x, list(c.shape()), strides)
    x = _cropped(c, x, begins, ends)
    formats = {"x": "NCDHW", "filter": "NCDHW", "y": "NCDHW"}
    both = [p for pair in zip(begins, ends, strict=True) for p in (max(pair[0], 0), max(pair[1], 0))]
    return c.product(
        "Conv3D", x, c.const(turned, x.value.dtype), bias, strides=[1] * 5, dilations=[1, 1, *dilations], pads=both,
        groups=groups, data_format="NCDHW", formats=formats,
    )  # fmt: skip


def _spread(c: LowerCall, x: Out, sizes: list[Size], strides: Sequence[int]) -> Out:
    """s - 1 zeros after each element along each spatial axis."""
    for axis, stride in enumerate(strides, 2):
        if stride > 1:
            pads = [0] * 12
            pads[2 * (axis + 1) + 1] = stride - 1
            x = c.op("Unsqueeze", x, axes=[axis + 1])
            x = c.op("PadV3", x, c.ints(pads), c.const(0, x.value.dtype), mode="constant")
            sizes[axis] = sizes[axis] * stride
            x = c.reshape(x, sizes)
    return x


def _cropped(c: LowerCall, x: Out, begins: Sequence[int], ends: Sequence[int]) -> Out:
    """Negative paddings cut."""
    if min(*begins, *ends) >= 0:
        return x
    low = [0, 0, *(max(-begin, 0) for begin in begins)]
    high = [_LAST, _LAST, *(min(end, 0) or _LAST for end in ends)]
    return c.op("StridedSlice", x, c.ints(low), c.ints(high), c.ints([1] * 5))
