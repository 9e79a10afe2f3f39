"""Scattering, sorting, searching and counting: ONNX's cases."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ge_core.errors import IndexRangeError, SizeBoundError
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import run_node


@pytest.mark.parametrize("case", cases("ScatterElements", "TensorScatter", "TopK"))
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", cases("ScatterND"))
def test_onnx_scatter_nd(case: Case) -> None:
    check_case(case, symbolic=(0,))  # the last size of indices is part of the operator


@pytest.mark.parametrize("case", cases("NonZero", "Unique", "NonMaxSuppression"))
def test_onnx_data_dependent(case: Case) -> None:
    check_case(case, data_dependent=True)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_scatter_applies_repeated_indices_in_order() -> None:
    data, places, updates = np.zeros(3, np.float32), ints(1, 1, -2, 0), np.float32([4, 5, 6, 7])
    assert run_node("ScatterElements", data, places, updates).tolist() == [7, 6, 0]
    assert run_node("ScatterND", data, places[:, None], updates).tolist() == [7, 6, 0]
    assert run_node("ScatterElements", data, places, updates, reduction="add").tolist() == [7, 15, 0]
    assert run_node("ScatterND", data + 1, places[:, None], updates, reduction="mul").tolist() == [7, 120, 1]


def test_scatter_of_small_floats_rounds_once() -> None:
    data = np.array([256], ml_dtypes.bfloat16)
    ones = np.array([1, 1, 1, 1], ml_dtypes.bfloat16)
    result = run_node("ScatterElements", data, ints(0, 0, 0, 0), ones, reduction="add")
    assert result.astype(np.float32).tolist() == [260]


@pytest.mark.parametrize("index", [2, -3])
def test_scatter_out_of_range_is_an_error(index: int) -> None:
    data, one = np.zeros(2, np.float32), np.ones(1, np.float32)
    with pytest.raises(IndexRangeError):
        run_node("ScatterElements", data, ints(index), one)
    with pytest.raises(IndexRangeError):
        run_node("ScatterND", data, ints(index)[None], one)
    with pytest.raises(IndexRangeError):
        run_node("ge.ScatterReduce", data, ints(index), one, axis=0, reduction="sum")
    with pytest.raises(IndexRangeError):
        run_node("TensorScatter", np.zeros((1, 2, 1), np.float32), np.ones((1, 1, 1), np.float32), ints(index))


@pytest.mark.parametrize(
    ("reduction", "own", "wanted"),
    [
        ("sum", 1, [11, 24, 30]), ("sum", 0, [1, 4, 30]), ("prod", 1, [10, -240, 30]), ("prod", 0, [1, -12, 30]),
        ("max", 1, [10, 20, 30]), ("max", 0, [1, 6, 30]), ("min", 1, [1, -2, 30]), ("min", 0, [1, -2, 30]),
        ("mean", 1, [5.5, 8, 30]), ("mean", 0, [1, 2, 30]),
    ],
)  # fmt: skip
def test_scatter_reduce(reduction: str, own: int, wanted: list[float]) -> None:
    data, places, updates = np.float32([10, 20, 30]), ints(0, 1, 1), np.float32([1, 6, -2])
    result = run_node("ge.ScatterReduce", data, places, updates, axis=0, reduction=reduction, include_self=own)
    np.testing.assert_allclose(result, wanted)


def test_segments() -> None:
    data, ids = np.float32([[1, 2], [3, 4], [5, 6]]), ints(2, 0, 2)
    wanted: dict[str, list[list[float]]] = {
        "sum": [[3, 4], [0, 0], [6, 8]], "prod": [[3, 4], [1, 1], [5, 12]], "mean": [[3, 4], [0, 0], [3, 4]],
        "max": [[3, 4], [-np.inf] * 2, [5, 6]], "min": [[3, 4], [np.inf] * 2, [1, 2]],
    }  # fmt: skip
    for reduction, rows in wanted.items():
        assert run_node("ge.SegmentReduce", data, ids, np.int64(3), reduction=reduction).tolist() == rows
    with pytest.raises(IndexRangeError):
        run_node("ge.SegmentReduce", data, ids, np.int64(2), reduction="sum")


def test_masked_scatter() -> None:
    x, mask = np.zeros((2, 2), np.int32), np.array([True, False])
    assert run_node("ge.MaskedScatter", x, mask, np.int32([7, 8, 9])).tolist() == [[7, 0], [8, 0]]
    with pytest.raises(IndexRangeError, match="source has 1"):
        run_node("ge.MaskedScatter", x, mask, np.int32([7]))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("descending", [0, 1])
def test_sort_is_stable(dtype: Any, descending: int) -> None:
    x = np.array([[3, 1, 3, 0, 1], [0, 0, 2, 2, 1]]).astype(dtype)
    values, places = run_node("ge.Sort", x, axis=1, descending=descending)
    for row, got, order in zip(x.astype(np.float32), values.astype(np.float32), places, strict=True):
        wanted = sorted(range(5), key=lambda i: (-row[i] if descending else row[i], i))
        assert order.tolist() == wanted and got.tolist() == row[wanted].tolist()


def test_nan_is_the_greatest() -> None:
    x = np.array([2, np.nan, 1, np.nan, np.inf], np.float32)
    assert run_node("ge.Sort", x)[1].tolist() == [2, 0, 4, 1, 3]
    assert run_node("ge.Sort", x, descending=1)[1].tolist() == [1, 3, 4, 0, 2]
    assert run_node("TopK", x, ints(3))[1].tolist() == [1, 3, 4]
    assert run_node("TopK", x, ints(2), largest=0)[1].tolist() == [2, 0]


def test_top_k_of_nothing_and_too_many() -> None:
    values, places = run_node("TopK", np.zeros((2, 0), np.float32), ints(0))
    assert values.shape == places.shape == (2, 0)
    with pytest.raises(IndexRangeError, match="k is 4"):
        run_node("TopK", np.zeros(3, np.float32), ints(4))


@pytest.mark.parametrize("right", [0, 1])
def test_search_sorted(right: int) -> None:
    side: Any = "right" if right else "left"
    for size in (0, 1, 2, 5, 8):
        row = np.sort(np.random.default_rng(size).integers(0, 6, size)).astype(np.float32)
        values = np.float32([-1, 0, 1, 2.5, 3, 5, 9, np.nan, np.inf])
        wanted = np.searchsorted(row, values, side)
        assert run_node("ge.SearchSorted", row, values, right=right).tolist() == wanted.tolist()
        assert run_node("ge.SearchSorted", row, np.float32(3), right=right) == np.searchsorted(row, 3, side)
    rows = np.array([[1, 3, 5], [2, 2, 2]])
    assert run_node("ge.SearchSorted", rows, np.array([[3, 6], [2, 1]]), right=right).tolist() == [
        [1 + right, 3], [3 * right, 0]
    ]  # fmt: skip


def test_places() -> None:
    mask = np.array([False, True, True, False, True])
    assert run_node("ge.Places", mask, np.int64(3)).tolist() == [1, 2, 4]
    assert run_node("ge.Places", mask[:1], np.int64(0)).tolist() == []
    with pytest.raises(SizeBoundError, match="3 elements are true"):
        run_node("ge.Places", mask, np.int64(2))


def test_kept_boxes() -> None:
    """The second box overlaps the first one, which is better; the third stands apart."""
    boxes = np.float32([[[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]]])
    scores = np.float32([[[0.9, 0.8, 0.7], [0.1, 0.8, 0.95]]])
    limits = np.float32(0.5), np.float32(0.2)
    for most in (1, 2, 3):
        kept = run_node("ge.KeptBoxes", boxes, scores, np.int64(most), *limits)
        wanted = [[0, 2, -1], [2, 1, -1]]  # the limit is no constant: there is room for all boxes
        assert kept.tolist() == [[[n if i < most else -1 for i, n in enumerate(row)] for row in wanted]]
    assert run_node("ge.KeptBoxes", boxes, scores).shape == (1, 2, 0)


def test_counts() -> None:
    x = np.int32([1, 3, 1])
    assert run_node("ge.BinCount", x, None, np.int64(5)).tolist() == [0, 2, 0, 1, 0]
    assert run_node("ge.BinCount", x, np.float32([0.5, 1, 2]), np.int64(4)).tolist() == [0, 2.5, 0, 1]
    assert run_node("ge.BinCount", x, np.int64([5, 6, 7]), np.int64(4)).tolist() == [0, 12, 0, 6]
    with pytest.raises(IndexRangeError):
        run_node("ge.BinCount", x, None, np.int64(3))
    with pytest.raises(IndexRangeError):
        run_node("ge.BinCount", -x, None, np.int64(3))


def test_places_of_what_is_not_zero() -> None:
    assert run_node("NonZero", np.float32([[0, np.nan], [-0.0, 2]])).tolist() == [[0, 1], [1, 1]]
    assert run_node("NonZero", np.float32(3)).shape == (0, 1)
    assert run_node("NonZero", np.zeros((2, 0), np.bool_)).shape == (2, 0)


def test_unique_keeps_nans_apart() -> None:
    values, first, inverse, counts = run_node("Unique", np.float32([np.nan, 1, np.nan, 1]), num_outputs=4)
    np.testing.assert_array_equal(values, np.float32([1, np.nan, np.nan]))
    assert first.tolist() == [1, 0, 2] and inverse.tolist() == [1, 0, 2, 0] and counts.tolist() == [2, 1, 1]
    text = run_node("Unique", np.array(["b", "a", "b"], object), sorted=0)
    assert text.tolist() == ["b", "a"]


def test_boxes_without_limit_or_overlap() -> None:
    boxes = np.float32([[[0, 0, 1, 1], [0, 0, 1, 1], [5, 5, 6, 6]]])
    scores = np.float32([[[0.2, 0.9, 0.5]]])
    assert run_node("NonMaxSuppression", boxes, scores).shape == (0, 3)
    kept = run_node("NonMaxSuppression", boxes, scores, np.int64([9]), np.float32([0.5]))
    assert kept.tolist() == [[0, 0, 1], [0, 0, 2]]
