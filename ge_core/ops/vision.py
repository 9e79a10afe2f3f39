"""Type rules of grids and sampling."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import float_dtype, require_choice, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


@type_rule("GridSample")
def grid_sample(c: Infer) -> TensorType:
    require_choice(c, "mode", ("linear", "nearest", "cubic"))
    require_choice(c, "padding_mode", ("zeros", "border", "reflection"))
    x, grid = c.shape(0), c.shape(1)
    if c.dtype(0).kind in ("string", "complex"):
        raise c.error(f"does not take {c.dtype(0)}")
    float_dtype(c, 1)
    if len(x) < 3 or len(grid) != len(x):
        raise c.error(f"data of rank {len(x)} and a grid of rank {len(grid)}, expected the same rank of at least 3")
    c.merge(grid[-1], len(x) - 2, "the last size of the grid and the number of spatial axes")
    batch = c.merge(x[0], grid[0], "the batch sizes of data and grid")
    return TensorType(c.dtype(0), (batch, x[1], *grid[1:-1]))


@type_rule("AffineGrid")
def affine_grid(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0)
    require_rank(c, 0, 3)
    theta = c.shape(0)
    size = c.content(1)
    rank = c.shape(1)[0] if size is None else len(size)
    if rank not in (4, 5):
        raise c.error(f"size has {rank} numbers, expected 4 or 5")
    assert isinstance(rank, int)
    c.merge(theta[1], rank - 2, "the rows of theta and the number of spatial axes")
    c.merge(theta[2], rank - 1, "the columns of theta and the number of spatial axes plus 1")
    if size is None:
        spatial = tuple(c.data_dim(0, i + 1) for i in range(rank - 2))
        return TensorType(dtype, (theta[0], *spatial, rank - 2))
    if dims.equal(size[0], theta[0]) is False:
        raise c.error(f"size asks for a batch of {size[0]}, theta has {theta[0]}")
    c.require(size[0], theta[0])
    return TensorType(dtype, (theta[0], *size[2:], rank - 2))
