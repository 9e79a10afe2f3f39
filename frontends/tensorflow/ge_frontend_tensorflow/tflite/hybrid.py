"""Real data on integer weights: TFLite rounds the data to 8 bits first, row of the batch by row.

Its kernels do so (tensor_utils::AsymmetricQuantizeFloats, SymmetricQuantizeFloats), so its results are those of the
rounded data; what is built here are the rounded data as real numbers.
"""

from __future__ import annotations

from typing import Any

from ..program import Ref
from .call import Call


def rounded_data(c: Call, x: Ref, rank: int, *, symmetric: bool) -> Ref:
    """`x` rounded to 8 bits along its first axis.

    Args:
        rank: of x.
        symmetric: one scale, no zero point; else the range from the least to the largest element, 0 in it.
    """
    return (_symmetric if symmetric else _asymmetric)(c, x, list(range(1, rank)))


def is_hybrid(c: Call, data: int, weights: int) -> bool:
    """Whether the data are real and the weights are not."""
    return c.tensor(data).dtype.name == "float32" and c.tensor(weights).quantised is not None


def _asymmetric(c: Call, x: Ref, axes: list[int]) -> Ref:
    low = c.node("Minimum", _reduced(c, "Min", x, axes), _number(c, 0))
    high = c.node("Maximum", _reduced(c, "Max", x, axes), _number(c, 0))
    scale = _not_zero(c, c.node("RealDiv", c.node("Sub", high, low), _number(c, 255)))
    least, most = c.node("RealDiv", low, scale), c.node("RealDiv", high, scale)
    from_low = c.node("Sub", _number(c, -128), least)
    from_high = c.node("Sub", _number(c, 127), most)
    # of the two, the one with the smaller rounding error
    nearer = c.node("Less", c.node("Sub", _number(c, 128), least), c.node("AddV2", _number(c, 127), most))
    zero = _clipped(c, _rounded(c, c.node("SelectV2", nearer, from_low, from_high)), -128)
    inverse = c.node("RealDiv", _number(c, 1), scale)
    stored = _clipped(c, _rounded(c, c.node("AddV2", zero, c.node("Mul", x, inverse))), -128)
    return c.node("Mul", c.node("Sub", stored, zero), scale)


def _symmetric(c: Call, x: Ref, axes: list[int]) -> Ref:
    reach = _reduced(c, "Max", c.node("Abs", x), axes)
    scale = _not_zero(c, c.node("RealDiv", reach, _number(c, 127)))
    inverse = c.node("RealDiv", _number(c, 1), scale)
    return c.node("Mul", _clipped(c, _rounded(c, c.node("Mul", x, inverse)), -127), scale)


def _number(c: Call, value: float) -> Ref:
    return c.constant(value, "float32")


def _reduced(c: Call, op: str, x: Ref, axes: list[int]) -> Ref:
    attributes: dict[str, Any] = {"keep_dims": True}
    return c.node(op, x, c.constant(axes), **attributes)


def _not_zero(c: Call, x: Ref) -> Ref:
    return c.node("SelectV2", c.node("Equal", x, _number(c, 0)), _number(c, 1), x)


def _clipped(c: Call, x: Ref, low: int) -> Ref:
    return c.node("ClipByValue", x, _number(c, low), _number(c, 127))


def _rounded(c: Call, x: Ref) -> Ref:
    """Half away from zero."""
    return c.node("Mul", c.node("Sign", x), c.node("Floor", c.node("AddV2", c.node("Abs", x), _number(c, 0.5))))
