"""A loaded artifact: each entry's plan, run natively as far as it goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_backend_cpu.branching import BranchingPlan, sections_of
from ge_backend_cpu.context import Context, address_of, packed_input, raise_status, walk_table
from ge_backend_cpu.direct import Call, direct_call
from ge_backend_cpu.image import Mapped
from ge_backend_cpu.places import External, Places, PreparedKey
from ge_backend_cpu.straight import StraightPlan, straight_steps
from ge_backend_cpu.table import Series, Table
from ge_backend_cpu.team import Team
from ge_core.errors import InputError
from ge_core.plan.aligned import aligned_bytes
from ge_core.plan.frame import Frame, Layouts, Packed
from ge_core.plan.plan import ExecutionPlan, KernelStep, Step
from ge_core.plan.states import StateStore

if TYPE_CHECKING:
    from ge_core.plan.execute import PlanExecutor
    from ge_core.plan.profile import StepTime


class NativeKernels:
    """Kernel steps between host steps and in branches and loops (`ge_core.plan.execute.Kernels`)."""

    def __init__(self, layouts: Layouts, places: Places, address: Callable[[str], int], team: Team) -> None:
        self.layouts, self.places, self.address, self.team = layouts, places, address, team

    def prepare(self, plan: ExecutionPlan, steps: Sequence[KernelStep]) -> Callable[[Frame], None]:
        """See `ge_core.plan.execute.Kernels.prepare`."""
        team, places = self.team, self.places
        series = Series(plan, steps, places, self.address, team.threads)
        late = [v for s in steps for v in s.outputs if v >= 0 and not plan.values[v].view]
        idle: list[Context] = []

        def run(frame: Frame) -> None:
            for value in late:
                frame.open(value)
            table = series.table(frame.placement, frame.env)
            if not len(table.rows):
                return
            try:
                context = idle.pop()
            except IndexError:
                context = Context(places)
            context.use(table)
            kept = self._fill(context, series, table, frame)
            try:
                code = walk_table(team, context, table)
            finally:
                idle.append(context)
            del kept
            if code:
                raise_status(plan, series.steps, table, code)

        return run

    def _fill(self, context: Context, series: Series, table: Table, frame: Frame) -> list[np.ndarray]:
        """Set the bases that a call changes; the arrays are to be kept until the walk is over."""
        if len(context.bases) < len(self.places.fixed):
            context.bases = self.places.bases()
            context.record["bases"] = address_of(context.bases)
        bases, kept = context.bases, []
        bases[0] = address_of(frame.arena)
        for external in series.externals:
            data = self._data(external, table, frame)
            kept.append(data)
            bases[external.number] = address_of(data)
        return kept

    def _data(self, external: External, table: Table, frame: Frame) -> np.ndarray:
        """What a base points to."""
        plan, i = frame.plan, external.index
        if external.kind == "scratch":
            return aligned_bytes(table.scratch[i])
        if external.kind == "output":
            output = frame.outputs[i]
            assert output is not None
            return output
        if external.kind == "input":
            return packed_input(plan, i, frame.inputs[i])
        if external.kind == "state":
            assert frame.states is not None
            return frame.states[plan.states[i].name].data
        slot: np.ndarray | Packed = frame.slots[i]
        return slot.data if isinstance(slot, Packed) else slot


class Entry:
    """One entry of a model."""

    def __init__(
        self,
        plan: ExecutionPlan,
        address: Callable[[str], int],
        team: Team,
        prepared: Mapping[PreparedKey, int],
    ) -> None:
        self.plan, self.team = plan, team
        self.layouts = Layouts(plan)
        places = Places(self.layouts, prepared)
        steps, sections = straight_steps(plan), sections_of(plan)
        self.straight: StraightPlan | None = None
        self.executor: PlanExecutor | None = None
        self._kernels = NativeKernels(self.layouts, places, address, team)
        if steps is not None:
            self.straight = StraightPlan(plan, steps, self.layouts, places, address, team)
        elif sections is not None:
            self.straight = BranchingPlan(plan, sections, self.layouts, places, address, team)
        else:
            self.executor = self._stepwise()

    def _stepwise(self) -> PlanExecutor:
        from ge_core.plan.execute import PlanExecutor

        return PlanExecutor(self.plan, self._kernels)

    def run(self, inputs: Sequence[Any], states: StateStore) -> list[Any]:
        if self.straight is not None:
            return self.straight.run(inputs, states)
        assert self.executor is not None
        return self.executor.run(inputs, states)

    def profile(self, inputs: Sequence[Any], states: StateStore) -> list[StepTime]:
        if self.straight is None or isinstance(self.straight, BranchingPlan):
            observer = _Observer(self.plan, self.team.threads)
            (self.executor or self._stepwise()).observe(inputs, states, observer)
            return observer.times
        from ge_backend_cpu.profile import kernel_time

        taken: dict[int, tuple[float, int]] = {}

        def told(step: int, seconds: float, threads: int) -> None:
            before, most = taken.get(step, (0.0, 1))
            taken[step] = before + seconds, max(most, threads)

        self.straight.timed(inputs, states, told)
        steps, env = self.straight.steps, self.straight.prepare(inputs)[0].env
        return [kernel_time(self.plan, steps[i], *measured, env) for i, measured in taken.items()]


class _Observer:
    """Collects the time of every step, with the figures of the native ones."""

    def __init__(self, plan: ExecutionPlan, threads: int) -> None:
        self.plan, self.threads = plan, threads
        self.times: list[StepTime] = []

    def before(self, step: Step, frame: Frame) -> None:
        """Nothing to do."""

    def after(self, step: Step, frame: Frame, seconds: float) -> None:
        from ge_backend_cpu.profile import kernel_time
        from ge_core.plan.profile import step_time

        if isinstance(step, KernelStep):
            self.times.append(kernel_time(self.plan, step, seconds, self.threads, frame.env))
        else:
            self.times.append(step_time(self.plan, step, seconds))


class CpuExecutable:
    """Plans that run natively (`ge_core.backend.Executable`); several threads may call it at once.

    Args:
        code: that the entries' tables point to.
    """

    def __init__(self, entries: Mapping[str, Entry], code: Mapped) -> None:
        self.entries, self.code = dict(entries), code

    def run(self, inputs: Sequence[Any], states: StateStore, entry: str = "main") -> list[Any]:
        """See `ge_core.backend.Executable.run`."""
        return self._entry(entry).run(inputs, states)

    def profile(self, inputs: Sequence[Any], states: StateStore, entry: str = "main") -> list[StepTime]:
        """Run once and say how long each step took; steps of loops appear once per round."""
        return self._entry(entry).profile(inputs, states)

    def direct(self, entry: str) -> Call | None:
        """The shortest way to run an entry, where there is one (see `direct_call`)."""
        found = self._entry(entry).straight
        return None if found is None else direct_call(found)

    def _entry(self, name: str) -> Entry:
        if name not in self.entries:
            raise InputError(f"there is no entry {name!r}", expected=", ".join(self.entries))
        return self.entries[name]
