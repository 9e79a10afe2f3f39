"""Type rules of sorting, searching and counting."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64
from ge_core.ir.types import TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


@type_rule("NonZero")
def non_zero(c: Infer) -> Type:
    return TensorType(int64, (c.rank(0), c.data_dim(0, 1, 0, c.tensor(0).elements)))


@type_rule("Unique")
def unique(c: Infer) -> Sequence[Type]:
    shape, axis = c.shape(0), c.attr("axis")
    total = dims.product(shape) if axis is None else shape[c.normal_axis(axis, len(shape))]
    least = 1 if (dims.bounds(total)[0] or 0) > 0 else 0
    place = 0 if axis is None else c.normal_axis(axis, len(shape))
    found = c.data_dim(0, place, least, total)
    values = (found,) if axis is None else (*shape[:place], found, *shape[place + 1 :])
    count, whole = TensorType(int64, (found,)), TensorType(int64, (total,))
    return [TensorType(c.dtype(0), values), count, whole, count]


@type_rule("TopK")
def top_k(c: Infer) -> Sequence[Type]:
    shape = list(c.shape(0))
    axis = c.axis("axis", len(shape))
    k = c.content(1)
    if k is not None and dims.less_equal(k[0], shape[axis]) is False:
        raise c.error(f"k is {k[0]}, axis {axis} has {shape[axis]}")
    shape[axis] = k[0] if k is not None else c.data_dim(0, axis, 0, shape[axis])
    return [TensorType(c.dtype(0), tuple(shape)), TensorType(int64, tuple(shape))]


@type_rule("ge.Sort")
def sort(c: Infer) -> Sequence[Type]:
    c.axis("axis", c.rank(0))
    return [c.tensor(0), TensorType(int64, c.shape(0))]


@type_rule("ge.SearchSorted")
def search_sorted(c: Infer) -> Type:
    rows, values = c.shape(0), c.shape(1)
    if not rows:
        raise c.error("sorted is a scalar")
    if len(rows) > 1:
        if len(rows) != len(values):
            raise c.error(f"sorted has rank {len(rows)}, values {len(values)}")
        for i in range(len(rows) - 1):
            c.merge(rows[i], values[i], f"sizes of axis {i}")
    return TensorType(int64, values)


@type_rule("ge.BinCount")
def bin_count(c: Infer) -> Type:
    if c.rank(0) != 1:
        raise c.error(f"needs a vector, got {c.type(0)}")
    size = c.content(2)
    dtype = c.dtype(1) if c.has(1) else int64
    return TensorType(dtype, (size[0] if size is not None else c.data_dim(0, 0),))


@type_rule("NonMaxSuppression")
def non_max_suppression(c: Infer) -> Type:
    batch, classes, each = _kept_boxes(c)
    return TensorType(int64, (c.data_dim(0, 0, 0, batch * classes * each), 3))


@type_rule("ge.KeptBoxes")
def kept_boxes(c: Infer) -> Type:
    return TensorType(int64, _kept_boxes(c))


def _kept_boxes(c: Infer) -> tuple[Size, Size, Size]:
    """Images, classes, and the most boxes that stay of each."""
    boxes, scores = c.shape(0), c.shape(1)
    if len(boxes) != 3 or len(scores) != 3 or dims.equal(boxes[2], 4) is False:
        raise c.error(f"needs boxes [batch, n, 4] and scores [batch, classes, n], got {c.type(0)}, {c.type(1)}")
    batch = c.merge(boxes[0], scores[0], "batch sizes")
    each: Size = c.merge(boxes[1], scores[2], "numbers of boxes")
    limit = c.content(2) if c.has(2) else (0,)
    if limit is not None:
        each = dims.maximum(dims.minimum(each, limit[0]), 0)
    return batch, scores[1], each


@type_rule("ge.Places")
def places(c: Infer) -> Type:
    if c.rank(0) != 1:
        raise c.error(f"needs a vector, got {c.type(0)}")
    size = c.content(1)
    return TensorType(int64, (size[0] if size is not None else c.data_dim(0, 0, 0, c.shape(0)[0]),))
