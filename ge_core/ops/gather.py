"""Type rules of Gather, GatherElements and GatherND; known contents of vectors go through them."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dims import Size
from ge_core.ir.types import TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


@type_rule("Gather")
def gather(c: Infer) -> Type:
    data, indices = c.shape(0), c.shape(1)
    if not data:
        raise c.error("a scalar has nothing to gather from")
    axis = c.axis("axis", len(data))
    _pick(c, c.content(1) if len(indices) <= 1 else None)
    return TensorType(c.dtype(0), (*data[:axis], *indices, *data[axis + 1 :]))


def _pick(c: Infer, indices: tuple[Size, ...] | None) -> None:
    """Set the content of a vector's elements at known places; places out of range are left to the run."""
    content = c.content(0)
    if content is None or indices is None or c.rank(0) != 1:
        return
    places = [i for i in indices if isinstance(i, int) and -len(content) <= i < len(content)]
    if len(places) == len(indices):
        c.set_content(0, [content[i] for i in places])


@type_rule("GatherElements")
def gather_elements(c: Infer) -> Type:
    data, indices = c.shape(0), c.shape(1)
    if len(data) != len(indices):
        raise c.error(f"data has rank {len(data)}, indices {len(indices)}")
    axis = c.axis("axis", len(data))
    for i, (picked, there) in enumerate(zip(indices, data, strict=True)):
        if i != axis:
            c.require_at_most(picked, there)
    _pick(c, c.content(1))
    return TensorType(c.dtype(0), indices)


@type_rule("GatherND")
def gather_nd(c: Infer) -> Type:
    data, indices = c.shape(0), c.shape(1)
    batch = c.attr("batch_dims")
    depth = indices[-1] if indices else 0
    if not isinstance(depth, int):
        raise c.error("the last size of indices must be known")
    if batch >= len(indices) or batch + depth > len(data):
        raise c.error(f"indices of {c.type(1)} do not fit data of {c.type(0)} with batch_dims {batch}")
    lead = tuple(c.merge(data[i], indices[i], f"sizes of batch axis {i}") for i in range(batch))
    constant = c.constant(1)
    if constant is not None and len(indices) == 2 and depth == 1 and not batch:
        _pick(c, tuple(int(i) for i in np.asarray(constant).ravel()))
    elif len(indices) == 1 and depth == 1:
        _pick(c, c.content(1))
    return TensorType(c.dtype(0), (*lead, *indices[batch:-1], *data[batch + depth :]))
