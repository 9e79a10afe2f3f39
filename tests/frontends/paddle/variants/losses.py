"""Variants of losses, quantisation and fused operators."""

# ruff: noqa: E501  a line for each form of an operator

from __future__ import annotations

import numpy as np
import paddle
from paddle import _C_ops as C
from paddle.nn import functional as F

from tests.frontends.paddle.variants.data import f32, f64, i32, i64, v

P, Q = f32(3, 4, low=0.05, high=0.95), f32(3, 4, low=0.05, high=0.95, seed=1)
SIGNS = (f32(3, 4, seed=2) > 0).astype(np.float32)

LOSSES = {
    "bce_loss": [v(C.bce_loss, P, SIGNS), v(C.bce_loss, P, Q), v(C.bce_loss, f64(5, low=0.1, high=0.9), f64(5, low=0, high=1))],
    "sigmoid_cross_entropy_with_logits": [v(lambda x, y: C.sigmoid_cross_entropy_with_logits(x, y, None, False, -100), f32(3, 4), SIGNS),
                                          v(lambda x, y, w: C.sigmoid_cross_entropy_with_logits(x, y, w, False, -100), f32(3, 4), SIGNS, P),
                                          v(lambda x, y: C.sigmoid_cross_entropy_with_logits(x, y, None, False, 1), f64(5), (f64(5, seed=1) > 0).astype(np.float64))],
    "huber_loss": [v(lambda x, y, d=d: C.huber_loss(x, y, d), f32(3, 4), f32(3, 4, seed=1)) for d in (0.5, 1.0, 3.0)],
    "log_loss": [v(lambda x, y, e=e: F.log_loss(x, y, e), f32(5, 1, low=0.1, high=0.9), (f32(5, 1, seed=1) > 0).astype(np.float32)) for e in (1e-4, 1e-2, 0.1)],
    "kldiv_loss": [v(lambda x, y, r=r: F.kl_div(x, y, r), np.log(P), Q) for r in ("mean", "sum", "none", "batchmean")] + [v(lambda x, y: C.kldiv_loss(x, y, "none", True), np.log(P), np.log(Q))],
    "nll_loss": [v(F.nll_loss, np.log(P), i64(3, low=0, high=4)), v(lambda x, y, w: F.nll_loss(x, y, w), np.log(P), i64(3, low=0, high=4), f32(4, low=0.1)), v(lambda x, y: F.nll_loss(x, y, reduction="none"), np.log(P), i64(3, low=0, high=4)),
                 v(lambda x, y: F.nll_loss(x, y, reduction="sum", ignore_index=1), np.log(P), i64(3, low=0, high=4))],
    "hinge_loss": [v(C.hinge_loss, f32(4, 1), (f32(4, 1, seed=1) > 0).astype(np.float32)), v(C.hinge_loss, f32(2, 1), np.float32([[1], [0]])), v(C.hinge_loss, f32(6, 1), np.ones((6, 1), np.float32))],
    "cross_entropy_with_softmax": [v(F.softmax_with_cross_entropy, f32(3, 4), i64(3, 1, low=0, high=4)), v(lambda x, y: F.softmax_with_cross_entropy(x, y, True), f32(3, 4), F.softmax(paddle.to_tensor(f32(3, 4, seed=1))).numpy()),
                                   v(lambda x, y: F.softmax_with_cross_entropy(x, y, ignore_index=1, return_softmax=True), f32(3, 4), i64(3, 1, low=0, high=4)), v(lambda x, y: F.softmax_with_cross_entropy(x, y, axis=1), f32(2, 4, 3), i64(2, 1, 3, low=0, high=4))],
    "identity_loss": [v(lambda x, r=r: C.identity_loss(x, r), f32(3, 4)) for r in (0, 1, 2)],
}  # fmt: skip

_S = np.float32([1.7])

QUANTISED = {
    "fake_quantize_dequantize_abs_max": [v(lambda x, r=r, n=n: C.fake_quantize_dequantize_abs_max(x, n, r), f32(3, 4)) for n, r in ((8, 0), (8, 1), (4, 1))],
    "fake_quantize_abs_max": [v(lambda x, r=r, n=n: C.fake_quantize_abs_max(x, n, r), f32(3, 4)) for n, r in ((8, 0), (8, 1), (4, 1))],
    "fake_channel_wise_quantize_abs_max": [v(lambda x, a=a: C.fake_channel_wise_quantize_abs_max(x, 8, 1, a, False), f32(3, 4)) for a in (0, 1)] + [v(lambda x: C.fake_channel_wise_quantize_abs_max(x, 4, 0, 0, False), f32(3, 4, 2, 2))],
    "fake_channel_wise_quantize_dequantize_abs_max": [v(lambda x, a=a: C.fake_channel_wise_quantize_dequantize_abs_max(x, 8, 1, a), f32(3, 4)) for a in (0, 1)] + [v(lambda x: C.fake_channel_wise_quantize_dequantize_abs_max(x, 4, 0, 0), f32(3, 4, 2, 2))],
    "fake_dequantize_max_abs": [v(lambda x, s, m=m: C.fake_dequantize_max_abs(x, s, m), np.round(f32(3, 4) * 50), _S) for m in (127.0, 7.0, 255.0)],
    "fake_channel_wise_dequantize_max_abs": [v(lambda x, s: C.fake_channel_wise_dequantize_max_abs(x, [s], [8], 0, 1), np.round(f32(3, 4) * 50), f32(3, low=0.5)), v(lambda x, s: C.fake_channel_wise_dequantize_max_abs(x, [s], [8], 1, 1), np.round(f32(3, 4) * 50), f32(4, low=0.5)),
                                             v(lambda x, s: C.fake_channel_wise_dequantize_max_abs(x, [s], [4], 0, 1), np.round(f32(3, 4, 2) * 7), f32(3, low=0.5))],
    "dequantize_abs_max": [v(lambda x, s, m=m: C.dequantize_abs_max(x, s, m), i32(3, 4, low=-100, high=100).astype(np.int8), _S) for m in (127.0, 7.0, 255.0)],
    "quantize_linear": [v(lambda x, s, z: C.quantize_linear(x, s, z, s, s, 0, 8, -128, 127, 0, True, False)[0], f32(3, 4), f32(3, low=0.5), np.zeros(3, np.float32)), v(lambda x, s, z: C.quantize_linear(x, s, z, s, s, 1, 8, -128, 127, 1, True, False)[0], f32(3, 4), f32(4, low=0.5), np.zeros(4, np.float32)),
                        v(lambda x, s, z: C.quantize_linear(x, s, z, s, s, -1, 8, -128, 127, 0, True, False)[0], f32(3, 4), _S, np.zeros(1, np.float32))],
}  # fmt: skip

_EDGES = (np.array([0, 1, 2, 0]), np.array([1, 2, 1, 0]))

GRAPHS = {
    "send_u_recv": [v(lambda x, s, d, o=o: paddle.geometric.send_u_recv(x, s, d, o), f32(3, 4), *_EDGES) for o in ("sum", "mean", "max", "min")],
    "send_ue_recv": [v(lambda x, y, s, d, m=m, o=o: paddle.geometric.send_ue_recv(x, y, s, d, m, o), f32(3, 4), f32(4, 4, seed=1), *_EDGES) for m, o in (("add", "sum"), ("mul", "max"), ("sub", "mean"), ("div", "min"))],
    "send_uv": [v(lambda x, y, s, d, m=m: paddle.geometric.send_uv(x, y, s, d, m), f32(3, 4), f32(3, 4, seed=1), *_EDGES) for m in ("add", "sub", "mul", "div")],
}  # fmt: skip

FUSED = {
    "fused_softmax_mask": [v(C.fused_softmax_mask, f32(1, 2, 3, 4), f32(1, 1, 3, 4, seed=1)), v(C.fused_softmax_mask, f32(2, 1, 2, 5), f32(2, 1, 2, 5, seed=1)), v(C.fused_softmax_mask, f32(2, 2, 1, 3), f32(2, 1, 1, 3, seed=1))],
    "ctc_align": [v(lambda x, n, m=m, p=p: C.ctc_align(x, n, 0, m, p), i32(3, 6, low=0, high=3), np.array([[6], [4], [2]], np.int32)) for m, p in ((True, 0), (False, 0), (True, -1))],
    "accuracy": [v(C.accuracy, f32(4, k), i64(4, k, low=0, high=3), i64(4, 1, low=0, high=3, seed=1)) for k in (1, 2, 3)],
    "fc": [v(lambda x, w, b: C.fc(x, w, b, 1, "", False), f32(2, 3), f32(3, 4), f32(4)), v(lambda x, w, b: C.fc(x, w, b, 2, "relu", False), f32(2, 2, 3), f32(3, 4), f32(4)), v(lambda x, w: C.fc(x, w, None, 1, "", False), f32(2, 3, 2), f32(6, 4))],
    "matmul_with_flatten": [v(lambda x, w, a=a, b=b: C.matmul_with_flatten(x, w, a, b), f32(*s), f32(*t)) for a, b, s, t in ((1, 1, (2, 3), (3, 4)), (2, 1, (2, 2, 3), (3, 4)), (1, 2, (2, 6), (2, 3, 4)))],
    "trans_layout": [v(lambda x, p=p: C.trans_layout(x, p), f32(2, 3, 4)) for p in ([0, 2, 1], [2, 1, 0], [0, 1, 2])],
    "variance": [v(lambda x, a=a, k=k: C.variance(x, a, k), f32(2, 3, 4)) for a, k in (([], False), ([1], True), ([0, 2], False))],
    "im2sequence": [v(lambda x, k=k, s=s: C.im2sequence(x, None, k, s, [0, 0, 0, 0], [1, 1]), f32(2, 3, 4, 5)) for k, s in (([2, 2], [1, 1]), ([3, 1], [1, 2]), ([2, 3], [2, 1]))],
    "anchor_generator": [v(lambda x, a=a, o=o: C.anchor_generator(x, [16.0, 32.0], a, [0.1, 0.1, 0.2, 0.2], [16.0, 16.0], o), f32(1, 2, 3, 4)) for a, o in (([1.0], 0.5), ([0.5, 1.0, 2.0], 0.5), ([2.0], 0.0))],
    "linear_v2": [v(lambda x, w, b: C.linear_v2(x, w, b, False), f32(2, 3), f32(3, 4), f32(4)), v(lambda x, w, b: C.linear_v2(x, w, b, False), f32(2, 2, 3), f32(3, 4), f32(4)), v(lambda x, w, b: C.linear_v2(x, w, b, True), f32(2, 3), f32(4, 3), f32(4))],
    "print": [v(lambda x: C.print(x, 0, "", 1, False, False, False, False, False, "BOTH", True) + 0, a) for a in (f32(2), f64(3), f32(2, 2))],
    "npu_identity": [v(lambda x: C.npu_identity(x, -1), a) for a in (f32(2, 3), i64(3), f64())],
    "assign_out_": [v(lambda x, y: paddle.assign(x * 2, y), f32(2, 3), f32(2, 3, seed=1)), v(lambda x, y: paddle.assign(x + 1, y), i64(3), i64(3)), v(lambda x, y: paddle.assign(-x, y), f64(2), f64(2))],
    "add_position_encoding": [v(lambda x, a=a, b=b: C.add_position_encoding(x, a, b), f32(2, 3, 8)) for a, b in ((1.0, 1.0), (0.5, 2.0), (1.0, 0.0))],
    "i0": [v(paddle.i0, f32(3, 4)), v(paddle.i0, f64(5, low=-12, high=12), tol=1e-7), v(paddle.i0, f32())],
    "i0e": [v(paddle.i0e, f32(3, 4)), v(paddle.i0e, f64(5, low=-12, high=12), tol=1e-7), v(paddle.i0e, f32())],
    "i1": [v(paddle.i1, f32(3, 4)), v(paddle.i1, f64(5, low=-12, high=12), tol=1e-7), v(paddle.i1, f32())],
    "i1e": [v(paddle.i1e, f32(3, 4)), v(paddle.i1e, f64(5, low=-12, high=12), tol=1e-7), v(paddle.i1e, f32())],
}  # fmt: skip

TABLES = (LOSSES, QUANTISED, GRAPHS, FUSED)
