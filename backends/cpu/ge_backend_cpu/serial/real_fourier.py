"""Discrete Fourier transforms of real rows in float32, two rows to a lane: one as the real part, one as the imaginary.

With Z the transform of x + i y, X[k] = (Z[k] + conj Z[n - k]) / 2 and Y[k] = (Z[k] - conj Z[n - k]) / 2i. Rows are
brought into lanes, and results out of them, through square transposes in registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.loops.staging import transposed
from ge_backend_cpu.serial.code import Array, Code, Num
from ge_backend_cpu.serial.fourier import begin, transform
from ge_core.ir.dtype import float32

LANES = 16
"""Pairs of rows that are transformed together, on every instruction set."""


@family("serial.real_fourier")
def emit_real_fourier(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Transforms of rows whose elements are neighbours, into rows of pairs.

    Operands: data, window unless missing, roots, a workspace of 4 n `LANES` per work item, result; sizes and work
    items as of `ge_backend_cpu.serial.fourier.emit_fourier`. Every row has at least n elements.
    """
    c = Code(module, symbol, parameters, isa)
    data, *window, roots, work, result = c.arrays
    n, rows = c.sizes["n"], c.sizes["rows"]
    groups = (rows + 2 * LANES - 1) // (2 * LANES)
    with c.items() as item:
        each = (groups + c.sizes["chunks"] - 1) // c.sizes["chunks"]
        mine = work.moved(item * n * 4 * LANES).in_vectors(LANES)
        with c.count(item * each, (item * each + each).min(groups)) as group:
            first = group * 2 * LANES
            for part in (0, 1):
                _load(c, [(first + (2 * lane + part)).min(rows - 1) for lane in range(LANES)], data, window,
                      mine.moved(n * part))  # fmt: skip
            ordered = transform(c, mine, roots, n)
            _store(c, first, mine.moved(ordered.value), result)
    c.finish()


def _load(c: Code, rows: Sequence[Num], data: Array, window: Sequence[Array], target: Array) -> None:
    """Rows into lanes: element k of all of them is vector k."""
    n = c.sizes["n"]
    sources = [data.moved(begin(c, "x", row)) for row in rows]
    whole = n // LANES * LANES
    with c.count(0, whole, LANES) as k:
        lines = [source.moved(k).in_vectors(LANES)[0].to(float32) for source in sources]
        if window:
            factor = window[0].moved(k).in_vectors(LANES)[0].to(float32)
            lines = [line * factor for line in lines]
        for j, column in enumerate(transposed(c.f, [line.value for line in lines])):
            target[k + j] = Num(c, column, float32)
    single = target.in_vectors(1)
    with c.count(whole, n) as k:
        factor = window[0][k].to(float32) if window else c.number(1.0, float32)
        for lane, source in enumerate(sources):
            single[k * LANES + lane] = source[k].to(float32) * factor


def _store(c: Code, first: Num, found: Array, result: Array) -> None:
    """The results of both rows of each lane."""
    kept, rows = c.sizes["kept"], c.sizes["rows"]
    numbers = [first + k for k in range(2 * LANES)]
    targets = [result.moved(begin(c, "y", number.min(rows - 1))) for number in numbers]
    each = LANES // 2
    whole = kept // each * each
    with c.count(0, whole, each) as k:
        both = [_parted(c, found, k + j) for j in range(each)]
        for part in (0, 1):
            lines = [value.value for pair in both for value in pair[part]]
            for lane, row in enumerate(transposed(c.f, lines)):
                number = 2 * lane + part
                with c.when(numbers[number] < rows):
                    targets[number].moved(k * 2).in_vectors(LANES)[0] = Num(c, row, float32).to(result.dtype)
    room = c.scratch(float32, 4 * LANES)
    with c.count(whole, kept) as k:
        for part, pair in enumerate(_parted(c, found, k)):
            for place, value in enumerate(pair):
                room.in_vectors(LANES)[2 * part + place] = value
        for number, target in enumerate(targets):
            with c.when(numbers[number] < rows):
                for place in (0, 1):
                    value = room[(2 * (number % 2) + place) * LANES + number // 2]
                    target[k * 2 + place] = value.to(result.dtype)


def _parted(c: Code, found: Array, k: Num) -> tuple[tuple[Num, Num], tuple[Num, Num]]:
    """Element k of the transforms of both rows."""
    n = c.sizes["n"]
    other = k.equals(0).choose(0, n - k)
    (real, imaginary), (far, far_imaginary) = ((found[at], found[at + n]) for at in (k, other))
    first = (real + far) * 0.5, (imaginary - far_imaginary) * 0.5
    return first, ((imaginary + far_imaginary) * 0.5, (far - real) * 0.5)
