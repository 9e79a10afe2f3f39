"""Convolutions, pools, normalisation, images, recurrent cells, quantisation."""

from __future__ import annotations

from itertools import product

import numpy as np
import tensorflow as tf

from .form import Fixed, Variant, f, i, k, open_, v, within

IMAGE = f(2, 7, 9, 4)
VOLUME = f(1, 4, 5, 6, 2)


def _conv2d() -> list[Variant]:
    found = [
        v(IMAGE, k(f(3, 2, 4, 5)), strides=[1, s, s, 1], padding=p, dilations=[1, d, d, 1])
        for s, p, d in (
            (1, "SAME", 1),
            (2, "SAME", 1),
            (2, "VALID", 1),
            (1, "SAME", 2),
            (1, "VALID", 2),
            (3, "SAME", 1),
        )
    ]
    found += [
        open_(IMAGE, k(f(3, 3, 4, 2)), strides=[1, 1, 1, 1], padding="SAME"),
        open_(IMAGE, k(f(3, 3, 4, 2)), strides=[1, 2, 2, 1], padding="VALID"),
        v(IMAGE, k(f(3, 3, 2, 6)), strides=[1, 1, 1, 1], padding="VALID"),
        v(IMAGE, f(2, 2, 4, 3), strides=[1, 2, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]),
    ]
    return found


def _depthwise() -> list[Variant]:
    found = [
        v(IMAGE, k(f(3, 2, 4, m)), strides=[1, s, s, 1], padding=p)
        for s, p, m in ((1, "SAME", 1), (2, "SAME", 2), (2, "VALID", 1))
    ]
    return [
        *found,
        open_(IMAGE, k(f(3, 3, 4, 1)), strides=[1, 1, 1, 1], padding="SAME"),
        v(IMAGE, k(f(3, 3, 4, 2)), strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1]),
    ]


def _pool() -> list[Variant]:
    found = [
        v(IMAGE, ksize=[1, k_, k_, 1], strides=[1, s, s, 1], padding=p)
        for k_, s, p in ((2, 2, "VALID"), (3, 2, "SAME"), (3, 1, "SAME"), (2, 3, "VALID"))
    ]
    return [
        *found,
        open_(IMAGE, ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME"),
        open_(IMAGE, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
    ]


def _pool3d() -> list[Variant]:
    return [
        v(VOLUME, ksize=[1, 2, 2, 2, 1], strides=[1, s, s, s, 1], padding=p)
        for s, p in ((1, "SAME"), (2, "VALID"), (2, "SAME"))
    ]


def _resize() -> list[Variant]:
    found = []
    for size, mode in product(
        ([14, 18], [5, 4], [7, 3], [1, 1]), ({}, {"align_corners": True}, {"half_pixel_centers": True})
    ):
        found.append(v(IMAGE, k(size), **mode))
    return [*found, v(i(1, 4, 4, 1, low=0, high=255, dtype=np.uint8), k([8, 6]))]


BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 1, 0, 0.2]], np.float32)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5], np.float32)


def _nms(*more: object, **attrs: object) -> list[Variant]:
    return [
        v(BOXES, SCORES, k(3), *(k(m) for m in more), **attrs),
        v(BOXES[:2], SCORES[:2], k(9), *(k(m) for m in more), **attrs),
        open_(BOXES, SCORES[::-1].copy(), k(2), *(k(m) for m in more), **attrs),
    ]


def _batch_norm(training: bool) -> list[Variant]:
    c = [f(4, seed=s, low=0.5) for s in range(4)]
    empty = k(np.zeros(0, np.float32))
    stats = (empty, empty) if training else (c[2], c[3])
    return [
        v(IMAGE, c[0], c[1], *stats, is_training=training),
        v(f(1, 2, 2, 4), c[0], c[1], *stats, is_training=training, epsilon=0.01),
        open_(IMAGE, c[0], c[1], *stats, is_training=training),
    ]


def _only(count: int, variants: list[Variant], op: str) -> list[Variant]:
    """Variants of which only the first results are compared: the others are reserved for gradients."""
    found = []
    for one in variants:

        def call(*args: object, one: Variant = one) -> object:
            names = ("x", "scale", "offset", "mean", "variance")
            given = iter(args)
            values = [a.value if isinstance(a, Fixed) else next(given) for a in one.args]
            return getattr(tf.raw_ops, op)(**dict(zip(names, values, strict=True)), **one.attrs)[:count]

        found.append(within(call, *(a for a in one.args if not isinstance(a, Fixed)), open_sizes=one.open_sizes))
    return found


def _transposed2d() -> list[Variant]:
    found = []
    for s, p in ((1, "SAME"), (2, "SAME"), (2, "VALID"), (3, "VALID")):
        x = f(2, 8, 9, 4)
        forward = tf.nn.conv2d(x, f(3, 3, 4, 5), s, p)
        found.append(v(k([2, 8, 9, 4]), k(f(3, 3, 4, 5)), f(*forward.shape), strides=[1, s, s, 1], padding=p))
    shape = lambda y: tf.stack([tf.shape(y)[0], tf.shape(y)[1] * 2, tf.shape(y)[2] * 2, 3])  # noqa: E731
    for p in ("SAME", "VALID"):
        found.append(
            within(
                lambda y, p=p: tf.nn.conv2d_transpose(y, f(2, 2, 3, 4), shape(y), 2, p), f(2, 3, 4, 4), open_sizes=True
            )
        )
    return found


def _transposed3d() -> list[Variant]:
    shape = lambda y: tf.stack([tf.shape(y)[0], tf.shape(y)[1] * 2, tf.shape(y)[2] * 2, tf.shape(y)[3] * 2, 3])  # noqa: E731
    return [
        v(k([1, 4, 5, 6, 3]), k(f(2, 2, 2, 3, 2)), f(1, 4, 5, 6, 2), strides=[1, 1, 1, 1, 1], padding="SAME"),
        v(k([1, 4, 6, 4, 3]), k(f(2, 2, 2, 3, 2)), f(1, 2, 3, 2, 2), strides=[1, 2, 2, 2, 1], padding="VALID"),
        within(
            lambda y: tf.nn.conv3d_transpose(y, f(2, 2, 2, 3, 2), shape(y), 2, "SAME"),
            f(1, 2, 3, 2, 2),
            open_sizes=True,
        ),
        within(
            lambda y: tf.nn.conv3d_transpose(y, f(3, 3, 3, 3, 2), shape(y), 2, "SAME"),
            f(1, 2, 3, 2, 2),
            open_sizes=True,
        ),
    ]


ROWS = f(3, 5)
CELL = [
    f(2, 3),
    f(2, 4, seed=1),
    f(2, 4, seed=2),
    k(f(7, 16)),
    k(f(4, seed=3)),
    k(f(4, seed=4)),
    k(f(4, seed=5)),
    k(f(16)),
]


def _cell(**attrs: object) -> Variant:
    return v(*CELL, **attrs)


def _block() -> list[Variant]:
    given = [Fixed(np.int64(5)), f(5, 2, 3), *CELL[1:]]
    return [v(*given), v(*given, use_peephole=True), v(*given, cell_clip=0.5)]


NEURAL: dict[str, list[Variant]] = {
    "Conv2D": _conv2d(),
    "DepthwiseConv2dNative": _depthwise(),
    "MaxPool": _pool(),
    "AvgPool": _pool(),
    "Conv3D": [
        v(VOLUME, k(f(2, 2, 2, 2, 3)), strides=[1, s, s, s, 1], padding=p)
        for s, p in ((1, "SAME"), (2, "VALID"), (2, "SAME"))
    ],
    "Conv": [
        v(IMAGE, k(f(3, 2, 4, 5)), strides=[1, s, s, 1], padding=p) for s, p in ((1, "SAME"), (2, "SAME"), (2, "VALID"))
    ],
    "Conv2DBackpropInput": _transposed2d(),
    "Conv3DBackpropInputV2": _transposed3d(),
    "DepthwiseConv2dNativeBackpropInput": [
        v(k([1, 6, 6, 3]), k(f(3, 3, 3, 1)), f(1, 6, 6, 3), strides=[1, 1, 1, 1], padding="SAME"),
        v(k([1, 6, 6, 3]), k(f(3, 3, 3, 2)), f(1, 4, 4, 6), strides=[1, 1, 1, 1], padding="VALID"),
        v(k([2, 6, 4, 2]), k(f(2, 2, 2, 1)), f(2, 3, 2, 2), strides=[1, 2, 2, 1], padding="SAME"),
    ],
    "Dilation2D": [
        v(IMAGE, f(3, 2, 4), strides=[1, s, s, 1], rates=[1, r, r, 1], padding=p)
        for s, r, p in ((1, 1, "SAME"), (2, 1, "VALID"), (1, 2, "SAME"))
    ],
    "MaxPoolV2": [
        v(IMAGE, k([1, n, n, 1]), k([1, s, s, 1]), padding=p)
        for n, s, p in ((2, 2, "VALID"), (3, 2, "SAME"), (3, 1, "SAME"))
    ],
    "MaxPool3D": _pool3d(),
    "AvgPool3D": _pool3d(),
    "MaxPoolWithArgmax": [
        v(IMAGE, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
        v(IMAGE, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"),
        v(IMAGE, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME", include_batch_in_index=True),
    ],
    "ExtractImagePatches": [
        v(IMAGE, ksizes=[1, 3, 2, 1], strides=[1, s, s, 1], rates=[1, r, r, 1], padding=p)
        for s, r, p in ((1, 1, "SAME"), (2, 2, "VALID"), (2, 1, "SAME"))
    ],
    "ExtractVolumePatches": [
        v(VOLUME, ksizes=[1, 2, 2, 3, 1], strides=[1, s, s, s, 1], padding=p)
        for s, p in ((1, "SAME"), (2, "VALID"), (2, "SAME"))
    ],
    "FusedBatchNorm": _only(1, _batch_norm(False), "FusedBatchNorm"),
    "FusedBatchNormV2": [
        *_only(1, _batch_norm(False), "FusedBatchNormV2"),
        *_only(3, _batch_norm(True), "FusedBatchNormV2"),
    ],
    "FusedBatchNormV3": [
        *_only(1, _batch_norm(False), "FusedBatchNormV3"),
        *_only(3, _batch_norm(True), "FusedBatchNormV3"),
    ],
    "LRN": [v(IMAGE), v(f(1, 2, 2, 7), depth_radius=2, bias=2.0, alpha=0.5, beta=0.75), open_(IMAGE, depth_radius=1)],
    "Softmax": [v(ROWS), open_(f(4)), v(f(2, 3, 4, scale=30)), v(f(0, 3))],
    "LogSoftmax": [v(ROWS), open_(f(4)), v(f(2, 3, 4, scale=30)), v(f(0, 3))],
    "L2Loss": [v(ROWS), open_(f(4)), v(f(2, 3, 4, dtype=np.float64))],
    "SoftmaxCrossEntropyWithLogits": [v(ROWS, f(3, 5, low=0)), open_(ROWS, f(3, 5, low=0)), v(f(1, 2), f(1, 2, low=0))],
    "SparseSoftmaxCrossEntropyWithLogits": [
        v(ROWS, i(3, low=0, high=5)),
        open_(ROWS, i(3, low=0, high=5)),
        v(f(1, 2), k([1])),
    ],
    "BiasAdd": [v(IMAGE, f(4)), open_(ROWS, f(5)), v(f(1, 3, 2, 2), f(3), data_format="NCHW")],
    "BiasAddV1": [v(IMAGE, f(4)), open_(ROWS, f(5)), v(f(1, 3), f(3))],
    "BiasAddGrad": [v(IMAGE), open_(ROWS), v(f(1, 3, 2, 2), data_format="NCHW")],
    "MatMul": [
        v(f(2, 3), f(3, 4)),
        v(f(3, 2), k(f(4, 3)), transpose_a=True, transpose_b=True),
        open_(f(2, 3), k(f(3, 4))),
        v(f(0, 3), f(3, 2)),
        v(i(2, 3), i(3, 2)),
    ],
    "BatchMatMul": [
        v(f(2, 3, 4), f(2, 4, 5)),
        v(f(2, 4, 3), f(2, 5, 4), adj_x=True, adj_y=True),
        open_(f(2, 2, 3), f(2, 3, 2)),
    ],
    "BatchMatMulV2": [
        v(f(2, 3, 4), f(4, 5)),
        v(f(2, 1, 4, 3), f(3, 5, 4), adj_x=True, adj_y=True),
        open_(f(2, 2, 3), f(2, 3, 2)),
    ],
    "BatchMatMulV3": [
        v(f(2, 3, 4), f(4, 5), Tout=np.float32),
        v(f(2, 4, 3), f(2, 5, 4), adj_x=True, adj_y=True, Tout=np.float32),
        v(i(2, 3), i(3, 2), Tout=np.int32),
    ],
    "SparseMatMul": [
        v(f(2, 3), f(3, 4)),
        v(f(3, 2), f(4, 3), transpose_a=True, transpose_b=True),
        open_(f(2, 3), f(3, 4)),
    ],
    "Einsum": [
        v([f(2, 3), f(3, 4)], equation="ij,jk->ik"),
        v([f(2, 3, 4), f(2, 4)], equation="bij,bj->bi"),
        open_([f(2, 3, 4)], equation="abc->cab"),
        v([f(2, 2, 3), f(2, 3, 4)], equation="...ij,...jk->...ik"),
    ],
    "Cross": [v(f(3), f(3, seed=1)), open_(f(2, 3), f(2, 3, seed=1)), v(i(2, 3), i(2, 3, seed=1))],
    "ResizeBilinear": _resize(),
    "ResizeNearestNeighbor": _resize(),
    "ResizeBicubic": _resize(),
    "ResizeArea": [v(IMAGE, k(s)) for s in ([14, 18], [5, 4], [3, 9])] + [v(IMAGE, k([4, 5]), align_corners=True)],
    "ScaleAndTranslate": [
        v(IMAGE, k([5, 4]), k([5 / 7, 4 / 9]), k([0.0, 0.0]), kernel_type=t, antialias=a)
        for t, a in (
            ("lanczos3", True),
            ("triangle", True),
            ("keyscubic", False),
            ("gaussian", True),
            ("box", True),
            ("mitchellcubic", True),
        )
    ],
    "CropAndResize": [
        v(
            IMAGE,
            np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [-0.5, 0, 1.2, 1]], np.float32),
            k([0, 1, 1]),
            k(s),
            method=m,
            extrapolation_value=e,
        )
        for s, m, e in (([4, 5], "bilinear", 0.0), ([1, 3], "bilinear", -1.0), ([3, 4], "nearest", 0.0))
    ],
    "ImageProjectiveTransformV2": [
        v(IMAGE, k([[1.0, 0.2, 0.5, -0.1, 0.9, 0.3, 0.0, 0.0]]), k([6, 5]), interpolation=m)
        for m in ("NEAREST", "BILINEAR")
    ]
    + [v(f(1, 4, 4, 1), k([[1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.01, 0.02]]), k([4, 4]), interpolation="BILINEAR")],
    "ImageProjectiveTransformV3": [
        v(IMAGE, k([[1.0, 0.2, 0.5, -0.1, 0.9, 0.3, 0.0, 0.0]]), k([6, 5]), k(0.5), interpolation=m, fill_mode=t)
        for m, t in (("NEAREST", "CONSTANT"), ("BILINEAR", "CONSTANT"), ("BILINEAR", "NEAREST"))
    ],
    "RGBToHSV": [v(f(3, 4, 3, low=0)), open_(f(5, 3, low=0)), v(k(np.eye(3, dtype=np.float32)))],
    "HSVToRGB": [v(f(3, 4, 3, low=0)), open_(f(5, 3, low=0)), v(k(np.eye(3, dtype=np.float32)))],
    "AdjustContrastv2": [v(f(2, 3, 4, 3), k(1.5)), open_(f(4, 4, 1), k(0.5)), v(f(2, 2, 3), f())],
    "AdjustHue": [v(f(2, 3, 4, 3, low=0), k(0.2)), open_(f(4, 4, 3, low=0), k(-0.3)), v(f(2, 2, 3, low=0), k(0.0))],
    "AdjustSaturation": [
        v(f(2, 3, 4, 3, low=0), k(1.5)),
        open_(f(4, 4, 3, low=0), k(0.5)),
        v(f(2, 2, 3, low=0), k(0.0)),
    ],
    "NonMaxSuppression": _nms(),
    "NonMaxSuppressionV2": _nms(0.4),
    "NonMaxSuppressionV3": _nms(0.5, 0.55),
    "NonMaxSuppressionV4": [*_nms(0.5, 0.55), *_nms(0.5, 0.0, pad_to_max_output_size=True)],
    "NonMaxSuppressionV5": _nms(0.5, 0.55, 0.0),
    "CombinedNonMaxSuppression": [
        v(f(2, 6, 1, 4, low=0), f(2, 6, 3, low=0), k(n), k(t), k(0.5), k(s), **a)
        for n, t, s, a in ((3, 4, 0.1, {}), (2, 9, 0.5, {"pad_per_class": True}), (6, 5, 0.3, {"clip_boxes": False}))
    ],
    "LSTMBlockCell": [_cell(), _cell(use_peephole=True, forget_bias=0.5), _cell(cell_clip=0.3)],
    "BlockLSTM": _block(),
    "BlockLSTMV2": _block(),
    "GRUBlockCell": [
        v(f(2, 3), f(2, 4, seed=1), k(f(7, 8)), k(f(7, 4)), k(f(8)), k(f(4))),
        open_(f(1, 3), f(1, 4, seed=1), k(f(7, 8)), k(f(7, 4)), k(f(8)), k(f(4))),
        v(f(3, 2), f(3, 2, seed=1), k(f(4, 4)), k(f(4, 2)), k(f(4)), k(f(2))),
    ],
    "FakeQuantWithMinMaxArgs": [
        v(f(20, scale=5)),
        v(f(20), min=-0.5, max=1.0, num_bits=4),
        open_(f(9), narrow_range=True),
    ],
    "FakeQuantWithMinMaxVars": [
        v(f(20), k(-0.7), k(1.1)),
        v(f(20), f(low=-1, scale=0.5), f(low=1, scale=0.5), num_bits=4),
        open_(f(9), k(0.0), k(2.0), narrow_range=True),
    ],
    "FakeQuantWithMinMaxVarsPerChannel": [
        v(f(5, 3), k([-0.7, -1.0, 0.0]), k([1.1, 0.3, 2.0])),
        v(f(4, 2), k([-1.0, -2.0]), k([1.0, 2.0]), num_bits=4),
        open_(f(5, 2), k([-1.0, -0.2]), k([1.0, 2.0])),
    ],
    "QuantizeAndDequantizeV2": [
        v(f(20), k(-1.0), k(2.0), range_given=True),
        v(f(20), k(0.0), k(0.0)),
        v(f(4, 3), k(0.0), k(0.0), signed_input=False),
        v(f(4, 3), k([0.0] * 3), k([0.0] * 3), axis=1),
        v(f(9), k(-1.0), k(1.0), range_given=True, round_mode="HALF_UP", narrow_range=True),
    ],
    "QuantizeAndDequantizeV3": [
        v(f(20), k(-1.0), k(2.0), k(8), range_given=True),
        v(f(20), k(0.0), k(0.0), k(4)),
        v(f(4, 3), k([-1.0, -0.5, 0.0]), k([1.0, 2.0, 0.5]), k(8), axis=1),
    ],
    "QuantizeAndDequantizeV4": [
        v(f(20), k(-1.0), k(2.0), range_given=True),
        v(f(20), k(0.0), k(0.0)),
        v(f(4, 3), k([0.0] * 3), k([0.0] * 3), axis=1),
    ],
    "CTCGreedyDecoder": [
        within(
            lambda x, n=n, m=m: tf.raw_ops.CTCGreedyDecoder(inputs=x, sequence_length=n, merge_repeated=m),
            f(6, 2, 3),
            open_sizes=o,
        )
        for n, m, o in (([6, 6], True, False), ([6, 3], False, False), ([5, 6], True, True))
    ],
}
# Halves to even are left to oneDNN, whose scale differs from the operator's own.
NEURAL["QuantizeV2"] = [
    within(
        lambda x, t=t, p=p, low=low, r=r: tf.bitcast(
            tf.raw_ops.QuantizeV2(input=x, min_range=low, max_range=2.0, T=t, mode="SCALED", round_mode=r).output, p
        ),
        f(20),
    )
    for t, p, low, r in (
        (tf.qint8, tf.int8, -2.0, "HALF_AWAY_FROM_ZERO"),
        (tf.quint8, tf.uint8, 0.0, "HALF_AWAY_FROM_ZERO"),
        (tf.qint8, tf.int8, -1.0, "HALF_AWAY_FROM_ZERO"),
    )
]
NEURAL["Dequantize"] = [
    within(
        lambda x, t=t, m=m: tf.raw_ops.Dequantize(input=tf.bitcast(x, t), min_range=-1.5, max_range=2.0, mode=m),
        i(20, dtype=p),
    )
    for t, p, m in (
        (tf.qint8, np.int8, "SCALED"),
        (tf.quint8, np.uint8, "MIN_COMBINED"),
        (tf.qint8, np.int8, "MIN_COMBINED"),
        (tf.quint8, np.uint8, "MIN_FIRST"),
    )
]
