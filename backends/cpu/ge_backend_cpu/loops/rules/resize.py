"""Resize to the nearest element by whole factors: an index map, which costs nothing. For all other forms see
`ge_backend_cpu.expand.resize`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ge_backend_cpu.loops.expr import Expr
from ge_backend_cpu.loops.index import Unsupported, divided
from ge_backend_cpu.loops.reading import attribute, required
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Index, Tensor, Tracer
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, constant_of


@rule("Resize")
def resize(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Each element is repeated."""
    found = required(x[0])
    if attribute(node, "mode") != "nearest":
        raise Unsupported("weighted elements, which are gathered")
    axes = [int(a) % found.rank for a in attribute(node, "axes") or range(found.rank)]
    for axis, scale in zip(axes, _scales(node, found.shape, axes), strict=True):
        factor = _whole_factor(node, found.shape[axis], node.output.shape[axis], scale)
        if factor is None:
            raise Unsupported("elements that are gathered")
        if factor != 1:
            found = _repeated(found, axis, node.output.shape[axis], factor)
    return [found]


def _scales(node: Node, shape: Sequence[Size], axes: Sequence[int]) -> list[float]:
    scales = node.input(2)
    if scales is not None and scales.shape != (0,):
        constant = constant_of(scales)
        if constant is None:
            raise Unsupported("scales that only the run knows")
        return [float(s) for s in constant.array().reshape(-1)]
    if attribute(node, "keep_aspect_ratio_policy") != "stretch":
        raise Unsupported("one scale that depends on all sizes")
    found = []
    for size, out in ((shape[a], node.output.shape[a]) for a in axes):
        if not isinstance(size, int) or not isinstance(out, int):
            raise Unsupported("sizes that only the run knows")
        found.append(out / size if size else 1.0)
    return found


def _repeated(x: Tensor, axis: int, out: Size, factor: int) -> Tensor:
    shape = (*x.shape[:axis], out, *x.shape[axis + 1 :])

    def element(index: Index, mask: Expr | None) -> Expr:
        return x.at((*index[:axis], divided(index[axis], factor)[0], *index[axis + 1 :]), mask)

    return Tensor(x.dtype, shape, element)


def _whole_factor(node: Node, size: Size, out: Size, scale: float) -> int | None:
    """How often each element of an axis is repeated, for modes in which that is what they give."""
    mode, how = attribute(node, "coordinate_transformation_mode"), attribute(node, "nearest_mode")
    if dims.equal(size, out) is True and math.isclose(scale, 1) and mode != "tf_crop_and_resize":
        return 1
    if scale < 2 or scale != int(scale) or out != size * int(scale):
        return None
    factor = int(scale)
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
