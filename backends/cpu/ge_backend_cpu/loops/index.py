"""Indices: affine expressions of loop axes and of indices read from memory.

Sizes and coefficients are `ge_core.ir.dims.Size`, so that one kernel serves all shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from ge_core.ir import dims
from ge_core.ir.dims import Size

if TYPE_CHECKING:
    from ge_backend_cpu.loops.expr import Expr

_numbers = count()


class Axis:
    """A loop from 0 to `size`."""

    __slots__ = ("size", "uid")

    def __init__(self, size: Size) -> None:
        self.size = size
        self.uid = next(_numbers)

    def __repr__(self) -> str:
        return f"a{self.uid}<{self.size}"


Var: TypeAlias = "Axis | Expr"
"""What an index depends on: an axis, or an expression within [0, limit) (see `Expr.limit`)."""


class Unsupported(Exception):
    """One loop nest cannot compute this; the reason says why."""


class SplitAxis(Exception):
    """The axis must become two: an outer one, and an inner one of size `inner`."""

    def __init__(self, axis: Axis, inner: Size) -> None:
        super().__init__(f"split {axis} by {inner}")
        self.axis, self.inner = axis, inner


class CutAxis(Exception):
    """The two sides of `place` on the axis must be computed apart."""

    def __init__(self, axis: Axis, place: Size) -> None:
        super().__init__(f"cut {axis} at {place}")
        self.axis, self.place = axis, place


@dataclass(frozen=True)
class Affine:
    """const + the sum of coefficient times variable."""

    terms: tuple[tuple[Any, Size], ...] = ()
    const: Size = 0
    key: tuple[Any, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", (tuple((v.uid, c) for v, c in self.terms), self.const))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Affine) and self.key == other.key

    @staticmethod
    def of(terms: Mapping[Any, Size] | Iterable[tuple[Any, Size]], const: Size = 0) -> Affine:
        """Terms in any order; equal variables are added up."""
        total: dict[Any, Size] = {}
        for var, coefficient in terms.items() if isinstance(terms, Mapping) else terms:
            total[var] = total[var] + coefficient if var in total else coefficient
        kept = sorted(((v, c) for v, c in total.items() if c != 0), key=lambda t: t[0].uid)
        return Affine(tuple(kept), const)

    @staticmethod
    def axis(axis: Axis) -> Affine:
        """The axis itself; the constant 0 when it has one place only."""
        return Affine() if axis.size == 1 else Affine(((axis, 1),))

    def __add__(self, other: Affine | Size) -> Affine:
        if not isinstance(other, Affine):
            return Affine(self.terms, self.const + other)
        if not other.terms:
            return Affine(self.terms, self.const + other.const)
        return Affine.of((*self.terms, *other.terms), self.const + other.const)

    def __mul__(self, factor: Size) -> Affine:
        if factor == 1:
            return self
        return Affine.of([(v, c * factor) for v, c in self.terms], self.const * factor)

    def substituted(self, axis: Axis, value: Affine) -> Affine:
        """With an axis replaced by an affine expression."""
        for var, coefficient in self.terms:
            if var is axis:
                rest = Affine(tuple(t for t in self.terms if t[0] is not axis), self.const)
                return rest + value * coefficient
        return self

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def coefficient(self, var: Var) -> Size:
        """Of a variable; 0 when it does not occur."""
        return next((c for v, c in self.terms if v is var), 0)

    def range(self) -> tuple[Size, Size] | None:
        """The least and the greatest value; None where the sign of a coefficient is unknown."""
        low = high = self.const
        for var, c in self.terms:
            reach = c * ((var.size if isinstance(var, Axis) else var.limit) - 1)
            if dims.less_equal(0, c):
                high = high + reach
            elif dims.less_equal(c, 0):
                low = low + reach
            else:
                return None
        return low, high

    def within(self, size: Size) -> bool:
        """Whether it is proven to lie in [0, size)."""
        bounds = self.range()
        return bounds is not None and dims.less_equal(0, bounds[0]) is True and not_above(bounds[1], size - 1)


def not_above(a: Size, b: Size) -> bool:
    """Whether a <= b for every binding."""
    return dims.less_equal(a, b) is True


def divided(index: Affine, size: Size) -> tuple[Affine, Affine]:
    """index // size and index % size for a non-negative index, both affine.

    Raises:
        SplitAxis, CutAxis: they are once an axis is split or cut.
        Unsupported: they are not.
    """
    if size == 1:
        return index, Affine()
    whole: list[tuple[Any, Size]] = []
    rest: list[tuple[Any, Size]] = []
    for var, coefficient in index.terms:
        times = dims.exact_div(coefficient, size)
        if times is None:
            rest.append((var, coefficient))
        else:
            whole.append((var, times))
    quotient: Size = 0
    remainder = index.const
    times = dims.exact_div(index.const, size)
    if times is not None:
        quotient, remainder = times, 0
    elif isinstance(index.const, int) and isinstance(size, int):
        quotient, remainder = divmod(index.const, size)
    inner = Affine.of(rest, remainder)
    if inner.within(size):
        return Affine.of(whole, quotient), inner
    for var, coefficient in rest:
        steps = dims.exact_div(size, coefficient)
        if not isinstance(var, Axis) or steps is None or steps == 1:
            continue
        if coefficient == 1 and len(rest) == 1:
            _cut_into_parts(var, remainder, steps)
        if dims.exact_div(var.size, steps) is not None and dims.equal(var.size, steps) is not True:
            raise SplitAxis(var, steps)
    raise Unsupported(f"{index} does not fall into parts of {size}")


def _cut_into_parts(axis: Axis, start: Size, steps: Size) -> None:
    """Cut an axis whose places begin or end inside of a part of `steps`, so that what is left falls into whole parts.

    Raises:
        CutAxis: where to.
    """
    if not isinstance(axis.size, int) or not isinstance(start, int) or not isinstance(steps, int):
        return
    first = -start % steps
    whole = (axis.size - first) // steps * steps + first
    for place in (first, whole):
        if 0 < place < axis.size:
            raise CutAxis(axis, place)


def linear(index: Iterable[Affine], shape: Iterable[Size]) -> Affine:
    """The row-major number of an element."""
    total = Affine()
    for i, size in zip(index, shape, strict=True):
        total = total * size + i
    return total


def placed(index: Affine, boundary: Size) -> bool:
    """Whether an index lies at or beyond a boundary, for all its values.

    Raises:
        CutAxis: for some it does; cutting an axis decides it.
        Unsupported: nothing decides it.
    """
    bounds = index.range()
    if bounds is not None:
        if not_above(boundary, bounds[0]):
            return True
        if not_above(bounds[1] + 1, boundary):
            return False
    for var, coefficient in index.terms:
        if not isinstance(var, Axis):
            continue
        others = Affine(tuple(t for t in index.terms if t[0] is not var), 0)
        place = dims.exact_div(boundary - index.const, coefficient)
        if coefficient == -1 and not others.terms:
            place = index.const - boundary + 1
        elif place is None or not others.within(coefficient):
            continue
        if dims.less_equal(0, place) and not_above(place, var.size):
            raise CutAxis(var, place)
    raise Unsupported(f"it is unknown on which side of {boundary} {index} lies")
