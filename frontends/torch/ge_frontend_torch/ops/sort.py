"""Sorting and selection."""

from __future__ import annotations

from collections.abc import Callable

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten

_INT64 = DType.of("int64")


def _ordered(c: Call, x: Value, order: Callable[[Value], tuple[Value, Value]]) -> tuple[Value, Value]:
    """Values and places of an ordering; scalars are their own, bools order as 0 and 1."""
    if not x.rank:
        return x, c.scalar(0, _INT64)
    if x.dtype.kind == "bool":
        values, places = order(c.b.Cast(x, to="uint8"))
        return c.cast(values, x.dtype), places
    return order(x)


@aten("sort.default", "sort.stable", ignores=("stable",))
def sort(c: Call, x: Value, dim: int = -1, descending: bool = False) -> tuple[Value, Value]:
    """sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
    sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor
        indices)
    """
    axis = c.axis(dim, x.rank)
    return _ordered(c, x, lambda v: c.b.ge.Sort(v, axis=axis, descending=int(descending)))


@aten("argsort.default", "argsort.stable", ignores=("stable",))
def argsort(c: Call, x: Value, dim: int = -1, descending: bool = False) -> Value:
    """argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
    argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor
    """
    return sort(c, x, dim, descending)[1]


@aten("msort.default")
def msort(c: Call, x: Value) -> Value:
    """msort(Tensor self) -> Tensor"""
    return sort(c, x, 0)[0]


@aten("topk.default")
def topk(c: Call, x: Value, k: Size, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Value, Value]:
    """topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor
    indices)
    """
    b, axis = c.b, c.axis(dim, x.rank)
    # sorted also when torch may leave the order open: the same in every run
    return _ordered(c, x, lambda v: b.TopK(v, b.ints(k), axis=axis, largest=int(largest), sorted=1))


@aten("kthvalue.default")
def kthvalue(c: Call, x: Value, k: Size, dim: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    """kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    return _at(c, x, k - 1, dim, keepdim)


@aten("median.dim")
def median(c: Call, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    if x.dtype.is_float:
        raise c.unsupported("median of floats along an axis", "use sort and take the middle element")
    axis = c.axis(dim, x.rank)
    size = x.shape[axis] if x.rank else 1
    return _at(c, x, dims.floordiv(size - 1, 2), dim, keepdim)


def _at(c: Call, x: Value, place: Size, dim: int, keepdim: bool) -> tuple[Value, Value]:
    """The element of an axis at a place in ascending order."""
    axis = c.axis(dim, x.rank)
    values, places = topk(c, x, place + 1, axis, False)
    if not x.rank:
        return values, places
    picked = [c.slice(v, axis, place, place + 1) for v in (values, places)]
    value, index = picked if keepdim else [c.squeeze(v, axis) for v in picked]
    return value, index
