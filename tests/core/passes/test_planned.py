"""Grouping, selection and conversions, with backends made for the purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from ge_core.backend import Artifact, Group, Implementation, Problem, Refusal, Storage, TargetInfo, operands
from ge_core.errors import BackendError, ExecutionError
from ge_core.ir import Builder, DType, Graph, Layout, Node, Value, symbol
from ge_core.ir.clone import clone_graph
from ge_core.ir.printer import print_graph
from ge_core.ir.verifier import verify
from ge_core.passes.base import ALL_SWITCHES, SWITCHES, PassContext
from ge_core.passes.planned.group import GroupNodes, ungroup
from ge_core.passes.planned.relayout import insert_conversions
from ge_core.passes.planned.select import Selector
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.plan import KernelStep
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.core.passes.compare import assert_close
from tests.core.passes.generated import Model, models

few = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    derandomize=True,
    database=None,
)


class Made:
    """A planned backend whose judgement and offers are given; what it cannot run is a host step."""

    kind: ClassVar[Any] = "planned"

    def __init__(self, joins: Any = False, offers: Any = lambda node: ()) -> None:
        self.joins, self.offers = joins, offers

    def targets(self) -> Sequence[TargetInfo]:
        return [TargetInfo(name="made", figures={"bytes_per_second": 1e9})]

    def check(self, graph: Graph, target: str, options: Any) -> list[Problem]:
        return []

    def passes(self, target: str, options: Any) -> Sequence[Any]:
        return ()

    def may_join(self, group: Group, node: Node) -> bool | Refusal:
        return self.joins(group, node) if callable(self.joins) else self.joins

    def implementations(self, node: Node, target: str, options: Any) -> Sequence[Implementation]:
        return self.offers(node)

    def build(self, entries: Any, target: str, options: Any) -> Artifact:
        raise BackendError("not needed")

    def load(self, artifact: Artifact, options: Any) -> Any:
        raise BackendError("not needed")


def new() -> tuple[Graph, Builder]:
    graph = Graph()
    return graph, Builder(graph)


def grouped(graph: Graph, joins: Any = True) -> tuple[Graph, list[str]]:
    graph.stage = "selected"
    why: list[Any] = []
    GroupNodes(Made(joins), why)(graph, PassContext(debug=True))
    verify(graph)
    return graph, [w.code for w in why]


def ops(graph: Graph) -> list[list[str]]:
    return [
        [inner.op for inner in node.regions["body"].nodes] if node.op == "ge.Fused" else [node.op]
        for node in graph.nodes
    ]


# Grouping


def test_chain_becomes_one_group_with_captured_constants() -> None:
    g, b = new()
    x = b.input("x", "float32", (symbol("n", 1), 4))
    y = b.Relu(b.Add(b.Mul(x, 2.0), np.ones(4, np.float32)))
    b.outputs(b.Exp(y), y)
    grouped(g)
    assert ops(g) == [["Mul", "Add", "Relu", "Exp"]]
    (node,) = g.nodes
    assert len(node.inputs) == 1 and len(node.regions["body"].captures) == 2 and len(node.outputs) == 2
    assert [v for v in operands(node) if v is not None and v.constant is not None]


def test_group_never_feeds_itself() -> None:
    """Relu -> MatMul -> Add and Relu -> Add: Add must not join Relu's group around the MatMul."""
    g, b = new()
    x = b.input("x", "float32", (4, 4))
    r = b.Relu(x)
    b.outputs(b.Add(r, b.MatMul(r, r)))
    _, why = grouped(g, lambda group, node: node.op != "MatMul" and all(n.op != "MatMul" for n in group.nodes))
    assert ops(g) == [["Relu"], ["MatMul"], ["Add"]] and "cycle" in why


class Merging(Made):
    """Joins and merges everything but MatMul."""

    def __init__(self) -> None:
        super().__init__(lambda group, node: all(n.op != "MatMul" for n in (*group.nodes, node)))

    def may_merge(self, parts: tuple[Group, Group], together: Group) -> bool | Refusal:
        assert sorted(map(id, (*parts[0].nodes, *parts[1].nodes))) == sorted(map(id, together.nodes))
        return all(n.op != "MatMul" for n in together.nodes)


def merged(graph: Graph) -> list[list[str]]:
    graph.stage = "selected"
    GroupNodes(Merging(), [])(graph, PassContext(debug=True))
    verify(graph)
    return ops(graph)


def test_groups_that_one_node_reads_become_one() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (4,)), b.input("y", "float32", (4,))
    b.outputs(b.Where(b.Less(x, y), b.Exp(b.Relu(x)), b.Neg(y)))
    given = [np.arange(4, dtype=np.float32), np.ones(4, np.float32)]
    want = interpret(g, given)[0]
    assert merged(g) == [["Less", "Relu", "Exp", "Neg", "Where"]]
    assert_close(interpret(g, given)[0], want, 1e-6)


def test_groups_that_need_each_other_stay_apart() -> None:
    """The first group feeds the second through a MatMul: as one they would wait for themselves."""
    g, b = new()
    x = b.input("x", "float32", (4, 4))
    r = b.Relu(x)
    b.outputs(b.Add(b.Exp(b.MatMul(r, r)), b.Neg(r)))
    assert merged(g) == [["Relu", "Neg"], ["MatMul"], ["Exp", "Add"]]


def test_groups_merge_over_what_stands_between_them() -> None:
    g, b = new()
    x = b.input("x", "float32", (4, 4))
    m = b.MatMul(x, x)
    e = b.Exp(m)
    b.outputs(b.Add(e, b.Neg(x)), b.MatMul(e, x))
    assert merged(g) == [["MatMul"], ["Exp", "Neg", "Add"], ["MatMul"]]


def test_nodes_between_the_members_move_out_of_the_way() -> None:
    g, b = new()
    x = b.input("x", "float32", (4, 4))
    r = b.Relu(x)
    m = b.MatMul(r, r)
    e = b.Exp(r)
    b.outputs(m, e)
    want = interpret(g, [np.eye(4, dtype=np.float32)])[0]
    grouped(g, lambda group, node: node.op != "MatMul")
    assert ops(g) == [["Relu", "Exp"], ["MatMul"]]
    assert_close(interpret(g, [np.eye(4, dtype=np.float32)])[0], want, 1e-6)


def test_refusals_are_kept_with_their_reason() -> None:
    g, b = new()
    x = b.input("x", "float32", (4,))
    b.outputs(b.Exp(b.Relu(x)))
    graph, why = grouped(g, lambda group, node: Refusal("too-hot", "the kernel melts"))
    assert why == ["too-hot"] and ops(graph) == [["Relu"], ["Exp"]]


def test_sizes_are_defined_before_they_are_used() -> None:
    """ge.Dims reads nothing of the node that defines its size, and must stay after it."""
    g, b = new()
    x = b.input("x", "float32", (12,))
    y = b.Relu(x)
    found = b.NonZero(b.Greater(x, 0.0))
    z = b.Add(b.Exp(y), 1.0)
    b.outputs(b.Expand(b.Neg(b.ReduceMax(z)), b.ints(found.shape[1])))
    values = np.linspace(-1, 1, 12, dtype=np.float32)
    want = interpret(g, [values])[0]
    plan, _ = build_plan(clone_graph(g), PlanRequest(Made(lambda group, node: node.op != "NonZero"), "made"))
    verify(plan.graph)
    assert_close(PlanExecutor(plan).run([values], StateStore()), want, 1e-6)


def test_a_size_that_data_decide_is_bound_outside_groups() -> None:
    """Kernels take sizes as arguments, so that one that appeared inside a group would be unknown before it runs."""
    g, b = new()
    x, count = b.input("x", "float32", (1,)), b.input("count", "int64", ())
    wide = b.Expand(b.Neg(x), b.Reshape(count, b.ints(1)))
    b.outputs(b.ReduceSum(b.Exp(wide), keepdims=0))
    made = Made(True, lambda node: [Implementation(name=node.op)])
    plan, report = build_plan(clone_graph(g), PlanRequest(made, "made"))
    groups = [n for n in plan.graph.nodes if n.op == "ge.Fused"]
    assert [[n.op for n in group.regions["body"].nodes] for group in groups] == [["Exp", "ReduceSum"]]
    assert "bind" in [step.kind for step in plan.steps]
    assert {w.code for w in report.why_not} == {"defines-size"}
    values = [np.ones(1, np.float32), np.array(5)]
    assert_close(PlanExecutor(plan).run(values, StateStore()), interpret(g, values)[0], 1e-6)


def test_a_size_that_is_a_result_may_end_a_group() -> None:
    """It is bound when the group has run; what is as large stays outside."""
    g, b = new()
    x, mask = b.input("x", "float32", (6,)), b.input("mask", "bool", (6,))
    count = b.ReduceSum(b.Cast(mask, to="int64"), keepdims=0)
    b.outputs(b.Neg(b.Expand(b.ReduceSum(x), b.Reshape(count, b.ints(1)))))
    made = Made(lambda group, node: node.op != "Reshape", lambda node: [Implementation(name=node.op)])
    plan, _ = build_plan(clone_graph(g), PlanRequest(made, "made"))
    groups = [[n.op for n in node.regions["body"].nodes] for node in plan.graph.nodes if node.op == "ge.Fused"]
    assert groups == [["Cast", "ReduceSum"]]
    values = [np.ones(6, np.float32), np.array([1, 0, 1, 1, 0, 0], bool)]
    assert_close(PlanExecutor(plan).run(values, StateStore()), interpret(g, values)[0], 1e-6)


@few
@given(model=models(edges=False))
def test_grouping_everything_keeps_values_and_expands_back(model: Model) -> None:
    graph = model.build()
    try:
        want = model.results(graph)
    except ExecutionError:
        assume(False)
    grouped(graph)
    for got, expected in zip(model.results(graph), want, strict=True):
        assert_close(got, expected, 1e-5)
    ungroup(graph)
    verify(graph)
    assert "ge.Fused" not in print_graph(graph)
    for got, expected in zip(model.results(graph), want, strict=True):
        assert_close(got, expected, 1e-5)


# Selection and conversions

TURNED = Storage(Layout((0, 2, 1)))
BLOCKED = Storage(Layout((0, 1, 2), blocks=((2, 4),)))


def conv_like(node: Node) -> Sequence[Implementation]:
    """MatMul and Relu have a kernel for turned operands; Exp has a row-major one alone."""
    if node.op in ("MatMul", "Relu"):
        turned = tuple(TURNED for v in node.inputs)
        return [
            Implementation(name=f"{node.op}.plain", cost=2.0),
            Implementation(name=f"{node.op}.turned", inputs=turned, outputs=(TURNED,), cost=1.0),
        ]
    return [Implementation(name=node.op, cost=1.0)] if node.op == "Exp" else ()


def test_cheapest_implementations_and_conversions_between_them() -> None:
    g, b = new()
    x = b.input("x", "float32", (2, 4, 4))
    w = b.constant(np.arange(32, dtype=np.float32).reshape(2, 4, 4) / 32)
    y = b.Relu(b.MatMul(b.Relu(x), w))
    b.outputs(b.Exp(y), b.Softmax(y))
    plan, report = build_plan(clone_graph(g), PlanRequest(Made(False, conv_like), "made"))
    verify(plan.graph)
    chosen = {node.op: i.name for node, i in report.selection.chosen.items()}
    assert chosen == {"Relu": "Relu.turned", "MatMul": "MatMul.turned", "Exp": "Exp"}
    relayouts = [n for n in plan.graph.nodes if n.op == "ge.Relayout"]
    assert len(relayouts) == 2  # the graph's input once, y once for Exp and Softmax
    assert any(v.layout == TURNED.layout for v in plan.graph.constants)  # the weight is stored turned
    values = [np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32)]
    assert_close(PlanExecutor(plan, poison=True).run(values, StateStore()), interpret(g, values)[0], 1e-6)


def test_conversions_decide_when_they_cost_more_than_the_kernel_saves() -> None:
    g, b = new()
    x = b.input("x", "float32", (1, 4, 4))
    b.outputs(b.Exp(b.Relu(x)))

    def offers(node: Node) -> Sequence[Implementation]:
        plain = Implementation(name=f"{node.op}.plain", cost=1.00001e-5)
        turned = Implementation(name=f"{node.op}.turned", inputs=(TURNED,), outputs=(TURNED,), cost=1e-5)
        return [plain, turned] if node.op == "Relu" else [plain]

    selection = Selector(Made(False, offers), "made", {}, bytes_per_second=1e9).run(g)
    assert [i.name for i in selection.chosen.values()] == ["Relu.plain", "Exp.plain"]
    assert next(iter(selection.rejected.values()))[0] == 1
    first = Selector(Made(False, lambda n: offers(n)[::-1]), "made", {}, costs=False).run(clone_graph(g))
    assert next(iter(first.chosen.values())).name == "Relu.turned"


class Timed(Made):
    """It can measure: the later an implementation is offered, the faster it is."""

    def measured(
        self, node: Node, offered: Sequence[Implementation], target: str, options: Any
    ) -> Sequence[Implementation]:
        return [replace(each, cost=1.0 / (i + 1)) for i, each in enumerate(offered)]


@pytest.mark.parametrize(("switches", "name"), [(SWITCHES, "a"), (ALL_SWITCHES, "c"), ({"measure"}, "a")])
def test_measured_costs_decide_where_they_are_asked_for(switches: Any, name: str) -> None:
    g, b = new()
    b.outputs(b.Exp(b.input("x", "float32", (4,))))
    classes: list[Any] = ["exact", "accurate", "balanced", "fast"]  # the last one is faster yet, but not allowed
    offered = [
        Implementation(name=n, cost=i, precision=p) for i, (n, p) in enumerate(zip("abcd", classes, strict=True))
    ]
    backend = Timed(False, lambda node: offered)
    plan, _ = build_plan(g, PlanRequest(backend, "made", switches=switches))
    assert [s.implementation for s in plan.steps if isinstance(s, KernelStep)] == [name]


@pytest.mark.parametrize(("precision", "name"), [("accuracy", "exact"), ("balanced", "good"), ("speed", "rough")])
def test_precision_limits_the_choice(precision: Any, name: str) -> None:
    g, b = new()
    b.outputs(b.Exp(b.input("x", "float32", (4,))))
    offered = [
        Implementation(name="rough", cost=1, precision="fast"),
        Implementation(name="good", cost=2, precision="balanced"),
        Implementation(name="exact", cost=3),
    ]
    selection = Selector(Made(False, lambda node: offered), "made", {}, precision).run(g)
    assert [i.name for i in selection.chosen.values()] == [name]
    selection = Selector(Made(False, lambda node: offered[:1]), "made", {}, "accuracy").run(g)
    assert not selection.chosen and "keeps precision 'accuracy'" in next(iter(selection.reasons.values()))


def test_storage_in_another_element_type() -> None:
    g, b = new()
    x = b.input("x", "float32", (1, 2, 6))
    b.outputs(b.Neg(b.Abs(x)))

    def offers(node: Node) -> Sequence[Implementation]:
        return [Implementation(name=node.op, inputs=(BLOCKED,), outputs=(BLOCKED,))] if node.op == "Abs" else ()

    plan, report = build_plan(clone_graph(g), PlanRequest(Made(False, offers), "made"))
    assert [c.wanted for c in report.conversions] == ["<0.1.2/2:4>", "row-major"]
    assert [s.kind for s in plan.steps] == ["host", "kernel", "host", "host"]
    values = [np.random.default_rng(0).standard_normal((1, 2, 6)).astype(np.float32)]
    assert_close(PlanExecutor(plan, poison=True).run(values, StateStore()), interpret(g, values)[0], 0)


def test_operand_cast_for_a_kernel() -> None:
    g, b = new()
    x = b.input("x", "float16", (3,))
    y = b.Exp(x)
    b.outputs(b.Neg(y), b.Abs(y))
    wide = Storage(dtype=DType.of("float32"))
    g.stage = "selected"
    selection = Selector(
        Made(False, lambda node: [Implementation(name=node.op, inputs=(wide,) if node.op in ("Neg", "Abs") else ())]),
        "made",
        {},
    ).run(g)
    made = insert_conversions(g, selection)
    assert [c.wanted for c in made] == ["float32", "float16", "float16"]  # there once for both, and back
    assert [n.op for n in g.nodes] == ["Exp", "Cast", "Neg", "Cast", "Abs", "Cast"]
    verify(g)
    values = np.array([0.5, -1, 2], np.float16)
    assert_close(interpret(g, [values])[0], [-np.exp(values), np.exp(values)], 0)


def test_group_cannot_be_cast_from_outside() -> None:
    g, b = new()
    b.outputs(b.Neg(b.Abs(b.input("x", "float16", (3,)))))
    wide = Storage(dtype=DType.of("float32"))
    with pytest.raises(BackendError, match="another element type"):
        build_plan(g, PlanRequest(Made(True, lambda n: [Implementation(name="f", inputs=(wide,))]), "made"))


def test_layouts_stop_at_regions() -> None:
    g, b = new()
    x = b.input("x", "float32", (2, 4, 4))
    r = b.Relu(x)
    c = b.input("c", "bool", ())

    def branch(op: str) -> Any:
        def make(inner: Builder) -> list[Value]:
            return [inner.op(op, inner.Relu(r))]

        return make

    b.outputs(b.If(c, then_branch=branch("Neg"), else_branch=branch("Exp")))
    plan, _ = build_plan(clone_graph(g), PlanRequest(Made(False, conv_like), "made"))
    verify(plan.graph)
    for flag in (True, False):
        values = [np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32), np.array(flag)]
        assert_close(PlanExecutor(plan, poison=True).run(values, StateStore()), interpret(g, values)[0], 1e-6)
