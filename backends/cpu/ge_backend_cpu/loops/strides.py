"""How addresses step through axes: in what order, and which neighbouring axes they step through as if they were one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ge_backend_cpu.loops.expr import Expr
from ge_backend_cpu.loops.index import Affine, Axis
from ge_core.ir import dims
from ge_core.ir.dims import Size


def merged_axes(
    kept: Sequence[Axis], sweeps: Sequence[Sequence[Axis]], addresses: Collection[Affine], numbered: Collection[Axis]
) -> dict[Axis, Axis]:
    """Axes that another one takes in: outer to inner. The inner one's size becomes the product.

    Args:
        kept, sweeps: axes of the work items and of each sweep, from outermost to innermost.
        addresses: all that use them.
        numbered: axes whose own places are results.
    """
    merged: dict[Axis, Axis] = {}
    for order in {tuple(axes) for axes in (kept, *sweeps)}:
        inner = order[-1] if order else None
        for outer in reversed(order[:-1]):
            assert inner is not None
            both = {outer, inner}
            everywhere = all((outer in axes) == (inner in axes) for axes in sweeps if both & set(axes))
            if (
                outer not in merged
                and not both & set(numbered)
                and everywhere
                and all(_steps_as_one(at, outer, inner, size_of(inner, merged)) for at in addresses)
            ):
                merged[outer] = inner
            else:
                inner = outer
    return merged


def size_of(axis: Axis, merged: Mapping[Axis, Axis]) -> Size:
    """The size of an axis with those that it takes in."""
    return dims.product([axis.size, *(size_of(o, merged) for o, i in merged.items() if i is axis)])


def by_stride(axes: list[Axis], at: Affine) -> list[Axis]:
    """Axes from the largest stride to the smallest where that is known, else in their order."""
    ordered: list[Axis] = []
    for axis in axes:
        place = len(ordered)
        while place > 0 and _steps_further(at.coefficient(axis), at.coefficient(ordered[place - 1])):
            place -= 1
        ordered.insert(place, axis)
    return ordered


def _steps_further(a: Size, b: Size) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) > abs(b)
    return b != 0 and a != b and dims.exact_div(a, b) is not None


def _steps_as_one(at: Affine, outer: Axis, inner: Axis, size: Size) -> bool:
    """Whether outer * size + inner is all that an address needs of two axes."""
    if any(isinstance(v, Expr) and {outer, inner} & v.axes for v, _ in at.terms):
        return all(c == 0 for c in (at.coefficient(outer), at.coefficient(inner)))
    return bool(at.coefficient(outer) == at.coefficient(inner) * size)
