"""Regions and boxes of detection models."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.graph import Value

from ..call import FLOAT32, INT64, Call
from ..registry import pd


@pd("nms")
def nms(c: Call, x: Value, *, threshold: float = 1.0) -> Value:
    """nms(x, *, threshold=1.0f) -> out"""
    b = c.b
    count = x.shape[0]
    # boxes come in the order of their scores
    scores = b.Cast(b.Sub(c.scalar(count, INT64), c.range(count)), to=FLOAT32)
    picked = b.NonMaxSuppression(
        c.unsqueeze(c.cast(x, FLOAT32), 0), c.reshape(scores, (1, 1, count)), b.scalar(count),
        b.constant(np.float32(threshold)),
    )  # fmt: skip
    return b.Gather(picked, b.scalar(2), axis=1)


def _images(c: Call, boxes: Value, boxes_num: Value | None) -> Value:
    """The image that each box lies in, from the number of boxes of each image."""
    b = c.b
    if boxes_num is None:
        return c.full((boxes.shape[0],), 0, INT64)
    images = boxes_num.shape[0]
    ends = b.CumSum(c.cast(boxes_num, INT64), b.scalar(0))
    # a box lies in the image whose last box is the first not before it
    found = b.ge.SearchSorted(ends, c.range(boxes.shape[0]), right=1)
    return b.Min(found, b.scalar(dims.maximum(images - 1, 0)))


@pd("roi_align")
def roi_align(
    c: Call,
    x: Value,
    boxes: Value,
    boxes_num: Value | None = None,
    *,
    pooled_height: int = 1,
    pooled_width: int = 1,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Value:
    """roi_align(x, boxes, boxes_num, *, pooled_height=1, pooled_width=1, spatial_scale=1.0, sampling_ratio=-1,
    aligned=false) -> out
    """
    return c.b.RoiAlign(
        x,
        boxes,
        _images(c, boxes, boxes_num),
        output_height=pooled_height,
        output_width=pooled_width,
        spatial_scale=float(spatial_scale),
        sampling_ratio=max(sampling_ratio, 0),
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )


@pd("box_clip")
def box_clip(c: Call, input: Value, im_info: Value) -> Value:
    """box_clip(input, im_info) -> output"""
    b = c.b
    if input.rank != 2 or im_info.shape[0] != 1:
        raise c.unsupported("boxes of several images")
    # rows of im_info: height, width, scale
    line = c.reshape(im_info, (3,))
    height, width, scale = (c.reshape(part, ()) for part in c.split(line, [1, 1, 1], 0))
    bounds = [b.Sub(b.Round(b.Div(side, scale)), c.scalar(1, input.dtype)) for side in (width, height)]
    limits = b.Concat([c.unsqueeze(v, 0) for v in (*bounds, *bounds)], axis=0)
    return b.Min(b.Max(input, c.scalar(0, input.dtype)), limits)


@pd("yolo_box")
def yolo_box(
    c: Call,
    x: Value,
    img_size: Value,
    *,
    anchors: Sequence[int] = (),
    class_num: int = 1,
    conf_thresh: float = 0.01,
    downsample_ratio: int = 32,
    clip_bbox: bool = True,
    scale_x_y: float = 1.0,
    iou_aware: bool = False,
    iou_aware_factor: float = 0.5,
) -> tuple[Value, Value]:
    """yolo_box(x, img_size, *, anchors={}, class_num=1, conf_thresh=0.01, downsample_ratio=32, clip_bbox=true,
    scale_x_y=1.0, iou_aware=false, iou_aware_factor=0.5) -> boxes, scores
    """
    b, kind = c.b, x.dtype
    count = len(anchors) // 2
    images, _, height, width = x.shape

    def number(value: float) -> Value:
        return c.scalar(value, kind)

    known = None
    if iou_aware:
        known, x = c.split(x, [count, count * (5 + class_num)], 1)
        known = b.Sigmoid(known)
    parts = c.reshape(x, (images, count, 5 + class_num, height, width))
    dx, dy, dw, dh, objectness, classes = c.split(parts, [1, 1, 1, 1, 1, class_num], 2)
    plane = (images, count, height, width)
    dx, dy, dw, dh, objectness = (c.reshape(v, plane) for v in (dx, dy, dw, dh, objectness))
    shift = -0.5 * (scale_x_y - 1)
    sizes = c.cast(img_size, kind)
    tall, across = (c.reshape(v, (images, 1, 1, 1)) for v in c.split(sizes, [1, 1], 1))

    def centre(offset: Value, places: Value, cells: Value, side: Value) -> Value:
        at = b.Add(b.Mul(b.Sigmoid(offset), number(scale_x_y)), number(shift))
        return b.Div(b.Mul(b.Add(at, places), side), cells)

    columns = c.cast(c.range(width), kind)
    rows = c.unsqueeze(c.cast(c.range(height), kind), 1)
    cells_x, cells_y = c.scalar(width, kind), c.scalar(height, kind)
    middle_x, middle_y = centre(dx, columns, cells_x, across), centre(dy, rows, cells_y, tall)
    wide = c.reshape(b.constant(np.array(anchors[0::2]).astype(kind.numpy)), (count, 1, 1))
    high = c.reshape(b.constant(np.array(anchors[1::2]).astype(kind.numpy)), (count, 1, 1))
    input_x = b.Mul(cells_x, number(downsample_ratio))
    input_y = b.Mul(cells_y, number(downsample_ratio))
    box_w = b.Div(b.Mul(b.Mul(b.Exp(dw), wide), across), input_x)
    box_h = b.Div(b.Mul(b.Mul(b.Exp(dh), high), tall), input_y)
    confidence = b.Sigmoid(objectness)
    if known is not None:
        confidence = b.Mul(
            b.Pow(confidence, number(1 - iou_aware_factor)),
            b.Pow(c.reshape(known, plane), number(iou_aware_factor)),
        )
    half = number(0.5)
    corners = [
        b.Sub(middle_x, b.Mul(box_w, half)), b.Sub(middle_y, b.Mul(box_h, half)),
        b.Add(middle_x, b.Mul(box_w, half)), b.Add(middle_y, b.Mul(box_h, half)),
    ]  # fmt: skip
    if clip_bbox:
        zero, one = number(0), number(1)
        corners[0], corners[1] = b.Max(corners[0], zero), b.Max(corners[1], zero)
        corners[2], corners[3] = b.Min(corners[2], b.Sub(across, one)), b.Min(corners[3], b.Sub(tall, one))
    seen = b.Not(b.Less(confidence, number(conf_thresh)))
    boxes = b.Concat([c.unsqueeze(v, 4) for v in corners], axis=4)
    boxes = b.Where(c.unsqueeze(seen, 4), boxes, number(0))
    kept = c.unsqueeze(b.Where(seen, confidence, number(0)), 2)
    scores = b.Mul(b.Sigmoid(classes), kept)
    total = dims.product((count, height, width))
    return (
        c.reshape(boxes, (images, total, 4)),
        c.reshape(c.transpose(scores, [0, 1, 3, 4, 2]), (images, total, class_num)),
    )


@pd("prior_box")
def prior_box(
    c: Call,
    input: Value,
    image: Value,
    *,
    min_sizes: Sequence[float],
    max_sizes: Sequence[float] = (),
    aspect_ratios: Sequence[float] = (),
    variances: Sequence[float] = (),
    flip: bool = True,
    clip: bool = True,
    step_w: float = 0.0,
    step_h: float = 0.0,
    offset: float = 0.5,
    min_max_aspect_ratios_order: bool = False,
) -> tuple[Value, Value]:
    """prior_box(input, image, *, min_sizes, max_sizes={}, aspect_ratios={}, variances={}, flip=true, clip=true,
    step_w=0.0, step_h=0.0, offset=0.5, min_max_aspect_ratios_order=false) -> out, var
    """
    height, width = c.known_ints([n if isinstance(n, int) else -1 for n in input.shape[2:]], "sizes")
    tall, across = c.known_ints([n if isinstance(n, int) else -1 for n in image.shape[2:]], "sizes")
    if min(height, width, tall, across) < 0:
        raise c.unsupported("an image of dynamic size")
    ratios = [1.0]
    for ratio in aspect_ratios:
        if all(abs(ratio - known) >= 1e-6 for known in ratios):
            ratios += [ratio, 1 / ratio] if flip else [ratio]
    sides: list[tuple[float, float]] = []
    for i, least in enumerate(min_sizes):
        plain = [(least * math.sqrt(r), least / math.sqrt(r)) for r in ratios if abs(r - 1) >= 1e-6]
        most = [(math.sqrt(least * max_sizes[i]),) * 2] if max_sizes else []
        square = [(float(least), float(least))]
        if min_max_aspect_ratios_order:
            sides += [*square, *most, *plain]
        else:
            sides += [(least * math.sqrt(r), least / math.sqrt(r)) for r in ratios] + most
    kind = input.dtype.numpy
    step_x, step_y = (step_w, step_h) if step_w and step_h else (across / width, tall / height)
    x = (np.arange(width) + offset) * step_x
    y = (np.arange(height) + offset) * step_y
    half = np.array(sides) / 2
    centres = np.stack(np.meshgrid(x, y), axis=-1)[:, :, None, :]
    boxes = np.concatenate([centres - half, centres + half], axis=-1) / np.array([across, tall, across, tall])
    boxes = np.clip(boxes, 0, 1) if clip else boxes
    spread = np.broadcast_to(np.array(variances or (0.1, 0.1, 0.2, 0.2)), boxes.shape)
    return c.b.constant(boxes.astype(kind)), c.b.constant(np.ascontiguousarray(spread.astype(kind)))


@pd("anchor_generator")
def anchor_generator(
    c: Call,
    input: Value,
    *,
    anchor_sizes: Sequence[float],
    aspect_ratios: Sequence[float],
    variances: Sequence[float],
    stride: Sequence[float] = (16.0, 16.0),
    offset: float = 0.5,
) -> tuple[Value, Value]:
    """anchor_generator(input, *, anchor_sizes, aspect_ratios, variances, stride={16.0, 16.0}, offset=0.5) -> anchors,
    variances_out
    """
    height, width = c.known_ints([n if isinstance(n, int) else -1 for n in input.shape[2:]], "sizes")
    if min(height, width) < 0:
        raise c.unsupported("an image of dynamic size")
    kind = input.dtype.numpy
    across, down = stride
    sides = []
    for ratio in aspect_ratios:
        base = np.floor(math.sqrt(across * down / ratio) + 0.5)
        tall = np.floor(base * ratio + 0.5)
        sides += [(size / across * base, size / down * tall) for size in anchor_sizes]
    half = (np.array(sides) - 1) / 2
    x = np.arange(width) * across + offset * (across - 1)
    y = np.arange(height) * down + offset * (down - 1)
    centres = np.stack(np.meshgrid(x, y), axis=-1)[:, :, None, :]
    boxes = np.concatenate([centres - half, centres + half], axis=-1).astype(kind)
    spread = np.broadcast_to(np.array(variances), boxes.shape)
    return c.b.constant(boxes), c.b.constant(np.ascontiguousarray(spread.astype(kind)))


@pd("box_coder")
def box_coder(
    c: Call,
    prior_box: Value,
    prior_box_var: Value | None,
    target_box: Value,
    *,
    code_type: str = "encode_center_size",
    box_normalized: bool = True,
    axis: int = 0,
    variance: Sequence[float] = (),
) -> Value:
    """box_coder(prior_box, prior_box_var, target_box, *, code_type="encode_center_size", box_normalized=true, axis=0,
    variance={}) -> output_box
    """
    b, kind = c.b, target_box.dtype
    one = c.scalar(0 if box_normalized else 1, kind)
    half = c.scalar(0.5, kind)

    def measured(boxes: Value) -> tuple[Value, Value, Value, Value]:
        left, top, right, bottom = c.split(boxes, [1, 1, 1, 1], boxes.rank - 1)
        wide, high = b.Add(b.Sub(right, left), one), b.Add(b.Sub(bottom, top), one)
        return b.Add(left, b.Mul(wide, half)), b.Add(top, b.Mul(high, half)), wide, high

    spread: list[Value] | None = None
    if prior_box_var is not None:
        spread = c.split(prior_box_var, [1, 1, 1, 1], 1)
    elif variance:
        spread = [c.scalar(v, kind) for v in variance]

    def along(v: Value, place: int) -> Value:
        """A column of priors for all pairs of targets and priors."""
        return v if not v.rank else c.unsqueeze(c.reshape(v, (v.shape[0],)), place, 2)

    if code_type == "encode_center_size":
        px, py, pw, ph = (along(v, 0) for v in measured(prior_box))
        tx, ty, tw, th = (c.unsqueeze(v, 1) for v in measured(target_box))
        # the target's centre is the mean of its corners
        if not box_normalized:
            shift = c.scalar(0.5, kind)
            tx, ty = b.Sub(tx, shift), b.Sub(ty, shift)
        found = [
            b.Div(b.Sub(tx, px), pw), b.Div(b.Sub(ty, py), ph),
            b.Log(b.Abs(b.Div(tw, pw))), b.Log(b.Abs(b.Div(th, ph))),
        ]  # fmt: skip
        if spread is not None:
            found = [b.Div(v, along(s, 0)) for v, s in zip(found, spread, strict=True)]
        return b.Concat(found, axis=2)
    place = 0 if axis == 0 else 1
    px, py, pw, ph = (along(v, place) for v in measured(prior_box))
    parts = c.split(target_box, [1, 1, 1, 1], 2)
    if spread is not None:
        parts = [b.Mul(v, along(s, place)) for v, s in zip(parts, spread, strict=True)]
    x, y = b.Add(b.Mul(parts[0], pw), px), b.Add(b.Mul(parts[1], ph), py)
    wide, high = b.Mul(b.Exp(parts[2]), pw), b.Mul(b.Exp(parts[3]), ph)
    corners = [
        b.Sub(x, b.Mul(wide, half)), b.Sub(y, b.Mul(high, half)),
        b.Sub(b.Add(x, b.Mul(wide, half)), one), b.Sub(b.Add(y, b.Mul(high, half)), one),
    ]  # fmt: skip
    return b.Concat(corners, axis=2)


@pd("psroi_pool")
def psroi_pool(
    c: Call,
    x: Value,
    boxes: Value,
    boxes_num: Value | None = None,
    *,
    pooled_height: int = 1,
    pooled_width: int = 1,
    output_channels: int = 1,
    spatial_scale: float = 1.0,
) -> Value:
    """psroi_pool(x, boxes, boxes_num, *, pooled_height=1, pooled_width=1, output_channels=1, spatial_scale=1.0) ->
    out
    """
    b, kind = c.b, x.dtype
    height, width = x.shape[2:]
    count = boxes.shape[0]
    rounded = b.Floor(b.Add(boxes, c.scalar(0.5, kind)))
    scale = c.scalar(spatial_scale, kind)
    left, top, right, bottom = (c.reshape(v, (count, 1)) for v in c.split(rounded, [1, 1, 1, 1], 1))
    one, least = c.scalar(1, kind), c.scalar(0.1, kind)
    left, top = b.Mul(left, scale), b.Mul(top, scale)
    right, bottom = b.Mul(b.Add(right, one), scale), b.Mul(b.Add(bottom, one), scale)

    def masks(start: Value, end: Value, bins: int, size: object) -> Value:
        """[boxes, bins, size]: which places lie in which bin."""
        step = b.Div(b.Max(b.Sub(end, start), least), c.scalar(bins, kind))
        places = c.cast(c.range(bins), kind)
        first = b.Floor(b.Add(b.Mul(places, step), start))
        last = b.Ceil(b.Add(b.Mul(b.Add(places, one), step), start))
        line = c.cast(c.range(size), kind)  # type: ignore[arg-type]
        first, last = c.unsqueeze(first, 2), c.unsqueeze(last, 2)
        return b.Cast(b.And(b.LessOrEqual(first, line), b.Less(line, last)), to=kind)

    rows, columns = masks(top, bottom, pooled_height, height), masks(left, right, pooled_width, width)
    grouped = c.reshape(x, (x.shape[0], output_channels, pooled_height, pooled_width, height, width))
    mine = b.Gather(grouped, _images(c, boxes, boxes_num), axis=0)
    total = b.Einsum([mine, rows, columns], equation="nopqhw,nph,nqw->nopq")
    area = b.Einsum([rows, columns], equation="nph,nqw->npq")
    return b.Div(total, c.unsqueeze(b.Max(area, one), 1))


@pd("roi_pool")
def roi_pool(
    c: Call,
    x: Value,
    boxes: Value,
    boxes_num: Value | None = None,
    *,
    pooled_height: int = 1,
    pooled_width: int = 1,
    spatial_scale: float = 1.0,
) -> tuple[Value]:
    """roi_pool(x, boxes, boxes_num, *, pooled_height=1, pooled_width=1, spatial_scale=1.0) -> out, arg_max"""
    b, kind = c.b, x.dtype
    height, width = x.shape[2:]
    count = boxes.shape[0]
    # C's rounding: away from zero
    scaled = b.Mul(boxes, c.scalar(spatial_scale, kind))
    rounded = b.Mul(b.Sign(scaled), b.Floor(b.Add(b.Abs(scaled), c.scalar(0.5, kind))))
    left, top, right, bottom = (c.reshape(v, (count, 1)) for v in c.split(rounded, [1, 1, 1, 1], 1))
    one = c.scalar(1, kind)

    def masks(start: Value, end: Value, bins: int, size: object) -> Value:
        """[boxes, bins, size]: which places lie in which bin."""
        step = b.Div(b.Max(b.Add(b.Sub(end, start), one), one), c.scalar(bins, kind))
        places = c.cast(c.range(bins), kind)
        first = b.Add(b.Floor(b.Mul(places, step)), start)
        last = b.Add(b.Ceil(b.Mul(b.Add(places, one), step)), start)
        line = c.cast(c.range(size), kind)  # type: ignore[arg-type]
        return b.And(b.LessOrEqual(c.unsqueeze(first, 2), line), b.Less(line, c.unsqueeze(last, 2)))

    rows, columns = masks(top, bottom, pooled_height, height), masks(left, right, pooled_width, width)
    inside = b.And(c.unsqueeze(rows, 2, 4), c.unsqueeze(columns, 1, 3))
    mine = c.unsqueeze(b.Gather(x, _images(c, boxes, boxes_num), axis=0), 2, 3)
    mask = c.unsqueeze(inside, 1)
    lowest = c.scalar(float("-inf"), kind)
    found = b.ReduceMax(b.Where(mask, mine, lowest), b.ints(4, 5), keepdims=0)
    empty = b.Equal(found, lowest)
    return (b.Where(empty, c.scalar(0, kind), found),)
