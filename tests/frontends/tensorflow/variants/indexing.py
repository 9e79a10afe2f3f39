"""Gathering, scattering, segments, reductions, sorting."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from .form import SPECIAL, Variant, b, f, i, k, open_, v, within

X = f(4, 5, 6)
IDS = np.array([0, 0, 1, 3], np.int32)
MIXED = np.array([2, 0, 2, -1], np.int32)
RAGGED_ROWS = np.array([[0, 1], [2, 2], [0, 1]], np.int32)


def _reduce() -> list[Variant]:
    return [
        v(X, k([0, 2])),
        v(X, k(-1), keep_dims=True),
        open_(X, k([1])),
        v(f(3), k([], np.int32)),
        v(f(0, 3), k([1])),
        v(f(2, 1, 3, 1, 2), k([1, 3])),
    ]


def _segments() -> list[Variant]:
    return [v(f(4, 3), IDS), v(i(4), k(IDS)), open_(f(4, 2), IDS)]


def _compiled_segments(op: str) -> list[Variant]:
    """Operators that TensorFlow has only compiled."""

    def call(count: int) -> object:
        return tf.function(
            lambda x, n: getattr(tf.raw_ops, op)(data=x, segment_ids=n, num_segments=count), jit_compile=True
        )

    return [within(call(5), f(4, 3), IDS), within(call(4), i(4), IDS), within(call(6), f(4, 2), IDS)]


def _unsorted() -> list[Variant]:
    return [v(f(4, 3), MIXED, k(4)), v(f(3, 2), RAGGED_ROWS, k(3)), open_(f(4, 2), MIXED, k(3)), v(i(4), MIXED, k(3))]


def _scatter() -> list[Variant]:
    return [
        v(X, i(3, 1, low=0, high=4), f(3, 5, 6, seed=1)),
        v(i(5), k([[1], [1], [3]]), i(3, seed=1)),
        open_(f(4, 3), k([[0, 1], [3, 2]]), f(2, seed=1)),
    ]


def _unique_scatter() -> list[Variant]:
    return [
        v(X, k([[0], [2]]), f(2, 5, 6, seed=1)),
        v(i(5), k([[1], [3]]), i(2, seed=1)),
        open_(f(4, 3), k([[0, 1], [3, 2]]), f(2, seed=1)),
    ]


def _inplace() -> list[Variant]:
    return [
        v(f(4, 3), k([0, 2]), f(2, 3, seed=1)),
        v(i(5), k([1]), i(1, seed=1)),
        v(f(2, 2), k([1, 0]), f(2, 2, seed=1)),
    ]


def _bound() -> list[Variant]:
    ordered = np.sort(f(2, 6), axis=1)
    return [
        v(ordered, f(2, 3, seed=1)),
        v(np.array([[1.0, 2.0, 2.0, 3.0]], np.float32), k([[2.0, 0.5, 9.0]])),
        open_(ordered, f(2, 4, seed=1), out_type=np.int64),
    ]


def _sparse() -> list[Variant]:
    return [
        v(f(5, 3), k([0, 2, 4, 1]), k([0, 0, 1, 2])),
        v(f(5, 2), i(3, low=0, high=5), np.array([0, 1, 1], np.int32)),
        v(f(3), k([2, 0]), k([0, 0])),
    ]


def _sparse_counted() -> list[Variant]:
    return [
        v(f(5, 3), k([0, 2, 4, 1]), k([0, 0, 1, 2]), k(4)),
        v(f(5, 2), i(3, low=0, high=5), np.array([0, 1, 1], np.int32), k(2)),
        v(f(3), k([2, 0]), k([0, 0]), k(1)),
    ]


def _top() -> list[Variant]:
    return [v(f(3, 6), k(2)), v(i(6), k(3)), open_(f(2, 5), k(5))]


INDEXING: dict[str, list[Variant]] = {
    name: _reduce() for name in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm")
}
for _name in ("Sum", "Prod", "Max", "Min", "Mean"):
    INDEXING[_name].append(v(i(3, 4, low=-3, high=4), k([0])))
for _name in ("Max", "Min"):
    INDEXING[_name].append(v(SPECIAL.reshape(2, 5), k([0])))
INDEXING |= {
    "All": [v(b(3, 4), k([1])), open_(b(3, 4), k([0]), keep_dims=True), v(b(0, 2), k([0]))],
    "Any": [v(b(3, 4), k([1])), open_(b(3, 4), k([0]), keep_dims=True), v(b(0, 2), k([0]))],
    "ArgMax": [v(f(3, 4), k(1)), v(i(3, 4, low=0, high=3), k(0)), open_(X, k(-1), output_type=np.int32)],
    "ArgMin": [v(f(3, 4), k(1)), v(i(3, 4, low=0, high=3), k(0)), open_(X, k(-1), output_type=np.int32)],
    "Cumsum": [
        v(f(3, 4), k(1)),
        v(i(5), k(0), exclusive=True),
        open_(f(3, 4), k(-1), reverse=True),
        v(f(3), k(0), exclusive=True, reverse=True),
    ],
    "Cumprod": [
        v(f(3, 4), k(1)),
        v(f(5), k(0), exclusive=True),
        open_(f(3, 4), k(-1), reverse=True),
        v(f(3), k(0), exclusive=True, reverse=True),
    ],
    "CumulativeLogsumexp": [v(f(3, 4), k(1)), v(f(5), k(0), exclusive=True), v(f(3, 4), k(-1), reverse=True)],
    "Bincount": [
        v(i(8, low=0, high=6), k(5), k([], np.float32)),
        v(i(4, low=0, high=3), k(3), f(4)),
        v(i(2, 3, low=0, high=4), k(4), k([], np.int32)),
    ],
    "DenseBincount": [
        v(i(8, low=0, high=6), k(5), k([], np.float32)),
        v(i(4, low=0, high=3), k(3), f(4)),
        v(i(2, 5, low=0, high=4), k(4), k([], np.int32)),
        v(i(2, 3, low=0, high=4), k(3), k([], np.int32), binary_output=True),
    ],
    "HistogramFixedWidth": [
        v(f(10), k([-1.0, 1.0]), k(4)),
        v(f(3, 4), k([0.0, 2.0]), k(5)),
        v(f(6), k([-2.0, 2.0]), k(3), dtype=np.int64),
    ],
    "Gather": [v(X, k([2, 0])), v(i(5), i(2, 3, low=0, high=5)), open_(f(4, 2), i(3, low=0, high=4))],
    "GatherV2": [
        v(X, k([2, 0]), k(1)),
        v(X, i(4, 2, low=0, high=5), k(1), batch_dims=1),
        open_(X, i(2, 2, low=0, high=4), k(0)),
        v(f(2, 3, 4), i(2, 2, low=0, high=4), k(2), batch_dims=1),
        v(f(2, 3), k([], np.int32), k(0)),
    ],
    "GatherNd": [
        v(X, i(3, 2, low=0, high=4)),
        v(X, i(2, 3, 3, low=0, high=4)),
        open_(X, k([[1], [3]])),
        v(f(2, 3), k(np.zeros((2, 0), np.int32))),
    ],
    "ScatterNd": [
        v(k([[1], [1], [3]]), f(3, 2), k([5, 2])),
        v(i(4, 2, low=0, high=3), i(4), k([3, 3])),
        open_(k([[0], [2]]), f(2, 3), k([4, 3])),
    ],
    "ScatterNdNonAliasingAdd": _scatter(),
    "TensorScatterUpdate": _unique_scatter(),
    "TensorScatterAdd": _scatter(),
    "TensorScatterSub": _scatter(),
    "TensorScatterMin": _scatter(),
    "TensorScatterMax": _scatter(),
    "InplaceUpdate": _inplace(),
    "InplaceAdd": _inplace(),
    "InplaceSub": _inplace(),
    "OneHot": [
        v(i(4, low=-1, high=4), k(3), k(1.0), k(0.0)),
        v(i(2, 2, low=0, high=3), k(3), k(5), k(2), axis=0),
        open_(i(3, low=0, high=2), k(2), f(), f(seed=1)),
    ],
    "Where": [v(b(3, 4)), v(i(5, low=0, high=2)), open_(b(2, 2, 2)), v(np.zeros(3, bool))],
    "Unique": [
        v(i(9, low=0, high=4)),
        v(np.array([2.0, 1.0, 2.0, 3.0], np.float32)),
        open_(i(5, low=0, high=3), out_idx=np.int64),
    ],
    "UniqueWithCounts": [v(i(9, low=0, high=4)), v(k([7, 7, 7])), open_(i(5, low=0, high=3), out_idx=np.int64)],
    "UniqueV2": [
        v(i(9, low=0, high=4), k([0])),
        v(i(6, low=0, high=2), k([], np.int32)),
        open_(i(5, low=0, high=3), k([0])),
    ],
    "UniqueWithCountsV2": [
        v(i(9, low=0, high=4), k([0])),
        v(i(6, low=0, high=2), k([], np.int32)),
        open_(i(5, low=0, high=3), k([0])),
    ],
    "ListDiff": [v(i(8, low=0, high=5), k([1, 3])), v(k([1, 2, 3]), k([2])), v(f(3), f(0)), v(i(4), i(4))],
    "LowerBound": _bound(),
    "UpperBound": _bound(),
    "Bucketize": [
        v(f(5), boundaries=[-1.0, 0.0, 0.5]),
        v(i(2, 3), boundaries=[-3.0, 3.0]),
        open_(f(4), boundaries=[0.0]),
    ],
    "TopKV2": _top(),
    "ApproxTopK": [v(f(3, 6), k=6), v(f(8), k=8), v(f(2, 1, 3), k=3)],
    "NthElement": [v(f(3, 6), k(2)), v(f(5), k(0), reverse=True), v(i(2, 4), k(3))],
    "InTopK": [
        v(f(4, 5), i(4, low=0, high=5), k=2),
        v(f(3, 3), k([0, 1, 9]), k=1),
        v(f(2, 4), i(2, low=0, high=4), k=4),
    ],
    "InTopKV2": [
        v(f(4, 5), i(4, low=0, high=5), k(2)),
        v(f(3, 3), k([0, 1, 9]), k(1)),
        v(f(2, 4), i(2, low=0, high=4), k(4)),
    ],
    "DynamicPartition": [
        v(f(5, 2), i(5, low=0, high=3), num_partitions=3),
        v(i(4), k([1, 0, 1, 1]), num_partitions=2),
        v(f(2, 2, 3), k([[0, 1], [1, 1]]), num_partitions=2),
    ],
    "DynamicStitch": [
        v([k([0, 2]), k([1, 3])], [f(2, 3), f(2, 3, seed=1)]),
        v([k([[0, 1], [2, 3]])], [f(2, 2, 2)]),
        v([k([0, 1]), k([1])], [i(2), i(1, seed=1)]),
    ],
    "ParallelDynamicStitch": [
        v([k([0, 2]), k([1, 3])], [f(2, 3), f(2, 3, seed=1)]),
        v([k([[0, 1], [2, 3]])], [f(2, 2, 2)]),
        v([k([1]), k([0])], [i(1), i(1, seed=1)]),
    ],
    "UnsortedSegmentSum": _unsorted(),
    "UnsortedSegmentProd": _unsorted(),
    "UnsortedSegmentMin": _unsorted(),
    "UnsortedSegmentMax": _unsorted(),
    "SparseSegmentSum": _sparse(),
    "SparseSegmentMean": _sparse(),
    "SparseSegmentSqrtN": _sparse(),
    "SparseSegmentSumWithNumSegments": _sparse_counted(),
    "SparseSegmentMeanWithNumSegments": _sparse_counted(),
    "SparseSegmentSqrtNWithNumSegments": _sparse_counted(),
    "SegmentSum": _segments(),
    "SegmentProd": _segments(),
    "SegmentMin": _segments(),
    "SegmentMax": _segments(),
    "SegmentMean": [v(f(4, 3), IDS), v(f(4), k(IDS)), open_(f(4, 2), IDS)],
}
INDEXING |= {f"Segment{kind}V2": _compiled_segments(f"Segment{kind}V2") for kind in ("Sum", "Prod", "Min", "Max")}
INDEXING["Where"].append(within(lambda x: tf.where(x > 0.0), f(2, 3)))
