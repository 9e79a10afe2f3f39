"""Dead code: nodes, results of If, Loop and Scan, captures, states, constants; effects and sizes keep nodes alive."""

from __future__ import annotations

import numpy as np

from ge_core.ir import Builder, Graph, symbol
from ge_core.passes.dce import DeadCode
from tests.core.passes.rewriting import check, expected, normal, ops, rewritten, run

N = symbol("n", 1, 8)


def test_nodes_and_constants_without_readers_go() -> None:
    text = """
    graph g imported {
      symbols n [1, 8]
      input %x: float32[n]
      const %c: float32[] = [2.0]
      const %unused: float32[] = [3.0]
      %a: float32[n] = Neg(%x)
      %b: float32[n] = Add(%a, %c)
      %y: float32[n] = Relu(%x)
      return %y
    }
    """
    assert rewritten(text, DeadCode()) == expected("%y: float32[n] = Relu(%x)\nreturn %y")


def test_checks_stay() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x, ok = b.input("x", "float32", (N,)), b.input("ok", "bool", ())
    b.ge.Check(b.Not(ok), message="no")
    b.outputs(b.Neg(x))
    run(graph, DeadCode())
    assert ops(graph) == ["Not", "ge.Check", "Neg"]


def test_a_node_that_binds_a_size_stays_while_the_size_is_used() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "float32", (N,))
    places = b.NonZero(x)
    count = places.shape[1]
    b.outputs(b.Expand(x, b.ints(count, N)))
    dead = b.NonZero(b.Neg(x))
    assert dead.shape[1] != count
    run(graph, DeadCode())
    assert ops(graph) == ["NonZero", "Expand"]


def test_unused_results_of_if_go_from_both_branches() -> None:
    def build(b: Builder) -> None:
        x, c = b.input("x", "float32", (N,)), b.input("c", "bool", ())
        first, _, third = b.If(
            c,
            then_branch=lambda r: [r.Neg(x), r.Exp(x), r.Abs(x)],
            else_branch=lambda r: [r.Relu(x), r.Tanh(x), r.Abs(r.Neg(x))],
        )
        b.outputs(first, third)

    graph, _ = check(build, [normal(3), np.array(True)], DeadCode())
    node = graph.nodes.first
    assert node is not None and len(node.outputs) == 2
    assert [n.op for n in node.regions["then_branch"].nodes] == ["Neg", "Abs"]


def test_carried_values_and_scans_that_nothing_reads_leave_a_loop() -> None:
    def build(b: Builder) -> None:
        x, dead = b.input("x", "float32", (N,)), b.input("dead", "float32", (N,))
        out = b.Loop(
            np.int64(3), np.array(True), [x, b.Exp(dead), x],
            body=lambda r, i, go, kept, unread, feeds: [
                r.Identity(go), r.Add(kept, feeds), r.Tanh(unread), r.Neg(feeds), r.Exp(kept)
            ],
        )  # fmt: skip
        b.outputs(out[0])

    graph, _ = check(build, [normal(3), normal(3)], DeadCode())
    loop = graph.nodes.first
    assert loop is not None and ops(graph) == ["Loop"]
    # the third carried value feeds the first; the second and the scan are gone
    assert len(loop.inputs) == 4 and len(loop.outputs) == 2
    assert [n.op for n in loop.regions["body"].nodes] == ["Identity", "Add", "Neg"]


def test_states_and_stacked_results_that_nothing_reads_leave_a_scan() -> None:
    def build(b: Builder) -> None:
        x, dead = b.input("x", "float32", (N,)), b.input("dead", "float32", (N,))
        rows = b.input("rows", "float32", (N, 3))
        out = b.Scan(
            [x, b.Exp(dead), x, rows], num_scan_inputs=1, scan_input_axes=[1],
            scan_output_axes=[0, 1, 0], scan_output_directions=[1, 0, 1],
            body=lambda r, kept, unread, feeds, row: [
                r.Add(kept, feeds), r.Tanh(unread), r.Add(feeds, row), r.Exp(kept), r.Neg(row), r.Abs(row)
            ],
        )  # fmt: skip
        b.outputs(out[0], out[4])

    graph, _ = check(build, [normal(4), normal(4), normal(4, 3)], DeadCode())
    scan = graph.nodes.first
    assert scan is not None and ops(graph) == ["Scan"]
    assert len(scan.inputs) == 3 and len(scan.outputs) == 3
    assert scan.attrs["scan_output_axes"] == (1,) and scan.attrs["scan_output_directions"] == (0,)
    assert [n.op for n in scan.regions["body"].nodes] == ["Add", "Add", "Neg"]


def test_captures_without_readers_go() -> None:
    def build(b: Builder) -> None:
        x, c = b.input("x", "float32", (N,)), b.input("c", "bool", ())
        y = b.Exp(x)

        def then(r: Builder) -> list:
            r.Neg(y)
            return [r.Abs(x)]

        b.outputs(b.If(c, then_branch=then, else_branch=lambda r: [r.Relu(x)]))

    graph, _ = check(build, [normal(3), np.array(True)], DeadCode())
    assert ops(graph) == ["If"]


def test_optional_outputs_at_the_end_go() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (1, 2, 4, 4))
        y, _ = b.MaxPool(x, kernel_shape=[2, 2], num_outputs=2)
        b.outputs(y)

    graph, _ = check(build, [normal(1, 2, 4, 4)], DeadCode())
    assert len(graph.nodes.first.outputs) == 1  # type: ignore[union-attr]


def test_a_state_that_is_neither_read_nor_written_goes() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "float32", (2,))
    b.state("unused", np.zeros(2, np.float32))
    read = b.state("read", np.zeros(2, np.float32))
    written = b.state("written", np.zeros(2, np.float32))
    graph.set_state_write(written, b.Neg(x))
    b.outputs(b.Add(x, read.read))
    run(graph, DeadCode())
    assert [s.name for s in graph.states] == ["read", "written"]
    assert ops(graph) == ["Neg", "Add"]
