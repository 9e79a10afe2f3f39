"""Pools: ONNX's cases, comparison with PyTorch, edge windows, symbolic sizes, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ge_core.errors import IndexRangeError, TypeRuleError
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)
OPS = ("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "MaxUnpool", "RoiAlign")
# These cases store data and results with four decimals.
ROUNDED = ("averagepool_2d_ceil_last_window_starts_on_pad", "roialign")


@pytest.mark.parametrize("case", cases(*OPS))
def test_onnx(case: Case) -> None:
    check_case(case, atol=1e-4 if case.name.startswith(ROUNDED) else None)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


WINDOW: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 1, 1], "dilations": [1, 2]}
RULES = [
    Rule("MaxPool", [("a", 2, 12, "b")], {**WINDOW, "kernel_shape": [3, 1]}, num_outputs=2),
    Rule("MaxPool", [("a", 2, 12, "b")], {"kernel_shape": [3, 1], "strides": [2, 2], "ceil_mode": 1}),
    Rule("MaxPool", [("a", 2, "b")], {"kernel_shape": [3], "strides": [2], "pads": [1, 2], "ceil_mode": 1}),
    Rule("AveragePool", [("a", 2, "b", 7)], {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    Rule("LpPool", [("a", 2, "b", 7)], {"kernel_shape": [1, 2], "ceil_mode": 1, "strides": [2, 2]}),
    Rule(
        "ge.AveragePool",
        [("a", 2, 12, "b")],
        {**WINDOW, "kernel_shape": [3, 1], "ceil_mode": 1, "count_include_pad": 1},
    ),
    Rule("ge.AdaptivePool", [("a", 2, "b", 7)], {"output_size": [3, 2], "mode": "average"}),
    Rule("ge.AdaptivePool", [("a", 2, "b", 7)], {"output_size": [3, 2], "mode": "max"}, num_outputs=2),
    Rule("GlobalAveragePool", [("a", 2, "b", 3)]),
    Rule("GlobalMaxPool", [("a", "b", 3)]),
    Rule("GlobalLpPool", [("a", "b", 3)], {"p": 3}),
    Rule("MaxUnpool", [("a", 2, "b"), ("a", 2, "b")], {"kernel_shape": [2], "strides": [2]}, {1: "int64"}, {1: 1}),
    Rule(
        "MaxRoiPool",
        [(2, "b", 6, 7), np.array([[0, 0, 0, 3, 3], [1, 1, 1, 4, 2]], np.float32)],
        {"pooled_shape": [2, 3]},
    ),
    Rule("RoiAlign", [(2, "b", 6, 7), ("a", 4), ("a",)], {"output_height": 2, "output_width": 3}, {2: "int64"}, {2: 2}),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


GEOMETRY = [
    # rank, kernel, stride, pad, dilation, ceil
    *itertools.product((1, 2, 3), (2, 3), (1, 2), (0, 1), (1,), (False, True)),
    (2, 3, 2, 1, 2, True),
    (2, 2, 3, 1, 1, True),  # a stride over the kernel: the last window may start in the padding
    (1, 2, 5, 0, 1, True),
]


@pytest.mark.parametrize("geometry", GEOMETRY, ids=str)
def test_max_pool_against_torch(geometry: tuple[int, ...]) -> None:
    rank, kernel, stride, pad, dilation, ceil = geometry
    x = f32(2, 3, *(9, 8, 7)[:rank])
    x.flat[::17] = x.flat[0]  # ties: the first index counts
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[rank - 1]
    expected, index = function(torch.from_numpy(x), kernel, stride, pad, dilation, bool(ceil), True)
    attrs: dict[str, Any] = {
        "kernel_shape": [kernel] * rank, "strides": [stride] * rank, "pads": [pad] * 2 * rank,
        "dilations": [dilation] * rank, "ceil_mode": ceil,
    }  # fmt: skip
    np.testing.assert_array_equal(run_node("MaxPool", x, **attrs), expected.numpy())
    got, flat = run_node("MaxPool", x, num_outputs=2, **attrs)
    np.testing.assert_array_equal(got, expected.numpy())
    planes = np.arange(6).reshape(2, 3, *[1] * rank) * np.prod(x.shape[2:])
    np.testing.assert_array_equal(flat - planes, index.numpy())


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("geometry", [g for g in GEOMETRY if g[4] == 1], ids=str)
def test_average_pool_against_torch(geometry: tuple[int, ...], include: bool) -> None:
    rank, kernel, stride, pad, _, ceil = geometry
    x = f32(2, 3, *(9, 8, 7)[:rank])
    function = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[rank - 1]
    expected = function(torch.from_numpy(x), kernel, stride, pad, bool(ceil), include).numpy()
    attrs: dict[str, Any] = {
        "kernel_shape": [kernel] * rank, "strides": [stride] * rank, "pads": [pad] * 2 * rank,
        "ceil_mode": ceil, "count_include_pad": include,
    }  # fmt: skip
    np.testing.assert_allclose(run_node("AveragePool", x, **attrs), expected, rtol=1e-5, atol=1e-6)
    attrs["dilations"] = [1] * rank
    np.testing.assert_allclose(run_node("ge.AveragePool", x, **attrs), expected, rtol=1e-5, atol=1e-6)


def test_divisor_of_an_average() -> None:
    x = f32(1, 2, 6, 6)
    expected = F.avg_pool2d(torch.from_numpy(x), 3, 2, 1, divisor_override=5).numpy()
    got = run_node(
        "ge.AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, dilations=[1, 1], ceil_mode=0,
        count_include_pad=1, divisor=5,
    )  # fmt: skip
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("out", [(1, 1), (3, 2), (7, 5), (10, 11)])
def test_adaptive_pools_against_torch(out: tuple[int, int]) -> None:
    x = f32(2, 3, 7, 10)
    given = torch.from_numpy(x)
    got = run_node("ge.AdaptivePool", x, output_size=out, mode="average")
    np.testing.assert_allclose(got, F.adaptive_avg_pool2d(given, out).numpy(), rtol=1e-5, atol=1e-6)
    got, index = run_node("ge.AdaptivePool", x, num_outputs=2, output_size=out, mode="max")
    expected, places = F.adaptive_max_pool2d(given, out, return_indices=True)
    np.testing.assert_array_equal(got, expected.numpy())
    np.testing.assert_array_equal(index, places.numpy())


def test_nan_wins_every_maximum() -> None:
    x = f32(1, 1, 6)
    x[0, 0, 2] = np.nan
    got = run_node("MaxPool", x, kernel_shape=[2])
    assert np.isnan(got[0, 0]).tolist() == [False, True, True, False, False]
    got, index = run_node("MaxPool", x, num_outputs=2, kernel_shape=[3])
    assert np.isnan(got[0, 0]).tolist() == [True, True, True, False]
    assert index[0, 0, :3].tolist() == [2, 2, 2]
    assert np.isnan(run_node("GlobalMaxPool", x)).all()
    got = run_node("ge.AdaptivePool", x, output_size=[2], mode="max")
    assert np.isnan(got[0, 0]).tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float16", "bfloat16", "float64"])
def test_max_pool_types(dtype: str) -> None:
    x = RNG.integers(0, 100, (1, 2, 5)).astype(dtype)
    got = run_node("MaxPool", x, kernel_shape=[2], strides=[2], pads=[1, 1])
    assert got.dtype == dtype
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1)], constant_values=-np.inf)[..., :6]
    np.testing.assert_array_equal(got.astype(np.float64), wide.reshape(1, 2, 3, 2).max(axis=3))


def test_lp_pools() -> None:
    x = f32(1, 2, 8)
    expected = F.lp_pool1d(torch.from_numpy(np.abs(x)), 3, 2, 2).numpy()
    np.testing.assert_allclose(run_node("LpPool", x, p=3, kernel_shape=[2], strides=[2]), expected, rtol=1e-5)
    expected = (np.abs(x) ** 3).sum(axis=2, keepdims=True) ** (1 / 3)
    np.testing.assert_allclose(run_node("GlobalLpPool", x, p=3), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align_against_onnx(mode: str, coordinates: str, ratio: int) -> None:
    x, images = f32(2, 3, 10, 12), np.array([0, 1, 1, 0])
    boxes = np.array([[1, 1, 8, 7], [2, 3, 20, 30], [-3, -2, 4, 5], [5, 5, 5, 5]], np.float32)
    attrs: dict[str, Any] = {
        "mode": mode, "coordinate_transformation_mode": coordinates, "sampling_ratio": ratio,
        "output_height": 3, "output_width": 4, "spatial_scale": 0.7,
    }  # fmt: skip
    node = helper.make_node("RoiAlign", ["x", "r", "b"], ["y"], **attrs)
    (expected,) = ReferenceEvaluator(node).run(None, {"x": x, "r": boxes, "b": images})
    np.testing.assert_allclose(run_node("RoiAlign", x, boxes, images, **attrs), expected, rtol=1e-5, atol=1e-6)


def test_max_roi_pool() -> None:
    """By the definition, bin by bin; the second region reaches outside, the third has one element."""
    x = f32(2, 3, 8, 9)
    rois = np.array([[0, 1.4, 2, 6.6, 5], [1, 4, 4, 12, 12], [1, 3, 3, 3, 3]], np.float32)
    got = run_node("MaxRoiPool", x, rois, pooled_shape=[2, 3], spatial_scale=0.9)
    expected = np.zeros((3, 3, 2, 3), np.float32)
    for n, (image, *box) in enumerate(rois):
        x1, y1, x2, y2 = (int(np.floor(v * np.float32(0.9) + 0.5)) for v in box)
        h, w = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
        for i, j in itertools.product(range(2), range(3)):
            rows = [r for r in range(y1 + int(np.floor(i * h / 2)), y1 + int(np.ceil((i + 1) * h / 2))) if r < 8]
            cols = [c for c in range(x1 + int(np.floor(j * w / 3)), x1 + int(np.ceil((j + 1) * w / 3))) if c < 9]
            if rows and cols:
                expected[n, :, i, j] = x[int(image)][:, rows][:, :, cols].max(axis=(1, 2))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "why"),
    [
        ("MaxPool", [(1, 2, 3)], {"kernel_shape": [5]}, "larger than the padded input of 3"),
        ("MaxPool", [(1, 2, 3)], {"kernel_shape": [2, 2]}, "kernel_shape has 2 numbers, expected 1"),
        ("AveragePool", [(1, 2)], {"kernel_shape": []}, "rank 2, expected at least 3"),
        ("GlobalMaxPool", [(3,)], {}, "rank 1, expected at least 3"),
        ("ge.AdaptivePool", [(2, 3)], {"output_size": [0], "mode": "max"}, "at least 1"),
        ("ge.AdaptivePool", [(2, 3)], {"output_size": [2], "mode": "sum"}, "mode is 'sum'"),
        ("MaxRoiPool", [(1, 2, 3, 4), (2, 4)], {"pooled_shape": [1, 1]}, "second size of rois and 5"),
    ],
)
def test_refused(op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        run_node(op, *(np.ones(s, np.float32) for s in shapes), **attrs)


def test_indices_out_of_range_are_errors() -> None:
    x, boxes = f32(1, 1, 4, 4), np.array([[0, 0, 1, 1]], np.float32)
    with pytest.raises(IndexRangeError, match="image 1 of 1"):
        run_node("RoiAlign", x, boxes, np.array([1]))
    with pytest.raises(IndexRangeError, match="reach 99 of 64"):
        run_node("MaxUnpool", x, np.full(x.shape, 99), kernel_shape=[2, 2], strides=[2, 2])
