"""Type rules of linear algebra on the last two axes."""

from __future__ import annotations

from ge_core.ir.dims import Size
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import float_dtype
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


def _square(c: Infer) -> Size:
    shape = c.shape(0)
    if len(shape) < 2:
        raise c.error(f"a matrix of rank {len(shape)}, expected at least 2")
    return c.merge(shape[-2], shape[-1], "the sizes of a square matrix")


@type_rule("Det")
def det(c: Infer) -> TensorType:
    _square(c)
    return TensorType(float_dtype(c, 0), c.shape(0)[:-2])


@type_rule("ge.Inverse", "ge.Cholesky")
def square_matrix(c: Infer) -> TensorType:
    _square(c)
    return TensorType(float_dtype(c, 0), c.shape(0))


@type_rule("ge.Solve")
def solve(c: Infer) -> TensorType:
    n = _square(c)
    a, b = c.shape(0), c.shape(1)
    if len(b) < 2:
        raise c.error(f"right-hand sides of rank {len(b)}, expected at least 2: rows and columns")
    rows = c.merge(n, b[-2], "the sizes of the matrix and of the right-hand sides")
    return TensorType(float_dtype(c, 0, 1), (*c.broadcast(a[:-2], b[:-2]), rows, b[-1]))
