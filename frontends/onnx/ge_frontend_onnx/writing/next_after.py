"""The neighbour of a number in its element type, by arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import float64
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand

from .lowerings import lowers
from .sizes import Sizes


@lowers("ge.NextAfter")
def next_after(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """A step of 0.6 to 1.2 units in the last place, which rounding makes one; narrow types in float64."""
    x, y = operand(node.inputs, 0), operand(node.inputs, 1)
    info = ml_dtypes.finfo(x.dtype.numpy)
    wide, target = cast(b, x, float64), cast(b, y, float64)
    tiny, unit = float(info.smallest_subnormal), float(info.eps)
    # from infinity the step goes down from where the number behind the largest one would be
    largest = float(info.max)
    top = largest if x.dtype == float64 else largest * (1 + unit / (2 - unit))
    start = b.Where(b.IsInf(wide), b.Mul(b.Sign(wide), top), wide)
    turn = b.Sign(b.Sub(target, wide))
    step = b.Mul(b.Abs(start), 0.6 * unit)
    if x.dtype == float64:
        # small ones are scaled up so that the step is no subnormal number; below two units are the same for all
        scale = b.Where(b.Less(b.Abs(start), 2.0**-900), b.constant(2.0**200, float64), b.constant(1.0, float64))
        scaled = b.Mul(start, scale)
        moved = b.Div(b.Add(scaled, b.Mul(turn, b.Mul(b.Abs(scaled), 0.6 * unit))), scale)
        moved = b.Where(b.Less(b.Abs(start), 2.0**-1021), b.Add(start, b.Mul(turn, tiny)), moved)
        moved = b.Where(b.IsInf(wide), start, moved)
    else:
        moved = b.Add(start, b.Mul(turn, b.Max([step, b.constant(0.6 * tiny, float64)])))
    return [b.Where(b.Equal(x, y), y, cast(b, moved, x.dtype))]
