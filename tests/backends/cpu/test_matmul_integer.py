"""Integer products on the native backend are exact, at all vector widths."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Graph
from tests.backends.cpu.native import check, kernels, widths

RNG = np.random.default_rng(23)


def data(name: str, *shape: int) -> np.ndarray:
    info = np.iinfo(name)
    return RNG.integers(info.min, info.max + 1, shape, np.dtype(name))


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "uint8")])
@pytest.mark.parametrize("constant", [True, False])
def test_tails(types: tuple[str, str], constant: bool, isa: str) -> None:
    a, b = types
    for m, k, n in ((1, 37, 20), (9, 64, 35), (3, 1, 16), (40, 2, 17), (2, 0, 5)):
        for zeros in ((), ((), ()), ((m,), (n,)), ((1,), (n,))):
            g = Graph()
            builder = Builder(g)
            x, inputs = builder.input("x", a, (m, k)), [data(a, m, k)]
            if constant:
                w = builder.constant(data(b, k, n))
            else:
                w = builder.input("w", b, (k, n))
                inputs.append(data(b, k, n))
            points = [builder.constant(data(t, *shape)) for t, shape in zip(types, zeros, strict=False)]
            builder.outputs(builder.MatMulInteger(x, w, *points))
            check(g, [inputs], tolerance=0, isa=isa)


def test_batches_and_epilogue() -> None:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "uint8", (2, 3, 5, 12))
    zero = b.input("zero", "uint8", ())
    y = b.MatMulInteger(x, b.constant(data("int8", 3, 12, 20)), zero)
    y = b.Mul(b.Cast(y, to="float32"), b.constant(RNG.standard_normal(20).astype(np.float32)))
    b.outputs(b.Relu(y))
    plan = check(g, [[data("uint8", 2, 3, 5, 12), data("uint8")]], tolerance=1e-6)
    assert kernels(plan) in (["product.quads.fused"], ["product.pairs.fused"])
