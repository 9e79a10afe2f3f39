"""Type rules of operators that write elements at indices."""

from __future__ import annotations

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.types import TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


def _reduction(c: Infer, *names: str) -> str:
    name = str(c.attr("reduction"))
    if name not in names:
        raise c.error(f"unknown reduction {name!r}, expected one of {', '.join(names)}")
    return name


@type_rule("ScatterElements")
def scatter_elements(c: Infer) -> Type:
    _reduction(c, "none", "add", "mul", "max", "min")
    _elements(c)
    return c.tensor(0)


@type_rule("ge.ScatterReduce")
def scatter_reduce(c: Infer) -> Type:
    _reduction(c, "sum", "prod", "max", "min", "mean")
    _elements(c)
    return c.tensor(0)


def _elements(c: Infer) -> None:
    data, indices, updates = c.shape(0), c.shape(1), c.shape(2)
    c.axis("axis", len(data))
    if not len(data) == len(indices) == len(updates):
        raise c.error("data, indices and updates differ in rank")
    for i, (n, m) in enumerate(zip(indices, updates, strict=True)):
        if dims.less_equal(n, m) is False:
            raise c.error(f"updates have {m} elements on axis {i}, indices {n}")
        c.require_at_most(n, m)


@type_rule("ScatterND")
def scatter_nd(c: Infer) -> Type:
    reduction = _reduction(c, "none", "add", "mul", "max", "min")
    data, indices, updates = c.shape(0), c.shape(1), c.shape(2)
    depth = indices[-1] if indices else 0
    if not isinstance(depth, int) or depth > len(data):
        raise c.error(f"the last size of indices is {depth}, expected at most the rank {len(data)} of data")
    wanted = (*indices[:-1], *data[depth:])
    if len(wanted) != len(updates):
        raise c.error(f"updates have rank {len(updates)}, expected {len(wanted)}")
    for i, (n, m) in enumerate(zip(wanted, updates, strict=True)):
        c.merge(n, m, f"sizes of axis {i} of updates")
    _written(c, reduction)
    return c.tensor(0)


def _written(c: Infer, reduction: str) -> None:
    """The content of a vector with some elements replaced."""
    content, constant, updates = c.content(0), c.constant(1), c.content(2)
    if content is None or constant is None or updates is None or reduction != "none" or c.rank(0) != 1:
        return
    places = np.asarray(constant).ravel().tolist()
    out: list[Size] = list(content)
    if all(-len(out) <= i < len(out) for i in places) and len(places) == len(updates):
        for i, update in zip(places, updates, strict=True):
            out[i] = update
        c.set_content(0, out)


@type_rule("TensorScatter")
def tensor_scatter(c: Infer) -> Type:
    cache, update = c.shape(0), c.shape(1)
    axis = c.axis("axis", len(cache))
    if c.attr("mode") not in ("linear", "circular") or axis == 0 or len(update) != len(cache):
        raise c.error(f"bad mode {c.attr('mode')!r}, axis {axis}, or rank {len(update)} of update")
    for i, (n, m) in enumerate(zip(cache, update, strict=True)):
        if i != axis:
            c.merge(n, m, f"sizes of axis {i}")
    return c.tensor(0)


@type_rule("ge.MaskedScatter")
def masked_scatter(c: Infer) -> Type:
    c.broadcast(c.shape(0), c.shape(1))
    return c.tensor(0)


@type_rule("ge.SegmentReduce")
def segment_reduce(c: Infer) -> Type:
    _reduction(c, "sum", "prod", "max", "min", "mean")
    data, ids, size = c.shape(0), c.shape(1), c.content(2)
    if len(ids) != 1 or not data:
        raise c.error(f"ids are {c.type(1)}, expected one for each row of data")
    c.merge(data[0], ids[0], "numbers of rows and ids")
    return TensorType(c.dtype(0), (size[0] if size is not None else c.data_dim(0, 0), *data[1:]))
