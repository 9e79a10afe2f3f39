"""Linear algebra on small matrices, in float64: a work item is one matrix.

Operands: matrices, right-hand sides for "solve", a workspace in float64, result; sizes: n, and columns for "solve".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import CHECK_FAILED, family
from ge_backend_cpu.serial.code import Array, Code, Num, Variable, split
from ge_core.ir.dtype import float64


def _pivot(c: Code, a: Array, n: Num, k: Num) -> Variable:
    """The row from k on with the largest element in column k."""
    best, row = c.variable(a[k * n + k].call("abs"), float64), c.variable(k)
    with c.count(k + 1, n) as i:
        size = a[i * n + k].call("abs")
        with c.when(size > best.value):
            best.value, row.value = size, i
    return row


def _swap(c: Code, a: Array, width: Num, i: Num, j: Num) -> None:
    with c.count(0, width) as k:
        first, second = a[i * width + k], a[j * width + k]
        a[i * width + k], a[j * width + k] = second, first


def _eliminate(c: Code, a: Array, n: Num, k: Num, b: Array | None, columns: Num | None) -> None:
    """Clear column k below row k."""
    with c.count(k + 1, n) as i:
        factor = a[i * n + k] / a[k * n + k]
        with c.count(k + 1, n) as j:
            a[i * n + j] = a[i * n + j] - factor * a[k * n + j]
        if b is not None and columns is not None:
            with c.count(0, columns) as j:
                b[i * columns + j] = b[i * columns + j] - factor * b[k * columns + j]


@family("serial.determinant")
def emit_determinant(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The product of the pivots of an elimination."""
    c = Code(module, symbol, parameters, isa)
    matrices, work, result = c.arrays
    n = c.sizes["n"]
    with c.items() as item:
        a = work.moved(item * n * n)
        with c.count(0, n * n) as k:
            a[k] = matrices[item * n * n + k].to(float64)
        total = c.variable(1.0, float64)
        with c.count(0, n) as k:
            row = _pivot(c, a, n, k).value
            with c.when(row.differs(k)):
                _swap(c, a, n, k, row)
                total.value = -total.value
            pivot = a[k * n + k]
            total.value = total.value * pivot
            with c.when(pivot.differs(0.0)):
                _eliminate(c, a, n, k, None, None)
        result[item] = total.value.to(result.dtype)
    c.finish()


@family("serial.solve")
def emit_solve(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The solutions for right-hand sides, or with `inverse` for the identity; a singular matrix is an error.

    `repeats_a`, `repeats_b` tell that one matrix, one right-hand side serves all.
    """
    c = Code(module, symbol, parameters, isa)
    matrices, *given, work, result = c.arrays
    n, columns = c.sizes["n"], c.sizes["columns"]
    with c.items() as item:
        a = work.moved(item * n * (n + columns))
        b = a.moved(n * n)
        source = 0 if parameters["repeats_a"] else item * n * n
        with c.count(0, n * n) as k:
            a[k] = matrices[source + k].to(float64)
        with c.count(0, n * columns) as k:
            if given:
                b[k] = given[0][(0 if parameters["repeats_b"] else item * n * columns) + k].to(float64)
            else:
                i, j = split(c, k, columns, columns)
                b[k] = i.equals(j).choose(1.0, c.number(0.0, float64))
        with c.count(0, n) as k:
            row = _pivot(c, a, n, k).value
            with c.when(row.differs(k)):
                _swap(c, a, n, k, row)
                _swap(c, b, columns, k, row)
            c.fail(a[k * n + k].equals(0.0), CHECK_FAILED)
            _eliminate(c, a, n, k, b, columns)
        with c.count(0, n) as up:
            i = n - 1 - up
            with c.count(0, columns) as j:
                total = c.variable(b[i * columns + j], float64)
                with c.count(i + 1, n) as k:
                    total.value = total.value - a[i * n + k] * b[k * columns + j]
                b[i * columns + j] = total.value / a[i * n + i]
        with c.count(0, n * columns) as k:
            result[item * n * columns + k] = b[k].to(result.dtype)
    c.finish()


@family("serial.cholesky")
def emit_cholesky(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """L with L L^T the matrix, of which one triangle is read; a matrix that is not positive definite is an error."""
    c = Code(module, symbol, parameters, isa)
    matrices, work, result = c.arrays
    n = c.sizes["n"]
    upper = bool(parameters["upper"])

    def at(i: Num, j: Num) -> Num:
        return j * n + i if upper else i * n + j

    with c.items() as item:
        low, source, target = work.moved(item * n * n), matrices.moved(item * n * n), result.moved(item * n * n)
        with c.count(0, n) as i, c.count(0, n) as j:
            with c.when(j > i):
                target[at(i, j)] = c.number(0.0, result.kind)
            with c.when(j <= i):
                total = c.variable(source[at(i, j)].to(float64), float64)
                with c.count(0, j) as k:
                    total.value = total.value - low[i * n + k] * low[j * n + k]
                with c.when(i.equals(j)):
                    # written so that NaN is an error too
                    c.fail(~(total.value > 0.0), CHECK_FAILED)
                    low[i * n + j] = total.value.call("sqrt")
                with c.when(j < i):
                    low[i * n + j] = total.value / low[j * n + j]
                target[at(i, j)] = low[i * n + j].to(result.dtype)
    c.finish()
