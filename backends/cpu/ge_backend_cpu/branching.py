"""Plans that are straight but for branches: a call is a few native calls, with a look at a condition in between."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ge_backend_cpu.context import Context, raise_status, walk, walk_table
from ge_backend_cpu.places import Places
from ge_backend_cpu.straight import StraightPlan, ends_are_settled, is_settled, native_step
from ge_backend_cpu.table import NativeStep, Series, Table
from ge_backend_cpu.team import Team
from ge_core.ir.types import TensorType
from ge_core.plan.frame import Layouts
from ge_core.plan.impossible import refusal
from ge_core.plan.placement import Placement
from ge_core.plan.plan import ExecutionPlan, IfStep, Step
from ge_core.plan.states import StateStore

Run: TypeAlias = Callable[[Context, Placement], None]
Prepare: TypeAlias = Callable[[Sequence[NativeStep]], Run]
Section: TypeAlias = "tuple[NativeStep, ...] | Fork"
_truth_at = ctypes.c_bool.from_address


@dataclass(frozen=True)
class Fork:
    """A branch: the sections of both ways."""

    step: IfStep
    then: tuple[Section, ...]
    other: tuple[Section, ...]


def sections_of(plan: ExecutionPlan) -> tuple[Section, ...] | None:
    """The sections of a plan whose steps are native or branches; None for all other plans."""
    return _sections(plan, plan.steps) if ends_are_settled(plan) else None


def _sections(plan: ExecutionPlan, steps: Sequence[Step]) -> tuple[Section, ...] | None:
    found: list[Section] = []
    series: list[NativeStep] = []
    for step in steps:
        if isinstance(step, IfStep):
            ways = [_sections(plan, way) for way in (step.then_steps, step.else_steps)]
            if not _is_readable(plan, step.condition) or ways[0] is None or ways[1] is None:
                return None
            found += [tuple(series), Fork(step, ways[0], ways[1])]
            series = []
            continue
        native = native_step(plan, step)
        if native is None:
            return None
        series += native
    return (*found, tuple(series))


def _is_readable(plan: ExecutionPlan, value: int) -> bool:
    """Whether a truth value is one byte whose place is known when a call starts."""
    type = plan.values[value].type
    return is_settled(plan, value) and isinstance(type, TensorType) and type.dtype.bits == 8


class BranchingPlan(StraightPlan):
    """A plan with branches ready to run; several threads may call it at once."""

    one_table = False

    def __init__(
        self,
        plan: ExecutionPlan,
        sections: Sequence[Section],
        layouts: Layouts,
        places: Places,
        address: Callable[[str], int],
        team: Team,
    ) -> None:
        def series(steps: Sequence[NativeStep]) -> Run:
            return _series(Series(plan, steps, places, address, team.threads), team)

        self._sections = _sequence(plan, sections, series, places)
        super().__init__(plan, (), layouts, places, address, team)
        self._last: tuple[list[tuple[int, ...]], Placement, Table] | None = None

    def prepare(self, inputs: Sequence[Any]) -> tuple[Placement, Table]:
        """See `StraightPlan.prepare`; the shapes of the last call are known. The table is empty."""
        last, shapes = self._last, [x.shape for x in inputs]
        if last is None or shapes != last[0]:
            last = self._last = shapes, *super().prepare(inputs)
        return last[1], last[2]

    def run(self, inputs: Sequence[Any], states: StateStore) -> list[Any]:
        placement, table = self.prepare(inputs)

        def run_sections(context: Context, table: Table) -> None:
            self._sections(context, placement)
            context.table = table  # for which its arena is

        return self._call(inputs, states, placement, table, run_sections)


def _sequence(plan: ExecutionPlan, sections: Sequence[Section], series: Prepare, places: Places) -> Run:
    runs = [
        _choice(plan, section, series, places) if isinstance(section, Fork) else series(section)
        for section in sections
        if section
    ]

    def run(context: Context, placement: Placement) -> None:
        for each in runs:
            each(context, placement)

    return run


def _choice(plan: ExecutionPlan, fork: Fork, series: Prepare, places: Places) -> Run:
    condition = fork.step.condition
    base, has_offset, buffer = places.value(condition)
    ways = [
        (_sequence(plan, sections, series, places), refusal(plan, steps))
        for sections, steps in ((fork.other, fork.step.else_steps), (fork.then, fork.step.then_steps))
    ]

    def run(context: Context, placement: Placement) -> None:
        address = int(context.bases[base]) + (placement.offsets[condition] if has_offset else 0)
        if buffer >= 0:
            address += placement.starts[buffer]
        chosen, refuse = ways[_truth_at(address).value]
        if placement.impossible:
            refuse(placement)
        chosen(context, placement)

    return run


def _series(series: Series, team: Team) -> Run:
    def run(context: Context, placement: Placement) -> None:
        table = series.table(placement, placement.env)
        if not len(table.rows):
            return
        context.use(table)
        code = walk(team, context, True) if table.alone else walk_table(team, context, table)
        if code:
            raise_status(series.plan, series.steps, table, code)

    return run
