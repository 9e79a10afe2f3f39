"""Recurrent layers on the native backend: every cell, direction and option, between guard pages."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ge_core.ir import Builder, DType, Graph, symbol
from tests.backends.cpu.native import check, kernels, widths

RNG = np.random.default_rng(29)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4, "ge.LSTM": 4}


def data(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return (RNG.standard_normal(shape) / 2).astype(dtype)  # type: ignore[call-overload]


def layer(
    op: str,
    steps: int,
    batch: int,
    inner: int,
    hidden: int,
    *,
    dtype: object = np.float32,
    bias: bool = True,
    lengths: bool = False,
    start: bool = False,
    peephole: bool = False,
    projection: int = 0,
    shape: tuple[Any, ...] | None = None,
    **attrs: Any,
) -> tuple[Graph, list[np.ndarray]]:
    """A layer with constant weights and all of its results."""
    g = Graph()
    b = Builder(g)
    gates, count = GATES[op], 2 if attrs.get("direction") == "bidirectional" else 1
    out = projection or hidden
    first = bool(attrs.get("layout"))
    name = DType.of(np.dtype(dtype)).name  # type: ignore[call-overload]
    sizes = (batch, steps, inner) if first else (steps, batch, inner)
    x = b.input("x", name, sizes if shape is None else shape)
    inputs = [data(*sizes, dtype=dtype)]
    # larger weights would let the roundings of one step grow from step to step
    recurrent = (data(count, gates * hidden, out) / np.sqrt(out)).astype(dtype)  # type: ignore[call-overload]
    operands: list[Any] = [
        x, b.constant(data(count, gates * hidden, inner, dtype=dtype)),
        b.constant(recurrent),
        b.constant(data(count, 2 * gates * hidden, dtype=dtype)) if bias else None,
    ]  # fmt: skip
    operands.append(b.input("lengths", "int32", (batch,)) if lengths else None)
    if lengths:
        inputs.append(RNG.integers(0, steps + 1, batch).astype(np.int32))
    for key, size in (("h", out), ("c", hidden)):
        if key == "c" and not op.endswith("LSTM"):
            continue
        wanted = (batch, count, size) if first else (count, batch, size)
        operands.append(b.input(key, name, wanted) if start else None)
        if start:
            inputs.append(data(*wanted, dtype=dtype))
    if peephole:
        operands.append(b.constant(data(count, 3 * hidden, dtype=dtype)))
    if projection:
        operands.append(b.constant(data(count, projection, hidden, dtype=dtype)))
    found = b.op(op, *operands, hidden_size=hidden, num_outputs=3 if op.endswith("LSTM") else 2, **attrs)
    b.outputs(*found)
    return g, inputs


@pytest.mark.parametrize("isa", widths())
def test_gates_far_from_zero(isa: str) -> None:
    for attrs in ({}, {"clip": 3.0}, {"input_forget": 1}):
        graph, (x, *rest) = layer("LSTM", 3, 4, 5, 20, **attrs)
        x[:, 1] *= 1e3
        x[:, 2] *= 1e30
        x[1, 3] = np.nan
        check(graph, [[x, *rest]], isa=isa)


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("batch", [7, 9, 16, 17])
def test_rows_of_items(isa: str, batch: int) -> None:
    for op in ("GRU", "LSTM"):
        graph, inputs = layer(op, 3, batch, 5, 37, lengths=True, start=True)
        check(graph, [inputs], isa=isa)


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("sizes", [(5, 1, 7, 16), (3, 4, 20, 19), (4, 9, 8, 40), (0, 2, 3, 5)])
def test_sizes(op: str, sizes: tuple[int, int, int, int], isa: str) -> None:
    graph, inputs = layer(op, *sizes)
    plan = check(graph, [inputs], tolerance=5e-6, isa=isa)
    assert kernels(plan) == [op.lower()]


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
def test_directions(op: str, direction: str, layout: int) -> None:
    for lengths, start in ((False, True), (True, False), (True, True)):
        graph, inputs = layer(op, 6, 3, 5, 12, lengths=lengths, start=start, direction=direction, layout=layout)
        check(graph, [inputs], tolerance=5e-6)


def test_variants() -> None:
    for options in ({"linear_before_reset": 1}, {"linear_before_reset": 1, "bias": False}, {"bias": False}):
        graph, inputs = layer("GRU", 6, 3, 5, 20, start=True, **options)
        check(graph, [inputs], tolerance=5e-6)
    for options in ({"peephole": True}, {"input_forget": 1}, {"clip": 0.3}, {"peephole": True, "input_forget": 1}):
        graph, inputs = layer("LSTM", 6, 3, 5, 20, start=True, direction="bidirectional", **options)
        check(graph, [inputs], tolerance=5e-6)


@pytest.mark.parametrize("lengths", [False, True])
def test_projection(lengths: bool) -> None:
    for projection in (8, 21):
        graph, inputs = layer(
            "ge.LSTM", 5, 4, 6, 24, projection=projection, lengths=lengths, start=True, direction="bidirectional"
        )
        check(graph, [inputs], tolerance=5e-6)


@pytest.mark.parametrize(
    "name", ["Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu",
             "Softsign", "Softplus"],
)  # fmt: skip
def test_activations(name: str) -> None:
    graph, inputs = layer("RNN", 4, 2, 5, 18, activations=[name], activation_alpha=[0.4], activation_beta=[0.3])
    check(graph, [inputs], tolerance=5e-6)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-13), (np.float16, 4e-3), (ml_dtypes.bfloat16, 3e-2)])
def test_element_types(dtype: object, tolerance: float) -> None:
    graph, inputs = layer("LSTM", 5, 3, 6, 20, dtype=dtype, start=True)
    check(graph, [inputs], tolerance=tolerance)


def test_sizes_of_the_call() -> None:
    t, n = symbol("t", 0), symbol("n", 1)
    graph, _ = layer("LSTM", 3, 2, 7, 20, shape=(t, n, 7))
    check(graph, [[data(steps, batch, 7)] for steps, batch in ((3, 2), (1, 1), (9, 7), (0, 3), (4, 1))], tolerance=5e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads(threads: int) -> None:
    graph, inputs = layer("GRU", 30, 20, 16, 64, direction="bidirectional")
    check(graph, [inputs], tolerance=5e-6, threads=threads)


def as_inputs(graph: Graph, inputs: list[np.ndarray]) -> tuple[Graph, list[np.ndarray]]:
    """A layer whose weights come with the call."""
    (node,) = graph.nodes
    g = Graph()
    b = Builder(g)
    made: dict[Any, Any] = {}
    for value in node.inputs:
        if value is not None:
            made[value] = b.input(value.name, value.dtype, value.shape)
    attributes: dict[str, Any] = dict(node.attrs)
    b.outputs(*b.op(node.op, *[None if v is None else made[v] for v in node.inputs], num_outputs=len(node.outputs),
                    **attributes))  # fmt: skip
    given = dict(zip(graph.inputs, inputs, strict=True))
    return g, [given[v] if v in given else v.constant.array() for v in made]


def test_weights_of_the_call() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("RNN", {}), ("RNN", {"bias": False}), ("LSTM", {"direction": "bidirectional", "peephole": True}),
        ("GRU", {"bias": False, "linear_before_reset": 1}), ("GRU", {"linear_before_reset": 1}), ("GRU", {}),
        ("ge.LSTM", {"projection": 21, "direction": "bidirectional"}),
    ]  # fmt: skip
    for op, options in cases:
        graph, inputs = as_inputs(*layer(op, 5, 3, 6, 20, start=True, **options))
        assert kernels(check(graph, [inputs], tolerance=5e-6)) == ["lstm" if op.endswith("LSTM") else op.lower()]
    graph, inputs = as_inputs(*layer("LSTM", 5, 3, 6, 20, dtype=np.float16))
    check(graph, [inputs], tolerance=4e-3)
