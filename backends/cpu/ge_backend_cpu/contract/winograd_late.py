"""The family "contract.winograd_late": Winograd's product and output from weights as they are.

    for panels of output channels: for channels: U = G w G^T; Y[point] += V[point] U[point];  then out = finish(A^T Y A)

With few tiles, reading the points of the weights takes longer than multiplying them, and they are up to four times the
weights. Here a work item reads the weights of some panels once and makes their points in the second-level cache, for
some channels at a time. Where all tiles fit in registers with one row of points, the points are never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from ge_backend_cpu.contract.epilogue import Epilogue
from ge_backend_cpu.contract.micro import Run
from ge_backend_cpu.contract.tile import LINE, PANEL
from ge_backend_cpu.contract.winograd import APART, Emitter, Winograd
from ge_backend_cpu.contract.winograd_forms import Form
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_core.ir.dtype import float32

FAMILY = "contract.winograd_late"
PANELS = 2
"""Panels of a work item."""
DEPTH = 16
"""Channels whose points are made at a time."""
TAPS = 9


@dataclass(frozen=True)
class Late(Winograd):
    """What the code depends on; see `Winograd`.

    Attributes:
        tiles: their number.
    """

    tiles: int = 0

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, {**asdict(self), "epilogue": self.epilogue.to_json()})


def filter_room(points: int) -> int:
    """Elements of an item's room for the points of the weights."""
    return PANELS * DEPTH * points * PANEL


def out_plane(tiles: int) -> int:
    """Distance of the points of the sums in an item's room, in elements."""
    return tiles * PANELS * PANEL + APART


def fits(isa: Isa, form: Form, tiles: int) -> bool:
    """Whether the sums of a row of points of all tiles stay in registers, beside the weights."""
    return isa.registers >= 32 and form.points * tiles <= 24


@family(FAMILY, lean=True)
def emit_late(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: V, weights, workspace, sides, outputs."""
    form = Late(**{**parameters, "epilogue": Epilogue.from_json(parameters["epilogue"])})
    _Emitter(module, symbol, form, isa).kernel()


class _Emitter(Emitter):
    form: Late

    def kernel(self) -> None:
        f, p = self.f, self.f.params
        area = f.at(f.operands[2], f.mul(f.lo, p["area"]), float32)
        points = self.math.points**2
        sums = f.at(area, filter_room(self.math.points), float32)
        panels = f.ceildiv(p["columns"], PANEL)
        run = self._in_registers if fits(self.isa, self.math, self.form.tiles) else self._in_cache
        with f.loop(f.lo, f.hi) as item:
            first = f.mul(item.index, PANELS)
            count = f.minimum(f.sub(panels, first), PANELS)
            with f.loop(0, points * out_plane(self.form.tiles), self.lanes) as at:
                f.store(self.sums.zero(self.lanes), sums, at.index, float32)
            run(self._panel(f.operands[1], first), area, sums, count)
            start = f.mul(first, PANEL)
            stop = f.minimum(p["columns"], f.add(start, PANELS * PANEL))
            self.output(f.at(sums, f.sub(0, start), float32), 0, p["tiles"], 0, start, stop)
        f.finish()

    @contextmanager
    def _parts(self, weights: Value) -> Iterator[tuple[Value, Value, Value]]:
        """A loop over the channels: where the weights and V of some of them begin, and their number."""
        f, p = self.f, self.f.params
        with f.loop(0, p["channels"], DEPTH) as part:
            own = f.at(weights, f.mul(part.index, TAPS * PANEL), float32)
            v = f.at(f.operands[0], f.mul(f.div(part.index, PANEL), p["step"]), float32)
            yield own, v, f.minimum(f.sub(p["channels"], part.index), DEPTH)

    def _in_registers(self, weights: Value, area: Value, sums: Value, count: Value) -> None:
        """All of an item's products without points in memory: the weights of some channels pass once."""
        with self._parts(weights) as (own, v, depth), self.f.loop(0, count) as panel:
            self._rows_of_points(own, v, sums, panel.index, depth)

    def _in_cache(self, weights: Value, area: Value, sums: Value, count: Value) -> None:
        """All of an item's products, a row of points at a time, so that the points stay in the first-level cache."""
        f = self.f
        with self._parts(weights) as (own, v, depth), f.loop(0, self.math.points) as row:
            for i in range(self.math.points):
                with f.when(f.eq(row.index, i)):
                    self._filters(own, area, i, count, depth)
            self._multiply(own, area, v, sums, row.index, count, depth)

    def _panel(self, weights: Value, number: Value) -> Value:
        """Where a panel's weights of the present channels begin."""
        return self.f.at(weights, self.f.mul(number, self.f.mul(self.f.params["channels"], TAPS * PANEL)), float32)

    @contextmanager
    def _lanes(self) -> Iterator[Value]:
        """The vectors of a panel's line."""
        if self.lanes == PANEL:
            yield 0
            return
        with self.f.loop(0, PANEL, self.lanes) as part:
            yield part.index

    def _taps(self, weights: Value, channel: Value, lane: Value) -> list[list[Value]]:
        """A channel's taps by column."""
        f = self.f
        start = f.add(f.mul(channel, TAPS * PANEL), lane)
        taps = [f.load(weights, f.add(start, t * PANEL), float32, self.lanes) for t in range(TAPS)]
        return [taps[j::3] for j in range(3)]

    def _filters(self, weights: Value, area: Value, i: int, count: Value, depth: Value) -> None:
        """A row of points of some channels of an item's panels: [panel][channel][point][16]."""
        f, points = self.f, self.math.points
        with f.loop(0, count) as panel, f.loop(0, depth) as channel:
            own = self._panel(weights, panel.index)
            u = f.at(area, f.mul(f.add(f.mul(panel.index, DEPTH), channel.index), points * PANEL), float32)
            with self._lanes() as lane:
                for j, value in enumerate(self._points(own, channel.index, lane, i)):
                    f.store(value, f.at(u, lane, float32), j * PANEL, float32)

    def _points(self, weights: Value, channel: Value, lane: Value, i: int) -> list[Value]:
        """A row of points of a channel's weights."""
        columns = [self.math.filter(self.f, taps)[i] for taps in self._taps(weights, channel, lane)]
        return self.math.filter(self.f, columns)

    def _multiply(
        self, weights: Value, area: Value, v: Value, sums: Value, i: Value, count: Value, depth: Value
    ) -> None:
        """Y += V U for a row of points, while the weights of the next channels are asked for."""
        f, p, points = self.f, self.f.params, self.math.points
        vectors = PANEL // self.lanes
        most = 24 if self.isa.registers >= 32 else 12
        wide = PANELS if PANELS * vectors * 8 <= most else 1
        lines = -(-DEPTH * TAPS // points**2)
        with f.loop(0, points) as point:
            number = f.add(f.mul(i, points), point.index)
            own_v = f.at(v, f.mul(number, p["plane"]), float32)
            own_u = f.at(area, f.mul(point.index, PANEL), float32)
            own_y = f.at(sums, f.mul(number, out_plane(self.form.tiles)), float32)
            at: Any = 0
            for panels in range(wide, 0, -1):
                whole = f.add(at, f.mul(f.div(f.sub(count, at), panels), panels))
                with f.loop(at, whole, panels) as panel:
                    for k in range(panels):
                        self._ask(self._panel(weights, f.add(panel.index, k)), f.mul(number, lines), lines)
                    step = DEPTH * points * PANEL
                    u = [f.at(own_u, f.mul(f.add(panel.index, k), step), float32) for k in range(panels)]
                    y = f.at(own_y, f.mul(panel.index, PANEL), float32)
                    for row, rows in self._blocks(max(most // (panels * vectors), 1)):
                        self._tile(own_v, u, y, row, rows, depth)
                at = whole

    def _ask(self, weights: Value, first: Value, lines: int) -> None:
        """Ask for some lines of the weights of the next channels; behind a panel lies the next one."""
        f = self.f
        ahead = f.at(weights, f.add(f.mul(first, LINE // 4), DEPTH * TAPS * PANEL), float32)
        for i in range(lines):
            f.prefetch(f.at(ahead, i * LINE // 4, float32), 2)

    def _blocks(self, most: int) -> Iterator[tuple[Value, int]]:
        """Tiles in blocks of nearly equal height: the first tile, in a loop, and how many they are."""
        f, tiles = self.f, self.form.tiles
        count = -(-tiles // most)
        low, high = tiles // count, tiles % count
        for start, number, height in ((0, high, low + 1), (high * (low + 1), count - high, low)):
            if number:
                with f.loop(0, number) as block:
                    yield f.add(f.mul(block.index, height), start), height

    def _tile(self, v: Value, panels: Sequence[Value], y: Value, row: Value, count: int, depth: Value) -> None:
        """The sums of some tiles and panels of one point."""
        f, p, lanes = self.f, self.f.params, self.lanes
        run = Run(self.sums, lanes, float32, float32, self.form.even)
        own = f.at(y, f.mul(row, PANELS * PANEL), float32)
        places = [i * PANELS * PANEL + at for i in range(count) for at in range(0, len(panels) * PANEL, lanes)]
        before = [f.load(own, place, float32, lanes) for place in places]
        start, step = f.at(v, f.mul(row, PANEL), float32), self.math.points * PANEL
        with f.loop(0, depth, PANEL, carry=before) as block:
            first = f.at(start, f.mul(f.div(block.index, PANEL), p["step"]), float32)
            rows = [f.at(first, i * PANEL, float32) for i in range(count)]
            lines = [f.at(panel, f.mul(block.index, step), float32) for panel in panels]
            length = f.minimum(f.sub(depth, block.index), PANEL)
            block.next = run.multiply(f, rows, lines, length, block.values, step=step)
        for place, total in zip(places, block.values, strict=True):
            f.store(total, own, place, float32)

    def _rows_of_points(self, weights: Value, v: Value, sums: Value, panel: Value, depth: Value) -> None:
        """Y += V U for one panel, a row of points of all tiles at a time."""
        f, points = self.f, self.math.points
        own = self._panel(weights, panel)
        with self._lanes() as lane:
            for i in range(points):
                start = f.add(f.add(f.mul(panel, PANEL), lane), i * points * out_plane(self.form.tiles))
                self._row_of_points(own, v, f.at(sums, start, float32), i, lane, depth)

    def _row_of_points(self, weights: Value, v: Value, y: Value, i: int, lane: Value, depth: Value) -> None:
        f, p, points, tiles, lanes = self.f, self.f.params, self.math.points, self.form.tiles, self.lanes
        lines = -(-TAPS // points)
        places = [j * out_plane(tiles) + t * PANELS * PANEL for j in range(points) for t in range(tiles)]
        before = [f.load(y, place, float32, lanes) for place in places]
        with f.loop(0, depth, PANEL, carry=before) as block:
            start = f.at(v, f.mul(f.div(block.index, PANEL), p["step"]), float32)
            rows = [f.at(start, f.mul(p["plane"], i * points + j), float32) for j in range(points)]
            stop = f.minimum(depth, f.add(block.index, PANEL))
            with f.loop(block.index, stop, carry=block.values) as loop:
                self._ask(weights, f.mul(f.add(loop.index, i * DEPTH), lines), lines)
                channel = f.sub(loop.index, block.index)
                found = []
                for j, u in enumerate(self._points(weights, loop.index, lane, i)):
                    for t in range(tiles):
                        left = f.splat(f.load(rows[j], f.add(channel, t * PANEL), float32))
                        found.append(f.fma(left, u, loop.values[j * tiles + t]))
                loop.next = found
            block.next = loop.values
        for place, total in zip(places, block.values, strict=True):
            f.store(total, y, place, float32)
