"""Random plans in a memory that forgets what is dead give what the interpreter gives, and faulty plans do not."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from ge_core.ir import Builder, Graph
from ge_core.ir.clone import clone_graph
from ge_core.memory import MemoryPlan
from ge_core.passes.base import SWITCHES
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.gears import narrow
from ge_core.plan.plan import ExecutionPlan, Extent
from ge_core.plan.states import StateStore
from ge_core.reference.backend import ReferenceBackend
from ge_core.reference.interpret import interpret
from tests.core.plan.random_plans import random_graph, random_inputs
from tests.core.plan.running import Forgetful, check, planned

GRAPHS = int(os.environ.get("GE_RANDOM_PLANS", "40"))
"""How many random graphs are tried; raise it for a long run."""


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_random_graphs(seed: int) -> None:
    switches = SWITCHES if seed % 3 else SWITCHES - {("memory", "reorder", "fusion")[seed // 3 % 3]}
    calls = [random_inputs(seed + k, n) for k, n in enumerate((3, 1, 3))]
    check(random_graph(seed), calls, switches=switches, tolerance=1e-5, states=True)


@pytest.mark.parametrize("seed", range(100, 100 + GRAPHS // 4))
def test_random_graphs_in_gears(seed: int) -> None:
    graph, gears = random_graph(seed), {"n": (2, 5, 8)}
    narrow(graph, gears)
    plan, _ = build_plan(clone_graph(graph), PlanRequest(ReferenceBackend(), "reference", gears=gears))
    executor = PlanExecutor(plan, poison=True)
    for n in (1, 4, 8, 2):
        inputs = random_inputs(seed, n)
        first = {state.name: state.initial.array() for state in graph.states}
        want, after = interpret(graph, inputs, first)
        states = StateStore(graph.states)
        got = executor.observe(inputs, states, Forgetful(executor, inputs))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        for name, value in after.items():
            np.testing.assert_allclose(states[name].array(), value, rtol=1e-5, atol=1e-5)
    assert len({executor.placement(random_inputs(0, n)).arena for n in range(1, 9)}) == 1


def essential() -> Graph:
    """Every result is read as late as its buffer lives: residuals, a concat, its halves, and a branch."""
    graph = Graph()
    b = Builder(graph)
    weight = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)
    h = b.Softmax(b.input("x", "float32", (6, 4)))
    for _ in range(3):
        h = b.Add(b.Softmax(b.MatMul(h, weight)), b.Softmax(b.Mul(h, 5.0)))
    first, second = b.Split(b.Softmax(b.Concat([h, b.Softmax(b.Neg(h))], axis=0)), axis=0, num_outputs=2)
    both = b.MatMul(b.Softmax(first), b.Reshape(b.Softmax(second), b.ints(4, 6)))
    chosen = b.If(
        b.input("flag", "bool", ()),
        then_branch=lambda r: [r.Softmax(r.MatMul(both, r.Mul(both, 9.0)))],
        else_branch=lambda r: [r.Exp(both)],
    )
    b.outputs(b.MatMul(b.Softmax(chosen), np.arange(12, dtype=np.float32).reshape(6, 2)))
    return graph


def wrong(plan: ExecutionPlan, memory: MemoryPlan | None = None) -> bool:
    """Whether runs of both branches show that the plan (or another placement of it) is faulty."""
    x = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    plan.memory = memory
    executor = PlanExecutor(plan, poison=True)
    for flag in (True, False):
        inputs = [x, np.array(flag)]
        (want,), _ = interpret(plan.graph, inputs, {})
        if memory is None:
            (got,) = executor.observe(inputs, StateStore(), Forgetful(executor, inputs))
        else:
            (got,) = executor.run(inputs, StateStore())
        if not np.allclose(got, want, rtol=1e-5, atol=1e-5):
            return True
    return False


def test_lives_that_end_too_early_are_noticed() -> None:
    """Cut the life of one buffer after another by a step: the memory then forgets what is still read."""
    plan, _ = planned(essential())
    assert not wrong(plan)
    unseen = []
    for i, buffer in enumerate(plan.buffers):
        if buffer.kind != "arena":
            continue
        last = max(e.end for e in buffer.extents)
        cut = [Extent(e.offset, e.size, e.start, e.end - (e.end == last)) for e in buffer.extents]
        plan.buffers[i] = replace(buffer, extents=tuple(e for e in cut if e.end > e.start))
        if not wrong(plan):
            unseen.append(buffer.name)
        plan.buffers[i] = buffer
    assert unseen == []


def test_buffers_that_lie_on_each_other_are_noticed() -> None:
    plan, _ = planned(essential())
    memory = plan.memory
    assert memory is not None and not wrong(plan, memory)
    assert wrong(plan, replace(memory, offsets=dict.fromkeys(memory.offsets, 0)))
