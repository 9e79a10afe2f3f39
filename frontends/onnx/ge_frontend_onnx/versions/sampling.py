"""Resize, Upsample, GridSample and RoiAlign: other places of the samples, other names of the modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, before

_OLD_LINEAR = {"coordinate_transformation_mode": "asymmetric"}
_OLD_NEAREST = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


@before(7, "Upsample")
def upsample_first_form(c: Call) -> Results:
    """Below 7 the scales of height and width are attributes of their own."""
    scales = (1.0, 1.0, c.needed("height_scale"), c.needed("width_scale"))
    return _upsampled(c, c.b.constant(np.array(scales, np.float32)))


@before(9, "Upsample")
def upsample_attribute(c: Call) -> Results:
    """Below 9 the scales are an attribute."""
    return _upsampled(c, c.b.constant(np.array(c.needed("scales"), np.float32)))


@before(29, "Upsample")
def upsample(c: Call) -> Results:
    """Upsample(T X, float scales) -> (T Y); mode"""
    return _upsampled(c, c.input(1))


def _upsampled(c: Call, scales: Value) -> Value:
    mode = c.attr("mode", "nearest")
    mode = "linear" if mode == "bilinear" else mode
    if mode not in ("nearest", "linear"):
        raise c.unsupported(f"the mode {mode!r}")
    attrs = _OLD_NEAREST if mode == "nearest" else _OLD_LINEAR
    value: Value = c.b.Resize(c.input(0), None, scales, mode=mode, **attrs)
    return value


@before(11, "Resize")
def resize_by_corner(c: Call) -> Results:
    """Below 11 sample i of an axis lies at i / scale; the nearest one is below it, or above it where the axis
    shrinks."""
    c.only("mode")
    mode, x, scales = c.attr("mode", "nearest"), c.input(0), c.input(1)
    if mode == "linear":
        return c.b.Resize(x, None, scales, mode=mode, **_OLD_LINEAR)
    known = c.constant(1)
    if known is None:
        raise c.unsupported("scales that are no constant")
    shrinking = np.where(known < 1, known, np.float32(1))
    growing = np.where(known < 1, np.float32(1), known)
    for factors, nearest in ((growing, "floor"), (shrinking, "ceil")):
        if (factors != 1).any():
            attrs = {**_OLD_NEAREST, "nearest_mode": nearest}
            x = c.b.Resize(x, None, c.b.constant(factors), mode=mode, **attrs)
    return x


@before(13, "Resize")
def resize_first_inputs(c: Call) -> Results:
    """Below 13 roi and scales must be there, and an empty one means that it is left out."""
    attrs = _half_pixel_for_nearest(c)
    inputs = [c.input(0), *(None if _is_empty(c, i) else c.optional(i) for i in (1, 2, 3))]
    return c.build("Resize", inputs, attrs)


@before(18, "Resize")
def resize_half_pixel(c: Call) -> Results:
    """Below 18 as now, for rounding as in tf_half_pixel_for_nn."""
    return resize_first_inputs(c)


def _is_empty(c: Call, index: int) -> bool:
    value = c.optional(index)
    return value is None or value.tensor.shape == (0,)


def _half_pixel_for_nearest(c: Call) -> dict[str, Any]:
    """tf_half_pixel_for_nn in today's terms.

    floor((i + 0.5) / scale) = floor(((i + 0.5) / scale - 0.5) + 0.5): the half-pixel place, rounded half up.
    """
    attrs = dict(c.attrs)
    if attrs.get("coordinate_transformation_mode") == "tf_half_pixel_for_nn":
        if attrs.get("mode", "nearest") != "nearest" or attrs.get("nearest_mode") != "floor":
            raise c.unsupported("tf_half_pixel_for_nn with another mode than nearest, floor")
        attrs["coordinate_transformation_mode"] = "half_pixel"
        attrs["nearest_mode"] = "round_prefer_ceil"
    return attrs


@before(20, "GridSample")
def grid_sample_modes(c: Call) -> Results:
    """Below 20 the modes linear and cubic are called bilinear and bicubic."""
    mode = c.attr("mode", "bilinear")
    return c.build("GridSample", c.inputs, {**c.attrs, "mode": mode.removeprefix("bi")})


@before(16, "RoiAlign")
def roi_align_places(c: Call) -> Results:
    """Below 16 the corners of a region lie on the samples, without the shift by half a pixel."""
    return c.build("RoiAlign", c.inputs, {**c.attrs, "coordinate_transformation_mode": "output_half_pixel"})
