"""Graphs on the native backend, compared with the interpreter, between guard pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ge_backend_cpu import places, straight
from ge_backend_cpu.backend import CpuBackend
from ge_core.ir.clone import clone_graph
from ge_core.ir.graph import Graph
from ge_core.passes.base import SWITCHES, PassContext
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.plan import ExecutionPlan, HostStep, KernelStep
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.guarded import Guarded
from tests.core.passes.compare import assert_close

WIDTHS = ("x86-64-v4", "x86-64-v4/8", "x86-64-v4/4", "x86-64-v3")
"""Instruction sets whose code this machine may run: 16, 8 and 4 lanes, and the lower level with 8."""


DOTS = ("x86-64-v4+avx512vnni", "x86-64-v4/8+avx512vnni", "x86-64-v4/4+avx512vnni", "x86-64-v3+avxvnni")
"""Instruction sets with dot products of bytes, without registers for tiles of them."""


def dots() -> list[str]:
    """Those of `DOTS` that this machine runs, and its own; always at least one."""
    from ge_backend_cpu.isa import Isa

    return ["host", *(name for name in DOTS if Isa.of(name).runs_here)]


def widths() -> list[str]:
    """Those of `WIDTHS` that this machine runs; always at least one."""
    from ge_backend_cpu.isa import Isa

    return [name for name in WIDTHS if Isa.of(name).runs_here] or ["host"]


def plan_of(graph: Graph, isa: str = "host", precision: Any = "balanced", **options: object) -> ExecutionPlan:
    """The plan of a copy of a graph, after the backend's own passes."""
    chosen = {"workers": 0, "isa": isa, **options}
    backend, copy = CpuBackend(), clone_graph(graph)
    for each in backend.passes("cpu", chosen):
        each(copy, PassContext(switches=frozenset(SWITCHES), precision=precision))
    request = PlanRequest(backend, "cpu", chosen, switches=SWITCHES, precision=precision)
    return build_plan(copy, request)[0]


def kernels(plan: ExecutionPlan) -> list[str]:
    """Names of the implementations of a plan's kernel steps, in order."""
    return [step.implementation for step in plan.steps if isinstance(step, KernelStep)]


def executable(plan: ExecutionPlan, isa: str = "host", threads: int = 2, **options: object) -> Any:
    """A plan compiled and loaded."""
    chosen: dict[str, object] = {"workers": 0, "isa": isa, "num_threads": threads, **options}
    backend = CpuBackend()
    return backend.load(backend.build({"main": plan}, "cpu", chosen), chosen)


def check(
    graph: Graph,
    calls: Sequence[Sequence[np.ndarray]],
    tolerance: float = 1e-5,
    isa: str = "host",
    threads: int = 2,
    hosts: int | None = 0,
    precision: Any = "balanced",
    code: str | None = None,
) -> ExecutionPlan:
    """Run a graph natively on some inputs and compare with the interpreter.

    Inputs, outputs and prepared constants end, then begin, at a page without access.

    Args:
        tolerance: times the largest magnitude of each output; 0 for equal.
        code: instruction set of the code, where it is not that of the plan.
        hosts: steps that are expected to run on the host; None for any number.
    """
    plan = plan_of(graph, isa, precision)
    found = [step for step in plan.all_steps() if isinstance(step, HostStep)]
    assert hosts is None or len(found) == hosts, [step.name for step in found]
    for at_end in (True, False):
        guard = Guarded(at_end)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GE_POISON", "1")
            patch.setattr(straight, "empty_output", guard.empty)
            patch.setattr(straight, "ALIGNED_FROM", 0)
            patch.setattr(places, "aligned_bytes", guard.bytes)
            run = executable(plan, code or isa, threads)
            for inputs in calls:
                want, _ = interpret(graph, list(inputs), {s.name: s.initial.array() for s in graph.states})
                got = run.run([guard.copy(x) for x in inputs], StateStore(graph.states))
                assert_close(got, want, tolerance)
    return plan
