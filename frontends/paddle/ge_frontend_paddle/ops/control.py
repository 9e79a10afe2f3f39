"""Control flow. Inner blocks read outer values as they are; what they write in place becomes results of the node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value, source_of

from ..call import BOOL, Call
from ..convert import Scope
from ..loops import LoopForm, analyse, length_of, written_numbers
from ..registry import pd
from ..tensor_array import LoopArray, TensorArray


@dataclass(frozen=True)
class _Shape:
    """How many values one entry has; an array has its elements."""

    count: int
    array: TensorArray | None


def _flat(c: Call, entries: Sequence[Any]) -> tuple[list[Value], list[_Shape]]:
    """Entries as values, arrays element by element."""
    values: list[Value] = []
    shapes: list[_Shape] = []
    for entry in entries:
        if isinstance(entry, Value):
            values.append(entry)
            shapes.append(_Shape(1, None))
        elif isinstance(entry, TensorArray):
            parts = [*entry.items, *([] if entry.tail is None else [entry.tail])]
            values += parts
            shapes.append(_Shape(len(parts), entry))
        else:
            raise c.unsupported(f"a block that gives {type(entry).__name__}", "let it give tensors")
    return values, shapes


def _rebuilt(values: Sequence[Value], shapes: Sequence[_Shape]) -> list[Any]:
    """The entries that values and their shapes stand for."""
    entries: list[Any] = []
    rest = list(values)
    for shape in shapes:
        mine, rest = rest[: shape.count], rest[shape.count :]
        if shape.array is None:
            entries.append(mine[0])
        elif shape.array.tail is None:
            entries.append(TensorArray(shape.array.dtype, tuple(mine)))
        else:
            entries.append(TensorArray(shape.array.dtype, tuple(mine[:-1]), mine[-1]))
    return entries


def _values(found: Any) -> list[Value]:
    return list(found) if isinstance(found, tuple) else [found]


@pd("if")
def if_(c: Call, cond: Value) -> tuple[Any, ...]:
    """if(cond, *, output_types) -> *outputs"""
    outer, blocks = c.scope, c.op.blocks
    written = [n for n in dict.fromkeys(n for block in blocks for n in written_numbers(block)) if outer.has(n)]
    known = c.number(cond)
    if known is not None:
        inner = Scope(outer)
        yielded = c.converter.run(c.b, blocks[0 if known else 1], inner)
        for number in written:
            outer.set(number, inner.get(number))
        return tuple(yielded)
    layouts: list[list[_Shape]] = []

    def branch(r: Builder, index: int) -> list[Value]:
        inner = Scope(outer)
        yielded = c.converter.run(r, blocks[index], inner)
        values, shapes = _flat(c, [*yielded, *(inner.get(number) for number in written)])
        layouts.append(shapes)
        if [s.count for s in layouts[0]] != [s.count for s in shapes]:
            raise c.unsupported("branches that leave arrays of different lengths")
        return values

    found = c.b.If(
        c.cast(c.reshape(cond, ()), BOOL),
        then_branch=lambda r: branch(r, 0),
        else_branch=lambda r: branch(r, 1),
    )
    entries = _rebuilt(_values(found), layouts[0])
    count = len(c.op.results)
    for number, entry in zip(written, entries[count:], strict=True):
        outer.set(number, entry)
    return tuple(entries[:count])


@pd("pylayer")
def pylayer(c: Call, *inputs: Value) -> tuple[Any, ...]:
    """pylayer(*inputs) -> *outputs"""
    block = c.op.blocks[0]
    inner = Scope(c.scope)
    for param, value in zip(block.params, inputs, strict=False):
        inner.set(param.number, value)
    return tuple(c.converter.run(c.b, block, inner))


@dataclass
class _Growing:
    """An array that the loop appends to."""

    number: int
    array: TensorArray
    depth: int
    distances: dict[int, int]


@pd("while", ignores=("is_test", "construct_body"))
def while_(c: Call, cond: Value, *carried: Any) -> tuple[Any, ...]:
    """while(cond, *inputs) -> *outputs"""
    block, outer, b = c.op.blocks[0], c.scope, c.b
    written = [n for n in written_numbers(block) if outer.has(n)]
    params = [param.number for param in block.params]
    entries = dict(zip(params, carried, strict=True)) | {n: outer.get(n) for n in written}
    growing = [n for n, entry in entries.items() if isinstance(entry, TensorArray)]
    plain = [n for n in entries if n not in growing]
    places = {n: (params.index(n) + 1 if n in params else -1) for n in plain}
    form = analyse(block, places, growing)
    arrays = [_growing(c, n, entries[n], form, entries) for n in growing]
    trip = _trip_count(c, cond, form, entries)
    initial = [entries[n] for n in plain] + [
        item for a in arrays for item in a.array.items[len(a.array.items) - a.depth :]
    ]

    def body(r: Builder, i: Value, go_on: Value, *values: Value) -> list[Value]:
        inner = Scope(outer)
        for number, value in zip(plain, values, strict=False):
            inner.set(number, value)
        rest = values[len(plain) :]
        for array in arrays:
            length = len(array.array.items)
            inner.set(array.number, LoopArray(rest[: array.depth], array.distances, length, i))
            rest = rest[array.depth :]
        yielded = c.converter.run(r, block, inner)
        following = [inner.get(n) if n not in params else yielded[params.index(n) + 1] for n in plain]
        windows: list[Value] = []
        grown: list[Value] = []
        for array in arrays:
            state = inner.get(array.number)
            assert isinstance(state, LoopArray) and state.appended is not None
            windows += [*state.window, state.appended][len(state.window) + 1 - array.depth :]
            grown.append(state.appended)
        again = _truth(r, yielded[0]) if trip is None else go_on
        return [again, *following, *windows, *grown]

    count = None if trip is None else b.scalar(trip)
    start = None if trip is not None else _truth(b, cond)
    results = _values(b.Loop(count, start, initial, body=body)) if initial or arrays else []
    after: dict[int, Any] = dict(zip(plain, results, strict=False))
    tails = results[len(results) - len(arrays) :] if arrays else []
    for array, tail in zip(arrays, tails, strict=True):
        after[array.number] = TensorArray(array.array.dtype, array.array.items, tail)
    for number in written:
        outer.set(number, after[number])
    return tuple(after[n] for n in params)


def _truth(b: Builder, cond: Value) -> Value:
    scalar = cond if not cond.rank else b.Reshape(cond, b.ints(()))
    return scalar if scalar.dtype == BOOL else b.Cast(scalar, to=BOOL)


def _growing(c: Call, number: int, array: TensorArray, form: LoopForm, entries: dict[int, Any]) -> _Growing:
    """How a loop grows an array: by one element each round, reading only its last ones.

    Raises:
        UnsupportedError: it does something else.
    """
    use = form.arrays[number]
    writes = [place for _, is_write, place in use.events if is_write]
    counters = {place[0] for _, _, place in use.events}
    fix = "append one element in each round: array_write(x, i, array) with a counter i that grows by 1"
    if not use.plain or len(writes) != 1 or len(counters) != 1 or array.tail is not None:
        raise c.unsupported("a loop that uses a tensor array in another way than to append to it", fix)
    (counter,) = counters
    length = len(array.items)
    if counter == length_of(number):
        start: Sequence[Size] | None = (length,)
    else:
        start = c.sizes(entries[counter]) if isinstance(entries.get(counter), Value) else None
        start = start if form.steps.get(counter) == 1 else None
    if start is None or not isinstance(start[0], int):
        raise c.unsupported("a loop whose counter does not start at a number and grow by 1", fix)
    if start[0] + writes[0][1] != length:
        raise c.unsupported(f"a loop that writes place {start[0] + writes[0][1]} of an array of {length} first", fix)
    depth, seen = 0, False
    distances: dict[int, int] = {}
    for key, is_write, (_, ahead) in use.events:
        distance = length - (start[0] + ahead)
        if is_write:
            seen = True
        elif distance == 0 and seen:
            distances[key] = 0
        elif 1 <= distance <= length:
            distances[key] = distance
            depth = max(depth, distance)
        else:
            raise c.unsupported("a loop that reads elements that are not there yet", fix)
    return _Growing(number, array, depth, distances)


def _trip_count(c: Call, cond: Value, form: LoopForm, entries: dict[int, Any]) -> Size | None:
    """How many rounds there are, when the loop counts from a known size to a known size by 1."""
    if form.bound is None:
        return None
    counter, limit_number = form.bound
    first = c.sizes(entries[counter]) if isinstance(entries.get(counter), Value) else None
    if limit_number in form.constants and not c.scope.has(limit_number):
        limit: Sequence[Size] | None = (form.constants[limit_number],)
    elif c.scope.has(limit_number) and isinstance(c.scope.get(limit_number), Value):
        limit = c.sizes(c.scope.get(limit_number))
    else:
        limit = None
    if not first or not limit or not _compares(c, cond, first[0], limit[0]):
        return None
    return dims.maximum(limit[0] - first[0], 0)


def _compares(c: Call, cond: Value, first: Size, limit: Size) -> bool:
    """Whether a condition is `first < limit`."""
    known = c.number(cond)
    if known is not None and isinstance(first, int) and isinstance(limit, int):
        return bool(known) == (first < limit)
    producer = source_of(cond).producer
    if producer is None or producer.op != "Less":
        return False
    sides = [None if side is None else c.sizes(side) for side in producer.inputs]
    return sides == [(first,), (limit,)]
