"""Products of bytes in tile registers (AMX): C += A B for 16 rows of 64 bytes and 16 columns at a time.

    for blocks of 32 rows: copy them; for two panels: for 64 bytes of the run: four products; then the epilogue

A panel of 16 columns lies in memory as tiles do, [k / 4][16][4]. Two tiles of A meet two of B, so that each tile that
is loaded is used twice. What a panel has beyond the run is 0, so that the rows' copies may end with anything.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ge_backend_cpu.contract.finish import Place
from ge_backend_cpu.contract.gemm import Emitter
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.contract.quad_rows import copy_row, run_copy
from ge_backend_cpu.contract.span import QUADS_OF_TILE, WIDE_SPAN
from ge_backend_cpu.contract.tile import LINE, PANEL
from ge_backend_cpu.contract.walk import moved, places_of, row_at
from ge_backend_cpu.emit import I8, I64, constant
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.llvm_ir import VoidType
from ge_core.ir.dtype import int32, int64, uint8

ROWS = 16
"""Rows of a tile."""
TOGETHER = 4
"""Rows whose epilogues are computed step by step."""
_C, _A, _B = 0, 4, 6
"""Numbers of the first registers for sums, rows and panels."""


class TileEmitter(Emitter):
    """The code of one product."""

    def __init__(self, module: Any, symbol: str, product: Product, isa: Isa) -> None:
        super().__init__(module, symbol, product, isa)
        self.high = 2 if product.span <= WIDE_SPAN else 1
        f, rows = self.f, self.high * ROWS
        self.rows_at: Value = None if product.ready else f.scratch(rows * (product.span + LINE) + LINE)
        self.totals = f.scratch(rows * 2 * PANEL * 4)
        self.begins = f.scratch(2 * LINE)
        self.where = f.scratch(rows * 8)

    def begin(self) -> None:
        """All registers are full tiles."""
        super().begin()
        f = self.f
        palette = f.scratch(LINE)
        bytes_ = [1, *[0] * 15, *[LINE, 0] * 8, *[0] * 16, *[ROWS] * 8, *[0] * 8]
        for i in range(0, LINE, 8):
            word = int.from_bytes(bytes(bytes_[i : i + 8]), "little", signed=True)
            f.store(constant(I64, word), palette, i // 8, int64)
        self._call("ldtilecfg", palette)

    def end(self) -> None:
        """Registers in use would be saved with every switch of threads."""
        self._call("tilerelease")

    def _call(self, name: str, *arguments: Any) -> None:
        f = self.f
        values = [constant(I8, a) if isinstance(a, int) else a for a in arguments]
        f.b.call(f.module.declared(f"llvm.x86.{name}", VoidType(), [v.type for v in values]), values)

    def rows(self, start: Value, stop: Value, first: Value, last: Value) -> None:
        """Blocks of rows, each with all panels; or with two at a time where all rows lie ready."""
        f = self.f
        self.steps = f.div(f.params["panel"], PANEL * QUADS_OF_TILE)
        if self.product.ready:
            self.distance = f.mul(f.params["a0"], 4)
            with f.loop(first, last, 2) as panel:
                self._blocks(start, stop, panel.index, f.minimum(f.add(panel.index, 2), last))
            return
        # a distance that is an odd number of cache lines spreads the rows over the sets of the cache
        self.distance = f.mul(f.i(f.b.or_(f.i(self.steps), f.i(1))), LINE)
        self._blocks(start, stop, first, last)

    def _blocks(self, start: Value, stop: Value, first: Value, last: Value) -> None:
        f, most = self.f, self.high * ROWS
        with f.loop(start, stop, most) as block:
            count = f.minimum(f.sub(stop, block.index), most)
            self.block_row = block.index
            self._copy(block.index, count)
            if self.high == 1:
                self._pairs(count, first, last, 1)
            else:
                two, one = (partial(self._pairs, count, first, last, high) for high in (2, 1))
                f.choose(f.lt(ROWS, count), two, one)

    def _copy(self, first: Value, count: Value) -> None:
        """The rows of a block one behind the other, the taps of each as one run; where they go in C."""
        f, p = self.f, self.f.params
        if self.product.ready:
            self.rows_at = f.at(self.a_start, f.mul(first, p["a0"]), int32)
            with f.loop(0, count) as line:
                f.store(f.mul(f.add(first, line.index), p["c0"]), self.where, line.index, int64)
            return
        sizes = [p[f"size{i}"] for i in range(self.product.walk)]
        places = [f.i(place) for place in places_of(f, sizes, first)]
        copy = run_copy(f, self.product.loose)
        with f.loop(0, count, carry=places) as line:
            row = row_at(f, self.product, f.add(first, line.index), line.values)
            f.store(f.i(row.c), self.where, line.index, int64)
            target = f.at(self.rows_at, f.mul(line.index, self.distance), uint8)
            copy_row(f, self.product.taps, self.a_start, row.a, target, copy)
            line.next = [f.i(place) for place in moved(f, sizes, line.values, 1)]

    def _pairs(self, count: Value, first: Value, last: Value, high: int) -> list[Value]:
        """All panels, two at a time."""
        f = self.f
        whole = f.add(first, f.mul(f.div(f.sub(last, first), 2), 2))
        with f.loop(first, whole, 2) as panel:
            self._multiply(panel.index, high, 2)
            self._finish(panel.index, count, 2)
        with f.when(f.lt(whole, last)):
            self._multiply(whole, high, 1)
            self._finish(whole, count, 1)
        return []

    def _multiply(self, panel: Value, high: int, wide: int) -> None:
        """The sums of a block of rows and some panels, in memory."""
        f = self.f
        heads = [self.panel(f.add(panel, j)) for j in range(wide)]
        if self.offset is not None:
            for i, value in enumerate(self.initial(heads)):
                f.store(value, self.begins, i * self.width, int32)
        for i in range(high):
            for j in range(wide):
                if self.offset is None:
                    self._call("tilezero", _C + 2 * i + j)
                else:  # the same line sixteen times
                    self._move("tileloadd64", _C + 2 * i + j, f.at(self.begins, j * PANEL, int32), 0)
        below = f.mul(self.distance, ROWS)
        with f.loop(0, self.steps) as step:
            rows = f.at(self.rows_at, f.mul(step.index, LINE), uint8)
            for i in range(high):
                self._move("tileloadd64", _A + i, f.at(rows, f.mul(below, i), uint8), self.distance)
            for j, head in enumerate(heads):
                line = f.add(f.mul(step.index, PANEL * QUADS_OF_TILE), PANEL)
                self._move("tileloadd64", _B + j, f.at(head, line, int32), LINE)
            for i in range(high):
                for j in range(wide):
                    self._call("tdpbusd", _C + 2 * i + j, _A + i, _B + j)
        for i in range(high):
            for j in range(wide):
                to = f.at(self.totals, (i * ROWS * 2 + j) * PANEL, int32)
                self._move("tilestored64", _C + 2 * i + j, to, 2 * PANEL * 4)

    def _move(self, name: str, register: int, pointer: Value, distance: Value) -> None:
        self._call(name, register, pointer, self.f.i(distance))

    def _finish(self, panel: Value, count: Value, wide: int) -> None:
        """The epilogue of the sums in memory."""
        f = self.f
        column = f.mul(panel, PANEL)
        fits = f.compare("<=", f.add(column, wide * PANEL), f.params["n"])

        def lines(part: int, width: int, limit: Value | None) -> list[Value]:
            """The epilogue of some columns."""
            start = f.add(column, part)
            loaded = self.finish.columns(self._place(0, 0, start, width, limit))

            def together(first: Value, rows: int) -> None:
                numbers = [f.add(first, i) for i in range(rows)]
                totals = [f.load(self.totals, f.add(f.mul(i, 2 * PANEL), part), int32, width) for i in numbers]
                places = [
                    self._place(f.add(self.block_row, i), f.load(self.where, i, int64), start, width, limit)
                    for i in numbers
                ]
                self.finish.store_together(totals, places, loaded)

            whole = f.mul(f.div(count, TOGETHER), TOGETHER)
            with f.loop(0, whole, TOGETHER) as line:
                together(line.index, TOGETHER)
            with f.loop(whole, count) as rest:
                together(rest.index, 1)
            return []

        def parts() -> list[Value]:
            for j in range(0, wide * PANEL, PANEL):
                left = f.sub(f.params["n"], f.add(column, j))
                with f.when(f.lt(0, left)):
                    lines(j, PANEL, f.minimum(left, PANEL))
            return []

        f.choose(fits, lambda: lines(0, wide * PANEL, None), parts)

    def _place(self, row: Value, c: Value, column: Value, width: int, limit: Value | None) -> Place:
        f = self.f
        full = f.add(f.add(self.c_start, c), column)
        return Place(f.add(self.row_start, row), f.add(self.column_start, column), full, width, limit)
