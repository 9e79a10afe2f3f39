"""Pooling, resizing, sampling and boxes."""

from __future__ import annotations

from ge_ascend.lower.argmax_pool import pooled_with_places
from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.matmul import interleaved, window
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.dims import Dim, product
from ge_core.ir.dtype import float32, int32, int64
from ge_core.ir.graph import constant_of

_FORMATS = {2: "NCHW", 3: "NCDHW"}


def _both(spatial: int) -> dict[str, str]:
    return {"x": _FORMATS[spatial], "y": _FORMATS[spatial]}


@lowering("MaxPool")
def max_pool(c: LowerCall) -> list[Out]:
    """MaxPoolV3 and MaxPool3D in channels-first formats; places and dilations by windows as an axis."""
    spatial = c.rank() - 2
    kernel = list(c.attr("kernel_shape"))
    strides, dilations, pads = window(c, spatial)
    places = len(c.node.outputs) > 1 and c.node.outputs[1].has_uses
    if places or (spatial == 2 and any(d != 1 for d in dilations)):
        return pooled_with_places(c, kernel, strides, dilations, pads)
    x = c[0]
    if spatial == 1:
        x = c.op("Unsqueeze", x, axes=[2])
        kernel, strides, dilations, pads = [1, *kernel], [1, *strides], [1, *dilations], [0, pads[0], 0, pads[1]]
    ceil = bool(c.attr("ceil_mode"))
    if spatial == 3:
        y = c.ops(
            "MaxPool3D", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], padding="CALCULATED",
            pads=interleaved(pads), dilation=[1, 1, *dilations], ceil_mode=int(ceil), data_format="NCDHW",
            formats=_both(3),
        )[0]  # fmt: skip
        return [y]
    if any(d != 1 for d in dilations):
        return pooled_with_places(c, kernel[1:], strides[1:], dilations[1:], [pads[1], pads[3]])
    y = c.ops(
        "MaxPoolV3", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], pads=interleaved(pads), ceil_mode=ceil,
        formats=_both(2),
    )[0]  # fmt: skip
    return [c.op("Squeeze", y, axis=[2]) if spatial == 1 else y]


@lowering("AveragePool", "ge.AveragePool")
def average_pool(c: LowerCall) -> Out:
    """AvgPoolV2 and AvgPool3D."""
    spatial = c.rank() - 2
    kernel = list(c.attr("kernel_shape"))
    if c.node.op == "AveragePool":
        strides, dilations, pads = window(c, spatial)
        divisor = 0
    else:
        strides, dilations, pads = (list(c.attr(name)) for name in ("strides", "dilations", "pads"))
        divisor = c.attr("divisor")
    if any(d != 1 for d in dilations):
        raise c.refuse("dilations")
    include, ceil = bool(c.attr("count_include_pad")), bool(c.attr("ceil_mode"))
    x = c[0]
    if spatial == 1:
        x = c.op("Unsqueeze", x, axes=[2])
        kernel, strides, pads = [1, *kernel], [1, *strides], [0, pads[0], 0, pads[1]]
    if spatial == 3:
        return c.ops(
            "AvgPool3D", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], pads=interleaved(pads), ceil_mode=ceil,
            count_include_pad=include, divisor_override=divisor, data_format="NCDHW", formats=_both(3),
        )[0]  # fmt: skip
    y = c.ops(
        "AvgPoolV2", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], pads=interleaved(pads), ceil_mode=ceil,
        exclusive=not include, divisor_override=divisor, formats=_both(2),
    )[0]  # fmt: skip
    return c.op("Squeeze", y, axis=[2]) if spatial == 1 else y


@lowering("ge.AdaptivePool")
def adaptive_pool(c: LowerCall) -> list[Out]:
    """Windows of one size are a plain pooling; others have operators for two axes."""
    sizes, shape = c.attr("output_size"), c.shape()[2:]
    spatial = len(shape)
    average = c.attr("mode") == "average"
    if len(c.node.outputs) > 1 and c.node.outputs[1].has_uses:
        raise c.refuse("the positions of the largest elements")
    if all(size == 1 for size in sizes):
        type = "ReduceMean" if average else "ReduceMax"
        return [c.op(type, c[0], c.ints(range(2, c.rank())), keep_dims=True)]
    if any(isinstance(size, Dim) for size in (*sizes, *shape)):
        raise c.refuse("sizes that are known at run time only")
    if all(n % out == 0 for n, out in zip(shape, sizes, strict=True)):
        kernel = [n // out for n, out in zip(shape, sizes, strict=True)]
        return [_even_pool(c, kernel, spatial, average)]
    if spatial == 1:
        x = c.op("Unsqueeze", c[0], axes=[2])
        return [c.op("Squeeze", _adaptive(c, x, [1, *sizes], average), axis=[2])]
    if spatial == 2:
        return [_adaptive(c, c[0], list(sizes), average)]
    raise c.refuse(f"uneven windows on {spatial} axes")


def _adaptive(c: LowerCall, x: Out, sizes: list[int], average: bool) -> Out:
    type = "AdaptiveAvgPool2d" if average else "AdaptiveMaxPool2d"
    return c.ops(type, x, output_size=sizes, count=1 if average else 2, formats=_both(2))[0]


def _even_pool(c: LowerCall, kernel: list[int], spatial: int, average: bool) -> Out:
    x = c[0]
    if spatial == 1:
        x, kernel = c.op("Unsqueeze", x, axes=[2]), [1, *kernel]
    window_ = [1, 1, *kernel]
    pads = [0] * (2 * len(kernel))
    if len(kernel) == 3:
        if average:
            return c.ops("AvgPool3D", x, ksize=window_, strides=window_, pads=pads, data_format="NCDHW",
                         formats=_both(3))[0]  # fmt: skip
        return c.ops("MaxPool3D", x, ksize=window_, strides=window_, padding="CALCULATED", pads=pads,
                     data_format="NCDHW", formats=_both(3))[0]  # fmt: skip
    type = "AvgPoolV2" if average else "MaxPoolV3"
    y = c.ops(type, x, ksize=window_, strides=window_, pads=pads, formats=_both(2))[0]
    return c.op("Squeeze", y, axis=[2]) if spatial == 1 else y


@lowering("MaxUnpool")
def max_unpool(c: LowerCall) -> Out:
    """The elements written to their flat places in a tensor of zeros."""
    sizes = c.output_shape()
    zeros = c.op("Fill", c.ints([product(sizes)]), c.const(0, c[0].value.dtype))
    places = c.reshape(c.cast(c.as_is(1), int64), [-1])
    return c.reshape(c.op("ScatterElements", zeros, places, c.reshape(c[0], [-1]), axis=0), sizes)


@lowering("LpPool")
def lp_pool(c: LowerCall) -> Out:
    """(sum of |x|^p over a window)^(1/p), the sum by an average with divisor 1."""
    spatial, p = c.rank() - 2, float(c.attr("p"))
    if spatial != 2 or any(d != 1 for d in (c.attr("dilations") or [])):
        raise c.refuse("other than two axes without dilations")
    kernel = list(c.attr("kernel_shape"))
    strides, _, pads = window(c, 2)
    x = c.op("Pow", c.op("Abs", c[0]), p)
    y = c.ops(
        "AvgPoolV2", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], pads=interleaved(pads),
        ceil_mode=bool(c.attr("ceil_mode")), exclusive=False, divisor_override=1, formats=_both(2),
    )[0]  # fmt: skip
    return c.op("Pow", y, 1.0 / p)


@lowering("Resize")
def resize(c: LowerCall) -> Out:
    """Resize with the result's sizes, or with the scales where the scales decide the coordinates."""
    if c.attr("antialias") or (c.attr("keep_aspect_ratio_policy") or "stretch") != "stretch":
        raise c.refuse("antialiasing or a policy of the aspect ratio")
    if c.attr("axes") is not None and len(c.attr("axes")) != c.rank():
        return _all_axes(c)
    names = (
        "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "mode",
        "nearest_mode",
    )  # fmt: skip
    attrs = {name: c.attr(name) for name in names}
    attrs = {k: float(v) if k in ("cubic_coeff_a", "extrapolation_value") else v for k, v in attrs.items()}
    scales = c.get(2)
    formats = _both(c.rank() - 2) if c.rank() in (4, 5) else None
    if scales is not None and c.shape(2) != (0,):
        return c.ops("Resize", c[0], None, c.cast(scales, float32), None, formats=formats, **attrs)[0]
    return c.ops("Resize", c[0], None, None, c.ints(c.output_shape()), formats=formats, **attrs)[0]


def _all_axes(c: LowerCall) -> Out:
    """Scales or sizes of some axes become those of all."""
    axes = [a % c.rank() for a in c.attr("axes")]
    names = ("coordinate_transformation_mode", "exclude_outside", "mode", "nearest_mode")
    attrs = {name: c.attr(name) for name in names} | {
        name: float(c.attr(name)) for name in ("cubic_coeff_a", "extrapolation_value")
    }
    formats = _both(c.rank() - 2) if c.rank() in (4, 5) else None
    given = constant_of(c.node.input(2))
    if given is not None and given.type.elements != 0:
        full = [1.0] * c.rank()
        for axis, scale in zip(axes, given.array(), strict=True):
            full[axis] = float(scale)
        return c.ops("Resize", c[0], None, c.const(full, float32), None, formats=formats, **attrs)[0]
    if c.node.input(3) is None:
        raise c.refuse("scales that are computed from data")
    return c.ops("Resize", c[0], None, None, c.ints(c.output_shape()), formats=formats, **attrs)[0]


@lowering("GridSample")
def grid_sample(c: LowerCall) -> Out:
    spatial = c.rank() - 2
    if spatial not in (2, 3):
        raise c.refuse(f"{spatial} spatial axes")
    mode = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}[c.attr("mode")]
    return c.op(
        f"GridSampler{spatial}D", c[0], c[1], interpolation_mode=mode, padding_mode=c.attr("padding_mode"),
        align_corners=bool(c.attr("align_corners")),
    )  # fmt: skip


@lowering("RoiAlign")
def roi_align(c: LowerCall) -> Out:
    """ROIAlign with the batch index as the first of five numbers of a box."""
    if c.attr("mode") != "avg":
        raise c.refuse(f"the mode {c.attr('mode')}")
    ends = {"output_half_pixel": 0, "half_pixel": 2}
    batch = c.op("Unsqueeze", c.cast(c.as_is(2), c[1].value.dtype), axes=[1])
    rois = c.op("ConcatV2", [batch, c[1]], c.const(1, int32), N=2)
    return c.ops(
        "ROIAlign", c[0], rois, spatial_scale=float(c.attr("spatial_scale")), pooled_height=c.attr("output_height"),
        pooled_width=c.attr("output_width"), sample_num=c.attr("sampling_ratio"),
        roi_end_mode=ends[c.attr("coordinate_transformation_mode")], formats={"features": "NCHW", "y": "NCHW"},
    )[0]  # fmt: skip


@lowering("NonMaxSuppression")
def nms(c: LowerCall) -> Out:
    """Its thresholds are float32 scalars, its result int32."""
    scalars: list[Out | None] = []
    for index, dtype in ((2, int32), (3, float32), (4, float32)):
        given = c.node.input(index)
        scalars.append(None if given is None else c.reshape(c.cast(c.as_is(index), dtype), []))
    found = c.op("NonMaxSuppressionV6", c[0], c[1], *scalars, center_point_box=c.attr("center_point_box"))
    return c.cast(found, int64)


@lowering("ge.Im2Col")
def im2col(c: LowerCall) -> Out:
    if c.rank() != 4:
        raise c.refuse(f"{c.rank() - 2} spatial axes")
    kernel, strides, pads, dilations = (list(c.attr(name)) for name in ("kernel_shape", "strides", "pads", "dilations"))
    y = c.ops(
        "Im2col", c[0], ksizes=kernel, strides=strides, dilations=dilations, pads=interleaved(pads), formats=_both(2)
    )[0]
    return c.reshape(y, c.output_shape())


@lowering("Col2Im")
def col2im(c: LowerCall) -> Out:
    sizes, kernel = c.known(1), c.known(2)
    pads = list(c.attr("pads") or [0] * 4)
    if len(kernel) != 2 or pads[:2] != pads[2:]:
        raise c.refuse("other than two axes with equal padding on both sides")
    return c.op(
        "Col2im", c[0], c.ints(sizes, int32), kernel_size=list(kernel), dilation=list(c.attr("dilations") or [1, 1]),
        padding=pads[:2], stride=list(c.attr("strides") or [1, 1]),
    )  # fmt: skip


@lowering("AffineGrid")
def affine_grid(c: LowerCall) -> Out:
    return c.expand()[0]
