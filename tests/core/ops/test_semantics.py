"""Where ONNX is silent the IR is not: one test for each row of the table in docs/ir.md."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ge_core
from ge_core.errors import DivisionByZeroError, IndexRangeError
from ge_core.ir import Builder, Graph
from ge_core.reference.interpret import interpret

NAN, INF = np.nan, np.inf
f32, i8, i64 = np.float32, np.int8, np.int64


def run(op: str, *arrays: Any, num_outputs: int | None = None, **attrs: Any) -> Any:
    """The result of one operator on arrays (numbers become arrays of rank 0)."""
    graph = Graph()
    b = Builder(graph)
    inputs = [np.asarray(a) for a in arrays]
    values = [b.input(f"x{i}", a.dtype, a.shape) for i, a in enumerate(inputs)]
    out = b.op(op, *values, num_outputs=num_outputs, **attrs)
    b.outputs(*(out if isinstance(out, tuple) else (out,)))
    results, _ = interpret(graph, inputs)
    return results[0] if len(results) == 1 else results


def same(actual: np.ndarray, expected: Any) -> None:
    np.testing.assert_array_equal(actual, np.asarray(expected))


def test_nan_propagates() -> None:
    for op in ("Max", "Min"):
        same(run(op, f32([1, NAN]), f32([NAN, 2])), [NAN, NAN])
    same(run("Clip", f32([NAN, 5]), f32(0), f32(1)), [NAN, 1])
    same(run("Relu", f32([NAN, -1])), [NAN, 0])
    for op in ("ReduceMax", "ReduceMin"):
        same(run(op, f32([1, NAN, 2]), keepdims=0), NAN)
    values, indices = run("TopK", f32([1, NAN, 3]), i64([2]))
    same(values, [NAN, 3])
    same(indices, [1, 2])


def test_integers_wrap() -> None:
    same(run("Add", i8([127]), i8([1])), [-128])
    same(run("Sub", i8([-128]), i8([1])), [127])
    same(run("Mul", i8([64]), i8([2])), [-128])
    same(run("Neg", i8([-128])), [-128])
    same(run("Abs", i8([-128])), [-128])
    same(run("ReduceSum", i8([100, 100]), keepdims=0), -56)


@pytest.mark.parametrize("op", ["Div", "Mod", "ge.FloorDiv", "ge.FloorMod", "ge.TruncDiv"])
def test_division_by_zero(op: str) -> None:
    for dtype in (np.int8, np.uint8, np.int32, np.int64):
        with pytest.raises(DivisionByZeroError):
            run(op, dtype([4, 1]), dtype([2, 0]))


def test_lowest_by_minus_one() -> None:
    for op in ("Div", "ge.FloorDiv", "ge.TruncDiv"):
        same(run(op, i8([-128]), i8([-1])), [-128])
    for op in ("Mod", "ge.FloorMod"):
        same(run(op, i8([-128]), i8([-1])), [0])


def test_division_rounds_to_zero() -> None:
    a, b = i8([7, -7, 7, -7]), i8([2, 2, -2, -2])
    same(run("Div", a, b), [3, -3, -3, 3])
    same(run("ge.FloorDiv", a, b), [3, -4, -4, 3])
    same(run("Mod", a, b), [1, 1, -1, -1])
    same(run("Mod", a, b, fmod=1), [1, -1, 1, -1])


def test_wide_shifts() -> None:
    for direction in ("LEFT", "RIGHT"):
        same(run("BitShift", np.uint8([255, 255]), np.uint8([8, 200]), direction=direction), [0, 0])
    same(run("ge.ArithmeticShift", i8([-5, 5]), i8([8, 100])), [-1, 0])


def test_float_to_int_saturates() -> None:
    x = f32([NAN, 1e20, -1e20, INF, -1.7, 1.7])
    same(run("Cast", x, to="int8"), [0, 127, -128, 127, -1, 1])
    same(run("Cast", x, to="uint8"), [0, 255, 0, 255, 0, 1])
    same(run("Cast", x, to="int64"), [0, 2**63 - 1, -(2**63), 2**63 - 1, -1, 1])


def test_float_to_bool() -> None:
    same(run("Cast", f32([NAN, 0, -0.0, 1e-30]), to="bool"), [True, False, False, True])


@pytest.mark.parametrize("index", [3, -4])
def test_index_out_of_range(index: int) -> None:
    x, u = f32([1, 2, 3]), f32([9])
    calls = [
        ("Gather", (x, i64([index])), {}),
        ("GatherElements", (x, i64([index])), {}),
        ("GatherND", (x, i64([[index]])), {}),
        ("ScatterElements", (x, i64([index]), u), {}),
        ("ScatterND", (x, i64([[index]]), u), {}),
        ("ge.ScatterReduce", (x, i64([index]), u), {"axis": 0, "reduction": "sum"}),
    ]
    for op, arrays, attrs in calls:
        with pytest.raises(IndexRangeError):
            run(op, *arrays, **attrs)


def test_repeated_indices() -> None:
    x, u = f32([0, 0, 0]), f32([1, 2, 4])
    same(run("ScatterElements", x, i64([1, 1, 0]), u), [4, 2, 0])
    same(run("ScatterND", x, i64([[1], [1], [0]]), u), [4, 2, 0])
    same(run("ScatterElements", x, i64([1, 1, 0]), u, reduction="add"), [4, 3, 0])
    same(run("ge.ScatterReduce", x, i64([1, 1, 0]), u, axis=0, reduction="sum"), [4, 3, 0])


def test_empty_reductions() -> None:
    nothing = np.zeros((0,), f32)
    expected = {"ReduceSum": 0, "ReduceProd": 1, "ReduceMax": -INF, "ReduceMin": INF, "ReduceMean": NAN}
    for op, value in expected.items():
        same(run(op, nothing, keepdims=0), f32(value))


def test_round_half_even() -> None:
    same(run("Round", f32([0.5, 1.5, 2.5, -0.5, -1.5])), [0, 2, 2, -0.0, -2])


def test_sort_is_stable() -> None:
    x = f32([2, 1, 2, 1])
    same(run("ge.Sort", x, axis=0)[1], [1, 3, 0, 2])
    same(run("ge.Sort", x, axis=0, descending=1)[1], [0, 2, 1, 3])
    same(run("TopK", x, i64([3]))[1], [0, 2, 1])


def test_nan_sorts_last() -> None:
    same(run("ge.Sort", f32([2, NAN, 1]), axis=0)[0], [1, 2, NAN])
    same(run("ge.Sort", f32([2, NAN, 1]), axis=0, descending=1)[0], [NAN, 2, 1])


def test_sixteen_bits() -> None:
    import ml_dtypes

    same(run("Add", np.float16([2048, 2050]), np.float16([1, 1])), np.float16([2048, 2052]))
    same(run("ReduceSum", np.full(4096, 1, np.float16), keepdims=0), np.float16(4096))
    same(
        run("Mul", np.array([1.5, 3.0], ml_dtypes.bfloat16), np.array([1.0078125, 1.0], ml_dtypes.bfloat16)),
        np.array([1.515625, 3.0], ml_dtypes.bfloat16),
    )


def test_negative_zero() -> None:
    assert np.signbit(run("Neg", f32([0.0])))[0]
    assert run("Equal", f32([-0.0]), f32([0.0]))[0]
    assert run("Relu", f32([-0.0]))[0] == 0
    assert np.signbit(run("Mul", f32([-1.0]), f32([0.0])))[0]


@pytest.mark.parametrize("target", ["reference", "cpu"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_attention_to_nothing(target: str, dtype: str) -> None:
    """As PyTorch and ONNX's reference say; by a mask, and by queries of -inf."""
    graph = Graph("g")
    b = Builder(graph)
    q, k, v = (b.input(name, dtype, (1, 2, 3, 8)) for name in "qkv")
    mask = b.input("mask", "bool", (3, 3))
    b.outputs(b.Attention(q, k, v, mask), b.Attention(q, k, v))
    model = ge_core.compile(graph, target=target)
    ones = np.ones((1, 2, 3, 8), dtype)
    given = np.array([[1, 1, 1], [0, 0, 0], [0, 1, 0]], bool)
    masked, plain = model(ones, ones, ones, given)
    same(masked[0, :, :, 0].astype(f32), f32([[1, 0, 1]] * 2))
    same(plain, ones)
    queries = ones.copy()
    queries[0, :, 2] = -INF
    masked, plain = model(queries, ones, ones, given)
    same(masked[0, :, :, 0].astype(f32), f32([[1, 0, 0]] * 2))
    same(plain[0, :, :, 0].astype(f32), f32([[1, 1, 0]] * 2))


def test_softmax_of_infinities() -> None:
    same(run("Softmax", f32([[-INF, -INF], [INF, 0], [NAN, 0]]), axis=-1), np.full((3, 2), NAN, f32))
    same(run("Softmax", f32([[-INF, 0]]), axis=-1), f32([[0, 1]]))


def test_the_page_and_the_tests_agree() -> None:
    page = (Path(__file__).parents[3] / "docs" / "ir.md").read_text(encoding="utf-8")
    table = page.split("## Where ONNX is silent")[1]
    rules = set(re.findall(r"^\| (\w+) \| (?!what holds)", table, re.MULTILINE))
    here = vars(sys.modules[__name__])
    assert rules == {name.removeprefix("test_") for name in here if name.startswith("test_")} - {
        "the_page_and_the_tests_agree"
    }
