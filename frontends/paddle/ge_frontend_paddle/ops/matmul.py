"""Products of matrices and linear algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir import dims
from ge_core.ir.graph import Value

from ..call import BOOL, FLOAT32, Call
from ..registry import pd


def _product(c: Call, x: Value, y: Value) -> Value:
    """A product of matrices; integers of 32 bits and more, and floats."""
    if x.dtype.is_integer and x.dtype.bits < 32:
        wide = c.b.MatMul(c.b.Cast(x, to="int32"), c.b.Cast(y, to="int32"))
        return c.b.Cast(wide, to=x.dtype)
    return c.b.MatMul(x, y)


@pd("matmul", "legacy_matmul")
def matmul(
    c: Call, x: Value, y: Value, *, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0
) -> Value:
    """matmul(x, y, *, transpose_x=false, transpose_y=false) -> out
    legacy_matmul(x, y, *, transpose_x=false, transpose_y=false, alpha=1.0f) -> out
    """
    if transpose_x and x.rank > 1:
        x = c.swap(x)
    if transpose_y and y.rank > 1:
        y = c.swap(y)
    found = _product(c, x, y)
    return found if alpha == 1 else c.b.Mul(found, c.scalar(alpha, found.dtype))


@pd("bmm", "mv", "dot")
def bmm(c: Call, x: Value, y: Value) -> Value:
    """bmm(x, y) -> out
    mv(x, vec) -> out
    dot(x, y) -> out
    """
    if c.name == "dot":
        return c.b.ReduceSum(c.b.Mul(x, y), c.b.ints(x.rank - 1), keepdims=0)
    return _product(c, x, y)


@pd("addmm", "baddbmm")
def addmm(c: Call, input: Value, x: Value, y: Value, *, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """addmm(input, x, y, *, beta=1.0, alpha=1.0) -> out
    baddbmm(input, x, y, *, beta=1.0, alpha=1.0) -> out
    """
    b = c.b
    found = _product(c, x, y)
    if alpha != 1:
        found = b.Mul(found, c.scalar(alpha, found.dtype))
    return b.Add(input if beta == 1 else b.Mul(input, c.scalar(beta, input.dtype)), found)


@pd("multi_dot")
def multi_dot(c: Call, x: Sequence[Value]) -> Value:
    """multi_dot(x) -> out"""
    found = x[0]
    for other in x[1:]:
        found = _product(c, found, other)
    return found


@pd("matmul_with_flatten")
def matmul_with_flatten(c: Call, x: Value, y: Value, *, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> Value:
    """matmul_with_flatten(x, y, *, x_num_col_dims=1, y_num_col_dims=1) -> out"""
    return _flattened(c, x, y, x_num_col_dims, y_num_col_dims)


def _flattened(c: Call, x: Value, y: Value, rows: int, inner: int) -> Value:
    left = c.reshape(x, (dims.product(x.shape[:rows]), dims.product(x.shape[rows:])))
    right = c.reshape(y, (dims.product(y.shape[:inner]), dims.product(y.shape[inner:])))
    return c.reshape(_product(c, left, right), (*x.shape[:rows], *y.shape[inner:]))


@pd("fc", ignores=("padding_weights",))
def fc(
    c: Call, input: Value, w: Value, bias: Value | None = None, *, in_num_col_dims: int = 1, activation_type: str = ""
) -> Value:
    """fc(input, w, bias, *, in_num_col_dims=1, activation_type="", padding_weights=false) -> out"""
    found = _flattened(c, input, w, in_num_col_dims, 1)
    if bias is not None:
        found = c.b.Add(found, c.flat(bias))
    if activation_type == "relu":
        return c.b.Relu(found)
    if activation_type:
        raise c.unsupported(f"the activation {activation_type}")
    return found


@pd("linear_v2")
def linear_v2(
    c: Call, input: Value, weight: Value, bias: Value | None = None, *, transpose_weight: bool = False
) -> Value:
    """linear_v2(input, weight, bias, *, transpose_weight=false) -> out"""
    found = _product(c, input, c.swap(weight) if transpose_weight else weight)
    return found if bias is None else c.b.Add(found, bias)


@pd("fused_gemm_epilogue")
def fused_gemm_epilogue(
    c: Call, x: Value, y: Value, bias: Value, *, trans_x: bool = False, trans_y: bool = False, activation: str = "none"
) -> tuple[Value]:
    """fused_gemm_epilogue(x, y, bias) -> out, reserve_space"""
    found = _product(c, c.swap(x) if trans_x else x, c.swap(y) if trans_y else y)
    found = c.b.Add(found, bias)
    if activation in ("relu", "gelu"):
        return (c.b.Relu(found) if activation == "relu" else c.b.Gelu(found, approximate="tanh"),)
    if activation != "none":
        raise c.unsupported(f"the activation {activation}")
    return (found,)


@pd("bilinear")
def bilinear(c: Call, x: Value, y: Value, weight: Value, bias: Value | None = None) -> Value:
    """bilinear(x, y, weight, bias) -> out"""
    found = c.b.Einsum([x, weight, y], equation="bm,omn,bn->bo")
    return found if bias is None else c.b.Add(found, bias)


@pd("einsum")
def einsum(c: Call, x: Sequence[Value], *, equation: str) -> tuple[Any, ...]:
    """einsum(x, *, equation) -> out, inner_cache, xshape"""
    # the caches serve the gradient alone
    caches = [[None] * c.count(i) for i in range(1, len(c.op.results))]
    return c.b.Einsum(list(x), equation=equation), *caches


@pd("kron")
def kron(c: Call, x: Value, y: Value) -> Value:
    """kron(x, y) -> out"""
    rank = max(x.rank, y.rank)
    left, right = (c.unsqueeze(v, *range(rank - v.rank)) for v in (x, y))
    sizes = [a * b for a, b in zip(left.shape, right.shape, strict=True)]
    left = c.reshape(left, [size for n in left.shape for size in (n, 1)])
    right = c.reshape(right, [size for n in right.shape for size in (1, n)])
    return c.reshape(c.b.Mul(left, right), sizes)


@pd("cross")
def cross(c: Call, x: Value, y: Value, *, axis: int = 9) -> Value:
    """cross(x, y, *, axis=9) -> out"""
    b = c.b
    at = x.shape.index(3) if axis == 9 else c.axis(axis, x.rank)

    def turned(v: Value, by: int) -> Value:
        return b.Gather(v, b.ints([(i + by) % 3 for i in range(3)]), axis=at)

    return b.Sub(b.Mul(turned(x, 1), turned(y, 2)), b.Mul(turned(x, 2), turned(y, 1)))


@pd("inverse")
def inverse(c: Call, x: Value) -> Value:
    """inverse(x) -> out"""
    return c.b.ge.Inverse(x)


@pd("cholesky")
def cholesky(c: Call, x: Value, *, upper: bool = False) -> Value:
    """cholesky(x, *, upper=false) -> out"""
    return c.b.ge.Cholesky(x, upper=int(upper))


@pd("solve")
def solve(c: Call, x: Value, y: Value) -> Value:
    """solve(x, y) -> out"""
    if y.rank == x.rank - 1:
        return c.squeeze(c.b.ge.Solve(x, c.unsqueeze(y, y.rank)), y.rank)
    x, y = _batches(c, x, y)
    return c.b.ge.Solve(x, y)


def _batches(c: Call, x: Value, y: Value) -> tuple[Value, Value]:
    """Both with the same leading axes."""
    rank = max(x.rank, y.rank)
    x, y = (c.unsqueeze(v, *range(rank - v.rank)) for v in (x, y))
    lead = [b if a == 1 else a for a, b in zip(x.shape[:-2], y.shape[:-2], strict=True)]
    return c.expand(x, [*lead, *x.shape[-2:]]), c.expand(y, [*lead, *y.shape[-2:]])


@pd("triangular_solve")
def triangular_solve(
    c: Call, x: Value, y: Value, *, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Value:
    """triangular_solve(x, y, *, upper=true, transpose=false, unitriangular=false) -> out"""
    b = c.b
    matrix = b.Trilu(x, upper=int(upper))
    if unitriangular:
        line = b.EyeLike(c.full(x.shape[-2:], 0, FLOAT32), dtype=BOOL)
        matrix = b.Where(line, c.scalar(1, x.dtype), matrix)
    left, right = _batches(c, c.swap(matrix) if transpose else matrix, y)
    return b.ge.Solve(left, right)


@pd("cholesky_solve")
def cholesky_solve(c: Call, x: Value, y: Value, *, upper: bool = False) -> Value:
    """cholesky_solve(x, y, *, upper=false) -> out"""
    b = c.b
    factor = b.Trilu(y, upper=int(upper))
    lower = c.swap(factor) if upper else factor
    matrix, right = _batches(c, _product(c, lower, c.swap(lower)), x)
    return b.ge.Solve(matrix, right)


@pd("det")
def det(c: Call, x: Value) -> Value:
    """det(x) -> out"""
    return c.b.Det(x)


@pd("slogdet_v2")
def slogdet_v2(c: Call, x: Value) -> tuple[Value, Value]:
    """slogdet_v2(x) -> sign, logdet"""
    found = c.b.Det(x)
    return c.b.Sign(found), c.b.Log(c.b.Abs(found))


@pd("slogdet")
def slogdet(c: Call, x: Value) -> Value:
    """slogdet(x) -> out"""
    found = c.b.Det(x)
    return c.concat([c.unsqueeze(c.b.Sign(found), 0), c.unsqueeze(c.b.Log(c.b.Abs(found)), 0)], 0)


_MOST_PRODUCTS = 1 << 16


@pd("matrix_power")
def matrix_power(c: Call, x: Value, *, n: int) -> Value:
    """matrix_power(x, *, n) -> out"""
    b = c.b
    if abs(n) > _MOST_PRODUCTS:
        raise c.unsupported(f"the power {n}")
    if n == 0:
        unit = b.EyeLike(c.full(x.shape[-2:], 0, x.dtype), dtype=x.dtype)
        return c.expand(unit, x.shape)
    base: Any = b.ge.Inverse(x) if n < 0 else x
    found: Any = None
    power = abs(n)
    while power:
        if power & 1:
            found = base if found is None else _product(c, found, base)
        power >>= 1
        if power:
            base = _product(c, base, base)
    return found
