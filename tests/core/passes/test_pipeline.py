"""The default pipeline: switches that are real, reports, errors, precision, scale."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ge_core.errors import OptionError
from ge_core.ir import Builder, Graph, Location, Value, symbol
from ge_core.ir.verifier import verify
from ge_core.passes import PassContext, optimise
from ge_core.passes.precision import StoreWeightsInBytes, StoreWeightsInHalf
from ge_core.reference.interpret import interpret
from tests.core.passes.compare import assert_close
from tests.core.passes.rewriting import check, normal, ops

N = symbol("n", 1, 64)


def model() -> Graph:
    """A graph with something to do for every switch."""
    graph = Graph("model")
    b = Builder(graph)
    x = b.input("x", "float32", (N, 6, 6, 3))
    y = b.Conv(b.Transpose(x, perm=[0, 3, 1, 2]), normal(4, 3, 1, 1))
    y = b.BatchNormalization(y, *(np.abs(normal(4, seed=k)) + 0.1 for k in range(4)))
    y = b.Relu(b.Transpose(y, perm=[0, 2, 3, 1]))
    y = b.Transpose(y, perm=[0, 3, 1, 2])
    y = b.Mul(y, b.Sigmoid(y))
    y = b.Mul(y, b.Exp(b.constant(np.float32(0.5))))
    z = b.Add(b.Tanh(y), b.Tanh(y))
    b.Neg(z)
    b.outputs(z)
    return graph


def optimised(*switches: str) -> list[str]:
    graph, original = model(), model()
    optimise(graph, switches, PassContext(debug=True))
    arrays = [normal(2, 6, 6, 3)]
    assert_close(interpret(graph, arrays)[0], interpret(original, arrays)[0], 1e-5)
    return ops(graph)


def test_each_switch_does_its_own_work_alone() -> None:
    nothing = optimised()
    assert nothing == ops(model()), "without switches only the canonical form is made"
    fold, dce, fusion, layout = (optimised(s) for s in ("fold", "dce", "fusion", "layout"))
    assert "Exp" not in fold and "Exp" in dce
    assert dce.count("Tanh") == 1 and "Neg" not in dce and fold.count("Tanh") == 2
    assert "BatchNormalization" not in fusion and "Swish" in fusion and "Swish" not in dce
    assert layout.count("Transpose") == 1 and dce.count("Transpose") == 3
    for other in ("memory", "reorder", "select"):
        assert optimised(other) == nothing


def test_all_switches_together() -> None:
    assert optimised("fusion", "fold", "dce", "layout") == ["Transpose", "Conv", "Relu", "Swish", "Mul", "Tanh", "Add"]


def test_an_unknown_switch_is_an_option_error() -> None:
    with pytest.raises(OptionError, match="unknown optimisation fus"):
        optimise(model(), {"fus"})
    with pytest.raises(OptionError, match="unknown optimisation fus"):
        optimise(model(), {"fus"}, PassContext())


def test_the_report_names_rules_places_and_times() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "float32", (N, 4))
    with b.at(Location("torch", "net.act", "net.py", 12, "mul")):
        b.outputs(b.Mul(x, b.Sigmoid(x)))
    ctx = optimise(graph)
    assert ctx.report.counts()[("recognise-activations", "swish")] == 1
    assert "swish at Mul %mul (mul in net.act at net.py:12)" in "\n".join(map(str, ctx.report.trail))
    assert "recognise-activations" in ctx.report.seconds()
    assert graph.nodes.last.loc == Location("torch", "net.act", "net.py", 12, "mul")  # type: ignore[union-attr]


def test_a_rank_may_stay_unknown() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("n"), 3))
    y = b.Transpose(b.Transpose(b.Squeeze(x)))
    b.outputs(b.Concat([b.Expand(y, b.Shape(y)), b.Mul(y, 1.0)], axis=0))
    optimise(graph)
    verify(graph)
    assert graph.outputs[0].tensor.shape is None


def test_speed_stores_large_weights_in_half_and_keeps_what_half_cannot_hold() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 256))
        large, huge, small = normal(256, 128), normal(256, 128) * 1e6, normal(256, 2)
        b.outputs(b.MatMul(x, large), b.MatMul(x, huge), b.MatMul(x, small))

    graph, _ = check(build, [normal(2, 256)], StoreWeightsInHalf(), tolerance=1e-3)
    assert ops(graph) == ["Cast", "MatMul", "MatMul", "MatMul"]
    again = Graph("again")
    build(Builder(again))
    optimise(again, ctx=PassContext(precision="speed", debug=True))
    assert ops(again).count("Cast") == 1, "folding must not widen the weights again"
    assert sorted(v.dtype.name for v in again.constants if v.rank == 2) == ["float16", "float32", "float32"]


def test_speed_stores_weights_of_few_rows_in_bytes_and_keeps_what_bytes_cannot_hold() -> None:
    def build(b: Builder) -> None:
        x, many, c = (b.input(n, "float32", s) for n, s in (("x", (2, 600)), ("y", (5, 600)), ("c", (450,))))
        even, wild = normal(600, 450), normal(600, 450) ** 9
        few = b.MatMul(x, even), b.Gemm(x, even.T, c, transB=1, alpha=0.5, beta=2.0), b.MatMul(x, wild)
        b.outputs(*few, b.MatMul(many, even))

    inputs = [normal(2, 600), normal(5, 600), normal(450)]
    graph, _ = check(build, inputs, StoreWeightsInBytes(), tolerance=0.03)
    found = [node.op for node in graph.nodes]
    assert found.count("Cast") == 2 and found.count("MatMul") == 3 and found.count("Gemm") == 1
    assert [v.dtype.name for v in graph.constants if v.dtype.bits == 8] == ["int8", "int8"]
    again = Graph("again")
    build(Builder(again))
    optimise(again, ctx=PassContext(precision="speed", debug=True))
    assert "int8" in {v.dtype.name for v in again.constants}, "folding must not widen the weights again"


def chain(count: int) -> Graph:
    """A chain with branches in which there is something to do everywhere."""
    graph = Graph("chain")
    b = Builder(graph)
    v: Value = b.input("x", "float32", (N, 8, 16))
    w = b.constant(normal(16, 16))
    made = 0
    while made < count:
        e = b.Mul(b.Add(b.Relu(v), b.Sigmoid(v)), 1.0)
        head = b.Unsqueeze(b.Gather(b.Shape(e), np.int64(0)), np.array([0]))
        r = b.Reshape(b.Reshape(e, b.Concat([head, np.array([-1])], axis=0)), np.array([0, 8, 16]))
        t = b.Transpose(b.Transpose(r, perm=[0, 2, 1]), perm=[0, 2, 1])
        v = b.Add(b.Add(b.MatMul(t, w), normal(16, seed=made)), b.Tanh(b.Tanh(r)))
        halves = [b.Slice(v, np.array([i]), np.array([j]), np.array([1])) for i, j in ((0, 4), (4, 2**63 - 1))]
        v = b.Concat(halves, axis=1)
        made += 20
    b.outputs(v)
    return graph


def seconds(count: int) -> float:
    graph = chain(count)
    start = time.process_time()
    optimise(graph, ctx=PassContext(debug=False))
    return time.process_time() - start


def test_time_is_linear_in_the_number_of_nodes() -> None:
    """One good measurement of three is enough: other processes on the machine spoil single ones."""
    seconds(500)
    told = []
    for _ in range(3):
        small, large = (min(seconds(n) for _ in range(2)) for n in (2000, 4000))
        if large < 2.3 * small + 0.1:
            return
        told.append(f"{small:.2f} s for 2,000 nodes, {large:.2f} s for 4,000")
    raise AssertionError("; ".join(told))
