"""A copy of a graph says the same and shares no nodes or values with it."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from ge_core.ir.clone import clone_graph
from ge_core.ir.printer import print_graph
from ge_core.ir.traverse import values, walk
from ge_core.ir.verifier import verify
from tests.core.passes.generated import Model, models
from tests.core.plan.test_plan_codec import PLAN


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    derandomize=True,
    database=None,
)
@given(model=models())
def test_generated_graphs(model: Model) -> None:
    graph = model.build()
    copy = clone_graph(graph)
    verify(copy)
    assert print_graph(copy, locations=True) == print_graph(graph, locations=True)
    assert not set(walk(copy)) & set(walk(graph)) and not set(values(copy)) & set(values(graph))
    assert copy.fresh_name("x") == graph.fresh_name("x")
    assert copy.fresh_symbol("n") == graph.fresh_symbol("n")


def test_states_and_groups() -> None:
    copy = clone_graph(PLAN.graph)
    verify(copy)
    assert print_graph(copy) == print_graph(PLAN.graph)
    assert copy.states[0].write is not PLAN.graph.states[0].write
