"""Resizing and sampling of planes and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call, Sizes
from ..registry import pd
from ..windows import channels_first

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


@pd("linear_interp", "bilinear_interp", "trilinear_interp", "bicubic_interp", "nearest_interp")
def interpolate(
    c: Call,
    x: Value,
    out_size: Value | None = None,
    size_tensor: Sequence[Value] | None = None,
    scale_tensor: Value | None = None,
    *,
    data_format: str = "NCHW",
    out_d: int = 0,
    out_h: int = 0,
    out_w: int = 0,
    scale: Sequence[float] | float = (),
    interp_method: str = "bilinear",
    align_corners: bool = True,
    align_mode: int = 1,
) -> Value:
    """linear_interp(x, out_size, size_tensor, scale_tensor, *, data_format="NCHW", out_d=0, out_h=0, out_w=0,
        scale={}, interp_method="bilinear", align_corners=true, align_mode=1) -> output
    bilinear_interp(x, out_size, size_tensor, scale_tensor, *, data_format="NCHW", out_d=0, out_h=0, out_w=0,
        scale={}, interp_method="bilinear", align_corners=true, align_mode=1) -> output
    trilinear_interp(x, out_size, size_tensor, scale_tensor, *, data_format="NCHW", out_d=0, out_h=0, out_w=0,
        scale={}, interp_method="bilinear", align_corners=true, align_mode=1) -> output
    bicubic_interp(x, out_size, size_tensor, scale_tensor, *, data_format="NCHW", out_d=0, out_h=0, out_w=0,
        scale={}, interp_method="bilinear", align_corners=true, align_mode=1) -> output
    nearest_interp(x, out_size, size_tensor, scale_tensor, *, data_format="NCHW", out_d=0, out_h=0, out_w=0,
        scale={}, interp_method="bilinear", align_corners=true, align_mode=1) -> output
    """

    def build(data: Value) -> Value:
        spatial = data.rank - 2
        attributes: dict[str, Any] = {"mode": _MODES[interp_method]}
        if interp_method == "nearest":
            attributes["coordinate_transformation_mode"] = "align_corners" if align_corners else "asymmetric"
            attributes["nearest_mode"] = "round_prefer_ceil" if align_corners else "floor"
        elif align_corners:
            attributes["coordinate_transformation_mode"] = "align_corners"
        elif align_mode == 0 or interp_method == "bicubic":
            attributes["coordinate_transformation_mode"] = "half_pixel"
        else:
            attributes["coordinate_transformation_mode"] = "asymmetric"
        sizes, factors = _sizes(c, data, out_size, size_tensor, scale_tensor, (out_d, out_h, out_w)[-spatial:], scale)
        if sizes is not None and tuple(sizes) == data.shape[2:]:
            return data
        scales = None if factors is None else c.b.constant(np.array(factors, np.float32))
        return c.b.Resize(
            data, None, scales, None if sizes is None else c.b.ints(sizes), axes=list(range(2, data.rank)), **attributes
        )

    found: Value = channels_first(c, x, data_format, build)
    return found


def _sizes(
    c: Call,
    x: Value,
    out_size: Value | None,
    size_tensor: Sequence[Value] | None,
    scale_tensor: Value | None,
    fixed: Sequence[int],
    scale: Sequence[float] | float,
) -> tuple[Sequence[Size] | None, Sequence[float] | None]:
    """The sizes to resize to, or the factors: a list of sizes counts before a tensor of them, then factors."""
    spatial = x.rank - 2
    if size_tensor:
        return c.known_sizes(size_tensor, "output sizes"), None
    if out_size is not None:
        return c.known_sizes(out_size, "output sizes"), None
    given: Sequence[float] = [scale] if isinstance(scale, (int, float)) else scale
    if scale_tensor is not None:
        constant = c.sizes(scale_tensor)
        numbers = [c.number(scale_tensor)] if constant is None else list(constant)
        if any(not isinstance(n, (int, float)) for n in numbers):
            raise c.unsupported("factors that the model computes", "give scale_factor as numbers")
        given = [float(n) for n in numbers]  # type: ignore[arg-type]
    factors = [float(s) for s in given if s > 0]
    if factors:
        return None, factors * spatial if len(factors) == 1 else factors
    if not all(size > 0 for size in fixed):
        raise c.unsupported("no output size")
    return list(fixed), None


@pd("grid_sample")
def grid_sample(
    c: Call, x: Value, grid: Value, *, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = True
) -> Value:
    """grid_sample(x, grid, *, mode="bilinear", padding_mode="zeros", align_corners=true) -> out"""
    return c.b.GridSample(
        x,
        grid,
        mode="nearest" if mode == "nearest" else "linear",
        padding_mode=padding_mode,
        align_corners=int(align_corners),
    )


@pd("affine_grid")
def affine_grid(c: Call, input: Value, output_shape: Sizes, *, align_corners: bool = True) -> Value:
    """affine_grid(input, output_shape, *, align_corners=true) -> output"""
    sizes = c.known_sizes(output_shape, "an output shape")
    return c.b.AffineGrid(input, c.b.ints(sizes), align_corners=int(align_corners))
