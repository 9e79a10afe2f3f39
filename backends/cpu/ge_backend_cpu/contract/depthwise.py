"""The family "contract.depthwise": convolutions of every channel by itself, channels last.

    out[n, o, c] = finish(sum over t of  in[n, o * stride - pad + t * dilation, c] * w[t, c])

A vector holds neighbouring channels. Some outputs along the innermost axis are summed at a time, so that an input is
loaded once for all of them. Tiles that touch the border read zeros from elsewhere beyond it.

Bytes are multiplied less their zero point in float32, which holds the sums of few products exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ge_backend_cpu.contract.arithmetic import Arithmetic
from ge_backend_cpu.contract.epilogue import Epilogue
from ge_backend_cpu.contract.finish import Finish, Place
from ge_backend_cpu.emit import I32, Function, vector
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family, recipe
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType

FAMILY = "contract.depthwise"
BLOCK = 4
"""Vectors of channels that pass through all rows before the next ones: some rows of them stay in the first cache."""


@recipe("contract.depthwise_filters")
def filters(weights: np.ndarray) -> np.ndarray:
    """Weights [channel, 1, *kernel] as [tap, channel]."""
    return np.ascontiguousarray(weights.reshape(len(weights), math.prod(weights.shape[2:])).T)


@recipe("contract.depthwise_centred")
def centred(weights: np.ndarray, zero: np.ndarray | None = None) -> np.ndarray:
    """Weights of bytes less their zero points, one or one for each channel, as float32 [tap, channel]."""
    wide = weights.astype(np.float32)
    if zero is not None:
        wide = wide - zero.astype(np.float32).reshape(-1, *([1] * (weights.ndim - 1)))
    return filters(wide)


@recipe("contract.points")
def points(zero: np.ndarray, *, count: int) -> np.ndarray:
    """A zero point, many times: what taps beyond the image read."""
    return np.full(count, zero.reshape(()), zero.dtype)


@dataclass(frozen=True)
class Depthwise:
    """What the code depends on.

    Attributes:
        x, w: element types of the image and of the weights.
        arithmetic: how they are multiplied.
        kernel, strides, dilations: of the window, by spatial axis.
        tile: outputs along the innermost axis at a time.
        across: whether all rows are finished for some channels before the next ones, or a tile for all channels.
        exact: whether every tile is a whole one.
        line: size and pad of the innermost axis where a row is one tile: what lies beyond is left out of the code.
        zero: whether the zeros are a zero point, which is taken off of what is read.
    """

    x: str
    w: str
    arithmetic: str
    epilogue: Epilogue
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    tile: int
    across: bool
    exact: bool = False
    line: tuple[int, ...] = ()
    zero: bool = False

    @property
    def axes(self) -> int:
        return len(self.kernel)

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order: channels; sizes of image and result, and pads, by spatial axis.

        Work items are rows of the result: places of the batch and of all spatial axes but the last.
        """
        return ("channels", *(f"{name}{i}" for i in range(self.axes) for name in ("size", "out", "pad")))

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def code(self) -> Kernel:
        return Kernel(FAMILY, {**asdict(self), "epilogue": self.epilogue.to_json()})

    @staticmethod
    def from_json(parameters: Mapping[str, Any]) -> Depthwise:
        tuples = {name: tuple(parameters[name]) for name in ("kernel", "strides", "dilations", "line")}
        return Depthwise(**{**parameters, **tuples, "epilogue": Epilogue.from_json(parameters["epilogue"])})


def tile_width(isa: Isa, out: Size, taps: int) -> int:
    """Outputs of a tile: at most 14 (4 with 16 registers), and a row in tiles of equal width where that is possible.

    Args:
        taps: of a row of the kernel, which are in registers too.
    """
    most = min(14, 28 - taps) if isa.registers >= 32 else 4
    if not isinstance(out, int) or out < 1:
        return most
    return -(-out // -(-out // most))


@family(FAMILY, lean=True)
def emit_depthwise(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: image, weights, zeros (one vector), sides of the epilogue, outputs."""
    _Emitter(module, symbol, Depthwise.from_json(parameters), isa).kernel_function()


class _Emitter:
    def __init__(self, module: Any, symbol: str, form: Depthwise, isa: Isa) -> None:
        self.form, self.sums = form, Arithmetic(form.arithmetic)
        self.width = self.sums.width(isa)
        self.types = DType.of(form.x), DType.of(form.w)
        sides, outputs = len(form.epilogue.sides), len(form.epilogue.outputs)
        self.f = Function(module, symbol, isa, 3 + sides + outputs, form.names())
        self.x, self.w, self.zeros = self.f.operands[:3]
        self.finish = Finish(self.f, form.epilogue, self.f.operands[3 : 3 + sides], self.f.operands[3 + sides :])
        self.channels = self.f.params["channels"]
        self.last = form.axes - 1
        self.point: Value | None = None
        if form.zero:
            point = self.f.load(self.zeros, 0, self.types[0])
            self.point = self.f.splat(self.sums.widened(self.f, point, self.types[0]), self.width)

    def kernel_function(self) -> None:
        f = self.f
        whole = f.mul(f.div(self.channels, self.width), self.width)
        rest = f.sub(self.channels, whole)
        if not self.form.across:
            with self._rows() as (batch, places, pixel), self._line_of_tiles() as tile:
                with f.loop(0, whole, self.width) as at:
                    self._tile(batch, places, pixel, at.index, None, tile)
                with f.when(f.lt(0, rest)):
                    self._tile(batch, places, pixel, whole, rest, tile)
            f.finish()
            return
        some = self.width * BLOCK
        with f.loop(0, whole, some) as block, self._rows() as (batch, places, pixel):
            stop = f.minimum(f.add(block.index, some), whole)
            with f.loop(block.index, stop, self.width) as at, self._line_of_tiles() as tile:
                self._tile(batch, places, pixel, at.index, None, tile)
        with f.when(f.lt(0, rest)), self._rows() as (batch, places, pixel), self._line_of_tiles() as tile:
            self._tile(batch, places, pixel, whole, rest, tile)
        f.finish()

    @contextmanager
    def _rows(self) -> Iterator[tuple[Value, list[Value], Value]]:
        """A loop over rows of outputs: places in the batch and along the outer axes, number of the first output."""
        f = self.f
        with f.loop(f.lo, f.hi) as item:
            rest = item.index
            places: list[Value] = []
            for axis in range(self.last - 1, -1, -1):
                whole = f.div(rest, f.params[f"out{axis}"])
                places.insert(0, f.sub(rest, f.mul(whole, f.params[f"out{axis}"])))
                rest = whole
            yield rest, places, f.mul(item.index, f.params[f"out{self.last}"])

    @contextmanager
    def _line_of_tiles(self) -> Iterator[Value]:
        """A loop over the tiles of a row: the first output of each."""
        if self.form.line:
            yield 0
            return
        with self.f.loop(0, self.f.params[f"out{self.last}"], self.form.tile) as tile:
            yield tile.index

    def _tile(
        self,
        batch: Value,
        places: Sequence[Value],
        pixel: Value,
        channel: Value,
        count: Value | None,
        first: Value,
    ) -> None:
        f, p, form, axis = self.f, self.f.params, self.form, self.last
        start = -form.line[1] if form.line else f.sub(f.mul(first, form.strides[axis]), p[f"pad{axis}"])
        reach = (form.tile - 1) * form.strides[axis] + (form.kernel[axis] - 1) * form.dilations[axis] + 1
        inside: Any = True
        if not form.line:
            inside = f.b.and_(f.compare("<=", 0, start), f.compare("<=", f.add(start, reach), p[f"size{axis}"]))
        zero = [self.sums.zero(self.width)] * form.tile

        def sums(checked: bool) -> list[Value]:
            return self._sums(batch, places, channel, count, start, zero, checked)

        totals = f.choose(inside, lambda: sums(False), lambda: sums(True))
        if form.epilogue.dtype(0).is_integer and self.sums.element.is_float:
            totals = [f.b.fptosi(total, vector(I32, self.width)) for total in totals]
        loaded = self.finish.columns(self._place(pixel, first, channel, count))
        places = [self._place(pixel, f.add(first, o), channel, count) for o in range(form.tile)]

        def together() -> list[Value]:
            self.finish.store_together(totals, places, loaded)
            return []

        def apart() -> list[Value]:
            for o, (total, place) in enumerate(zip(totals, places, strict=True)):
                with f.when(True if o == 0 or form.exact else f.lt(f.add(first, o), p[f"out{axis}"])):
                    self.finish.store(total, place, loaded)
            return []

        if any(step.tree[0] == "quantise" for step in form.epilogue.steps):
            whole = True if form.exact else f.compare("<=", f.add(first, form.tile), p[f"out{axis}"])
            f.choose(whole, together, apart)
        else:
            apart()

    def _place(self, pixel: Value, x: Value, channel: Value, count: Value | None) -> Place:
        f = self.f
        row = f.add(pixel, x)
        return Place(row, channel, f.add(f.mul(row, self.channels), channel), self.width, count)

    def _sums(
        self,
        batch: Value,
        places: Sequence[Value],
        channel: Value,
        count: Value | None,
        start: Value,
        carry: Sequence[Value],
        checked: bool,
    ) -> list[Value]:
        """The sums of a tile: loops over the outer axes' taps within the image, the innermost axis unrolled."""
        f, p, form = self.f, self.f.params, self.form

        def nest(axis: int, pixel: Value, tap: Value, state: Sequence[Value]) -> list[Value]:
            if axis == self.last:
                pixel, tap = f.mul(pixel, p[f"size{axis}"]), f.mul(tap, form.kernel[axis])
                return self._line(pixel, tap, channel, count, start, state, checked)
            corner = f.sub(f.mul(places[axis], form.strides[axis]), p[f"pad{axis}"])
            step, taps = form.dilations[axis], form.kernel[axis]
            low = f.ceildiv(f.maximum(f.sub(0, corner), 0), step)
            high = f.minimum(f.ceildiv(f.maximum(f.sub(p[f"size{axis}"], corner), 0), step), taps)
            with f.loop(low, high, carry=state) as loop:
                there = f.add(corner, f.mul(loop.index, step))
                loop.next = nest(
                    axis + 1,
                    f.add(f.mul(pixel, p[f"size{axis}"]), there),
                    f.add(f.mul(tap, taps), loop.index),
                    loop.values,
                )
            return list(loop.values)

        return nest(0, batch, 0, carry)

    def _line(
        self,
        pixel: Value,
        tap: Value,
        channel: Value,
        count: Value | None,
        start: Value,
        sums: Sequence[Value],
        checked: bool,
    ) -> list[Value]:
        """The taps of one row of the kernel.

        Args:
            pixel: number of the input row's first pixel; tap: of the kernel row's first tap.
        """
        f, form, axis = self.f, self.form, self.last
        x_type, w_type = self.types
        taps = [
            self._load(self.w, f.add(f.mul(f.add(tap, k), self.channels), channel), w_type, count)
            for k in range(form.kernel[axis])
        ]
        found = list(sums)
        uses: dict[int, list[tuple[int, int]]] = {}
        for o in range(form.tile):
            for k in range(form.kernel[axis]):
                uses.setdefault(o * form.strides[axis] + k * form.dilations[axis], []).append((o, k))
        columns = sorted(uses)
        if form.line:
            columns = [column for column in columns if 0 <= start + column < form.line[0]]
        before = columns[0] if columns else 0
        row = f.at(self.x, f.add(f.mul(f.add(pixel, f.add(start, before)), self.channels), channel), x_type)
        for column in columns:
            address = row = f.at(row, f.mul(self.channels, column - before), x_type)
            before = column
            if checked:
                there = f.b.icmp_unsigned("<", f.i(f.add(start, column)), f.params[f"size{axis}"])
                address = f.b.select(there, address, self.zeros)
            value = self._load(address, 0, x_type, count)
            if self.point is not None:
                value = f.b.fsub(value, self.point)
            for o, k in uses[column]:
                found[o] = self.sums.multiply_add(f, value, taps[k], found[o])
        return found

    def _load(self, pointer: Value, index: Value, dtype: DType, count: Value | None) -> Value:
        f = self.f
        if count is None:
            return self.sums.load(f, pointer, index, dtype, self.width)
        return self.sums.widened(f, f.load_part(pointer, index, dtype, self.width, count), dtype)
