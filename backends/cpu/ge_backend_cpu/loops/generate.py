"""The family "loops": code from a program.

A value is a scalar, or in a vector loop a list of vectors, one for each vector of the round. A vector loop is
emitted for full rounds, for single vectors, and once more with a mask for what is left, so that no element beyond
the end is touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ge_backend_cpu import convert
from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import constant, width_of
from ge_backend_cpu.integers import I64, Int, Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import INDEX_OUT_OF_RANGE, family
from ge_backend_cpu.loops import reducing
from ge_backend_cpu.loops.access import Access
from ge_backend_cpu.loops.program import (
    Accumulate,
    Items,
    Let,
    Loop,
    Program,
    Stage,
    Statement,
    Store,
    Sweep,
    statements,
)
from ge_backend_cpu.vmath import bit_cast, cast
from ge_backend_cpu.vmath.base import float_constant
from ge_core.ir.dtype import DType

CHUNK = 256
"""Rounds after which a running float32 sum is added to another one, so that long sums keep their digits."""


@family("loops")
def emit_loops(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands and integers as the program says; work items are the places of its items."""
    Emitter(module, symbol, Program.from_json(parameters), isa).run()


class Emitter(Access):
    """One kernel: its loops, its sums, and what is computed in them."""

    def run(self) -> None:
        self.body(self.program.body)
        self.f.finish()

    def body(self, body: Sequence[Statement]) -> None:
        for statement in body:
            getattr(self, f"_{type(statement).__name__.lower()}")(statement)

    # Loops

    @contextmanager
    def _inside(self, body: Sequence[Statement], places: Mapping[int, Int]) -> Iterator[None]:
        """A body in which some axes have values; what it computes is forgotten after it."""
        values, offsets = dict(self.values), dict(self.offsets)
        for k in _addresses(body):
            for axis, coefficient in self.program.addresses[k].axes:
                if axis in places:
                    step = self.f.mul(places[axis], self.n(coefficient))
                    self.offsets[k] = self.f.add(self.offsets[k], step)
        yield
        self.values, self.offsets = values, offsets

    def _items(self, items: Items) -> None:
        ranges = self.program.items
        counts = [self._count(r.axis, r.block) for r in ranges]
        first: list[Int] = []
        rest: Int = self.f.lo
        for count in reversed(counts[1:]):
            first.insert(0, self.f.rem(rest, count))
            rest = self.f.div(rest, count)
        if not ranges:
            with self._inside(items.body, {}):
                self.body(items.body)
            return
        first.insert(0, rest)
        with self.f.loop(self.f.lo, self.f.hi, 1, [self.f.i(x) for x in first]) as loop:
            places: dict[int, Int] = {}
            for r, place in zip(ranges, loop.values, strict=True):
                if r.block:
                    start = self.f.mul(place, r.block)
                    end = self.f.minimum(self.f.add(start, r.block), self.n(self.program.sizes[r.axis]))
                    self.blocks[r.axis] = start, end
                else:
                    places[r.axis] = place
            with self._inside(items.body, places):
                self.body(items.body)
            loop.next = self._advanced(loop.values, counts)

    def _count(self, axis: int, block: int) -> Int:
        size = self.n(self.program.sizes[axis])
        return self.f.ceildiv(size, block) if block else size

    def _advanced(self, places: Sequence[Value], counts: Sequence[Int]) -> list[Value]:
        """The next place, the last axis fastest."""
        moved: list[Value] = []
        carry: Value = ir.Constant(I64, 1)
        for place, count in zip(reversed(places), reversed(counts), strict=True):
            value = self.b.add(place, carry)
            over = self.b.icmp_signed("==", value, self.f.i(count))
            moved.insert(0, self.b.select(over, ir.Constant(I64, 0), value))
            carry = self.b.zext(over, I64)
        return moved

    def _loop(self, loop: Loop) -> None:
        start, stop = self.blocks.get(loop.axis, (0, self.n(self.program.sizes[loop.axis])))
        if not loop.vector:
            self._repeat(loop, start, stop, 1)
            return
        self.along = loop.axis
        step = self.width * loop.unroll
        length = self.f.sub(stop, start)
        full = self.f.add(start, self.f.mul(self.f.div(length, step), step))
        self.rounds = loop.unroll
        self._repeat(loop, start, full, step)
        ones = full
        if loop.unroll > 1:
            ones = self.f.add(start, self.f.mul(self.f.div(length, self.width), self.width))
            with self._first_only():
                self._repeat(loop, full, ones, self.width)
        left = self.f.sub(stop, ones)

        def tail() -> list[Value]:
            self.mask, self.count = self.f.first_lanes(left, self.width), left
            with self._inside(loop.body, {loop.axis: ones}):
                self.body(loop.body)
            self.mask = None
            return self._carried()

        with self._first_only():
            before = self._carried()
            self._carry(self.f.choose(self.f.lt(0, left), tail, lambda: before))
        self.along, self.rounds = -1, 1

    @contextmanager
    def _first_only(self) -> Iterator[None]:
        """Code that works on one vector at a time, with the first of the accumulators."""
        rounds, self.rounds = self.rounds, 1
        rest = {k: s.parts[1:] for k, s in self.sums.items()}
        for s in self.sums.values():
            s.parts = s.parts[:1]
        yield
        for k, s in self.sums.items():
            s.parts += rest[k]
        self.rounds = rounds

    def _repeat(self, loop: Loop, start: Int, stop: Int, step: int) -> None:
        """Rounds from start to stop; sums that need it go by way of partial sums."""
        if isinstance(start, int) and isinstance(stop, int) and start >= stop:
            return
        if not any(s.lossy for s in self.sums.values()):
            self._plain(loop, start, stop, step)
            return
        with self.f.loop(start, stop, step * CHUNK, self._carried()) as outer:
            self._carry(outer.values)
            totals = {k: s.parts for k, s in self.sums.items() if s.lossy}
            for k in totals:
                self.sums[k].parts = self.sums[k].fresh()
            self._plain(loop, outer.index, self.f.minimum(self.f.add(outer.index, step * CHUNK), stop), step)
            for k, total in totals.items():
                self.sums[k].add_to(total)
            outer.next = self._carried()
        self._carry(outer.values)

    def _plain(self, loop: Loop, start: Int, stop: Int, step: int) -> None:
        with self.f.loop(start, stop, step, self._carried()) as inner:
            self._carry(inner.values)
            with self._inside(loop.body, {loop.axis: inner.index}):
                self.body(loop.body)
            inner.next = self._carried()
        self._carry(inner.values)

    # Reductions

    def _carried(self) -> list[Value]:
        """The accumulators as one list."""
        return [v for s in self.sums.values() for part in s.parts for v in part]

    def _carry(self, values: Sequence[Value]) -> None:
        rest = iter(values)
        for s in self.sums.values():
            s.parts = [tuple(next(rest) for _ in part) for part in s.parts]

    def _sweep(self, sweep: Sweep) -> None:
        across = any(isinstance(s, Loop) and s.vector for s in statements(sweep.body))
        width = self.width if across or self.along >= 0 else 1
        count = max((s.unroll for s in statements(sweep.body) if isinstance(s, Loop)), default=1)
        rounds = count if across else self.rounds
        outer, self.sums = self.sums, {}
        for result in sweep.results:
            self.sums[result.id] = reducing.Sum(self.f, result.op, DType.of(result.kind), width, rounds)
        # what is already being summed goes round as it is
        self.sums.update(outer)
        with self._inside(sweep.body, {}):
            self.body(sweep.body)
        for result in sweep.results:
            done = self.sums.pop(result.id)
            self.values[result.id] = done.across() if across else done.lanes()
        self.sums = {k: self.sums[k] for k in outer}

    def _accumulate(self, statement: Accumulate) -> None:
        s = self.sums[statement.result]
        values = self._wide(self.values[statement.value], s.width)
        places = self._wide(self.values[statement.place], s.width) if statement.place >= 0 else [None] * len(values)
        s.take(values, places, self.mask if s.width > 1 else None)

    # Values

    def _let(self, let: Let) -> None:
        special = getattr(self, f"_make_{let.op}", None)
        self.values[let.id] = special(let) if special is not None else self._primitive(let)

    def _primitive(self, let: Let) -> Any:
        kind = DType.of(let.kind)
        return self._each(lambda *args: self.primitives.apply(let.op, kind, list(args)), let.args)

    def _each(self, function: Any, args: Sequence[int]) -> Any:
        """A function applied to scalars, or to each vector of the round."""
        operands = [self.values[a] for a in args]
        if not any(isinstance(v, list) for v in operands):
            return function(*operands)
        wide = [self._wide(v) for v in operands]
        return [function(*parts) for parts in zip(*wide, strict=True)]

    def _make_const(self, let: Let) -> Value:
        kind = DType.of(let.kind)
        element = convert.compute_type(kind)
        if kind.is_float:
            return constant(element, float_constant(element, float(let.data)))
        return constant(element, int(let.data))

    def _make_cast(self, let: Let) -> Any:
        source, to, saturate = let.data
        return self._each(lambda x: cast(self.f, x, DType.of(source), DType.of(to), bool(saturate)), let.args)

    def _make_running(self, let: Let) -> Any:
        """A reduction as far as its sweep has come."""
        return self.sums[let.data].lanes()

    def _make_bits(self, let: Let) -> Any:
        source, to = (DType.of(name) for name in let.data)
        return self._each(lambda x: bit_cast(self.f, x, source, to), let.args)

    def _make_index(self, let: Let) -> Any:
        base, stride, vectors = self._place(let.data)
        if stride == 0 and vectors is None:
            return self.f.i(base)
        return self._lanes(base, stride, vectors)

    def _make_within(self, let: Let) -> Any:
        return self.values[let.args[0]]

    def _make_check(self, let: Let) -> Any:
        value, limit = self.values[let.args[0]], self.f.i(self.n(let.data))
        bad = [
            self.b.icmp_unsigned(">=", x, self.f.splat(limit, width_of(x)))
            for x in (value if isinstance(value, list) else [value])
        ]
        total = bad[0]
        for other in bad[1:]:
            total = self.b.or_(total, other)
        self._check(total, INDEX_OUT_OF_RANGE)
        return value


def _addresses(body: Sequence[Statement]) -> set[int]:
    """Numbers of the addresses that a body uses."""
    found: set[int] = set()
    for statement in statements(body):
        if isinstance(statement, (Store, Stage)):
            found.add(statement.address)
        elif isinstance(statement, Let) and statement.op == "load":
            found.add(statement.data[1])
        elif isinstance(statement, Let) and statement.op == "index":
            found.add(statement.data)
    return found
