"""Resize as gathers: along each axis an element of the result is a sum of weighted elements around a place.

Places and weights are small tensors, by Resize's own formulas in float64: constants where sizes and scales are known,
else computed in the call. One axis goes after the other, so that the elements of both are weighed only once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_backend_cpu.expand.axes import elements
from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import is_later, numbers, operand, unlimited
from ge_backend_cpu.loops.reading import attribute, sizes
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph, Node, Value, constant_of
from ge_core.reference.interpret import interpret

DENOMINATORS = 1000
"""See `ge_core.ops.resize.scaled_size`."""
MOST_UNROLLED = 4
"""Elements around a place that are added up one by one; more of them are summed along an axis of their own."""


@dataclass(frozen=True)
class _Axis:
    """How one axis is resized.

    Attributes:
        number: its place among the scales.
        known: the scale as a number, None when only the run knows it.
    """

    number: int
    axis: int
    size: Size
    out: Size
    known: float | None

    @property
    def is_static(self) -> bool:
        return self.known is not None and isinstance(self.size, int) and isinstance(self.out, int)

    @property
    def shrinks(self) -> bool:
        return self.known is not None and self.known < 1


@dataclass(frozen=True)
class _Table:
    """Where the elements of a result come from: int64[out, taps].

    Attributes:
        weights: of the elements, float64[out, taps]; None for the nearest one.
        outside: bool[out], for results that have a value of their own; None for none.
    """

    places: Value
    weights: Value | None
    outside: Value | None

    @property
    def values(self) -> list[Value]:
        return [v for v in (self.places, self.weights, self.outside) if v is not None]


def _given(node: Node, index: int) -> Value | None:
    value = node.input(index)
    return None if value is None or value.shape == (0,) else value


def _of_known_length(node: Node) -> bool:
    return all(v is None or isinstance(v.shape[0], int) for v in (_given(node, k) for k in (1, 2, 3)))


@expansion("Resize", when=_of_known_length)
def resize(b: Builder, node: Node) -> Sequence[Value]:
    """Axes that shrink go first."""
    y, scales, wanted, dtype = operand(node, 0), _given(node, 2), _given(node, 3), node.output.dtype
    axes = [a % y.rank for a in attribute(node, "axes") or range(y.rank)]
    if wanted is not None and is_later(wanted):
        return [b.Resize(y, node.input(1), None, b.ints(*elements(b, wanted, len(axes))), **node.attrs)]
    if attribute(node, "mode") != "nearest" and (dtype.is_integer or dtype.bits < 32):
        y = b.Cast(y, to="float64" if dtype.is_integer else "float32")
    found = _scaled(b, node, axes, scales) if scales is not None else _sized(node, axes, sizes(wanted))
    for a in sorted(found, key=lambda a: (not a.shrinks, a.axis if a.shrinks else -a.axis)):
        if not _stays(node, a):
            y = _applied(b, node, y, a, _known_table(b, node, a) if _is_known(node, a) else _table(b, node, a))
    if y.dtype == dtype:
        return [y]
    return [b.Cast(b.Round(y) if dtype.is_integer else y, to=dtype)]


def _stays(node: Node, a: _Axis) -> bool:
    """Whether an axis is left as it is."""
    return a.is_static and a.size == a.out and math.isclose(a.known or 0, 1) and not _is_cropped(node)


def _is_cropped(node: Node) -> bool:
    return bool(attribute(node, "coordinate_transformation_mode") == "tf_crop_and_resize")


def _is_known(node: Node, a: _Axis) -> bool:
    roi = _given(node, 1)
    return a.is_static and (not _is_cropped(node) or roi is None or constant_of(roi) is not None)


# Sizes and scales


def _sized(node: Node, axes: Sequence[int], wanted: Sequence[Size]) -> list[_Axis]:
    x, policy = operand(node, 0), attribute(node, "keep_aspect_ratio_policy")
    known = [_ratio(x.shape[axis], out) for axis, out in zip(axes, wanted, strict=True)]
    if policy != "stretch":
        plain = [ratio for ratio in known if ratio is not None]
        common = (min if policy == "not_larger" else max)(plain) if len(plain) == len(known) else None
        known = [common] * len(known)
    return [_Axis(k, a, x.shape[a], node.output.shape[a], known[k]) for k, a in enumerate(axes)]


def _ratio(size: Size, out: Size) -> float | None:
    if not isinstance(size, int) or not isinstance(out, int):
        return None
    return out / size if size else 1.0


def _scaled(b: Builder, node: Node, axes: Sequence[int], scales: Value) -> list[_Axis]:
    x, constant = operand(node, 0), constant_of(scales)
    if constant is not None:
        known = [float(s) for s in constant.array().reshape(-1)]
        return [_Axis(k, a, x.shape[a], node.output.shape[a], known[k]) for k, a in enumerate(axes)]
    outs = elements(b, _scaled_sizes(b, [x.shape[a] for a in axes], scales), len(axes))
    return [_Axis(k, a, x.shape[a], outs[k], None) for k, a in enumerate(axes)]


def _scaled_sizes(b: Builder, shape: Sequence[Size], scales: Value) -> Value:
    """floor(size * scale), where a scale stands for the fraction nearest to it that has a small denominator, if that
    rounds to it."""
    whole, wide = b.ints(*shape), b.Cast(scales, to="float64")
    exact = b.Mul(b.Cast(whole, to="float64"), wide)
    b.ge.Check(b.And(b.Greater(wide, 0.0), b.Less(exact, float(1 << 40))), message="a scale is no positive number")
    below = b.constant(np.arange(1, DENOMINATORS + 1, dtype=np.float64)[:, None])
    times = b.Mul(below, wide)
    place = b.ArgMin(b.Div(b.Abs(b.Sub(times, b.Round(times))), below), axis=0, keepdims=0)
    denominator = b.Add(b.Cast(place, to="float64"), 1.0)
    numerator = b.Round(b.Mul(denominator, wide))
    simple = b.Equal(b.Cast(b.Div(numerator, denominator), to="float32"), scales)
    parts = b.Div(b.Mul(whole, b.Cast(numerator, to="int64")), b.Cast(denominator, to="int64"))
    made: Value = b.Where(simple, parts, b.Cast(b.Floor(exact), to="int64"))
    return made


def _scale(b: Builder, node: Node, a: _Axis) -> Value:
    """A float64 scalar."""
    if a.known is not None:
        return b.constant(a.known, "float64")
    made: Value
    scales = _given(node, 2)
    if scales is not None:
        made = b.Gather(b.Cast(scales, to="float64"), b.constant(a.number, "int64"), axis=0)
        return made
    x, ratios = operand(node, 0), []
    axes = [k % x.rank for k in attribute(node, "axes") or range(x.rank)]
    for axis, out in zip(axes, sizes(_given(node, 3)), strict=True):
        size = _number(b, x.shape[axis])
        ratios.append(b.Where(b.Equal(size, 0.0), b.constant(1.0), b.Div(_number(b, out), size)))
    policy = attribute(node, "keep_aspect_ratio_policy")
    made = ratios[a.number] if policy == "stretch" else (b.Min if policy == "not_larger" else b.Max)(ratios)
    return made


# Places and weights


def _known_table(b: Builder, node: Node, a: _Axis) -> _Table:
    """A table of constants."""
    if a.out == 0:
        return _Table(b.constant(np.zeros((0, 1), np.int64)), None, None)
    graph = Graph("table")
    inner = Builder(graph)
    table = _table(inner, node, a)
    inner.outputs(*table.values)
    places, *others = [np.asarray(array) for array in interpret(graph, [])[0]]
    # narrow numbers of elements make for more lanes
    narrow = isinstance(a.size, int) and a.size < 1 << 31
    found = [b.constant(places.astype(np.int32) if narrow else places), *map(b.constant, others)]
    weights = None if table.weights is None else found[1]
    return _Table(found[0], weights, None if table.outside is None else found[-1])


def _table(b: Builder, node: Node, a: _Axis) -> _Table:
    scale = _scale(b, node, a)
    where = _coordinates(b, node, a, scale)
    outside = None
    if _is_cropped(node):
        outside = b.Or(b.Less(where, 0.0), b.Less(b.Sub(_number(b, a.size), 1.0), where))
    if attribute(node, "mode") == "nearest":
        nearest = b.Cast(_rounded(b, str(attribute(node, "nearest_mode")), where), to="int64")
        return _Table(b.Unsqueeze(_clipped(b, nearest, a.size), b.ints(1)), None, outside)
    places, weights = _weighted(b, node, a, where, scale)
    return _Table(_clipped(b, places, a.size), weights, outside)


def _number(b: Builder, size: Size) -> Value:
    made: Value = b.Cast(b.scalar(size), to="float64")
    return made


def _coordinates(b: Builder, node: Node, a: _Axis, scale: Value) -> Value:
    """Where each element of the result lies in the operand: float64[out]."""
    x, size, out = b.Cast(numbers(b, a.out), to="float64"), _number(b, a.size), _number(b, a.out)
    mode, length, zero = attribute(node, "coordinate_transformation_mode"), b.Mul(scale, size), b.constant(0.0)
    made: Value
    if mode == "align_corners":
        ratio = b.Div(b.Mul(x, b.Sub(size, 1.0)), b.Sub(length, 1.0))
        made = b.Where(b.Equal(length, 1.0), zero, ratio)
        return made
    if mode == "asymmetric":
        made = b.Div(x, scale)
        return made
    if mode == "tf_crop_and_resize":
        start, end = _region(b, node, a)
        last = b.Sub(size, 1.0)
        middle = b.Mul(b.Mul(b.Add(start, end), 0.5), last)
        moved = b.Div(b.Mul(b.Mul(x, b.Sub(end, start)), last), b.Sub(out, 1.0))
        made = b.Where(b.LessOrEqual(out, 1.0), middle, b.Add(b.Mul(start, last), moved))
        return made
    half = b.Sub(b.Div(b.Add(x, 0.5), scale), 0.5)
    if mode == "half_pixel_symmetric":
        made = b.Add(half, b.Mul(b.Div(size, 2.0), b.Sub(1.0, b.Div(out, length))))
        return made
    if mode == "pytorch_half_pixel":
        made = b.Where(b.LessOrEqual(out, 1.0), zero, half)
        return made
    return half


def _region(b: Builder, node: Node, a: _Axis) -> tuple[Value, Value]:
    """Start and end of the region of interest."""
    roi = _given(node, 1)
    if roi is None:
        return b.constant(0.0), b.constant(1.0)
    constant, count = constant_of(roi), operand(node, 1).shape[0]
    assert isinstance(count, int)
    places = (a.number, count // 2 + a.number)
    if constant is not None:
        start, end = (float(constant.array().reshape(-1)[k]) for k in places)
        return b.constant(start), b.constant(end)
    wide = b.Cast(roi, to="float64")
    start, end = (b.Gather(wide, b.constant(k, "int64"), axis=0) for k in places)
    return start, end


def _rounded(b: Builder, mode: str, where: Value) -> Value:
    made: Value
    if mode == "round_prefer_floor":
        made = b.Ceil(b.Sub(where, 0.5))
    elif mode == "round_prefer_ceil":
        made = b.Floor(b.Add(where, 0.5))
    else:
        made = b.Floor(where) if mode == "floor" else b.Ceil(where)
    return made


def _clipped(b: Builder, place: Value, size: Size) -> Value:
    made: Value = b.Max([b.Min([place, b.Sub(b.scalar(size), 1)]), b.constant(0, "int64")])
    return made


def _filter(b: Builder, node: Node, distance: Value) -> Value:
    """The weight of an element at a distance: a tent, or Keys' cubic kernel."""
    t, zero = b.Abs(distance), b.constant(0.0)
    made: Value
    if attribute(node, "mode") == "linear":
        made = b.Max([b.Sub(1.0, t), zero])
        return made
    a = float(attribute(node, "cubic_coeff_a"))
    near = b.Add(b.Mul(b.Mul(b.Sub(b.Mul(t, a + 2), a + 3), t), t), 1.0)
    far = b.Sub(b.Mul(b.Add(b.Mul(b.Sub(b.Mul(t, a), 5 * a), t), 8 * a), t), 4 * a)
    made = b.Where(b.LessOrEqual(t, 1.0), near, b.Where(b.Less(t, 2.0), far, zero))
    return made


def _weighted(b: Builder, node: Node, a: _Axis, where: Value, scale: Value) -> tuple[Value, Value]:
    """The places around each one, beyond the border too, and the weights there; 0 beyond it with exclude_outside."""
    width, one = 2 if attribute(node, "mode") == "cubic" else 1, b.constant(1.0)
    if width == 1 and not attribute(node, "antialias"):
        where = b.Max([b.Min([where, b.Sub(_number(b, a.size), 1.0)]), b.constant(0.0)])
    stretch, reach = one, b.constant(width, "int64")
    taps: Size = 2 * width
    if attribute(node, "antialias"):
        stretch = b.Min([scale, one])
        reach = b.Cast(b.Ceil(b.Div(float(width), stretch)), to="int64")
        taps = 2 * math.ceil(width / min(a.known, 1.0)) if a.known else unlimited(b, b.Mul(reach, 2))
    middle = b.Unsqueeze(where, b.ints(1))
    places = b.Add(b.Cast(b.Floor(middle), to="int64"), b.Add(b.Sub(numbers(b, taps), reach), 1))
    weights = _filter(b, node, b.Mul(b.Sub(b.Cast(places, to="float64"), middle), stretch))
    if attribute(node, "exclude_outside"):
        inside = b.And(b.GreaterOrEqual(places, 0), b.Less(places, b.scalar(a.size)))
        weights = b.Where(inside, weights, b.constant(0.0))
    total = b.ReduceSum(weights, b.ints(1))
    return places, b.Div(weights, b.Where(b.Equal(total, 0.0), one, total))


# The sums


def _applied(b: Builder, node: Node, x: Value, a: _Axis, table: _Table) -> Value:
    """x with one axis resized."""
    places, weights, taps = table.places, table.weights, table.places.shape[1]
    y: Value
    if weights is None:
        y = b.Gather(x, _column(b, places, 0), axis=a.axis)
    elif isinstance(taps, int) and taps <= MOST_UNROLLED:
        wide, parts = _cast(b, weights, x.dtype), []
        for k in range(taps):
            weight = _along(b, _column(b, wide, k), a, x.rank)
            parts.append(_product(b, node, b.Gather(x, _column(b, places, k), axis=a.axis), weight))
        y = parts[0]
        for part in parts[1:]:
            y = b.Add(y, part)
    else:
        spread = (*(1 for _ in range(a.axis)), a.out, taps, *(1 for _ in range(x.rank - a.axis - 1)))
        wide = _reshaped(b, _cast(b, weights, x.dtype), spread)
        y = b.ReduceSum(_product(b, node, b.Gather(x, places, axis=a.axis), wide), b.ints(a.axis + 1), keepdims=0)
    if table.outside is None:
        return y
    fill = b.constant(float(attribute(node, "extrapolation_value")), x.dtype)
    y = b.Where(_along(b, table.outside, a, x.rank), fill, y)
    return y


def _product(b: Builder, node: Node, x: Value, weight: Value) -> Value:
    """x times a weight; with antialiasing 0 where the weight is, infinities too."""
    product: Value = b.Mul(x, weight)
    constant = constant_of(weight)
    if not attribute(node, "antialias") or (constant is not None and bool(constant.array().all())):
        return product
    made: Value = b.Where(b.Equal(weight, 0.0), b.constant(0.0, x.dtype), product)
    return made


def _column(b: Builder, table: Value, k: int) -> Value:
    constant = constant_of(table)
    if constant is not None:
        return b.constant(np.ascontiguousarray(constant.array()[:, k]))
    made: Value = b.Gather(table, b.constant(k, "int64"), axis=1)
    return made


def _along(b: Builder, vector: Value, a: _Axis, rank: int) -> Value:
    """A vector in a form that broadcasts along the axis."""
    return _reshaped(b, vector, [a.out if k == a.axis else 1 for k in range(rank)])


def _reshaped(b: Builder, x: Value, shape: Sequence[Size]) -> Value:
    constant = constant_of(x)
    if constant is not None:
        return b.constant(constant.array().reshape([int(n) for n in shape if isinstance(n, int)]))
    made: Value = b.Reshape(x, b.ints(*shape), allowzero=1)
    return made


def _cast(b: Builder, x: Value, dtype: DType) -> Value:
    constant = constant_of(x)
    if constant is not None:
        return b.constant(constant.array().astype(dtype.numpy))
    made: Value = b.Cast(x, to=dtype)
    return made
