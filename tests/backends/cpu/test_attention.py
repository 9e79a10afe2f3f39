"""Attention on the native backend: every form that has a kernel, at all vector widths, between guard pages."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ge_core.ir import Builder, DType, Graph, symbol
from ge_core.reference.interpret import interpret
from tests.backends.cpu.native import check, kernels, widths

RNG = np.random.default_rng(17)


def data(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)  # type: ignore[call-overload]


def attend(
    arrays: dict[str, np.ndarray], shapes: dict[str, tuple[Any, ...]] | None = None, outputs: int = 1, **attrs: Any
) -> tuple[Graph, list[np.ndarray]]:
    """Attention on named inputs, in the order of the operator's."""
    g = Graph()
    b = Builder(g)
    names = ("q", "k", "v", "mask", "past_k", "past_v", "lengths")
    operands = []
    for name in names:
        if name in arrays:
            shape = (shapes or {}).get(name, arrays[name].shape)
            operands.append(b.input(name, DType.of(arrays[name].dtype).name, shape))
        else:
            operands.append(None)
    found = b.Attention(*operands, num_outputs=outputs, **attrs)
    b.outputs(*(found if outputs > 1 else [found]))
    return g, [arrays[name] for name in names if name in arrays]


def heads(
    batch: int, count: int, kv: int, queries: int, keys: int, d: int, dv: int, dtype: object = np.float32
) -> dict[str, np.ndarray]:
    return {
        "q": data(batch, count, queries, d, dtype=dtype),
        "k": data(batch, kv, keys, d, dtype=dtype),
        "v": data(batch, kv, keys, dv, dtype=dtype),
    }


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize(
    "sizes",
    [
        (1, 2, 2, 13, 13, 16, 16),
        (2, 4, 2, 25, 70, 20, 24),
        (1, 3, 1, 1, 150, 64, 64),
        (1, 2, 2, 7, 3, 8, 5),
        (1, 1, 1, 50, 129, 33, 100),
        (1, 2, 1, 3, 64, 128, 128),
        (1, 2, 2, 9, 530, 16, 32),
        (2, 2, 1, 8, 259, 12, 20),
    ],
)
def test_sizes(sizes: tuple[int, ...], isa: str) -> None:
    graph, inputs = attend(heads(*sizes))  # type: ignore[arg-type]
    plan = check(graph, [inputs], isa=isa)
    assert kernels(plan) == ["attention"]


@pytest.mark.parametrize("isa", widths()[:2])
@pytest.mark.parametrize(
    "attrs",
    [
        {"is_causal": 1},
        {"softcap": 3.0},
        {"scale": 0.3},
        {"scale": -0.3},
        {"left_window_size": 5},
        {"right_window_size": 2},
        {"is_causal": 1, "left_window_size": 9},
        {"left_window_size": 3, "right_window_size": 0},
    ],
)
def test_attributes(attrs: dict[str, Any], isa: str) -> None:
    for queries, keys in ((40, 40), (5, 90), (7, 270)):
        graph, inputs = attend(heads(2, 2, 1, queries, keys, 16, 16), **attrs)
        check(graph, [inputs], isa=isa)


@pytest.mark.parametrize("shape", [(30, 70), (2, 1, 30, 70), (1, 4, 1, 70), (2, 4, 30, 50), (1, 70), (4, 30, 70)])
@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_masks(shape: tuple[int, ...], kind: str) -> None:
    arrays = heads(2, 4, 2, 30, 70, 16, 16)
    if kind == "bool":
        arrays["mask"] = RNG.random(shape) > 0.3
        arrays["mask"][..., 0, :] = False  # a row without any key is zeros
    else:
        arrays["mask"] = data(*shape)
        arrays["mask"][..., 3:9] = -np.inf
    for causal in (0, 1):
        graph, inputs = attend(arrays, is_causal=causal)
        plan = check(graph, [inputs])
        assert kernels(plan) == ["attention"]


def test_packed_heads() -> None:
    arrays = {"q": data(2, 11, 4 * 16), "k": data(2, 19, 2 * 16), "v": data(2, 19, 2 * 24)}
    graph, inputs = attend(arrays, q_num_heads=4, kv_num_heads=2)
    check(graph, [inputs])


@pytest.mark.parametrize("queries", [1, 6])
def test_past(queries: int) -> None:
    arrays = heads(2, 4, 2, queries, queries, 16, 24)
    arrays |= {"past_k": data(2, 2, 37, 16), "past_v": data(2, 2, 37, 24)}
    for outputs in (1, 3):
        graph, inputs = attend(arrays, outputs=outputs, is_causal=1)
        plan = check(graph, [inputs])
        assert kernels(plan) == ["attention"]
    del arrays["past_k"], arrays["past_v"]
    graph, inputs = attend(arrays, outputs=3)
    check(graph, [inputs])


def test_numbers_of_keys() -> None:
    arrays = heads(3, 2, 2, 4, 40, 16, 16)
    for lengths in ([40, 17, 4], [0, 40, 31]):
        arrays["lengths"] = np.array(lengths, np.int64)
        for causal in (0, 1):
            graph, inputs = attend(arrays, is_causal=causal)
            check(graph, [inputs])


@pytest.mark.parametrize("dtype, tolerance", [(np.float16, 2e-3), (ml_dtypes.bfloat16, 1.5e-2)])
def test_halves(dtype: object, tolerance: float) -> None:
    graph, inputs = attend(heads(1, 4, 2, 20, 33, 32, 32, dtype))
    plan = check(graph, [inputs], tolerance=tolerance)
    assert kernels(plan) == ["attention"]


def test_what_has_no_kernel_is_expanded() -> None:
    graph, inputs = attend(heads(1, 2, 2, 5, 7, 8, 8, np.float64))
    assert "attention" not in kernels(check(graph, [inputs], hosts=None))
    graph, inputs = attend(heads(1, 2, 2, 5, 7, 8, 8), outputs=4)
    assert "attention" not in kernels(check(graph, [inputs], hosts=None))


def test_sizes_of_the_call() -> None:
    s, t = symbol("s", 1), symbol("t", 1)
    arrays = heads(1, 4, 2, 3, 9, 16, 16)
    shapes = {"q": (1, 4, s, 16), "k": (1, 2, t, 16), "v": (1, 2, t, 16)}
    graph, _ = attend(arrays, shapes, is_causal=1)
    calls = []
    for queries, keys in ((1, 1), (1, 130), (7, 7), (60, 60), (3, 17), (8, 300)):
        made = heads(1, 4, 2, queries, keys, 16, 16)
        calls.append([made["q"], made["k"], made["v"]])
    check(graph, calls)


def test_large_scores() -> None:
    arrays = heads(1, 1, 1, 9, 340, 16, 16)
    arrays["q"] *= 300
    graph, inputs = attend(arrays)
    check(graph, [inputs], tolerance=1e-4)  # the exponent's own rounding: scores of 1000 have 6e-5 in their last place


@pytest.mark.parametrize("causal", [0, 1])
def test_rows_whose_scores_are_all_minus_infinity_are_zeros(causal: int) -> None:
    """Without a mask too: as in PyTorch's scaled_dot_product_attention and ONNX's definition of the operator."""
    arrays = heads(1, 2, 2, 5, 6, 8, 8)
    arrays["q"][0, 0, 1], arrays["q"][0, 1, 2] = np.inf, -np.inf
    arrays["k"][0, 0], arrays["k"][0, 1] = -np.abs(arrays["k"][0, 0]), np.abs(arrays["k"][0, 1])
    graph, given = attend(arrays, is_causal=causal)
    check(graph, [given])
    (found,), _ = interpret(graph, given)
    assert not found[0, 0, 1].any() and not found[0, 1, 2].any() and np.isfinite(found).all()
