"""Bags of embeddings: rows of a table summed, averaged or maximised over segments."""

from __future__ import annotations

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten

_INT64 = DType.of("int64")
_REDUCTIONS = ("sum", "mean", "max")


@aten("embedding_bag.default", "embedding_bag.padding_idx", "_embedding_bag.default",
      "_embedding_bag_forward_only.default", ignores=("scale_grad_by_freq", "sparse"))  # fmt: skip
def embedding_bag(
    c: Call,
    weight: Value,
    indices: Value,
    offsets: Value,
    mode: int = 0,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Value, None, None, None]:
    """embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0,
        bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor,
        Tensor, Tensor, Tensor)
    embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int
        mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) ->
        (Tensor, Tensor, Tensor, Tensor)
    _embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0,
        bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int
        padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)
    _embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool
        scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool
        include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)
    """
    b = c.b
    bags = c.shape(0)[0]
    starts = c.slice(offsets, 0, 0, bags) if include_last_offset else offsets
    positions = b.Range(b.scalar(0), b.scalar(indices.shape[0]), b.scalar(1))
    # the bag of a position is the last one that starts at or before it
    bag = b.Sub(b.ge.SearchSorted(c.cast(starts, _INT64), positions, right=1), 1)
    if padding_idx is not None and (padding_idx >= 0 or c.name == "embedding_bag.padding_idx"):
        padding = padding_idx if padding_idx >= 0 else padding_idx + weight.shape[0]
        # rows of padding go to a bag of their own that is dropped
        bag = b.Where(b.Equal(c.cast(indices, _INT64), b.scalar(padding)), b.scalar(bags), bag)
    rows = b.Gather(weight, indices, axis=0)
    if per_sample_weights is not None:
        rows = b.Mul(rows, c.unsqueeze(per_sample_weights, 1))
    size = b.scalar(bags + 1)
    reduced = b.ge.SegmentReduce(rows, bag, size, reduction=_REDUCTIONS[mode])
    # an empty bag is 0 whatever the reduction
    count = b.ge.BinCount(bag, None, size)
    filled = b.Where(c.unsqueeze(b.Greater(count, 0), 1), reduced, c.scalar(0, reduced.dtype))
    return c.slice(filled, 0, 0, bags), None, None, None
