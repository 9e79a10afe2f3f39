"""Indices, coordinates and sizes of any value: a call ends in the interpreter's result or in an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ge_core.errors import GeError
from ge_core.ir import Builder, DType, Graph
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.native import executable, plan_of
from tests.core.passes.compare import assert_close

RNG = np.random.default_rng(23)
Make = Callable[..., Any]


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def wild(shape: tuple[int, ...], bits: int, dtype: str) -> np.ndarray:
    """Integers of up to so many bits; floats of any bits below 2^bits, NaN and infinities among them."""
    if dtype == "int64":
        return RNG.integers(-(1 << bits), 1 << bits, shape)
    values = RNG.standard_normal(shape) * 2.0**bits
    values[RNG.random(shape) < 0.1] = RNG.choice([np.nan, np.inf, -np.inf])
    return values.astype(np.float32)


def run_all(make: Make, given: Sequence[np.ndarray], wild_at: int) -> None:
    """Call with wild values for one operand; the kernels were made once."""
    graph = Graph()
    b = Builder(graph)
    values = [b.input(f"x{i}", DType.of(a.dtype), a.shape) for i, a in enumerate(given)]
    made = make(b, *values)
    b.outputs(*(made if isinstance(made, (tuple, list)) else (made,)))
    run = executable(plan_of(graph))
    shape, dtype = given[wild_at].shape, str(given[wild_at].dtype)
    for bits in (1, 2, 3, 5, 31, 62):
        for _ in range(6):
            arrays = [*given]
            arrays[wild_at] = wild(shape, bits, dtype)
            try:
                wanted, _ = interpret(graph, arrays)
            except (GeError, ValueError, MemoryError):
                with pytest.raises(GeError):
                    run.run(arrays, StateStore(graph.states))
                continue
            try:
                found = run.run(arrays, StateStore(graph.states))
            except GeError:
                assert bits > 3  # what no model means may be refused
                continue
            assert_close(found, wanted, 1e-4)


INDICES: dict[str, tuple[Make, Sequence[Any], int]] = {
    "ScatterReduce": (
        lambda b, d, i, u: b.ge.ScatterReduce(d, i, u, axis=1, reduction="mean", include_self=0),
        [floats(3, 4), np.zeros((3, 6), np.int64), floats(3, 6)], 1,
    ),
    "SegmentReduce": (
        lambda b, d, i: b.ge.SegmentReduce(d, i, b.constant(4, "int64"), reduction="max"),
        [floats(9, 3), np.zeros(9, np.int64)], 1,
    ),
    "BinCount": (lambda b, i: b.ge.BinCount(i, None, b.constant(5, "int64")), [np.zeros(20, np.int64)], 0),
    "TensorScatter": (
        lambda b, c, u, s: b.TensorScatter(c, u, s),
        [floats(2, 6, 3), floats(2, 2, 3), np.zeros(2, np.int64)], 2,
    ),
    "circular": (
        lambda b, c, u, s: b.TensorScatter(c, u, s, mode="circular"),
        [floats(2, 6, 3), floats(2, 2, 3), np.zeros(2, np.int64)], 2,
    ),
    "MaxUnpool": (
        lambda b, x, i: b.MaxUnpool(x, i, kernel_shape=[2, 2], strides=[2, 2]),
        [floats(1, 2, 2, 2), np.zeros((1, 2, 2, 2), np.int64)], 1,
    ),
    "limit of boxes": (
        lambda b, x, s, n: b.NonMaxSuppression(x, s, n, b.constant(np.array([0.5], np.float32))),
        [np.abs(floats(1, 9, 4)), np.abs(floats(1, 2, 9)), np.array([3])], 2,
    ),
    "number of largest": (lambda b, x, k: b.TopK(x, k, axis=0), [floats(5), np.array([3])], 1),
    "start of a slice": (lambda b, x, s: b.Slice(x, s, b.ints(4), b.ints(0)), [floats(6, 2), np.array([3])], 1),
    "images of regions": (
        lambda b, x, r, i: b.RoiAlign(x, r, i, output_height=2, output_width=2, sampling_ratio=2),
        [floats(2, 1, 5, 6), np.abs(floats(3, 4)), np.zeros(3, np.int64)], 2,
    ),
}  # fmt: skip
COORDINATES: dict[str, tuple[Make, Sequence[Any], int]] = {
    **{
        f"grid, {border}, {mode}": (
            lambda b, x, g, m=mode, p=border: b.GridSample(x, g, mode=m, padding_mode=p),
            [floats(1, 2, 4, 5), floats(1, 3, 3, 2)], 1,
        )
        for border, mode in (("zeros", "linear"), ("reflection", "nearest"), ("border", "linear"))
    },
    "boxes": (
        lambda b, x, s: b.NonMaxSuppression(x, s, b.ints(4), b.constant(np.array([0.5], np.float32))),
        [floats(1, 9, 4), np.abs(floats(1, 2, 9))], 0,
    ),
    "scores": (
        lambda b, x, s: b.NonMaxSuppression(x, s, b.ints(4), b.constant(np.array([0.5], np.float32))),
        [np.abs(floats(1, 9, 4)), floats(1, 2, 9)], 1,
    ),
    "unsorted rows": (lambda b, r, v: b.ge.SearchSorted(r, v), [np.sort(floats(9)), floats(5)], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", INDICES)
def test_indices(name: str) -> None:
    run_all(*INDICES[name])


@pytest.mark.parametrize("name", COORDINATES)
def test_coordinates(name: str) -> None:
    run_all(*COORDINATES[name])


def test_regions_end() -> None:
    """Regions of any size: nothing outside of the image is read, and the call comes back."""
    graph = Graph()
    b = Builder(graph)
    x, r, p = b.input("x", "float32", (1, 1, 5, 6)), b.input("r", "float32", (4, 4)), b.input("p", "float32", (4, 5))
    images = b.constant(np.zeros(4, np.int64))
    b.outputs(b.RoiAlign(x, r, images, output_height=2, output_width=2), b.MaxRoiPool(x, p, pooled_shape=[2, 2]))
    run = executable(plan_of(graph))
    for bits in (1, 3, 8, 31, 62):
        for _ in range(10):
            arrays = [floats(1, 1, 5, 6), wild((4, 4), bits, "float32"), wild((4, 5), bits, "float32")]
            arrays[2][:, 0] = 0
            try:
                run.run(arrays, StateStore(graph.states))
            except GeError:
                assert bits > 8 or not np.isfinite(arrays[1]).all()
