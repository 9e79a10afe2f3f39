"""Products of matrices, and what adds to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir.graph import Value

from ..call import Call, Operand
from ..registry import primitive
from .creation import diag_of

_NHWC = 1  # MindSpore's Format


def _product(c: Call, a: Value, b: Value) -> Value:
    result: Value = c.b.MatMul(c.cast(a, c.dtype()), c.cast(b, c.dtype()))
    return result


@primitive("MatMul", "BatchMatMul", ignores=("transpose_x1", "transpose_x2"))
def matmul(c: Call, input: Value, mat2: Value, transpose_a: bool = False, transpose_b: bool = False) -> Value:
    """MatMul(transpose_a=False, transpose_b=False)(input, mat2); BatchMatMul(transpose_a=False, transpose_b=False)(x,
    y)"""
    return _product(c, c.swap(input) if transpose_a else input, c.swap(mat2) if transpose_b else mat2)


@primitive("MatMulExt", "BatchMatMulExt", "Mm", "Mv", "Dot", "Vdot")
def matmul_ext(c: Call, input: Value, mat2: Value) -> Value:
    """MatMulExt(input, other); BatchMatMulExt(input, mat2); Mm; Mv(input, vec); Dot(input, other)"""
    return _product(c, input, mat2)


@primitive("BiasAdd")
def bias_add(c: Call, input_x: Value, bias: Value, data_format: Any = 0) -> Value:
    """BiasAdd(input_x, bias, data_format='NCHW'): along axis 1, or the last one"""
    if data_format in (_NHWC, "NHWC") or input_x.rank == 2:
        return c.b.Add(input_x, bias)
    return c.b.Add(input_x, c.reshape(bias, (bias.shape[0], *(1,) * (input_x.rank - 2))))


@primitive("Dense")
def dense(c: Call, input: Value, weight: Value, bias: Value | None) -> Value:
    """Dense(input, weight, bias=None): input times the transposed weight"""
    y = _product(c, input, c.swap(weight) if weight.rank > 1 else weight)
    return y if bias is None else c.b.Add(y, c.cast(bias, y.dtype))


def _plus(c: Call, x: Value, product: Value, beta: Operand, alpha: Operand) -> Value:
    b, dtype = c.b, c.dtype()
    scaled = product if alpha == 1 else b.Mul(product, c.tensor(alpha, dtype))
    if beta == 0:
        return c.expand(scaled, b.Add(scaled, c.cast(x, dtype)).shape)
    return b.Add(c.cast(x, dtype) if beta == 1 else b.Mul(c.cast(x, dtype), c.tensor(beta, dtype)), scaled)


@primitive("Addmm", "Addmv", "Baddbmm")
def addmm(c: Call, input: Value, mat1: Value, mat2: Value, beta: Operand, alpha: Operand) -> Value:
    """Addmm(input, mat1, mat2, beta=1, alpha=1); Addmv; Baddbmm: beta * input + alpha * mat1 @ mat2"""
    return _plus(c, input, _product(c, mat1, mat2), beta, alpha)


@primitive("Addbmm")
def addbmm(c: Call, input: Value, batch1: Value, batch2: Value, beta: Operand, alpha: Operand) -> Value:
    """Addbmm(input, batch1, batch2, beta=1, alpha=1): of the sum over the batch"""
    total = c.b.ReduceSum(_product(c, batch1, batch2), c.b.ints(0), keepdims=0)
    return _plus(c, input, total, beta, alpha)


@primitive("Outer", "Ger")
def outer(c: Call, input: Value, vec2: Value) -> Value:
    """Outer(input, vec2); Ger()(x1, x2)"""
    return c.b.Mul(c.unsqueeze(c.cast(input, c.dtype()), input.rank),
                   c.unsqueeze(c.cast(vec2, c.dtype()), vec2.rank - 1))  # fmt: skip


@primitive("EinsumExt", "Einsum")
def einsum(c: Call, first: Any, second: Any) -> Value:
    """EinsumExt(equation, operands); Einsum(equation)(x)"""
    equation, operands = (first, second) if isinstance(first, str) else (second, first)
    parts: Sequence[Value] = operands
    return c.b.Einsum(list(parts), equation=equation.replace(" ", ""))


@primitive("Cross")
def cross(c: Call, input: Value, other: Value, dim: int) -> Value:
    """Cross(input, other, dim=-65530): of the first axis of size 3 where none is given"""
    b, dtype = c.b, c.dtype()
    shape = b.Add(c.cast(input, dtype), c.cast(other, dtype)).shape
    x, y = c.expand(c.cast(input, dtype), shape), c.expand(c.cast(other, dtype), shape)
    if dim == -65530:
        dim = next((k for k, s in enumerate(shape) if s == 3), 0)
    axis = c.axis(dim, x.rank)

    def part(v: Value, k: int) -> Value:
        return c.slice(v, axis, k % 3, k % 3 + 1)

    parts = [b.Sub(b.Mul(part(x, k + 1), part(y, k + 2)), b.Mul(part(x, k + 2), part(y, k + 1))) for k in range(3)]
    return b.Concat(parts, axis=axis)


@primitive("MatrixInverse", "MatrixInverseExt")
def inverse(c: Call, x: Value, adjoint: bool = False) -> Value:
    """MatrixInverse(adjoint=False)(x)"""
    return c.b.ge.Inverse(c.swap(x) if adjoint else x)


@primitive("Cholesky")
def cholesky(c: Call, input_x: Value, upper: bool) -> Value:
    """Cholesky(input_x, upper=False)"""
    return c.b.ge.Cholesky(input_x, upper=int(upper))


@primitive("MatrixDeterminant")
def determinant(c: Call, x: Value) -> Value:
    """MatrixDeterminant()(x)"""
    return c.b.Det(x)


@primitive("MatrixSolve")
def solve(c: Call, matrix: Value, rhs: Value, adjoint: bool = False) -> Value:
    """MatrixSolve(adjoint=False)(matrix, rhs)"""
    return c.b.ge.Solve(c.swap(matrix) if adjoint else matrix, rhs)


@primitive("MatrixPower")
def matrix_power(c: Call, x: Value, n: int) -> Value:
    """MatrixPower(n)(x)"""
    if abs(n) > 64:
        raise c.unsupported(f"the power {n}")
    base = c.b.ge.Inverse(x) if n < 0 else x
    if n == 0:
        return diag_of(c, c.full(x.shape[:-1], 1, x.dtype))
    result = base
    for _ in range(abs(n) - 1):
        result = c.b.MatMul(result, base)
    return result


@primitive("Cdist")
def cdist(c: Call, x1: Value, x2: Value, p: float = 2.0) -> Value:
    """Cdist(x1, x2, p=2.0): the distance of each row to each row"""
    apart = c.b.Abs(c.b.Sub(c.unsqueeze(x1, x1.rank - 1), c.unsqueeze(x2, x2.rank - 2)))
    return distance(c, apart, float(p))


def distance(c: Call, apart: Value, p: float) -> Value:
    """The norm of differences over the last axis."""
    b, axes = c.b, c.b.ints(apart.rank - 1)
    if p == 0:
        return b.ReduceSum(b.Cast(b.Not(b.Equal(apart, 0.0)), to=apart.dtype), axes, keepdims=0)
    if p == 1:
        return b.ReduceSum(apart, axes, keepdims=0)
    if p == float("inf"):
        return b.ReduceMax(apart, axes, keepdims=0)
    if p == 2:
        return b.Sqrt(b.ReduceSumSquare(apart, axes, keepdims=0))
    return b.Pow(b.ReduceSum(b.Pow(apart, p), axes, keepdims=0), 1.0 / p)


@primitive("Pdist")
def pdist(c: Call, x: Value, p: float = 2.0) -> Value:
    """Pdist(p=2.0)(x): the distance of each row to the rows behind it"""
    count = x.shape[-2]
    if not isinstance(count, int):
        raise c.unsupported("a symbolic number of rows")
    first, second = np.triu_indices(count, 1)
    rows = [c.b.Gather(x, c.b.constant(k.astype(np.int64)), axis=x.rank - 2) for k in (first, second)]
    return distance(c, c.b.Abs(c.b.Sub(*rows)), float(p))


@primitive("MatrixTriangularSolve")
def triangular_solve(c: Call, matrix: Value, rhs: Value, lower: bool = True, adjoint: bool = False) -> Value:
    """MatrixTriangularSolve(lower=True, adjoint=False)(matrix, rhs): the other triangle is not read"""
    triangle = c.b.Trilu(matrix, c.b.constant(np.int64(0)), upper=int(not lower))
    return c.b.ge.Solve(c.swap(triangle) if adjoint else triangle, rhs)


def _from_factor(c: Call, factor: Value, upper: bool) -> Value:
    """The matrix of a Cholesky factor."""
    return c.b.MatMul(c.swap(factor), factor) if upper else c.b.MatMul(factor, c.swap(factor))


@primitive("CholeskySolve")
def cholesky_solve(c: Call, x1: Value, x2: Value, upper: bool = False) -> Value:
    """CholeskySolve(upper=False)(x1, x2): x1 is the right side, x2 the factor"""
    return c.b.ge.Solve(_from_factor(c, x2, upper), x1)


@primitive("CholeskyInverse")
def cholesky_inverse(c: Call, input_x: Value, upper: bool) -> Value:
    """CholeskyInverse(input_x, upper=False): the inverse of the matrix of a factor"""
    return c.b.ge.Inverse(_from_factor(c, input_x, upper))


@primitive("LogMatrixDeterminant")
def log_determinant(c: Call, x: Value) -> tuple[Value, Value]:
    """LogMatrixDeterminant()(x): sign and logarithm of the determinant"""
    found = c.b.Det(x)
    return c.b.Sign(found), c.b.Log(c.b.Abs(found))


_MODES = {0: "pad", 1: "same", 2: "valid", 3: "full"}  # MindSpore's PadMode


@primitive("Correlate")
def correlate(c: Call, a: Value, v: Value, pad_mode: Any) -> Value:
    """Correlate(a, v, pad_mode='valid'): of two vectors, the first one not shorter"""
    mode = _MODES.get(pad_mode, str(pad_mode)) if isinstance(pad_mode, int) else str(pad_mode)
    size, window = a.shape[0], v.shape[0]
    if not isinstance(size, int) or not isinstance(window, int) or size < window or mode not in _MODES.values():
        raise c.unsupported("a first vector that is shorter, or a symbolic size,")
    pads = {"valid": (0, 0), "same": (window // 2, (window - 1) // 2), "full": (window - 1, window - 1)}[mode]
    x, w = c.tensors(c.dtype(), a, v)
    return c.reshape(
        c.b.Conv(c.unsqueeze(x, 0, 1), c.unsqueeze(w, 0, 1), pads=list(pads)), (size - window + 1 + sum(pads),)
    )
