"""Discrete Fourier transforms of any length, in float64, of several rows at once: one to a lane.

With n = r m, X[r t + q] is the transform of length m of z_q[k] = w_n^(k q) sum_p x[k + p m] w_r^(p q): one round for
each factor r of n (4, then primes), each from one buffer into the other (Stockham's order, so that nothing is
permuted).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family, recipe
from ge_backend_cpu.serial.code import Array, Code, Given, Num, Variable
from ge_core.ir.dtype import float64

Complex: TypeAlias = tuple[Num, Num]
"""Real and imaginary part."""


PIECE = 32
"""Elements of a row that are read or written before the next row's."""


@recipe("serial.roots")
def known_roots(n: int, inverse: bool, single: bool = False) -> np.ndarray:
    """What `emit_roots` computes, of a length that is known: float64[2, n], or float32."""
    angles = np.arange(n) * (2 * math.pi) / n
    roots = np.stack([np.cos(angles), np.sin(angles) * (1.0 if inverse else -1.0)])
    return roots.astype(np.float32) if single else roots


@family("serial.roots")
def emit_roots(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """exp(-2 pi i k / n), or exp(2 pi i k / n) with `inverse`: real parts, then imaginary parts. Work items are k."""
    c = Code(module, symbol, parameters, isa)
    (roots,) = c.arrays
    n = c.sizes["n"]
    sign = 1.0 if parameters["inverse"] else -1.0
    with c.items() as k:
        angle = k.to(float64) * (2 * math.pi) / n.to(float64)
        roots[k] = angle.call("cos")
        roots[k + n] = angle.call("sin") * sign
    c.finish()


@family("serial.fourier")
def emit_fourier(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Transforms of rows.

    Operands: data, window unless missing, roots, a workspace of 4 n `lanes` per work item, result. Row i begins at
    (i // inner) * x_outer + (i % inner) * x_inner in the data, its elements are x_step apart; so in the result.
    `parts` says how many numbers an element of the data has, `hermitian` that its second half is the mirrored first
    one; `real` keeps the real part only. `lanes` rows are transformed together, and a work item is some of these
    groups.
    """
    c = Code(module, symbol, parameters, isa)
    data, *window, roots, work, result = c.arrays
    n, rows, lanes = c.sizes["n"], c.sizes["rows"], int(parameters["lanes"])
    inverse = bool(parameters["inverse"])
    groups = (rows + lanes - 1) // lanes
    with c.items() as item:
        each = (groups + c.sizes["chunks"] - 1) // c.sizes["chunks"]
        first = item * each
        mine = work.moved(item * n * 4 * lanes)
        with c.count(first, (first + each).min(groups)) as group:
            start = group * lanes
            filled = (rows - start).min(lanes)
            _load(c, start, filled, data, window, mine, n)
            ordered = transform(c, mine.in_vectors(lanes), roots, n)
            scale = 1.0 / n.to(float64) if inverse else c.number(1.0, float64)
            row = mine.moved(ordered.value * lanes)
            with _pieces(c, 0, c.sizes["kept"], filled) as (first, last, lane):
                target, step = result.moved(begin(c, "y", start + lane)), c.sizes["y_step"]
                with c.count(first, last) as k:
                    target[k * step] = (row[k * lanes + lane] * scale).to(result.dtype)
                    if not parameters["real"]:
                        target[k * step + 1] = (row[(k + n) * lanes + lane] * scale).to(result.dtype)
    c.finish()


@contextmanager
def _pieces(c: Code, start: Given, stop: Given, filled: Num) -> Iterator[tuple[Num, Num, Num]]:
    """Runs of elements from start to stop, each for one lane after the other: they stay in cache for all lanes."""
    with c.count(start, stop, PIECE) as first, c.count(0, filled) as lane:
        yield first, (first + PIECE).min(stop), lane


def begin(c: Code, what: str, row: Num) -> Num:
    """Where a row begins in the data ("x") or in the result ("y")."""
    inner = c.sizes["inner"]
    return row // inner * c.sizes[f"{what}_outer"] + row % inner * c.sizes[f"{what}_inner"]


def _load(c: Code, start: Num, filled: Num, data: Array, window: list[Array], mine: Array, n: Num) -> None:
    """Rows into the lanes of the first buffer: what lies beyond the data is 0."""
    step, given, lanes, parts = c.sizes["x_step"], c.sizes["given"], int(c.options["lanes"]), c.options["parts"]
    zero = c.number(0.0, float64)

    def put(k: Num, lane: Num, real: Num, imaginary: Num) -> None:
        factor = window[0][k].to(float64) if window else c.number(1.0, float64)
        mine[k * lanes + lane], mine[(k + n) * lanes + lane] = real * factor, imaginary * factor

    within = given.min(n)
    with _pieces(c, 0, within, filled) as (first, last, lane):
        row = data.moved(begin(c, "x", start + lane))
        with c.count(first, last) as k:
            put(k, lane, row[k * step].to(float64), row[k * step + 1].to(float64) if parts == 2 else zero)
    with _pieces(c, within, n, filled) as (first, last, lane), c.count(first, last) as k:
        put(k, lane, zero, zero)
    if not c.options["hermitian"]:
        return
    with _pieces(c, n // 2 + 1, n, filled) as (first, last, lane):
        row = data.moved(begin(c, "x", start + lane))
        with c.count(first, last) as k:
            inside = n - k < given
            at = inside.choose((n - k) * step, 0)
            real, imaginary = row[at].to(float64), -row[at + 1].to(float64) if parts == 2 else zero
            put(k, lane, inside.choose(real, 0.0), inside.choose(imaginary, 0.0))


def transform(c: Code, mine: Array, roots: Array, n: Num) -> Variable:
    """Transform what lies at the begin of a workspace of four numbers per element; the real parts first, then the
    imaginary ones. Where the result begins: in one of the two halves.
    """
    here, there = c.variable(0), c.variable(n * 2)
    size, stride, prime = c.variable(n), c.variable(1), c.variable(2)
    with c.repeat(lambda: size.value > 1):
        by_four = (size.value % 4).equals(0)
        by_two = size.value.equals(2)
        # else the next prime factor; what has none up to its root is prime itself
        with c.repeat(lambda: ~by_four & (size.value % prime.value).differs(0)):
            prime.value = prime.value + 1
            with c.when(prime.value * prime.value > size.value):
                prime.value = size.value
        radix = by_four.choose(4, prime.value)
        source, target = mine.moved(here.value), mine.moved(there.value)
        with c.when(by_four):
            _round_of_four(c, source, target, roots, n, size.value, stride.value)
        with c.when(by_two):
            _last_round_of_two(c, source, target, n, stride.value)
        with c.when(~(by_four | by_two)):
            _round(c, source, target, roots, n, size.value, stride.value, radix)
        size.value = size.value // radix
        stride.value = stride.value * radix
        here.value, there.value = there.value, here.value
    return here


def _round_of_four(c: Code, source: Array, target: Array, roots: Array, n: Num, size: Num, stride: Num) -> None:
    """A round whose roots of order 4 are 1, -1 and the imaginary units."""
    rest, inverse = size // 4, bool(c.options["inverse"])
    with c.count(0, rest) as k:
        turns = [(roots[k * stride * q], roots[k * stride * q + n]) for q in (1, 2, 3)]
        with c.count(0, stride) as s:
            a = [(source[at], source[at + n]) for at in ((k + rest * p) * stride + s for p in range(4))]
            even, odd = (_sum(a[0], a[2]), _difference(a[0], a[2])), (_sum(a[1], a[3]), _difference(a[1], a[3]))
            real, imaginary = odd[1]
            quarter = (-imaginary, real) if inverse else (imaginary, -real)
            found = [_sum(even[0], odd[0]), _sum(even[1], quarter), _difference(even[0], odd[0])]
            found.append(_difference(even[1], quarter))
            for q, value in enumerate(found):
                at = (k * 4 + q) * stride + s
                target[at], target[at + n] = _product(value, turns[q - 1]) if q else value


def _last_round_of_two(c: Code, source: Array, target: Array, n: Num, stride: Num) -> None:
    """A round after which nothing is left: its roots are 1 and -1."""
    with c.count(0, stride) as s:
        a, b = ((source[at], source[at + n]) for at in (s, s + stride))
        for at, value in ((s, _sum(a, b)), (s + stride, _difference(a, b))):
            target[at], target[at + n] = value


def _sum(x: Complex, y: Complex) -> Complex:
    return x[0] + y[0], x[1] + y[1]


def _difference(x: Complex, y: Complex) -> Complex:
    return x[0] - y[0], x[1] - y[1]


def _product(x: Complex, y: Complex) -> Complex:
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def _round(c: Code, source: Array, target: Array, roots: Array, n: Num, size: Num, stride: Num, radix: Num) -> None:
    rest, turn = size // radix, n // radix
    with c.count(0, rest) as k, c.count(0, radix) as q:
        out = (k * radix + q) * stride
        root = c.variable(k * q * stride)
        with c.count(0, radix) as p:
            turned = roots[root.value], roots[root.value + n]
            begin = (k + p * rest) * stride
            with c.count(0, stride) as s:
                at, x = out + s, (source[begin + s], source[begin + s + n])
                # the target still holds what another round left there
                with c.when(p.equals(0)):
                    target[at], target[at + n] = _product(x, turned)
                with c.when(p > 0):
                    target[at], target[at + n] = _sum((target[at], target[at + n]), _product(x, turned))
            # the power k q of a root of order `size`, then those of w_r: always below n
            following = root.value + q * turn
            root.value = (following >= n).choose(following - n, following)
