"""The family "contract.winograd": 3 x 3 convolutions of stride 1 or 2 by minimal filtering, channels last.

    V[point][tile][i] = B^T d B;  Y[point] = V[point] U[point];  out = finish(A^T Y A)

A work item is some tiles; they pass in blocks that stay in the second-level cache. The items of one call share the
room in the workspace that belongs to the first of them: no other call has it. With few tiles and many channels the
three steps are launches of their own, so that the weights, not the tiles, are divided among the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from ge_backend_cpu.contract.arithmetic import Arithmetic
from ge_backend_cpu.contract.epilogue import Epilogue
from ge_backend_cpu.contract.finish import Finish, Place
from ge_backend_cpu.contract.micro import Run, balanced, tile_at
from ge_backend_cpu.contract.tile import MANY, PANEL, Shape, shapes
from ge_backend_cpu.contract.winograd_forms import Form
from ge_backend_cpu.emit import Function
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, float32

FAMILY = "contract.winograd"
APART = 16
"""Elements between the points' planes, so that their streams do not meet in one set of the first-level cache."""

Steps = Literal["all", "input", "output", "late"]


@dataclass(frozen=True)
class Winograd:
    """What the code depends on.

    Attributes:
        x: element type of the image.
        outputs, stride: see `Form`.
        steps: which of the three steps; the product alone is one of "contract.product", with the output and from
            weights as they are of "contract.winograd_late".
        panels: of output channels, as `Product.panels`.
        even: whether the input channels are a multiple of 4.
        blocked: whether V has its channels in blocks of 16, [block][point][tile][16].
    """

    x: str
    epilogue: Epilogue
    outputs: int
    stride: int
    steps: Steps
    panels: int = 0
    even: bool = False
    blocked: bool = False

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order.

        height, width: of the image; out_height, out_width; channels, columns: input and output channels; line,
        out_line: the distance of tiles in V and Y; pad_y, pad_x; down, along: tiles of an image by axis; tiles: of all
        images; grain: tiles of a work item; block: tiles that are in the caches at a time; plane, out_plane: distance
        of the points in V and Y; area: of the items in the workspace, in elements; step: distance of V's blocks.
        """
        names = (
            "height", "width", "out_height", "out_width", "channels", "columns", "line", "out_line", "pad_y", "pad_x",
            "down", "along", "tiles", "grain", "block", "plane", "out_plane", "area",
        )  # fmt: skip
        return (*names, "step") if self.blocked else names

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, {**vars(self), "epilogue": self.epilogue.to_json()})


@family(FAMILY, lean=True)
def emit_winograd(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: "input": image, zeros (a vector), V. "output": Y, sides, outputs. "all": image, zeros, weights,
    workspace (V, then Y), sides, outputs."""
    form = Winograd(**{**parameters, "epilogue": Epilogue.from_json(parameters["epilogue"])})
    Emitter(module, symbol, form, isa).kernel()


class Emitter:
    """The three steps."""

    def __init__(self, module: Any, symbol: str, form: Winograd, isa: Isa) -> None:
        self.form, self.math, self.isa = form, Form(form.outputs, form.stride), isa
        self.sums = Arithmetic("float32")
        self.lanes = self.sums.width(isa)
        epilogue = form.epilogue
        own = {"input": 3, "output": 1, "all": 4, "late": 3}[form.steps]
        sides, outputs = len(epilogue.sides), len(epilogue.outputs)
        count = own if form.steps == "input" else own + sides + outputs
        self.f = Function(module, symbol, isa, count, form.names())
        operands = self.f.operands
        if form.steps in ("all", "input"):
            self.x, self.zeros = operands[:2]
        if form.steps != "input":
            self.finish = Finish(self.f, epilogue, operands[own : own + sides], operands[own + sides :])
        points = self.math.points
        self.scratch = self.f.scratch(points * points * self.lanes * 4)

    def kernel(self) -> None:
        f, p, steps = self.f, self.f.params, self.form.steps
        start = f.mul(f.lo, p["grain"])
        stop = f.minimum(f.mul(f.hi, p["grain"]), p["tiles"])
        if steps == "input":
            self._input(f.operands[2], start, stop, 0)
        elif steps == "output":
            self.output(f.operands[0], start, stop, 0, 0, p["columns"])
        else:
            area = f.at(f.operands[3], f.mul(f.lo, p["area"]), float32)
            points = self.math.points**2
            sums = f.at(area, f.mul(p["plane"], points), float32)
            with f.loop(start, stop, p["block"]) as block:
                end = f.minimum(f.add(block.index, p["block"]), stop)
                self._input(area, block.index, end, block.index)
                self._products(area, sums, f.sub(end, block.index))
                self.output(sums, block.index, end, block.index, 0, p["columns"])
        f.finish()

    @contextmanager
    def _tiles(self, start: Value, stop: Value) -> Iterator[tuple[Value, Value, Value, Value]]:
        """A loop over tiles: number, image, first row and first column of the outputs."""
        f, p = self.f, self.f.params
        outputs = self.math.outputs
        with f.loop(start, stop) as tile:
            row = f.div(tile.index, p["along"])
            image = f.div(row, p["down"])
            y = f.mul(f.sub(row, f.mul(image, p["down"])), outputs)
            x = f.mul(f.sub(tile.index, f.mul(row, p["along"])), outputs)
            yield tile.index, image, y, x

    def _input(self, target: Value, start: Value, stop: Value, first: Value) -> None:
        """V of some tiles. Args: first: number of the tile with which the target begins."""
        f, p, points = self.f, self.f.params, self.math.points
        dtype = DType.of(self.form.x)
        with self._tiles(start, stop) as (number, image, y, x):
            top, left = (f.sub(f.mul(at, self.math.stride), p[pad]) for at, pad in ((y, "pad_y"), (x, "pad_x")))
            line = f.at(target, f.mul(f.sub(number, first), p["line"]), float32)
            row = f.add(f.mul(image, p["height"]), top)
            corner = f.mul(f.add(f.mul(row, p["width"]), left), p["channels"])
            inside = f.b.and_(
                f.b.and_(f.compare("<=", 0, top), f.compare("<=", f.add(top, points), p["height"])),
                f.b.and_(f.compare("<=", 0, left), f.compare("<=", f.add(left, points), p["width"])),
            )
            pixels = f.at(self.x, corner, dtype)

            def channels(checked: bool, pixels: Value = pixels, line: Value = line, top: Value = top,
                         left: Value = left) -> list[Value]:  # fmt: skip
                self._channels(0, p["channels"], lambda c, n: self._patch(pixels, line, top, left, c, n, checked))
                return []

            f.choose(inside, partial(channels, False), partial(channels, True))

    def _channels(self, start: Value, stop: Value, body: Callable[[Value, Value | None], None]) -> None:
        """body(first channel, None) for every whole vector of channels, body(first channel, count) for the rest."""
        f = self.f
        whole = f.add(start, f.mul(f.div(f.sub(stop, start), self.lanes), self.lanes))
        with f.loop(start, whole, self.lanes) as at:
            body(at.index, None)
        rest = f.sub(stop, whole)
        with f.when(f.lt(0, rest)):
            body(whole, rest)

    def _patch(
        self, pixels: Value, line: Value, top: Value, left: Value, channel: Value, count: Value | None, checked: bool
    ) -> None:
        """The transform of one tile and vector of channels: columns into scratch memory, then rows."""
        f, p, points, lanes = self.f, self.f.params, self.math.points, self.lanes
        dtype = DType.of(self.form.x)
        step = f.mul(p["width"], p["channels"])
        rows_there = [f.b.icmp_unsigned("<", f.i(f.add(top, i)), p["height"]) for i in range(points)] if checked else []
        with f.loop(0, points) as column:
            address = f.add(f.mul(column.index, p["channels"]), channel)
            there = f.b.icmp_unsigned("<", f.i(f.add(left, column.index)), p["width"]) if checked else None
            values = []
            for i in range(points):
                pointer = f.at(pixels, f.add(address, f.mul(step, i)), dtype)
                if there is not None:
                    pointer = f.b.select(f.b.and_(there, rows_there[i]), pointer, self.zeros)
                if count is None:
                    values.append(f.load(pointer, 0, dtype, lanes))
                else:
                    values.append(f.load_part(pointer, 0, dtype, lanes, count))
            for i, value in enumerate(self.math.input(f, values)):
                f.store(value, self.scratch, f.add(f.mul(column.index, lanes), i * points * lanes), float32)
        if self.form.blocked:
            block = f.div(channel, PANEL)
            channel = f.add(f.mul(block, p["step"]), f.sub(channel, f.mul(block, PANEL)))
        with f.loop(0, points) as row:
            start = f.mul(row.index, points * lanes)
            values = [f.load(self.scratch, f.add(start, j * lanes), float32, lanes) for j in range(points)]
            plane = f.mul(row.index, f.mul(p["plane"], points))
            for j, value in enumerate(self.math.input(f, values)):
                f.store(value, line, f.add(f.add(plane, f.mul(p["plane"], j)), channel), float32)

    def _products(self, source: Value, target: Value, count: Value) -> None:
        """Y = V U for a block of tiles, point by point: U is read once for all of them."""
        f, p = self.f, self.f.params
        panels = f.ceildiv(p["columns"], PANEL)
        run = Run(self.sums, self.lanes, float32, float32, self.form.even)
        with f.loop(0, self.math.points**2) as point:
            v = f.at(source, f.mul(point.index, p["plane"]), float32)
            y = f.at(target, f.mul(point.index, p["out_plane"]), float32)
            u = f.at(f.operands[2], f.mul(f.mul(point.index, panels), f.mul(p["channels"], PANEL)), float32)
            at: Any = 0
            for shape in shapes(self.isa, self.lanes, MANY, self.form.panels):
                whole = f.add(at, f.mul(f.div(f.sub(panels, at), shape.panels), shape.panels))
                with f.loop(at, whole, shape.panels) as panel:
                    self._rows(run, shape, v, u, y, panel.index, count)
                at = whole

    def _rows(self, run: Run, shape: Shape, v: Value, u: Value, y: Value, panel: Value, count: Value) -> None:
        f, p = self.f, self.f.params
        most = shape.rows
        heights = sorted({most, max(most - 1, 1), (most + 1) // 2})  # few tiles of other heights are ever left
        lines = f.mul(p["channels"], PANEL)
        *panels, further = [f.at(u, f.mul(f.add(panel, i), lines), float32) for i in range(shape.panels + 1)]
        vectors = shape.panels * PANEL // self.lanes
        share = f.div(f.mul(lines, shape.panels), f.maximum(f.ceildiv(count, shape.rows), 1))
        for height, below, first, last, low, high in balanced(f, heights, most, count):
            with f.loop(first, last) as tiles:
                row, size = tile_at(f, tiles.index, low, high)
                end = f.add(row, f.sub(size, 1))
                # rows that are not there are the last one again
                numbers = [f.add(row, i) if i <= below else f.minimum(f.add(row, i), end) for i in range(height)]
                rows = [f.at(v, f.mul(number, p["line"]), float32) for number in numbers]
                zero = [self.sums.zero(self.lanes)] * (height * vectors)
                ahead = f.at(further, f.mul(tiles.index, share), float32)
                sums = run.multiply(f, rows, panels, p["channels"], zero, ahead)
                for i in range(height):
                    start = f.add(f.mul(numbers[i], p["out_line"]), f.mul(panel, PANEL))
                    for j in range(vectors):
                        f.store(sums[i * vectors + j], y, f.add(start, j * self.lanes), float32)

    def output(self, source: Value, start: Value, stop: Value, first: Value, low: Value, high: Value) -> None:
        """The outputs of some tiles in the channels [low, high).

        Args:
            source: Y, in which the tile `first` and the channel 0 are the first.
        """
        f, p = self.f, self.f.params
        with self._tiles(start, stop) as (number, image, y, x):
            line = f.at(source, f.mul(f.sub(number, first), p["out_line"]), float32)
            pixel = f.add(f.mul(f.add(f.mul(image, p["out_height"]), y), p["out_width"]), x)

            def vector(channel: Value, count: Value | None, line: Value = line, pixel: Value = pixel, y: Value = y,
                       x: Value = x) -> None:  # fmt: skip
                self._result(line, pixel, y, x, channel, count)

            self._channels(low, high, vector)

    def _result(self, line: Value, pixel: Value, y: Value, x: Value, channel: Value, count: Value | None) -> None:
        """The outputs of one tile for a vector of channels: columns into scratch memory, then rows."""
        f, p, points, outputs, lanes = self.f, self.f.params, self.math.points, self.math.outputs, self.lanes
        with f.loop(0, points) as column:
            plane = f.add(f.mul(column.index, p["out_plane"]), channel)
            step = f.mul(p["out_plane"], points)
            values = [f.load(line, f.add(plane, f.mul(step, i)), float32, lanes) for i in range(points)]
            for i, value in enumerate(self.math.output(f, values)):
                f.store(value, self.scratch, f.add(f.mul(column.index, lanes), i * points * lanes), float32)
        loaded = self.finish.columns(Place(pixel, channel, 0, lanes, count))
        with f.loop(0, f.minimum(f.sub(p["out_height"], y), outputs)) as row:
            start = f.mul(row.index, points * lanes)
            values = [f.load(self.scratch, f.add(start, j * lanes), float32, lanes) for j in range(points)]
            first = f.add(pixel, f.mul(row.index, p["out_width"]))
            for j, value in enumerate(self.math.output(f, values)):
                with f.when(True if j == 0 else f.lt(f.add(x, j), p["out_width"])):
                    number = f.add(first, j)
                    full = f.add(f.mul(number, p["columns"]), channel)
                    self.finish.store(value, Place(number, channel, full, lanes, count), loaded)
