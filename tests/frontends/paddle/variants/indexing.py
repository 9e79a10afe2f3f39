"""Variants of operators that read and write by index, sort and search."""

# ruff: noqa: E501  a line for each form of an operator

from __future__ import annotations

import numpy as np
import paddle
from paddle.nn import functional as F

from tests.frontends.paddle.variants.data import NAN, f32, f64, flags, i32, i64, v

X = f32(3, 4)
ROWS = np.array([2, 0, 2])
COLUMN = np.array([[1], [2]])

INDEXING = {
    "gather": [v(paddle.gather, X, ROWS), v(lambda x, i: paddle.gather(x, i, 1), X, ROWS), v(paddle.gather, X, COLUMN), v(lambda x, i: paddle.gather(x, i, -1), f64(2, 3, 4), ROWS)],
    "gather_nd": [v(paddle.gather_nd, X, np.array([[0, 1], [2, 3]])), v(paddle.gather_nd, X, np.array([[1]])), v(paddle.gather_nd, f32(2, 3, 4), np.array([[[0, 1]], [[1, 2]]], np.int32))],
    "index_select": [v(paddle.index_select, X, ROWS), v(lambda x, i: paddle.index_select(x, i, 1), X, ROWS), v(lambda x, i: paddle.index_select(x, i, -1), i64(2, 3), ROWS.astype(np.int32))],
    "index_sample": [v(paddle.index_sample, X, np.array([[0, 3], [1, 1], [2, 0]])), v(paddle.index_sample, i64(2, 3), np.array([[0], [2]])), v(paddle.index_sample, f64(1, 4), np.array([[3, 2, 1]]))],
    "take_along_axis": [v(lambda x, i: paddle.take_along_axis(x, i, 1), X, np.array([[0, 3], [1, 1], [2, 0]])), v(lambda x, i: paddle.take_along_axis(x, i, 0), X, np.array([[0, 2, 1, 1]])),
                        v(lambda x, i: paddle.take_along_axis(x, i, -1, False), X, np.array([[0], [1]]))],
    "put_along_axis": [v(lambda x, i: paddle.put_along_axis(x, i, 9.0, 1), X, np.array([[0], [1], [2]])),
                       v(lambda x, i, u: paddle.put_along_axis(x, i, u, 1, "add"), X, np.array([[0, 0], [1, 1], [2, 3]]), f32(3, 2)),
                       v(lambda x, i, u: paddle.put_along_axis(x, i, u, 0, "mul"), X, np.array([[0, 2, 1, 1]]), f32(1, 4)),
                       v(lambda x, i, u: paddle.put_along_axis(x, i, u, 1, "amax", include_self=False), X, np.array([[0, 0], [1, 1], [2, 3]]), f32(3, 2)),
                       v(lambda x, i, u: paddle.put_along_axis(x, i, u, 1, "mean"), X, np.array([[0, 0], [1, 1], [2, 3]]), f32(3, 2))],
    "scatter": [v(paddle.scatter, X, np.array([1, 0]), f32(2, 4, seed=1)), v(lambda x, i, u: paddle.scatter(x, i, u, False), X, np.array([2, 1, 2]), f32(3, 4, seed=1)),
                v(paddle.scatter, i64(4), np.array([3, 0], np.int32), i64(2, seed=1))],
    "scatter_nd_add": [v(paddle.scatter_nd_add, X, np.array([[0, 1], [2, 3], [0, 1]]), f32(3)), v(paddle.scatter_nd_add, X, np.array([[1], [1]]), f32(2, 4)), v(paddle.scatter_nd_add, i64(4), np.array([[3], [3]]), i64(2))],
    "index_add": [v(lambda x, i, u: paddle.index_add(x, i, 0, u), X, ROWS, f32(3, 4, seed=1)), v(lambda x, i, u: paddle.index_add(x, i, 1, u), X, ROWS, f32(3, 3, seed=1)),
                  v(lambda x, i, u: paddle.index_add(x, i, -1, u), f64(2, 4), ROWS.astype(np.int32), f64(2, 3))],
    "index_put": [v(lambda x, i, u: paddle.index_put(x, [i], u), X, np.array([1, 0]), f32(2, 4, seed=1)), v(lambda x, i, j, u: paddle.index_put(x, [i, j], u), X, np.array([1, 0]), np.array([2, 2]), f32(2, seed=1)),
                  v(lambda x, i, u: paddle.index_put(x, [i], u, True), X, np.array([2, 2]), f32(2, 4, seed=1)), v(lambda x, m, u: paddle.index_put(x, [m], u), X, flags(3, 4), f32(1))],
    "masked_select": [v(paddle.masked_select, X, flags(3, 4)), v(paddle.masked_select, i64(5), flags(5)), v(lambda x: paddle.masked_select(x, x > 0), f64(2, 3))],
    "masked_fill": [v(lambda x, m: paddle.masked_fill(x, m, 2.0), X, flags(3, 4)), v(lambda x, m, u: paddle.masked_fill(x, m, u), X, flags(4), f32()), v(lambda x, m: paddle.masked_fill(x, m, 7), i64(3), flags(3))],
    "nonzero": [v(paddle.nonzero, flags(3, 4)), v(paddle.nonzero, i64(5, low=0, high=2)), v(paddle.nonzero, f32(2, 2, 2))],
    "embedding": [v(F.embedding, i64(3, low=0, high=4), f32(4, 5)), v(lambda i, w: F.embedding(i, w, padding_idx=1), i64(2, 3, low=0, high=4), f32(4, 5)), v(F.embedding, i32(2, low=0, high=4), f64(4, 2))],
    "topk": [v(lambda x: paddle.topk(x, 2), X), v(lambda x: paddle.topk(x, 2, 0, False), X), v(lambda x: paddle.topk(x, 3), f64(5)), v(lambda x: paddle.topk(x, 1, 1), np.array([[1.0, NAN, 3]], np.float32))],
    "argsort": [v(paddle.argsort, X), v(lambda x: paddle.argsort(x, 0, True), X), v(paddle.sort, f64(5)), v(lambda x: paddle.sort(x, -1, True), i64(6, high=100))],
    "searchsorted": [v(paddle.searchsorted, np.sort(f32(6)), f32(2, 3)), v(lambda s, x: paddle.searchsorted(s, x, right=True), np.sort(i64(6)), i64(4)), v(lambda s, x: paddle.searchsorted(s, x, out_int32=True), np.sort(f32(2, 6)), f32(2, 3))],
    "unique": [v(paddle.unique, i64(8)), v(lambda x: paddle.unique(x, True, True, True), i64(8)), v(lambda x: paddle.unique(x, axis=0), i64(4, 2, low=0, high=2)), v(lambda x: paddle.unique(x, return_counts=True), f32(3, 2))],
    "unique_consecutive": [v(paddle.unique_consecutive, np.array([1, 1, 2, 2, 1])), v(lambda x: paddle.unique_consecutive(x, True, True), np.array([1, 1, 2, 2, 1])),
                           v(lambda x: paddle.unique_consecutive(x, axis=0), np.array([[1, 2], [1, 2], [0, 1]])), v(lambda x: paddle.unique_consecutive(x, True, True), np.array([3.0, 3, 1, 1, 1], np.float32))],
    "shard_index": [v(lambda x, k=k: paddle.shard_index(x, 20, 2, k), i64(6, 1, low=0, high=20)) for k in (0, 1)] + [v(lambda x: paddle.shard_index(x, 21, 3, 1, -7), i64(6, 1, low=0, high=20))],
    "multiplex": [v(lambda x, y, i: paddle.multiplex([x, y], i), X, f32(3, 4, seed=1), np.array([[0], [1], [0]], np.int32)), v(lambda x, y, i: paddle.multiplex([x, y], i), i64(2, 2), i64(2, 2, seed=1), np.array([[1], [0]], np.int32)),
                  v(lambda x, y, z, i: paddle.multiplex([x, y, z], i), f64(2, 3), f64(2, 3, seed=1), f64(2, 3, seed=2), np.array([[2], [1]], np.int32))],
    "segment_pool": [v(lambda x, i, f=f: f(x, i), f32(5, 2), np.array([0, 0, 1, 2, 2])) for f in (paddle.geometric.segment_sum, paddle.geometric.segment_mean, paddle.geometric.segment_max, paddle.geometric.segment_min)]
                    + [v(paddle.geometric.segment_sum, f32(3), np.array([0, 2, 2]))],
    "gather_tree": [v(F.gather_tree, i64(4, 2, 3, low=0, high=9), i64(4, 2, 3, low=0, high=3, seed=1)), v(F.gather_tree, i32(3, 1, 2, low=0, high=9), i32(3, 1, 2, low=0, high=2, seed=1)), v(F.gather_tree, i64(1, 2, 2, low=0), i64(1, 2, 2, low=0, high=2))],
    "set_value_": [v(lambda x: paddle.static.setitem(x, (0,), 1.0), X), v(lambda x: paddle.static.setitem(x, (slice(None), 1), 2.0), X), v(lambda x: paddle.static.setitem(x, (slice(0, 3, 2),), 5.0), X)],
    "set_value_with_tensor_": [v(lambda x, y: paddle.static.setitem(x, (0,), y), X, f32(4, seed=1)), v(lambda x, y: paddle.static.setitem(x, (slice(None), slice(1, 3)), y), X, f32(3, 2, seed=1)),
                               v(lambda x, y: paddle.static.setitem(x, (slice(None, None, -2),), y), X, f32(2, 4, seed=1))],
    "kthvalue": [v(lambda x: paddle.kthvalue(x, 2), X), v(lambda x: paddle.kthvalue(x, 1, 0, True), X), v(lambda x: paddle.kthvalue(x, 3), i64(5, high=100))],
    "mode": [v(paddle.mode, i64(3, 6, low=0, high=3).astype(np.float32)), v(lambda x: paddle.mode(x, 0, True), i64(5, 2, low=0, high=2)), v(paddle.mode, f64(4))],
    "bincount": [v(paddle.bincount, i64(6, low=0, high=5)), v(lambda x: paddle.bincount(x, minlength=8), i64(6, low=0, high=5)), v(lambda x, w: paddle.bincount(x, w), i64(6, low=0, high=5), f32(6))],
    "histogram": [v(lambda x: paddle.histogram(x, 5, -2, 2), f32(20)), v(lambda x: paddle.histogram(x, 4), f32(9)), v(lambda x: paddle.histogram(x, 4, 0, 3), i64(9)), v(lambda x: paddle.histogram(x, 4, -1, 1, density=True), f32(20))],
}  # fmt: skip

TABLES = (INDEXING,)
