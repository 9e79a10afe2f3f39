"""Where the rows of a product begin in A and in C, and where the taps of a kernel lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.emit import Function
from ge_backend_cpu.integers import Value
from ge_core.ir.dtype import DType


@dataclass(frozen=True)
class Row:
    """One row of a tile.

    Attributes:
        number: in the product.
        a, c: indices of its first elements; A's as if no tap were beyond the input.
        corner: per tap axis, the coordinate in the input of the first tap; with bounds only.
    """

    number: Value
    a: Value
    c: Value
    corner: tuple[Value, ...] = ()


def rows_of(f: Function, product: Product, first: Value, last: Value | None, count: int) -> list[Row]:
    """The rows [first, first + count) of a tile; beyond `last`, if it is given, the last one again."""
    numbers = [first]
    for i in range(1, count):
        number = f.add(first, i)
        numbers.append(number if last is None else f.minimum(number, last))
    if product.walk == 1 and not product.bounded:
        return [Row(n, f.mul(n, f.params["a0"]), f.mul(n, f.params["c0"])) for n in numbers]
    sizes = [f.params[f"size{i}"] for i in range(product.walk)]
    places = places_of(f, sizes, first)
    found = [row_at(f, product, first, places)]
    for i in range(1, count):
        step = f.sub(numbers[i], numbers[i - 1]) if last is not None else 1
        places = moved(f, sizes, places, step)
        found.append(row_at(f, product, numbers[i], places))
    return found


def places_of(f: Function, sizes: Sequence[Value], number: Value) -> list[Value]:
    """Coordinates of a row along the walk's axes."""
    found = []
    for size in reversed(sizes[1:]):
        rest = f.div(number, size)
        found.append(f.sub(number, f.mul(rest, size)))
        number = rest
    return [number, *reversed(found)]


def moved(f: Function, sizes: Sequence[Value], places: Sequence[Value], step: Value) -> list[Value]:
    """The coordinates `step` rows further, 0 or 1."""
    found = list(places)
    carry = step
    for axis in range(len(sizes) - 1, 0, -1):
        moved = f.add(places[axis], carry)
        over = f.eq(moved, sizes[axis])
        found[axis] = f.b.select(over, f.i(0), moved)
        carry = f.b.zext(over, f.i(0).type)
    found[0] = f.add(places[0], carry)
    return found


def row_at(f: Function, product: Product, number: Value, places: Sequence[Value]) -> Row:
    p = f.params
    a: Any = 0
    c: Any = 0
    for axis, place in enumerate(places):
        a = f.add(a, f.mul(place, p[f"a{axis}"]))
        c = f.add(c, f.mul(place, p[f"c{axis}"]))
    corner: list[Value] = []
    if product.bounded:
        spatial = places[product.walk - product.taps :]
        corner = [f.sub(f.mul(x, p[f"step{i}"]), p[f"pad{i}"]) for i, x in enumerate(spatial)]
    return Row(number, a, c, tuple(corner))


def over_taps(
    f: Function,
    product: Product,
    rows: Sequence[Row],
    pointer: Value,
    zeros: Value | None,
    carry: Sequence[Value],
    run: Callable[[Sequence[Value], Value, Sequence[Value]], Sequence[Value]],
) -> list[Value]:
    """Run the product's inner loop once per tap.

    Args:
        pointer: to the first element of A.
        zeros: to as many zeros as a run has, for taps beyond the input.
        carry: the sums at the beginning.
        run: gets pointers to the rows' elements, the first element's index in a panel and the sums; returns the
            new sums.

    Returns:
        The sums.
    """
    dtype, p = product.stored[0], f.params
    if not product.taps:
        return list(run([f.at(pointer, row.a, dtype) for row in rows], 0, carry))
    step = f.mul(p["k"], 16)

    def nest(axis: int, offset: Value, inside: Sequence[Value], state: Sequence[Value]) -> list[Value]:
        """Taps of the axes from `axis` on; the state is the panel's index and the sums."""
        if axis == product.taps:
            pointers = _tap_pointers(f, rows, offset, inside, pointer, zeros, dtype)
            return [f.add(state[0], step), *run(pointers, state[0], state[1:])]
        with f.loop(0, p[f"taps{axis}"], carry=state) as loop:
            still = _inside(f, product, rows, axis, loop.index, inside)
            further = f.add(offset, f.mul(loop.index, p[f"tap{axis}"]))
            loop.next = nest(axis + 1, further, still, loop.values)
        return list(loop.values)

    return nest(0, 0, [True] * len(rows), [f.i(0), *carry])[1:]


def at_tap(
    f: Function, product: Product, rows: Sequence[Row], places: Sequence[Value], pointer: Value, zeros: Value | None
) -> list[Value]:
    """Pointers to the rows' first elements for one tap, whose places in the kernel are given."""
    offset: Any = 0
    inside: Sequence[Value] = [True] * len(rows)
    for axis, place in enumerate(places):
        offset = f.add(offset, f.mul(place, f.params[f"tap{axis}"]))
        inside = _inside(f, product, rows, axis, place, inside)
    return _tap_pointers(f, rows, offset, inside, pointer, zeros, product.stored[0])


def _inside(
    f: Function, product: Product, rows: Sequence[Row], axis: int, place: Value, before: Sequence[Value]
) -> list[Value]:
    """Which rows have a tap at a place of an axis in the input, if they have at those of the axes before."""
    if not product.bounded:
        return list(before)
    moved, found = f.mul(place, f.params[f"dilation{axis}"]), []
    for row, still in zip(rows, before, strict=True):
        there = f.b.icmp_unsigned("<", f.i(f.add(row.corner[axis], moved)), f.i(f.params[f"input{axis}"]))
        found.append(there if axis == 0 else f.b.and_(still, there))
    return found


def _tap_pointers(
    f: Function,
    rows: Sequence[Row],
    offset: Value,
    inside: Sequence[Value],
    pointer: Value,
    zeros: Value | None,
    dtype: DType,
) -> list[Value]:
    found = []
    for row, there in zip(rows, inside, strict=True):
        address = f.at(pointer, f.add(row.a, offset), dtype)
        found.append(address if zeros is None else f.b.select(there, address, zeros))
    return found
