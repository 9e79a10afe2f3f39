"""Fourier transforms along an axis, and of frames of a signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Recipe, prepared, result, source, work
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.reading import attribute, integers, sizes
from ge_backend_cpu.serial.launch import computes, implemented, launched, operand
from ge_backend_cpu.serial.real_fourier import LANES as PAIRS
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import float32, float64
from ge_core.ir.graph import Node, Value

CHUNKS = 4
"""Parts of the rows, which have a workspace each."""
LANES = 8
"""Rows that are transformed together."""
LEAST = 64
"""Length from which real rows are transformed in float32, two to a lane."""
POINT = 20_000
"""Picoseconds of one element of a group of rows in all rounds."""


@dataclass(frozen=True)
class Rows:
    """What is transformed; see `ge_backend_cpu.serial.fourier`.

    Attributes:
        n: length; kept: results of a row.
        window: number of the operand, with its value.
    """

    n: Size
    rows: Size
    kept: Size
    places: Mapping[str, Size]
    parts: int
    inverse: bool = False
    hermitian: bool = False
    window: tuple[int, Value] | None = None

    @property
    def is_real(self) -> bool:
        """Whether `serial.real_fourier` takes them: neighbours in memory, enough of them, of a known length."""
        given, x_step, y_step = (self.places[name] for name in ("given", "x_step", "y_step"))
        plain = self.parts == 1 and not self.inverse and not self.hermitian and x_step == 1 and y_step == 2
        return plain and isinstance(self.n, int) and self.n >= LEAST and dims.less_equal(self.n, given) is True

    def implementation(self, node: Node) -> Implementation:
        x, y = operand(node, 0), node.output
        if self.is_real and max(x.dtype.bits, y.dtype.bits) <= float32.bits and y.shape[-1] == 2:
            return self._real(node)
        lanes = next((w for w in (8, 4, 2) if dims.less_equal(w, self.rows) is True), 1 if self.rows == 1 else LANES)
        groups = dims.ceildiv(self.rows, lanes)
        chunks = dims.minimum(groups, CHUNKS)
        launches: list[Launch] = []
        recipes: dict[str, Recipe] = {}
        start: Size = 0
        if isinstance(self.n, int):
            roots = prepared("roots")
            recipes["roots"] = Recipe("serial.roots", (), {"n": self.n, "inverse": self.inverse})
        else:
            roots, start = work(), dims.ceildiv(self.n * 16, 64) * 64
            launches.append(
                launched("roots", [(roots, float64)], {"n": self.n}, self.n, self.n * 100_000, inverse=self.inverse)
            )
        operands = [(source(0), x.dtype)]
        if self.window is not None:
            operands.append((source(self.window[0]), self.window[1].dtype))
        operands += [(roots, float64), (work(start), float64), (result(), y.dtype)]
        transforms = launched(
            "fourier", operands,
            {"n": self.n, "rows": self.rows, "chunks": dims.maximum(chunks, 1), "kept": self.kept, **self.places},
            chunks, groups * self.n * POINT, parts=self.parts, inverse=self.inverse, hermitian=self.hermitian,
            real=y.shape[-1] == 1, lanes=lanes,
        )  # fmt: skip
        return implemented(node, [*launches, transforms], start + chunks * self.n * 32 * lanes, recipes=recipes)

    def _real(self, node: Node) -> Implementation:
        """Two rows to a lane, in float32."""
        groups = dims.ceildiv(self.rows, 2 * PAIRS)
        chunks = dims.maximum(dims.minimum(groups, CHUNKS), 1)
        operands = [(source(0), operand(node, 0).dtype)]
        if self.window is not None:
            operands.append((source(self.window[0]), self.window[1].dtype))
        operands += [(prepared("roots"), float32), (work(), float32), (result(), node.output.dtype)]
        launch = launched(
            "real_fourier", operands,
            {"n": self.n, "rows": self.rows, "chunks": chunks, "kept": self.kept, **self.places},
            dims.minimum(chunks, groups), groups * self.n * POINT, inverse=False,
        )  # fmt: skip
        roots = Recipe("serial.roots", (), {"n": self.n, "inverse": False, "single": True})
        return implemented(node, [launch], chunks * self.n * 16 * PAIRS, recipes={"roots": roots})


def _parts(x: Value) -> int | None:
    """1 for real data, 2 for complex ones."""
    return x.shape[-1] if x.shape and x.shape[-1] in (1, 2) else None  # type: ignore[return-value]


@implementation("DFT")
def dft(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    x, y = operand(node, 0), node.output
    parts, inverse, onesided = _parts(x), bool(attribute(node, "inverse")), bool(attribute(node, "onesided"))
    try:
        axis = -2 if node.input(2) is None else integers(node.input(2))[0]
        length = None if node.input(1) is None else sizes(node.input(1))[0]
    except Unsupported:
        return []
    if parts is None or not computes(x):
        return []
    axis %= x.rank
    given = x.shape[axis]
    hermitian = inverse and onesided
    n = length if length is not None else (given - 1) * 2 if hermitian else given
    if dims.less_equal(1, n) is not True:
        return []
    inner, last = dims.product(x.shape[axis + 1 : -1]), y.shape[-1]
    places = {
        "given": given, "inner": dims.maximum(inner, 1), "x_step": inner * parts, "x_inner": parts,
        "x_outer": given * inner * parts, "y_step": inner * last, "y_inner": last,
        "y_outer": y.shape[axis] * inner * last,
    }  # fmt: skip
    rows = dims.product(x.shape[:axis]) * inner
    return [Rows(n, rows, y.shape[axis], places, parts, inverse, hermitian).implementation(node)]


@implementation("STFT")
def stft(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    x, window, y = operand(node, 0), node.input(2), node.output
    parts = _parts(x)
    try:
        (step,) = sizes(node.input(1))
        length = None if node.input(3) is None else sizes(node.input(3))[0]
    except Unsupported:
        return []
    n = window.shape[0] if window is not None else x.shape[1] if length is None else length
    if window is not None and length is not None and dims.equal(n, length) is not True:
        return []
    if parts is None or not computes(x, window) or not all(dims.less_equal(1, v) is True for v in (n, step)):
        return []
    if dims.less_equal(n, x.shape[1]) is not True:
        return []
    frames, bins = y.shape[1], y.shape[2]
    places = {
        "given": n, "inner": frames, "x_step": parts, "x_inner": step * parts, "x_outer": x.shape[1] * parts,
        "y_step": 2, "y_inner": bins * 2, "y_outer": frames * bins * 2,
    }  # fmt: skip
    own = None if window is None else (2, window)
    return [Rows(n, x.shape[0] * frames, bins, places, parts, window=own).implementation(node)]
