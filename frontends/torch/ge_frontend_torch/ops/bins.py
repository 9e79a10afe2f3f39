"""Bins and distinct elements."""

from __future__ import annotations

from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..element_types import Operand
from ..registry import aten

_INT64 = DType.of("int64")
_BOOL = DType.of("bool")


@aten("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    c: Call,
    sorted_sequence: Value,
    x: Operand,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    """searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str?
        side=None, Tensor? sorter=None) -> Tensor
    searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str?
        side=None, Tensor? sorter=None) -> Tensor
    """
    if sorter is not None:
        sorted_sequence = c.b.GatherElements(sorted_sequence, sorter, axis=sorted_sequence.rank - 1)
    sequence, values = c.promoted(sorted_sequence, x)
    found = c.b.ge.SearchSorted(sequence, values, right=int(right or side == "right"))
    return c.cast(found, c.dtype())


@aten("bucketize.Tensor", "bucketize.Scalar")
def bucketize(c: Call, x: Operand, boundaries: Value, out_int32: bool = False, right: bool = False) -> Value:
    """bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
    bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
    """
    values, sequence = c.promoted(x, boundaries)
    # right=True of bucketize is boundaries[i-1] <= x: the right side of searchsorted
    return c.cast(c.b.ge.SearchSorted(sequence, values, right=int(right)), c.dtype())


@aten("histc.default")
def histc(c: Call, x: Value, bins: int = 100, min: Operand = 0, max: Operand = 0) -> Value:
    """histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor"""
    b = c.b
    if min == max:
        raise c.unsupported("histc with the range of the data", "give min and max")
    dtype = x.dtype
    if not dtype.is_float:
        raise c.unsupported(f"histc of {dtype}", "convert it to a float type")
    wide = DType.of("float32") if dtype.bits < 32 else dtype

    def rounded(v: Value) -> Value:
        return c.cast(c.cast(v, dtype), wide)

    flat = b.Reshape(c.cast(x, wide), b.ints(-1))
    low, high = (rounded(c.scalar(v, wide)) for v in (min, max))
    inside = b.And(b.GreaterOrEqual(flat, low), b.LessOrEqual(flat, high))
    # torch's own formula in the element type: it decides to which bin an element at an edge belongs
    scaled = rounded(b.Mul(rounded(b.Sub(flat, low)), rounded(c.scalar(bins, wide))))
    place = b.Floor(rounded(b.Div(scaled, rounded(b.Sub(high, low)))))
    # the last bin holds its upper end; what is outside of the range goes to a bin of its own that is dropped
    place = b.Min(b.Cast(place, to=_INT64), bins - 1)
    place = b.Where(inside, place, c.scalar(bins, _INT64))
    counts = b.ge.BinCount(place, None, b.scalar(bins + 1))
    return c.cast(c.slice(counts, 0, 0, bins), c.dtype())


@aten("bincount.default")
def bincount(c: Call, x: Value, weights: Value | None = None, minlength: Size = 0) -> Value:
    """bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor"""
    b = c.b
    top = b.Add(b.ReduceMax(b.Concat([c.cast(x, _INT64), b.ints(-1)], axis=0), keepdims=0), 1)
    size = b.Max(top, b.scalar(minlength))
    bound = b.ge.BindDim(size, lo=0)
    return c.cast(b.ge.BinCount(c.cast(x, _INT64), weights, bound), c.dtype())


@aten("_unique2.default", "unique_dim.default")
def unique(
    c: Call,
    x: Value,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Value, Value, Value]:
    """_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor,
        Tensor, Tensor)
    unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)
        -> (Tensor, Tensor, Tensor)
    """
    b = c.b
    axis = None if dim is None else c.axis(dim, x.rank)
    values, _, inverse, counts = b.Unique(x, axis=axis, sorted=1, num_outputs=4)
    inverse = c.reshape(inverse, x.shape) if dim is None else inverse
    if c.name == "unique_dim.default":
        return values, inverse, counts
    nothing = c.full((0,), 0, _INT64)  # what torch gives for a result that is not asked for
    return values, inverse if return_inverse else nothing, counts if return_counts else nothing


@aten("unique_consecutive.default")
def unique_consecutive(
    c: Call, x: Value, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Value, Value, Value]:
    """unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) ->
    (Tensor, Tensor, Tensor)
    """
    b = c.b
    if dim is not None and x.rank != 1:
        raise c.unsupported("unique_consecutive along an axis", "flatten the tensor first")
    flat = b.Reshape(x, b.ints(-1))
    count = flat.shape[0]
    first = c.full((1,), True, _BOOL)
    changed = b.Not(b.Equal(c.slice(flat, 0, 1, count), c.slice(flat, 0, 0, count - 1)))
    starts = c.slice(b.Concat([first, changed], axis=0), 0, 0, count)
    values = b.Compress(flat, starts, axis=0)
    group = b.Sub(b.CumSum(b.Cast(starts, to=_INT64), c.scalar(0, _INT64)), 1)
    counts = b.ge.BinCount(group, None, b.scalar(values.shape[0]))
    nothing = c.full((0,), 0, _INT64)
    return values, c.reshape(group, x.shape) if return_inverse else nothing, counts if return_counts else nothing
