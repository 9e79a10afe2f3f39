"""Time per step of one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_core.ir.location import Location
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.frame import Frame
from ge_core.plan.plan import ExecutionPlan, HostStep, KernelStep, Step
from ge_core.plan.states import StateStore


@dataclass(frozen=True)
class StepTime:
    """What one step took.

    Attributes:
        name: of its first result.
        kind: kernel, host, copy, if, loop, ...; an If or Loop holds the time of the steps inside, which are listed
            too (round after round).
        operator: of its node; for a group, the operators inside.
    """

    name: str
    kind: str
    operator: str
    seconds: float
    loc: Location


def step_time(plan: ExecutionPlan, step: Step, seconds: float) -> StepTime:
    """What is told of a step."""
    operator = ""
    if isinstance(step, (KernelStep, HostStep)):
        node = plan.node(step.node)
        inner = node.regions["body"].nodes if node.op == "ge.Fused" else (node,)
        operator = " + ".join(n.op for n in inner)
    return StepTime(step.name, step.kind, operator, seconds, step.loc)


class _Profiler:
    def __init__(self, executor: PlanExecutor) -> None:
        self.plan = executor.plan
        self.times: list[StepTime] = []

    def before(self, step: Step, frame: Frame) -> None:
        """Nothing to do."""

    def after(self, step: Step, frame: Frame, seconds: float) -> None:
        self.times.append(step_time(self.plan, step, seconds))


def profile(executor: PlanExecutor, inputs: Sequence[Any], states: StateStore) -> list[StepTime]:
    """Run once and time every step, in the order in which they ended."""
    profiler = _Profiler(executor)
    executor.observe(inputs, states, profiler)
    return profiler.times
