"""Pooling, resizing, sampling and boxes."""

from __future__ import annotations

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_ascend.meaning.matmul import channels_back, channels_first, onnx_pads, window
from ge_core.ir.dtype import float32, int32, int64
from ge_core.ir.graph import Value


def layout_of(c: Call) -> str:
    """The format of the input x."""
    found = c.formats.get("x")
    found = c.attr("data_format") if found in (None, "ND") else found
    if found not in ("NCHW", "NHWC", "NCDHW", "NDHWC"):
        raise c.error(f"the format {found} is not supported")
    return str(found)


def pads_of(c: Call, layout: str, mode: str) -> dict[str, object]:
    """The attributes of a pooling for a padding mode."""
    if mode == "CALCULATED":
        return {"pads": onnx_pads(list(c.attr("pads")))}
    if mode == "VALID":
        return {"pads": [0] * (2 * (len(layout) - 2))}
    if mode == "SAME":
        return {"auto_pad": "SAME_UPPER"}
    raise c.error(f"the padding mode {mode} is not supported")


@meaning("MaxPoolV3")
def max_pool(c: Call) -> Result:
    """MaxPoolV3(x; ksize, strides, padding_mode, pads, data_format, global_pooling, ceil_mode)"""
    layout = layout_of(c)
    x = channels_first(c, c["x"], layout)
    if c.attr("global_pooling"):
        return channels_back(c, c.b.GlobalMaxPool(x), layout)
    y = c.b.MaxPool(
        x, kernel_shape=window(c, layout, "ksize"), strides=window(c, layout, "strides"),
        ceil_mode=int(c.attr("ceil_mode")), **pads_of(c, layout, c.attr("padding_mode")),
    )  # fmt: skip
    return channels_back(c, y, layout)


@meaning("MaxPool3D")
def max_pool_3d(c: Call) -> Result:
    """MaxPool3D(x; ksize, strides, padding, pads, dilation, ceil_mode, data_format)"""
    layout = layout_of(c)
    x = channels_first(c, c["x"], layout)
    y = c.b.MaxPool(
        x, kernel_shape=window(c, layout, "ksize"), strides=window(c, layout, "strides"),
        dilations=window(c, layout, "dilation"), ceil_mode=int(c.attr("ceil_mode")),
        **pads_of(c, layout, c.attr("padding")),
    )  # fmt: skip
    return channels_back(c, y, layout)


@meaning("AvgPoolV2")
def avg_pool(c: Call) -> Result:
    """AvgPoolV2(x; ksize, strides, padding_mode, pads, data_format, global_pooling, ceil_mode, exclusive,
    divisor_override)"""
    layout = layout_of(c)
    x = channels_first(c, c["x"], layout)
    if c.attr("global_pooling"):
        return channels_back(c, c.b.GlobalAveragePool(x), layout)
    return channels_back(c, _average(c, x, layout, c.attr("padding_mode"), not c.attr("exclusive")), layout)


@meaning("AvgPool3D")
def avg_pool_3d(c: Call) -> Result:
    """AvgPool3D(x; ksize, strides, pads, ceil_mode, count_include_pad, divisor_override, data_format)"""
    layout = layout_of(c)
    x = channels_first(c, c["x"], layout)
    return channels_back(c, _average(c, x, layout, "CALCULATED", c.attr("count_include_pad")), layout)


def _average(c: Call, x: Value, layout: str, mode: str, include: bool) -> Value:
    ceil, divisor = int(c.attr("ceil_mode")), int(c.attr("divisor_override"))
    return average_window(c, x, layout, mode, include=include, ceil=ceil, divisor=divisor)


def average_window(
    c: Call, x: Value, layout: str, mode: str, *, include: bool, ceil: int = 0, divisor: int = 0
) -> Value:
    """An average pooling of x, channels first; whether padding counts, and a divisor instead of the count."""
    kernel, strides = window(c, layout, "ksize"), window(c, layout, "strides")
    pads = pads_of(c, layout, mode)
    if "pads" in pads:
        result: Value = c.b.ge.AveragePool(
            x, kernel_shape=kernel, strides=strides, pads=pads["pads"], dilations=[1] * len(kernel),
            ceil_mode=ceil, count_include_pad=int(include), divisor=divisor,
        )  # fmt: skip
        return result
    if divisor:
        raise c.error("a divisor with SAME padding is not supported")
    result = c.b.AveragePool(
        x, kernel_shape=kernel, strides=strides, ceil_mode=ceil, count_include_pad=int(include), **pads
    )
    return result


@meaning("AdaptiveAvgPool2d")
def adaptive_average(c: Call) -> Result:
    """AdaptiveAvgPool2d(x; output_size)"""
    result: Value = c.b.ge.AdaptivePool(c["x"], output_size=tuple(c.attr("output_size")), mode="average")
    return result


@meaning("AdaptiveMaxPool2d")
def adaptive_max(c: Call) -> Result:
    """AdaptiveMaxPool2d(x; output_size) -> y, argmax"""
    y, indices = c.b.ge.AdaptivePool(c["x"], output_size=tuple(c.attr("output_size")), mode="max", num_outputs=2)
    return [y, c.cast(indices, c.dtypes.get("argmax", int32))]


@meaning("Resize")
def resize(c: Call) -> Result:
    """Resize(x, roi, scales, sizes; ONNX's attributes)"""
    names = (
        "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "mode",
        "nearest_mode",
    )  # fmt: skip
    sizes, scales, roi = c.get("sizes"), c.get("scales"), c.get("roi")
    given = [None if v is None or 0 in v.shape else v for v in (roi, scales, sizes)]
    if given[2] is not None:
        given[2] = c.cast(given[2], int64)
    result: Value = c.b.Resize(c["x"], *given, **{name: c.attr(name) for name in names})
    return result


def _resize_to(c: Call, mode: str) -> Value:
    if c.attr("align_corners"):
        coordinates = "align_corners"
    else:
        coordinates = "half_pixel" if c.attr("half_pixel_centers") else "asymmetric"
    x = c["x"]
    height, width = c.sizes("size")
    y: Value = c.b.Resize(
        x, None, None, c.b.ints(x.shape[0], x.shape[1], height, width), mode=mode,
        coordinate_transformation_mode=coordinates,
        nearest_mode="round_prefer_ceil" if coordinates == "align_corners" else "floor",
    )  # fmt: skip
    return y


@meaning("ResizeNearestNeighborV2")
def resize_nearest(c: Call) -> Result:
    """ResizeNearestNeighborV2(x, size; align_corners, half_pixel_centers)"""
    return _resize_to(c, "nearest")


@meaning("ResizeBilinearV2")
def resize_bilinear(c: Call) -> Result:
    """ResizeBilinearV2(x, size; align_corners, half_pixel_centers, dtype)"""
    return c.cast(_resize_to(c, "linear"), c.dtype_attr("dtype"))


@meaning("GridSampler2D", "GridSampler3D")
def grid_sample(c: Call) -> Result:
    """GridSampler2D(x, grid; interpolation_mode, padding_mode, align_corners)"""
    mode = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}.get(c.attr("interpolation_mode"))
    if mode is None:
        raise c.error(f"the interpolation {c.attr('interpolation_mode')} is not supported")
    result: Value = c.b.GridSample(
        c["x"], c["grid"], mode=mode, padding_mode=c.attr("padding_mode"), align_corners=int(c.attr("align_corners"))
    )
    return result


@meaning("ROIAlign")
def roi_align(c: Call) -> Result:
    """ROIAlign(features, rois [n, 5]; spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode)"""
    rois = c["rois"]
    batch = c.cast(c.b.Reshape(c.b.Slice(rois, c.b.ints(0), c.b.ints(1), c.b.ints(1)), c.b.ints(-1)), int64)
    boxes = c.b.Slice(rois, c.b.ints(1), c.b.ints(5), c.b.ints(1))
    modes = {0: "output_half_pixel", 2: "half_pixel"}
    if c.attr("roi_end_mode") not in modes:
        raise c.error(f"roi_end_mode {c.attr('roi_end_mode')} is not supported")
    result: Value = c.b.RoiAlign(
        c["features"], boxes, batch, output_height=c.attr("pooled_height"), output_width=c.attr("pooled_width"),
        sampling_ratio=c.attr("sample_num"), spatial_scale=c.attr("spatial_scale"),
        coordinate_transformation_mode=modes[c.attr("roi_end_mode")],
    )  # fmt: skip
    return result


@meaning("NonMaxSuppressionV6")
def nms(c: Call) -> Result:
    """NonMaxSuppressionV6(boxes, scores, max_output_size, iou_threshold, score_threshold; center_point_box)"""

    def scalar(port: str, dtype: object) -> Value | None:
        value = c.get(port)
        return None if value is None else c.b.Reshape(c.cast(value, dtype), c.b.ints(1))  # type: ignore[arg-type]

    found = c.b.NonMaxSuppression(
        c["boxes"], c["scores"], scalar("max_output_size", int64), scalar("iou_threshold", float32),
        scalar("score_threshold", float32), center_point_box=c.attr("center_point_box"),
    )  # fmt: skip
    return c.cast(found, int32)


@meaning("Im2col")
def im2col(c: Call) -> Result:
    """Im2col(x; ksizes, strides, dilations, padding_mode, pads): [N, C * kernel, height, width of the windows]"""
    if c.attr("padding_mode") != "CALCULATED":
        raise c.error(f"the padding mode {c.attr('padding_mode')} is not supported")

    def two(name: str) -> list[int]:
        values = [int(v) for v in c.attr(name)]
        return values * 2 if len(values) == 1 else values

    pads = [int(v) for v in c.attr("pads")]
    pads = pads * 4 if len(pads) == 1 else pads
    kernel, strides, dilations = two("ksizes"), two("strides"), two("dilations")
    x = c["x"]
    flat = c.b.ge.Im2Col(x, kernel_shape=kernel, strides=strides, pads=onnx_pads(pads), dilations=dilations)
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    sizes = [(x.shape[2 + i] + pads[2 * i] + pads[2 * i + 1] - spans[i]) // strides[i] + 1 for i in range(2)]
    result: Value = c.b.Reshape(flat, c.b.ints(flat.shape[0], flat.shape[1], *sizes))
    return result


@meaning("Col2im")
def col2im(c: Call) -> Result:
    """Col2im(x, output_size; kernel_size, dilation, padding, stride)"""
    pads = [int(p) for p in c.attr("padding")]
    result: Value = c.b.Col2Im(
        c["x"], c.cast(c["output_size"], int64), c.b.constant(np.array(c.attr("kernel_size"), np.int64)),
        dilations=c.attr("dilation"), pads=[*pads, *pads], strides=c.attr("stride"),
    )  # fmt: skip
    return result


@meaning("AffineGrid")
def affine_grid(c: Call) -> Result:
    """AffineGrid(theta, output_size; align_corners)"""
    result: Value = c.b.AffineGrid(
        c["theta"], c.cast(c["output_size"], int64), align_corners=int(c.attr("align_corners"))
    )
    return result
