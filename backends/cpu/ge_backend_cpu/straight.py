"""Plans without host steps, control flow and data-dependent sizes: a whole call is one native call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ge_backend_cpu.context import Context, data_of, packed_input, raise_status, walk
from ge_backend_cpu.places import Places
from ge_backend_cpu.table import NativeStep, Series, Table
from ge_backend_cpu.team import Team
from ge_core.errors import GeError, SizeBoundError
from ge_core.ir import dims
from ge_core.ir.types import TensorType
from ge_core.passes.planned.select import same_layout
from ge_core.plan.aligned import aligned_bytes
from ge_core.plan.bind import InputBinder
from ge_core.plan.frame import Layouts
from ge_core.plan.placement import Placement, Placer
from ge_core.plan.plan import CopyStep, ExecutionPlan, KernelStep, Step, ViewStep
from ge_core.plan.states import StateStore

ALIGNED_FROM = 1 << 14
"""Bytes from which an output begins on a cache line."""

Reader: TypeAlias = Callable[["_Call"], np.ndarray]


@dataclass
class _Call:
    """What the value readers of one call need."""

    placement: Placement
    arena: np.ndarray
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    states: StateStore


class Arenas:
    """Arenas that wait for the next call, of any thread."""

    KEPT = 8
    SLACK = 1 << 20

    def __init__(self) -> None:
        self._idle: list[np.ndarray] = []

    def acquire(self, nbytes: int) -> np.ndarray:
        """At least so many bytes that nobody else uses; not many more."""
        try:
            found = self._idle.pop()
        except IndexError:
            return aligned_bytes(nbytes)
        if nbytes <= len(found) <= 2 * nbytes + self.SLACK:
            return found
        return aligned_bytes(nbytes)

    def release(self, arena: np.ndarray) -> None:
        """Give an arena back."""
        if len(self._idle) < self.KEPT:
            self._idle.append(arena)

    def held(self) -> int:
        """Bytes of all waiting arenas."""
        return sum(map(len, self._idle))


def straight_steps(plan: ExecutionPlan) -> list[NativeStep] | None:
    """The native steps of a plan that has nothing else but views; None for all other plans."""
    found: list[NativeStep] = []
    for step in plan.steps:
        if isinstance(step, ViewStep) and _settled(plan, step.value):
            continue
        if not isinstance(step, (KernelStep, CopyStep)) or not all(_settled(plan, v) for v in _values(step)):
            return None
        if isinstance(step, CopyStep) and not _same_bytes(plan, step):
            return None
        found.append(step)
    outer = [*plan.inputs, *(o.value for o in plan.outputs), *(s.write for s in plan.states if s.write >= 0)]
    return found if all(_settled(plan, v) for v in outer) else None


def _values(step: Step) -> list[int]:
    if isinstance(step, CopyStep):
        return [step.source, step.target]
    assert isinstance(step, KernelStep)
    return [v for v in (*step.inputs, *step.outputs) if v >= 0]


def _settled(plan: ExecutionPlan, value: int) -> bool:
    """Whether a value has bytes whose place is known when a call starts."""
    planned = plan.values[value]
    return planned.view and plan.buffers[planned.buffer].kind not in ("dynamic", "object")


def _same_bytes(plan: ExecutionPlan, step: CopyStep) -> bool:
    """Whether a copy step moves equally many bytes to where the same layout has them."""
    a, b = plan.values[step.source], plan.values[step.target]
    if not isinstance(a.type, TensorType) or not isinstance(b.type, TensorType):
        return False
    if a.type.dtype != b.type.dtype or a.type.shape is None or b.type.shape is None:
        return False
    same = len(a.type.shape) == len(b.type.shape) and all(
        dims.equal(x, y) is True for x, y in zip(a.type.shape, b.type.shape, strict=True)
    )
    return same and same_layout(a.layout, b.layout)


class StraightPlan:
    """A straight plan ready to run; several threads may call it at once.

    Args:
        steps: of `straight_steps(plan)`.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        steps: Sequence[NativeStep],
        layouts: Layouts,
        places: Places,
        address: Callable[[str], int],
        team: Team,
    ) -> None:
        self.plan, self.steps, self.layouts, self.places, self.team = plan, steps, layouts, places, team
        self.series = Series(plan, steps, places, address, team.threads)
        self.binder, self.placer = InputBinder(plan.graph.inputs), Placer(plan)
        if plan.memory is not None and set(plan.example) == {s.name for s in plan.symbols}:
            self.placer.keep([plan.example[s.name] for s in plan.symbols], plan.memory)
        self.arenas = Arenas()
        self._contexts: list[Context] = []
        self._poison = os.environ.get("GE_POISON", "0") not in ("", "0")
        self._readers = {i: self._reader(o.value) for i, o in enumerate(plan.outputs) if o.buffer < 0}
        self._writes = [
            (plan.states[i].name, self._reader(plan.states[i].write))
            for i, state in enumerate(plan.states)
            if state.write >= 0 and not state.in_place
        ]
        self._damages = any(state.in_place for state in plan.states)
        self._dtypes = [_tensor(plan, o.value).dtype.numpy for o in plan.outputs]
        self._fixed: tuple[tuple[tuple[int, ...], ...], Placement, Table] | None = None
        if not plan.symbols and not self.binder.bindings:
            placement = self.placer.at(())
            shapes = tuple(placement.shapes[v] or () for v in plan.inputs)
            self._fixed = shapes, placement, self.series.table(placement, placement.env)

    def prepare(self, inputs: Sequence[Any]) -> tuple[Placement, Table]:
        """Placement and table for the shapes of some inputs.

        Raises:
            InputError: sizes contradict the declared shapes.
        """
        fixed = self._fixed
        if fixed is not None and all(x.shape == shape for x, shape in zip(inputs, fixed[0], strict=True)):
            return fixed[1], fixed[2]
        placement = self.placer.at(self.binder.values([x.shape for x in inputs]))
        return placement, self.series.table(placement, placement.env)

    def run(self, inputs: Sequence[Any], states: StateStore) -> list[Any]:
        """See `ge_core.backend.Executable.run`."""
        placement, table = self.prepare(inputs)
        return self._call(inputs, states, placement, table, self._walk)

    def _call(
        self,
        inputs: Sequence[Any],
        states: StateStore,
        placement: Placement,
        table: Table,
        walk_table: Callable[[Context, Table], None],
    ) -> list[Any]:
        if self.plan.states:
            states.check()
        try:
            context = self._contexts.pop()
        except IndexError:
            context = Context(self.places)
        context.use(table)
        arena = self.arenas.acquire(placement.arena)
        outputs = self._outputs(placement)
        if self._poison:
            _poison(arena, outputs)
        bases = context.bases
        bases[0] = arena.__array_interface__["data"][0]
        kept = [data_of(self.plan, e, inputs, outputs, states) for e in self.places.externals]
        for external, data in zip(self.places.externals, kept, strict=True):
            bases[external.number] = data.__array_interface__["data"][0]
        try:
            walk_table(context, table)
            self._finish(_Call(placement, arena, inputs, outputs, states))
        except BaseException as error:
            if self._damages:
                states.damaged = error.what if isinstance(error, GeError) else type(error).__name__
            raise
        finally:
            self.arenas.release(arena)
            self._contexts.append(context)
        return outputs

    def _walk(self, context: Context, table: Table) -> None:
        code = walk(self.team, context, table.alone)
        if code:
            raise_status(self.plan, self.steps, table, code)

    def _outputs(self, placement: Placement) -> list[Any]:
        found: list[Any] = []
        for output, dtype in zip(self.plan.outputs, self._dtypes, strict=True):
            shape = placement.shapes[output.value]
            assert shape is not None
            found.append(_empty(shape, dtype) if output.buffer >= 0 else None)
        return found

    def _finish(self, call: _Call) -> None:
        """Copy out what is not computed in the caller's memory, then the states that are not updated in place."""
        assert isinstance(call.outputs, list)
        for i, read in self._readers.items():
            call.outputs[i] = read(call)
        values = [(name, read(call)) for name, read in self._writes]
        for name, value in values:
            if value.shape != call.states[name].shape:
                raise SizeBoundError(
                    f"the state {name!r} would become {list(value.shape)}", expected=str(call.states[name].type)
                )
        for name, value in values:
            call.states[name].set(value)

    def _reader(self, value: int) -> Reader:
        """A function that copies a value's logical array."""
        plan, place = self.plan, self.layouts.codecs[value]
        planned = plan.values[value]
        buffer = plan.buffers[planned.buffer]

        def read(call: _Call) -> np.ndarray:
            shape = call.placement.shapes[value]
            assert place is not None and shape is not None
            offset = call.placement.offsets[value]
            if buffer.kind == "arena":
                data = call.arena[call.placement.starts[planned.buffer] :]
            elif buffer.kind == "constant":
                data = self.layouts.constant(buffer.index)
            elif buffer.kind == "state":
                data = call.states[plan.states[buffer.index].name].data
            elif buffer.kind == "output":
                data = call.outputs[buffer.index].reshape(-1).view(np.uint8)
            else:
                data = packed_input(plan, buffer.index, call.inputs[buffer.index]).reshape(-1).view(np.uint8)
            return np.array(place.load(data[offset:], shape))

        return read

    def timed(self, inputs: Sequence[Any], states: StateStore, told: Callable[[int, float], None]) -> None:
        """Run once, row by row, and tell the position of the step and the seconds of each row."""
        placement, table = self.prepare(inputs)

        def walk_rows(context: Context, table: Table) -> None:
            for row, step in enumerate(table.steps):
                context.at_row(row)
                alone = int(table.rows["chunks"][row]) == 1
                started = time.perf_counter()
                code = walk(self.team, context, alone)
                seconds = time.perf_counter() - started
                if code:
                    raise_status(self.plan, self.steps, table, code + (row << 8))
                told(int(step), seconds)
            context.table = None

        self._call(inputs, states, placement, table, walk_rows)


def _tensor(plan: ExecutionPlan, value: int) -> TensorType:
    type = plan.values[value].type
    assert isinstance(type, TensorType)
    return type


def _empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory for an output; large ones begin on a cache line."""
    nbytes = dtype.itemsize
    for size in shape:
        nbytes *= size
    if nbytes < ALIGNED_FROM:
        return np.empty(shape, dtype)
    return aligned_bytes(nbytes).view(dtype).reshape(shape)


def _poison(arena: np.ndarray, outputs: Sequence[Any]) -> None:
    """Make the use of bytes that nothing wrote visible."""
    arena.fill(0xFF)
    for array in outputs:
        if array is not None:
            array.reshape(-1).view(np.uint8).fill(0xFF)
