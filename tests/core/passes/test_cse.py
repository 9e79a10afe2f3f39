"""Merging: what is equal by content, and what only looks so."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Graph, Location, symbol
from ge_core.ir.constant import Constant
from ge_core.passes.cse import CommonSubexpressions
from ge_core.passes.dce import DeadCode
from tests.core.passes.rewriting import check, expected, normal, ops, rewritten, run

N = symbol("n", 1, 8)


def test_equal_nodes_merge() -> None:
    text = """
    graph g imported {
      symbols n [1, 8]
      input %x: float32[n]
      input %y: float32[n]
      %a: float32[n] = Add(%x, %y)
      %b: float32[n] = Add(%y, %x)
      %c: float32[n] = Sub(%x, %y)
      %d: float32[n] = Sub(%y, %x)
      %e: float32[n] = Max(%a, %b, %c, %d)
      return %e
    }
    """
    assert rewritten(text, CommonSubexpressions()) == expected(
        """
        %a: float32[n] = Add(%x, %y)
        %c: float32[n] = Sub(%x, %y)
        %d: float32[n] = Sub(%y, %x)
        %e: float32[n] = Max(%a, %a, %c, %d)
        return %e
        """
    )


@pytest.mark.parametrize(
    "a, b, merged",
    [
        (np.float32(0.0), np.float32(0.0), True),
        (np.float32(0.0), np.float32(-0.0), False),
        (np.float32(1), np.float64(1), False),
        (np.int64(1), np.float64(1), False),
        (np.zeros(2, np.float32), np.zeros((2, 1), np.float32), False),
        (np.full(2, np.nan, np.float32), np.full(2, np.nan, np.float32), True),
        (np.arange(100, dtype=np.float32), np.arange(100, dtype=np.float32), True),
        (np.arange(100, dtype=np.float32), np.r_[np.arange(99), 7].astype(np.float32), False),
    ],
)
def test_constants_merge_by_bytes_type_and_shape(a: np.ndarray, b: np.ndarray, merged: bool) -> None:
    graph = Graph("g")
    builder = Builder(graph)
    first, second = (graph.add_constant(Constant.of(np.asarray(c)), "same") for c in (a, b))
    builder.outputs(first, second)
    run(graph, CommonSubexpressions())
    assert (len(graph.constants) == 1) == merged


def test_constants_that_differ_between_the_sampled_elements_stay_apart() -> None:
    a = np.zeros(10_000, np.float32)
    b = a.copy()
    b[4321] = 1
    graph = Graph("g")
    Builder(graph).outputs(*(graph.add_constant(Constant.of(c)) for c in (a, b)))
    run(graph, CommonSubexpressions())
    assert len(graph.constants) == 2


def test_defaults_and_written_attributes_are_the_same() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4))
        b.outputs(b.Add(b.Softmax(x), b.Softmax(x, axis=-1)), b.Softmax(x, axis=0))

    graph, _ = check(build, [normal(3, 4)], CommonSubexpressions())
    assert ops(graph) == ["Softmax", "Add", "Softmax"]


def test_random_numbers_and_checks_do_not_merge() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x, ok = b.input("x", "float32", (2,)), b.input("ok", "bool", ())
    for _ in range(2):
        b.ge.Check(ok, message="no")
    b.outputs(b.RandomUniformLike(x), b.RandomUniformLike(x))
    run(graph, CommonSubexpressions(), DeadCode())
    assert len(ops(graph)) == 4


def test_a_node_in_a_region_merges_with_one_outside_but_branches_do_not_share() -> None:
    def build(b: Builder) -> None:
        x, c = b.input("x", "float32", (N,)), b.input("c", "bool", ())
        y = b.Exp(x)
        z = b.If(
            c,
            then_branch=lambda r: [r.Add(r.Exp(x), r.Tanh(x))],
            else_branch=lambda r: [r.Mul(r.Exp(x), r.Tanh(x))],
        )
        b.outputs(y, z)

    graph, _ = check(build, [normal(3), np.array(False)], CommonSubexpressions())
    node = graph.nodes.last
    assert node is not None
    assert [n.op for n in node.regions["then_branch"].nodes] == ["Tanh", "Add"]
    assert [n.op for n in node.regions["else_branch"].nodes] == ["Tanh", "Mul"]


def test_equal_data_dependent_sizes_become_one() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N,))
        b.outputs(b.Concat([b.NonZero(x), b.NonZero(x)], axis=0))

    graph, _ = check(build, [np.array([1, 0, 2], np.float32)], CommonSubexpressions())
    assert ops(graph) == ["NonZero", "Concat"]
    first, second = graph.nodes
    assert first.output.shape[1] == second.output.shape[1]


def test_the_merged_node_belongs_to_the_module_around_both() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "float32", (2,))
    with b.at(Location("torch", "net.a", "f.py", 1, "exp")):
        y = b.Exp(x)
    with b.at(Location("torch", "net.b", "f.py", 2, "exp")):
        z = b.Exp(x)
    b.outputs(b.Add(y, z))
    run(graph, CommonSubexpressions())
    assert graph.nodes.first.loc == Location("torch", "net", "f.py", 1, "exp")  # type: ignore[union-attr]
