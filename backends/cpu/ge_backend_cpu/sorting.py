"""Kernels that order the elements along an axis: stable, NaN greater than every number.

A work item is one row. Operands: data, values, indices, and for "sorting.merge" a workspace of two int64 per element;
params: elements of a row, elements that are kept, and the step from one element of a row to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import llvmlite.ir as ir

from ge_backend_cpu.emit import Function
from ge_backend_cpu.integers import I64, Int, Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.vmath import Primitives
from ge_core.ir.dtype import DType

INDEX = DType.of("int64")
NAMES = ("size", "kept", "step")


class Rows:
    """What both kernels share: the rows, and which of two elements comes first."""

    def __init__(self, f: Function, dtype: DType, descending: bool) -> None:
        self.f, self.dtype, self.descending = f, dtype, descending
        self.data, self.values, self.indices = f.operands[:3]
        self.size, self.kept, self.step = (f.params[name] for name in NAMES)
        self.primitives = Primitives(f, lambda condition, status: None)

    def bases(self, row: Value) -> tuple[Int, Int]:
        """Where a row begins in the data and in the results."""
        f = self.f
        outer, inner = f.div(row, self.step), f.rem(row, self.step)
        data, target = (f.add(f.mul(f.mul(outer, n), self.step), inner) for n in (self.size, self.kept))
        return data, target

    def key(self, base: Int, place: Int) -> Value:
        """An element of a row."""
        return self.f.load(self.data, self.f.add(base, self.f.mul(place, self.step)), self.dtype)

    def before(self, a: Value, b: Value) -> Value:
        """Whether a must come before b: strictly, so that equal elements keep their order."""
        builder, kind = self.f.b, self.dtype
        order = [b, a] if self.descending else [a, b]
        less = self.primitives.apply("lt", kind, order)
        if not kind.is_float:
            return less
        nan = [builder.fcmp_unordered("uno", v, v) for v in (a, b)]
        first, other = (nan[0], nan[1]) if self.descending else (nan[1], nan[0])
        return builder.or_(less, builder.and_(first, builder.not_(other)))

    def put(self, base: Int, target: Int, rank: Int, place: Value) -> None:
        """Element `place` of the row at `base` is the one of a rank."""
        at = self.f.add(target, self.f.mul(rank, self.step))
        self.f.store(self.key(base, place), self.values, at, self.dtype)
        self.f.store(place, self.indices, at, INDEX)


def _function(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa, operands: int) -> Rows:
    f = Function(module, symbol, isa, operands, NAMES)
    return Rows(f, DType.of(parameters["dtype"]), bool(parameters["descending"]))


@family("sorting.merge")
def emit_merge(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Merge runs of 1, 2, 4, ... elements from one half of the workspace into the other."""
    rows = _function(module, symbol, parameters, isa, 4)
    f, work = rows.f, rows.f.operands[3]
    with f.loop(f.lo, f.hi) as row:
        base, target = rows.bases(row.index)
        first = f.at(work, f.mul(row.index, f.mul(rows.size, 2)), INDEX)
        second = f.at(first, rows.size, INDEX)
        with f.loop(0, rows.size) as loop:
            f.store(loop.index, first, loop.index, INDEX)

        def unfinished(width: Value, source: Value, other: Value) -> Value:
            return f.lt(width, rows.size)

        def merged(width: Value, source: Value, other: Value, base: Int = base) -> Sequence[Value]:
            with f.loop(0, rows.size, f.mul(width, 2)) as run:
                middle = f.minimum(f.add(run.index, width), rows.size)
                end = f.minimum(f.add(middle, width), rows.size)
                _merge(rows, base, source, other, run.index, middle, end)
            return [f.mul(width, 2), other, source]

        _, ordered, _ = f.repeat([ir.Constant(I64, 1), first, second], unfinished, merged)
        with f.loop(0, rows.kept) as loop:
            rows.put(base, target, loop.index, f.load(ordered, loop.index, INDEX))
    f.finish()


def _merge(rows: Rows, base: Int, source: Value, other: Value, start: Int, middle: Int, end: Int) -> None:
    """Two neighbouring runs become one; of equal elements that of the first run comes first."""
    f, last = rows.f, rows.f.sub(rows.size, 1)
    with f.loop(start, end, carry=[f.i(start), f.i(middle)]) as loop:
        i, j = loop.values
        left, right = (f.load(source, f.minimum(k, last), INDEX) for k in (i, j))
        later = rows.before(rows.key(base, right), rows.key(base, left))
        has_left, has_right = f.lt(i, middle), f.lt(j, end)
        take_right = f.b.and_(has_right, f.b.or_(f.b.not_(has_left), later))
        f.store(f.b.select(take_right, right, left), other, loop.index, INDEX)
        moved = f.b.zext(take_right, I64)
        loop.next = [f.add(i, f.sub(1, moved)), f.add(j, moved)]


@family("sorting.kept")
def emit_kept(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The first few of a row: a list in order into which the elements that belong there are put."""
    rows = _function(module, symbol, parameters, isa, 3)
    f, b = rows.f, rows.f.b
    places = f.scratch(8 * parameters["most"])
    with f.loop(f.lo, f.hi) as row:
        base, target = rows.bases(row.index)
        with f.loop(0, rows.size) as loop:
            value, full = rows.key(base, loop.index), f.compare(">=", loop.index, rows.kept)
            held = f.minimum(loop.index, rows.kept)
            worst = f.load(places, f.maximum(f.sub(held, 1), 0), INDEX)
            # before the first element the list holds nothing: its own place stands for the worst one
            worst = b.select(f.eq(held, 0), loop.index, worst)
            enters = b.or_(b.not_(full), rows.before(value, rows.key(base, worst)))
            with f.when(enters):
                hole = f.b.select(full, f.sub(held, 1), held)

                def moves(at: Value, value: Value = value, base: Int = base) -> Value:
                    above = f.load(places, f.maximum(f.sub(at, 1), 0), INDEX)
                    above = b.select(f.lt(0, at), above, f.i(0))
                    return b.and_(f.lt(0, at), rows.before(value, rows.key(base, above)))

                def move(at: Value) -> Sequence[Value]:
                    f.store(f.load(places, f.sub(at, 1), INDEX), places, at, INDEX)
                    return [f.sub(at, 1)]

                (place,) = f.repeat([hole], moves, move)
                f.store(loop.index, places, place, INDEX)
        with f.loop(0, rows.kept) as loop:
            rows.put(base, target, loop.index, f.load(places, loop.index, INDEX))
    f.finish()
