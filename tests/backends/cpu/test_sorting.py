"""Sort and TopK: stable, NaN greatest, every axis, every element type."""

from __future__ import annotations

import numpy as np
import pytest

from ge_backend_cpu.backend import CpuBackend
from ge_core.ir import Builder, DType, Graph
from ge_core.plan.plan import HostStep
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.vehicle import executable, planned
from tests.core.ops.onnx_cases import assert_close

RNG = np.random.default_rng(6)


def check(x: np.ndarray, op: str, *operands: int, **attributes: int) -> None:
    graph = Graph()
    b = Builder(graph)
    constants = [np.array([k]) for k in operands]
    b.outputs(*b.op(op, b.input("x", DType.of(x.dtype), x.shape), *constants, **attributes))
    assert not any(isinstance(s, HostStep) for s in planned(graph, CpuBackend()).all_steps())
    wanted, _ = interpret(graph, [x])
    for actual, expected in zip(
        executable(graph, CpuBackend()).run([x], StateStore(graph.states)), wanted, strict=True
    ):
        assert_close(actual, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int64", "uint32"])
def test_order(dtype: str) -> None:
    """Few different values, so that equal ones are common."""
    x = RNG.integers(0, 6, (3, 67, 5)).astype(dtype)
    if x.dtype.kind == "f":
        x[0, 3:7, 0] = np.nan
        x[1, 5, :] = [np.inf, -np.inf, 0.0, -0.0, np.nan]
    for axis in range(3):
        for down in (0, 1):
            check(x, "ge.Sort", axis=axis, descending=down)
            check(x, "TopK", min(4, x.shape[axis]), axis=axis, largest=down)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int16", "uint8", "int64", "uint64"])
def test_any_bits(dtype: str) -> None:
    x = np.frombuffer(RNG.bytes(8 * 400), dtype).reshape(-1, 50 if np.dtype(dtype).itemsize > 4 else 200)
    for down in (0, 1):
        check(x, "ge.Sort", axis=1, descending=down)
        check(x, "ge.Sort", axis=0, descending=down)


@pytest.mark.parametrize("k", [0, 1, 2, 63, 64, 65, 200, 300])
def test_few_and_many(k: int) -> None:
    check(RNG.standard_normal((3, 300)).astype(np.float32), "TopK", k, axis=1)


@pytest.mark.parametrize("size", [1, 2, 3, 31, 33, 1000])
def test_sizes(size: int) -> None:
    check(RNG.standard_normal((2, size)).astype(np.float32), "ge.Sort", axis=1)
