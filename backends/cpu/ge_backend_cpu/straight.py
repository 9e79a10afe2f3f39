"""Plans without host steps, control flow and data-dependent sizes: a whole call is one native call."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ge_backend_cpu.context import Context, address_of, packed_input, raise_status, walk, walk_table
from ge_backend_cpu.places import Places
from ge_backend_cpu.table import NativeStep, Series, Table
from ge_backend_cpu.team import Team
from ge_core.errors import GeError, SizeBoundError
from ge_core.ir import dims
from ge_core.ir.types import TensorType
from ge_core.passes.planned.select import same_layout
from ge_core.plan.aligned import ALIGNMENT
from ge_core.plan.bind import InputBinder
from ge_core.plan.frame import Layouts
from ge_core.plan.impossible import refusal
from ge_core.plan.placement import Placement, Placer
from ge_core.plan.plan import CopyStep, ExecutionPlan, KernelStep, Step, ViewStep
from ge_core.plan.states import StateStore

ALIGNED_FROM = 1 << 14
"""Bytes from which an output begins on a cache line."""
KEPT = 8
"""Contexts, each with an arena, that wait for the next calls."""
_KINDS = ("input", "output", "state")

Reader: TypeAlias = Callable[["_Call"], np.ndarray]


@dataclass
class _Call:
    """What the value readers of one call need."""

    placement: Placement
    arena: np.ndarray
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    states: StateStore


def straight_steps(plan: ExecutionPlan) -> list[NativeStep] | None:
    """The native steps of a plan that has nothing else but views; None for all other plans."""
    found: list[NativeStep] = []
    for step in plan.steps:
        native = native_step(plan, step)
        if native is None:
            return None
        found += native
    return found if ends_are_settled(plan) else None


def native_step(plan: ExecutionPlan, step: Step) -> list[NativeStep] | None:
    """A step that the walker takes, nothing for a view whose place is known; None for all other steps."""
    if isinstance(step, ViewStep) and is_settled(plan, step.value):
        return []
    if not isinstance(step, (KernelStep, CopyStep)) or not all(is_settled(plan, v) for v in _values(step)):
        return None
    if isinstance(step, CopyStep) and not _same_bytes(plan, step):
        return None
    return [step]


def ends_are_settled(plan: ExecutionPlan) -> bool:
    """Whether the places of inputs, outputs and new states are known when a call starts."""
    outer = [*plan.inputs, *(o.value for o in plan.outputs), *(s.write for s in plan.states if s.write >= 0)]
    return all(is_settled(plan, v) for v in outer)


def _values(step: Step) -> list[int]:
    if isinstance(step, CopyStep):
        return [step.source, step.target]
    assert isinstance(step, KernelStep)
    return [v for v in (*step.inputs, *step.outputs) if v >= 0]


def is_settled(plan: ExecutionPlan, value: int) -> bool:
    """Whether a value has bytes whose place is known when a call starts."""
    planned = plan.values[value]
    if isinstance(planned.type, TensorType) and planned.type.dtype.kind == "string":
        return False
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


class _Externals:
    """The bases that every call sets, sorted by where they come from."""

    def __init__(self, plan: ExecutionPlan, places: Places) -> None:
        self.plan = plan
        by_kind = {kind: [(e.number, e.index) for e in places.externals if e.kind == kind] for kind in _KINDS}
        small = [v.type.dtype.bits < 8 if isinstance(v.type, TensorType) else False for v in plan.input_values]
        self.inputs = [(number, i) for number, i in by_kind["input"] if not small[i]]
        self.packed = [(number, i) for number, i in by_kind["input"] if small[i]]
        self.outputs = by_kind["output"]
        self.states = [(number, plan.states[i].name) for number, i in by_kind["state"]]

    def fill(
        self, bases: np.ndarray, inputs: Sequence[Any], outputs: Sequence[Any], states: StateStore
    ) -> list[np.ndarray]:
        """Set the bases; returns arrays that must be kept until the call is over."""
        for number, i in self.inputs:
            bases[number] = address_of(inputs[i])
        for number, i in self.outputs:
            bases[number] = address_of(outputs[i])
        for number, name in self.states:
            bases[number] = address_of(states[name].data)
        if not self.packed:
            return []
        kept = []
        for number, i in self.packed:
            kept.append(packed_input(self.plan, i, inputs[i]))
            bases[number] = address_of(kept[-1])
        return kept


class StraightPlan:
    """A straight plan ready to run; several threads may call it at once.

    Args:
        steps: of `straight_steps(plan)`.

    Attributes:
        fixed: shapes of the inputs, placement and table where no size is free.
        own: shapes and element types of the outputs where all of them are in the caller's memory.
        empty: makes memory for those.
        bound: the bases that every call sets.
        poisons: whether memory is filled before every call.
        one_table: whether the table that `prepare` gives is the whole of a call.
    """

    one_table = True

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
        self.binder, self.placer = InputBinder(plan.input_values), Placer(plan)
        self._refuse = refusal(plan, plan.steps)
        if plan.memory is not None and set(plan.example) == {s.name for s in plan.symbols}:
            self.placer.keep([plan.example[s.name] for s in plan.symbols], plan.memory)
        self._contexts: list[Context] = []
        self.poisons = os.environ.get("GE_POISON", "0") not in ("", "0")
        self._readers = {i: self._reader(o.value) for i, o in enumerate(plan.outputs) if o.buffer < 0}
        self._writes = [
            (plan.states[i].name, self._reader(plan.states[i].write))
            for i, state in enumerate(plan.states)
            if state.write >= 0 and not state.in_place
        ]
        self._squeezed = [i for i, o in enumerate(plan.outputs) if o.squeezed]
        self._damages = any(state.in_place for state in plan.states)
        self._dtypes = [_tensor(plan, o.value).dtype.numpy for o in plan.outputs]
        self.bound = _Externals(plan, places)
        self.fixed: tuple[list[tuple[int, ...]], Placement, Table] | None = None
        self.own: list[tuple[tuple[int, ...], np.dtype]] | None = None
        self.empty: Callable[[tuple[int, ...], np.dtype], np.ndarray] = empty_output
        if not plan.symbols and not self.binder.bindings:
            placement = self.placer.at(())
            shapes = [placement.shapes[v] or () for v in plan.inputs]
            self.fixed = shapes, placement, self.series.table(placement, placement.env)
            self.own = self._own_outputs(placement)
            if all(math.prod(shape) * dtype.itemsize < ALIGNED_FROM for shape, dtype in self.own or ()):
                self.empty = np.empty

    def prepare(self, inputs: Sequence[Any]) -> tuple[Placement, Table]:
        """Placement and table for the shapes of some inputs.

        Raises:
            InputError: sizes contradict the declared shapes.
            SizeBoundError: something cannot be computed for these sizes.
        """
        shapes = [x.shape for x in inputs]
        if self.fixed is not None and shapes == self.fixed[0]:
            return self.fixed[1], self.fixed[2]
        placement = self.placer.at(self.binder.values(shapes))
        if placement.impossible:
            self._refuse(placement)
        return placement, self.series.table(placement, placement.env)

    def run(self, inputs: Sequence[Any], states: StateStore) -> list[Any]:
        """See `ge_core.backend.Executable.run`."""
        placement, table = self.prepare(inputs)
        return self._call(inputs, states, placement, table, self._walk)

    def held(self) -> int:
        """Bytes of the arenas that wait for a call."""
        return sum(len(context.arena) for context in self._contexts)

    def _call(
        self,
        inputs: Sequence[Any],
        states: StateStore,
        placement: Placement,
        table: Table,
        run_table: Callable[[Context, Table], None],
    ) -> list[Any]:
        if self.plan.states:
            states.check()
        try:
            context = self._contexts.pop()  # one operation, so that no lock is needed
        except IndexError:
            context = Context(self.places)
        if context.table is not table:
            context.use(table)
            context.take_arena(placement.memory.size)
        outputs = self._outputs(placement)
        if self.poisons:
            _poison(context.arena, outputs)
        kept = self.bound.fill(context.bases, inputs, outputs, states)
        try:
            run_table(context, table)
            if self._readers or self._writes or self._squeezed:
                self._finish(_Call(placement, context.arena, inputs, outputs, states))
        except BaseException as error:
            if self._damages:
                states.damaged = error.what if isinstance(error, GeError) else type(error).__name__
            raise
        finally:
            del kept
            if len(self._contexts) < KEPT:
                self._contexts.append(context)
        return outputs

    def _walk(self, context: Context, table: Table) -> None:
        code = walk(self.team, context, True) if table.alone else walk_table(self.team, context, table)
        if code:
            raise_status(self.plan, self.steps, table, code)

    def _outputs(self, placement: Placement) -> list[Any]:
        if self.own is not None and self.fixed is not None and placement is self.fixed[1]:
            return [self.empty(shape, dtype) for shape, dtype in self.own]
        found: list[Any] = []
        for output, dtype in zip(self.plan.outputs, self._dtypes, strict=True):
            shape = placement.shapes[output.value]
            assert shape is not None
            found.append(empty_output(shape, dtype) if output.buffer >= 0 else None)
        return found

    def _own_outputs(self, placement: Placement) -> list[tuple[tuple[int, ...], np.dtype]] | None:
        """Shapes and element types where all outputs are computed in the caller's memory and handed out as they are."""
        found = []
        for output, dtype in zip(self.plan.outputs, self._dtypes, strict=True):
            shape = placement.shapes[output.value]
            if shape is None or output.buffer < 0 or output.squeezed:
                return None
            found.append((shape, dtype))
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
        for i in self._squeezed:
            call.outputs[i] = self.plan.outputs[i].handed(call.outputs[i])

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

    def timed(self, inputs: Sequence[Any], states: StateStore, told: Callable[[int, float, int], None]) -> None:
        """Run once, row by row, and tell the position of the step, seconds and threads of each row."""
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
                told(int(step), seconds, 1 if alone else self.team.threads)
            context.table = None

        self._call(inputs, states, placement, table, walk_rows)


def _tensor(plan: ExecutionPlan, value: int) -> TensorType:
    type = plan.values[value].type
    assert isinstance(type, TensorType)
    return type


def empty_output(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory for an output; large ones begin on a cache line."""
    nbytes = dtype.itemsize
    for size in shape:
        nbytes *= size
    if nbytes < ALIGNED_FROM:
        return np.empty(shape, dtype)
    # one array over another takes a fraction of the time of slicing, viewing and reshaping it
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, raw, -address_of(raw) % ALIGNMENT)


def _poison(arena: np.ndarray, outputs: Sequence[Any]) -> None:
    """Make the use of bytes that nothing wrote visible."""
    arena.fill(0xFF)
    for array in outputs:
        if array is not None:
            array.reshape(-1).view(np.uint8).fill(0xFF)
