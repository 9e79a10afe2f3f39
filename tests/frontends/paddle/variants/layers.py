"""Variants of convolutions, pools, normalisations, resizing and regions."""

# ruff: noqa: E501  a line for each form of an operator

from __future__ import annotations

import numpy as np
import paddle
from paddle import _C_ops as C
from paddle.nn import functional as F

from tests.frontends.paddle.variants.data import f32, f64, v

IMAGE, KERNEL = f32(2, 4, 7, 6), f32(6, 4, 3, 3, seed=1)
LAST = np.ascontiguousarray(np.moveaxis(IMAGE, 1, -1))
VOLUME = f32(1, 2, 4, 5, 4)

CONVOLUTIONS = {
    "conv2d": [v(F.conv2d, IMAGE, KERNEL), v(lambda x, w: F.conv2d(x, w, stride=2, padding=1), IMAGE, KERNEL), v(lambda x, w: F.conv2d(x, w, padding="SAME", stride=2), IMAGE, KERNEL),
               v(lambda x, w: F.conv2d(x, w, padding="VALID"), IMAGE, KERNEL), v(lambda x, w: F.conv2d(x, w, padding=[1, 0, 2, 1]), IMAGE, KERNEL), v(lambda x, w: F.conv2d(x, w, dilation=2, padding="SAME"), IMAGE, KERNEL),
               v(lambda x, w: F.conv2d(x, w, groups=2), IMAGE, f32(6, 2, 3, 3)), v(lambda x, w, b: F.conv2d(x, w, b, data_format="NHWC", padding=1), LAST, KERNEL, f32(6))],
    "depthwise_conv2d": [v(lambda x, w: F.conv2d(x, w, groups=4), IMAGE, f32(4, 1, 3, 3)), v(lambda x, w: F.conv2d(x, w, groups=4, stride=2, padding="SAME"), IMAGE, f32(8, 1, 3, 3)), v(lambda x, w: F.conv2d(x, w, groups=4, padding=1, data_format="NHWC"), LAST, f32(4, 1, 3, 3))],
    "conv3d": [v(F.conv3d, VOLUME, f32(3, 2, 2, 3, 2)), v(lambda x, w: F.conv3d(x, w, stride=2, padding=1), VOLUME, f32(3, 2, 2, 3, 2)), v(lambda x, w: F.conv3d(x, w, padding="SAME"), VOLUME, f32(3, 2, 2, 3, 2))],
    "conv2d_transpose": [v(F.conv2d_transpose, IMAGE, f32(4, 3, 3, 3)), v(lambda x, w: F.conv2d_transpose(x, w, stride=2, padding=1, output_padding=1), IMAGE, f32(4, 3, 3, 3)), v(lambda x, w: F.conv2d_transpose(x, w, stride=2, output_size=[16, 14]), IMAGE, f32(4, 3, 3, 3)),
                         v(lambda x, w: F.conv2d_transpose(x, w, groups=2, dilation=2), IMAGE, f32(4, 3, 3, 3)), v(lambda x, w: F.conv2d_transpose(x, w, stride=2, data_format="NHWC"), LAST, f32(4, 3, 3, 3)), v(lambda x, w: F.conv2d_transpose(x, w, stride=2, padding="SAME"), IMAGE, f32(4, 3, 3, 3))],
    "depthwise_conv2d_transpose": [v(lambda x, w: F.conv2d_transpose(x, w, groups=4), IMAGE, f32(4, 1, 3, 3)), v(lambda x, w: F.conv2d_transpose(x, w, groups=4, stride=2), IMAGE, f32(4, 1, 3, 3)), v(lambda x, w: F.conv2d_transpose(x, w, groups=4, stride=2, padding=1), IMAGE, f32(4, 1, 2, 2))],
    "conv3d_transpose": [v(F.conv3d_transpose, VOLUME, f32(2, 3, 2, 2, 2)), v(lambda x, w: F.conv3d_transpose(x, w, stride=2, padding=1), VOLUME, f32(2, 3, 3, 3, 3)), v(lambda x, w: F.conv3d_transpose(x, w, stride=2, output_padding=1), VOLUME, f32(2, 3, 2, 2, 2))],
    "deformable_conv": [v(lambda x, o, w: paddle.vision.ops.deform_conv2d(x, o, w), IMAGE, f32(2, 18, 5, 4, low=-1, high=1), KERNEL), v(lambda x, o, w, m: paddle.vision.ops.deform_conv2d(x, o, w, mask=m), IMAGE, f32(2, 18, 5, 4), KERNEL, f32(2, 9, 5, 4, low=0)),
                        v(lambda x, o, w: paddle.vision.ops.deform_conv2d(x, o, w, padding=1, stride=2), IMAGE, f32(2, 18, 4, 3), KERNEL)],
    "unfold": [v(lambda x: F.unfold(x, 3), IMAGE), v(lambda x: F.unfold(x, [2, 3], 2, 1), IMAGE), v(lambda x: F.unfold(x, 2, 1, [1, 0, 2, 1], 2), IMAGE)],
    "fold": [v(lambda x: F.fold(x, [4, 5], 2), f32(2, 8, 12)), v(lambda x: F.fold(x, [4, 4], 2, 2), f32(1, 8, 4)), v(lambda x: F.fold(x, [4, 4], 3, 2, 1), f32(1, 9, 4))],
}  # fmt: skip

POOLS = {
    "pool2d": [v(lambda x: F.max_pool2d(x, 2), IMAGE), v(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), IMAGE), v(lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGE), v(lambda x: F.avg_pool2d(x, 3, 2, 1, exclusive=False), IMAGE),
               v(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), IMAGE), v(lambda x: F.max_pool2d(x, 3, 2, "SAME"), IMAGE), v(lambda x: F.avg_pool2d(x, 3, 2, "SAME"), IMAGE), v(lambda x: F.avg_pool2d(x, 2, 2, "VALID"), IMAGE),
               v(lambda x: F.adaptive_avg_pool2d(x, 1), IMAGE), v(lambda x: F.adaptive_avg_pool2d(x, [3, 4]), IMAGE), v(lambda x: F.adaptive_avg_pool2d(x, [None, 3]), IMAGE), v(lambda x: F.avg_pool2d(x, 2, data_format="NHWC"), LAST),
               v(lambda x: F.max_pool2d(x, 2, padding=[1, 0, 0, 1]), IMAGE), v(lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=4), IMAGE)],
    "pool3d": [v(lambda x: F.max_pool3d(x, 2), VOLUME), v(lambda x: F.avg_pool3d(x, 2, 2, 1), VOLUME), v(lambda x: F.adaptive_avg_pool3d(x, 2), VOLUME), v(lambda x: F.avg_pool3d(x, 3, 2, 1, ceil_mode=True), VOLUME)],
    "max_pool2d_with_index": [v(lambda x: F.max_pool2d(x, 2, return_mask=True), IMAGE), v(lambda x: F.max_pool2d(x, 3, 2, 1, return_mask=True), IMAGE), v(lambda x: F.adaptive_max_pool2d(x, 3, True), IMAGE), v(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_mask=True), IMAGE)],
    "max_pool3d_with_index": [v(lambda x: F.max_pool3d(x, 2, return_mask=True), VOLUME), v(lambda x: F.max_pool3d(x, 3, 2, 1, return_mask=True), VOLUME), v(lambda x: F.adaptive_max_pool3d(x, 2, True), VOLUME)],
    "lp_pool2d": [v(lambda x: F.lp_pool2d(x, 2.0, 2), f32(1, 2, 4, 4, low=0)), v(lambda x: F.lp_pool2d(x, 3.0, 3, 2), f32(1, 2, 7, 7, low=0)), v(lambda x: F.lp_pool2d(x, 1.0, 2, 1), f32(1, 2, 4, 4, low=0))],
    "unpool": [v(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2), f32(1, 2, 4, 6)), v(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2, output_size=[5, 7]), f32(1, 2, 4, 6)), v(lambda x: F.max_unpool2d(*F.max_pool2d(x, [2, 1], return_mask=True), [2, 1]), f32(2, 1, 4, 2))],
    "unpool3d": [v(lambda x: F.max_unpool3d(*F.max_pool3d(x, 2, return_mask=True), 2), f32(1, 2, 4, 4, 2)), v(lambda x: F.max_unpool3d(*F.max_pool3d(x, 2, return_mask=True), 2, output_size=[5, 5, 3]), f32(1, 1, 4, 4, 2)), v(lambda x: F.max_unpool3d(*F.max_pool3d(x, [2, 1, 1], return_mask=True), [2, 1, 1]), f32(1, 1, 2, 2, 2))],
}  # fmt: skip

_STATS = (f32(4), f32(4, low=0.5, seed=1), f32(4, seed=2), f32(4, seed=3))

NORMS = {
    "batch_norm_": [v(lambda x, m, s, w, b: F.batch_norm(x, m, s, w, b), IMAGE, *_STATS), v(lambda x, m, s, w, b: F.batch_norm(x, m, s, w, b, epsilon=0.1, data_format="NHWC"), LAST, *_STATS), v(lambda x, m, s, w, b: F.batch_norm(x, m, s, w, b, data_format="NCL"), f32(3, 4, 5), *_STATS),
                    v(lambda x, m, s, w, b: F.batch_norm(x, m, s, w, b, data_format="NC"), f32(3, 4), *_STATS), v(lambda x, m, s, w, b: F.batch_norm(x, m, s, w, b, data_format="NCDHW"), f32(1, 4, 2, 2, 3), *_STATS)],
    "layer_norm": [v(lambda x: F.layer_norm(x, [6]), IMAGE), v(lambda x, w, b: F.layer_norm(x, [7, 6], w, b), IMAGE, f32(42), f32(42, seed=1)), v(lambda x, w: F.layer_norm(x, [6], w, epsilon=1e-3), f64(2, 6), f64(6))],
    "instance_norm": [v(F.instance_norm, IMAGE), v(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), IMAGE, f32(4), f32(4, seed=1)), v(lambda x: F.instance_norm(x, eps=0.1), f32(2, 3, 5))],
    "group_norm": [v(lambda x: F.group_norm(x, 2), IMAGE), v(lambda x, w, b: F.group_norm(x, 4, weight=w, bias=b), IMAGE, f32(4), f32(4, seed=1)), v(lambda x: F.group_norm(x, 2, 0.1, data_format="NHWC"), LAST)],
    "affine_channel": [v(lambda x, s, b: C.affine_channel(x, s, b, "NCHW"), IMAGE, f32(4), f32(4, seed=1)), v(lambda x, s, b: C.affine_channel(x, s, b, "NHWC"), LAST, f32(4), f32(4, seed=1)), v(lambda x, s, b: C.affine_channel(x, s, b, "NCHW"), f64(1, 4, 2, 2), f64(4), f64(4, seed=1))],
    "spectral_norm": [v(lambda w, a, b: C.spectral_norm(w, a, b, 0, 1, 1e-12), f32(3, 4), f32(3), f32(4)), v(lambda w, a, b: C.spectral_norm(w, a, b, 1, 2, 1e-12), f32(3, 4, 2), f32(4), f32(6)), v(lambda w, a, b: C.spectral_norm(w, a, b, 0, 3, 1e-6), f64(2, 3), f64(2), f64(3))],
}  # fmt: skip

RESIZE = {
    "nearest_interp": [v(lambda x: F.interpolate(x, scale_factor=2), IMAGE), v(lambda x: F.interpolate(x, size=[5, 9]), IMAGE), v(lambda x: F.interpolate(x, size=[5, 9], align_corners=False, data_format="NHWC"), LAST), v(lambda x: F.interpolate(x, scale_factor=[1.5, 0.7]), IMAGE),
                       v(lambda x: F.interpolate(x, size=[x.shape[2] * 2, 5]), IMAGE)],
    "bilinear_interp": [v(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE), v(lambda x: F.interpolate(x, size=[5, 9], mode="bilinear", align_corners=True), IMAGE), v(lambda x: F.interpolate(x, size=[5, 9], mode="bilinear", align_mode=1), IMAGE), v(lambda x: F.interpolate(x, size=[3, 4], mode="bilinear", data_format="NHWC"), LAST)],
    "bicubic_interp": [v(lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), IMAGE), v(lambda x: F.interpolate(x, size=[5, 9], mode="bicubic", align_corners=True), IMAGE), v(lambda x: F.interpolate(x, size=[3, 4], mode="bicubic"), IMAGE)],
    "linear_interp": [v(lambda x: F.interpolate(x, scale_factor=[2], mode="linear", data_format="NCW"), f32(2, 3, 5)), v(lambda x: F.interpolate(x, size=[7], mode="linear", align_corners=True, data_format="NCW"), f32(2, 3, 5)), v(lambda x: F.interpolate(x, size=[3], mode="linear", data_format="NCW"), f32(2, 3, 5))],
    "trilinear_interp": [v(lambda x: F.interpolate(x, scale_factor=2, mode="trilinear", data_format="NCDHW"), VOLUME), v(lambda x: F.interpolate(x, size=[3, 6, 5], mode="trilinear", align_corners=True, data_format="NCDHW"), VOLUME), v(lambda x: F.interpolate(x, size=[3, 6, 5], mode="trilinear", data_format="NCDHW"), VOLUME)],
    "grid_sample": [v(lambda x, g, m=m, p=p, a=a: F.grid_sample(x, g, m, p, a), IMAGE, f32(2, 3, 5, 2, low=-1.3, high=1.3), tol=1e-4) for m, p, a in (("bilinear", "zeros", True), ("nearest", "border", False), ("bilinear", "reflection", False), ("bilinear", "border", True), ("nearest", "reflection", True))],
    "affine_grid": [v(lambda t: F.affine_grid(t, [2, 3, 4, 5]), f32(2, 2, 3)), v(lambda t: F.affine_grid(t, [2, 3, 4, 5], False), f32(2, 2, 3)), v(lambda t: F.affine_grid(t, [1, 1, 2, 3, 4]), f32(1, 3, 4))],
}  # fmt: skip

_BOXES = np.array([[0, 0, 4, 4], [1, 1, 5, 6], [2, 0.5, 6, 4.5]], np.float32)
_COUNTS = np.array([2, 1], np.int32)
_IN_ORDER = np.array([[0, 0, 4, 4], [0, 0, 4, 3.5], [5, 5, 9, 9], [1, 1, 4, 4], [5, 5, 9, 8]], np.float32)

REGIONS = {
    "nms": [v(lambda x, t=t: paddle.vision.ops.nms(x, t), _IN_ORDER) for t in (0.3, 0.5, 0.9)],
    "multiclass_nms3": [v(lambda x, s, t=t, k=k, n=n, g=g: C.multiclass_nms3(x, s, None, 0.1, t, k, 0.4, n, 1.0, g), np.sort(f32(2, 8, 4, low=0, high=9), axis=2)[:, :, [0, 1, 2, 3]], f32(2, 3, 8, low=0, high=1, seed=1)) for t, k, n, g in ((100, 100, True, -1), (4, 5, True, -1), (100, 6, False, 0), (-1, -1, True, 1))],
    "roi_align": [v(lambda x, b, n: paddle.vision.ops.roi_align(x, b, n, 2), IMAGE, _BOXES, _COUNTS), v(lambda x, b, n: paddle.vision.ops.roi_align(x, b, n, (3, 2), 0.5, 2), IMAGE, _BOXES, _COUNTS), v(lambda x, b, n: paddle.vision.ops.roi_align(x, b, n, 2, 1.0, -1, False), IMAGE, _BOXES, _COUNTS)],
    "roi_pool": [v(lambda x, b, n: paddle.vision.ops.roi_pool(x, b, n, 2), IMAGE, _BOXES, _COUNTS), v(lambda x, b, n: paddle.vision.ops.roi_pool(x, b, n, (3, 2), 0.5), IMAGE, _BOXES, _COUNTS), v(lambda x, b, n: paddle.vision.ops.roi_pool(x, b, n, 1), IMAGE, _BOXES, _COUNTS)],
    "psroi_pool": [v(lambda x, b, n: paddle.vision.ops.psroi_pool(x, b, n, 2), f32(2, 8, 7, 6), _BOXES, _COUNTS), v(lambda x, b, n: paddle.vision.ops.psroi_pool(x, b, n, 2, 0.5), f32(2, 12, 7, 6), _BOXES, _COUNTS), v(lambda x, b, n: paddle.vision.ops.psroi_pool(x, b, n, 1), f32(2, 3, 7, 6), _BOXES, _COUNTS)],
    "yolo_box": [v(lambda x, s: paddle.vision.ops.yolo_box(x, s, [10, 13, 16, 30], 2, 0.01, 32), f32(2, 14, 3, 4), np.array([[96, 128], [90, 120]], np.int32), tol=1e-4), v(lambda x, s: paddle.vision.ops.yolo_box(x, s, [10, 13], 3, 0.5, 16, False, scale_x_y=1.2), f32(1, 8, 2, 2), np.array([[32, 32]], np.int32), tol=1e-4),
                 v(lambda x, s: paddle.vision.ops.yolo_box(x, s, [10, 13], 1, 0.1, 8, True, iou_aware=True, iou_aware_factor=0.4), f32(1, 7, 2, 3), np.array([[16, 24]], np.int32), tol=1e-4)],
    "prior_box": [v(lambda x, i: paddle.vision.ops.prior_box(x, i, [4.0, 8.0]), f32(1, 2, 3, 4), f32(1, 3, 24, 32)), v(lambda x, i: paddle.vision.ops.prior_box(x, i, [4.0], [9.0], [1.0, 2.0], flip=True, clip=True), f32(1, 2, 3, 4), f32(1, 3, 24, 32)),
                  v(lambda x, i: paddle.vision.ops.prior_box(x, i, [4.0], [9.0], [2.0], steps=[8.0, 8.0], min_max_aspect_ratios_order=True), f32(1, 2, 2, 2), f32(1, 3, 16, 16))],
    "box_coder": [v(lambda p, s, t: paddle.vision.ops.box_coder(p, s, t), _BOXES + 1, np.full((3, 4), 0.2, np.float32), _BOXES), v(lambda p, t: paddle.vision.ops.box_coder(p, [0.1, 0.1, 0.2, 0.2], t, "decode_center_size", axis=0), _BOXES + 1, f32(2, 3, 4, low=0, high=1)),
                  v(lambda p, t: paddle.vision.ops.box_coder(p, [0.1, 0.1, 0.2, 0.2], t, "decode_center_size", False, axis=1), _BOXES + 1, f32(3, 2, 4, low=0, high=1)), v(lambda p, s, t: paddle.vision.ops.box_coder(p, s, t, box_normalized=False), _BOXES + 1, np.full((3, 4), 0.2, np.float32), _BOXES)],
}  # fmt: skip


def _rnn(mode: str, layers: int, directions: int, lengths: bool):  # type: ignore[no-untyped-def]
    """A function that calls the recurrent operator, and its arrays."""
    gates = {"LSTM": 4, "GRU": 3}.get(mode, 1)
    hidden, width = 3, 4
    states = 2 if mode == "LSTM" else 1
    weights, biases = [], []
    for layer in range(layers):
        size = width if layer == 0 else hidden * directions
        for d in range(directions):
            weights += [
                f32(gates * hidden, size, seed=layer * 7 + d),
                f32(gates * hidden, hidden, seed=layer * 5 + d + 1),
            ]
            biases += [f32(gates * hidden, seed=layer + d), f32(gates * hidden, seed=layer + d + 9)]
    initial = [f32(layers * directions, 2, hidden, seed=s) for s in range(states)]
    given = [np.array([3, 5])] if lengths else []

    def run(x, *rest):  # type: ignore[no-untyped-def]
        pre, rest = list(rest[:states]), rest[states:]
        every, rest = list(rest[: len(weights) * 2]), rest[len(weights) * 2 :]
        state = paddle.zeros([1], "uint8")
        out = C.rnn(
            x, pre, every, rest[0] if rest else None, state, 0.0, directions == 2, width, hidden, layers, mode, 0, True
        )
        return out[0], *out[2]

    return v(run, f32(5, 2, width), *initial, *weights, *biases, *given)


RECURRENT = {
    "rnn": [_rnn("LSTM", 1, 1, False), _rnn("LSTM", 2, 2, True), _rnn("GRU", 2, 1, False), _rnn("GRU", 1, 2, True), _rnn("RNN_TANH", 2, 2, False), _rnn("RNN_RELU", 1, 1, True)],
}  # fmt: skip

TABLES = (CONVOLUTIONS, POOLS, NORMS, RESIZE, REGIONS, RECURRENT)
