"""Operators whose axes, shapes, amounts or scales only the run knows, without a host step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ge_core
from ge_core.ir import Builder, Graph
from tests.backends.cpu.test_later_sizes import run_all

X = np.random.default_rng(0).standard_normal((3, 1, 4, 2)).astype(np.float32)
REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd"]


def ints(*values: int, dtype: str = "int64") -> np.ndarray:
    return np.array(values, dtype)


def calls(x: np.ndarray, *given: Sequence[int]) -> list[list[np.ndarray]]:
    return [[x, ints(*v)] for v in given]


@pytest.mark.parametrize(("op", "keep"), [(op, k % 2) for k, op in enumerate(REDUCTIONS)])
def test_reductions(op: str, keep: int) -> None:
    def make(b: Builder, v: Any, axes: Any) -> Any:
        return b.op(op, v, axes, keepdims=keep)

    run_all(make, calls(X, (0, 2), (-1, 1), (3, 0), (1, 2)), calls(X, (0, 4), (2, -2), (-5, 0)), 1e-6)
    run_all(make, calls(X, (2,), (-4,)), calls(X, (4,)), 1e-6)


@pytest.mark.parametrize("noop", [0, 1])
def test_reductions_over_no_axes(noop: int) -> None:
    x = np.arange(6.0).reshape(2, 3)
    run_all(lambda b, v, a: b.ReduceSum(v, a, noop_with_empty_axes=noop), calls(x, ()), [])
    run_all(lambda b, v, a: b.ReduceSum(v, a, keepdims=0, noop_with_empty_axes=noop), calls(x, ()), [])


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint8", "float64"])
def test_reductions_of_element_types(dtype: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    run_all(lambda b, v, a: b.ReduceSum(v, a), calls(x, (0,), (1,)), [])
    run_all(lambda b, v, a: b.ReduceMin(v, a, keepdims=0), calls(x, (-1,), (0,)), [])


def test_reductions_of_nothing() -> None:
    x = np.zeros((0, 3), np.float32)
    run_all(lambda b, v, a: b.ReduceSum(v, a), calls(x, (0,), (1,)), [])
    run_all(lambda b, v, a: b.ReduceMax(v, a, keepdims=0), calls(x, (0,), (1,)), [])


def test_squeeze_and_unsqueeze() -> None:
    x = np.arange(6.0).reshape(1, 2, 1, 3)
    run_all(lambda b, v, a: b.Squeeze(v, a), calls(x, (0,), (2,), (-2,)), calls(x, (1,), (4,)))
    run_all(lambda b, v, a: b.Squeeze(v, a), calls(x, (0, 2), (-2, 0)), calls(x, (0, 0), (0, 1)))
    y = np.arange(6.0).reshape(2, 3)
    run_all(lambda b, v, a: b.Unsqueeze(v, a), calls(y, (0, 1), (0, 3), (-1, 1), (3, 2)), calls(y, (0, -4), (4, 0)))
    run_all(
        lambda b, v, a: b.Unsqueeze(v, a),
        calls(np.array(3, np.float32), (0,), (-1,)),
        calls(np.array(3, np.float32), (1,)),
    )


@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
def test_running(op: str) -> None:
    x = np.arange(1.0, 25.0).reshape(2, 3, 4) % 5
    axes = [[x, np.array(a)] for a in (0, 1, 2, -1, -3)]
    refused = [[x, np.array(3)]]
    run_all(lambda b, v, a: b.op(op, v, a), axes, refused)
    run_all(lambda b, v, a: b.op(op, v, a, exclusive=1, reverse=1), axes, refused)
    run_all(lambda b, v, a: b.op(op, v, a), [[np.zeros((0, 3)), np.array(a)] for a in (0, 1)], [])


def test_reshape() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    shapes = calls(x, (4, 6), (-1, 2), (0, -1), (24, 1), (1, -1))
    run_all(lambda b, v, s: b.Reshape(v, s), shapes, calls(x, (5, -1), (-1, -1), (2, 3), (-2, -12)))
    more = calls(x, (2, 3, 4, 1, 1), (-1, 1, 1, 2, 2))
    run_all(lambda b, v, s: b.Reshape(v, s), more, calls(x, (2, 3, 4, 0, 1)))
    empty = np.zeros((0, 3))
    run_all(lambda b, v, s: b.Reshape(v, s, allowzero=1), calls(empty, (0, 5), (7, 0)), calls(empty, (0, -1), (1, 1)))


def test_constant_of_shape() -> None:
    value = np.array([7], np.int32)
    shapes = [[ints(2, 3)], [ints(0, 3)], [ints(1, 1)]]
    run_all(lambda b, s: b.ConstantOfShape(s, value=value), shapes, [[ints(-1, 2)]])


def test_tile() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    run_all(lambda b, v, r: b.Tile(v, r), calls(x, (2, 2), (1, 3), (0, 2), (1, 1)), calls(x, (-1, 2)))
    half = np.arange(3, dtype=np.float16).reshape(1, 3)
    run_all(lambda b, v, r: b.Tile(v, r), calls(half, (4, 2), (1, 1)), [])


def test_expand() -> None:
    x = np.arange(3, dtype=np.float32).reshape(3, 1)
    run_all(lambda b, v, s: b.Expand(v, s), calls(x, (2, 3, 6), (1, 1, 1), (5, 3, 1)), calls(x, (2, 2, 6)))
    run_all(lambda b, v, s: b.Expand(v, s), calls(x, (4,), (1,), (0,)), [])


def test_split() -> None:
    x = np.arange(12.0).reshape(2, 6)

    def make(b: Builder, v: Any, parts: Any) -> Any:
        return b.Concat(list(reversed(b.op("Split", v, parts, axis=1, num_outputs=3))), axis=1)

    run_all(make, calls(x, (1, 2, 3), (0, 6, 0), (2, 2, 2)), calls(x, (1, 2, 4), (-1, 3, 4)))


def test_one_hot() -> None:
    indices, values = np.array([0, 2, -1]), np.array([0.5, 3.0], np.float32)
    depths = [[indices, np.array(n), values] for n in (3, 1, 0, 5)]
    run_all(lambda b, i, d, v: b.OneHot(i, d, v, axis=0), depths, [])
    floats = [[indices, np.array([n], np.float32), values] for n in (3, 4)]
    run_all(lambda b, i, d, v: b.OneHot(i, d, v), floats, [])


def test_center_crop_pad() -> None:
    x = np.arange(20.0).reshape(4, 5)
    run_all(lambda b, v, s: b.CenterCropPad(v, s), calls(x, (2, 8), (7, 2), (4, 5), (1, 1)), [])
    run_all(lambda b, v, s: b.CenterCropPad(v, s, axes=[-1]), calls(x, (2,), (9,)), [])


MODES = ["constant", "edge", "reflect", "wrap"]


@pytest.mark.parametrize("mode", MODES)
def test_pad(mode: str) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    amounts = [(1, 0, 2, 3), (0, 0, 0, 0), (-1, 2, 1, -2), (5, 0, 0, 9), (-3, 0, 0, 0), (-5, 0, 7, 0)]
    run_all(lambda b, v, p: b.Pad(v, p, mode=mode), calls(x, *amounts), calls(x, (-2, 0, -2, 0)))
    one = x[:1]
    run_all(lambda b, v, p: b.Pad(v, p, mode=mode), calls(one, (1, 0, 2, 3), (0, 0, 0, 0)), [])


@pytest.mark.parametrize("mode", MODES)
def test_pad_of_axes(mode: str) -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    fill = np.array(9, np.int32)
    given = [([1, 2, 0, 3], [0, 2]), ([1, 2, 0, 3], [-1, 0]), ([0, -1, 1, 1], [1, -1])]
    run_all(
        lambda b, v, p, f, a: b.Pad(v, p, f, a, mode=mode),
        [[x, ints(*pads), fill, ints(*axes)] for pads, axes in given],
        [[x, ints(1, 2, 0, 3), fill, ints(0, 3)]],
    )


def test_pad_of_nothing() -> None:
    x = np.zeros((0, 2), np.float32)
    run_all(lambda b, v, p: b.Pad(v, p, np.float32(3)), calls(x, (1, 0, 2, 1), (0, 0, 0, 0)), [])
    run_all(lambda b, v, p: b.Pad(v, p, mode="edge"), calls(x, (0, 1, 0, 1)), calls(x, (1, 0, 0, 0)))


FAR = 2**63 - 1


def test_slice() -> None:
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

    def make(b: Builder, v: Any, *given: Any) -> Any:
        return b.Slice(v, *given)

    forward = [((0, 1), (2, 3)), ((-2, -9), (FAR, 9)), ((2, 3), (1, 3)), ((5, -1), (9, FAR))]
    run_all(make, [[x, ints(*s), ints(*e)] for s, e in forward], [])
    axes = [((0, 1), (2, 3), (2, 0)), ((-3, 0), (FAR, -1), (-1, 1)), ((1, 1), (0, 2), (0, 1))]
    run_all(make, [[x, *(ints(*v) for v in given)] for given in axes], [[x, ints(0, 0), ints(1, 1), ints(0, 3)]])
    steps = [
        ((0, 1), (4, 5), (1, 2), (2, 3)), ((-1, 4), (-FAR - 1, 0), (0, 2), (-1, -2)),
        ((3, 0), (-9, FAR), (2, 0), (-FAR, FAR)), ((0, 0), (-9, 0), (0, 1), (-1, 1)),
    ]  # fmt: skip
    refused = [[x, ints(0, 1), ints(4, 5), ints(1, 2), ints(1, 0)]]
    run_all(make, [[x, *(ints(*v) for v in given)] for given in steps], refused)


def test_slice_backwards() -> None:
    x = np.arange(20.0).reshape(4, 5)
    given = [((3, -1), (-9, 0)), ((2, 9), (0, -9)), ((0, 0), (2, 2)), ((-9, 1), (0, -2))]
    run_all(
        lambda b, v, s, e: b.Slice(v, s, e, np.array([0, 1]), np.array([-1, -2])),
        [[x, ints(*s), ints(*e)] for s, e in given],
        [],
    )


@pytest.mark.parametrize("dtype", ["int16", "int8", "uint8", "float16", "bfloat16"])
def test_range_of_small_types(dtype: str) -> None:
    import ml_dtypes

    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype

    def given(*values: float) -> list[np.ndarray]:
        return [np.array(v, kind) for v in values]

    triples: list[tuple[float, float, float]] = [(0, 5, 1), (3, 3, 1), (2, 100, 7)]
    if dtype[0] != "u":
        triples += [(5, 0, -2), (-7, 8, 3), (100, -100, -50)]
    if "float" in dtype:
        triples += [(0.1, 9.7, 0.3), (1, -40, -0.7)]
    run_all(lambda b, *v: b.Range(*v), [given(*t) for t in triples], [given(0, 5, 0)])
    if "float" in dtype:
        stash = 10 if dtype == "float16" else 16
        run_all(lambda b, *v: b.Range(*v, stash_type=stash), [given(*t) for t in triples], [])


COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]
SCALES = [(2.0, 0.6), (0.33333334, 1.0), (1.5, 2.7), (0.1, 0.7), (1.0, 1.0)]


def scaled(x: np.ndarray, *given: Sequence[float]) -> list[list[np.ndarray]]:
    return [[x, np.array(v, np.float32)] for v in given]


@pytest.mark.parametrize(
    ("mode", "coordinates"),
    [("linear", name) for name in COORDINATES] + [("nearest", "half_pixel"), ("cubic", "align_corners")],
)
def test_resize_by_scales(mode: str, coordinates: str) -> None:
    x = np.random.default_rng(1).standard_normal((10, 7)).astype(np.float32)

    def make(b: Builder, v: Any, scales: Any) -> Any:
        return b.Resize(v, None, scales, mode=mode, coordinate_transformation_mode=coordinates)

    refused = scaled(x, (0.0, 1.0), (-1.0, 2.0), (np.nan, 1.0))
    run_all(make, scaled(x, *SCALES), refused, 0 if mode == "nearest" else 1e-6)


@pytest.mark.parametrize(("mode", "outside"), [("linear", 0), ("cubic", 1)])
def test_antialiased_resize(mode: str, outside: int) -> None:
    x = np.random.default_rng(2).standard_normal((2, 37, 23)).astype(np.float32)
    attrs: dict[str, Any] = {"mode": mode, "antialias": 1, "exclude_outside": outside, "axes": [1, 2]}
    run_all(lambda b, v, s: b.Resize(v, None, s, **attrs), scaled(x, *SCALES), [], 1e-6)
    sizes = calls(x, (5, 30), (37, 1), (80, 23))
    run_all(lambda b, v, s: b.Resize(v, None, None, s, **attrs), sizes, calls(x, (-1, 3)), 1e-6)
    known = np.array([0.08, 0.5], np.float32)
    run_all(lambda b, v: b.Resize(v, None, known, **attrs), [[x]], [], 1e-6)


@pytest.mark.parametrize(
    ("policy", "mode"), [("stretch", "nearest"), ("not_larger", "linear"), ("not_smaller", "nearest")]
)
def test_resize_by_sizes(policy: str, mode: str) -> None:
    x = np.random.default_rng(3).standard_normal((3, 8, 5)).astype(np.float32)

    def make(b: Builder, v: Any, sizes: Any) -> Any:
        return b.Resize(v, None, None, sizes, mode=mode, axes=[2, 1], keep_aspect_ratio_policy=policy)

    run_all(make, calls(x, (10, 9), (4, 16), (5, 8), (1, 1)), calls(x, (-1, 3)), 1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_of_a_region(mode: str) -> None:
    x = np.random.default_rng(4).standard_normal((6, 5)).astype(np.float32)
    attrs: dict[str, Any] = {"mode": mode, "extrapolation_value": 7.5}
    attrs["coordinate_transformation_mode"] = "tf_crop_and_resize"
    regions = [(0.4, 0.6, 0.6, 0.8), (0.0, 0.0, 1.0, 1.0), (-0.5, 0.2, 1.2, 0.1)]
    given = [[x, np.array(r, np.float32), ints(3, 4)] for r in regions]
    run_all(lambda b, v, r, s: b.Resize(v, r, None, s, **attrs), given, [], 1e-6)
    given = [[x, np.array(r, np.float32), np.array([0.5, 1.5], np.float32)] for r in regions]
    run_all(lambda b, v, r, s: b.Resize(v, r, s, **attrs), given, [], 1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64"])
def test_resize_of_element_types(dtype: str) -> None:
    x = (np.random.default_rng(5).integers(0, 200, (9, 6))).astype(dtype)
    tolerance = {"float16": 2e-3, "float64": 1e-14}.get(dtype, 0)
    run_all(lambda b, v, s: b.Resize(v, None, s, mode="linear"), scaled(x, *SCALES), [], tolerance)
    run_all(lambda b, v, s: b.Resize(v, None, s), scaled(x, *SCALES), [])


def test_resize_of_what_is_not_finite() -> None:
    """A weight of 0 makes NaN of an infinity, as in the frameworks; not with antialiasing, and not on an axis that
    stays."""
    x = np.ones((2, 5, 4), np.float32)
    x[0, 0, 0], x[0, 2, 2], x[1, 4, 3], x[1, 1, 1] = np.inf, -np.inf, np.nan, np.inf
    for attrs in ({}, {"antialias": 1}, {"coordinate_transformation_mode": "align_corners"}):
        for sizes in ((2, 10, 7), (2, 3, 4), (2, 5, 4)):
            known = np.array(sizes)
            run_all(lambda b, v, a=attrs, s=known: b.Resize(v, None, None, s, mode="linear", **a), [[x]], [], 1e-6)
    found = ge_core.compile(_doubled(), target="cpu")(np.array([1, np.inf, 2, 3], np.float32))
    np.testing.assert_array_equal(found, np.array([np.nan, np.inf, np.inf, np.inf, np.inf, 2.25, 2.75, 3], np.float32))


def _doubled() -> Graph:
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (4,))
    b.outputs(b.Resize(x, None, np.array([2], np.float32), mode="linear"))
    return graph


def test_sizes_of_scales_are_those_of_known_ones() -> None:
    """A scale stands for the simple fraction that rounds to it."""
    random = np.random.default_rng(6)
    fractions = [(p, q) for p, q in random.integers(1, 1200, (60, 2))]
    scales = [np.float32(p / q) for p, q in fractions] + [np.float32(s) for s in (1e-3, 7.5, 12345.678, 3e-7)]
    x = np.zeros((30, 1), np.int8)
    given = scaled(x, *((float(s), 1.0) for s in scales if s < 1e4))
    run_all(lambda b, v, s: b.Shape(b.Resize(v, None, s)), given, [])


@pytest.mark.parametrize(("inverse", "onesided"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_transforms(inverse: int, onesided: int) -> None:
    parts = 2 if inverse else 1
    x = np.random.default_rng(7).standard_normal((4, 6, 5, parts))

    def along(b: Builder, v: Any, axis: Any) -> Any:
        return b.DFT(v, None, axis, inverse=inverse, onesided=onesided)

    run_all(along, [[x, np.array(a)] for a in (0, 1, 2, -2, -4)], [[x, np.array(-1)]], 1e-12)

    def of_length(b: Builder, v: Any, length: Any, axis: Any) -> Any:
        return b.DFT(v, length, axis, inverse=inverse, onesided=onesided)

    given = [[x, np.array(n), np.array(a)] for n, a in ((4, 0), (9, 1), (1, 2))]
    run_all(of_length, given, [[x, np.array(0), np.array(1)]], 1e-12)
    known = [[x, np.array(n)] for n in (4, 9)]
    run_all(lambda b, v, n: of_length(b, v, n, b.constant(1, "int64")), known, [[x, np.array(-1)]], 1e-12)


def test_windowed_transforms() -> None:
    x, window = np.random.default_rng(8).standard_normal((2, 40, 1)), np.hanning(8)
    steps = [[x, np.array(n), window] for n in (1, 3, 8)]
    run_all(lambda b, v, s, w: b.STFT(v, s, w), steps, [[x, np.array(0), window]], 1e-12)
    lengths = [[x, np.array(3), np.array(n)] for n in (4, 10, 40)]
    run_all(lambda b, v, s, n: b.STFT(v, s, None, n), lengths, [[x, np.array(3), np.array(41)]], 1e-12)


@pytest.mark.parametrize("align", [0, 1])
def test_grids_of_later_sizes(align: int) -> None:
    theta = np.random.default_rng(9).standard_normal((2, 2, 3)).astype(np.float32)
    sizes = calls(theta, (2, 3, 4, 5), (2, 1, 1, 1))
    run_all(lambda b, t, s: b.AffineGrid(t, s, align_corners=align), sizes, calls(theta, (2, 3, -1, 5)), 1e-6)
