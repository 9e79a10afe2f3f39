"""Linear algebra: parts of matrices, solving, factorising."""

from __future__ import annotations

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, Call
from ..registry import tf_op
from .indexing import diagonal_matrix


@tf_op("MatrixBandPart")
def band_part(c: Call, input: Value, num_lower: Value, num_upper: Value) -> Value:
    """MatrixBandPart(input, num_lower, num_upper) -> band; T, Tindex"""
    lower, upper = (c.maybe_sizes(v) for v in (num_lower, num_upper))
    if lower is None or upper is None or not isinstance(lower[0], int) or not isinstance(upper[0], int):
        return _band_of_data(c, input, c.int64(num_lower), c.int64(num_upper))
    x = c.cast(input, DType.of("uint8")) if input.dtype == BOOL else input
    if lower[0] >= 0:
        x = c.b.Trilu(x, c.b.constant(np.int64(-lower[0])), upper=1)
    if upper[0] >= 0:
        x = c.b.Trilu(x, c.b.constant(np.int64(upper[0])), upper=0)
    return c.cast(x, input.dtype)


def _band_of_data(c: Call, x: Value, lower: Value, upper: Value) -> Value:
    b = c.b
    rows = c.unsqueeze(b.Range(b.scalar(0), b.scalar(x.shape[-2]), b.scalar(1)), 1)
    columns = b.Range(b.scalar(0), b.scalar(x.shape[-1]), b.scalar(1))
    below, above = b.Sub(rows, columns), b.Sub(columns, rows)
    zero = np.int64(0)
    keep = b.And(
        b.Or(b.Less(lower, zero), b.LessOrEqual(below, lower)), b.Or(b.Less(upper, zero), b.LessOrEqual(above, upper))
    )
    return b.Where(keep, x, c.like(0, x))


def _static(c: Call, size: Size) -> int:
    if not isinstance(size, int):
        raise c.unsupported("a matrix of a size that is not known at import")
    return size


def _diagonals(c: Call, k: Value | None) -> tuple[int, int]:
    found = [0] if k is None else c.ints(k, "the diagonals")
    return found[0], found[-1]


def _align(c: Call) -> str:
    return str(c.attr("align")) if "align" in c.known.attributes else "LEFT_LEFT"


def _offset(align: str, d: int, longest: int, length: int) -> int:
    """Where a diagonal starts in a row of packed diagonals."""
    above, below = align.split("_")
    side = above if d > 0 else below if d < 0 else ""
    if d == 0:
        side = "RIGHT" if above == below == "RIGHT" else "LEFT"
    return longest - length if side == "RIGHT" else 0


def _length(rows: int, columns: int, d: int) -> int:
    return max(min(rows + min(d, 0), columns - max(d, 0)), 0)


def _map(rows: int, columns: int, low: int, high: int, align: str) -> np.ndarray:
    """For each place in packed diagonals [high - low + 1, longest] the flat place in the matrix, -1 for none."""
    longest = min(rows + min(high, 0), columns - max(low, 0))
    table = np.full((high - low + 1, longest), -1, np.int64)
    for row, d in enumerate(range(high, low - 1, -1)):
        length = _length(rows, columns, d)
        at = _offset(align, d, longest, length) if length != longest or d == 0 else 0
        steps = np.arange(length)
        table[row, at : at + length] = (steps + max(-d, 0)) * columns + steps + max(d, 0)
    return table


@tf_op("MatrixDiagPart")
def diag_part_v1(c: Call, input: Value) -> Value:
    """MatrixDiagPart(input) -> diagonal; T"""
    return main_diagonal(c, input)


def main_diagonal(c: Call, x: Value) -> Value:
    """The main diagonals [.., min(rows, columns)] of matrices."""
    b = c.b
    rows, columns = x.shape[-2:]
    count = dims.minimum(rows, columns)
    flat = c.reshape(x, (*x.shape[:-2], rows * columns))
    places = b.Mul(b.Range(b.scalar(0), b.scalar(count), b.scalar(1)), b.scalar(columns + 1))
    return b.Gather(flat, places, axis=flat.rank - 1)


@tf_op("MatrixDiagPartV2", "MatrixDiagPartV3")
def diag_part(c: Call, input: Value, k: Value, padding_value: Value) -> Value:
    """MatrixDiagPartV2(input, k, padding_value) -> diagonal; T
    MatrixDiagPartV3(input, k, padding_value) -> diagonal; T, align
    """
    low, high = _diagonals(c, k)
    if low == high == 0:
        return main_diagonal(c, input)
    rows, columns = (_static(c, s) for s in input.shape[-2:])
    table = _map(rows, columns, low, high, _align(c))
    flat = c.reshape(input, (*input.shape[:-2], rows * columns))
    found = c.b.Gather(flat, c.b.constant(np.maximum(table, 0)), axis=flat.rank - 1)
    if (table < 0).any():
        found = c.b.Where(c.b.constant(table >= 0), found, padding_value)
    return c.squeeze(found, found.rank - 2) if low == high else found


@tf_op("MatrixDiag")
def matrix_diag_v1(c: Call, diagonal: Value) -> Value:
    """MatrixDiag(diagonal) -> output; T"""
    return diagonal_matrix(c, diagonal)


@tf_op("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag(c: Call, diagonal: Value, k: Value, num_rows: Value, num_cols: Value, padding_value: Value) -> Value:
    """MatrixDiagV2(diagonal, k, num_rows, num_cols, padding_value) -> output; T
    MatrixDiagV3(diagonal, k, num_rows, num_cols, padding_value) -> output; T, align
    """
    low, high = _diagonals(c, k)
    rows, columns = c.whole(num_rows, "a size"), c.whole(num_cols, "a size")
    padding = c.array(padding_value)
    plain = padding is not None and not padding.any()
    if low == high == 0 and rows == columns == -1 and plain:
        return diagonal_matrix(c, diagonal)
    longest = _static(c, diagonal.shape[-1])
    least_rows, least_columns = longest - min(high, 0), longest + max(low, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least_rows, least_columns)
    elif rows == -1:
        rows = least_rows
    elif columns == -1:
        columns = least_columns
    return _placed(c, c.full((*_lead(diagonal, low != high), rows * columns), padding_value), diagonal, low, high,
                   rows, columns)  # fmt: skip


def _lead(diagonal: Value, several: bool) -> tuple[Size, ...]:
    return diagonal.shape[:-2] if several else diagonal.shape[:-1]


def _placed(c: Call, flat: Value, diagonal: Value, low: int, high: int, rows: int, columns: int) -> Value:
    """Matrices, flat, with packed diagonals put in."""
    table = _map(rows, columns, low, high, _align(c))
    source = np.full(rows * columns, -1, np.int64)
    for place, target in enumerate(table.ravel()):
        if target >= 0:
            source[target] = place
    packed = c.reshape(diagonal, (*flat.shape[:-1], table.size))
    values = c.b.Gather(packed, c.b.constant(np.maximum(source, 0)), axis=packed.rank - 1)
    found = c.b.Where(c.b.constant(source >= 0), values, flat)
    return c.reshape(found, (*flat.shape[:-1], rows, columns))


@tf_op("MatrixSetDiag")
def set_diag_v1(c: Call, input: Value, diagonal: Value) -> Value:
    """MatrixSetDiag(input, diagonal) -> output; T"""
    return _set_main(c, input, diagonal)


@tf_op("MatrixSetDiagV2", "MatrixSetDiagV3")
def set_diag(c: Call, input: Value, diagonal: Value, k: Value) -> Value:
    """MatrixSetDiagV2(input, diagonal, k) -> output; T
    MatrixSetDiagV3(input, diagonal, k) -> output; T, align
    """
    low, high = _diagonals(c, k)
    if low == high == 0 and not all(isinstance(s, int) for s in input.shape[-2:]):
        return _set_main(c, input, diagonal)
    rows, columns = (_static(c, s) for s in input.shape[-2:])
    flat = c.reshape(input, (*input.shape[:-2], rows * columns))
    return _placed(c, flat, diagonal, low, high, rows, columns)


def _set_main(c: Call, x: Value, diagonal: Value) -> Value:
    b = c.b
    rows, columns = x.shape[-2:]
    count = diagonal.shape[-1]
    down = b.Range(b.scalar(0), b.scalar(rows), b.scalar(1))
    across = b.Range(b.scalar(0), b.scalar(columns), b.scalar(1))
    on = b.Equal(c.unsqueeze(down, 1), across)
    places = b.Min([across, b.scalar(count - 1)])
    spread = b.Gather(diagonal, places, axis=diagonal.rank - 1)
    return b.Where(on, c.unsqueeze(spread, spread.rank - 1), x)


# --- solving ------------------------------------------------------------------------------------------------------


@tf_op("MatrixInverse")
def inverse(c: Call, input: Value) -> Value:
    """MatrixInverse(input) -> output; adjoint, T"""
    return c.b.ge.Inverse(c.transpose_last(input) if c.attr("adjoint") else input)


@tf_op("MatrixDeterminant")
def determinant(c: Call, input: Value) -> Value:
    """MatrixDeterminant(input) -> output; T"""
    return c.b.Det(input)


@tf_op("LogMatrixDeterminant")
def log_determinant(c: Call, input: Value) -> tuple[Value, Value]:
    """LogMatrixDeterminant(input) -> sign, log_abs_determinant; T"""
    found = c.b.Det(input)
    return c.b.Sign(found), c.b.Log(c.b.Abs(found))


@tf_op("Cholesky")
def cholesky(c: Call, input: Value) -> Value:
    """Cholesky(input) -> output; T"""
    return c.b.ge.Cholesky(input)


@tf_op("MatrixSolve")
def solve(c: Call, matrix: Value, rhs: Value) -> Value:
    """MatrixSolve(matrix, rhs) -> output; adjoint, T"""
    return c.b.ge.Solve(c.transpose_last(matrix) if c.attr("adjoint") else matrix, rhs)


@tf_op("MatrixTriangularSolve")
def triangular_solve(c: Call, matrix: Value, rhs: Value) -> Value:
    """MatrixTriangularSolve(matrix, rhs) -> output; lower, adjoint, T"""
    upper = int(not c.attr("lower"))
    matrix = c.b.Trilu(matrix, upper=upper)
    if matrix.rank != rhs.rank or matrix.shape[:-2] != rhs.shape[:-2]:
        lead = _broadcast(matrix.shape[:-2], rhs.shape[:-2])
        matrix = c.expand(matrix, (*lead, *matrix.shape[-2:]))
        rhs = c.expand(rhs, (*lead, *rhs.shape[-2:]))
    return c.b.ge.Solve(c.transpose_last(matrix) if c.attr("adjoint") else matrix, rhs)


def _broadcast(first: tuple[Size, ...], second: tuple[Size, ...]) -> list[Size]:
    count = max(len(first), len(second))
    a = [*([1] * (count - len(first))), *first]
    z = [*([1] * (count - len(second))), *second]
    return [y if x == 1 else x for x, y in zip(a, z, strict=True)]


@tf_op("MatrixSolveLs")
def solve_least_squares(c: Call, matrix: Value, rhs: Value, l2_regularizer: Value) -> Value:
    """MatrixSolveLs(matrix, rhs, l2_regularizer) -> output; T, fast"""
    b = c.b
    rows, columns = matrix.shape[-2:]
    turned = c.transpose_last(matrix)
    small = c.cast(l2_regularizer, matrix.dtype)
    if dims.less_equal(columns, rows) is True:
        square = b.MatMul(turned, matrix)
        return b.ge.Solve(_regular(c, square, small, columns), b.MatMul(turned, rhs))
    square = b.MatMul(matrix, turned)
    return b.MatMul(turned, b.ge.Solve(_regular(c, square, small, rows), rhs))


def _regular(c: Call, square: Value, amount: Value, count: Size) -> Value:
    eye = diagonal_matrix(c, c.full((count,), 1, square.dtype))
    return c.expand(c.b.Add(square, c.b.Mul(eye, amount)), square.shape)


@tf_op("TridiagonalMatMul")
def tridiagonal_matmul(c: Call, superdiag: Value, maindiag: Value, subdiag: Value, rhs: Value) -> Value:
    """TridiagonalMatMul(superdiag, maindiag, subdiag, rhs) -> output; T"""
    b = c.b
    row = rhs.rank - 2
    n = rhs.shape[row]
    zero = c.full((*rhs.shape[:row], 1, rhs.shape[-1]), 0, rhs.dtype)
    above = b.Concat([c.slice(rhs, row, 1, n), zero], axis=row)
    below = b.Concat([zero, c.slice(rhs, row, 0, n - 1)], axis=row)

    def column(x: Value) -> Value:
        return c.reshape(x, (*x.shape[:-2], x.shape[-1], 1))

    total = b.Add(b.Mul(column(superdiag), above), b.Mul(column(maindiag), rhs))
    return b.Add(total, b.Mul(column(subdiag), below))


@tf_op("TridiagonalSolve")
def tridiagonal_solve(c: Call, diagonals: Value, rhs: Value) -> Value:
    """TridiagonalSolve(diagonals, rhs) -> output; partial_pivoting, perturb_singular, T"""
    n = _static(c, diagonals.shape[-1])
    b = c.b
    flat = c.reshape(diagonals, (*diagonals.shape[:-2], 3 * n))
    source = np.full(n * n, -1, np.int64)
    for i in range(n):
        source[i * n + i] = n + i
        if i + 1 < n:
            source[i * n + i + 1] = i
            source[(i + 1) * n + i] = 2 * n + i + 1
    values = b.Gather(flat, b.constant(np.maximum(source, 0)), axis=flat.rank - 1)
    matrix = b.Where(b.constant(source >= 0), values, c.like(0, values))
    return b.ge.Solve(c.reshape(matrix, (*diagonals.shape[:-2], n, n)), rhs)


@tf_op("BandedTriangularSolve")
def banded_triangular_solve(c: Call, matrix: Value, rhs: Value) -> Value:
    """BandedTriangularSolve(matrix, rhs) -> output; lower, adjoint, T"""
    bands, n = (_static(c, s) for s in matrix.shape[-2:])
    b = c.b
    source = np.full(n * n, -1, np.int64)
    for band in range(bands):
        for i in range(n):
            row, column = (i, i - band) if c.attr("lower") else (i, i + bands - 1 - band)
            if 0 <= column < n:
                source[row * n + column] = band * n + i
    flat = c.reshape(matrix, (*matrix.shape[:-2], bands * n))
    values = b.Gather(flat, b.constant(np.maximum(source, 0)), axis=flat.rank - 1)
    whole = c.reshape(b.Where(b.constant(source >= 0), values, c.like(0, values)), (*matrix.shape[:-2], n, n))
    return b.ge.Solve(c.transpose_last(whole) if c.attr("adjoint") else whole, rhs)
