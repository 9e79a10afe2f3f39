"""Running a pass on a graph's text, and checking that the values stay."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import numpy as np

from ge_core.ir import Builder, Graph
from ge_core.ir.parser import parse_graph
from ge_core.ir.printer import print_graph
from ge_core.ir.verifier import verify
from ge_core.passes import PassContext, PassManager
from ge_core.passes.base import Pass
from ge_core.reference.interpret import interpret
from tests.core.passes.compare import assert_close, assert_same_bits


def run(graph: Graph, *passes: Pass, ctx: PassContext | None = None) -> PassContext:
    """Run passes in debug on a valid graph; the result is verified."""
    ctx = ctx or PassContext(debug=True, explain=True)
    verify(graph)
    PassManager(passes, "test")(graph, ctx)
    verify(graph)
    return ctx


def rewritten(text: str, *passes: Pass) -> str:
    """The text of a graph after passes: its lines without constants, symbols and indentation."""
    graph = parse_graph(textwrap.dedent(text))
    run(graph, *passes)
    return lines(graph)


def lines(graph: Graph) -> str:
    kept = [line.strip() for line in print_graph(graph).splitlines()]
    return "\n".join(line for line in kept if not line.startswith(("graph ", "symbols ", "const ", "input ", "}")))


def expected(text: str) -> str:
    return textwrap.dedent(text).strip()


def ops(graph: Graph) -> list[str]:
    """The operators of a graph in order, without the sizes."""
    return [node.op for node in graph.nodes if node.op != "ge.Dims"]


def check(
    build: Callable[[Builder], None],
    arrays: Sequence[np.ndarray],
    *passes: Pass,
    gives: Sequence[str] | None = None,
    tolerance: float = 0.0,
) -> tuple[Graph, PassContext]:
    """Build a graph, run passes, compare the results with the original's and the operators with `gives`."""
    original, graph = Graph("test"), Graph("test")
    build(Builder(original))
    build(Builder(graph))
    ctx = run(graph, *passes)
    want, got = interpret(original, arrays)[0], interpret(graph, arrays)[0]
    if tolerance:
        assert_close(got, want, tolerance)
    else:
        assert_same_bits(got, want)
    if gives is not None:
        assert ops(graph) == list(gives)
    return graph, ctx


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)
