"""Code of an epilogue: from the sums of a tile to memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ge_backend_cpu import convert
from ge_backend_cpu.contract.epilogue import Epilogue, Tree
from ge_backend_cpu.emit import FLOAT, I8, I32, Function, constant, vector, width_of
from ge_backend_cpu.integers import Value
from ge_backend_cpu.vmath import TESTS, Primitives, cast
from ge_backend_cpu.vmath.base import float_constant
from ge_core.errors import BackendError
from ge_core.ir.dtype import DType, boolean, float32, int64

Typed = tuple[Any, DType]
Loaded: TypeAlias = dict[Any, Any]
"""Operands in registers by their number, and what was made of scalars by what it was made of."""


@dataclass(frozen=True)
class Place:
    """Where the elements of one vector lie.

    Attributes:
        row: number of the row, for what is read by row.
        column: number of the first column, for what is read by column.
        full: index of the first element in the outputs and in what has their shape.
        width: elements.
        count: how many of them there are; None for all.
    """

    row: Any
    column: Any
    full: Any
    width: int
    count: Any = None


class Finish:
    """Evaluates an epilogue and stores its outputs.

    Args:
        sides: pointers to the first elements of the epilogue's operands.
        outputs: pointers to those of the outputs.
    """

    def __init__(self, f: Function, epilogue: Epilogue, sides: Sequence[Value], outputs: Sequence[Value]) -> None:
        self.f, self.epilogue, self.sides, self.outputs = f, epilogue, sides, outputs
        self.primitives = Primitives(f, _no_check)

    def store(self, total: Value, place: Place, loaded: Loaded | None = None) -> None:
        """Compute the outputs of one vector of sums and store them.

        Args:
            loaded: operands that are in registers already, by their number, and what was made of them.
        """
        self.store_together([total], [place], loaded)

    def store_together(self, totals: Sequence[Value], places: Sequence[Place], loaded: Loaded | None = None) -> None:
        """As `store`, for several vectors step by step: a long epilogue of one alone would wait for itself."""
        known: list[list[Typed]] = [[(total, self.epilogue.dtype(0))] for total in totals]
        reads: list[Loaded] = [dict(loaded or {}) for _ in totals]
        for i, step in enumerate(self.epilogue.steps):
            for values, place, read in zip(known, places, reads, strict=True):
                value, dtype = self._tree(step.tree, values, place, read, None)
                if step.tree[0] == "quantise":
                    read["rounded", i + 1] = read.pop("rounded")
                assert dtype.name == step.dtype or dtype.kind == "float", (step, dtype)
                values.append((value, DType.of(step.dtype)))
        for number, pointer in zip(self.epilogue.outputs, self.outputs, strict=True):
            for values, place in zip(known, places, strict=True):
                value, dtype = values[number]
                if place.count is None:
                    self.f.store(value, pointer, place.full, dtype)
                else:
                    self.f.store_part(value, pointer, place.full, dtype, place.count)

    def scalars(self, width: int) -> Loaded:
        """The scalars that the epilogue reads, and what quantising makes of them; the same everywhere."""
        place = Place(0, 0, 0, width)
        found: Loaded = {i: self._load(i, place) for i, side in enumerate(self.epilogue.sides) if side.kind == "scalar"}
        for step in self.epilogue.steps:
            if step.tree[0] == "quantise":
                self._quantiser(step.tree, found, width)
        return found

    def columns(self, place: Place, scalars: Loaded | None = None) -> Loaded:
        """What the epilogue reads by column, and its scalars, for a vector's columns; the same for all rows."""
        found = dict(self.scalars(place.width) if scalars is None else scalars)
        found.update({i: self._load(i, place) for i, side in enumerate(self.epilogue.sides) if side.kind == "column"})
        return found

    def _load(self, number: int, place: Place) -> Value:
        side, pointer, f = self.epilogue.sides[number], self.sides[number], self.f
        dtype = DType.of(side.dtype)
        if side.kind in ("scalar", "row"):
            return f.splat(f.load(pointer, 0 if side.kind == "scalar" else place.row, dtype), place.width)
        index = place.column if side.kind == "column" else place.full
        if place.count is None:
            return f.load(pointer, index, dtype, place.width)
        return f.load_part(pointer, index, dtype, place.width, place.count)

    def _tree(self, tree: Tree, values: Sequence[Typed], place: Place, read: Loaded, kind: DType | None) -> Typed:
        """The value of a tree; `kind` is the type that a number takes."""
        name = tree[0]
        if name == "value":
            return values[tree[1]]
        if name == "side":
            if tree[1] not in read:
                read[tree[1]] = self._load(tree[1], place)
            return read[tree[1]], DType.of(self.epilogue.sides[tree[1]].dtype)
        if name == "quantise":
            return self._quantised(tree, values, place, read)
        if name == "rounded":
            return read["rounded", tree[1]], float32
        if name == "number":
            assert kind is not None
            return self._number(tree[1], kind, place.width), kind
        if name == "cast":
            target = DType.of(tree[2])
            value, source = self._tree(tree[1], values, place, read, target)
            return cast(self.f, value, source, target, tree[3]), target
        return self._apply(tree, values, place, read, kind)

    def _apply(self, tree: Tree, values: Sequence[Typed], place: Place, read: Loaded, kind: DType | None) -> Typed:
        name, operands = tree[0], tree[1:]
        done: dict[int, Typed] = {}
        for i, operand in enumerate(operands):
            if operand[0] != "number":
                done[i] = self._tree(operand, values, place, read, kind)
        first = 1 if name == "select" else 0
        own = [dtype for i, (_, dtype) in sorted(done.items()) if i >= first]
        own_kind = own[0] if own else kind
        if own_kind is None:
            raise BackendError(f"no operand of {name} in an epilogue has a type")
        arguments = [
            done[i][0] if i in done else self._number(operand[1], own_kind, place.width)
            for i, operand in enumerate(operands)
        ]
        result = self.primitives.apply(name, own_kind, arguments)
        return result, boolean if name in TESTS else own_kind

    def _quantiser(self, tree: Tree, read: Loaded, width: int) -> tuple[Value, ...]:
        """Scale, its reciprocal (or the scale again), zero point as int32, and the range less the zero point."""
        f, b, dtype, exact = self.f, self.f.b, DType.of(tree[4]), tree[5]
        key = (*map(str, tree[2:4]), dtype.name, exact)
        if key not in read:
            place, words, floats = Place(0, 0, 0, width), vector(I32, width), vector(FLOAT, width)
            scale, _ = self._tree(tree[2], (), place, read, None)
            point = constant(words, 0)
            if tree[3][0] != "number":
                raw, _ = self._tree(tree[3], (), place, read, None)
                point = b.zext(raw, words) if dtype.kind == "uint" else b.sext(raw, words)
            factor = scale
            if exact:
                single = f.load(self.sides[tree[2][1]], 0, float32)
                factor = f.splat(b.fdiv(constant(FLOAT, 1.0), single), width)
            real = b.sitofp(point, floats)
            low, high = (b.fsub(constant(floats, float(end)), real) for end in (dtype.min, dtype.max))
            read[key] = scale, factor, point, low, high
        found: tuple[Value, ...] = read[key]
        return found

    def _quantised(self, tree: Tree, values: Sequence[Typed], place: Place, read: Loaded) -> Typed:
        """round(x / scale, half to even) + zero point, saturated; NaN gives 0."""
        f, b = self.f, self.f.b
        x, source = self._tree(tree[1], values, place, read, None)
        assert source == float32
        scale, factor, point, low, high = self._quantiser(tree, read, place.width)
        if tree[5]:
            near = b.fmul(x, factor)
            quotient = f.fma(f.fma(b.fneg(near), scale, x), factor, near)
        else:
            quotient = b.fdiv(x, scale)
        kept = b.select(b.fcmp_ordered(">", quotient, low), quotient, low)
        kept = b.select(b.fcmp_ordered("<", kept, high), kept, high)
        # a float32 of this size has no places behind the point: adding it rounds, and its last bits are the number
        magic = constant(x.type, 1.5 * 2.0**23)
        shifted = b.fadd(kept, magic)
        rounded = b.fsub(shifted, magic)
        found = b.trunc(b.add(b.bitcast(shifted, point.type), point), vector(I8, place.width))
        if not tree[5]:
            nan = b.fcmp_unordered("uno", quotient, quotient)
            found = b.select(nan, constant(found.type, 0), found)
            rounded = b.select(nan, b.fneg(b.sitofp(point, x.type)), rounded)
        read["rounded"] = rounded
        return found, DType.of(tree[4])

    def _number(self, value: float, dtype: DType, width: int) -> Value:
        element: Any = convert.compute_type(dtype)
        number = float_constant(element, value) if dtype.is_float else int(value)
        return constant(vector(element, width), number)


def _no_check(condition: Value, status: int) -> None:
    raise BackendError("an epilogue that can fail")


def tile(
    f: Function,
    finish: Finish,
    sums: Sequence[Sequence[Value]],
    rows: Sequence[tuple[Value, Value]],
    column: Value,
    side_column: Value,
    limit: tuple[Value, int],
    present: Callable[[int], Value | None],
) -> None:
    """Store a tile.

    Args:
        sums: vectors by row and place in the row.
        rows: number of each row, and index of its first element in the outputs.
        column: first column of the tile.
        side_column: its index in what is read by column.
        limit: number of columns of the product, and columns of the tile.
        present: whether a row is to be stored; None for certainly.
    """
    sums = [[_source(f, finish.epilogue.dtype(0), total) for total in line] for line in sums]
    width = width_of(sums[0][0])
    columns, whole = limit
    fits = f.compare("<=", f.add(column, whole), columns)
    direct = finish.epilogue.weight * len(sums) * len(sums[0]) <= 400

    def place(i: int, j: int, count: Value | None = None) -> Place:
        number, full = rows[i]
        at = f.add(column, j * width)
        return Place(number, f.add(side_column, j * width), f.add(full, at), width, count)

    def from_registers() -> list[Value]:
        scalars = finish.scalars(width)
        loaded = [finish.columns(place(0, j), scalars) for j in range(len(sums[0]))]
        for i, line in enumerate(sums):
            with f.when(_truth(present(i))):
                for j, total in enumerate(line):
                    finish.store(total, place(i, j), loaded[j])
        return []

    def from_memory(masked: bool) -> list[Value]:
        _store_slowly(f, finish, sums, rows, column, side_column, columns, masked, present)
        return []

    f.choose(fits, from_registers if direct else lambda: from_memory(False), lambda: from_memory(True))


def _source(f: Function, dtype: DType, total: Value) -> Value:
    """A sum in the type in which the graph computes with it: integers wrap."""
    kind = vector(convert.compute_type(dtype), width_of(total))
    return f.b.trunc(total, kind) if dtype.is_integer and total.type != kind else total


def _truth(condition: Value | None) -> Value:
    return True if condition is None else condition


def _store_slowly(
    f: Function,
    finish: Finish,
    sums: Sequence[Sequence[Value]],
    rows: Sequence[tuple[Value, Value]],
    column: Value,
    side_column: Value,
    columns: Value,
    masked: bool,
    present: Callable[[int], Value | None],
) -> None:
    """One copy of the epilogue's code for all vectors: by way of memory, in two loops."""
    element, height, vectors = finish.epilogue.dtype(0), len(sums), len(sums[0])
    width = width_of(sums[0][0])
    compute = float32 if element.is_float and element.bits < 32 else element
    totals = f.scratch(height * vectors * width * (compute.bits // 8))
    where = f.scratch(height * 24)
    for i, line in enumerate(sums):
        for j, total in enumerate(line):
            f.store(total, totals, (i * vectors + j) * width, compute)
        there = present(i)
        numbers = (*rows[i], f.i(1) if there is None else f.b.zext(there, f.i(0).type))
        for k, number in enumerate(numbers):
            f.store(f.i(number), where, 3 * i + k, int64)
    scalars = finish.scalars(width)
    with f.loop(0, height) as row:
        number, full, there = (f.load(where, f.add(f.mul(row.index, 3), k), int64) for k in range(3))
        with f.when(f.compare("!=", there, 0)), f.loop(0, vectors) as part:
            offset = f.mul(part.index, width)
            at = f.add(column, offset)
            count = f.maximum(f.sub(columns, at), 0) if masked else None
            total = f.load(totals, f.mul(f.add(f.mul(row.index, vectors), part.index), width), compute, width)
            finish.store(total, Place(number, f.add(side_column, offset), f.add(full, at), width, count), scalars)
