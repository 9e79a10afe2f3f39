"""Constant factors and summands into weights."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, symbol
from ge_core.passes.dce import DeadCode
from ge_core.passes.scales import FoldScales
from tests.core.passes.rewriting import check, normal

N = symbol("n", 1, 8)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(), (6, 1, 1), (1, 6, 1, 1)])
def test_conv(bias: bool, shape: tuple[int, ...]) -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 5, 5))
        y = b.Conv(x, normal(6, 4, 3, 3), *([normal(6)] if bias else []))
        first, second = (np.full(shape, normal(*shape, seed=k), np.float32) for k in (1, 2))
        b.outputs(b.Mul(b.Add(b.Mul(y, first), second), 0.5))

    check(build, [normal(2, 4, 5, 5)], FoldScales(), gives=["Conv"], tolerance=1e-6)


@pytest.mark.parametrize("shape", [(4,), (5, 4)])
def test_linear(shape: tuple[int, ...]) -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, *shape))
        y = b.Mul(b.Add(b.MatMul(x, normal(4, 3)), normal(3)), normal(3, seed=1))
        b.outputs(y, b.Mul(b.MatMul(x, normal(4, 3, seed=5)), normal(1, 3, seed=2)))

    check(build, [normal(2, *shape)], FoldScales(), gives=["MatMul", "Add", "MatMul"], tolerance=1e-6)


@pytest.mark.parametrize(
    "case",
    ["within a channel", "along another axis", "infinite", "half", "shared weights", "shapes the result", "read"],
)
def test_what_stays(case: str) -> None:
    dtype = "float16" if case == "half" else "float32"
    factors = {
        "within a channel": normal(6, 3, 3), "along another axis": normal(3), "infinite": np.full((6, 1, 1), np.inf),
        "shapes the result": normal(2, 1, 1, 1, 1),
    }  # fmt: skip

    def build(b: Builder) -> None:
        x = b.input("x", dtype, (N, 4, 5, 5))
        w = b.constant(normal(6, 4, 3, 3, dtype=dtype))
        y = b.Conv(x, w)
        z = b.Mul(y, factors.get(case, normal(6, 1, 1)).astype(dtype))
        others = {"shared weights": lambda: b.Conv(b.Neg(x), w), "read": lambda: y}
        b.outputs(z, *([others[case]()] if case in others else []))

    graph, _ = check(build, [normal(2, 4, 5, 5, dtype=dtype)], FoldScales(), DeadCode())
    assert "Mul" in [n.op for n in graph.nodes]
