"""Values between the elements of a grid, for opsets without GridSample: the elements around each point, weighed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened

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
    axes = []
    for axis in range(rank):
        size = sizes.vector(b, x.shape[2 + axis])
        where = b.Gather(places, np.int64(rank - 1 - axis), axis=-1)  # the innermost axis stands first
        where = b.Reshape(where, _vector(b, (x.shape[0], dims.product(grid.shape[1:-1])), sizes), allowzero=1)
        count = b.Cast(size, to=where.dtype)
        if align:
            at = b.Mul(b.Div(b.Add(where, 1.0), 2.0), b.Sub(count, 1.0))
        else:
            at = b.Div(b.Sub(b.Mul(b.Add(where, 1.0), count), 1.0), 2.0)
        axes.append([_placed(b, tap, size, border, align, data.dtype) for tap in _taps(b, at, mode)])
    flat = b.Reshape(data, _vector(b, (*x.shape[:2], dims.product(x.shape[2:])), sizes), allowzero=1)
    total: Value | None = None
    for corner in itertools.product(*axes):
        index, weight = corner[0]
        for axis, (at, w) in enumerate(corner[1:], 1):
            index = b.Add(b.Mul(index, sizes.vector(b, x.shape[2 + axis])), at)
            weight = b.Mul(weight, w)
        points = _vector(b, (*x.shape[:2], dims.product(grid.shape[1:-1])), sizes)
        taken = b.GatherElements(flat, b.Expand(b.Unsqueeze(index, b.ints(1)), points), axis=2)
        part = b.Mul(taken, b.Unsqueeze(weight, b.ints(1)))
        total = part if total is None else b.Add(total, part)
    return [cast(b, b.Reshape(total, _vector(b, node.output.shape, sizes), allowzero=1), x.dtype)]


def _vector(b: Builder, shape: Sequence[dims.Size], sizes: Sizes) -> Value:
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
