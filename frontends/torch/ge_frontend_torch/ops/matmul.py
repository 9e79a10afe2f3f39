"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..element_types import Number
from ..registry import aten


@aten("linear.default")
def linear(c: Call, input: Value, weight: Value, bias: Value | None = None) -> Value:
    """linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"""
    b = c.b
    if input.rank == 2 and weight.rank == 2 and input.dtype.is_float:
        return b.Gemm(input, weight, bias, transB=1)
    product = b.MatMul(input, weight if weight.rank == 1 else c.transpose_last(weight))
    return product if bias is None else b.Add(product, bias)


@aten("matmul.default", "mm.default", "bmm.default", "mv.default", "dot.default", "vdot.default",
      "inner.default")  # fmt: skip
def matmul(
    c: Call,
    x: Value,
    other: Value | None = None,
    mat2: Value | None = None,
    vec: Value | None = None,
    tensor: Value | None = None,
) -> Value:
    """matmul(Tensor self, Tensor other) -> Tensor
    mm(Tensor self, Tensor mat2) -> Tensor
    bmm(Tensor self, Tensor mat2) -> Tensor
    mv(Tensor self, Tensor vec) -> Tensor
    dot(Tensor self, Tensor tensor) -> Tensor
    vdot(Tensor self, Tensor other) -> Tensor
    inner(Tensor self, Tensor other) -> Tensor
    """
    second = next(v for v in (other, mat2, vec, tensor) if v is not None)
    if c.name == "inner.default" and (not x.rank or not second.rank):
        return c.b.Mul(x, second)
    if c.name == "inner.default" and second.rank > 1:
        return _inner(c, x, second)
    return c.b.MatMul(x, second)


def _inner(c: Call, x: Value, other: Value) -> Value:
    """Sum of products over the last axes: every row of one with every row of the other."""
    b = c.b
    size = x.shape[-1]
    rows, columns = c.reshape(x, (-1, size)), c.reshape(other, (-1, size))
    return c.reshape(b.MatMul(rows, c.transpose_last(columns)), c.shape())


@aten("outer.default", "ger.default")
def outer(c: Call, x: Value, vec2: Value) -> Value:
    """outer(Tensor self, Tensor vec2) -> Tensor
    ger(Tensor self, Tensor vec2) -> Tensor
    """
    first, second = c.operands(c.dtype(), x, vec2)
    return c.b.Mul(c.unsqueeze(first, 1), second)


def _weighted(c: Call, base: Value, product: Value, beta: Number, alpha: Number) -> Value:
    """beta * base + alpha * product; a beta of 0 leaves the base out, even where it is NaN."""
    b = c.b
    if alpha != 1:
        product = b.Mul(product, c.scalar(alpha, product.dtype))
    if beta == 0:
        return c.expand(product, c.shape())
    if beta != 1:
        base = b.Mul(base, c.scalar(beta, base.dtype))
    return b.Add(base, product)


@aten("addmm.default")
def addmm(c: Call, x: Value, mat1: Value, mat2: Value, beta: Number = 1, alpha: Number = 1) -> Value:
    """addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    if not x.dtype.is_float or x.dtype.bits == 16:
        return _weighted(c, x, c.b.MatMul(mat1, mat2), beta, alpha)
    base = None if beta == 0 else x
    return c.b.Gemm(mat1, mat2, base, alpha=float(alpha), beta=float(beta))  # type: ignore[arg-type]


@aten("baddbmm.default")
def baddbmm(c: Call, x: Value, batch1: Value, batch2: Value, beta: Number = 1, alpha: Number = 1) -> Value:
    """baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    return _weighted(c, x, c.b.MatMul(batch1, batch2), beta, alpha)


@aten("addbmm.default")
def addbmm(c: Call, x: Value, batch1: Value, batch2: Value, beta: Number = 1, alpha: Number = 1) -> Value:
    """addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    b = c.b
    product = b.ReduceSum(b.MatMul(batch1, batch2), b.ints(0), keepdims=0)
    return _weighted(c, x, product, beta, alpha)


@aten("addmv.default")
def addmv(c: Call, x: Value, mat: Value, vec: Value, beta: Number = 1, alpha: Number = 1) -> Value:
    """addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    return _weighted(c, x, c.b.MatMul(mat, vec), beta, alpha)


@aten("addr.default")
def addr(c: Call, x: Value, vec1: Value, vec2: Value, beta: Number = 1, alpha: Number = 1) -> Value:
    """addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    return _weighted(c, x, c.b.Mul(c.unsqueeze(vec1, 1), vec2), beta, alpha)


@aten("einsum.default", ignores=("path",))
def einsum(c: Call, equation: str, tensors: Sequence[Value]) -> Value:
    """einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor"""
    return c.b.Einsum(list(tensors), equation=equation.replace(" ", ""))


@aten("bilinear.default")
def bilinear(c: Call, input1: Value, input2: Value, weight: Value, bias: Value | None = None) -> Value:
    """bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor"""
    product = c.b.Einsum([input1, weight, input2], equation="...i,oij,...j->...o")
    return product if bias is None else c.b.Add(product, bias)


@aten("det.default", "linalg_det.default")
def det(c: Call, x: Value | None = None, A: Value | None = None) -> Value:  # noqa: N803
    """det(Tensor self) -> Tensor
    linalg_det(Tensor A) -> Tensor
    """
    matrix = x if A is None else A
    assert matrix is not None
    return c.b.Det(matrix)


@aten("inverse.default", "linalg_inv.default")
def inverse(c: Call, x: Value | None = None, A: Value | None = None) -> Value:  # noqa: N803
    """inverse(Tensor self) -> Tensor
    linalg_inv(Tensor A) -> Tensor
    """
    matrix = x if A is None else A
    assert matrix is not None
    return c.b.ge.Inverse(matrix)


@aten("cholesky.default", "linalg_cholesky.default")
def cholesky(c: Call, x: Value, upper: bool = False) -> Value:
    """cholesky(Tensor self, bool upper=False) -> Tensor
    linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor
    """
    return c.b.ge.Cholesky(x, upper=int(upper))


@aten("_grouped_mm.default", ignores=("out_dtype",))
def grouped_mm(c: Call, x: Value, mat2: Value, offs: Value | None = None, bias: Value | None = None) -> Value:
    """_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None)
    -> Tensor
    """
    if x.rank != 2 or mat2.rank != 3 or offs is None or bias is not None:
        raise c.unsupported("grouped_mm of other than rows in groups times one matrix for each group")
    return _grouped(c, x, mat2, offs)


@aten("transformers::grouped_mm_fallback.default")
def grouped_mm_fallback(c: Call, input: Value, weight: Value, offs: Value) -> Value:
    """grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor"""
    return _grouped(c, input, weight, offs)


def _grouped(c: Call, rows: Value, matrices: Value, ends: Value) -> Value:
    """Each group of consecutive rows times its own matrix; `ends` says where each group ends."""
    b, groups = c.b, matrices.shape[0]
    if not isinstance(groups, int):
        raise c.unsupported("a symbolic number of groups")
    ends = c.cast(ends, DType.of("int64"))
    bounds = b.Concat([b.ints(0), ends], axis=0)
    parts = []
    for group in range(groups):
        own = b.Slice(rows, c.slice(bounds, 0, group, group + 1), c.slice(bounds, 0, group + 1, group + 2), b.ints(0))
        parts.append(b.MatMul(own, b.Gather(matrices, group, axis=0)))
    # the groups' sizes depend on data, their sum does not
    return c.reshape(c.cast(b.Concat(parts, axis=0), c.dtype()), c.shape())
