"""Quantised products and convolutions: integer sums, weights that are dequantised once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.ir import Builder, Graph
from ge_core.ir.graph import Value
from ge_core.plan.plan import ExecutionPlan
from tests.backends.cpu.native import check

RNG = np.random.default_rng(31)


def integers(*shape: int, dtype: type = np.int8) -> np.ndarray:
    return (
        RNG.integers(-100, 100, shape).astype(dtype) if dtype is np.int8 else RNG.integers(0, 250, shape).astype(dtype)
    )


def dequantised(b: Any, q: np.ndarray | Value, scale: Any, zero: Any, axis: int = 1) -> Any:
    return b.DequantizeLinear(q, np.asarray(scale, np.float32), zero, axis=axis)


def operators(plan: ExecutionPlan) -> set[str]:
    found = set()
    for node in plan.graph.nodes:
        found |= {node.op} if node.op != "ge.Fused" else {n.op for n in node.regions["body"].nodes}
    return found


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
def test_products_are_those_of_integers(op: str, columns: bool, kind: type) -> None:
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (7, 40))
    q = b.QuantizeLinear(x, np.float32(0.02), np.array(3, kind))
    left = dequantised(b, q, 0.02, np.array(3, kind))
    scale = np.abs(RNG.standard_normal(33)) / 50 if columns else [0.01]
    right = dequantised(b, integers(40, 33), scale, integers(33 if columns else 1))
    bias = RNG.standard_normal(33).astype(np.float32)
    y = b.Gemm(left, right, bias) if op == "Gemm" else b.Add(b.MatMul(left, right), bias)
    b.outputs(b.QuantizeLinear(b.Relu(y), np.float32(0.3), np.array(5, kind)), y)
    inputs = RNG.standard_normal((7, 40)).astype(np.float32)
    plan = check(graph, [[inputs]], tolerance=1e-4)
    assert "MatMulInteger" in operators(plan)
    assert not operators(plan) & {"MatMul", "Gemm", "DequantizeLinear"}


def test_weights_of_convolutions_are_dequantised_at_build() -> None:
    graph = Graph()
    b = Builder(graph)
    weights = dequantised(b, integers(8, 6, 3, 3), np.abs(RNG.standard_normal(8)) / 50, np.zeros(8, np.int8), axis=0)
    b.outputs(b.Conv(b.input("x", "float32", (2, 6, 9, 9)), weights, pads=[1] * 4))
    plan = check(graph, [[RNG.standard_normal((2, 6, 9, 9)).astype(np.float32)]], tolerance=1e-4)
    assert operators(plan) <= {"Conv", "ge.Relayout"}
