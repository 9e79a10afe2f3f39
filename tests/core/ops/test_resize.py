"""Resize, sampling and grids: ONNX's cases, comparison with PyTorch, symbolic sizes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ge_core.errors import TypeRuleError
from ge_core.ir import Builder, Graph, symbol
from ge_core.ir.dims import evaluate
from ge_core.ops.resize import policy_sizes, scaled_size
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("case", cases("Resize", "GridSample", "AffineGrid"))
def test_onnx(case: Case) -> None:
    # the expected values of this case are stored with four decimals
    check_case(case, atol=6e-5 if case.name == "gridsample_bicubic" else None)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def scales(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


RULES = [
    Rule("Resize", [("a", 2, "b"), None, scales(1, 1, 2)]),
    Rule("Resize", [("a", 2, "b"), None, scales(1.5)], {"axes": [-1], "mode": "linear"}),
    Rule("Resize", [("a", 2, "b"), None, scales(1 / 3 + 1)], {"axes": [2]}),
    Rule("Resize", [("a", 2, "b"), None, scales(1.2345)], {"axes": [2]}),
    Rule("Resize", [("a", "b", 6), None, None, np.array([5, 9])], {"axes": [1, 2], "mode": "cubic"}),
    Rule(
        "Resize",
        [("a", "b", 6), None, None, np.array([5, 9])],
        {"axes": [1, 2], "keep_aspect_ratio_policy": "not_larger"},
    ),
    Rule(
        "Resize",
        [(1, "b", "a"), None, None, np.array([5, 9])],
        {"axes": [2, 1], "keep_aspect_ratio_policy": "not_smaller"},
    ),
    Rule("GridSample", [("a", 2, 5, 6), ("a", "b", 3, 2)]),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


def test_sizes_of_an_affine_grid() -> None:
    check_rule(Rule("AffineGrid", [("a", 2, 3), np.array([3, 1, 4, 5])]), [{"a": 3}])


def test_sizes_from_data_are_new() -> None:
    check_rule(Rule("Resize", [("a", 2), None, (2,)], dtypes={2: "float32"}, data_dependent=True), [])


@pytest.mark.parametrize(
    ("size", "scale", "expected"),
    [(3, 1 / 3, 1), (9, 1 / 3, 3), (10, 0.7, 7), (5, 0.6, 3), (7, 2.5, 17), (100, 0.01, 1), (3, 1.9999, 5)],
)
def test_scaled_sizes(size: int, scale: float, expected: int) -> None:
    n = symbol("n", 1)
    assert scaled_size(size, float(np.float32(scale))) == expected
    assert evaluate(scaled_size(n, float(np.float32(scale))), {"n": size}) == expected


def test_policies_round_halves_up() -> None:
    assert policy_sizes("not_larger", [7, 8], [0, 1], [7, 4]) == [4, 4]
    assert policy_sizes("not_smaller", [7, 8], [0, 1], [3, 4]) == [4, 4]
    assert policy_sizes("stretch", [7, 8], [1], [3]) == [7, 3]


TORCH = [
    # mode, align_corners, antialias; ONNX attributes
    (
        "nearest",
        None,
        False,
        {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    ),
    ("nearest-exact", None, False, {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}),
    ("bilinear", False, False, {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}),
    ("bilinear", True, False, {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
    ("bicubic", False, False, {"mode": "cubic"}),
    ("bicubic", True, False, {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}),
    ("bilinear", False, True, {"mode": "linear", "antialias": 1, "exclude_outside": 1}),
    ("bicubic", False, True, {"mode": "cubic", "antialias": 1, "exclude_outside": 1, "cubic_coeff_a": -0.5}),
]


@pytest.mark.parametrize("size", [(5, 4), (17, 22), (8, 11), (3, 30), (1, 1)])
@pytest.mark.parametrize(("mode", "align", "antialias", "attrs"), TORCH, ids=[f"{t[0]}-{t[1]}-{t[2]}" for t in TORCH])
def test_against_torch(
    mode: str, align: bool | None, antialias: bool, attrs: dict[str, Any], size: tuple[int, int]
) -> None:
    x = f32(2, 3, 8, 11)
    expected = F.interpolate(torch.from_numpy(x), size, mode=mode, align_corners=align, antialias=antialias).numpy()
    got = run_node("Resize", x, None, None, np.array(size), axes=[2, 3], **attrs)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_types() -> None:
    x = RNG.integers(0, 255, (1, 1, 4, 4)).astype(np.uint8)
    wide = run_node("Resize", x.astype(np.float64), None, scales(1, 1, 0.6, 1.7), mode="cubic")
    got = run_node("Resize", x, None, scales(1, 1, 0.6, 1.7), mode="cubic")
    np.testing.assert_array_equal(got, np.clip(np.rint(wide), 0, 255).astype(np.uint8))
    flags = run_node("Resize", x > 100, None, scales(1, 1, 2, 2))
    np.testing.assert_array_equal(flags, np.kron(x > 100, np.ones((1, 1, 2, 2), np.bool_)))


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("mode", "onnx"), [("bilinear", "linear"), ("nearest", "nearest"), ("bicubic", "cubic")])
def test_grid_sample_against_torch(mode: str, onnx: str, border: str, align: bool) -> None:
    x, grid = f32(2, 3, 5, 6), (RNG.random((2, 4, 7, 2)) * 5 - 2.5).astype(np.float32)
    expected = F.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), mode, border, align).numpy()
    got = run_node("GridSample", x, grid, mode=onnx, padding_mode=border, align_corners=align)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_of_volumes_against_torch(mode: str) -> None:
    x, grid = f32(1, 2, 3, 5, 4), (RNG.random((1, 4, 2, 3, 3)) * 4 - 2).astype(np.float32)
    expected = F.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), mode, "zeros", False).numpy()
    got = run_node("GridSample", x, grid, mode="linear" if mode == "bilinear" else mode)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (2, 1, 3, 4, 2)])
def test_affine_grid_against_torch(size: tuple[int, ...], align: bool) -> None:
    rank = len(size) - 2
    theta = f32(2, rank, rank + 1)
    expected = F.affine_grid(torch.from_numpy(theta), size, align_corners=align).numpy()
    got = run_node("AffineGrid", theta, np.array(size), align_corners=align)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("operands", "attrs", "why"),
    [
        ([None, scales(1, 2), np.array([1, 2])], {}, "either scales or sizes"),
        ([None, None, None], {}, "either scales or sizes"),
        ([None, scales(2), None], {}, "expected 2 positive numbers"),
        ([None, scales(2, -1), None], {}, "expected 2 positive numbers"),
        ([None, scales(2, 1), None], {"mode": "area"}, "mode is 'area'"),
        ([None, scales(2, 1), None], {"antialias": 1}, "linear and cubic"),
        ([None, scales(2, 1), None], {"axes": [0, -2]}, "twice"),
    ],
)
def test_refused(operands: list[Any], attrs: dict[str, Any], why: str) -> None:
    b = Builder(Graph())
    x = b.input("x", "float32", (3, 4))
    with pytest.raises(TypeRuleError, match=why):
        b.Resize(x, *(None if o is None else b.constant(o) for o in operands), **attrs)
