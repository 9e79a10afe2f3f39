"""Operands brought into the order that products read: panels of constants at build, all else by a kernel.

The kernel copies matrices [outer][inner] to lines of `inner`: panels are lines of 16, filled up with zeros. What it
copies may have any strides, so that transposes cost nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.contract.transpose import transposed
from ge_backend_cpu.convert import compute_type
from ge_backend_cpu.emit import Function, constant
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family, recipe
from ge_backend_cpu.vmath import cast
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.types import Layout, TensorType

FAMILY = "contract.pack"
ROWS = 16
"""Rows of a work item that packs rows."""


def panels_layout(type: TensorType, *, shape: Sequence[int], transpose: bool = False) -> Layout | None:
    """Where a matrix is not reshaped, panels are its columns in blocks of 16 ([n, k]: its rows)."""
    if type.shape is None or tuple(shape) != type.shape or len(shape) < 2:
        return None
    *batch, rows, columns = range(len(shape))
    if transpose:
        return Layout((*batch, rows, columns), ((rows, PANEL),))
    return Layout((*batch, columns, rows), ((columns, PANEL),))


@recipe("contract.panels", layout=panels_layout)
def panels(matrix: np.ndarray, *, shape: Sequence[int], transpose: bool = False) -> np.ndarray:
    """[..., k, n] ([..., n, k] with `transpose`) as [..., panel, k, 16], zeros beyond n."""
    matrix = matrix.reshape(shape)
    if transpose:
        matrix = np.swapaxes(matrix, -1, -2)
    *batch, k, n = matrix.shape
    count = -(-n // PANEL)
    found = np.zeros((*batch, count, k, PANEL), matrix.dtype)
    whole = n // PANEL
    parts = matrix[..., : whole * PANEL].reshape(*batch, k, whole, PANEL)
    found[..., :whole, :, :] = np.moveaxis(parts, -2, -3)
    if whole < count:
        found[..., whole, :, : n - whole * PANEL] = matrix[..., whole * PANEL :]
    return found


@recipe("contract.filters")
def filters(weights: np.ndarray, *, group: int) -> np.ndarray:
    """Weights [o, i / group, *kernel] of a convolution as panels [group, panel, tap * i / group, 16]."""
    out, channels = weights.shape[:2]
    taps = math.prod(weights.shape[2:])
    split = weights.reshape(group, out // group, channels, taps)
    return panels(split.transpose(0, 3, 2, 1), shape=[group, taps * channels, out // group])


@recipe("contract.transposed_filters")
def transposed_filters(weights: np.ndarray, *, group: int, taps: Sequence[Sequence[int]]) -> np.ndarray:
    """Some taps of the weights [i, o / group, *kernel] of a transposed convolution as panels
    [group, panel, tap * i / group, 16]."""
    channels, out = weights.shape[:2]
    chosen = weights
    for axis, numbers in enumerate(taps):
        chosen = np.take(chosen, np.array(numbers, np.int64), axis + 2)
    count = math.prod(map(len, taps))
    split = chosen.reshape(group, channels // group, out, count)
    return panels(split.transpose(0, 3, 1, 2), shape=[group, count * channels // group, out])


@recipe("contract.zeros")
def zeros(*, count: int, dtype: str) -> np.ndarray:
    """What taps beyond the input read."""
    return np.zeros(count, DType.of(dtype).numpy)


@dataclass(frozen=True)
class Pack:
    """What the code of a copy depends on.

    Attributes:
        source, target: element types; the conversion must be exact.
        form: "panels" makes [batch][panel][outer][16], "rows" [batch][outer][inner].
        unit: which axis of the source has neighbouring elements.
        batch: axes of the batch.
    """

    source: str
    target: str
    form: Literal["panels", "rows"]
    unit: Literal["inner", "outer", "none"]
    batch: int = 0

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order: sizes of the matrix, its strides, then sizes and strides of the batch.

        Work items are panels, or blocks of 16 rows; `parts` of them make one batch. target_step: distance of two
        batches in the target; for rows only.
        """
        found = ["outer", "inner", "outer_step", "inner_step", "parts", "target_step"]
        for i in range(self.batch):
            found += [f"size{i}", f"step{i}"]
        return tuple(found)

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@family(FAMILY, lean=True)
def emit_pack(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: source, target."""
    pack = Pack(**parameters)
    f = Function(module, symbol, isa, 2, pack.names())
    p = f.params
    with f.loop(f.lo, f.hi) as item:
        batch = f.div(item.index, p["parts"])
        part = f.sub(item.index, f.mul(batch, p["parts"]))
        offset: Any = 0
        rest = batch
        for i in range(pack.batch - 1, -1, -1):
            whole = f.div(rest, p[f"size{i}"]) if i else 0
            offset = f.add(offset, f.mul(f.sub(rest, f.mul(whole, p[f"size{i}"])), p[f"step{i}"]))
            rest = whole
        source = f.at(f.operands[0], offset, DType.of(pack.source))
        if pack.form == "panels":
            first = f.mul(part, PANEL)
            source = f.at(source, f.mul(first, p["inner_step"]), DType.of(pack.source))
            target = f.at(f.operands[1], f.mul(f.mul(item.index, p["outer"]), PANEL), DType.of(pack.target))
            _Copy(f, pack, source, target, PANEL).lines(p["outer"], f.minimum(f.sub(p["inner"], first), PANEL))
        else:
            first = f.mul(part, ROWS)
            source = f.at(source, f.mul(first, p["outer_step"]), DType.of(pack.source))
            row = f.add(f.mul(batch, p["target_step"]), f.mul(first, p["inner"]))
            target = f.at(f.operands[1], row, DType.of(pack.target))
            _Copy(f, pack, source, target, p["inner"]).lines(f.minimum(f.sub(p["outer"], first), ROWS), p["inner"])
    f.finish()


class _Copy:
    """One matrix to lines of `length` elements; panels are filled up to their length."""

    def __init__(self, f: Function, pack: Pack, source: Value, target: Value, length: Value) -> None:
        self.f, self.pack, self.source, self.target, self.length = f, pack, source, target, length
        self.filled = pack.form == "panels"
        self.types = DType.of(pack.source), DType.of(pack.target)
        self.width = f.lanes

    def lines(self, outer: Value, inner: Value) -> None:
        """Copy [outer][inner]."""
        if self.pack.unit == "inner":
            self._straight(outer, inner)
        elif self.pack.unit == "outer":
            self._blocks(outer, inner)
        else:
            self._elements(outer, inner)

    def _load(self, index: Value, width: int, count: Value | None = None) -> Value:
        f, (source, target) = self.f, self.types
        if count is None:
            value = f.load(self.source, index, source, width)
        else:
            value = f.load_part(self.source, index, source, width, count)
        return value if source == target else cast(f, value, source, target)

    def _store(self, value: Value, index: Value, count: Value | None) -> None:
        if count is None:
            self.f.store(value, self.target, index, self.types[1])
        else:
            self.f.store_part(value, self.target, index, self.types[1], count)

    def _straight(self, outer: Value, inner: Value) -> None:
        f, p, width = self.f, self.f.params, self.width
        whole = f.mul(f.div(inner, width), width)
        rest = f.sub(inner, whole)
        with f.loop(0, outer) as line:
            start, to = f.mul(line.index, p["outer_step"]), f.mul(line.index, self.length)
            with f.loop(0, whole, width) as at:
                self._store(self._load(f.add(start, at.index), width), f.add(to, at.index), None)
            with f.when(f.lt(0, rest)):
                value = self._load(f.add(start, whole), width, rest)
                self._store(value, f.add(to, whole), None if self.filled else rest)
            if self.filled:
                self._fill(to, f.add(whole, f.b.select(f.lt(0, rest), f.i(width), f.i(0))))

    def _fill(self, to: Value, start: Value) -> None:
        """Zeros from a multiple of the vector's width to the end of a panel's line."""
        f = self.f
        none = f.sub(start, start)
        with f.loop(start, PANEL, self.width) as at:
            self._store(self._load(0, self.width, none), f.add(to, at.index), None)

    def _blocks(self, outer: Value, inner: Value) -> None:
        """Square blocks: vectors along the outer axis, transposed."""
        f, width = self.f, self.width
        columns = PANEL if self.filled else inner
        with f.loop(0, outer, width) as lines:
            count = f.sub(outer, lines.index)
            with f.loop(0, columns, width) as part:
                at = lines.index, part.index
                if self.types[0].bits > 8:
                    self._block(at, count, inner)
                else:  # blocks of bytes are many: masks would take most of the time
                    fits = f.b.and_(f.compare("<=", width, count), f.compare("<=", f.add(part.index, width), inner))
                    f.choose(fits, partial(self._whole_block, at), partial(self._block, at, count, inner))

    def _whole_block(self, at: tuple[Value, Value]) -> list[Value]:
        f, step = self.f, self.f.params["inner_step"]
        found = [self._load(f.add(f.mul(f.add(at[1], k), step), at[0]), self.width) for k in range(self.width)]
        for k, line in enumerate(transposed(f, found)):
            self._store(line, f.add(f.mul(f.add(at[0], k), self.length), at[1]), None)
        return []

    def _block(self, at: tuple[Value, Value], count: Value, inner: Value) -> list[Value]:
        """A block that may reach beyond the matrix. Args: count: lines from its first one on."""
        f, p, width = self.f, self.f.params, self.width
        found = []
        for k in range(width):
            place = f.add(at[1], k)
            there = f.b.select(f.lt(place, inner), f.i(count), f.i(0))
            start = f.add(f.mul(f.minimum(place, f.sub(inner, 1)), p["inner_step"]), at[0])
            found.append(self._load(start, width, f.minimum(there, width)))
        rest = None if self.filled else f.minimum(f.sub(inner, at[1]), width)
        for k, line in enumerate(transposed(f, found)):
            with f.when(f.lt(k, count)):
                self._store(line, f.add(f.mul(f.add(at[0], k), self.length), at[1]), rest)
        return []

    def _elements(self, outer: Value, inner: Value) -> None:
        f, p = self.f, self.f.params
        with f.loop(0, outer) as line:
            start, to = f.mul(line.index, p["outer_step"]), f.mul(line.index, self.length)
            with f.loop(0, inner) as at:
                value = self._load(f.add(start, f.mul(at.index, p["inner_step"])), 1)
                self._store(value, f.add(to, at.index), None)
            if self.filled:
                with f.loop(inner, PANEL) as at:
                    zero = constant(compute_type(self.types[1]), 0)
                    self._store(zero, f.add(to, at.index), None)
