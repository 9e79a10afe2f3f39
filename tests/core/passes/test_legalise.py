"""Expansion of composites that a backend lacks."""

from __future__ import annotations

import numpy as np

from ge_core.ir import Builder, symbol
from ge_core.ops.registry import DECOMPOSITIONS
from ge_core.passes.legalise import ExpandComposites
from tests.core.passes.rewriting import check, normal, ops

N = symbol("n", 1, 8)


def test_a_composite_is_expanded_until_every_node_is_supported() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 8))
        b.outputs(b.Gelu(x), b.Softmax(x))

    lacking = {"Gelu", "Softmax"} & set(DECOMPOSITIONS.names())
    assert lacking, "no decomposition to test with"
    graph, ctx = check(build, [normal(2, 8)], ExpandComposites(lambda node: node.op not in lacking), tolerance=1e-6)
    assert not lacking & set(ops(graph))
    assert {r.rule for r in ctx.report.trail} == {f"expand-{op}" for op in lacking}


def test_what_is_supported_or_has_no_decomposition_stays() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 8))
        b.outputs(b.Gelu(b.Neg(x)))

    check(build, [normal(2, 8)], ExpandComposites(lambda node: node.op == "Gelu"), gives=["Neg", "Gelu"])


def test_regions_are_entered() -> None:
    def build(b: Builder) -> None:
        x, c = b.input("x", "float32", (N, 8)), b.input("c", "bool", ())
        b.outputs(b.If(c, then_branch=lambda r: [r.Gelu(x)], else_branch=lambda r: [r.Neg(x)]))

    graph, _ = check(build, [normal(2, 8), np.array(True)], ExpandComposites(lambda n: n.op != "Gelu"), tolerance=1e-6)
    branch = graph.nodes.last.regions["then_branch"]  # type: ignore[union-attr]
    assert "Gelu" not in [n.op for n in branch.nodes]


def test_what_needs_a_size_that_only_the_node_finds_out_stays() -> None:
    """An AffineGrid of a size that is an input: its expansion would count up to sizes that nothing knows yet."""

    def build(b: Builder) -> None:
        theta, size = b.input("theta", "float32", (1, 2, 3)), b.input("size", "int64", (4,))
        b.outputs(b.Relu(b.AffineGrid(theta, size)))

    graph, _ = check(
        build, [normal(1, 2, 3), np.array([1, 1, 4, 5])], ExpandComposites(lambda node: node.op != "AffineGrid"),
        gives=["AffineGrid", "Relu"],
    )  # fmt: skip
    assert not graph.constants
