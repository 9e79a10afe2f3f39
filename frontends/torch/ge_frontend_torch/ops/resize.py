"""Resizing and sampling of planes and volumes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten

Scales = Sequence[float] | float | None


def _resize(
    c: Call,
    x: Value,
    scales: Sequence[float | None] | None,
    mode: str,
    coordinates: str,
    **attributes: str | int | float,
) -> Value:
    """Resize the spatial axes to the result's sizes.

    Args:
        scales: torch's factors; where given, positions are computed with them and not with the sizes' ratio.
    """
    b = c.b
    spatial = range(2, x.rank)
    kept = None
    if scales and all(s is not None and s > 0 for s in scales):
        kept = b.constant(np.array(scales, np.float32))
    sizes = None if kept is not None else b.ints(c.shape()[2:])
    return b.Resize(
        x,
        None,
        kept,
        sizes,
        mode=mode,
        coordinate_transformation_mode=coordinates,
        axes=list(spatial),
        **attributes,
    )


def _factors(*given: Scales) -> list[float | None] | None:
    """Scale factors from a list, or from one argument for each axis."""
    if all(g is None for g in given):
        return None
    flat: list[float | None] = []
    for g in given:
        flat.extend(g) if isinstance(g, (list, tuple)) else flat.append(g)  # type: ignore[arg-type]
    return flat


@aten("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def nearest_vec(
    c: Call, input: Value, output_size: Sequence[Size] | None, scale_factors: Sequence[float] | None
) -> Value:
    """upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
    upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
    upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
    """
    return _resize(c, input, scale_factors, "nearest", "asymmetric", nearest_mode="floor")


@aten("upsample_nearest1d.default", "upsample_nearest2d.default", "upsample_nearest3d.default")
def nearest(
    c: Call,
    x: Value,
    output_size: Sequence[Size],
    scales: float | None = None,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    """upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor
    upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) ->
        Tensor
    upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None,
        float? scales_w=None) -> Tensor
    """
    given = _by_axis(x, scales, scales_d, scales_h, scales_w)
    return _resize(c, x, given, "nearest", "asymmetric", nearest_mode="floor")


def _by_axis(
    x: Value, one: float | None, depth: float | None, height: float | None, width: float | None
) -> list[float | None] | None:
    """The factors of an overload that has one argument for each axis."""
    return _factors(*[[one], [height, width], [depth, height, width]][x.rank - 3])


@aten("_upsample_nearest_exact1d.vec", "_upsample_nearest_exact2d.vec", "_upsample_nearest_exact3d.vec")
def nearest_exact_vec(
    c: Call, input: Value, output_size: Sequence[Size] | None, scale_factors: Sequence[float] | None
) -> Value:
    """_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
    _upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
    _upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
    """
    return _resize(c, input, scale_factors, "nearest", "half_pixel", nearest_mode="round_prefer_ceil")


@aten("_upsample_nearest_exact1d.default", "_upsample_nearest_exact2d.default", "_upsample_nearest_exact3d.default")
def nearest_exact(
    c: Call,
    x: Value,
    output_size: Sequence[Size],
    scales: float | None = None,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    """_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor
    _upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float?
        scales_w=None) -> Tensor
    _upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float?
        scales_h=None, float? scales_w=None) -> Tensor
    """
    given = _by_axis(x, scales, scales_d, scales_h, scales_w)
    return _resize(c, x, given, "nearest", "half_pixel", nearest_mode="round_prefer_ceil")


def _weighted(c: Call, x: Value, scales: Sequence[float | None] | None, align_corners: bool) -> Value:
    """Linear or cubic interpolation by the operator's name; with aligned corners torch looks at sizes only."""
    mode = "cubic" if "bicubic" in c.name else "linear"
    if "_aa." in c.name:
        if align_corners:
            raise c.unsupported("antialias with align_corners=True", "use align_corners=False")
        coefficient = -0.5
        return _resize(c, x, scales, mode, "half_pixel", antialias=1, exclude_outside=1, cubic_coeff_a=coefficient)
    if align_corners:
        return _resize(c, x, None, mode, "align_corners")
    return _resize(c, x, scales, mode, "half_pixel")


@aten("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec", "upsample_bicubic2d.vec",
      "_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec")  # fmt: skip
def weighted_vec(
    c: Call,
    input: Value,
    output_size: Sequence[Size] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Value:
    """upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)
        -> Tensor
    upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)
        -> Tensor
    upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]?
        scale_factors) -> Tensor
    upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)
        -> Tensor
    _upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]?
        scale_factors) -> Tensor
    _upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]?
        scale_factors) -> Tensor
    """
    return _weighted(c, input, scale_factors, align_corners)


@aten("upsample_linear1d.default", "upsample_bilinear2d.default", "upsample_trilinear3d.default",
      "upsample_bicubic2d.default", "_upsample_bilinear2d_aa.default", "_upsample_bicubic2d_aa.default")  # fmt: skip
def weighted(
    c: Call,
    x: Value,
    output_size: Sequence[Size],
    align_corners: bool,
    scales: float | None = None,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    """upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor
    upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float?
        scales_w=None) -> Tensor
    upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None,
        float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float?
        scales_w=None) -> Tensor
    _upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None,
        float? scales_w=None) -> Tensor
    _upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None,
        float? scales_w=None) -> Tensor
    """
    return _weighted(c, x, _by_axis(x, scales, scales_d, scales_h, scales_w), align_corners)


@aten("grid_sampler.default", "grid_sampler_2d.default", "grid_sampler_3d.default")
def grid_sampler(
    c: Call, input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    """grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) ->
        Tensor
    grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)
        -> Tensor
    grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)
        -> Tensor
    """
    return c.b.GridSample(
        input,
        grid,
        mode=("linear", "nearest", "cubic")[interpolation_mode],
        padding_mode=("zeros", "border", "reflection")[padding_mode],
        align_corners=int(align_corners),
    )


@aten("affine_grid_generator.default")
def affine_grid(c: Call, theta: Value, size: Sequence[Size], align_corners: bool) -> Value:
    """affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor"""
    return c.b.AffineGrid(theta, c.b.ints(size), align_corners=int(align_corners))
