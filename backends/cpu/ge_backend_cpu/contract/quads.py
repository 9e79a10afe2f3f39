"""Operands of products of bytes: rows of uint8 and panels of int8, four steps of the run side by side.

int8 rows are read as uint8 with 128 added. A panel of 16 columns is [1 + lines][16][4]: the sums over its columns in
int32, then four steps of the run a line; zeros fill it up to whole tiles. Zero points of the panels are subtracted
before, where the differences are still int8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from ge_backend_cpu.contract.dot import dot_quads
from ge_backend_cpu.contract.span import lines_of
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.emit import I8, I32, Function, constant, vector, width_of
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family, recipe
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, int8, int32

FAMILY = "contract.quads"
WIDTH = 64
"""Bytes that are copied at a time."""


def fits(weights: Constant, zero: Constant | None) -> bool:
    """Whether weights less their zero points are int8."""
    if zero is None:
        return weights.type.dtype == int8
    if zero.residence == "absent":
        return weights.type.dtype == int8  # the plan of what is only compiled
    points = zero.array().astype(np.int16)
    if not (points - (0 if weights.type.dtype == int8 else 128)).any():
        return True
    if weights.residence == "absent":
        return False
    values = weights.array()
    if not values.size or not points.size:
        return True
    return int(values.min()) - int(points.max()) >= -128 and int(values.max()) - int(points.min()) <= 127


@recipe("contract.quad_panels")
def quad_panels(matrix: np.ndarray, zero: np.ndarray | None = None, *, shape: Sequence[int]) -> np.ndarray:
    """[..., k, n] less its zero points, one or one for each column, as int8 [..., panel, 1 + lines, 16, 4]."""
    return _panels(_centred(matrix.reshape(shape), zero, -1))


@recipe("contract.quad_filters")
def quad_filters(weights: np.ndarray, zero: np.ndarray | None = None, *, group: int) -> np.ndarray:
    """Weights [o, i / group, *kernel] of a convolution as panels [group, panel, 1 + lines, 16, 4], the run being taps
    of whole quads of channels."""
    out = weights.shape[0]
    wide = _filled(np.moveaxis(_centred(weights, zero, 0), 1, -1))
    return _panels(np.ascontiguousarray(np.swapaxes(wide.reshape(group, out // group, -1), 1, 2)))


def _centred(values: np.ndarray, zero: np.ndarray | None, axis: int) -> np.ndarray:
    if zero is None or not zero.any():
        return values.astype(np.int8, copy=False) if values.dtype == np.int8 else _narrow(values.astype(np.int16))
    points = zero.astype(np.int16).reshape(-1)
    if points.size > 1 and axis == 0:
        points = points.reshape(-1, *([1] * (values.ndim - 1)))
    return _narrow(values.astype(np.int16) - points)


def _narrow(values: np.ndarray) -> np.ndarray:
    found = values.astype(np.int8)
    assert np.array_equal(found, values), "weights less their zero points are no int8"
    return found


def _filled(values: np.ndarray) -> np.ndarray:
    """The last axis filled up with zeros to whole quads."""
    missing = -values.shape[-1] % 4
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)]) if missing else values


def _panels(matrix: np.ndarray) -> np.ndarray:
    *batch, k, n = matrix.shape
    count, lines = -(-n // PANEL), lines_of(-(-k // 4))
    assert isinstance(lines, int)
    padded = np.zeros((*batch, 4 * lines, count * PANEL), np.int8)
    padded[..., :k, :n] = matrix
    split = padded.reshape(*batch, lines, 4, count, PANEL)
    found = np.zeros((*batch, count, 1 + lines, PANEL, 4), np.int8)
    found[..., 1:, :, :] = np.moveaxis(np.moveaxis(split, -2, -4), -2, -1)
    sums = padded.sum(axis=-2, dtype=np.int32).reshape(*batch, count, PANEL, 1)
    found[..., 0, :, :] = sums.view(np.int8)
    return found


@dataclass(frozen=True)
class Quads:
    """What the code of a copy depends on.

    Attributes:
        source: element type; int8 for panels.
        form: "rows" makes [batch][outer][inner, in whole quads], the run being inner; "panels" makes panels of
            [outer][inner], the run being outer.
        batch: axes of the batch.
    """

    source: str
    form: Literal["rows", "panels"]
    batch: int = 0

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order: sizes of the row-major matrix, lines of a panel without the first, sizes
        and strides of the batch.

        Work items are rows, or panels; `parts` of them make one batch.
        """
        return ("outer", "inner", "parts", "lines", *(f"{n}{i}" for i in range(self.batch) for n in ("size", "step")))

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@family(FAMILY, lean=True)
def emit_quads(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: source, target."""
    _Emitter(module, symbol, Quads(**parameters), isa).kernel()


class _Emitter:
    def __init__(self, module: Any, symbol: str, quads: Quads, isa: Isa) -> None:
        self.quads, self.dtype = quads, DType.of(quads.source)
        self.f = Function(module, symbol, isa, 2, quads.names())

    def kernel(self) -> None:
        f, p = self.f, self.f.params
        with f.loop(f.lo, f.hi) as item:
            batch = f.div(item.index, p["parts"])
            part = f.sub(item.index, f.mul(batch, p["parts"]))
            offset: Any = 0
            rest = batch
            for i in range(self.quads.batch - 1, -1, -1):
                whole = f.div(rest, p[f"size{i}"]) if i else 0
                offset = f.add(offset, f.mul(f.sub(rest, f.mul(whole, p[f"size{i}"])), p[f"step{i}"]))
                rest = whole
            source = f.at(f.operands[0], offset, self.dtype)
            if self.quads.form == "rows":
                line = f.mul(f.ceildiv(p["inner"], 4), 4)
                target = f.at(f.operands[1], f.mul(item.index, line), self.dtype)
                copy_bytes(f, f.at(source, f.mul(part, p["inner"]), self.dtype), target, p["inner"], self.dtype)
            else:
                self._panel(f.at(source, f.mul(part, PANEL), self.dtype), item.index, f.mul(part, PANEL))
        f.finish()

    def _panel(self, source: Value, number: Value, column: Value) -> None:
        f, p = self.f, self.f.params
        elements = f.mul(f.add(p["lines"], 1), PANEL)
        target = f.at(f.operands[1], f.mul(number, elements), int32)
        left = f.sub(p["inner"], column)
        whole = f.compare("<=", PANEL, left)
        f.choose(whole, lambda: self._lines(source, target, None), lambda: self._lines(source, target, left))

    def _lines(self, source: Value, target: Value, count: Value | None) -> list[Value]:
        f, outer = self.f, self.f.params["outer"]
        whole, words = f.div(outer, 4), vector(I32, PANEL)
        ones, nothing = constant(words, 0x01010101), constant(words, 0)

        def line(number: Value, rows: list[Value], total: Value) -> Value:
            quads = f.b.bitcast(interleaved(f, rows), words)
            f.store(quads, target, f.add(f.mul(number, PANEL), PANEL), int32)
            return dot_quads(f, ones, quads, total)

        with f.loop(0, whole, carry=[nothing]) as at:
            rows = [self._row(source, f.add(f.mul(at.index, 4), i), count) for i in range(4)]
            at.next = [line(at.index, rows, at.values[0])]
        begun = f.lt(f.mul(whole, 4), outer)

        def rest() -> list[Value]:
            rows: list[Value] = []
            for i in range(4):
                row = f.add(f.mul(whole, 4), i)
                rows += f.choose(f.lt(row, outer), partial(lone, row), lambda: [constant(vector(I8, PANEL), 0)])
            return [line(whole, rows, at.values[0])]

        def lone(row: Value) -> list[Value]:
            return [self._row(source, row, count)]

        (sums,) = f.choose(begun, rest, lambda: [at.values[0]])
        f.store(sums, target, 0, int32)
        with f.loop(f.ceildiv(outer, 4), f.params["lines"]) as fill:
            f.store(nothing, target, f.add(f.mul(fill.index, PANEL), PANEL), int32)
        return []

    def _row(self, source: Value, row: Value, count: Value | None) -> Value:
        f = self.f
        start = f.mul(row, f.params["inner"])
        if count is None:
            return f.load(source, start, self.dtype, PANEL)
        return f.load_part(source, start, self.dtype, PANEL, count)


def interleaved(f: Function, rows: Sequence[Value]) -> Value:
    """a0 b0 c0 d0 a1 b1 c1 d1 ... of four vectors of bytes."""
    size = width_of(rows[0])
    first, second = (f.shuffle(a, b, _alternating(size)) for a, b in (rows[:2], rows[2:]))
    picks = [start + 2 * size * k + i for start in range(0, 2 * size, 2) for k in (0, 1) for i in (0, 1)]
    return f.shuffle(first, second, picks)


def _alternating(size: int) -> list[int]:
    return [i // 2 + (size if i % 2 else 0) for i in range(2 * size)]


def offset_bytes(f: Function, value: Value, dtype: DType) -> Value:
    """int8 with 128 added, as uint8; uint8 as they are."""
    return f.b.xor(value, constant(value.type, -128)) if dtype == int8 else value


def copy_bytes(f: Function, source: Value, target: Value, count: Value, dtype: DType) -> None:
    """Copy bytes as products read them; nothing beyond them is touched."""
    whole = f.mul(f.div(count, WIDTH), WIDTH)
    with f.loop(0, whole, WIDTH) as at:
        f.store(offset_bytes(f, f.load(source, at.index, dtype, WIDTH), dtype), target, at.index, dtype)
    left = f.sub(count, whole)
    if f.isa.level == "x86-64-v4":
        with f.when(f.lt(0, left)):
            value = offset_bytes(f, f.load_part(source, whole, dtype, WIDTH, left), dtype)
            f.store_part(value, target, whole, dtype, left)
        return
    with f.loop(whole, count) as rest:
        f.store(offset_bytes(f, f.load(source, rest.index, dtype), dtype), target, rest.index, dtype)
