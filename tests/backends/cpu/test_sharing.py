"""Products of different widths that share a kernel: fewer of them, and the same values as each with its own."""

from __future__ import annotations

import numpy as np
import pytest

import ge_core
from ge_backend_cpu.backend import plan_kernels
from ge_backend_cpu.contract.tile import MANY, shapes
from ge_backend_cpu.isa import LEVELS
from ge_backend_cpu.kernel import Kernel
from ge_core.ir import Builder, Graph
from ge_core.ir.constant import Constant

RNG = np.random.default_rng(3)


def net(rows: int, depth: int, widths: tuple[int, ...]) -> Graph:
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (rows, depth))
    made = []
    for width in widths:
        w = Constant.of(RNG.standard_normal((depth, width)).astype(np.float32))
        made.append(b.Relu(b.MatMul(x, b.constant(w))))
    b.outputs(*made)
    return graph


def products(graph: Graph, isa: str = "host") -> tuple[list[Kernel], ge_core.CompiledModel]:
    model = ge_core.compile(graph, target="cpu", options={"isa": isa, "workers": 0})
    kernels = plan_kernels(model.artifact.plans.values())
    return [kernel for kernel in kernels if kernel.family == "contract.product"], model


@pytest.mark.parametrize("isa", ["x86-64-v3", "x86-64-v3/16", "x86-64-v3/4"])
@pytest.mark.parametrize("rows", [1, 2, 7, 30, 50])
def test_widths_share_a_kernel(rows: int, isa: str) -> None:
    widths = (16, 40, 48, 64, 80, 100, 112, 130, 250)
    graph = net(rows, 20, widths)
    kernels, model = products(graph, isa)
    assert len(kernels) == 1
    x = RNG.standard_normal((rows, 20)).astype(np.float32)
    for width, got in zip(widths, model(x), strict=True):
        (weight,) = (c.constant for c in graph.constants if c.shape[-1] == width)
        assert weight is not None
        assert np.allclose(got, np.maximum(x @ weight.array(), 0), rtol=1e-5, atol=1e-5)


def test_products_that_differ_in_more_have_their_own() -> None:
    assert len(products(net(30, 20, (16, 32)))[0]) == 1
    assert len(products(net(30, 21, (16, 32)))[0]) == 1
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (30, 20))
    weights = [b.constant(Constant.of(RNG.standard_normal((20, 16)).astype(np.float32))) for _ in range(2)]
    b.outputs(b.Relu(b.MatMul(x, weights[0])), b.Sigmoid(b.MatMul(x, weights[1])))
    assert len(products(graph)[0]) == 2


def test_deep_products_have_their_own() -> None:
    kernels, _ = products(net(30, 2048, (16, 32)))
    assert len(kernels) == 2 and all(kernel.parameters["deep"] for kernel in kernels)


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("rows", [0, 1, 3, 9, MANY])
def test_a_shared_kernel_takes_the_tiles_of_each(level: str, rows: int) -> None:
    """Wide tiles first: what is left is one tile of the very width that the product alone would have had."""
    isa = LEVELS[level]

    def cut(count: int, widths: list[int]) -> list[int]:
        found = []
        for width in widths:
            found += [width] * (count // width)
            count %= width
        assert count == 0
        return found

    together = [shape.panels for shape in shapes(isa, isa.lanes, rows, range(1, 16))]
    for count in range(1, 16):
        alone = [shape.panels for shape in shapes(isa, isa.lanes, rows, count)]
        assert cut(count, together) == cut(count, alone)
