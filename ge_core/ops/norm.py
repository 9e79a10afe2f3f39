"""Type rules of normalisations, softmax and dropout in their inference forms."""

from __future__ import annotations

from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, boolean
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import float_dtype, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


def _per_channel(c: Infer, first: int, channels: Size) -> None:
    """Inputs from `first` on are vectors with one number for each channel."""
    for index in range(first, c.num_inputs):
        if c.has(index):
            require_rank(c, index, 1)
            c.merge(c.shape(index)[0], channels, f"the size of {c.schema.input(index).name} and the channels")


@type_rule("BatchNormalization")
def batch_normalization(c: Infer) -> TensorType:
    if c.attr("training_mode") or c.num_outputs > 1:
        raise c.error("training mode is not part of the IR: import the model for inference")
    for index in range(5):
        float_dtype(c, index)
    x = c.shape(0)
    if not x:
        raise c.error("data of rank 0, expected at least 1: batch and channels")
    _per_channel(c, 1, x[1] if len(x) > 1 else 1)
    return TensorType(c.dtype(0), x)


def _stash(c: Infer) -> DType:
    stash: DType | None = c.attr("stash_type")
    if stash is None or not stash.is_float:
        raise c.error(f"stash_type is {stash}, expected a floating-point type")
    return stash


@type_rule("LayerNormalization")
def layer_normalization(c: Infer) -> list[TensorType]:
    dtype = float_dtype(c, 0, 1, 2)
    x = c.shape(0)
    axis = c.axis("axis", len(x))
    for index in (1, 2):
        if c.has(index):
            _check_scale(c, index, 0)
    statistics = TensorType(_stash(c), (*x[:axis], *(1 for _ in x[axis:])))
    return [TensorType(dtype, x), statistics, statistics]


def _check_scale(c: Infer, index: int, data: int) -> None:
    """Input `index` broadcasts to input `data` without changing its shape."""
    x, scale = c.shape(data), c.shape(index)
    name = c.schema.input(index).name
    if len(scale) > len(x):
        raise c.error(f"{name} of rank {len(scale)} for data of rank {len(x)}")
    for size, other in zip(x[len(x) - len(scale) :], scale, strict=True):
        if other != 1:
            c.merge(size, other, f"sizes of data and {name}")


@type_rule("RMSNormalization")
def rms_normalization(c: Infer) -> TensorType:
    float_dtype(c, 0)
    c.axis("axis", c.rank(0))
    _stash(c)
    _check_scale(c, 1, 0)
    return TensorType(float_dtype(c, 1), c.shape(0))


def _channels(c: Infer) -> Size:
    if c.rank(0) < 2:
        raise c.error(f"data of rank {c.rank(0)}, expected at least 2: batch and channels")
    return c.shape(0)[1]


@type_rule("GroupNormalization")
def group_normalization(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 1, 2)
    _stash(c)
    channels, groups = _channels(c), c.attr("num_groups")
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise c.error(f"{channels} channels do not divide into {groups} groups")
    _per_channel(c, 1, channels)
    return TensorType(dtype, c.shape(0))


@type_rule("InstanceNormalization")
def instance_normalization(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 1, 2)
    _per_channel(c, 1, _channels(c))
    return TensorType(dtype, c.shape(0))


@type_rule("LpNormalization")
def lp_normalization(c: Infer) -> TensorType:
    c.axis("axis", c.rank(0))
    if c.attr("p") not in (1, 2):
        raise c.error(f"p is {c.attr('p')}, expected 1 or 2")
    return TensorType(float_dtype(c, 0), c.shape(0))


@type_rule("MeanVarianceNormalization")
def mean_variance_normalization(c: Infer) -> TensorType:
    for axis in c.attr("axes"):
        c.normal_axis(axis, c.rank(0))
    return TensorType(float_dtype(c, 0), c.shape(0))


@type_rule("LRN")
def lrn(c: Infer) -> TensorType:
    _channels(c)
    if c.attr("size") < 1:
        raise c.error(f"size is {c.attr('size')}, expected at least 1")
    return TensorType(float_dtype(c, 0), c.shape(0))


@type_rule("Softmax", "LogSoftmax")
def softmax(c: Infer) -> TensorType:
    c.axis("axis", c.rank(0))
    return TensorType(float_dtype(c, 0), c.shape(0))


@type_rule("Dropout")
def dropout(c: Infer) -> list[TensorType]:
    if c.has(2):
        training = c.constant(2)
        if training is None or training.any():
            raise c.error("training mode is not part of the IR: import the model for inference")
    return [c.tensor(0), TensorType(boolean, c.tensor(0).shape)]
