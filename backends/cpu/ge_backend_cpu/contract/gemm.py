"""Code of the family "contract.product": the loops around the register tile.

    for work items, a batch each: for blocks of rows: for panels, some at a time: for tiles of rows: taps, run

The rows of A are read where they lie. A block of rows stays in the second-level cache while all panels pass by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_backend_cpu.contract.finish import Finish, tile
from ge_backend_cpu.contract.product import FAMILY, Product
from ge_backend_cpu.contract.tile import PANEL, Shape, shapes
from ge_backend_cpu.contract.walk import Row, over_taps, rows_of
from ge_backend_cpu.emit import Function, Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family

UNROLL = 4
"""Steps of the run in one round of the inner loop."""


@family(FAMILY, lean=True)
def emit_product(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: A, panels, zeros if bounded, sides of the epilogue, outputs."""
    _Emitter(module, symbol, Product.from_json(parameters), isa).kernel()


class _Emitter:
    def __init__(self, module: Any, symbol: str, product: Product, isa: Isa) -> None:
        self.product, self.sums = product, product.sums
        self.width = self.sums.width(isa)
        sides, outputs = len(product.epilogue.sides), len(product.epilogue.outputs)
        first = 3 if product.bounded else 2
        self.f = Function(module, symbol, isa, first + sides + outputs, product.names())
        self.a, self.b = self.f.operands[:2]
        self.zeros = self.f.operands[2] if product.bounded else None
        self.sides, self.outputs = self.f.operands[first : first + sides], self.f.operands[first + sides :]
        self.shapes = shapes(isa, self.width, product.rows, product.panels)

    def kernel(self) -> None:
        f, p = self.f, self.f.params

        def items(at: Value) -> Sequence[Value]:
            batch = f.div(at, p["parts"])
            start = f.sub(at, f.mul(batch, p["parts"]))
            stop = f.minimum(p["parts"], f.add(start, f.sub(f.hi, at)))
            self._batch(batch, f.mul(start, p["grain"]), f.mul(stop, p["grain"]))
            return [f.add(at, f.sub(stop, start))]

        f.repeat([f.lo], lambda at: f.lt(at, f.hi), items)
        f.finish()

    def _batch(self, number: Value, start: Value, stop: Value) -> None:
        """The items of one batch: rows or panels [start, stop)."""
        f, p = self.f, self.f.params
        places: list[Value] = []
        rest = number
        for i in range(self.product.batch - 1, 0, -1):
            whole = f.div(rest, p[f"batch_size{i}"])
            places.insert(0, f.sub(rest, f.mul(whole, p[f"batch_size{i}"])))
            rest = whole
        places.insert(0, rest)
        offsets: dict[str, Any] = {"a": p["start"], "b": 0, "c": p["c_start"]}
        for i in range(self.product.batch):
            for name in offsets:
                offsets[name] = f.add(offsets[name], f.mul(places[i], p[f"batch_{name}{i}"]))
        a_type, b_type = self.product.stored
        self.a_start, self.b_start = f.at(self.a, offsets["a"], a_type), f.at(self.b, offsets["b"], b_type)
        self.c_start = offsets["c"]
        self.column_start, self.row_start = f.mul(number, p["columns"]), f.mul(number, p["rows"])
        self.finish = Finish(f, self.product.epilogue, self.sides, self.outputs)
        panels = f.ceildiv(p["n"], PANEL)
        if self.product.split == "rows":
            self._rows(start, f.minimum(stop, p["m"]), 0, panels)
        else:
            self._rows(0, p["m"], start, f.minimum(stop, panels))

    def _rows(self, start: Value, stop: Value, first: Value, last: Value) -> None:
        f = self.f
        with f.loop(start, stop, f.params["block"]) as block:
            self._panels(block.index, f.minimum(f.add(block.index, f.params["block"]), stop), first, last)

    def _panels(self, start: Value, stop: Value, first: Value, last: Value) -> None:
        """All panels for some rows: as many at a time as the widest tile takes, then the rest."""
        f, at = self.f, first
        for shape in self.shapes:
            whole = f.add(at, f.mul(f.div(f.sub(last, at), shape.panels), shape.panels))
            with f.loop(at, whole, shape.panels) as panel:
                self._tiles(shape, start, stop, panel.index)
            at = whole

    def _tiles(self, shape: Shape, start: Value, stop: Value, panel: Value) -> None:
        """The rows in tiles of nearly equal height: 49 are 4 of 6 and 5 of 5, never full ones and a rest of 1."""
        f = self.f
        rows = f.sub(stop, start)
        count = f.ceildiv(rows, shape.rows)
        low = f.div(rows, f.maximum(count, 1))
        high = f.sub(rows, f.mul(low, count))  # so many have one row more than the rest
        below = 0
        for height in sorted(shape.heights):
            first, last = (self._between(below, size, height) for size in (f.add(low, 1), low))
            from_tile = f.b.select(first, f.i(0), high)
            to_tile = f.b.select(last, f.i(count), high)
            with f.loop(from_tile, to_tile) as tiles:
                row = f.add(start, f.add(f.mul(tiles.index, low), f.minimum(tiles.index, high)))
                size = f.b.select(f.lt(tiles.index, high), f.add(low, 1), low)
                self._tile(shape.panels, height, row, size, panel, below)
            below = height

    def _between(self, below: int, size: Value, height: int) -> Value:
        return self.f.b.and_(self.f.lt(below, size), self.f.compare("<=", size, height))

    def _tile(self, panels: int, height: int, first: Value, size: Value, panel: Value, below: int) -> None:
        """One tile of `size` rows: more than `below`, at most `height`, for which the code is."""
        f, p, product = self.f, self.f.params, self.product
        vectors = panels * PANEL // self.width
        last = None if height == below + 1 else f.sub(f.add(first, size), 1)
        rows = rows_of(f, product, first, last, height)
        whole = p["k"]
        for i in range(product.taps):
            whole = f.mul(whole, p[f"taps{i}"])
        lines = f.mul(whole, PANEL)
        starts = [f.at(self.b_start, f.mul(f.add(panel, i), lines), product.stored[1]) for i in range(panels)]

        def run(pointers: Sequence[Value], index: Value, sums: Sequence[Value]) -> Sequence[Value]:
            return self._run(pointers, [f.at(start, index, product.stored[1]) for start in starts], sums)

        zero = [self.sums.zero(self.width)] * (height * vectors)
        sums = over_taps(f, product, rows, self.a_start, self.zeros, zero, run)
        lines = [sums[i * vectors : (i + 1) * vectors] for i in range(height)]
        self._store(rows, lines, panel, last, below)

    def _run(self, rows: Sequence[Value], panels: Sequence[Value], sums: Sequence[Value]) -> Sequence[Value]:
        """sums += rows * panels over one run."""
        f, k = self.f, self.f.params["k"]
        whole = f.mul(f.div(k, UNROLL), UNROLL)
        with f.loop(0, whole, UNROLL, carry=sums) as loop:
            current: Sequence[Value] = loop.values
            for step in range(UNROLL):
                current = self._step(rows, panels, loop.index, step, current)
            loop.next = current
        if self.product.even:
            return loop.values
        with f.loop(whole, k, carry=loop.values) as rest:
            rest.next = self._step(rows, panels, rest.index, 0, rest.values)
        return rest.values

    def _step(
        self, rows: Sequence[Value], panels: Sequence[Value], k: Value, ahead: int, sums: Sequence[Value]
    ) -> list[Value]:
        """One element of the run: sums[row][vector] += a[row] * b[vector]."""
        f, arithmetic = self.f, self.sums
        a_type, b_type = self.product.stored
        right = [
            arithmetic.load(f, pointer, f.add(f.mul(k, PANEL), ahead * PANEL + at), b_type, self.width)
            for pointer in panels
            for at in range(0, PANEL, self.width)
        ]
        found = []
        for i, row in enumerate(rows):
            left = f.splat(arithmetic.load(f, row, f.add(k, ahead), a_type), self.width)
            for j, b in enumerate(right):
                found.append(arithmetic.multiply_add(f, left, b, sums[i * len(right) + j]))
        return found

    def _store(
        self, rows: Sequence[Row], sums: Sequence[Sequence[Value]], panel: Value, last: Value | None, below: int
    ) -> None:
        f = self.f
        column = f.mul(panel, PANEL)
        places = [(f.add(self.row_start, r.number), f.add(self.c_start, r.c)) for r in rows]

        def present(i: int) -> Value | None:
            return None if last is None or i <= below else f.compare("<=", f.add(rows[0].number, i), last)

        side = f.add(self.column_start, column)
        tile(f, self.finish, sums, places, column, side, (f.params["n"], len(sums[0]) * self.width), present)
