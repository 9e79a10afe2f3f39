"""Operators on shapes and places."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from .form import Variant, f, i, k, open_, v, within

X = f(4, 5, 6)


def _strided() -> list[Variant]:
    """Each mask alone and together, negative starts, ends and steps."""
    found = []
    for spec in (
        np.s_[1:3],
        np.s_[:, 1:-1],
        np.s_[::2, ::-1],
        np.s_[..., 2],
        np.s_[0],
        np.s_[:, tf.newaxis, 1],
        np.s_[-1, ..., ::-2],
        np.s_[..., tf.newaxis],
        np.s_[3:0:-1, -2:],
        np.s_[1:1],
        np.s_[2, 3, 4],
        np.s_[tf.newaxis, ..., 1:5:2, -3:-1],
        np.s_[10:, -10:10],
    ):
        found += [within(lambda x, s=spec: x[s], X), within(lambda x, s=spec: x[s], X, open_sizes=True)]
    return found


def _pads() -> list[Variant]:
    return [
        v(f(2, 3), k([[1, 2], [0, 1]])),
        open_(f(2, 3), k([[0, 0], [1, 1]])),
        v(i(4), k([[3, 0]])),
        v(f(0, 2), k([[1, 1], [0, 0]])),
    ]


SHAPE: dict[str, list[Variant]] = {
    "StridedSlice": _strided(),
    "Const": [
        within(lambda x: x + tf.constant([1.0, 2.0]), f(2)),
        within(lambda x: x * tf.constant(3), i(3)),
        within(lambda x: tf.constant(2.5, shape=[2, 3]) + x, f(3)),
    ],
    "Shape": [v(X), open_(X), v(X, out_type=np.int64), open_(f())],
    "ShapeN": [v([f(2), f(3, 4)]), open_([f(2, 1)]), v([f(1), f(0)], out_type=np.int64)],
    "Size": [v(X), open_(X), v(X, out_type=np.int64)],
    "Rank": [v(X), open_(f(2)), v(f())],
    "Reshape": [
        v(X, k([20, 6])),
        v(X, k([-1, 3])),
        open_(X, k([2, -1])),
        open_(X, k([-1])),
        v(f(0, 3), k([3, 0])),
        v(f(1), k([], np.int32)),
    ],
    "Squeeze": [v(f(1, 3, 1)), v(f(1, 3, 1), axis=[0]), open_(f(2, 1, 3), axis=[-2])],
    "ExpandDims": [v(X, k(0)), v(X, k(-1)), open_(X, k(2)), v(f(), k(0))],
    "Transpose": [v(X, k([2, 0, 1])), open_(X, k([1, 0, 2])), v(f(3), k([0])), v(i(2, 3), k([1, 0]))],
    "ConjugateTranspose": [v(X, k([2, 0, 1])), open_(X, k([1, 0, 2])), v(f(2, 3), k([1, 0]))],
    "ConcatV2": [
        v([f(2, 3), f(1, 3)], k(0)),
        v([f(2, 3), f(2, 1)], k(-1)),
        open_([i(2), i(3)], k(0)),
        v([f(0, 2), f(1, 2)], k(0)),
    ],
    "Concat": [v(k(0), [f(2, 3), f(1, 3)]), v(k(1), [f(2, 3), f(2, 1)]), open_(k(0), [i(2), i(3)])],
    "ParallelConcat": [
        v([f(1, 3), f(1, 3, seed=1)], shape=[2, 3]),
        v([f(1), f(1, seed=1)], shape=[2]),
        v([i(1, 2)], shape=[1, 2]),
    ],
    "Pack": [v([f(2, 3), f(2, 3, seed=1)]), v([f(2), f(2, seed=1)], axis=-1), open_([i(2, 2), i(2, 2)], axis=1)],
    "Unpack": [v(f(3, 2), num=3), v(f(2, 3), num=3, axis=-1), v(i(1, 4), num=1)],
    "Split": [v(k(0), f(4, 3), num_split=2), v(k(-1), f(2, 6), num_split=3), open_(k(0), f(4, 2), num_split=2)],
    "SplitV": [
        v(f(5, 2), k([2, 3]), k(0), num_split=2),
        v(f(2, 6), k([1, -1]), k(-1), num_split=2),
        open_(f(5), k([2, -1]), k(0), num_split=2),
    ],
    "Tile": [v(f(2, 3), k([2, 1])), v(i(3), k([3])), open_(f(2, 2), k([1, 2])), v(f(2), k([0]))],
    "BroadcastTo": [v(f(3), k([2, 3])), v(f(2, 1), k([2, 4])), v(i(), k([3, 2]))],
    "BroadcastArgs": [v(k([2, 1]), k([3])), v(k([4]), k([1, 1])), v(k([2, 3]), k([2, 3]))],
    "BroadcastGradientArgs": [v(k([2, 1]), k([2, 3])), v(k([3]), k([2, 3])), v(k([2, 3]), k([2, 3]))],
    "Slice": [
        v(X, k([1, 0, 2]), k([2, 5, 3])),
        v(X, k([0, 1, 0]), k([-1, -1, 2])),
        open_(X, k([1, 1, 1]), k([1, -1, 2])),
        v(f(4), k([2]), k([0])),
    ],
    "Pad": _pads(),
    "PadV2": [
        v(f(2, 3), k([[1, 2], [0, 1]]), k(2.5)),
        v(i(4), k([[1, 1]]), k(-1)),
        open_(f(2, 2), k([[0, 1], [1, 0]]), k(1.0)),
    ],
    "MirrorPad": [
        v(f(4, 5), k([[1, 2], [2, 1]]), mode="REFLECT"),
        v(f(4, 5), k([[1, 2], [3, 0]]), mode="SYMMETRIC"),
        open_(f(4, 5), k([[1, 1], [2, 2]]), mode="REFLECT"),
        open_(f(3), k([[3, 1]]), mode="SYMMETRIC"),
    ],
    "ReverseV2": [v(X, k([0, -1])), open_(X, k([1])), v(i(4), k([0])), v(X, k([], np.int32))],
    "Reverse": [v(f(2, 3), k([True, False])), v(f(2, 3), k([False, True])), v(i(4), k([True]))],
    "ReverseSequence": [
        v(f(3, 4, 2), i(3, low=0, high=5), seq_dim=1, batch_dim=0),
        v(f(4, 3), i(3, low=1, high=5), seq_dim=0, batch_dim=1),
        v(f(3, 2, 4), i(3, low=0, high=5), seq_dim=2, batch_dim=0),
    ],
    "Roll": [v(X, k([1]), k([0])), v(X, k([-2, 3]), k([1, 2])), open_(f(5), k(2), k(0)), v(f(3), k([7]), k([0]))],
    "InvertPermutation": [v(np.array([2, 0, 1], np.int32)), v(k([1, 0])), v(np.arange(5, dtype=np.int64)[::-1].copy())],
    "DataFormatDimMap": [
        v(i(4, low=-4, high=4)),
        v(k([1, 3])),
        v(i(3, low=0, high=4), src_format="NCHW", dst_format="NHWC"),
    ],
    "DataFormatVecPermute": [v(i(4)), v(i(4), src_format="NCHW", dst_format="NHWC"), v(i(4, 2)), v(i(2))],
    "UnravelIndex": [
        v(i(5, low=0, high=24), k([4, 6])),
        v(i(3, low=0, high=24), k([2, 3, 4])),
        v(np.int32(7), k([3, 5])),
    ],
    "ConcatOffset": [
        v(k(1), [k([2, 2, 7]), k([2, 3, 7])]),
        v(k(0), [k([1]), k([2]), k([3])]),
        v(k(-1), [k([1, 4]), k([1, 2])]),
    ],
    "Fill": [
        v(k([2, 3]), k(1.5)),
        v(k([4]), i()),
        within(lambda x: tf.fill(tf.shape(x), 2.0), f(2, 3), open_sizes=True),
    ],
    "Empty": [
        within(lambda x: tf.shape(tf.raw_ops.Empty(shape=[2, 3], dtype=tf.float32)) + x, i(2)),
        within(lambda x: tf.shape(tf.raw_ops.Empty(shape=[4], dtype=tf.int32)) + x, i(1)),
        within(lambda x: tf.raw_ops.Empty(shape=[2], dtype=tf.float32, init=True) + x, f(2)),
    ],
    "EnsureShape": [v(f(2, 3), shape=[2, 3]), open_(f(2, 3), shape=[None, 3]), v(f(2), shape=[None])],
    "LinSpace": [v(k(0.0), k(1.0), k(5)), v(k(2.0), k(-2.0), k(7)), v(f(), f(seed=1), k(4)), v(k(3.0), k(9.0), k(1))],
    "Range": [
        v(k(0), k(5), k(1)),
        v(k(10), k(0), k(-3)),
        v(k(0.0), k(1.0), k(0.3)),
        within(lambda x: tf.range(tf.shape(x)[0]), f(4), open_sizes=True),
    ],
    "SpaceToDepth": [
        v(f(2, 4, 6, 3), block_size=2),
        open_(f(1, 6, 6, 1), block_size=3),
        v(f(1, 2, 4, 1), block_size=2),
    ],
    "DepthToSpace": [
        v(f(2, 2, 3, 12), block_size=2),
        open_(f(1, 2, 2, 9), block_size=3),
        v(f(1, 3, 1, 4), block_size=2),
    ],
    "SpaceToBatchND": [
        v(f(2, 4, 6, 3), k([2, 3]), k([[0, 0], [0, 0]])),
        v(f(1, 3, 5, 1), k([2, 2]), k([[1, 0], [0, 1]])),
        v(f(2, 6), k([3]), k([[0, 0]])),
    ],
    "SpaceToBatch": [
        v(f(2, 4, 6, 3), k([[0, 0], [0, 0]]), block_size=2),
        v(f(1, 3, 5, 1), k([[1, 0], [0, 1]]), block_size=2),
        v(f(1, 2, 2, 2), k([[1, 1], [1, 1]]), block_size=2),
    ],
    "BatchToSpaceND": [
        v(f(12, 2, 2, 3), k([2, 3]), k([[0, 0], [0, 0]])),
        v(f(4, 2, 3, 1), k([2, 2]), k([[1, 0], [0, 1]])),
        v(f(6, 2), k([3]), k([[0, 0]])),
    ],
    "BatchToSpace": [
        v(f(8, 2, 3, 3), k([[0, 0], [0, 0]]), block_size=2),
        v(f(4, 2, 3, 1), k([[1, 0], [0, 1]]), block_size=2),
        v(f(4, 2, 2, 2), k([[1, 1], [1, 1]]), block_size=2),
    ],
    "NoOp": [
        within(lambda x: (tf.no_op(), x + 1.0)[1], f(2)),
        within(lambda x: (tf.no_op(), x * 2.0)[1], f(0)),
        within(lambda x: (tf.no_op(), -x)[1], f(3)),
    ],
    "Assert": [
        within(_checked, f(2, low=0.1))
        for _checked in (
            lambda x: (tf.debugging.assert_greater(x, 0.0), x + 1.0)[1],
            lambda x: (tf.debugging.assert_rank(x, 1), x * 2.0)[1],
            lambda x: (tf.debugging.assert_less(x, 9.0), -x)[1],
        )
    ],
    "ControlTrigger": [
        within(lambda x: (tf.raw_ops.ControlTrigger(), x + 1.0)[1], f(2)),
        within(lambda x: (tf.raw_ops.ControlTrigger(), x)[1] * 2.0, f(3)),
        within(lambda x: (tf.raw_ops.ControlTrigger(), -x)[1], f(0)),
    ],
}
