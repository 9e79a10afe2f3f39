"""Kernels that order the elements along an axis: stable, NaN greater than every number.

A work item is one row. Operands: data, values, indices, and for "sorting.merge" and "sorting.radix" a workspace (two
int64 per element, four where a radix sort has keys of 64 bits); params: elements of a row, elements that are kept, and
the step from one element of a row to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import I32, Function, constant
from ge_backend_cpu.integers import I64, Int, Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import SIZE_OUT_OF_BOUND, family
from ge_backend_cpu.vmath import Primitives
from ge_core.ir.dtype import DType

INDEX, COUNT = DType.of("int64"), DType.of("int32")
DIGITS = 256
"""Values of the digits by which a radix sort distributes."""
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


@family("sorting.radix")
def emit_radix(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Distribute by one byte of the keys after the other, the lowest first; bytes that are all the same are left out.

    A record is an element's key in the upper and its place in the lower half of a word, or in a word each. A row of
    2^31 elements or more is refused.
    """
    rows = _function(module, symbol, parameters, isa, 4)
    f, work = rows.f, rows.f.operands[3]
    f.fail(f.compare(">=", rows.size, 1 << 31), SIZE_OUT_OF_BOUND)
    records = _Records(rows)
    counts = f.scratch(4 * DIGITS * records.digits)
    with f.loop(f.lo, f.hi) as row:
        base, target = rows.bases(row.index)
        first = f.at(work, f.mul(row.index, f.mul(rows.size, 2 * records.words)), INDEX)
        second = f.at(first, f.mul(rows.size, records.words), INDEX)
        with f.loop(0, DIGITS * records.digits) as loop:
            f.store(ir.Constant(I32, 0), counts, loop.index, COUNT)
        with f.loop(0, rows.size) as loop:
            record = records.of(rows.key(base, loop.index), loop.index)
            records.put(record, first, loop.index)
            for digit in range(records.digits):
                _count(f, counts, f.add(records.digit(record, digit), DIGITS * digit))

        def unfinished(digit: Value, source: Value, other: Value) -> Value:
            return f.lt(digit, records.digits)

        def distributed(digit: Value, source: Value, other: Value) -> Sequence[Value]:
            begin = f.at(counts, f.mul(digit, DIGITS), COUNT)
            common = f.load(begin, records.digit(records.get(source, 0), digit), COUNT)
            needed = f.b.icmp_signed("!=", f.b.sext(common, I64), rows.size)
            with f.when(needed):
                _distribute(rows, records, digit, begin, source, other)
            ends = [f.b.select(needed, other, source), f.b.select(needed, source, other)]
            return [f.add(digit, 1), *ends]

        with f.when(f.lt(0, rows.size)):
            _, ordered, _ = f.repeat([ir.Constant(I64, 0), first, second], unfinished, distributed)
            with f.loop(0, rows.kept) as loop:
                rows.put(base, target, loop.index, records.place(records.get(ordered, loop.index)))
    f.finish()


def _count(f: Function, counts: Value, place: Int) -> Value:
    """One more; what it was before."""
    before = f.load(counts, place, COUNT)
    f.store(f.b.add(before, ir.Constant(I32, 1)), counts, place, COUNT)
    return before


def _distribute(rows: Rows, records: _Records, digit: Value, counts: Value, source: Value, other: Value) -> None:
    f = rows.f
    with f.loop(0, DIGITS, carry=[ir.Constant(I32, 0)]) as loop:
        number = f.load(counts, loop.index, COUNT)
        f.store(loop.values[0], counts, loop.index, COUNT)
        loop.next = [f.b.add(loop.values[0], number)]
    with f.loop(0, rows.size) as loop:
        record = records.get(source, loop.index)
        place = _count(f, counts, records.digit(record, digit))
        records.put(record, other, f.b.sext(place, I64))


class _Records:
    """Keys, whose order as unsigned integers is that of the elements, with the elements' places.

    Attributes:
        words: of a record.
        digits: of a key.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows, self.f, self.b = rows, rows.f, rows.f.b
        self.wide = rows.dtype.bits > 32
        self.words, self.digits = (2, 8) if self.wide else (1, 4)

    def of(self, element: Value, place: Value) -> list[Value]:
        key = self._key(element)
        if self.wide:
            return [key, place]
        upper = self.b.shl(self.b.zext(key, I64), ir.Constant(I64, 32))
        return [self.b.or_(upper, place)]

    def digit(self, record: Sequence[Value], digit: Int) -> Value:
        """The value of a digit, the lowest being 0."""
        shift = self.f.add(self.f.mul(digit, 8), 0 if self.wide else 32)
        return self.b.and_(self.b.lshr(record[0], self.f.i(shift)), ir.Constant(I64, DIGITS - 1))

    def place(self, record: Sequence[Value]) -> Value:
        return record[1] if self.wide else self.b.and_(record[0], ir.Constant(I64, (1 << 32) - 1))

    def get(self, memory: Value, place: Int) -> list[Value]:
        at = self.f.mul(place, self.words)
        return [self.f.load(memory, self.f.add(at, k), INDEX) for k in range(self.words)]

    def put(self, record: Sequence[Value], memory: Value, place: Int) -> None:
        at = self.f.mul(place, self.words)
        for k, word in enumerate(record):
            self.f.store(word, memory, self.f.add(at, k), INDEX)

    def _key(self, element: Value) -> Value:
        """i32 or i64; equal elements (zeros of both signs, all NaN) have equal keys."""
        b, kind = self.b, self.rows.dtype
        type = I64 if self.wide else I32
        top = ir.Constant(type, -(1 << (type.width - 1)))
        if kind.is_float:
            nan = b.fcmp_unordered("uno", element, element)
            bits = b.bitcast(b.fadd(element, constant(element.type, 0.0)), type)
            negative = b.ashr(bits, ir.Constant(type, type.width - 1))
            key = b.select(nan, ir.Constant(type, -1), b.xor(bits, b.or_(negative, top)))
        else:
            widened = b.sext if kind.kind == "int" else b.zext
            key = element if element.type == type else widened(element, type)
            key = b.xor(key, top) if kind.kind == "int" else key
        return b.not_(key) if self.rows.descending else key


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
