"""Type rules of pools over windows, over whole planes and over regions of interest."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64
from ge_core.ir.types import Shape, TensorType
from ge_core.ops.constraints import float_dtype, numeric_dtype, require_choice, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.windows import auto_pad_of, explicit_windows, output_positions, window_attributes


def _spatial(c: Infer) -> Shape:
    shape = c.shape(0)
    if len(shape) < 3:
        raise c.error(f"data of rank {len(shape)}, expected at least 3: batch, channels and spatial axes")
    return shape


def _pooled(c: Infer) -> Shape:
    x = _spatial(c)
    windows = window_attributes(c, c.error, c.attr("kernel_shape"), x[2:])
    return (*x[:2], *output_positions(windows, auto_pad_of(c), x[2:], bool(c.attr("ceil_mode")), c.error))


@type_rule("MaxPool")
def max_pool(c: Infer) -> list[TensorType]:
    dtype = numeric_dtype(c, 0)
    shape = _pooled(c)
    return [TensorType(dtype, shape), TensorType(int64, shape)]


@type_rule("AveragePool", "LpPool", "ge.AveragePool")
def average_pool(c: Infer) -> TensorType:
    return TensorType(float_dtype(c, 0), _pooled(c))


@type_rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(c: Infer) -> TensorType:
    x = _spatial(c)
    return TensorType(float_dtype(c, 0), (*x[:2], *(1 for _ in x[2:])))


@type_rule("ge.AdaptivePool")
def adaptive_pool(c: Infer) -> list[TensorType]:
    mode = require_choice(c, "mode", ("average", "max"))
    dtype = float_dtype(c, 0) if mode == "average" else numeric_dtype(c, 0)
    x, sizes = c.shape(0), tuple(c.attr("output_size"))
    if not 0 < len(sizes) <= len(x):
        raise c.error(f"output_size has {len(sizes)} numbers for data of rank {len(x)}")
    for size in sizes:
        if dims.less_equal(size, 0):
            raise c.error(f"output_size is {list(sizes)}, every number must be at least 1")
    if c.num_outputs > 1 and mode != "max":
        raise c.error("indices exist for mode max only")
    shape = (*x[: len(x) - len(sizes)], *sizes)
    return [TensorType(dtype, shape), TensorType(int64, shape)]


@type_rule("MaxUnpool")
def max_unpool(c: Infer) -> TensorType:
    x = _spatial(c)
    dtype = numeric_dtype(c, 0)
    if c.dtype(1) != int64:
        raise c.error(f"indices are {c.dtype(1)}, expected int64")
    for a, b in zip(c.shape(1), x, strict=True):
        c.merge(a, b, "sizes of data and indices")
    windows = explicit_windows(c, c.error, c.attr("kernel_shape"), len(x) - 2)
    if not c.has(2):
        return TensorType(dtype, (*x[:2], *windows.transposed(x[2:], (0,) * windows.rank)))
    wanted = c.content(2)
    if wanted is not None and len(wanted) != len(x):
        raise c.error(f"output_shape has {len(wanted)} numbers for data of rank {len(x)}")
    return TensorType(dtype, wanted or tuple(c.data_dim(0, i) for i in range(len(x))))


@type_rule("MaxRoiPool")
def max_roi_pool(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 1)
    require_rank(c, 0, 4)
    require_rank(c, 1, 2)
    c.merge(c.shape(1)[1], 5, "the second size of rois and 5")
    pooled = c.attr("pooled_shape")
    if len(pooled) != 2 or min(pooled) < 1:
        raise c.error(f"pooled_shape is {list(pooled)}, expected two numbers of at least 1")
    return TensorType(dtype, (c.shape(1)[0], c.shape(0)[1], *pooled))


@type_rule("RoiAlign")
def roi_align(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 1)
    require_choice(c, "mode", ("avg", "max"))
    require_choice(c, "coordinate_transformation_mode", ("half_pixel", "output_half_pixel"))
    for index, rank in ((0, 4), (1, 2), (2, 1)):
        require_rank(c, index, rank)
    c.merge(c.shape(1)[1], 4, "the second size of rois and 4")
    count: Size = c.merge(c.shape(1)[0], c.shape(2)[0], "the numbers of rois and batch_indices")
    return TensorType(dtype, (count, c.shape(0)[1], c.attr("output_height"), c.attr("output_width")))
