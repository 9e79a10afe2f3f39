"""Moves of data that older opsets have no operator for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.movement import center_crop_pad
from ge_core.ops.decompositions.precision import operand
from ge_core.ops.decompositions.vision import affine_grid

from .forms import InexpressibleError
from .lowerings import lowers
from .sizes import Sizes


def _elements(b: Builder, sizes: Value, count: int) -> list[Value]:
    return [b.Slice(sizes, b.ints(i), b.ints(i + 1), b.ints(0)) for i in range(count)]


@lowers("CenterCropPad")
def crop_or_pad(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Its decomposition, which asks for the sizes that the second input says."""
    axes, y = node.attrs.get("axes"), node.output
    named = tuple(range(y.rank)) if axes is None else axes
    assert isinstance(named, tuple)
    for axis, element in zip(named, _elements(b, operand(node.inputs, 1), len(named)), strict=True):
        element.content = (y.shape[int(axis) % y.rank],)  # type: ignore[arg-type]
    return center_crop_pad(b, node)


@lowers("AffineGrid")
def grid(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Its decomposition; the sizes are batch, channels and those of the grid."""
    y = node.output
    for element, size in zip(_elements(b, operand(node.inputs, 1), y.rank)[2:], y.shape[1:-1], strict=True):
        element.content = (size,)
    return affine_grid(b, node)


@lowers("TensorScatter")
def tensor_scatter(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """ScatterElements at the steps that each row of the batch writes."""
    cache, update, starts = operand(node.inputs, 0), operand(node.inputs, 1), node.input(2)
    axis = int(node.attrs.get("axis", -2)) % cache.rank  # type: ignore[arg-type]
    count = b.Reshape(sizes.vector(b, update.shape[axis]), b.constant(np.zeros(0, np.int64)))
    at = b.Unsqueeze(b.Range(np.int64(0), count, np.int64(1)), b.ints([i for i in range(cache.rank) if i != axis]))
    if starts is not None:
        at = b.Add(at, b.Unsqueeze(b.Cast(starts, to="int64"), b.ints(range(1, cache.rank))))
    if node.attrs.get("mode", "linear") == "circular":
        at = b.Mod(at, sizes.vector(b, cache.shape[axis]))
    return [b.ScatterElements(cache, b.Expand(at, b.Shape(update)), update, axis=axis)]


@lowers("Col2Im")
def col2im(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """A transposed convolution that puts each row of a block at its point of the window."""
    x, image, block = operand(node.inputs, 0), node.output.shape[2:], operand(node.inputs, 2).content
    channels, rank = node.output.shape[1], len(image)
    if block is None or not all(isinstance(n, int) for n in (*block, channels)):
        raise InexpressibleError("Col2Im with blocks or channels that are not known")
    kernel = [int(n) for n in block]  # type: ignore[arg-type]
    points = int(np.prod(kernel))
    attrs = {k: node.attrs[k] for k in ("strides", "pads", "dilations") if k in node.attrs}
    strides, dilations = (attrs.get(k, (1,) * rank) for k in ("strides", "dilations"))
    pads: tuple[int, ...] = attrs.get("pads", (0,) * (2 * rank))  # type: ignore[assignment]
    spans = [int(d) * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]  # type: ignore[arg-type]
    room = [n + pads[i] + pads[rank + i] - spans[i] for i, n in enumerate(image)]
    counts = [dims.floordiv(r, int(s)) + 1 for r, s in zip(room, strides, strict=True)]  # type: ignore[arg-type]
    rest = [dims.mod(r, int(s)) for r, s in zip(room, strides, strict=True)]  # type: ignore[arg-type]
    if not all(isinstance(r, int) for r in rest):
        raise InexpressibleError("Col2Im with strides over sizes that are not known")
    shape = b.Concat([sizes.vector(b, n) for n in (x.shape[0], x.shape[1], *counts)], axis=0)
    unit = np.tile(np.eye(points).reshape(points, 1, *kernel), (int(channels), 1, *(1 for _ in kernel)))  # type: ignore[arg-type]
    weights = b.constant(unit, x.dtype)
    return [
        b.ConvTranspose(
            b.Reshape(x, shape, allowzero=1), weights, group=channels, output_padding=rest, kernel_shape=kernel, **attrs
        )
    ]


@lowers("ArgMax", "ArgMin")
def last_place(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 12 the last of several places is the first one from behind."""
    x = operand(node.inputs, 0)
    axis = int(node.attrs.get("axis", 0)) % max(x.rank, 1)  # type: ignore[arg-type]
    first, last = b.ints(np.iinfo(np.int64).max), b.ints(np.iinfo(np.int64).min)
    behind = b.op(
        node.op, b.Slice(x, first, last, b.ints(axis), b.ints(-1)), axis=axis, keepdims=node.attrs.get("keepdims", 1)
    )
    return [b.Sub(b.Sub(sizes.vector(b, x.shape[axis]), np.int64(1)), behind)]
