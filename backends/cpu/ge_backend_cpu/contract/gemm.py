"""Code of the family "contract.product": the loops around the register tile.

    for work items, a batch each: for blocks of rows: for panels, some at a time: for tiles of rows: taps, run

The rows of A are read where they lie. A block of rows stays in the second-level cache while all panels pass by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_backend_cpu.contract.finish import Finish, tile
from ge_backend_cpu.contract.micro import Run, balanced, tile_at
from ge_backend_cpu.contract.product import FAMILY, Product
from ge_backend_cpu.contract.tile import PANEL, Shape, shapes
from ge_backend_cpu.contract.walk import Row, over_taps, rows_of
from ge_backend_cpu.emit import Function, Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family


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
        self.run = Run(self.sums, self.width, *product.stored, product.even)
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
        """Tiles of nearly equal height."""
        f = self.f
        for height, below, first, last, low, high in balanced(f, shape.heights, shape.rows, f.sub(stop, start)):
            with f.loop(first, last) as tiles:
                row, size = tile_at(f, tiles.index, low, high)
                self._tile(shape.panels, height, f.add(start, row), size, panel, below)

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
            panels = [f.at(start, index, product.stored[1]) for start in starts]
            return self.run.multiply(f, pointers, panels, p["k"], sums)

        zero = [self.sums.zero(self.width)] * (height * vectors)
        sums = over_taps(f, product, rows, self.a_start, self.zeros, zero, run)
        lines = [sums[i * vectors : (i + 1) * vectors] for i in range(height)]
        self._store(rows, lines, panel, last, below)

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
