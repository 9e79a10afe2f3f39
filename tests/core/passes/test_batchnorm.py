"""Batch normalisation into weights: W' = W·γ/√(σ²+ε)."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Constant, Graph, TensorType, Value, symbol
from ge_core.ir.dtype import float32
from ge_core.passes import PassContext
from ge_core.passes.batchnorm import FoldBatchNorm
from ge_core.passes.dce import DeadCode
from tests.core.passes.rewriting import check, normal, ops

N = symbol("n", 1, 8)


def norm(b: Builder, x: Value, channels: int, seed: int = 0, dtype: str = "float32") -> Value:
    params = [normal(channels, seed=seed + k, dtype=dtype) for k in range(3)]
    return b.BatchNormalization(x, *params, np.abs(normal(channels, seed=seed + 3, dtype=dtype)) + 0.1, epsilon=1e-3)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("group", [1, 2])
def test_conv(bias: bool, group: int) -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 6, 6))
        y = b.Conv(x, normal(6, 4 // group, 3, 3), *([normal(6)] if bias else []), group=group, pads=[1, 1, 1, 1])
        b.outputs(norm(b, y, 6))

    check(build, [normal(2, 4, 6, 6)], FoldBatchNorm(), gives=["Conv"], tolerance=1e-6)


@pytest.mark.parametrize("group", [1, 2])
def test_conv_transpose(group: int) -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 5, 5))
        y = b.ConvTranspose(x, normal(4, 6 // group, 3, 3), normal(6), group=group, strides=[2, 2])
        b.outputs(norm(b, y, 6))

    check(build, [normal(2, 4, 5, 5)], FoldBatchNorm(), gives=["ConvTranspose"], tolerance=1e-6)


def test_linear() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4))
        b.outputs(norm(b, b.MatMul(x, normal(4, 3)), 3), norm(b, b.Add(b.MatMul(x, normal(4, 3)), normal(3)), 3, 7))

    check(build, [normal(2, 4)], FoldBatchNorm(), gives=["MatMul", "Add"] * 2, tolerance=1e-6)


def test_rows_that_are_flattened_for_it() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 5, 4))
        rows = b.Reshape(b.MatMul(x, normal(4, 3)), b.ints(5 * N, 3))
        b.outputs(b.Reshape(norm(b, rows, 3), b.ints(N, 5, 3)))

    gives = ["MatMul", "Add", "Reshape", "Reshape"]
    check(build, [normal(2, 5, 4)], FoldBatchNorm(), gives=gives, tolerance=1e-6)


def test_elsewhere_it_is_a_product_and_a_sum() -> None:
    def build(b: Builder) -> None:
        b.outputs(norm(b, b.Relu(b.input("x", "float32", (N, 4, 3))), 4))

    check(build, [normal(2, 4, 3)], FoldBatchNorm(), gives=["Relu", "Mul", "Add"], tolerance=1e-6)


def test_a_convolution_that_something_else_reads_keeps_its_weights() -> None:
    def build(b: Builder) -> None:
        y = b.Conv(b.input("x", "float32", (N, 4, 6)), normal(4, 4, 3))
        b.outputs(norm(b, y, 4), y)

    check(build, [normal(2, 4, 6)], FoldBatchNorm(), gives=["Conv", "Mul", "Add"], tolerance=1e-6)


def test_two_norms_behind_convolutions_with_shared_weights_get_weights_of_their_own() -> None:
    """Elsewhere two folded norms got one name, or one cache entry."""

    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 6))
        w = b.constant(normal(4, 4, 3), name="w")
        b.outputs(norm(b, b.Conv(x, w), 4, 0), norm(b, b.Conv(x, w), 4, 10))

    graph, _ = check(build, [normal(2, 4, 6)], FoldBatchNorm(), DeadCode(), gives=["Conv", "Conv"], tolerance=1e-6)
    assert len({v.name for v in graph.constants}) == 4


def test_half_precision_and_unusable_statistics_keep_the_operator() -> None:
    def build(b: Builder) -> None:
        h = b.input("h", "float16", (N, 4, 3))
        x = b.input("x", "float32", (N, 4, 3))
        zero = np.zeros(4, np.float32)
        b.outputs(norm(b, h, 4, dtype="float16"), b.BatchNormalization(x, zero + np.inf, zero, zero, zero))

    check(build, [normal(2, 4, 3, dtype="float16"), normal(2, 4, 3)], FoldBatchNorm(), gives=["BatchNormalization"] * 2)


def test_weights_are_computed_when_they_are_needed() -> None:
    loaded: list[str] = []
    w = normal(4, 4, 3)

    def load() -> np.ndarray:
        loaded.append("w")
        return w

    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "float32", (N, 4, 6))
    lazy = b.constant(Constant(TensorType(float32, (4, 4, 3)), load))
    b.outputs(norm(b, b.Conv(x, lazy), 4))
    FoldBatchNorm()(graph, PassContext(debug=False))
    assert ops(graph) == ["Conv"] and not loaded
