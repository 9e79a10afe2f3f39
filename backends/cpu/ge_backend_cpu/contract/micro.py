"""The innermost loop of products: a tile's sums over one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_backend_cpu.contract.arithmetic import Arithmetic
from ge_backend_cpu.contract.tile import FETCHED, LINE, PANEL, UNROLL
from ge_backend_cpu.emit import Function
from ge_backend_cpu.integers import Value
from ge_core.ir.dtype import DType, uint8


@dataclass(frozen=True)
class Run:
    """How a run is multiplied.

    Attributes:
        arithmetic, width: of the sums.
        a, b: element types of A and of the panels.
        even: whether runs are multiples of `UNROLL`.
    """

    arithmetic: Arithmetic
    width: int
    a: DType
    b: DType
    even: bool

    def multiply(
        self,
        f: Function,
        rows: Sequence[Value],
        panels: Sequence[Value],
        length: Value,
        sums: Sequence[Value],
        ahead: Value | None = None,
        lines: int = FETCHED,
        step: Value = PANEL,
    ) -> list[Value]:
        """sums[row][vector] += rows * panels.

        Args:
            rows: pointers to the rows' first elements.
            panels: pointers to the panels' first lines.
            sums: vectors by row, then by place in the row.
            ahead: address of what is read after these panels, for the second-level cache.
            lines: cache lines of it that one round asks for.
            step: elements between two lines of a panel.
        """
        whole = f.mul(f.div(length, UNROLL), UNROLL)
        with f.loop(0, whole, UNROLL, carry=sums) as loop:
            if ahead is not None:
                for i in range(lines):
                    f.prefetch(f.at(ahead, f.add(f.mul(loop.index, fetched_bytes(1, lines)), i * LINE), uint8), 2)
            current: Sequence[Value] = loop.values
            for i in range(UNROLL):
                current = self._step(f, rows, panels, step, loop.index, i, current)
            loop.next = current
        if self.even:
            return list(loop.values)
        with f.loop(whole, length, carry=loop.values) as rest:
            rest.next = self._step(f, rows, panels, step, rest.index, 0, rest.values)
        return list(rest.values)

    def _step(
        self, f: Function, rows: Sequence[Value], panels: Sequence[Value], step: Value, k: Value, ahead: int,
        sums: Sequence[Value],
    ) -> list[Value]:  # fmt: skip
        """One element of the run."""
        arithmetic, width = self.arithmetic, self.width
        line = f.add(f.mul(k, step), f.mul(step, ahead))
        right = [
            arithmetic.load(f, pointer, f.add(line, at), self.b, width)
            for pointer in panels
            for at in range(0, PANEL, width)
        ]
        found = []
        for i, row in enumerate(rows):
            left = f.splat(arithmetic.load(f, row, f.add(k, ahead), self.a), width)
            for j, b in enumerate(right):
                found.append(arithmetic.multiply_add(f, left, b, sums[i * len(right) + j]))
        return found


def fetched_bytes(steps: int, lines: int) -> int:
    """How far a run that asks for so many lines in a round asks ahead in so many steps."""
    return steps * lines * LINE // UNROLL


def balanced(
    f: Function, heights: Sequence[int], tallest: int, rows: Value
) -> list[tuple[int, int, Value, Value, Value, Value]]:
    """How rows are cut into tiles of nearly equal height: 49 are 4 of 6 and 5 of 5, never full ones and a rest of 1.

    Returns:
        Per height for which there is code, ascending: (height, the next smaller one, first tile, end of the tiles,
        rows of the lower tiles, number of the tiles with one row more).
    """
    count = f.ceildiv(rows, tallest)
    low = f.div(rows, f.maximum(count, 1))
    high = f.sub(rows, f.mul(low, count))
    found = []
    below = 0
    for height in sorted(heights):
        first, last = (_between(f, below, size, height) for size in (f.add(low, 1), low))
        found.append(
            (height, below, f.b.select(first, f.i(0), f.i(high)), f.b.select(last, f.i(count), f.i(high)), low, high)
        )
        below = height
    return found


def _between(f: Function, below: int, size: Value, height: int) -> Value:
    return f.b.and_(f.b.icmp_signed("<", f.i(below), f.i(size)), f.b.icmp_signed("<=", f.i(size), f.i(height)))


def tile_at(f: Function, number: Value, low: Value, high: Value) -> tuple[Value, Value]:
    """First row and number of rows of a tile of `balanced`."""
    first = f.add(f.mul(number, low), f.minimum(number, high))
    return first, f.b.select(f.lt(number, high), f.i(f.add(low, 1)), f.i(low))
