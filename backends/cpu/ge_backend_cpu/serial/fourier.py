"""Discrete Fourier transforms of any length, in float64.

With n = r m, X[r t + q] is the transform of length m of z_q[k] = w_n^(k q) sum_p x[k + p m] w_r^(p q): one round for
each factor r of n (4, then primes), each from one buffer into the other (Stockham's order, so that nothing is
permuted).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.serial.code import Array, Code, Num, Variable
from ge_core.ir.dtype import float64


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

    Operands: data, window unless missing, roots, a workspace of 4 n per part, result. Row i begins at
    (i // inner) * x_outer + (i % inner) * x_inner in the data, its elements are x_step apart; so in the result.
    `parts` says how many numbers an element of the data has, `hermitian` that its second half is the mirrored first
    one; `real` keeps the real part only. A work item is a part of the rows, `parts_of_rows` of them together.
    """
    c = Code(module, symbol, parameters, isa)
    data, *window, roots, work, result = c.arrays
    n, rows = c.sizes["n"], c.sizes["rows"]
    inverse = bool(parameters["inverse"])
    with c.items() as item:
        each = (rows + c.sizes["chunks"] - 1) // c.sizes["chunks"]
        first = item * each
        mine = work.moved(item * n * 4)
        with c.count(first, (first + each).min(rows)) as row:
            _load(c, parameters, data.moved(_begin(c, "x", row)), window, mine, n)
            ordered = _transformed(c, mine, roots, n)
            target, step = result.moved(_begin(c, "y", row)), c.sizes["y_step"]
            scale = 1.0 / n.to(float64) if inverse else c.number(1.0, float64)
            with c.count(0, c.sizes["kept"]) as k:
                target[k * step] = (mine[ordered.value + k] * scale).to(result.dtype)
                if not parameters["real"]:
                    target[k * step + 1] = (mine[ordered.value + n + k] * scale).to(result.dtype)
    c.finish()


def _begin(c: Code, what: str, row: Num) -> Num:
    inner = c.sizes["inner"]
    return row // inner * c.sizes[f"{what}_outer"] + row % inner * c.sizes[f"{what}_inner"]


def _load(c: Code, parameters: Mapping[str, Any], row: Array, window: list[Array], mine: Array, n: Num) -> None:
    """A row into the first buffer: what lies beyond the data is 0."""
    step, given = c.sizes["x_step"], c.sizes["given"]
    with c.count(0, n) as k:
        mirrored = (k * 2 > n) if parameters["hermitian"] else (k < 0)
        source = mirrored.choose(n - k, k)
        inside = source < given
        at = inside.choose(source * step, 0)
        real, imaginary = c.variable(0.0, float64), c.variable(0.0, float64)
        with c.when(inside):
            real.value = row[at].to(float64)
            if parameters["parts"] == 2:
                other = row[at + 1].to(float64)
                imaginary.value = mirrored.choose(-other, other)
        factor = window[0][k].to(float64) if window else c.number(1.0, float64)
        mine[k], mine[k + n] = real.value * factor, imaginary.value * factor


def _transformed(c: Code, mine: Array, roots: Array, n: Num) -> Variable:
    """Where the transform begins in the workspace: in one of its two buffers."""
    here, there = c.variable(0), c.variable(n * 2)
    size, stride, prime = c.variable(n), c.variable(1), c.variable(2)
    with c.repeat(lambda: size.value > 1):
        by_four = (size.value % 4).equals(0)
        # else the next prime factor; what has none up to its root is prime itself
        with c.repeat(lambda: ~by_four & (size.value % prime.value).differs(0)):
            prime.value = prime.value + 1
            with c.when(prime.value * prime.value > size.value):
                prime.value = size.value
        radix = by_four.choose(4, prime.value)
        _round(c, mine, roots, n, (here.value, there.value), size.value, stride.value, radix)
        size.value = size.value // radix
        stride.value = stride.value * radix
        here.value, there.value = there.value, here.value
    return here


def _round(
    c: Code, mine: Array, roots: Array, n: Num, buffers: tuple[Num, Num], size: Num, stride: Num, radix: Num
) -> None:
    source, target = (mine.moved(start) for start in buffers)
    rest, turn = size // radix, n // radix
    with c.count(0, rest) as k, c.count(0, radix) as q:
        out = (k * radix + q) * stride
        root = c.variable(k * q * stride)
        with c.count(0, radix) as p:
            real, imaginary = roots[root.value], roots[root.value + n]
            begin = (k + p * rest) * stride
            later = p > 0
            with c.count(0, stride) as s:
                a, b = source[begin + s], source[begin + s + n]
                x, y = a * real - b * imaginary, a * imaginary + b * real
                old = [later.choose(target[out + s + part], 0.0) for part in (c.integer(0), n)]
                target[out + s], target[out + s + n] = old[0] + x, old[1] + y
            # the power k q of a root of order `size`, then those of w_r: always below n
            following = root.value + q * turn
            root.value = (following >= n).choose(following - n, following)
