"""Transforms, grids and images whose axes, lengths or sizes only the run knows: these become sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_backend_cpu.expand.axes import around, elements, normal
from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import is_later, operand, unlimited
from ge_backend_cpu.loops.reading import attribute
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value


def _one_is_later(node: Node, *places: int) -> bool:
    return any(v is not None and is_later(v) for v in (node.input(k) for k in places))


def _scalar(b: Builder, value: Value, least: int, most: Size | None = None) -> Value:
    """An integer operand of one element as a size."""
    top = None if most is None else dims.bounds(most)[1]
    made: Value = b.ge.BindDim(b.Cast(b.Reshape(value, b.ints()), to="int64"), lo=least, hi=-1 if top is None else top)
    return made


@expansion("DFT", when=lambda node: _one_is_later(node, 1, 2))
def dft(b: Builder, node: Node) -> Sequence[Value]:
    """Along the second one of four axes: those before the axis are one, those behind it another, then the parts."""
    x, length, axis = operand(node, 0), node.input(1), node.input(2)
    attrs = {name: attribute(node, name) for name in ("inverse", "onesided")}
    if length is not None and is_later(length):
        length = _scalar(b, length, 1)
    if axis is None or not is_later(axis):
        return [b.DFT(x, length, axis, **attrs)]
    *shape, parts = x.shape
    axis = normal(b, b.Reshape(axis, b.ints()), x.rank)
    b.ge.Check(b.Less(axis, len(shape)), message="the last axis holds the parts of complex numbers")
    before, size, behind = around(b, axis, shape, least=2 if attrs["inverse"] and attrs["onesided"] else 1)
    y = b.DFT(b.Reshape(x, b.ints(before, size, behind, parts), allowzero=1), length, b.ints(1), **attrs)
    here = b.Equal(b.constant(np.arange(len(shape))), axis)
    out = b.Where(here, b.scalar(y.shape[1]), b.ints(*shape))
    return [b.Reshape(y, b.ints(*elements(b, out, len(shape)), y.shape[-1]), allowzero=1)]


@expansion("STFT", when=lambda node: _one_is_later(node, 1, 3))
def stft(b: Builder, node: Node) -> Sequence[Value]:
    x, step, window, length = operand(node, 0), operand(node, 1), node.input(2), node.input(3)
    if is_later(step):
        step = _scalar(b, step, 1)
    if length is not None and is_later(length):
        length = _scalar(b, length, 1, x.shape[1])
    return [b.STFT(x, step, window, length, onesided=attribute(node, "onesided"))]


@expansion("AffineGrid", when=lambda node: _one_is_later(node, 1))
def affine_grid(b: Builder, node: Node) -> Sequence[Value]:
    theta, size = operand(node, 0), operand(node, 1)
    count = size.shape[0]
    assert isinstance(count, int)
    batch = b.Equal(b.Gather(size, b.constant(0, "int64"), axis=0), b.scalar(theta.shape[0]))
    b.ge.Check(batch, message="the size asks for another batch than theta has")
    spatial = [unlimited(b, b.Gather(size, b.constant(k, "int64"), axis=0)) for k in range(2, count)]
    whole = b.ints(theta.shape[0], 1, *spatial)
    return [b.AffineGrid(theta, whole, align_corners=attribute(node, "align_corners"))]


@expansion("MaxUnpool", when=lambda node: _one_is_later(node, 2))
def max_unpool(b: Builder, node: Node) -> Sequence[Value]:
    x, places, shape = operand(node, 0), operand(node, 1), operand(node, 2)
    return [b.MaxUnpool(x, places, b.ints(*elements(b, shape, x.rank)), **node.attrs)]
