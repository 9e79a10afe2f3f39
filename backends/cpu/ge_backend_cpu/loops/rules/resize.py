"""Resize: one axis after the other, each a weighted sum of elements around a place; upsampling by a whole factor
to the nearest element is an index map and costs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ge_backend_cpu.loops.expr import Expr, Space, compute_kind
from ge_backend_cpu.loops.index import Affine, Unsupported, divided
from ge_backend_cpu.loops.reading import attribute, required
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Index, Tensor, Tracer
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import float64, int64
from ge_core.ir.graph import Node, Value, source_of

MOST_TAPS = 16
"""Elements that one place is computed from along an axis; beyond, the code would grow too long."""


@dataclass(frozen=True)
class Resized:
    """How one axis is resized.

    Attributes:
        known: the scale as a number, None when only the run knows it.
        scale: the scale as a value.
        roi: start and end of the region of interest.
    """

    axis: int
    size: Size
    out: Size
    known: float | None
    scale: Expr
    roi: tuple[float, float]


@rule("Resize")
def resize(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Nearest, linear and cubic, with every rule for coordinates."""
    data = required(x[0])
    dtype = node.output.dtype
    nearest = attribute(node, "mode") == "nearest"
    axes = [int(a) % data.rank for a in attribute(node, "axes") or range(data.rank)]
    found = data
    if not nearest and dtype.is_integer:
        found = t.converted(data, float64)
    for a in _axes(t, node, data, axes):
        whole = dims.equal(a.size, a.out) is True and a.known is not None and math.isclose(a.known, 1)
        if whole and a.roi == (0.0, 1.0):
            continue
        found = _nearest(t, node, found, a) if nearest else _weighted(t, node, found, a)
    if not nearest and dtype.is_integer:
        rounded = t.pointwise(float64, found.shape, [found], lambda v: t.space.apply("round", v))
        return [t.converted(rounded, dtype)]
    return [Tensor(dtype, found.shape, found.element, found.flat)]


def _numbers(value: Value | None) -> np.ndarray | None:
    """The elements of a float operand; None when it is omitted or empty."""
    if value is None or value.shape == (0,):
        return None
    constant = source_of(value).constant
    if constant is None:
        raise Unsupported("scales that only the run knows")
    return constant.array().astype(np.float64).reshape(-1)


def _axes(t: Tracer, node: Node, data: Tensor, axes: Sequence[int]) -> list[Resized]:
    scales = _numbers(node.input(2))
    cropped = attribute(node, "coordinate_transformation_mode") == "tf_crop_and_resize"
    roi = _numbers(node.input(1)) if cropped else None
    bounds = [0.0] * len(axes) + [1.0] * len(axes) if roi is None else [float(v) for v in roi]
    policy = attribute(node, "keep_aspect_ratio_policy")
    found = []
    for k, axis in enumerate(axes):
        size, out = data.shape[axis], node.output.shape[axis]
        known = float(scales[k]) if scales is not None else None
        if known is None and isinstance(size, int) and isinstance(out, int):
            known = out / size if size else 1.0
        if scales is None and policy != "stretch":
            raise Unsupported(f"the policy {policy}, whose one scale depends on all sizes")
        space = t.space
        if known is not None:
            scale = space.const(known, float64)
        else:
            scale = space.apply("div", _number(space, out), _number(space, size))
        found.append(Resized(axis, size, out, known, scale, (bounds[k], bounds[len(axes) + k])))
    return found


def _number(space: Space, size: Size) -> Expr:
    return space.index(Affine((), size), float64)


def _coordinate(space: Space, node: Node, a: Resized, index: Affine) -> Expr:
    """Where an element of the result lies in the operand; Resize's own formulas, in float64."""
    apply, c = space.apply, lambda v: space.const(v, float64)
    place, size, out = space.index(index, float64), _number(space, a.size), _number(space, a.out)
    length = apply("mul", a.scale, size)
    mode = attribute(node, "coordinate_transformation_mode")
    if mode == "align_corners":
        ratio = apply("div", apply("mul", place, apply("sub", size, c(1))), apply("sub", length, c(1)))
        return apply("select", apply("eq", length, c(1)), c(0), ratio)
    if mode == "asymmetric":
        return apply("div", place, a.scale)
    if mode == "tf_crop_and_resize":
        start, end = a.roi
        last = apply("sub", size, c(1))
        middle = apply("mul", c(0.5 * (start + end)), last)
        steps = apply("div", apply("mul", apply("mul", place, c(end - start)), last), apply("sub", out, c(1)))
        moved = apply("add", apply("mul", c(start), last), steps)
        return apply("select", apply("le", out, c(1)), middle, moved)
    half = apply("sub", apply("div", apply("add", place, c(0.5)), a.scale), c(0.5))
    if mode == "half_pixel_symmetric":
        missing = apply("sub", c(1), apply("div", out, length))
        return apply("add", half, apply("mul", apply("div", size, c(2)), missing))
    if mode == "pytorch_half_pixel":
        return apply("select", apply("le", out, c(1)), c(0), half)
    return half


def _clipped(space: Space, place: Expr, size: Size) -> Affine:
    """An int64 place moved into [0, size); places of an empty axis are an error."""
    apply = space.apply
    last = apply("sub", space.index(Affine((), size)), space.const(1, int64))
    inside = apply("max", apply("min", place, last), space.const(0, int64))
    return Affine.of({space.check(inside, size): 1})


def _outside(t: Tracer, node: Node, a: Resized, where: Expr, value: Expr) -> Expr:
    """tf_crop_and_resize has a value of its own for what lies outside of the operand."""
    if attribute(node, "coordinate_transformation_mode") != "tf_crop_and_resize":
        return value
    apply, space = t.space.apply, t.space
    last = apply("sub", _number(space, a.size), space.const(1, float64))
    beyond = apply("or", apply("lt", where, space.const(0, float64)), apply("lt", last, where))
    fill = space.const(float(attribute(node, "extrapolation_value")), value.kind)
    return apply("select", beyond, fill, value)


def _nearest(t: Tracer, node: Node, x: Tensor, a: Resized) -> Tensor:
    shape = (*x.shape[: a.axis], a.out, *x.shape[a.axis + 1 :])
    factor = _whole_factor(node, a)

    def element(index: Index, mask: Expr | None) -> Expr:
        i = index[a.axis]
        if factor is not None:
            return x.at((*index[: a.axis], divided(i, factor)[0], *index[a.axis + 1 :]), mask)
        where = _coordinate(t.space, node, a, i)
        place = _clipped(t.space, t.space.cast(_rounded(t.space, node, where), int64), a.size)
        value = x.at((*index[: a.axis], place, *index[a.axis + 1 :]), mask)
        return _outside(t, node, a, where, value)

    return Tensor(x.dtype, shape, element)


def _rounded(space: Space, node: Node, where: Expr) -> Expr:
    mode, half = str(attribute(node, "nearest_mode")), space.const(0.5, float64)
    if mode == "round_prefer_floor":
        return space.apply("ceil", space.apply("sub", where, half))
    if mode == "round_prefer_ceil":
        return space.apply("floor", space.apply("add", where, half))
    return space.apply(mode, where)


def _whole_factor(node: Node, a: Resized) -> int | None:
    """The factor of an upsampling in which each element is repeated, for modes in which that is what it gives."""
    if a.known is None or a.known < 2 or a.known != int(a.known) or a.out != a.size * int(a.known):
        return None
    mode, how = attribute(node, "coordinate_transformation_mode"), attribute(node, "nearest_mode")
    factor = int(a.known)
    places = np.arange(4 * factor, dtype=np.float64)
    if mode == "asymmetric":
        where = places / factor
    elif mode in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"):
        where = (places + 0.5) / factor - 0.5
    else:
        return None
    rounding: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "round_prefer_floor": lambda v: np.ceil(v - 0.5),
        "round_prefer_ceil": lambda v: np.floor(v + 0.5),
        "floor": np.floor,
        "ceil": np.ceil,
    }
    # the pattern repeats with the factor; past the last element the place is clipped, which no repetition needs
    return factor if np.array_equal(rounding[how](where), places // factor) else None


def _filter(space: Space, node: Node, distance: Expr) -> Expr:
    """The weight of an element at a distance: a tent, or Keys' cubic kernel."""
    apply, c = space.apply, lambda v: space.const(v, float64)
    size = apply("abs", distance)
    if attribute(node, "mode") == "linear":
        return apply("max", apply("sub", c(1), size), c(0))
    a = float(attribute(node, "cubic_coeff_a"))

    def mul(*parts: Expr) -> Expr:
        total = parts[0]
        for part in parts[1:]:
            total = apply("mul", total, part)
        return total

    near = apply("add", mul(apply("sub", mul(c(a + 2), size), c(a + 3)), size, size), c(1))
    inner = apply("add", mul(apply("sub", mul(c(a), size), c(5 * a)), size), c(8 * a))
    far = apply("sub", mul(inner, size), c(4 * a))
    outer = apply("select", apply("lt", size, c(2)), far, c(0))
    return apply("select", apply("le", size, c(1)), near, outer)


def _weighted(t: Tracer, node: Node, x: Tensor, a: Resized) -> Tensor:
    """Interpolation; elements beyond the border are those at the border, or left out with exclude_outside."""
    space, apply = t.space, t.space.apply
    stretch = 1.0
    if attribute(node, "antialias"):
        if a.known is None:
            raise Unsupported("antialiasing by a scale that only the run knows")
        stretch = min(a.known, 1.0)
    reach = math.ceil((2 if attribute(node, "mode") == "cubic" else 1) / stretch)
    if 2 * reach > MOST_TAPS:
        raise Unsupported(f"{2 * reach} elements for one place")
    shape = (*x.shape[: a.axis], a.out, *x.shape[a.axis + 1 :])
    kind = compute_kind(x.dtype)

    def element(index: Index, mask: Expr | None) -> Expr:
        where = _coordinate(space, node, a, index[a.axis])
        first = space.cast(apply("floor", where), int64)
        taps: list[tuple[Expr, Expr]] = []
        for k in range(1 - reach, reach + 1):
            place = apply("add", first, space.const(k, int64))
            distance = apply("sub", space.cast(place, float64), where)
            weight = _filter(space, node, apply("mul", distance, space.const(stretch, float64)))
            if attribute(node, "exclude_outside"):
                low = apply("le", space.const(0, int64), place)
                inside = apply("and", low, apply("lt", place, space.index(Affine((), a.size))))
                weight = apply("select", inside, weight, space.const(0, float64))
            taps.append((place, weight))
        total = taps[0][1]
        for _, weight in taps[1:]:
            total = apply("add", total, weight)
        total = apply("select", apply("eq", total, space.const(0, float64)), space.const(1, float64), total)
        value: Expr | None = None
        for place, weight in taps:
            at = (*index[: a.axis], _clipped(space, place, a.size), *index[a.axis + 1 :])
            part = apply("mul", x.at(at, mask), space.cast(apply("div", weight, total), kind))
            value = part if value is None else apply("add", value, part)
        assert value is not None
        return _outside(t, node, a, where, value)

    return Tensor(x.dtype, shape, element)
