"""Pools on the native backend: every form, at all vector widths, between guard pages."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ge_core.ir import Builder, DType, Graph, symbol
from tests.backends.cpu.native import check, kernels, widths

RNG = np.random.default_rng(31)


def data(*shape: int, dtype: object = np.float32) -> np.ndarray:
    dtype = np.dtype(dtype)  # type: ignore[call-overload]
    if dtype.kind in "iu":
        return RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype)
    return RNG.standard_normal(shape).astype(dtype)


def pool(op: str, x: tuple[Any, ...], dtype: object = np.float32, **attrs: Any) -> Graph:
    g = Graph()
    b = Builder(g)
    image = b.input("x", DType.of(np.dtype(dtype)).name, x)  # type: ignore[call-overload]
    b.outputs(b.op(op, image, **attrs))
    return g


WINDOWS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "3x3 stride 2": ((2, 19, 11, 12), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "2x2": ((1, 64, 8, 8), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "dilated": ((1, 5, 11, 9), {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [2, 0, 1, 3]}),
    "1-D": ((2, 70, 30), {"kernel_shape": [5], "strides": [3], "pads": [2, 1]}),
    "3-D": ((1, 9, 5, 6, 7), {"kernel_shape": [2, 3, 2], "pads": [1, 1, 0, 0, 1, 1], "strides": [2, 1, 2]}),
    "ceil": ((1, 17, 7, 8), {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1, "pads": [0, 1, 1, 0]}),
    "empty": ((0, 16, 5, 5), {"kernel_shape": [2, 2]}),
}


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("form", WINDOWS)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_windows(op: str, form: str, isa: str) -> None:
    x, attrs = WINDOWS[form]
    check(pool(op, x, **attrs), [[data(*x)]], isa=isa)


def test_padding_counts() -> None:
    x, attrs = WINDOWS["ceil"]
    check(pool("AveragePool", x, count_include_pad=1, **attrs), [[data(*x)]])
    for divisor in (0, 5):
        for include in (0, 1):
            g = pool("ge.AveragePool", x, count_include_pad=include, divisor=divisor, **{"dilations": [1, 1], **attrs})
            check(g, [[data(*x)]])


@pytest.mark.parametrize("isa", widths()[:2])
def test_whole_planes(isa: str) -> None:
    for x in ((2, 130, 7, 7), (1, 3, 40, 50), (2, 5, 9)):
        for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
            check(pool(op, x), [[data(*x)]], isa=isa)
        check(pool("GlobalLpPool", x, p=3), [[data(*x)]], isa=isa)


def test_adaptive() -> None:
    for x, out in (((2, 20, 10, 7), (3, 7)), ((1, 16, 5, 5), (7, 3)), ((1, 66, 13), (4,))):
        for mode in ("average", "max"):
            check(pool("ge.AdaptivePool", x, output_size=list(out), mode=mode), [[data(*x)]])


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-14), (np.float16, 2e-3), (ml_dtypes.bfloat16, 1e-2)])
def test_element_types(dtype: object, tolerance: float) -> None:
    x, attrs = WINDOWS["3x3 stride 2"]
    for op in ("MaxPool", "AveragePool"):
        check(pool(op, x, dtype, **attrs), [[data(*x, dtype=dtype)]], tolerance=tolerance)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_integers(dtype: object) -> None:
    x, attrs = WINDOWS["3x3 stride 2"]
    check(pool("MaxPool", x, dtype, **attrs), [[data(*x, dtype=dtype)]], tolerance=0)


def test_special_values() -> None:
    x, attrs = WINDOWS["3x3 stride 2"]
    image = data(*x)
    image[0, 3, 4, 5], image[1, 0, 0, 0], image[0, 18] = np.nan, np.inf, -np.inf
    for op in ("MaxPool", "AveragePool"):
        check(pool(op, x, **attrs), [[image]])


def test_sizes_of_the_call() -> None:
    shape = (symbol("n", 0), 20, symbol("h", 3), symbol("w", 3))
    g = pool("MaxPool", shape, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    plan = check(g, [[data(*s)] for s in ((1, 20, 9, 10), (3, 20, 5, 4), (0, 20, 7, 7))])
    assert "pool.max" in kernels(plan)
