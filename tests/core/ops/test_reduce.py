"""Reductions and cumulative operators: ONNX's cases."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ge_core.ir import Builder, Graph, TensorType
from ge_core.ir.dtype import float32
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import run_node

REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
              "ReduceProd", "ReduceSum", "ReduceSumSquare")  # fmt: skip


@pytest.mark.parametrize("case", cases(*REDUCTIONS, "ArgMax", "ArgMin", "CumSum", "CumProd", "Hardmax"))
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", cases(*REDUCTIONS, expanded=True))
def test_onnx_bodies(case: Case) -> None:
    check_case(case)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


_NUMPY: dict[str, Any] = {
    "ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceProd": np.prod, "ReduceMax": np.max, "ReduceMin": np.min,
    "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k), "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k), "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k)),
    "ReduceLogSumExp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
}  # fmt: skip


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_reductions(op: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    limit = {np.float64: 1e-12, np.float32: 2e-6, np.float16: 2e-3}.get(dtype, 1e-2)
    for shape, axes in [((), ()), ((5,), (0,)), ((3, 4), (1,)), ((2, 3, 4), (0, -1)), ((2, 3, 2, 2), (1, 2)),
                        ((2, 1, 3, 2, 2), (0, 1, 2, 3, 4)), ((0, 3), (1,))]:  # fmt: skip
        x = rng.uniform(0.5, 2, shape).astype(dtype)
        for keep in (0, 1):
            wanted = np.asarray(_NUMPY[op](x.astype(np.float64), axis=axes, keepdims=bool(keep)))
            result = run_node(op, x, ints(*axes), keepdims=keep, noop_with_empty_axes=1)
            assert result.dtype == dtype and result.shape == wanted.shape
            np.testing.assert_allclose(result.astype(np.float64), wanted, limit)
            everything = run_node(op, x, keepdims=0)
            assert everything.shape == ()


def test_reductions_of_nothing() -> None:
    x = np.zeros((2, 0), np.float32)
    other = {"ReduceProd": 1, "ReduceMax": -np.inf, "ReduceMin": np.inf, "ReduceLogSum": -np.inf,
             "ReduceLogSumExp": -np.inf, "ReduceMean": np.nan}  # fmt: skip
    for op in REDUCTIONS:
        wanted = np.float32([other.get(op, 0)] * 2)
        np.testing.assert_array_equal(run_node(op, x, ints(1), keepdims=0), wanted)
    assert run_node("ReduceMax", np.zeros((0,), np.int8), keepdims=0) == -128
    assert run_node("ReduceMin", np.zeros((0,), np.uint8), keepdims=0) == 255


def test_extremes_propagate_nan() -> None:
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        x = np.array([[1, np.nan, 3], [1, 2, -np.inf]], dtype)
        for op, other in (("ReduceMax", 2), ("ReduceMin", -np.inf)):
            result = run_node(op, x, ints(1), keepdims=0).astype(np.float32)
            np.testing.assert_array_equal(result, np.float32([np.nan, other]))


def test_integers_wrap_and_bools_order() -> None:
    x = np.array([100, 100], np.int8)
    assert run_node("ReduceSum", x, keepdims=0) == -56
    assert run_node("ReduceProd", x, keepdims=0) == 16
    assert run_node("ReduceMean", np.array([-7, 2]), keepdims=0) == -2
    assert run_node("ReduceMax", np.array([False, True]), keepdims=0)
    assert not run_node("ReduceMin", np.array([False, True]), keepdims=0)


def test_long_sums_keep_their_accuracy() -> None:
    x = np.full((200_000, 2), 0.1, np.float32)
    np.testing.assert_allclose(run_node("ReduceSum", x, ints(0), keepdims=0), 20_000.0, 1e-6)
    np.testing.assert_allclose(run_node("CumSum", x, np.int64(0))[-1], 20_000.0, 1e-6)
    top = run_node("ReduceLogSumExp", np.array([1000, 1000], np.float32), keepdims=0)
    np.testing.assert_allclose(top, 1000 + np.log(2), 1e-6)


def test_arg_of_extremes() -> None:
    x = np.array([[1, 3, 3], [np.nan, 5, np.nan]], np.float32)
    assert run_node("ArgMax", x, axis=1, keepdims=0).tolist() == [1, 0]
    assert run_node("ArgMax", x, axis=-1, keepdims=0, select_last_index=1).tolist() == [2, 2]
    assert run_node("ArgMin", x, axis=1).tolist() == [[0], [0]]
    assert run_node("ArgMax", np.array([False, True, True]), keepdims=0) == 1
    assert run_node("ArgMax", np.float32(3)) == 0


@pytest.mark.parametrize("shape", [(5,), (2, 3), (0, 3), (2, 0)])
def test_cumulative(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).uniform(0.5, 2, shape).astype(np.float32)
    axis = len(shape) - 1
    np.testing.assert_allclose(run_node("CumSum", x, np.int64(-1)), np.cumsum(x, -1, np.float64), 1e-6)
    np.testing.assert_allclose(run_node("CumProd", x, np.int32(axis)), np.cumprod(x, axis), 1e-5)
    backward = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
    np.testing.assert_allclose(run_node("CumSum", x, np.int64(axis), reverse=1), backward, 1e-5)
    shifted = np.cumsum(x, axis) - x
    np.testing.assert_allclose(run_node("CumSum", x, np.int64(axis), exclusive=1), shifted, 1e-4, 1e-5)
    values = run_node("ge.LogCumSumExp", x, axis=axis)
    np.testing.assert_allclose(values, np.log(np.cumsum(np.exp(x), axis)), 1e-5)


def test_running_extremes_point_at_the_latest_hit() -> None:
    x = np.array([1, 3, 2, 3, np.nan, 9, np.nan], np.float32)
    values, places = run_node("ge.CumMax", x, axis=0)
    np.testing.assert_array_equal(values, np.float32([1, 3, 3, 3, np.nan, np.nan, np.nan]))
    assert places.tolist() == [0, 1, 1, 3, 4, 4, 6]
    values, places = run_node("ge.CumMin", np.array([[3, 1], [2, 1]], np.int8), axis=0)
    assert values.tolist() == [[3, 1], [2, 1]] and places.tolist() == [[0, 0], [1, 1]]
    wrapped = run_node("CumSum", np.array([100, 100], np.int8), np.int64(0))
    assert wrapped.tolist() == [100, -56]


def test_everything_of_any_rank_is_a_scalar() -> None:
    b = Builder(Graph("net"))
    x = b.input("x", "float32", None)
    assert b.ReduceMax(x, keepdims=0).type == TensorType(float32, ())
    assert b.ReduceMax(x).type == TensorType(float32, None)
    assert b.ReduceMax(x, b.ints(0), keepdims=0).type == TensorType(float32, None)
