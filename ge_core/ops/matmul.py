"""Type rules of matrix products."""

from __future__ import annotations

from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, int32
from ge_core.ir.types import Shape, TensorType
from ge_core.ops.constraints import numeric_dtype, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


def matmul_shape(c: Infer, a: Shape, b: Shape) -> Shape:
    """numpy.matmul's result shape: batch axes broadcast, a vector's added axis is dropped again.

    Raises:
        TypeRuleError: a scalar, or contracted sizes that cannot be equal.
    """
    if not a or not b:
        raise c.error("a matrix product needs operands of rank 1 or more")
    left, right = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    c.merge(left[-1], right[-2], "the contracted sizes")
    out: tuple[Size, ...] = (*c.broadcast(left[:-2], right[:-2]), left[-2], right[-1])
    if len(a) == 1:
        out = (*out[:-2], out[-1])
    return out[:-1] if len(b) == 1 else out


@type_rule("MatMul")
def matmul(c: Infer) -> TensorType:
    dtype = numeric_dtype(c, 0, 1)
    return TensorType(dtype, matmul_shape(c, c.shape(0), c.shape(1)))


@type_rule("Gemm")
def gemm(c: Infer) -> TensorType:
    dtype = numeric_dtype(c, 0, 1, 2)
    require_rank(c, 0, 2)
    require_rank(c, 1, 2)
    m, k = c.shape(0)[::-1] if c.attr("transA") else c.shape(0)
    k2, n = c.shape(1)[::-1] if c.attr("transB") else c.shape(1)
    c.merge(k, k2, "the contracted sizes")
    if c.has(2):
        added = c.shape(2)
        if len(added) > 2 or (len(added) == 2 and m == 1 and isinstance(added[0], int) and added[0] != 1):
            raise c.error(f"C of shape {list(added)} does not broadcast to [{m}, {n}]")
        c.broadcast((m, n), added)
    return TensorType(dtype, (m, n))


def _byte_dtype(c: Infer, index: int) -> DType:
    dtype = c.dtype(index)
    if not dtype.is_integer or dtype.bits > 8:
        raise c.error(f"input {c.schema.input(index).name} is {dtype}, expected an integer of at most 8 bits")
    return dtype


@type_rule("MatMulInteger")
def matmul_integer(c: Infer) -> TensorType:
    for value, zero_point in ((0, 2), (1, 3)):
        dtype = _byte_dtype(c, value)
        if c.has(zero_point) and c.dtype(zero_point) != dtype:
            raise c.error(f"zero point is {c.dtype(zero_point)}, expected {dtype}")
    return TensorType(int32, matmul_shape(c, c.shape(0), c.shape(1)))


@type_rule("QLinearMatMul")
def qlinear_matmul(c: Infer) -> TensorType:
    for value, zero_point in ((0, 2), (3, 5)):
        if c.dtype(zero_point) != c.dtype(value):
            raise c.error(f"zero point is {c.dtype(zero_point)}, expected {c.dtype(value)}")
    return TensorType(c.dtype(7), matmul_shape(c, c.shape(0), c.shape(3)))
