"""Branches whose results have different ranks, of which all that follows takes one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ge_core
from ge_core.errors import CheckError, InputError
from ge_core.ir import Builder, Graph, Value, symbol
from ge_core.passes import optimise

TARGETS = ["reference", "cpu"]
N = symbol("n", 1)


def _squeezed(b: Builder, x: Value, axis: int = 2) -> Value:
    """What exporters make of a squeeze of one axis."""
    one = b.Equal(b.Gather(b.Shape(x), b.ints(axis)), b.ints(1))
    found: Value = b.If(one, then_branch=lambda r: [r.Squeeze(x, r.ints(axis))], else_branch=lambda r: [r.Identity(x)])
    return found


def _graph(build: Any, *shapes: Any) -> Graph:
    b = Builder(Graph("g"))
    made = build(b, *(b.input(f"x{i}", "float32", shape) for i, shape in enumerate(shapes)))
    b.outputs(*([made] if isinstance(made, Value) else made))
    return b.graph


def _recurrent(b: Builder, x: Value) -> Value:
    """A cell over a step without an axis for the steps: it puts that in front, so that it must not be there."""
    random = np.random.default_rng(0)
    w, r = (b.constant((random.standard_normal((1, 8, k)) / 3).astype(np.float32)) for k in (4, 2))
    h = b.LSTM(b.Unsqueeze(_squeezed(b, x), b.ints(0)), w, r, hidden_size=2, num_outputs=2)[1]
    return _squeezed(b, b.Unsqueeze(b.Squeeze(h, b.ints(0)), b.ints(2)))


@pytest.mark.parametrize("target", TARGETS)
def test_the_rank_that_follows_decides(target: str) -> None:
    graph = _graph(_recurrent, (3, 4, N))
    model = ge_core.compile(graph, target=target)
    assert "If" not in model.report.operators and model.graph.outputs[0].tensor.rank == 2
    x = np.random.default_rng(1).standard_normal((3, 4, 1)).astype(np.float32)
    want = ge_core.compile(_graph(_recurrent, (3, 4, 1)), target="reference")(x)
    np.testing.assert_allclose(model(x), want, rtol=1e-5)
    with pytest.raises(InputError, match="'x0' has size 2 in dim 2"):  # a squeezed axis has size 1
        model(np.zeros((3, 4, 2), np.float32))


def test_the_else_branch_can_be_the_one() -> None:
    graph = _graph(lambda b, x: b.Conv(_squeezed(b, x), b.constant(np.ones((2, 4, 1), np.float32))), (3, 4, N))
    model = ge_core.compile(graph, target="reference")
    assert model(np.ones((3, 4, 5), np.float32)).shape == (3, 2, 5)
    with pytest.raises(CheckError, match="the other branch gives another number of axes, with which Conv"):
        model(np.ones((3, 4, 1), np.float32))


def test_inside_a_branch() -> None:
    def build(b: Builder, x: Value, y: Value) -> Value:
        found: Value = b.If(
            b.Greater(b.ReduceSum(y, keepdims=0), 0.0),
            then_branch=lambda r: [_recurrent(r, x)], else_branch=lambda r: [r.ReduceSum(y, keepdims=0)],
        )  # fmt: skip
        return found

    graph = _graph(build, (3, 4, N), (2,))
    optimise(graph)
    (outer,) = (node for node in graph.nodes if node.op == "If")
    inner = [node.op for node in outer.regions["then_branch"].nodes]
    assert "If" not in inner and "ge.Check" in inner


@pytest.mark.parametrize(
    "build",
    [
        lambda b, x: b.Relu(_squeezed(b, x)),
        lambda b, x: b.Shape(b.MatMul(_squeezed(b, x), b.constant(np.ones((1, 1), np.float32)))),
    ],
)
def test_both_stay_where_both_may_be(build: Any) -> None:
    graph = _graph(build, (1, 1, N))
    optimise(graph)
    assert any(node.op == "If" for node in graph.nodes)


def test_a_failure_in_another_branch_decides_nothing() -> None:
    """What stands in a branch may not be run."""

    def build(b: Builder, x: Value, y: Value) -> Value:
        z = _squeezed(b, x)
        found: Value = b.If(
            b.Greater(b.ReduceSum(y, keepdims=0), 0.0),
            then_branch=lambda r: [r.ReduceSum(r.Conv(z, r.constant(np.ones((2, 4, 1), np.float32))), keepdims=0)],
            else_branch=lambda r: [r.ReduceSum(z, keepdims=0)],
        )  # fmt: skip
        return found

    model = ge_core.compile(_graph(build, (3, 4, N), (2,)), target="reference")
    assert model(np.ones((3, 4, 1), np.float32), -np.ones(2, np.float32)) == 12
    assert model(np.ones((3, 4, 2), np.float32), np.ones(2, np.float32)) == 48


@pytest.mark.parametrize("target", TARGETS)
def test_pointwise_operators_before_a_squeeze_without_axes(target: str) -> None:
    """The number of axes depends on the call: the Squeeze goes behind all that reads it, where it costs no step."""
    graph = _graph(lambda b, x: b.Add(b.Mul(b.Sigmoid(b.Squeeze(x)), 4.0), np.float32(1)), (N, 1))
    model = ge_core.compile(graph, target=target)
    assert [node.op for node in model.graph.nodes][-1] == "Squeeze"
    assert model.graph.outputs[0].name == graph.outputs[0].name
    assert target == "reference" or not model.report.host_steps
    for rows in (1, 3):
        x = np.random.default_rng(0).standard_normal((rows, 1)).astype(np.float32)
        got = model(x)
        np.testing.assert_allclose(got, 4 / (1 + np.exp(-np.squeeze(x))) + 1, rtol=1e-6)
        assert got.shape == np.squeeze(x).shape
