"""Values between the elements of a grid, where an opset lacks them: the elements around each point, weighed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.infer import Infer
from ge_core.ops.windows import window_attributes

from .forms import InexpressibleError
from .lowerings import lowers
from .sizes import Sizes

_FAR = float(1 << 30)
_CUBIC = -0.75  # the coefficient of Keys' filter


@lowers("GridSample")
def grid_sample(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 16, of volumes below 20."""
    x, grid = operand(node.inputs, 0), operand(node.inputs, 1)
    if not x.dtype.is_float:
        raise InexpressibleError(f"GridSample of {x.dtype} is not sayable in this opset")
    rank, align = x.rank - 2, bool(node.attrs.get("align_corners", 0))
    mode, border = str(node.attrs.get("mode", "linear")), str(node.attrs.get("padding_mode", "zeros"))
    data, places = widened(b, x), widened(b, grid)
    places = b.Where(b.IsNaN(places), b.constant(-1.0, places.dtype), places)
    where = []
    for axis in range(rank):
        at = b.Gather(places, np.int64(rank - 1 - axis), axis=-1)  # the innermost axis stands first
        at = b.Reshape(at, _vector(b, (x.shape[0], dims.product(grid.shape[1:-1])), sizes), allowzero=1)
        count = b.Cast(sizes.vector(b, x.shape[2 + axis]), to=at.dtype)
        if align:
            at = b.Mul(b.Div(b.Add(at, 1.0), 2.0), b.Sub(count, 1.0))
        else:
            at = b.Div(b.Sub(b.Mul(b.Add(at, 1.0), count), 1.0), 2.0)
        where.append(at)
    points = dims.product(grid.shape[1:-1])
    y = _sampled(b, data, (*x.shape[:2], points), x.shape[2:], where, mode, border, align, sizes)
    return [cast(b, b.Reshape(y, _vector(b, node.output.shape, sizes), allowzero=1), x.dtype)]


def _sampled(
    b: Builder, x: Value, shape: Sequence[Size], spatial: Sequence[Size], where: Sequence[Value], mode: str,
    border: str, align: bool, sizes: Sizes,
) -> Value:  # fmt: skip
    """Values at fractional coordinates.

    Args:
        x: as many elements as `[n, channels, *spatial]`.
        shape: of the result, `[n, channels, points]`.
        where: coordinates `[n, points]` in elements, one for each spatial axis.
    """
    axes = []
    for count, at in zip(spatial, where, strict=True):
        size = sizes.vector(b, count)
        axes.append([_placed(b, tap, size, border, align, x.dtype) for tap in _taps(b, at, mode)])
    flat = b.Reshape(x, _vector(b, (*shape[:2], dims.product(spatial)), sizes), allowzero=1)
    points, total = _vector(b, shape, sizes), None
    for corner in itertools.product(*axes):
        index, weight = corner[0]
        for count, (at, w) in zip(spatial[1:], corner[1:], strict=True):
            index = b.Add(b.Mul(index, sizes.vector(b, count)), at)
            weight = b.Mul(weight, w)
        taken = b.GatherElements(flat, b.Expand(b.Unsqueeze(index, b.ints(1)), points), axis=2)
        part = b.Mul(taken, b.Unsqueeze(weight, b.ints(1)))
        total = part if total is None else b.Add(total, part)
    assert total is not None
    made: Value = total
    return made


@lowers("DeformConv")
def deform_conv(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 19: the elements under the moved points of the kernel, and a product for each group."""
    x, w, offset = (operand(node.inputs, i) for i in range(3))
    bias, mask = node.input(3), node.input(4)
    known = (x.shape[1], *w.shape)
    if not all(isinstance(n, int) for n in known):
        raise InexpressibleError("DeformConv with channels or a kernel that are not known")
    channels, outputs, _, *kernel = (int(n) for n in known)  # type: ignore[arg-type]
    c = Infer(node, len(node.outputs))
    windows = window_attributes(c, c.error, kernel, x.shape[2:])
    n, rank, points = x.shape[0], len(kernel), math.prod(kernel)
    group, parts = int(c.attr("group")), int(c.attr("offset_group"))
    positions = node.output.shape[2:]
    places = dims.product(positions)
    data = widened(b, x)
    moves = b.Reshape(cast(b, offset, data.dtype), _vector(b, (n, parts, points, rank, places), sizes), allowzero=1)
    where = []
    for i in range(rank):
        count = b.Reshape(sizes.vector(b, positions[i]), b.constant(np.zeros(0, np.int64)))
        line = b.Sub(b.Mul(b.Range(np.int64(0), count, np.int64(1)), np.int64(windows.strides[i])),
                     sizes.vector(b, windows.begin[i]))  # fmt: skip
        others = [k for k in range(rank) if k != i]
        line = b.Expand(b.Unsqueeze(line, b.ints(others)) if others else line, _vector(b, positions, sizes))
        point = (np.indices(kernel)[i].ravel() * windows.dilations[i])[:, None]
        at = b.Add(b.Reshape(line, _vector(b, (1, places), sizes), allowzero=1), b.constant(point))
        moved = b.Add(b.Gather(moves, np.int64(i), axis=3), b.Cast(at, to=data.dtype))
        where.append(b.Reshape(moved, _vector(b, (n * parts, places * points), sizes), allowzero=1))
    shape = (n * parts, channels // parts, places * points)
    columns = _sampled(b, data, shape, x.shape[2:], where, "linear", "zeros", False, sizes)
    if mask is not None:
        flat = _vector(b, (n * parts, 1, places * points), sizes)
        columns = b.Mul(columns, b.Reshape(cast(b, mask, data.dtype), flat, allowzero=1))
    depth = channels // group * points
    columns = b.Reshape(columns, _vector(b, (n, group, depth, places), sizes), allowzero=1)
    y = b.MatMul(b.Reshape(cast(b, w, data.dtype), b.ints(group, outputs // group, depth)), columns)
    y = b.Reshape(y, _vector(b, node.output.shape, sizes), allowzero=1)
    if bias is not None:
        y = b.Add(y, b.Unsqueeze(cast(b, bias, data.dtype), b.ints(range(1, rank + 1))))
    return [cast(b, y, x.dtype)]


def _vector(b: Builder, shape: Sequence[Size], sizes: Sizes) -> Value:
    made: Value = b.Concat([sizes.vector(b, n) for n in shape], axis=0)
    return made


def _taps(b: Builder, where: Value, mode: str) -> list[tuple[Value, Value]]:
    """Numbers and weights of the elements that take part, along one axis."""
    far = b.constant(_FAR, where.dtype)
    where = b.Max([b.Min([where, far]), b.Neg(far)])
    one = b.constant(1.0, where.dtype)
    if mode == "nearest":
        return [(b.Cast(b.Round(where), to="int64"), b.Add(b.Mul(where, 0.0), one))]
    low = b.Floor(where)
    part, base = b.Sub(where, low), b.Cast(low, to="int64")
    if mode == "linear":
        return [(base, b.Sub(one, part)), (b.Add(base, np.int64(1)), part)]
    found = []
    for tap in range(-1, 3):
        t = b.Abs(b.Sub(part, float(tap)))
        if tap in (0, 1):
            slope = b.Sub(b.Mul(t, _CUBIC + 2), _CUBIC + 3)
            weight = b.Add(b.Mul(b.Mul(slope, t), t), one)
        else:
            weight = b.Mul(b.Add(b.Mul(b.Sub(b.Mul(t, _CUBIC), 5 * _CUBIC), t), 8 * _CUBIC), t)
            weight = b.Sub(weight, 4 * _CUBIC)
        found.append((b.Add(base, np.int64(tap)), weight))
    return found


def _placed(
    b: Builder, tap: tuple[Value, Value], size: Value, border: str, align: bool, dtype: DType
) -> tuple[Value, Value]:
    """Numbers within the axis, and weights, 0 for elements that do not count."""
    index, weight = tap
    last, zero = b.Sub(size, np.int64(1)), b.constant(np.int64(0))
    if border == "zeros":
        inside = b.And(b.Not(b.Less(index, zero)), b.Less(index, size))
        weight = b.Where(inside, weight, b.Mul(weight, 0.0))
    elif border == "reflection" and align:
        period = b.Max([b.Mul(last, np.int64(2)), np.int64(1)])
        index = b.Mod(b.Abs(index), period)
        index = b.Min([index, b.Sub(period, index)])
    elif border == "reflection":
        period = b.Mul(size, np.int64(2))
        index = b.Mod(index, period)
        index = b.Min([index, b.Sub(b.Sub(period, np.int64(1)), index)])
    return b.Max([b.Min([index, last]), zero]), cast(b, weight, dtype)
