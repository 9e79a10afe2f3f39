"""Colours, and choosing boxes."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import INT64, Call
from ..registry import tf_op

_INT32 = DType.of("int32")
_FLOAT = DType.of("float32")


def _channels(c: Call, x: Value) -> list[Value]:
    axis = x.rank - 1
    return [c.b.Gather(x, np.int64(i), axis=axis) for i in range(3)]


def _stacked(c: Call, parts: list[Value]) -> Value:
    return c.b.Concat([c.unsqueeze(p, p.rank) for p in parts], axis=-1)


@tf_op("RGBToHSV")
def rgb_to_hsv(c: Call, images: Value) -> Value:
    """RGBToHSV(images) -> output; T"""
    b = c.b
    red, green, blue = _channels(c, images)
    high, low = b.Max([red, green, blue]), b.Min([red, green, blue])
    spread = b.Sub(high, low)
    zero, one = c.like(0, high), c.like(1, high)
    some = b.Greater(high, zero)
    saturation = b.Where(some, b.Div(spread, b.Where(some, high, one)), zero)
    coloured = b.Greater(spread, zero)
    norm = b.Div(c.like(1 / 6, high), b.Where(coloured, spread, one))
    of_red = b.Mul(norm, b.Sub(green, blue))
    of_green = b.Add(b.Mul(norm, b.Sub(blue, red)), c.like(2 / 6, high))
    of_blue = b.Add(b.Mul(norm, b.Sub(red, green)), c.like(4 / 6, high))
    hue = b.Where(b.Equal(red, high), of_red, b.Where(b.Equal(green, high), of_green, of_blue))
    hue = b.Where(coloured, hue, zero)
    hue = b.Where(b.Less(hue, zero), b.Add(hue, one), hue)
    return _stacked(c, [hue, saturation, high])


@tf_op("HSVToRGB")
def hsv_to_rgb(c: Call, images: Value) -> Value:
    """HSVToRGB(images) -> output; T"""
    hue, saturation, value = _channels(c, images)
    return _stacked(c, _of_hue(c, hue, saturation, value))


def _of_hue(c: Call, hue: Value, saturation: Value, value: Value) -> list[Value]:
    b = c.b
    six = b.Mul(hue, c.like(6, hue))
    zero, one = c.like(0, hue), c.like(1, hue)

    def ramp(x: Value) -> Value:
        return b.Clip(x, zero, one)

    two = c.like(2, hue)
    red = ramp(b.Sub(b.Abs(b.Sub(six, c.like(3, hue))), one))
    green = ramp(b.Sub(two, b.Abs(b.Sub(six, two))))
    blue = ramp(b.Sub(two, b.Abs(b.Sub(six, c.like(4, hue)))))
    rest = b.Sub(one, saturation)
    return [b.Mul(b.Add(rest, b.Mul(saturation, part)), value) for part in (red, green, blue)]


@tf_op("AdjustContrastv2")
def adjust_contrast(c: Call, images: Value, contrast_factor: Value) -> Value:
    """AdjustContrastv2(images, contrast_factor) -> output; T"""
    b = c.b
    axes = b.ints(images.rank - 3, images.rank - 2)
    mean = b.ReduceMean(images, axes, keepdims=1)
    return b.Add(b.Mul(b.Sub(images, mean), c.cast(contrast_factor, images.dtype)), mean)


@tf_op("AdjustHue")
def adjust_hue(c: Call, images: Value, delta: Value) -> Value:
    """AdjustHue(images, delta) -> output; T"""
    b = c.b
    hsv = rgb_to_hsv(c, images)
    hue, saturation, value = _channels(c, hsv)
    moved = b.Add(hue, c.cast(delta, images.dtype))
    return _stacked(c, _of_hue(c, b.Sub(moved, b.Floor(moved)), saturation, value))


@tf_op("AdjustSaturation")
def adjust_saturation(c: Call, images: Value, scale: Value) -> Value:
    """AdjustSaturation(images, scale) -> output; T"""
    b = c.b
    hue, saturation, value = _channels(c, rgb_to_hsv(c, images))
    saturation = b.Clip(b.Mul(saturation, c.cast(scale, images.dtype)), c.like(0, saturation), c.like(1, saturation))
    return _stacked(c, _of_hue(c, hue, saturation, value))


# --- boxes --------------------------------------------------------------------------------------------------------


def _selected(c: Call, boxes: Value, scores: Value, limit: Value, overlap: Value | float, least: Value | None) -> Value:
    """Places of the boxes that stay, best first."""
    b = c.b
    threshold = c.number(overlap, _FLOAT) if isinstance(overlap, float) else c.cast(overlap, _FLOAT)
    found = b.NonMaxSuppression(
        c.unsqueeze(c.cast(boxes, _FLOAT), 0),
        c.unsqueeze(c.cast(scores, _FLOAT), 0, 1),
        c.reshape(c.int64(limit), (1,)),
        c.reshape(threshold, (1,)),
        None if least is None else c.reshape(c.cast(least, _FLOAT), (1,)),
    )
    return b.Gather(found, np.int64(2), axis=1)


@tf_op("NonMaxSuppression")
def nms(c: Call, boxes: Value, scores: Value, max_output_size: Value) -> Value:
    """NonMaxSuppression(boxes, scores, max_output_size) -> selected_indices; iou_threshold"""
    return c.cast(_selected(c, boxes, scores, max_output_size, float(c.attr("iou_threshold")), None), _INT32)


@tf_op("NonMaxSuppressionV2")
def nms_v2(c: Call, boxes: Value, scores: Value, max_output_size: Value, iou_threshold: Value) -> Value:
    """NonMaxSuppressionV2(boxes, scores, max_output_size, iou_threshold) -> selected_indices; T, T_threshold"""
    return c.cast(_selected(c, boxes, scores, max_output_size, iou_threshold, None), _INT32)


@tf_op("NonMaxSuppressionV3")
def nms_v3(
    c: Call, boxes: Value, scores: Value, max_output_size: Value, iou_threshold: Value, score_threshold: Value
) -> Value:
    """NonMaxSuppressionV3(boxes, scores, max_output_size, iou_threshold, score_threshold) -> selected_indices; T,
    T_threshold
    """
    return c.cast(_selected(c, boxes, scores, max_output_size, iou_threshold, score_threshold), _INT32)


@tf_op("NonMaxSuppressionV4")
def nms_v4(
    c: Call, boxes: Value, scores: Value, max_output_size: Value, iou_threshold: Value, score_threshold: Value
) -> list[Value]:
    """NonMaxSuppressionV4(boxes, scores, max_output_size, iou_threshold, score_threshold) -> selected_indices,
    valid_outputs; T, T_threshold, pad_to_max_output_size
    """
    found = _selected(c, boxes, scores, max_output_size, iou_threshold, score_threshold)
    return [c.cast(_filled(c, found, max_output_size), _INT32), c.scalar(found.shape[0], _INT32)]


def _filled(c: Call, found: Value, limit: Value) -> Value:
    """`found` with zeros up to `limit` elements where the node asks for that."""
    if not c.attr("pad_to_max_output_size"):
        return found
    count = c.size(limit)
    whole = c.b.Concat([found, c.full((count,), 0, found.dtype)], axis=0)
    return c.slice(whole, 0, 0, count)


@tf_op("NonMaxSuppressionV5")
def nms_v5(
    c: Call,
    boxes: Value,
    scores: Value,
    max_output_size: Value,
    iou_threshold: Value,
    score_threshold: Value,
    soft_nms_sigma: Value,
) -> list[Value]:
    """NonMaxSuppressionV5(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma) ->
    selected_indices, selected_scores, valid_outputs; T, pad_to_max_output_size
    """
    sigma = c.array(soft_nms_sigma)
    if sigma is None or float(sigma) != 0:
        raise c.unsupported("soft suppression")
    found = _selected(c, boxes, scores, max_output_size, iou_threshold, score_threshold)
    kept = c.b.Gather(scores, found, axis=0)
    places = c.cast(_filled(c, found, max_output_size), _INT32)
    return [places, _filled(c, kept, max_output_size), c.scalar(found.shape[0], _INT32)]


@tf_op("CombinedNonMaxSuppression")
def combined_nms(
    c: Call,
    boxes: Value,
    scores: Value,
    max_output_size_per_class: Value,
    max_total_size: Value,
    iou_threshold: Value,
    score_threshold: Value,
) -> list[Value]:
    """CombinedNonMaxSuppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold,
    score_threshold) -> nmsed_boxes, nmsed_scores, nmsed_classes, valid_detections; pad_per_class, clip_boxes
    """
    b = c.b
    batch, count, kinds, _ = boxes.shape
    classes = scores.shape[2]
    if kinds != 1:
        raise c.unsupported("boxes of their own for each class")
    each, total = c.whole(max_output_size_per_class, "a limit"), c.whole(max_total_size, "a limit")
    size = min(total, each * classes) if c.attr("pad_per_class") and isinstance(classes, int) else total
    flat_boxes = c.reshape(boxes, (batch, count, 4))
    by_class = c.transpose(scores, (0, 2, 1))
    limits = [c.reshape(c.cast(v, _FLOAT), (1,)) for v in (iou_threshold, score_threshold)]
    found = b.NonMaxSuppression(flat_boxes, by_class, b.constant(np.array([each], np.int64)), *limits)
    # scores of what was chosen, -inf elsewhere: [batch, classes * count]
    kept = b.GatherND(by_class, found)
    lost = c.full((batch, classes, count), float("-inf"), _FLOAT)
    every = c.reshape(b.ScatterND(lost, found, kept), (batch, classes * count))
    room = c.full((batch, size), float("-inf"), _FLOAT)
    best, places = b.TopK(b.Concat([every, room], axis=1), b.ints(size), axis=1)
    real = b.Greater(best, c.number(float("-inf"), _FLOAT))
    safe = b.Where(real, places, np.int64(0))
    box = b.GatherND(flat_boxes, c.unsqueeze(b.Mod(safe, b.scalar(count)), 2), batch_dims=1)
    if c.attr("clip_boxes"):
        box = b.Clip(box, c.number(0, _FLOAT), c.number(1, _FLOAT))
    zero = c.number(0, _FLOAT)
    kind = c.cast(b.ge.FloorDiv(safe, b.scalar(count)), _FLOAT)
    valid = b.ReduceSum(c.cast(real, INT64), b.ints(1), keepdims=0)
    return [
        b.Where(c.unsqueeze(real, 2), box, zero), b.Where(real, best, zero), b.Where(real, kind, zero),
        c.cast(valid, _INT32),
    ]  # fmt: skip
