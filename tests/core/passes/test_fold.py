"""Folding of constants: what is computed, and what is left for the run."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.errors import DivisionByZeroError
from ge_core.ir import Builder, Graph, symbol
from ge_core.passes import PassContext, optimise
from ge_core.passes.base import Limits
from ge_core.passes.dce import DeadCode
from ge_core.passes.fold import ConstantFolding
from ge_core.reference.interpret import interpret
from tests.core.passes.rewriting import check, normal, ops, run

N = symbol("n", 1, 8)


def test_chains_of_constants_fold_in_one_run() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N,))
        c = b.Exp(b.Add(b.Neg(b.constant(np.float32(2))), np.float32(1)))
        b.outputs(b.Mul(x, c))

    check(build, [normal(3)], ConstantFolding(), gives=["Mul"])


def test_constants_fold_inside_regions() -> None:
    def build(b: Builder) -> None:
        x, c = b.input("x", "float32", (N,)), b.input("c", "bool", ())
        k = b.constant(np.float32(2))
        b.outputs(b.If(c, then_branch=lambda r: [r.Mul(x, r.Exp(k))], else_branch=lambda r: [r.Neg(x)]))

    graph, _ = check(build, [normal(3), np.array(True)], ConstantFolding())
    assert [n.op for n in graph.nodes.first.regions["then_branch"].nodes] == ["Mul"]  # type: ignore[union-attr]


@pytest.mark.parametrize("op", ["Tile", "Expand", "ConstantOfShape"])
def test_nothing_is_folded_into_something_large(op: str) -> None:
    def build(b: Builder) -> None:
        one = b.constant(np.ones((1, 1), np.float32))
        if op == "Tile":
            y = b.Tile(one, np.array([1000, 1000]))
        elif op == "Expand":
            y = b.Expand(one, np.array([1000, 1000]))
        else:
            y = b.ConstantOfShape(np.array([1000, 1000]))
        b.outputs(b.ReduceSum(y))

    graph, _ = check(build, [], ConstantFolding(), DeadCode())
    assert ops(graph) == [op, "ReduceSum"]
    optimise(graph, ctx=PassContext(debug=True))
    assert sum(v.constant.nbytes for v in graph.constants if v.constant is not None) < 100


def test_small_results_and_results_no_larger_than_their_inputs_are_folded() -> None:
    def build(b: Builder) -> None:
        wide = b.constant(np.ones((100, 100), np.float32))
        b.outputs(b.Neg(wide), b.Tile(b.constant(np.ones(2, np.float32)), np.array([3])))

    check(build, [], ConstantFolding(), gives=[])


def test_weights_stored_in_half_are_not_widened() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 100))
        w = b.Cast(b.constant(np.ones((100, 100), np.float16)), to="float32")
        b.outputs(b.MatMul(x, w))

    check(build, [normal(2, 100)], ConstantFolding(), gives=["Cast", "MatMul"])


def test_a_node_that_fails_stays_and_fails_when_it_is_run() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "int64", ())
    b.outputs(b.Add(x, b.Div(b.constant(np.int64(1)), np.int64(0))))
    run(graph, ConstantFolding())
    assert ops(graph) == ["Div", "Add"]
    with pytest.raises(DivisionByZeroError):
        interpret(graph, [np.int64(1)])


def test_random_numbers_are_not_folded() -> None:
    graph = Graph("g")
    b = Builder(graph)
    b.outputs(b.RandomUniformLike(b.constant(np.zeros(3, np.float32))))
    run(graph, ConstantFolding())
    assert ops(graph) == ["RandomUniformLike"]


def test_a_data_dependent_size_of_constants_becomes_a_number_everywhere() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N,))
        places = b.NonZero(b.constant(np.array([0, 1, 1, 0], np.float32)))
        b.outputs(b.Gather(x, b.Reshape(places, np.array([-1]))))

    graph, _ = check(build, [normal(4)], ConstantFolding())
    assert graph.outputs[0].shape == (2,)


def test_the_growth_limit_is_an_option() -> None:
    graph = Graph("g")
    b = Builder(graph)
    b.outputs(b.Expand(b.constant(np.ones((1, 1), np.float32)), np.array([100, 100])))
    ConstantFolding()(graph, PassContext(limits=Limits(fold_growth=1 << 20)))
    assert ops(graph) == []


def test_quantised_weights_stay_bytes() -> None:
    def build(b: Builder) -> None:
        w = b.DequantizeLinear(b.constant(np.ones((3, 2), np.int8)), np.float32(0.5), b.constant(np.int8(0)))
        added = b.DequantizeLinear(b.constant(np.ones(2, np.int8)), np.float32(0.5), b.constant(np.int8(0)))
        b.outputs(b.Add(b.MatMul(b.input("x", "float32", (N, 3)), w), added))

    check(build, [normal(2, 3)], ConstantFolding(), gives=["DequantizeLinear", "MatMul", "Add"])
