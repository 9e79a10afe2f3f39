"""Resizing and sampling of planes and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir.dims import Size
from ge_core.ir.graph import Value
from ge_core.ops.resize import scaled_size

from ..call import FLOAT32, INT64, Call, Sizes
from ..registry import pd
from ..windows import channels_first

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}

_PLACES = 4096  # places of a resized axis that are looked at for a difference of rounding


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
        if factors is not None and align_corners and len(factors) == spatial:
            # the corners are those of whole sizes
            sizes, factors = [scaled_size(n, f) for n, f in zip(data.shape[2:], factors, strict=True)], None
        if sizes is not None and tuple(sizes) == data.shape[2:]:
            return data
        if interp_method == "nearest" and not align_corners:
            ratios = _ratios(data.shape[2:], sizes, factors)
            if not all(ratio is None or _floors_agree(*ratio) for ratio in ratios):
                return _nearest(c, data, ratios, sizes, factors)
        scales = None if factors is None else c.b.constant(np.array(factors, np.float32))
        return c.b.Resize(
            data, None, scales, None if sizes is None else c.b.ints(sizes), axes=list(range(2, data.rank)), **attributes
        )

    found: Value = channels_first(c, x, data_format, build)
    return found


def _ratios(
    shape: Sequence[Size], sizes: Sequence[Size] | None, factors: Sequence[float] | None
) -> list[tuple[np.float32, float] | None]:
    """For each axis the step between neighbours in float32, as Paddle has it, and the exact one; None where only the
    call knows it.
    """
    if factors is not None:
        return [(np.float32(1 / f), 1 / float(np.float32(f))) for f in factors]
    assert sizes is not None
    return [
        (np.float32(np.float32(n) / np.float32(size)), n / size)
        if isinstance(n, int) and isinstance(size, int)
        else None
        for n, size in zip(shape, sizes, strict=True)
    ]


def _floors_agree(ratio: np.float32, exact: float) -> bool:
    """Whether a product in float32 picks the elements that the exact one picks."""
    places = np.arange(_PLACES)
    return np.array_equal(np.floor(ratio * places.astype(np.float32)), np.floor(exact * places))


def _nearest(
    c: Call,
    x: Value,
    ratios: Sequence[tuple[np.float32, float] | None],
    sizes: Sequence[Size] | None,
    factors: Sequence[float] | None,
) -> Value:
    """Elements at places that are rounded as Paddle rounds them: floor(float32(ratio) * float32(i))."""
    b = c.b
    for i, ratio in enumerate(ratios):
        n = x.shape[2 + i]
        size = sizes[i] if sizes is not None else scaled_size(n, factors[i] if factors else 1.0)
        if ratio is None:
            x = b.Resize(x, None, None, b.ints(size), axes=[2 + i], mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
            continue
        products = b.Mul(c.cast(c.range(size), FLOAT32), b.constant(ratio[0]))
        x = b.Gather(x, b.Min([c.cast(b.Floor(products), INT64), b.scalar(n - 1)]), axis=2 + i)
    return x


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
