"""Sizes that operators force to be equal are one size; what cannot be decided before a call is checked in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ge_core
from ge_core.errors import InputError, SizeBoundError
from ge_core.ir import Builder, Graph, Size, Value, symbol
from ge_core.ir.verifier import verify
from ge_core.passes import optimise

Build = Callable[..., Value]
A, B, C = symbol("a", 1), symbol("b", 1), symbol("c", 2, 40)
TARGETS = ["reference", "cpu"]


def graph_of(build: Build, *shapes: tuple[Size, ...]) -> Graph:
    graph = Graph("g")
    b = Builder(graph)
    b.outputs(build(b, *(b.input(f"x{i}", "float32", shape) for i, shape in enumerate(shapes))))
    return graph


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("build", "shapes", "one"),
    [
        (lambda b, x, y: b.MatMul(x, y), [(3, A), (B, 4)], "a"),
        (lambda b, x, y: b.Gemm(x, y, transB=1), [(3, A), (4, B)], "a"),
        (lambda b, x, y: b.Add(x, y), [(3, A), (3, B)], "a"),
        (lambda b, x, y: b.Concat([x, y], axis=0), [(3, A), (4, B)], "a"),
        (lambda b, x, y: b.Add(b.Concat([x, x], axis=0), y), [(A, 2), (B, 2)], "2*a"),
        (lambda b, x, y: b.Add(b.Concat([x, np.ones((3, 2), np.float32)], axis=0), y), [(A, 2), (B, 2)], "a+3"),
        (lambda b, x, y: b.Add(x, y), [(A, 2), (7, 2)], "7"),
        (lambda b, x, y: b.Add(x, y), [(A, 2), (C, 2)], "a"),
        (lambda b, x, y: b.Reshape(x, b.ints(b.block.params[1].shape[0], 3)), [(A, 3), (B,)], "a"),
    ],
    ids=["matmul", "gemm", "add", "concat", "expression", "sum", "number", "bounds", "reshape"],
)
def test_inputs_have_one_size(build: Build, shapes: list[tuple[Size, ...]], one: str) -> None:
    graph = graph_of(build, *shapes)
    optimise(graph)
    verify(graph)
    assert one in {str(d) for d in graph.inputs[1].shape}
    assert "b" not in {str(d) for v in graph.inputs for d in v.shape}
    if C in shapes[1]:
        assert str(graph.inputs[0].shape[0]) == "a"
        (s,) = graph.inputs[0].shape[0].terms[0][0][0][:1]  # type: ignore[union-attr]
        assert (s.lo, s.hi) == (2, 40)  # type: ignore[union-attr]


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_that_contradicts_is_refused_at_the_input(target: str) -> None:
    model = ge_core.compile(graph_of(lambda b, x, y: b.MatMul(x, y), (3, A), (B, 4)), target=target)
    assert model(ones(3, 5), ones(5, 4))[0, 0] == 5
    with pytest.raises(InputError, match="'x1' has size 7 in dim 0"):
        model(ones(3, 5), ones(7, 4))


@pytest.mark.parametrize("target", TARGETS)
def test_sizes_in_a_branch_are_checked_when_it_runs(target: str) -> None:
    def build(b: Builder, x: Value, y: Value) -> Value:
        small: Value = b.Less(b.ReduceSum(x), 100.0)
        result: Value = b.If(
            b.Reshape(small, b.ints()),
            then_branch=lambda r: [r.ReduceSum(r.MatMul(x, y))],
            else_branch=lambda r: [r.ReduceSum(r.Relu(y))],
        )
        return result

    model = ge_core.compile(graph_of(build, (3, A), (B, 4)), target=target)
    assert model(ones(3, 5), ones(5, 4)) == 60
    assert model(ones(3, 500), ones(7, 4)) == 28
    with pytest.raises(SizeBoundError, match="needs two equal sizes, and they are 5 and 7"):
        model(ones(3, 5), ones(7, 4))


@pytest.mark.parametrize("target", TARGETS)
def test_expressions_are_compared_in_each_call(target: str, tmp_path: object) -> None:
    """Halves of two sizes: neither size follows from the other."""

    def build(b: Builder, x: Value, y: Value) -> Value:
        halves = [b.Slice(v, b.ints(0), b.ints(v.shape[0] // 2), b.ints(0)) for v in (x, y)]
        total: Value = b.Add(*halves)
        return total

    model = ge_core.compile(graph_of(build, (A, 2), (B, 2)), target=target)
    model.save(f"{tmp_path}/halves.om")
    for net in (model, ge_core.load(f"{tmp_path}/halves.om")):
        assert net(ones(6, 2), ones(7, 2)).shape == (3, 2)
        with pytest.raises(SizeBoundError, match="they are 3 and 4"):
            net(ones(6, 2), ones(8, 2))


@pytest.mark.parametrize("target", TARGETS)
def test_sizes_that_data_decide_are_compared_when_they_are_known(target: str) -> None:
    def build(b: Builder, x: Value, y: Value) -> Value:
        kept = b.Compress(x, b.Greater(x, 0.0), axis=0)
        total: Value = b.ReduceSum(b.Mul(kept, y))
        return total

    model = ge_core.compile(graph_of(build, (A,), (B,)), target=target)
    (compared,) = [step for step in model.plan.all_steps() if step.kind == "compare"]  # type: ignore[union-attr]
    assert "Mul" not in model.report.summary().partition("host steps")[2]
    assert model(np.array([1, -1, 1], np.float32), ones(2)) == 2
    with pytest.raises(SizeBoundError, match=f"%{compared.name} needs a size that is 1 or equal"):
        model(np.array([1, -1, 1], np.float32), ones(7))
    assert model(np.array([1, -1, 1], np.float32), ones(2)) == 2


@pytest.mark.parametrize("target", TARGETS)
def test_a_size_that_data_decide_may_be_1(target: str) -> None:
    """What a reduction over axes of the call leaves is 1 or the whole size of each axis, and broadcasts."""

    def build(b: Builder, x: Value, axes: Value, weights: Value) -> list[Value]:
        most = b.ReduceMax(x, axes)
        centred = b.Sub(x, most)
        return [
            centred, b.Sub(most, x), b.Where(b.Greater(x, 0.0), most, x), b.Expand(most, b.Shape(x)),
            b.Add(b.MatMul(x, weights), most), b.Relu(b.Mul(b.Exp(centred), 2.0)),
        ]  # fmt: skip

    graph = Graph("g")
    b = Builder(graph)
    given = ("x", "float32", (A, 4)), ("axes", "int64", (symbol("k"),)), ("w", "float32", (4, 4))
    b.outputs(*build(b, *(b.input(*one) for one in given)))
    model = ge_core.compile(graph, target=target)
    random = np.random.default_rng(0)
    w = random.standard_normal((4, 4)).astype(np.float32)
    for rows in (1, 3, 17):
        x = random.standard_normal((rows, 4)).astype(np.float32)
        for axes in ([0], [1], [0, 1], [-1]):
            most = x.max(axis=tuple(axes), keepdims=True)
            want = [x - most, most - x, np.where(x > 0, most, x), np.broadcast_to(most, x.shape), x @ w + most,
                    np.exp(x - most) * 2]  # fmt: skip
            for got, expected in zip(model(x, np.array(axes), w), want, strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_a_size_that_may_not_be_larger_is_compared_in_each_call(target: str) -> None:
    graph = Graph("g")
    b = Builder(graph)
    x, places = b.input("x", "float32", (4, A)), b.input("places", "int64", (2, B))
    updates = b.input("updates", "float32", (2, C))
    b.outputs(b.GatherElements(x, places, axis=0), b.ScatterElements(x, places, updates, axis=0))
    model = ge_core.compile(graph, target=target)
    zeros = np.zeros((2, 3), np.int64)
    assert model(ones(4, 3), zeros, ones(2, 5))[0].shape == (2, 3)
    for width, length in ((2, 5), (3, 2)):
        with pytest.raises(SizeBoundError, match="needs two equal sizes"):
            model(ones(4, width), zeros, ones(2, length))


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_rewrite_would_forget(target: str) -> None:
    """The shape that an Expand is given leaves the graph; that it had to fit does not."""
    model = ge_core.compile(graph_of(lambda b, x, y: b.Expand(x, b.Shape(y)), (A,), (2, B)), target=target)
    assert model(ones(9), ones(2, 9)).shape == (2, 9)
    with pytest.raises(InputError, match="'x1' has size 4 in dim 1"):
        model(ones(9), ones(2, 4))
