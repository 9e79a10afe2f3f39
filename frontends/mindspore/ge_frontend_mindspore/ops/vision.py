"""Boxes and pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive


@primitive("AdjustContrastv2")
def adjust_contrast(c: Call, images: Value, contrast_factor: Value) -> Value:
    """AdjustContrastv2()(images, contrast_factor): [..., height, width, channels] around the mean of each channel"""
    b = c.b
    mean = b.ReduceMean(images, b.ints(images.rank - 3, images.rank - 2), keepdims=1)
    return b.Add(b.Mul(b.Sub(images, mean), c.cast(contrast_factor, images.dtype)), mean)


def _corners(c: Call, boxes: Value) -> list[Value]:
    """x0, y0, x1, y1 of boxes [n, 4], each [n, 1]."""
    return list(c.b.Split(boxes, axis=boxes.rank - 1, num_outputs=4))


def _centres(c: Call, boxes: Value) -> list[Value]:
    """Centre and size of boxes whose far corner belongs to them."""
    b = c.b
    x0, y0, x1, y1 = _corners(c, boxes)
    middle = [b.Mul(b.Add(low, high), 0.5) for low, high in ((x0, x1), (y0, y1))]
    return middle + [b.Add(b.Sub(high, low), 1.0) for low, high in ((x0, x1), (y0, y1))]


@primitive("BoundingBoxEncode")
def bounding_box_encode(c: Call, anchor: Value, truth: Value, means: Any, stds: Any) -> Value:
    """BoundingBoxEncode(means=(0, 0, 0, 0), stds=(1, 1, 1, 1))(anchor_box, groundtruth_box)"""
    b, dtype = c.b, anchor.dtype
    px, py, pw, ph = _centres(c, c.cast(anchor, c.dtype()))
    gx, gy, gw, gh = _centres(c, c.cast(truth, c.dtype()))
    found = [b.Div(b.Sub(gx, px), pw), b.Div(b.Sub(gy, py), ph), b.Log(b.Div(gw, pw)), b.Log(b.Div(gh, ph))]
    deltas = b.Concat(found, axis=1)
    return b.Div(b.Sub(deltas, c.tensor(_four(means), dtype)), c.tensor(_four(stds), dtype))


def _four(numbers: Any) -> tuple[float, ...]:
    given = [numbers] if isinstance(numbers, (int, float)) else list(numbers)
    return tuple(float(n) for n in (given * 4 if len(given) == 1 else given))


@primitive("BoundingBoxDecode")
def bounding_box_decode(
    c: Call, anchor: Value, deltas: Value, max_shape: Sequence[int], means: Any, stds: Any, wh_ratio_clip: float
) -> Value:
    """BoundingBoxDecode(max_shape, means=(0, 0, 0, 0), stds=(1, 1, 1, 1), wh_ratio_clip=0.016)(anchor_box, deltas)"""
    b, dtype = c.b, anchor.dtype
    px, py, pw, ph = _centres(c, anchor)
    scaled = b.Add(b.Mul(deltas, c.tensor(_four(stds), dtype)), c.tensor(_four(means), dtype))
    dx, dy, dw, dh = _corners(c, scaled)
    limit = abs(math.log(wh_ratio_clip))
    width, height = (b.Mul(size, b.Exp(b.Clip(d, -limit, limit))) for size, d in ((pw, dw), (ph, dh)))
    gx, gy = b.Add(px, b.Mul(pw, dx)), b.Add(py, b.Mul(ph, dy))
    edges = []
    for sign in (-1.0, 1.0):
        for centre, size, most in ((gx, width, max_shape[1]), (gy, height, max_shape[0])):
            edge = b.Sub(b.Add(centre, b.Mul(size, 0.5 * sign)), 0.5 * sign)
            edges.append(b.Clip(edge, 0.0, float(most)))
    return b.Concat(edges, axis=1)


@primitive("IOU")
def iou(c: Call, anchor_boxes: Value, gt_boxes: Value, mode: str = "iou") -> Value:
    """IOU(mode='iou')(anchor_boxes, gt_boxes): [ground truths, anchors], the intersection over the union or over the
    ground truth"""
    b = c.b
    truth = _corners(c, gt_boxes)
    anchors = [b.Transpose(part, perm=[1, 0]) for part in _corners(c, anchor_boxes)]

    def length(low: Value, high: Value) -> Value:
        return b.Max(b.Add(b.Sub(high, low), 1.0), 0.0)

    def area(part: Sequence[Value]) -> Value:
        return b.Mul(length(part[0], part[2]), length(part[1], part[3]))

    low = [b.Max(t, a) for t, a in zip(truth[:2], anchors[:2], strict=True)]
    high = [b.Min(t, a) for t, a in zip(truth[2:], anchors[2:], strict=True)]
    common = b.Mul(length(low[0], high[0]), length(low[1], high[1]))
    whole = b.Sub(b.Add(area(truth), area(anchors)), common) if mode == "iou" else area(truth)
    return b.Div(common, whole)
