"""Output sizes and the type rule of Resize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np

from ge_core.errors import GeError
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import require_choice
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.windows import Attributes

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)
POLICIES = ("stretch", "not_larger", "not_smaller")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def resized_axes(c: Attributes, rank: int) -> tuple[int, ...]:
    """The axes that scales, sizes and roi refer to, non-negative."""
    axes: Sequence[int] = c.attr("axes", tuple(range(rank)))
    return tuple(a % rank for a in axes)


def scaled_size(size: Size, scale: float) -> Size:
    """floor(size * scale) for a float32 scale.

    The scale stands for the simplest fraction with a denominator up to 1000 that rounds to it, so that
    floor(3 * 0.33333334) is 1 and a size that is symbolic has the same rule as one that is known.
    """
    exact = Fraction(scale)
    simple = exact.limit_denominator(1000)
    ratio = simple if np.float32(float(simple)) == np.float32(scale) else exact
    return dims.floordiv(size * ratio.numerator, ratio.denominator)


def policy_sizes(policy: str, shape: Sequence[Size], axes: Sequence[int], wanted: Sequence[Size]) -> list[Size]:
    """Sizes of all axes when `wanted` is read by keep_aspect_ratio_policy.

    One scale for all axes, the least or largest wanted/size, halves rounded up: since rounding is monotonic, that
    is the minimum or maximum of floor((2 * wanted_k * size + size_k) / (2 * size_k)) over the axes k.
    """
    out = list(shape)
    choose = dims.minimum if policy == "not_larger" else dims.maximum
    for i, axis in enumerate(axes):
        if policy == "stretch":
            out[axis] = wanted[i]
            continue
        out[axis] = reduce(
            choose,
            [
                w if k == axis else dims.floordiv(w * shape[axis] * 2 + shape[k], shape[k] * 2)
                for k, w in zip(axes, wanted, strict=True)
            ],
        )
    return out


def scaled_sizes(
    shape: Sequence[Size], axes: Sequence[int], scales: np.ndarray, fail: Callable[[str], GeError]
) -> list[Size]:
    """Sizes of all axes for given scales.

    Raises:
        GeError: wrong number of scales, or one that is not positive.
    """
    if scales.shape != (len(axes),) or not (scales > 0).all():
        raise fail(f"scales are {scales.tolist()}, expected {len(axes)} positive numbers")
    out = list(shape)
    for axis, scale in zip(axes, scales, strict=True):
        out[axis] = scaled_size(shape[axis], float(scale))
    return out


@type_rule("Resize")
def resize(c: Infer) -> TensorType:
    mode = require_choice(c, "mode", MODES)
    require_choice(c, "coordinate_transformation_mode", COORDINATES)
    policy = require_choice(c, "keep_aspect_ratio_policy", POLICIES)
    require_choice(c, "nearest_mode", NEAREST)
    dtype, shape = c.dtype(0), c.shape(0)
    if dtype.kind in ("string", "complex") or (mode != "nearest" and not dtype.is_numeric):
        raise c.error(f"mode {mode} does not take {dtype}")
    if c.attr("antialias") and mode == "nearest":
        raise c.error("antialias is for the modes linear and cubic")
    for axis in c.attr("axes", ()):
        c.normal_axis(axis, len(shape))
    axes = resized_axes(c, len(shape))
    if len(set(axes)) != len(axes):
        raise c.error(f"axes {list(axes)} name an axis twice")
    scales_given = c.has(2) and not _is_empty(c, 2)
    if scales_given == (c.has(3) and not _is_empty(c, 3)):
        raise c.error("give either scales or sizes")
    if scales_given:
        scales = c.constant(2)
        if scales is not None:
            return TensorType(dtype, tuple(scaled_sizes(shape, axes, scales, c.error)))
    else:
        sizes = c.content(3)
        if sizes is not None:
            if len(sizes) != len(axes):
                raise c.error(f"sizes has {len(sizes)} numbers, expected {len(axes)}")
            return TensorType(dtype, tuple(policy_sizes(policy, shape, axes, sizes)))
    return TensorType(dtype, tuple(c.data_dim(0, i) if i in axes else s for i, s in enumerate(shape)))


def _is_empty(c: Infer, index: int) -> bool:
    shape = c.tensor(index).shape
    return shape is not None and len(shape) == 1 and shape[0] == 0
