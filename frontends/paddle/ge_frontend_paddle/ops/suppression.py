"""Suppression of boxes that overlap better ones, for each class of each image."""

from __future__ import annotations

from ge_core.ir.graph import Value

from ..call import FLOAT32, INT32, INT64, Call
from ..registry import pd


@pd("multiclass_nms3")
def multiclass_nms3(
    c: Call,
    bboxes: Value,
    scores: Value,
    rois_num: Value | None = None,
    *,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    nms_threshold: float = 0.3,
    normalized: bool = True,
    nms_eta: float = 1.0,
    background_label: int = 0,
) -> tuple[Value, Value, Value]:
    """multiclass_nms3(bboxes, scores, rois_num, *, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3,
    normalized=true, nms_eta=1.0, background_label=0) -> out, index, nms_rois_num
    """
    b = c.b
    if rois_num is not None or bboxes.rank != 3 or bboxes.shape[2] != 4 or nms_eta != 1:
        raise c.unsupported("boxes of each class, with more corners, or with an adaptive threshold")
    images, boxes = bboxes.shape[:2]
    ranked = c.cast(scores, FLOAT32)
    lowest = c.scalar(float("-inf"), FLOAT32)
    if background_label >= 0:
        places = c.unsqueeze(c.range(scores.shape[1]), 1)
        ranked = b.Where(b.Equal(places, b.scalar(background_label)), lowest, ranked)
    if nms_top_k >= 0 and not (isinstance(boxes, int) and nms_top_k >= boxes):
        # only the best of each class take part
        count = b.Min(b.scalar(nms_top_k), b.scalar(boxes))
        _, order = b.ge.Sort(ranked, axis=2, descending=1)
        _, rank = b.ge.Sort(order, axis=2, descending=0)
        ranked = b.Where(b.Less(rank, count), ranked, lowest)
    corners = c.cast(bboxes, FLOAT32)
    if not normalized:
        # the side of a box of pixels is one more than the difference of its corners
        left, right = c.split(corners, [2, 2], 2)
        corners = b.Concat([left, b.Add(right, c.scalar(1, FLOAT32))], axis=2)
    picked = b.NonMaxSuppression(
        corners, ranked, b.scalar(boxes), c.scalar(nms_threshold, FLOAT32), c.scalar(score_threshold, FLOAT32)
    )
    image, label, box = (b.Gather(picked, b.scalar(column), axis=1) for column in range(3))
    found = b.GatherND(scores, picked)
    if keep_top_k >= 0:
        # how many of the same image are better, or as good and before it
        later = c.unsqueeze(found, 1)
        earlier = b.Less(c.range(found.shape[0]), c.unsqueeze(c.range(found.shape[0]), 1))
        better = b.Or(b.Less(later, found), b.And(b.Equal(later, found), earlier))
        better = b.And(better, b.Equal(c.unsqueeze(image, 1), image))
        above = b.ReduceSum(b.Cast(better, to=INT64), b.ints(1), keepdims=0)
        kept = b.Less(above, b.scalar(keep_top_k))
        image, label, box, found = (b.Compress(v, kept, axis=0) for v in (image, label, box, found))
    places = b.Concat([c.unsqueeze(image, 1), c.unsqueeze(box, 1)], axis=1)
    rows = [c.unsqueeze(c.cast(label, bboxes.dtype), 1), c.unsqueeze(found, 1), b.GatherND(bboxes, places)]
    index = b.Add(b.Mul(image, b.scalar(boxes)), box)
    ones = c.full((image.shape[0],), 1, INT64)
    counts = b.ge.SegmentReduce(ones, image, b.scalar(images), reduction="sum")
    return b.Concat(rows, axis=1), c.unsqueeze(c.cast(index, INT32), 1), c.cast(counts, INT32)
