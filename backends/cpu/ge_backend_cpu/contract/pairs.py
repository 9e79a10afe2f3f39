"""Operands of integer products as pairs of int16: their zero points subtracted, two steps of the run side by side.

A 8-bit integer less a zero point of its type fits int16; two products are summed in int32 by one instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.emit import I16, Function, constant, vector, width_of
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family, recipe
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, int16

FAMILY = "contract.pairs"

Zero = Literal["none", "scalar", "vector"]
"""Whether a zero point is subtracted, the same everywhere or one for each row (of A) or column (of B)."""


@recipe("contract.pair_panels")
def pair_panels(matrix: np.ndarray, zero: np.ndarray | None = None, *, shape: Sequence[int]) -> np.ndarray:
    """[..., k, n] less its zero point as int16 [..., panel, k / 2, 16, 2], zeros beyond k and n."""
    wide = matrix.reshape(shape).astype(np.int16)
    if zero is not None:
        wide = wide - zero.astype(np.int16).reshape(-1)
    *batch, k, n = wide.shape
    count, pairs = -(-n // PANEL), -(-k // 2)
    found = np.zeros((*batch, 2 * pairs, count * PANEL), np.int16)
    found[..., :k, :n] = wide
    split = found.reshape(*batch, pairs, 2, count, PANEL)
    return np.ascontiguousarray(np.moveaxis(np.moveaxis(split, -2, -4), -2, -1))


@dataclass(frozen=True)
class Pairs:
    """What the code of a copy depends on.

    Attributes:
        source: element type, of 8 bits.
        form: "rows" makes [batch][outer][inner], the run being inner; "panels" [batch][panel][outer / 2][16][2].
        zero: see `Zero`.
        batch: axes of the batch.
    """

    source: str
    form: Literal["rows", "panels"]
    zero: Zero
    batch: int = 0

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order: sizes of the row-major matrix, sizes and strides of the batch.

        Work items are rows, or panels; `parts` of them make one batch.
        """
        return ("outer", "inner", "parts", *(f"{n}{i}" for i in range(self.batch) for n in ("size", "step")))

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@family(FAMILY, lean=True)
def emit_pairs(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: source, target, zero point if there is one."""
    _Emitter(module, symbol, Pairs(**parameters), isa).kernel()


class _Emitter:
    def __init__(self, module: Any, symbol: str, pairs: Pairs, isa: Isa) -> None:
        self.pairs, self.dtype = pairs, DType.of(pairs.source)
        self.f = Function(module, symbol, isa, 2 if pairs.zero == "none" else 3, pairs.names())

    def kernel(self) -> None:
        f, p = self.f, self.f.params
        with f.loop(f.lo, f.hi) as item:
            batch = f.div(item.index, p["parts"])
            part = f.sub(item.index, f.mul(batch, p["parts"]))
            offset: Any = 0
            rest = batch
            for i in range(self.pairs.batch - 1, -1, -1):
                whole = f.div(rest, p[f"size{i}"]) if i else 0
                offset = f.add(offset, f.mul(f.sub(rest, f.mul(whole, p[f"size{i}"])), p[f"step{i}"]))
                rest = whole
            source = f.at(f.operands[0], offset, self.dtype)
            if self.pairs.form == "rows":
                self._row(f.at(source, f.mul(part, p["inner"]), self.dtype), item.index, part)
            else:
                self._panel(f.at(source, f.mul(part, PANEL), self.dtype), item.index, f.mul(part, PANEL))
        f.finish()

    def _wide(self, value: Value, zero: Value | None) -> Value:
        f, kind = self.f, vector(I16, width_of(value))
        wide = f.b.zext(value, kind) if self.dtype.kind == "uint" else f.b.sext(value, kind)
        return wide if zero is None else f.b.sub(wide, zero)

    def _zero(self, index: Value, width: int, count: Value | None = None) -> Value | None:
        """The zero points of some columns, or that of a row in every element."""
        f = self.f
        if self.pairs.zero == "none":
            return None
        if self.pairs.zero == "scalar" or self.pairs.form == "rows":
            at = 0 if self.pairs.zero == "scalar" else index
            return f.splat(self._wide(f.load(f.operands[2], at, self.dtype), None), width)
        if count is None:
            return self._wide(f.load(f.operands[2], index, self.dtype, width), None)
        return self._wide(f.load_part(f.operands[2], index, self.dtype, width, count), None)

    def _row(self, source: Value, row: Value, zero_row: Value) -> None:
        f, inner = self.f, self.f.params["inner"]
        length = f.mul(f.ceildiv(inner, 2), 2)
        target = f.at(f.operands[1], f.mul(row, length), int16)
        whole = f.mul(f.div(inner, PANEL), PANEL)
        for start, stop, width in ((0, whole, PANEL), (whole, inner, 1)):
            zero = self._zero(zero_row, width)
            with f.loop(start, stop, width) as at:
                f.store(self._wide(f.load(source, at.index, self.dtype, width), zero), target, at.index, int16)
        with f.loop(inner, length) as at:
            f.store(constant(I16, 0), target, at.index, int16)

    def _panel(self, source: Value, number: Value, column: Value) -> None:
        """Rows 2 i and 2 i + 1 of 16 columns become a line of pairs."""
        f, p = self.f, self.f.params
        target = f.at(f.operands[1], f.mul(f.mul(number, f.ceildiv(p["outer"], 2)), 2 * PANEL), int16)
        left = f.sub(p["inner"], column)

        def rows(count: Value | None) -> list[Value]:
            zero = self._zero(column, PANEL, count)
            with f.loop(0, p["outer"], 2) as at:
                first = self._line(source, at.index, zero, count)
                second = f.choose(
                    f.lt(f.add(at.index, 1), p["outer"]),
                    lambda: [self._line(source, f.add(at.index, 1), zero, count)],
                    lambda: [constant(vector(I16, PANEL), 0)],
                )[0]
                picks = [k // 2 + (PANEL if k % 2 else 0) for k in range(2 * PANEL)]
                f.store(f.shuffle(first, second, picks), target, f.mul(at.index, PANEL), int16)
            return []

        f.choose(f.compare("<=", PANEL, left), lambda: rows(None), lambda: rows(left))

    def _line(self, source: Value, row: Value, zero: Value | None, count: Value | None) -> Value:
        f = self.f
        start = f.mul(row, f.params["inner"])
        if count is None:
            return self._wide(f.load(source, start, self.dtype, PANEL), zero)
        value = self._wide(f.load_part(source, start, self.dtype, PANEL, count), zero)
        kept = f.first_lanes(count, PANEL)
        return f.b.select(kept, value, constant(vector(I16, PANEL), 0))
