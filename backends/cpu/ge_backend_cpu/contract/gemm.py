"""Code of the family "contract.product": the loops around the register tile.

    for work items, a batch each: for blocks of rows: for panels, some at a time: for tiles of rows: taps, run

The rows of A are read where they lie. A block of rows stays in the second-level cache while all panels pass by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ge_backend_cpu.contract.arithmetic import QUADS
from ge_backend_cpu.contract.finish import Finish, tile
from ge_backend_cpu.contract.micro import Run, balanced, fetched_bytes, tile_at
from ge_backend_cpu.contract.product import FAMILY, MOST_ROWS, Product
from ge_backend_cpu.contract.span import uses_tiles
from ge_backend_cpu.contract.tile import LINE, PANEL, Shape, shapes
from ge_backend_cpu.contract.walk import Row, at_tap, over_taps, rows_of
from ge_backend_cpu.emit import I32, Function, constant
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_core.ir.dtype import DType, uint8


@family(FAMILY, lean=True)
def emit_product(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: A, panels, zero point of A if it is read, zeros if bounded, sides of the epilogue, outputs."""
    from ge_backend_cpu.contract.tiles import TileEmitter

    product = Product.from_json(parameters)
    kind = TileEmitter if uses_tiles(product, isa) else Emitter
    kind(module, symbol, product, isa).kernel()


@dataclass(frozen=True)
class _Part:
    """A part of a deep run.

    Attributes:
        first: where it begins in the run of its tap.
        length: its elements.
        is_first, is_last: whether there is none before it, or behind it.
        waiting: the sums of the parts before.
        tap: places of its tap in the kernel.
    """

    first: Value
    length: Value
    is_first: Value
    is_last: Value
    waiting: Value
    tap: tuple[Value, ...] = ()

    def of_tile(self, f: Function, number: Value, shape: Shape, element: DType) -> _Part:
        """The part with the sums of one tile."""
        size = shape.rows * shape.panels * PANEL
        return replace(self, waiting=f.at(self.waiting, f.mul(number, size), element))


class Emitter:
    """The loops of one product. What is read of A and the panels, and how it is summed, others may replace."""

    def __init__(self, module: Any, symbol: str, product: Product, isa: Isa) -> None:
        self.product, self.sums = product, product.sums
        self.width = self.sums.width(isa)
        sides, outputs = len(product.epilogue.sides), len(product.epilogue.outputs)
        first = 2 + product.reads_zero + product.bounded
        self.f = Function(module, symbol, isa, first + sides + outputs, product.names())
        self.a, self.b = self.f.operands[:2]
        self.zeros = self.f.operands[first - 1] if product.bounded else None
        self.sides, self.outputs = self.f.operands[first : first + sides], self.f.operands[first + sides :]
        self.b_type = product.stored[1]
        self.run = Run(self.sums, self.width, *product.stored, product.even)
        self.head = PANEL if product.arithmetic == QUADS else 0
        self.shapes = shapes(isa, self.width, product.rows, product.panels)

    def kernel(self) -> None:
        """Emit the whole kernel."""
        f, p = self.f, self.f.params
        self.begin()

        def items(at: Value) -> Sequence[Value]:
            batch = f.div(at, p["parts"])
            start = f.sub(at, f.mul(batch, p["parts"]))
            stop = f.minimum(p["parts"], f.add(start, f.sub(f.hi, at)))
            self._batch(batch, f.mul(start, p["grain"]), f.mul(stop, p["grain"]))
            return [f.add(at, f.sub(stop, start))]

        f.repeat([f.lo], lambda at: f.lt(at, f.hi), items)
        self.end()
        f.finish()

    def begin(self) -> None:
        """What the kernel does before all work."""
        self.offset = self._offset()

    def end(self) -> None:
        """What it does after all work."""

    def _offset(self) -> Value | None:
        """Minus the zero point of A as it is multiplied, in every lane; None for 0."""
        f, zero = self.f, self.product.zero
        if zero == "none":
            return None
        number: Value = constant(I32, 0)
        if self.product.reads_zero:
            raw = f.load(f.operands[2], 0, DType.of(zero))
            number = f.b.zext(raw, I32) if zero == "uint8" else f.b.sext(raw, I32)
        if zero in ("int8", "offset"):
            number = f.b.add(number, constant(I32, 128))
        return f.splat(f.b.sub(constant(I32, 0), number), self.width)

    def initial(self, heads: Sequence[Value]) -> list[Value]:
        """What the sums of a row begin with, by vector. Args: heads: first lines of the panels."""
        f = self.f
        if self.offset is None:
            return [self.sums.zero(self.width)] * (len(heads) * PANEL // self.width)
        lines = [f.load(head, at, self.b_type, self.width) for head in heads for at in range(0, PANEL, self.width)]
        return [f.b.mul(line, self.offset) for line in lines]

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
        by_rows = f.compare("!=", p["by_rows"], 0)

        def either(rows: Value, columns: Value) -> Value:
            return f.b.select(by_rows, f.i(rows), f.i(columns))

        self.rows(
            either(start, 0), either(f.minimum(stop, p["m"]), p["m"]),
            either(0, start), either(panels, f.minimum(stop, panels)),
        )  # fmt: skip

    def rows(self, start: Value, stop: Value, first: Value, last: Value) -> None:
        """Blocks of nearly equal height, at most one and a half times as high as they are meant to be."""
        f, block = self.f, self.f.params["block"]
        rows = f.sub(stop, start)
        count = f.maximum(f.div(f.add(rows, f.div(block, 2)), block), 1)
        height = f.maximum(f.ceildiv(rows, count), 1)
        with f.loop(start, stop, height) as part:
            self._panels(part.index, f.minimum(f.add(part.index, height), stop), first, last)

    def _panels(self, start: Value, stop: Value, first: Value, last: Value) -> None:
        """All panels for some rows: as many at a time as the widest tile takes, then the rest."""
        f, at = self.f, first
        for shape in self.shapes:
            whole = f.add(at, f.mul(f.div(f.sub(last, at), shape.panels), shape.panels))
            with f.loop(at, whole, shape.panels) as panel:
                self._tiles(shape, start, stop, panel.index)
            at = whole

    def _tiles(self, shape: Shape, start: Value, stop: Value, panel: Value) -> None:
        """Some panels for some rows; a deep run in parts, whose sums wait in memory for the next part."""
        f, p = self.f, self.f.params
        heads = [self.panel(f.add(panel, i)) for i in range(shape.panels + 1)]
        following = heads.pop()
        panels = [f.at(head, self.head, self.b_type) for head in heads]
        if not self.product.deep:
            self._part(shape, start, stop, panel, heads, panels, following, None)
            return
        waiting = self._waiting(shape)

        def one(first: Value, length: Value, number: Value, count: Value, tap: tuple[Value, ...]) -> None:
            """The part that begins at an element of the panels; what is read next lies behind it."""
            at = f.add(f.mul(number, p["k"]), first)
            own = [f.at(pointer, f.mul(at, PANEL), self.b_type) for pointer in panels]
            after = f.at(panels[0], f.mul(f.add(at, length), PANEL), self.b_type)
            is_last = f.eq(f.add(at, length), f.mul(count, p["k"]))
            part = _Part(first, length, f.eq(at, 0), is_last, waiting, tap)
            self._part(shape, start, stop, panel, heads, own, f.b.select(is_last, following, after), part)

        def taps(axis: int, number: Value, count: Value, places: tuple[Value, ...]) -> None:
            if axis < self.product.taps:
                size = p[f"taps{axis}"]
                with f.loop(0, size) as place:
                    further = f.add(f.mul(number, size), place.index)
                    taps(axis + 1, further, f.mul(count, size), (*places, place.index))
                return
            with f.loop(0, p["k"], p["depth"]) as part:
                length = f.minimum(f.sub(p["k"], part.index), p["depth"])
                one(part.index, length, number, count, places)

        taps(0, 0, 1, ())

    def _waiting(self, shape: Shape) -> Value:
        """Room for the sums of a block of rows."""
        tiles = -(-MOST_ROWS // shape.rows)
        return self.f.scratch(tiles * shape.rows * shape.panels * PANEL * self.sums.element.bits // 8)

    def _part(
        self, shape: Shape, start: Value, stop: Value, panel: Value, heads: Sequence[Value], panels: Sequence[Value],
        following: Value, part: _Part | None,
    ) -> None:  # fmt: skip
        """Tiles of nearly equal height; each asks for its share of what is read next."""
        f = self.f
        rows = f.sub(stop, start)
        count = f.maximum(f.ceildiv(rows, shape.rows), 1)
        each = self._panel_elements() if part is None else f.mul(part.length, PANEL)
        share = f.div(f.mul(each, shape.panels), count)
        if part is not None:  # what the sums are before the first part
            line = shape.panels * PANEL
            with f.when(part.is_first):
                begins = self.initial(heads)
                with f.loop(0, f.mul(count, shape.rows * line), line) as at:
                    for i, value in enumerate(begins):
                        f.store(value, part.waiting, f.add(at.index, i * self.width), self.sums.element)
        for height, below, first, last, low, high in balanced(f, shape.heights, shape.rows, rows):
            with f.loop(first, last) as tiles:
                row, size = tile_at(f, tiles.index, low, high)
                ahead = None
                if self.product.streams:
                    at = f.mul(tiles.index, share)
                    if part is not None:  # the panels' parts lie apart
                        number = f.div(f.mul(tiles.index, shape.panels), count)
                        at = f.add(at, f.mul(number, f.sub(self._panel_elements(), each)))
                    ahead = f.at(following, at, self.b_type)
                own = None if part is None else part.of_tile(f, tiles.index, shape, self.sums.element)
                self._tile(heads, panels, height, f.add(start, row), size, panel, below, ahead, own)

    def panel(self, number: Value) -> Value:
        """The first line of a panel."""
        return self.f.at(self.b_start, self.f.mul(number, self._panel_elements()), self.b_type)

    def _panel_elements(self) -> Value:
        f, whole = self.f, self.f.params["k"]
        if self.product.arithmetic == QUADS:
            return f.params["panel"]
        for i in range(self.product.taps):
            whole = f.mul(whole, f.params[f"taps{i}"])
        return f.mul(whole, PANEL)

    def _tile(
        self, heads: Sequence[Value], starts: Sequence[Value], height: int, first: Value, size: Value, panel: Value,
        below: int, ahead: Value | None, part: _Part | None,
    ) -> None:  # fmt: skip
        """One tile of `size` rows: more than `below`, at most `height`, for which the code is."""
        f, p, product = self.f, self.f.params, self.product
        vectors = len(starts) * PANEL // self.width
        last = None if height == below + 1 else f.sub(f.add(first, size), 1)
        rows = rows_of(f, product, first, last, height)
        length = p["k"] if part is None else part.length

        def run(pointers: Sequence[Value], index: Value, sums: Sequence[Value]) -> Sequence[Value]:
            panels = [f.at(start, index, self.b_type) for start in starts]
            asked = f.mul(f.div(index, PANEL), fetched_bytes(1, product.fetched))
            further = None if ahead is None else f.at(ahead, asked, uint8)
            if part is not None:
                pointers = [f.at(pointer, part.first, product.stored[0]) for pointer in pointers]
            return self.run.multiply(f, pointers, panels, length, sums, further, product.fetched)

        if part is None:
            self._ask_for_sides(rows, panel, len(starts))
        zero: Sequence[Value] = self.initial(heads) * height if part is None else []
        element = self.sums.element
        if part is not None:
            zero = [f.load(part.waiting, i * self.width, element, self.width) for i in range(height * vectors)]
        if part is None or not part.tap:
            sums = over_taps(f, product, rows, self.a_start, self.zeros, zero, run)
        else:
            sums = list(run(at_tap(f, product, rows, part.tap, self.a_start, self.zeros), 0, zero))
        lines = [sums[i * vectors : (i + 1) * vectors] for i in range(height)]
        if part is None:
            self._store(rows, lines, panel, last, below)
            return

        def finished() -> list[Value]:
            self._store(rows, lines, panel, last, below)
            return []

        def waits() -> list[Value]:
            for i, total in enumerate(sums):
                f.store(total, part.waiting, i * self.width, element)
            return []

        f.choose(part.is_last, finished, waits)

    def _ask_for_sides(self, rows: Sequence[Row], panel: Value, panels: int) -> None:
        """Fetch what the epilogue will read of tensors as large as the result, while the sums are computed."""
        f, column = self.f, self.f.mul(panel, PANEL)
        for side, pointer in zip(self.product.epilogue.sides, self.sides, strict=True):
            if side.kind != "full" or DType.of(side.dtype).bits < 8:
                continue
            line = LINE * 8 // DType.of(side.dtype).bits
            for row in rows:
                first = f.at(pointer, f.add(f.add(self.c_start, row.c), column), DType.of(side.dtype))
                for start in range(0, panels * PANEL, line):
                    f.prefetch(f.at(first, start, DType.of(side.dtype)))

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
