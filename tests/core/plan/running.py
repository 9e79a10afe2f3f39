"""Plans a graph for the reference target and runs it with a memory that forgets what the plan says is dead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ge_core.ir import Graph
from ge_core.ir.clone import clone_graph
from ge_core.ir.verifier import verify
from ge_core.memory import validate
from ge_core.passes.base import SWITCHES
from ge_core.plan.build import PlanReport, PlanRequest, build_plan
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.frame import Frame
from ge_core.plan.plan import ExecutionPlan, HostStep, KernelStep, Step
from ge_core.plan.states import StateStore
from ge_core.reference.backend import ReferenceBackend
from ge_core.reference.interpret import interpret
from tests.core.passes.compare import assert_close, assert_same_bits


def planned(
    graph: Graph, switches: Collection[str] = SWITCHES, backend: ReferenceBackend | None = None
) -> tuple[ExecutionPlan, PlanReport]:
    """The plan of a copy of the graph."""
    request = PlanRequest(backend or ReferenceBackend(), "reference", switches=switches)
    plan, report = build_plan(clone_graph(graph), request)
    verify(plan.graph)
    return plan, report


class Forgetful:
    """Before each step, fills all bytes of the arena that no extent claims at its time, and the places of its results.

    A result may lie on an operand only inside one buffer: elsewhere its place is filled before the operands are read,
    as a kernel might do that writes early.
    """

    def __init__(self, executor: PlanExecutor, inputs: Sequence[Any]) -> None:
        placement = executor.placement(inputs)
        values = [placement.env[s.name] for s in executor.plan.symbols]
        buffers = executor.placer.compound(values)
        assert validate(buffers, placement.memory) == []
        starts = placement.memory.offsets
        self.rects = [(r, starts[b.name] + r.offset) for b in buffers for r in b.rects if r.occupies]
        self.steps: list[Step] = []

    def before(self, step: Step, frame: Frame) -> None:
        live = np.zeros(len(frame.arena), bool)
        for rect, at in self.rects:
            if rect.start <= step.time < rect.end:
                live[at : at + rect.size] = True
        frame.arena[~live] = 0xFF
        if isinstance(step, (KernelStep, HostStep)):
            self._fill_results(step, frame)

    def _fill_results(self, step: KernelStep | HostStep, frame: Frame) -> None:
        values = frame.plan.values
        read = {values[i].buffer for i in step.inputs if i >= 0}
        for i in step.outputs:
            place, shape = frame.layouts.codecs[i], frame.placement.shapes[i]
            if place is None or shape is None or values[i].buffer in read or frame.layouts.kinds[i] != "arena":
                continue
            start = frame.placement.starts[values[i].buffer] + frame.placement.offsets[i]
            frame.arena[start : start + place.nbytes(shape)] = 0xFF

    def after(self, step: Step, frame: Frame, seconds: float) -> None:
        self.steps.append(step)


def check(
    graph: Graph,
    calls: Sequence[Sequence[Any]],
    *,
    switches: Collection[str] = SWITCHES,
    tolerance: float | None = None,
    states: bool = False,
    backend: ReferenceBackend | None = None,
) -> ExecutionPlan:
    """Run a graph planned and interpreted on each list of inputs, one after the other; results must agree.

    Args:
        tolerance: None compares bits.
        states: carry the states from call to call and compare them too.
        backend: whose kernels are planned; numpy computes.
    """
    plan, _ = planned(graph, switches, backend)
    executor = PlanExecutor(plan, poison=True)
    store, oracle = StateStore(graph.states), {s.name: s.initial.array() for s in graph.states}
    for inputs in calls:
        want, after = interpret(graph, inputs, oracle)
        kept = {name: buffer.array() for name, buffer in store.items()}
        _compare(executor.run(inputs, store), want, tolerance)
        once = {name: buffer.array() for name, buffer in store.items()}
        for name, value in kept.items():
            store[name].set(value)
        _compare(executor.observe(inputs, store, Forgetful(executor, inputs)), want, tolerance)
        for name, buffer in store.items():
            _compare([buffer.array(), once[name]], [after[name]] * 2, tolerance)
        if states:
            oracle = after
        else:
            store.reset()
    return plan


def _compare(got: Sequence[Any], want: Sequence[Any], tolerance: float | None) -> None:
    if tolerance is None:
        assert_same_bits([np.asarray(x) for x in got], [np.asarray(x) for x in want])
    else:
        assert_close(got, want, tolerance)
