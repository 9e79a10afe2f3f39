"""Operators that change shapes, make tensors and move elements: ONNX's cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.errors import CheckError, ExecutionError, IndexRangeError, SizeBoundError
from ge_core.ir import Builder, Graph
from ge_core.reference.interpret import interpret
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import run_node


@pytest.mark.parametrize(
    "case",
    cases("Shape", "Size", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Transpose", "Concat", "Split",
          "Slice", "Tile", "Pad", "Trilu", "DepthToSpace", "SpaceToDepth", "ReverseSequence", "CenterCropPad",
          "Range", "ConstantOfShape", "EyeLike", "OneHot", "Gather", "GatherElements"),
)  # fmt: skip
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", cases("Compress"))
def test_onnx_data_dependent(case: Case) -> None:
    check_case(case, data_dependent=True)


@pytest.mark.parametrize("case", cases("GatherND"))
def test_onnx_gather_nd(case: Case) -> None:
    check_case(case, symbolic=(0,))  # the last size of indices is part of the operator


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def iota(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.arange(np.prod(shape, dtype=np.int64)).reshape(shape).astype(dtype)


_FAR = 2**63 - 1


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("step", [1, 2, 7, -1, -2])
def test_slice_follows_python(size: int, step: int) -> None:
    x = iota(size, 2)
    for start in (-9, -3, -1, 0, 2, 4, 9, _FAR, -_FAR):
        for end in (-9, -2, 0, 1, 5, 9, _FAR, -_FAR - 1):
            result = run_node("Slice", x, ints(start), ints(end), ints(0), ints(step))
            np.testing.assert_array_equal(result, x[start:end:step])
            b = Builder(Graph())
            known = b.Slice(b.input("x", "float32", (size, 2)), ints(start), ints(end), ints(0), ints(step))
            assert known.shape == result.shape


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 2, 0, 3), (4, 0, 0, 5), (0, 1, 2, 0)])
def test_pad_follows_numpy(mode: str, pads: tuple[int, ...]) -> None:
    x = iota(3, 4)
    wanted = np.pad(x, [(pads[0], pads[2]), (pads[1], pads[3])], mode=mode)  # type: ignore[call-overload]
    np.testing.assert_array_equal(run_node("Pad", x, ints(*pads), mode=mode), wanted)


def test_pad_crops_and_fills() -> None:
    x = iota(3, 4)
    np.testing.assert_array_equal(run_node("Pad", x, ints(-1, 0, 0, -2)), x[1:, :2])
    np.testing.assert_array_equal(run_node("Pad", x, ints(1, -1), np.float32(9), ints(-2)), [[9] * 4, *x[:2]])
    np.testing.assert_array_equal(run_node("Pad", x, ints(-2, 2), None, ints(0), mode="edge"), x[[2, 2, 2]])
    assert run_node("Pad", x[:0], ints(2, 0, 1, 0)).tolist() == [[0] * 4] * 3
    single = run_node("Pad", x[:1], ints(2, 0, 1, 0), mode="reflect")
    np.testing.assert_array_equal(single, np.repeat(x[:1], 4, 0))
    with pytest.raises(SizeBoundError, match="empty"):
        run_node("Pad", x[:0], ints(2, 0, 1, 0), mode="edge")
    assert run_node("Pad", np.array([True]), ints(1, 1)).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("shape", "wanted", "allowzero", "result"),
    [
        ((2, 3), (3, 2), 0, (3, 2)), ((2, 3), (0, -1), 0, (2, 3)), ((2, 3), (-1,), 0, (6,)), ((), (1, 1), 0, (1, 1)),
        ((1,), (), 0, ()), ((0, 3), (0, 5), 1, (0, 5)), ((0, 3), (-1, 3), 0, (0, 3)), ((2, 0), (0, 0, 4), 1, (0, 0, 4)),
    ],
)  # fmt: skip
def test_reshape(shape: Any, wanted: Any, allowzero: int, result: Any) -> None:
    x = iota(*shape)
    assert run_node("Reshape", x, np.array(wanted, np.int64), allowzero=allowzero).shape == result


def test_reshape_of_a_wrong_size_is_an_error() -> None:
    with pytest.raises(SizeBoundError, match="do not fill"):
        run_node("Reshape", iota(2, 3), ints(4, -1))
    with pytest.raises(SizeBoundError, match="do not fill"):
        run_node("Reshape", iota(0, 3), ints(0, -1))


@pytest.mark.parametrize(
    ("size", "parts"), [(7, [3, 3, 1]), (6, [2, 2, 2]), (4, [2, 2, 0]), (0, [0, 0, 0]), (1, [1, 0, 0])]
)
def test_split_into_equal_parts(size: int, parts: list[int]) -> None:
    results = run_node("Split", iota(2, size), axis=1, num_outputs=3)
    assert [r.shape[1] for r in results] == parts
    np.testing.assert_array_equal(np.concatenate(results, 1), iota(2, size))


def test_split_by_wrong_sizes_is_an_error() -> None:
    with pytest.raises(SizeBoundError, match="do not make"):
        run_node("Split", iota(4), ints(1, 1), num_outputs=2)


def test_squeeze_and_unsqueeze() -> None:
    x = iota(1, 3, 1, 2)
    assert run_node("Squeeze", x).shape == (3, 2)
    assert run_node("Squeeze", x, ints(-2)).shape == (1, 3, 2)
    assert run_node("Unsqueeze", iota(3), ints(-1, 0)).shape == (1, 3, 1)
    assert run_node("Unsqueeze", iota(), ints(0, 1)).shape == (1, 1)


@pytest.mark.parametrize(
    ("shape", "wanted"), [((3, 1), (3, 4)), ((1,), (2, 0)), ((), (2, 2)), ((2, 3), (1,)), ((3,), (2, 1, 3))]
)
def test_expand(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    x = iota(*shape)
    result = run_node("Expand", x, ints(*wanted))
    np.testing.assert_array_equal(result, x * np.ones(wanted, np.float32))


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "bool", "int4", "object"]
)
def test_movement_takes_every_type(dtype: str) -> None:
    import ml_dtypes

    kind = np.dtype({"bfloat16": ml_dtypes.bfloat16, "int4": ml_dtypes.int4}.get(dtype, dtype))
    x = iota(2, 3).astype(kind) if dtype != "object" else np.array([["a", "b", "c"], ["d", "e", "f"]], object)
    np.testing.assert_array_equal(run_node("Transpose", x), x.T)
    np.testing.assert_array_equal(run_node("Concat", x, x, axis=-1), np.concatenate([x, x], 1))
    np.testing.assert_array_equal(run_node("Tile", x, ints(2, 1)), np.concatenate([x, x]))
    np.testing.assert_array_equal(run_node("Gather", x, ints(1, -2)), x[[1, 0]])
    np.testing.assert_array_equal(run_node("Slice", x, ints(1), ints(3), ints(1)), x[:, 1:])
    np.testing.assert_array_equal(run_node("Unsqueeze", x, ints(0)), x[None])
    np.testing.assert_array_equal(run_node("Pad", x, ints(0, 1, 0, 0))[:, 1:], x)
    np.testing.assert_array_equal(run_node("ScatterElements", x, ints(1)[None], x[:1, :1])[1, 0], x[0, 0])


@pytest.mark.parametrize(
    ("start", "limit", "delta", "dtype"),
    [
        (0, 10, 3, "int64"), (10, 0, -3, "int32"), (0, 0, 1, "int64"), (5, 1, 1, "int64"), (-3, 4, 2, "int16"),
        (0.0, 1.0, 0.1, "float32"), (1.0, 0.0, -0.25, "float64"), (0.0, -1.0, 1.0, "float32"),
    ],
)  # fmt: skip
def test_range(start: float, limit: float, delta: float, dtype: str) -> None:
    operands = [np.array(v, dtype) for v in (start, limit, delta)]
    result = run_node("Range", *operands)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_allclose(result, np.arange(start, limit, delta).astype(dtype), rtol=1e-6)


def test_range_with_delta_zero_is_an_error() -> None:
    with pytest.raises(ExecutionError, match="delta is 0"):
        run_node("Range", np.int64(0), np.int64(3), np.int64(0))


def test_one_hot_leaves_foreign_indices_off() -> None:
    result = run_node("OneHot", ints(1, -1, 5, -4), np.int64(3), np.array([7, 9], np.int32))
    assert result.tolist() == [[7, 9, 7], [7, 7, 9], [7, 7, 7], [7, 7, 7]]


def test_sizes_as_values() -> None:
    graph = Graph()
    b = Builder(graph)
    n = b.ge.BindDim(b.input("n", "int32", ()), lo=1, hi=5)
    (size,) = n.content
    b.outputs(b.ConstantOfShape(b.ints(size, 2)), b.scalar(size * 3), b.ints(size + 1, 4))
    shape, tripled, vector = interpret(graph, [np.int32(4)])[0]
    assert shape.shape == (4, 2) and tripled == 12 and vector.tolist() == [5, 4]
    with pytest.raises(SizeBoundError, match="outside"):
        interpret(graph, [np.int32(6)])


def test_check_stops_with_its_message() -> None:
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (2,))
    b.ge.Check(b.Less(x, 3.0), message="x is too large")
    b.outputs(x)
    interpret(graph, [np.float32([1, 2])])
    with pytest.raises(CheckError, match="too large"):
        interpret(graph, [np.float32([1, 5])])


@pytest.mark.parametrize("op", ["Gather", "GatherElements"])
@pytest.mark.parametrize("index", [3, -4])
def test_gather_out_of_range_is_an_error(op: str, index: int) -> None:
    with pytest.raises(IndexRangeError, match="out of range"):
        run_node(op, iota(3), ints(0, index))


def test_gather_of_nothing_and_of_scalars() -> None:
    assert run_node("Gather", iota(0, 4), np.zeros((2, 0), np.int64)).shape == (2, 0, 4)
    assert run_node("Gather", iota(3, 4), np.int64(-1)).tolist() == [8, 9, 10, 11]
    with pytest.raises(IndexRangeError):
        run_node("Gather", iota(0, 4), ints(0))
    with pytest.raises(IndexRangeError):
        run_node("GatherND", iota(2, 2), ints(0, 2)[None])
    with pytest.raises(IndexRangeError):
        run_node("ReverseSequence", iota(3, 1), ints(4))
    with pytest.raises(IndexRangeError):
        run_node("Compress", iota(2), np.array([False, False, True]))


def test_repeat_interleave() -> None:
    x = iota(2, 3)
    np.testing.assert_array_equal(run_node("ge.RepeatInterleave", x, ints(2, 0, 1), axis=1), x[:, [0, 0, 2]])
    np.testing.assert_array_equal(run_node("ge.RepeatInterleave", x, np.int64(2), axis=-2), x[[0, 0, 1, 1]])
