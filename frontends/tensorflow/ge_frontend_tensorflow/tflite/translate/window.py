"""Convolutions, pools, resizing, and blocks of pixels; data are [batch, rows, columns, channels]."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...program import Ref
from ..call import Call
from ..hybrid import is_hybrid, rounded_data
from ..registry import tflite

_PADDINGS = {0: "SAME", 1: "VALID"}


def _padding(c: Call) -> str:
    number = int(c.option("padding", 0))
    if number not in _PADDINGS:
        raise c.unsupported(f"the padding number {number}")
    return _PADDINGS[number]


def _window(c: Call, dilated: bool = True) -> dict[str, Any]:
    steps = [int(c.option(name, 1)) for name in ("stride_h", "stride_w")]
    rates = [int(c.option(name, 1)) for name in ("dilation_h_factor", "dilation_w_factor")] if dilated else [1, 1]
    if min(*steps, *rates) < 1:
        raise c.unsupported("a stride or dilation below 1")
    found: dict[str, Any] = {"padding": _padding(c), "strides": [1, *steps, 1], "data_format": "NHWC"}
    return {**found, "dilations": [1, *rates, 1]} if dilated else found


def _data(c: Call) -> Ref:
    """The data, rounded where only the weights are quantised."""
    x = c.input(0)
    return rounded_data(c, x, 4, symmetric=False) if is_hybrid(c, 0, 1) else x


def _biased(c: Call, x: Ref, place: int) -> Ref:
    if not c.has(place) or c.is_zero(place):
        return x
    return c.node("BiasAdd", x, c.input(place), data_format="NHWC")


def _moved(c: Call, place: int, perm: tuple[int, ...]) -> Ref:
    return c.node("Transpose", c.input(place), c.constant(perm))


@tflite("CONV_2D")
def conv_2d(c: Call) -> Ref:
    """Kernels are [out, rows, columns, in]."""
    y = c.node("Conv2D", _data(c), _moved(c, 1, (1, 2, 3, 0)), **_window(c))
    return c.activated(_biased(c, y, 2))


@tflite("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(c: Call) -> Ref:
    """Kernels are [1, rows, columns, in * multiplier]."""
    _, rows, columns, channels = c.shape(1)
    each = int(c.option("depth_multiplier", 0))
    count = c.tensor(0).shape[-1]
    if count is not None and count > 0:
        each = channels // count
    if each < 1 or channels % each:
        raise c.unsupported(f"a kernel of {channels} channels, {each} for each input channel")
    weight = c.node("Reshape", c.input(1), c.constant((rows, columns, channels // each, each)))
    y = c.node("DepthwiseConv2dNative", _data(c), weight, **_window(c))
    return c.activated(_biased(c, y, 2))


@tflite("CONV_3D")
def conv_3d(c: Call) -> Ref:
    """Kernels are [depth, rows, columns, in, out]."""
    steps = [int(c.option(f"stride_{a}", 1)) for a in "dhw"]
    rates = [int(c.option(f"dilation_{a}_factor", 1)) for a in "dhw"]
    y = c.node(
        "Conv3D", c.input(0), c.input(1), strides=[1, *steps, 1], dilations=[1, *rates, 1], padding=_padding(c),
        data_format="NDHWC",
    )  # fmt: skip
    return c.activated(_biased(c, y, 2))


@tflite("TRANSPOSE_CONV")
def transpose_conv(c: Call) -> Ref:
    """Inputs: the result's shape, kernels [out, rows, columns, in], the data, a bias."""
    weight = _moved(c, 1, (1, 2, 0, 3))
    y = c.node("Conv2DBackpropInput", c.raw(0), weight, c.input(2), **_window(c, dilated=False))
    return c.activated(_biased(c, y, 3))


@tflite("CONV_3D_TRANSPOSE")
def conv_3d_transpose(c: Call) -> Ref:
    """Inputs: the result's shape, kernels [depth, rows, columns, out, in], the data, a bias."""
    steps = [int(c.option(f"stride_{a}", 1)) for a in "dhw"]
    y = c.node(
        "Conv3DBackpropInputV2", c.raw(0), c.input(1), c.input(2), strides=[1, *steps, 1], padding=_padding(c),
        data_format="NDHWC",
    )  # fmt: skip
    return c.activated(_biased(c, y, 3))


def _pool(c: Call, op: str, x: Ref) -> Ref:
    kernel = [1, int(c.option("filter_height", 1)), int(c.option("filter_width", 1)), 1]
    return c.node(op, x, ksize=kernel, **_window(c, dilated=False))


@tflite("MAX_POOL_2D", moves=True)
def max_pool(c: Call) -> Ref:
    return c.activated(_pool(c, "MaxPool", c.input(0)))


@tflite("AVERAGE_POOL_2D")
def average_pool(c: Call) -> Ref:
    return c.activated(_pool(c, "AvgPool", c.input(0)))


@tflite("L2_POOL_2D")
def l2_pool(c: Call) -> Ref:
    """The root of the mean of squares."""
    return c.activated(c.node("Sqrt", _pool(c, "AvgPool", c.node("Square", c.input(0)))))


@tflite("RESIZE_BILINEAR")
def resize_bilinear(c: Call) -> Ref:
    return _resized(c, "ResizeBilinear")


@tflite("RESIZE_NEAREST_NEIGHBOR", moves=True)
def resize_nearest(c: Call) -> Ref:
    return _resized(c, "ResizeNearestNeighbor")


def _resized(c: Call, op: str) -> Ref:
    return c.node(
        op,
        c.input(0),
        c.raw(1),
        align_corners=bool(c.option("align_corners", False)),
        half_pixel_centers=bool(c.option("half_pixel_centers", False)),
    )


@tflite("DEPTH_TO_SPACE", moves=True)
def depth_to_space(c: Call) -> Ref:
    return c.node("DepthToSpace", c.input(0), block_size=int(c.option("block_size", 1)), data_format="NHWC")


@tflite("SPACE_TO_DEPTH", moves=True)
def space_to_depth(c: Call) -> Ref:
    return c.node("SpaceToDepth", c.input(0), block_size=int(c.option("block_size", 1)), data_format="NHWC")


@tflite("SPACE_TO_BATCH_ND")
def space_to_batch(c: Call) -> Ref:
    return c.node("SpaceToBatchND", c.input(0), c.raw(1), c.raw(2))


@tflite("BATCH_TO_SPACE_ND", moves=True)
def batch_to_space(c: Call) -> Ref:
    return c.node("BatchToSpaceND", c.input(0), c.raw(1), c.raw(2))


@tflite("LOCAL_RESPONSE_NORMALIZATION")
def lrn(c: Call) -> Ref:
    return c.node(
        "LRN",
        c.input(0),
        depth_radius=int(c.option("radius", 0)),
        bias=float(c.option("bias", 0.0)),
        alpha=float(c.option("alpha", 0.0)),
        beta=float(c.option("beta", 0.0)),
    )


@tflite("CUSTOM:Convolution2DTransposeBias")
def transposed_with_bias(c: Call) -> Ref:
    """MediaPipe's operator: data, kernels [out, rows, columns, in], bias; the options are TfLiteTransposeConvParams:
    32-bit padding (1 SAME, 2 VALID), column stride, row stride."""
    numbers = np.frombuffer(c.operator.custom, "<i4", min(len(c.operator.custom) // 4, 3))
    if len(numbers) < 3 or numbers[0] not in (1, 2) or (numbers[1:] < 1).any():
        raise c.unsupported("options of this form")
    padding, across, down = (int(n) for n in numbers)
    out, rows, columns, _ = c.shape(1)
    batch, height, width, _ = c.shape(0)
    sizes = [(n - 1) * s + k if padding == 2 else n * s for n, s, k in ((height, down, rows), (width, across, columns))]
    y = c.node(
        "Conv2DBackpropInput", c.constant((batch, *sizes, out)), _moved(c, 1, (1, 2, 0, 3)), c.input(0),
        strides=[1, down, across, 1], padding="VALID" if padding == 2 else "SAME", data_format="NHWC",
    )  # fmt: skip
    return _biased(c, y, 2)
