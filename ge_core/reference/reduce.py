"""Reference kernels of reductions and of cumulative operators.

Sums of float32 are pairwise where numpy sums pairwise (over the innermost axes), else in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ge_core.errors import ExecutionError, IndexRangeError
from ge_core.ir.dtype import DType
from ge_core.ops.registry import KERNELS, kernel
from ge_core.reference.call import Call
from ge_core.reference.cast import convert, widened

Array = np.ndarray
Axes = tuple[int, ...]


def _sum(x: Array, axes: Axes) -> Array:
    innermost = set(axes) == set(range(x.ndim - len(axes), x.ndim))
    wide = x.dtype == np.float32 and not (innermost and x.flags.c_contiguous)
    return np.add.reduce(x, axes, np.float64 if wide else x.dtype, keepdims=True)


def _extreme(x: Array, axes: Axes, function: np.ufunc, dtype: DType, low: bool) -> Array:
    """Maximum or minimum; of nothing, the least or greatest value of the type."""
    identity = (-np.inf if low else np.inf) if dtype.is_float else (dtype.min if low else dtype.max)
    if any(x.shape[a] == 0 for a in axes):
        return np.full([1 if i in axes else n for i, n in enumerate(x.shape)], identity, x.dtype)
    return np.asarray(function.reduce(x, axes, keepdims=True))


def _float(x: Array) -> Array:
    """Integers as float64, for reductions that leave the integers."""
    return x.astype(np.float64) if x.dtype.kind in "iub" else x


def _log_sum_exp(x: Array, axes: Axes) -> Array:
    x = _float(x)
    top = _extreme(x, axes, np.maximum, DType.of(x.dtype), True)
    shift = np.where(np.isfinite(top), top, 0)
    return np.log(_sum(np.exp(x - shift), axes)) + shift


def _mean(x: Array, axes: Axes) -> Array:
    count = np.prod([x.shape[a] for a in axes], dtype=np.int64)
    total = _sum(_float(x), axes)
    return total / total.dtype.type(count)


_REDUCTIONS: dict[str, Callable[[Array, Axes, DType], Array]] = {
    "ReduceSum": lambda x, axes, _: _sum(x, axes),
    "ReduceMean": lambda x, axes, _: _mean(x, axes),
    "ReduceProd": lambda x, axes, _: np.multiply.reduce(x, axes, x.dtype, keepdims=True),
    "ReduceMax": lambda x, axes, dtype: _extreme(x, axes, np.maximum, dtype, True),
    "ReduceMin": lambda x, axes, dtype: _extreme(x, axes, np.minimum, dtype, False),
    "ReduceL1": lambda x, axes, _: _sum(np.abs(x), axes),
    "ReduceL2": lambda x, axes, _: np.sqrt(_sum(np.square(_float(x)), axes)),
    "ReduceSumSquare": lambda x, axes, _: _sum(np.square(x), axes),
    "ReduceLogSum": lambda x, axes, _: np.log(_sum(_float(x), axes)),
    "ReduceLogSumExp": lambda x, axes, _: _log_sum_exp(x, axes),
}


def reduce(call: Call, x: Array, axes: Array | None = None) -> Array:
    """The kernel of every Reduce operator."""
    over = () if axes is None else tuple(int(a) for a in axes.reshape(-1))
    if any(not -max(x.ndim, 1) <= a < max(x.ndim, 1) for a in over):
        raise call.error(IndexRangeError, f"axes {list(over)} are out of range for rank {x.ndim}")
    over = tuple(a % max(x.ndim, 1) for a in over)
    if not over and not call.attr("noop_with_empty_axes"):
        over = tuple(range(x.ndim))
    if x.ndim == 0:
        over = ()
    result = convert(np.asarray(_REDUCTIONS[call.node.op](widened(x), over, call.dtype())), call.dtype())
    return result if call.attr("keepdims") else result.squeeze(over)


for _name in _REDUCTIONS:
    KERNELS.add(_name)(reduce)


@kernel("ArgMax", "ArgMin")
def arg(call: Call, x: Array) -> Array:
    find = np.argmax if call.node.op == "ArgMax" else np.argmin
    x = widened(x)
    if x.ndim == 0:
        return np.array(0, np.int64)
    axis = call.attr("axis") % x.ndim
    if x.shape[axis] == 0:
        raise call.error(ExecutionError, f"axis {axis} is empty")
    last = bool(call.attr("select_last_index"))
    places = np.asarray(find(np.flip(x, axis) if last else x, axis), np.int64)
    places = x.shape[axis] - 1 - places if last else places
    return np.expand_dims(places, axis) if call.attr("keepdims") else places


@kernel("CumSum", "CumProd")
def cumulative(call: Call, x: Array, axis: Array) -> Array:
    function = np.add if call.node.op == "CumSum" else np.multiply
    over = int(axis.reshape(()))
    wide = widened(x)
    if call.attr("reverse"):
        wide = np.flip(wide, over)
    # in float64 because the error of a running sum grows with its length
    total = function.accumulate(wide, over, np.float64 if wide.dtype == np.float32 else wide.dtype)
    if call.attr("exclusive"):
        total = np.roll(total, 1, over)
        total[(slice(None),) * (over % x.ndim) + (slice(0, 1),)] = 0 if function is np.add else 1
    if call.attr("reverse"):
        total = np.flip(total, over)
    return convert(total, call.dtype())


@kernel("ge.CumMax", "ge.CumMin")
def cumulative_extreme(call: Call, x: Array) -> tuple[Array, Array]:
    function = np.maximum if call.node.op == "ge.CumMax" else np.minimum
    axis = call.attr("axis")
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    wide = widened(x)
    values = function.accumulate(wide, axis)
    hit = wide == values
    if wide.dtype.kind == "f":
        hit |= np.isnan(wide)
    shape = [x.shape[i] if i == axis % x.ndim else 1 for i in range(x.ndim)]
    steps = np.arange(x.shape[axis], dtype=np.int64).reshape(shape)
    return convert(values, call.dtype()), np.maximum.accumulate(np.where(hit, steps, 0), axis)


@kernel("ge.LogCumSumExp")
def log_cumulative_sum_exp(call: Call, x: Array) -> Array:
    if x.ndim == 0:
        return x
    return convert(np.logaddexp.accumulate(widened(x).astype(np.float64), call.attr("axis")), call.dtype())


@kernel("Hardmax")
def hardmax(call: Call, x: Array) -> Array:
    axis = call.attr("axis")
    out = np.zeros(x.shape, x.dtype)
    if x.size:
        np.put_along_axis(out, np.expand_dims(widened(x).argmax(axis), axis), x.dtype.type(1), axis)
    return out
