"""Type rules of reductions and of cumulative operators."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce as fold

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64
from ge_core.ir.types import TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.shape import axes_of

_ON_CONTENT: dict[str, Callable[[Sequence[Size]], Size]] = {
    "ReduceSum": lambda elements: fold(operator.add, elements),
    "ReduceProd": dims.product,
    "ReduceMax": lambda elements: fold(dims.maximum, elements),
    "ReduceMin": lambda elements: fold(dims.minimum, elements),
}


@type_rule(
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
def reduce(c: Infer) -> Type:
    keep = bool(c.attr("keepdims"))
    everything = not c.attr("noop_with_empty_axes") and (not c.has(1) or c.tensor(1).shape == (0,))
    if everything and not keep and c.tensor(0).shape is None:
        return TensorType(c.dtype(0), ())  # of any number of axes
    shape = c.shape(0)
    axes = axes_of(c, 1, len(shape)) if c.has(1) else ()
    if axes is None:
        return _unknown_axes(c, keep)
    if not axes and not c.attr("noop_with_empty_axes"):
        axes = tuple(range(len(shape)))
    content, function = c.content(0), _ON_CONTENT.get(c.node.op)
    if content and function is not None and axes == (0,):
        c.set_content(0, (function(content),))
    if keep:
        return TensorType(c.dtype(0), tuple(1 if i in axes else d for i, d in enumerate(shape)))
    return TensorType(c.dtype(0), tuple(d for i, d in enumerate(shape) if i not in axes))


def _unknown_axes(c: Infer, keep: bool) -> Type:
    shape = c.shape(0)
    if keep:
        return TensorType(c.dtype(0), tuple(c.data_dim(0, i) for i in range(len(shape))))
    count = c.tensor(1).elements
    if not isinstance(count, int) or (count == 0 and not c.attr("noop_with_empty_axes")):
        return TensorType(c.dtype(0), () if count == 0 else None)
    return TensorType(c.dtype(0), tuple(c.data_dim(0, i) for i in range(len(shape) - count)))


@type_rule("ArgMax", "ArgMin")
def arg(c: Infer) -> Type:
    shape = c.shape(0)
    axis = c.axis("axis", len(shape))
    if shape and shape[axis] == 0:
        raise c.error(f"axis {axis} of {c.type(0)} is empty")
    middle = (1,) if c.attr("keepdims") and shape else ()
    return TensorType(int64, (*shape[:axis], *middle, *shape[axis + 1 :]))


@type_rule("CumSum", "CumProd")
def cumulative(c: Infer) -> Type:
    axis = c.content(1)
    if axis is not None and isinstance(axis[0], int):
        c.normal_axis(axis[0], c.rank(0))
    return c.tensor(0)


@type_rule("ge.LogCumSumExp", "Hardmax")
def along_axis(c: Infer) -> Type:
    c.axis("axis", c.rank(0))
    return c.tensor(0)


@type_rule("ge.CumMax", "ge.CumMin")
def cumulative_extreme(c: Infer) -> Sequence[Type]:
    c.axis("axis", c.rank(0))
    return [c.tensor(0), TensorType(int64, c.shape(0))]
