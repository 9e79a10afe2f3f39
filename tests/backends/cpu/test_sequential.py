"""Running sums, and writes at indices: order, memory that is shared, indices of any value, every width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ge_backend_cpu.backend import CpuBackend
from ge_core.errors import IndexRangeError
from ge_core.ir import Builder, DType, Graph
from ge_core.plan.plan import HostStep
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.vehicle import executable, planned
from tests.core.ops.onnx_cases import assert_close

WIDTHS = ["host", "x86-64-v3", "x86-64-v3/4"]
RNG = np.random.default_rng(5)


def check(make: Callable[..., Any], *arrays: np.ndarray, isa: str = "host") -> None:
    """Compare with the reference; no step may run on the host."""
    graph = Graph()
    b = Builder(graph)
    b.outputs(make(b, *[b.input(f"x{i}", DType.of(a.dtype), a.shape) for i, a in enumerate(arrays)]))
    assert not any(isinstance(s, HostStep) for s in planned(graph, CpuBackend()).all_steps())
    wanted, _ = interpret(graph, list(arrays))
    found = executable(graph, CpuBackend(), isa=isa).run(list(arrays), StateStore(graph.states))
    assert_close(found[0], wanted[0])


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_cumulative(op: str, exclusive: int, reverse: int, isa: str) -> None:
    """The operand is a value that dies there, so that the result takes its memory."""
    x = RNG.uniform(0.5, 1.5, (3, 7, 37)).astype(np.float32)
    for axis in range(3):
        check(lambda b, v, a=axis: b.op(op, b.MatMul(v, np.eye(37, dtype=np.float32)), np.array(a),
                                        exclusive=exclusive, reverse=reverse), x, isa=isa)  # fmt: skip


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float64"])
def test_cumulative_types(dtype: str) -> None:
    x = RNG.integers(-3, 4, (5, 40)).astype(dtype)
    check(lambda b, v: b.CumSum(v, np.array(1)), x)
    check(lambda b, v: b.CumSum(v, np.array(0)), x)


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_repeated_indices_apply_in_order(reduction: str, isa: str) -> None:
    x = RNG.standard_normal((6, 37)).astype(np.float32)
    rows = RNG.integers(-6, 6, (20, 1))
    check(
        lambda b, d, i, u: b.ScatterND(d, i, u, reduction=reduction),
        x, rows, RNG.standard_normal((20, 37)).astype(np.float32), isa=isa,
    )  # fmt: skip
    for axis in (0, 1):
        places = RNG.integers(-x.shape[axis], x.shape[axis], (6, 30))
        check(
            lambda b, d, i, u, a=axis: b.ScatterElements(d, i, u, axis=a, reduction=reduction),
            x, places, RNG.standard_normal((6, 30)).astype(np.float32), isa=isa,
        )  # fmt: skip


@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_indices_of_any_value(op: str) -> None:
    """Whatever stands in the indices, the call ends in a result or in an error."""
    graph = Graph()
    b = Builder(graph)
    shape = (9, 1) if op == "ScatterND" else (9, 4)
    values = (9, 4)
    d, i = b.input("d", "float32", (5, 4)), b.input("i", "int64", shape)
    b.outputs(b.op(op, d, i, b.input("u", "float32", values)))
    run = executable(graph, CpuBackend())
    x, updates = np.zeros((5, 4), np.float32), np.ones(values, np.float32)
    for bits in (2, 3, 4, 31, 63):
        for _ in range(20):
            indices = RNG.integers(-(1 << bits), 1 << bits, shape)
            if ((indices >= -5) & (indices < 5)).all():
                wanted, _ = interpret(graph, [x, indices, updates])
                found = run.run([x, indices, updates], StateStore(graph.states))
                np.testing.assert_array_equal(found[0], wanted[0])
            else:
                with pytest.raises(IndexRangeError):
                    run.run([x, indices, updates], StateStore(graph.states))
