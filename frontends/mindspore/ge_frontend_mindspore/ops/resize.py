"""Resizing and sampling of images. Data [N, C, *spatial]."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive

# MindSpore's CoordinateTransformationMode as a number
_COORDINATES = {0: "asymmetric", 1: "align_corners", 2: "half_pixel"}
_INTERPOLATION = {0: "linear", 1: "nearest", "bilinear": "linear", "nearest": "nearest"}
_PADDING = {0: "zeros", 1: "border", 2: "reflection", "zeros": "zeros", "border": "border",
            "reflection": "reflection"}  # fmt: skip


def _resized(c: Call, x: Value, size: Any, **how: Any) -> Value:
    sizes = c.sizes(size)
    lead = x.rank - len(sizes)
    result: Value = c.b.Resize(x, None, None, c.b.ints(x.shape[:lead], sizes), **how)
    return result


def _coordinates(align_corners: bool, half_pixel_centers: bool) -> str:
    if align_corners:
        return "align_corners"
    return "half_pixel" if half_pixel_centers else "asymmetric"


@primitive("ResizeBilinearV2", "ResizeBilinear")
def bilinear(c: Call, image: Value, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Value:
    """ResizeBilinearV2(align_corners=False, half_pixel_centers=False)(image, size)"""
    how = _coordinates(align_corners, half_pixel_centers)
    return _resized(c, image, size, mode="linear", coordinate_transformation_mode=how)


@primitive("ResizeBicubic")
def bicubic(c: Call, image: Value, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Value:
    """ResizeBicubic(align_corners=False, half_pixel_centers=False)(image, size)"""
    how = _coordinates(align_corners, half_pixel_centers)
    # with half pixels the coefficient is another one, and what lies outside does not count
    cubic: dict[str, Any] = {"cubic_coeff_a": -0.5, "exclude_outside": 1} if half_pixel_centers else {}
    return _resized(c, image, size, mode="cubic", coordinate_transformation_mode=how, **cubic)


@primitive("ResizeNearestNeighborV2", "ResizeNearestNeighbor")
def nearest(c: Call, image: Value, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Value:
    """ResizeNearestNeighborV2(image, size, align_corners=False, half_pixel_centers=False)"""
    how = _coordinates(align_corners, half_pixel_centers)
    rounding = "round_prefer_ceil" if align_corners else "floor"
    if half_pixel_centers:
        rounding = "round_prefer_ceil"  # floor(x + 1/2) of the coordinate in half pixels
    return _resized(
        c, image, size, mode="nearest", coordinate_transformation_mode=how, nearest_mode=rounding
    )  # fmt: skip


@primitive("ResizeLinear1D")
def linear(c: Call, x: Value, size: Any, coordinate_transformation_mode: Any) -> Value:
    """ResizeLinear1D(coordinate_transformation_mode='align_corners')(x, size)"""
    how = _COORDINATES.get(coordinate_transformation_mode, str(coordinate_transformation_mode))
    return _resized(c, x, size, mode="linear", coordinate_transformation_mode=how)


@primitive("UpsampleNearest1D", "UpsampleNearest2D", "UpsampleNearest3D")
def upsample_nearest(c: Call, x: Value, output_size: Any, scales: Any) -> Value:
    """UpsampleNearest2D(x, output_size=None, scales=None)"""
    return _upsampled(c, x, output_size, scales, "nearest", "asymmetric", nearest_mode="floor")


@primitive("UpsampleLinear1D", "UpsampleBilinear2D", "UpsampleTrilinear3D")
def upsample_linear(c: Call, x: Value, output_size: Any, scales: Any, align_corners: bool) -> Value:
    """UpsampleTrilinear3D(x, output_size=None, scales=None, align_corners=False)"""
    return _upsampled(c, x, output_size, scales, "linear", "align_corners" if align_corners else "half_pixel")


@primitive("UpsampleBicubic2D")
def upsample_cubic(c: Call, x: Value, output_size: Any, scales: Any, align_corners: bool) -> Value:
    """UpsampleBicubic2D(x, output_size=None, scales=None, align_corners=False)"""
    return _upsampled(c, x, output_size, scales, "cubic", "align_corners" if align_corners else "half_pixel")


def _upsampled(c: Call, x: Value, output_size: Any, scales: Any, mode: str, coordinates: str, **how: Any) -> Value:
    if output_size is not None:
        return _resized(c, x, output_size, mode=mode, coordinate_transformation_mode=coordinates, **how)
    factors = c.b.constant(np.array([1.0, 1.0, *(float(s) for s in scales)], np.float32))
    result: Value = c.b.Resize(x, None, factors, mode=mode, coordinate_transformation_mode=coordinates, **how)
    return result


@primitive("GridSampler2D", "GridSampler3D")
def grid_sample(
    c: Call, input_x: Value, grid: Value, interpolation_mode: Any, padding_mode: Any, align_corners: bool
) -> Value:
    """GridSampler2D(interpolation_mode='bilinear', padding_mode='zeros', align_corners=False)(input_x, grid)"""
    if interpolation_mode not in _INTERPOLATION or padding_mode not in _PADDING:
        raise c.unsupported(f"the mode {interpolation_mode!r} with {padding_mode!r}")
    return c.b.GridSample(
        input_x, grid, mode=_INTERPOLATION[interpolation_mode], padding_mode=_PADDING[padding_mode],
        align_corners=int(align_corners),
    )  # fmt: skip


@primitive("AffineGrid")
def affine_grid(c: Call, theta: Value, output_size: Any, align_corners: bool = False) -> Value:
    """AffineGrid(align_corners=False)(theta, output_size)"""
    return c.b.AffineGrid(theta, c.b.ints(c.sizes(output_size)), align_corners=int(align_corners))
