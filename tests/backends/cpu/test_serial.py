"""Operators whose steps depend on the data: against the interpreter, between guard pages, no step on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ge_core
from ge_backend_cpu.backend import plan_kernels
from ge_backend_cpu.compile import compiled
from ge_backend_cpu.isa import Isa
from ge_core.errors import CheckError
from ge_core.ir import Builder, DType, Graph
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.native import check, executable, plan_of

RNG = np.random.default_rng(11)
Make = Callable[..., Any]


def data(*shape: int, dtype: str = "float32") -> np.ndarray:
    kind = DType.of(dtype)
    if kind.kind == "bool":
        return RNG.random(shape) < 0.5
    values = RNG.standard_normal(shape) * (1 if kind.is_float else 40)
    return (np.abs(values) if kind.kind == "uint" else values).astype(kind.numpy)


def few(*shape: int, high: int = 4, dtype: str = "float32") -> np.ndarray:
    """Few different values, so that equal ones are common."""
    return RNG.integers(0, high, shape).astype(DType.of(dtype).numpy)


def graph_of(make: Make, arrays: Sequence[np.ndarray]) -> Graph:
    graph = Graph()
    b = Builder(graph)
    made = make(b, *[b.input(f"x{i}", DType.of(a.dtype), a.shape) for i, a in enumerate(arrays)])
    b.outputs(*(made if isinstance(made, (tuple, list)) else (made,)))
    return graph


def compare(make: Make, *arrays: Any, tolerance: float = 1e-5, hosts: int = 0) -> None:
    given = [np.asarray(a) for a in arrays]
    check(graph_of(make, given), [given], tolerance, hosts=hosts)


NUMBERS = ["float32", "bfloat16", "int8", "uint64"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_places(dtype: str) -> None:
    x = few(3, 5, 4, high=2, dtype=dtype)
    compare(lambda b, v: b.NonZero(v), x)


def test_places_of_none_and_of_all() -> None:
    for x in (np.zeros((4, 5), bool), np.ones((4, 5), bool), np.zeros((0, 3), bool), np.array(True), np.array(0.0)):
        compare(lambda b, v: b.NonZero(v), x)
    compare(lambda b, v: b.NonZero(v), np.array([np.nan, 0.0, -0.0, 1.0]))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis: int | None) -> None:
    x, keep = data(4, 6), np.array([True, False, True, True])
    attributes = {} if axis is None else {"axis": axis}
    compare(lambda b, v, k: b.Compress(v, k, **attributes), x, keep)


@pytest.mark.parametrize("dtype", ["float32", "bool"])
@pytest.mark.parametrize("ordered", [0, 1])
def test_unique(dtype: str, ordered: int) -> None:
    compare(lambda b, v: b.Unique(v, sorted=ordered, num_outputs=4), few(5, 7, dtype=dtype))
    for axis in (0, 1):
        compare(lambda b, v, a=axis: b.Unique(v, axis=a, sorted=ordered, num_outputs=4), few(9, 2, high=3, dtype=dtype))


def test_unique_of_nothing_and_of_nan() -> None:
    compare(lambda b, v: b.Unique(v, num_outputs=4), np.zeros(0, np.float32))
    compare(lambda b, v: b.Unique(v, num_outputs=4), np.array([np.nan, 1, np.nan, 0, -0.0, 1], np.float32))


def boxes(batch: int, count: int) -> np.ndarray:
    corner = RNG.uniform(0, 4, (batch, count, 2))
    return np.concatenate([corner, corner + RNG.uniform(-2, 2, (batch, count, 2))], 2).astype(np.float32)


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("given", [1, 2, 3])
def test_suppression(center: int, given: int) -> None:
    scores = few(2, 3, 20, high=9) / np.float32(9)
    limits = [np.array([5]), np.array([0.3], np.float32), np.array([0.2], np.float32)][:given]
    compare(lambda b, x, s, *v: b.NonMaxSuppression(x, s, *v, center_point_box=center), boxes(2, 20), scores, *limits)
    compare(
        lambda b, x, s: b.NonMaxSuppression(x, s, *map(b.constant, limits), center_point_box=center),
        boxes(2, 20), scores,
    )  # fmt: skip


def test_unknown_number_of_largest() -> None:
    for k in (0, 3, 7):
        compare(lambda b, x, n: b.TopK(x, n, axis=1), data(4, 7), np.array([k]))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("op", ["CumMax", "CumMin", "LogCumSumExp"])
def test_running(op: str, dtype: str) -> None:
    if op == "LogCumSumExp" and not DType.of(dtype).is_float:
        return
    x = data(3, 9, 5, dtype=dtype)
    if DType.of(dtype).is_float:
        x[0, 4, 1], x[1, 0, 0], x[1, 1, 0], x[2, 3, 2] = np.nan, -np.inf, -np.inf, np.inf
    for axis in range(3):
        compare(lambda b, v, a=axis: getattr(b.ge, op)(v, axis=a), x)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
@pytest.mark.parametrize("op", ["CumMax", "CumMin"])
def test_running_extremes_of_long_rows(op: str, dtype: str) -> None:
    """Of vectors and what is left; equal values, and NaN within a vector and across its end."""
    x = few(4, 75, high=9, dtype=dtype)
    if DType.of(dtype).is_float:
        x[1, 20], x[2, 15], x[2, 16], x[3, 40:43] = np.nan, np.nan, np.nan, np.inf
    compare(lambda b, v: getattr(b.ge, op)(v, axis=-1), x)
    compare(lambda b, v: getattr(b.ge, op)(v, axis=1), x[:, :64].copy())


@pytest.mark.parametrize("right", [0, 1])
def test_search(right: int) -> None:
    row = np.sort(few(17, high=8))
    values = np.array([[-1, 0, 1, 2.5], [3, 7, np.nan, np.inf]], np.float32)
    compare(lambda b, r, v: b.ge.SearchSorted(r, v, right=right), row, values)
    rows = np.sort(few(3, 12, high=8, dtype="int64"), axis=1)
    compare(lambda b, r, v: b.ge.SearchSorted(r, v, right=right), rows, few(3, 5, high=10, dtype="int64"))
    compare(lambda b, r, v: b.ge.SearchSorted(r, v, right=right), row, np.float32(3))


def test_counts() -> None:
    x = few(40, high=6, dtype="int32")
    compare(lambda b, v: b.ge.BinCount(v, None, b.constant(6, "int64")), x)
    for dtype in ("float32", "float16", "float64", "int16"):
        weights = data(40, dtype=dtype)
        compare(lambda b, v, w: b.ge.BinCount(v, w, b.constant(9, "int64")), x, weights, tolerance=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "int32"])
@pytest.mark.parametrize("reduction", ["sum", "prod", "max", "min", "mean"])
def test_scatter_reduce(reduction: str, dtype: str) -> None:
    x, updates = few(5, 6, dtype=dtype), few(6, 6, high=3, dtype=dtype)
    for axis, own in ((0, 1), (1, 0)):
        indices = RNG.integers(-3, 3, (4, 6) if axis == 0 else (4, 5))
        compare(
            lambda b, d, i, u, a=axis, o=own: b.ge.ScatterReduce(d, i, u, axis=a, reduction=reduction, include_self=o),
            x, indices, updates,
        )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bool"])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_of_small_types(reduction: str, dtype: str) -> None:
    x, updates, indices = few(5, 6, dtype=dtype), few(3, 6, high=3, dtype=dtype), RNG.integers(-5, 5, (3, 6))
    compare(lambda b, d, i, u: b.ScatterElements(d, i, u, axis=0, reduction=reduction), x, indices, updates)
    compare(lambda b, d, i, u: b.ScatterND(d, i, u, reduction=reduction), x, indices[:, :1], updates)


@pytest.mark.parametrize("reduction", ["sum", "prod", "max", "min", "mean"])
@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_segments(reduction: str, dtype: str) -> None:
    ids = RNG.integers(0, 4, 12)
    compare(
        lambda b, x, i: b.ge.SegmentReduce(x, i, b.constant(6, "int64"), reduction=reduction),
        few(12, 3, high=3, dtype=dtype), ids,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, -2])
def test_caches(mode: str, axis: int) -> None:
    cache, update = data(2, 3, 7, 4), data(2, 3, 7, 4)
    update = update[:, :2] if axis == 1 else update[:, :, :3]
    starts = np.array([0, 1 if mode == "linear" and axis == 1 else 4])
    compare(lambda b, c, u, s: b.TensorScatter(c, u, s, axis=axis, mode=mode), cache, update, starts)
    compare(lambda b, c, u: b.TensorScatter(c, u, axis=axis, mode=mode), cache, update)


def test_masked_scatter() -> None:
    compare(lambda b, x, m, v: b.ge.MaskedScatter(x, m, v), data(5, 7), data(5, 7, dtype="bool"), data(40))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_pools_with_places(dtype: str) -> None:
    x = few(2, 3, 9, 8, high=5, dtype=dtype)
    if DType.of(dtype).is_float:
        x[0, 0, 3, 3] = x[0, 0, 3, 4] = np.nan
    for column in (0, 1):
        compare(
            lambda b, v, c=column: b.MaxPool(
                v, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 0], dilations=[2, 1], storage_order=c,
                num_outputs=2,
            ), x,
        )  # fmt: skip
    compare(lambda b, v: b.ge.AdaptivePool(v, output_size=[4, 3], mode="max", num_outputs=2), x)
    if not DType.of(dtype).is_float:
        return
    x = x[:, :, :8]
    compare(
        lambda b, v: b.MaxUnpool(*b.MaxPool(v, kernel_shape=[2, 2], strides=[2, 2], num_outputs=2),
                                 kernel_shape=[2, 2], strides=[2, 2]), x,
    )  # fmt: skip
    compare(
        lambda b, v: b.MaxUnpool(*b.MaxPool(v, kernel_shape=[2, 2], strides=[2, 2], num_outputs=2),
                                 b.ints(2, 3, 10, 9), kernel_shape=[2, 2], strides=[2, 2]), x,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_columns(dtype: str) -> None:
    x = data(2, 3, 7, 6, dtype=dtype)
    window = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2]}
    compare(lambda b, v: b.ge.Im2Col(v, **window), x)
    blocks = data(2, 3 * 6, 4 * 5, dtype=dtype)
    shared = {k: v for k, v in window.items() if k != "kernel_shape"}
    compare(lambda b, v: b.Col2Im(v, b.ints(7, 6), b.ints(3, 2), **shared), blocks)


@pytest.mark.parametrize(
    ("mode", "border", "align"),
    [("nearest", "zeros", 0), ("nearest", "reflection", 1), ("linear", "zeros", 1), ("linear", "border", 0),
     ("linear", "reflection", 0), ("cubic", "zeros", 0), ("cubic", "border", 1), ("cubic", "reflection", 1)],
)  # fmt: skip
def test_grids(mode: str, border: str, align: int) -> None:
    grid = RNG.uniform(-1.6, 1.6, (2, 5, 4, 2)).astype(np.float32)
    grid[0, 0, 0], grid[0, 1, 0], grid[1, 0, 0] = np.nan, np.inf, [-np.inf, 1e30]
    attributes = {"mode": mode, "padding_mode": border, "align_corners": align}
    compare(lambda b, x, g: b.GridSample(x, g, **attributes), data(2, 3, 6, 7), grid)
    if mode == "linear" and border == "zeros":
        volume = RNG.uniform(-1.2, 1.2, (1, 2, 3, 4, 3)).astype(np.float32)
        compare(lambda b, x, g: b.GridSample(x, g, **attributes), data(1, 2, 4, 5, 3), volume)
        compare(lambda b, x, g: b.GridSample(x, g, **attributes), data(2, 3, 6, 7, dtype="float16"), grid,
                tolerance=2e-3)  # fmt: skip


@pytest.mark.parametrize("aligned", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions(aligned: str, mode: str) -> None:
    image = data(2, 3, 9, 11)
    regions = np.array([[0, 0, 8, 8], [1.5, 2.5, 7.2, 3.1], [-5, -4, 30, 20], [6, 6, 3, 2]], np.float32)
    images = np.array([0, 1, 1, 0])
    for ratio in (0, 2):
        compare(
            lambda b, x, r, n, k=ratio: b.RoiAlign(
                x, r, n, output_height=3, output_width=2, sampling_ratio=k, mode=mode, spatial_scale=0.75,
                coordinate_transformation_mode=aligned,
            ), image, regions, images,
        )  # fmt: skip
    pooled = np.concatenate([images[:, None].astype(np.float32), regions], 1)
    compare(lambda b, x, r: b.MaxRoiPool(x, r, pooled_shape=[3, 2], spatial_scale=0.75), image, pooled)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_what_lies_outside_of_an_image_is_zero(mode: str) -> None:
    """Whatever the elements at its border are; as in PyTorch."""
    image = data(1, 2, 5, 6)
    image[..., 0, :], image[..., -1] = np.inf, np.nan
    grid = np.linspace(-3, 3, 23, dtype=np.float32)[:, None] * np.array([1, 0.9], np.float32)
    given = [image, grid[None, None]]
    graph = graph_of(lambda b, x, g: b.GridSample(x, g, mode=mode), given)
    check(graph, [given])
    (found,), _ = interpret(graph, given)
    assert not found[..., :5].any() and not found[..., -5:].any() and np.isnan(found).any()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_deformed_convolutions(dtype: str) -> None:
    x, w = data(2, 4, 6, 7, dtype=dtype), data(6, 2, 3, 2, dtype=dtype)
    offsets, mask = data(2, 2 * 2 * 6, 6, 7, dtype=dtype), data(2, 2 * 6, 6, 7, dtype=dtype)
    attributes = {"group": 2, "offset_group": 2, "pads": [1, 0, 1, 1]}
    for extra in ([], [data(6, dtype=dtype)], [data(6, dtype=dtype), mask]):
        compare(lambda b, *v: b.DeformConv(*v, **attributes), x, w, offsets, *extra, tolerance=4e-3)


@pytest.mark.parametrize("n", [1, 2, 7, 30, 32, 97])
@pytest.mark.parametrize("inverse", [0, 1])
def test_fourier(n: int, inverse: int) -> None:
    x = data(3, n, 2, 2)
    axis = np.array(1)
    compare(lambda b, v: b.DFT(v, None, b.constant(axis), inverse=inverse), x)
    compare(lambda b, v: b.DFT(v, b.constant(n + 3, "int64"), b.constant(axis), inverse=inverse), x)
    if inverse:
        compare(lambda b, v: b.DFT(v, b.constant(2 * n - 1, "int64"), b.constant(axis), inverse=1, onesided=1), x)
    else:
        compare(lambda b, v: b.DFT(v, None, b.constant(axis), onesided=1), x[..., :1])


@pytest.mark.parametrize("n", [64, 75, 97, 512])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_transforms_of_real_rows(n: int, dtype: str) -> None:
    """Two rows to a lane: any number of rows, of bins, and of elements beyond those that are transformed."""
    tolerance = 1e-3 if dtype == "float16" else 1e-6
    axis = np.array(1)
    for rows in (1, 2, 33, 70):
        x = data(rows, n, 1, dtype=dtype)
        compare(lambda b, v: b.DFT(v, None, b.constant(axis), onesided=1), x, tolerance=tolerance)
    compare(lambda b, v: b.DFT(v, None, b.constant(axis)), data(5, n, 1, dtype=dtype), tolerance=tolerance)
    longer = data(3, n + 9, 1, dtype=dtype)
    compare(lambda b, v: b.DFT(v, b.constant(n, "int64"), b.constant(axis), onesided=1), longer, tolerance=tolerance)
    signal, window = data(2, 3 * n + 5, 1, dtype=dtype), np.abs(data(n, dtype=dtype))
    compare(lambda b, v, w: b.STFT(v, b.constant(13, "int64"), w), signal, window, tolerance=tolerance)


def test_frames() -> None:
    x, window = data(2, 130, 1), np.abs(data(32))
    for onesided in (0, 1):
        compare(lambda b, v, w, o=onesided: b.STFT(v, b.constant(10, "int64"), w, onesided=o), x, window)
        compare(
            lambda b, v, o=onesided: b.STFT(v, b.constant(7, "int64"), None, b.constant(20, "int64"), onesided=o), x
        )


@pytest.mark.parametrize("n", [1, 2, 17])
def test_linear_algebra(n: int) -> None:
    x = data(3, n, n) + 2 * np.eye(n, dtype=np.float32)
    compare(lambda b, v: b.Det(v), x, tolerance=1e-4)
    compare(lambda b, v: b.ge.Inverse(v), x, tolerance=1e-3)
    positive = (x @ x.swapaxes(1, 2) + np.eye(n)).astype(np.float32)
    for upper in (0, 1):
        compare(lambda b, v, u=upper: b.ge.Cholesky(v, upper=u), positive, tolerance=1e-4)
    compare(lambda b, v, w: b.ge.Solve(v, w), x, data(3, n, 4), tolerance=1e-3)
    compare(lambda b, v, w: b.ge.Solve(v, w), x[0], data(3, n, 4), tolerance=1e-3)


RANDOM = [
    ("uniform", "float32", -1.0, 3.0), ("uniform", "float16", 0.0, 1.0), ("uniform", "float64", 0.0, 1.0),
    ("normal", "float32", 1.0, 2.0), ("normal", "float64", 0.0, 1.0), ("normal", "bfloat16", 0.0, 1.0),
    ("bernoulli", "float32", 0.0, 0.3), ("bernoulli", "bool", 0.0, 0.7), ("randint", "int64", -5.0, 1000.0),
    ("randint", "int64", 0.0, 2.0**40), ("randint", "uint8", 0.0, 256.0),
]  # fmt: skip


@pytest.mark.parametrize(("distribution", "dtype", "low", "high"), RANDOM)
def test_random(distribution: str, dtype: str, low: float, high: float) -> None:
    attributes = {"dtype": dtype, "distribution": distribution, "low": low, "high": high}
    for seed, offset in ((0, 0), (-3, 1 << 40)):
        compare(
            lambda b, s, o: b.ge.Random(b.ints(3, 17), s, o, **attributes),
            np.int64(seed), np.int64(offset), tolerance=1e-6 if DType.of(dtype).is_float else 0,
        )  # fmt: skip


def test_integer_convolutions() -> None:
    x, w = data(2, 4, 7, 6, dtype="uint8"), data(6, 2, 3, 3, dtype="int8")
    compare(lambda b, *v: b.ConvInteger(*v, group=2, pads=[1, 0, 1, 2]), x, w, np.uint8(3), few(6, dtype="int8"),
            tolerance=0)  # fmt: skip


def test_transposed_convolutions_of_any_weights() -> None:
    x, w = data(2, 4, 5, 6), data(4, 3, 3, 2)
    compare(
        lambda b, *v: b.ConvTranspose(*v, group=2, strides=[2, 3], pads=[1, 0, 1, 1], output_padding=[1, 0]),
        x, w, data(6),
    )  # fmt: skip


def test_slices_that_only_the_run_knows() -> None:
    x = data(6, 9)
    for first, last in ((1, 4), (-3, 100), (4, 2), (0, 0), (-100, -1)):
        compare(lambda b, v, s, e: b.Slice(v, s, e, b.ints(1)), x, np.array([first]), np.array([last]))
    compare(
        lambda b, v, s, e: b.Slice(v, s, e, np.array([1, 0], np.int32), np.array([2, 3], np.int32)),
        x, np.array([1, -5], np.int32), np.array([8, 6], np.int32),
    )  # fmt: skip


def test_checks() -> None:
    graph = Graph()
    b = Builder(graph)
    holds = b.input("holds", "bool", (4,))
    b.ge.Check(holds, message="the ids are negative")
    b.outputs(b.Not(holds))
    check(graph, [[np.ones(4, bool)]], 0)
    run = executable(plan_of(graph))
    with pytest.raises(CheckError, match="the ids are negative"):
        run.run([np.array([True, True, False, True])], StateStore(graph.states))


@pytest.mark.parametrize("to", ["int8", "float8e4m3fn"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_quantisation(dtype: str, to: str) -> None:
    """The quotient is rounded to the type of the scale before it is rounded to whole numbers."""
    x, scale = data(7, 40, dtype=dtype), np.array([0.011, 0.3, 0.07, 1, 0.5, 2, 3]).astype(DType.of(dtype).numpy)
    zero = np.array([0, 1, 2, 3, 0, 1, 2]).astype(DType.of(to).numpy)
    compare(lambda b, v, s, z: b.QuantizeLinear(v, s, z, axis=0), x, scale, zero, tolerance=0)


def test_products_of_quantised_operands() -> None:
    scales = [np.array(v, np.float32) for v in (0.02, 0.01, 0.4)]
    x, w = data(2, 5, 8, dtype="uint8"), data(8, 6, dtype="int8")
    zeros = np.array(3, np.uint8), np.array(-2, np.int8), np.array(100, np.uint8)
    given = [x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], zeros[2]]
    compare(lambda b, *v: b.QLinearMatMul(*v), *given, tolerance=0)
    image, filters = data(1, 4, 6, 5, dtype="uint8"), data(6, 2, 3, 3, dtype="int8")
    given[0], given[3] = image, filters
    compare(lambda b, *v: b.QLinearConv(*v, group=2, pads=[1] * 4), *given, data(6, dtype="int32"), tolerance=0)


@pytest.mark.parametrize("level", ["x86-64-v3", "aarch64"])
def test_code_for_other_machines(level: str) -> None:
    """Nothing in it calls a library: linking would refuse that."""
    graph = Graph()
    b = Builder(graph)
    x, matrix = b.input("x", "float16", (1, 2, 6, 7)), b.input("matrix", "float32", (3, 3))
    grid, seed = b.input("grid", "float32", (1, 3, 3, 2)), b.input("seed", "int64", ())
    boxes, places = b.input("boxes", "float32", (1, 9, 4)), b.input("places", "int64", (3, 3))
    b.outputs(
        b.GridSample(x, grid, mode="cubic"),
        b.ge.KeptBoxes(boxes, b.Transpose(boxes, perm=[0, 2, 1]), seed),
        b.ge.Random(b.ints(5), seed, seed, dtype="float32", distribution="normal"),
        b.ge.Inverse(matrix),
        b.ge.Cholesky(matrix),
        b.ge.ScatterReduce(matrix, places, matrix, axis=0, reduction="mean"),
        b.DFT(b.Unsqueeze(matrix, b.ints(2)), None, b.constant(1, "int64")),
        b.ge.LogCumSumExp(matrix, axis=0),
        b.RoiAlign(x, b.Cast(b.Reshape(boxes, b.ints(9, 4)), to="float16"), b.Reshape(places, b.ints(9)),
                   output_height=2, output_width=2),
    )  # fmt: skip
    kernels = plan_kernels([plan_of(graph)])
    found = compiled([k for k in kernels if k.family.startswith("serial.")], Isa.of(level), workers=0)
    assert len(found) >= 9


@pytest.mark.parametrize("optimize", ["default", "none"])
def test_sizes_from_the_data_survive_a_file(optimize: str, tmp_path: Path) -> None:
    graph = Graph("net")
    b = Builder(graph)
    x, k = b.input("x", "float32", (4, 5)), b.input("k", "int64", (1,))
    values, _, _, counts = b.Unique(b.Round(x), num_outputs=4)
    kept = b.Compress(x, b.Greater(b.ReduceSum(x, b.ints(1), keepdims=0), 0.0), axis=0)
    b.outputs(b.NonZero(x), values, counts, b.Slice(x, k, b.ints(4), b.ints(1)), b.TopK(x, k, axis=1)[0],
              b.ReduceSum(kept, b.ints(0)))  # fmt: skip
    given = data(4, 5), np.array([2])
    wanted = interpret(graph, list(given))[0]
    compiled = ge_core.compile(graph, target="cpu", optimize=optimize, options={"workers": 0})
    assert not compiled.report.host_steps
    compiled.save(tmp_path / "model.om")
    for model in (compiled, ge_core.load(tmp_path / "model.om")):
        for found, expected in zip(model(*given), wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_reductions_along_axes_of_the_call() -> None:
    for axes in ([1], [0, 2]):
        compare(lambda b, v, a: b.ReduceLogSumExp(v, a), data(3, 4, 5), np.array(axes))
