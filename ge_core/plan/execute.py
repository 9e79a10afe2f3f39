"""Runs an execution plan: one arena, values as views into it, steps as prepared functions.

Host steps run reference kernels here; what runs the target's own kernels is the backend's business (`Kernels`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy as np

from ge_core.errors import GeError, SizeBoundError
from ge_core.ir.dims import evaluate
from ge_core.plan.bind import InputBinder
from ge_core.plan.control import prepare_if, prepare_loop
from ge_core.plan.frame import Frame, FramePool, Layouts, get, owned, put
from ge_core.plan.impossible import refusal
from ge_core.plan.placement import Placement, Placer
from ge_core.plan.plan import (
    AllocStep,
    BindStep,
    CompareStep,
    CopyStep,
    ExecutionPlan,
    FreeStep,
    HostStep,
    IfStep,
    KernelStep,
    LoopStep,
    Step,
    ViewStep,
)
from ge_core.plan.required import contradiction
from ge_core.plan.states import StateStore
from ge_core.reference.host import host_function

Run: TypeAlias = Callable[[Frame], None]


class Observer(Protocol):
    """Told of each step, for profiles and for tests that watch the memory."""

    def before(self, step: Step, frame: Frame) -> None: ...

    def after(self, step: Step, frame: Frame, seconds: float) -> None: ...


class Kernels(Protocol):
    """A backend's side of the executor."""

    def prepare(self, plan: ExecutionPlan, steps: Sequence[KernelStep]) -> Run:
        """A function that runs a maximal series of kernel steps on a frame.

        It reads and writes `frame.slots` (or `frame.address`), opens the outputs whose slot is empty with
        `frame.open`, and raises an ExecutionError with the node's place for a status.
        """
        ...


class ReferenceKernels:
    """Kernel steps of the reference target are host steps."""

    def prepare(self, plan: ExecutionPlan, steps: Sequence[KernelStep]) -> Run:
        runs = [host_function(plan, step) for step in steps]
        if len(runs) == 1:
            return runs[0]

        def series(frame: Frame) -> None:
            for run in runs:
                run(frame)

        return series


class PlanExecutor:
    """A plan ready to run; several threads may call it at once.

    Args:
        plan: with its graph.
        kernels: runs kernel steps.
        poison: fill the arena (and outputs) with 0xFF before every run; by default GE_POISON says.
    """

    def __init__(self, plan: ExecutionPlan, kernels: Kernels | None = None, *, poison: bool | None = None) -> None:
        self.plan = plan
        self.binder = InputBinder(plan.input_values)
        self.placer = Placer(plan)
        if plan.memory is not None and set(plan.example) == {s.name for s in plan.symbols}:
            self.placer.keep([plan.example[s.name] for s in plan.symbols], plan.memory)
        self.layouts = Layouts(plan)
        self.pool = FramePool(self.layouts)
        self._kernels = kernels or ReferenceKernels()
        self._poison = os.environ.get("GE_POISON", "0") not in ("", "0") if poison is None else poison
        self._run = self.sequence(plan.steps)
        self._refuse = refusal(plan, plan.steps)
        self._changes_states = any(s.in_place for s in plan.states)

    def run(self, inputs: Sequence[Any], states: StateStore) -> list[Any]:
        """See `ge_core.backend.Executable.run`."""
        frame = self.pool.acquire(self.placement(inputs))
        try:
            return self._call(frame, inputs, states, self._run)
        finally:
            self.pool.release(frame)

    def placement(self, inputs: Sequence[Any]) -> Placement:
        """The placement for the shapes of some inputs.

        Raises:
            InputError: sizes contradict the declared shapes.
            SizeBoundError: something cannot be computed for these sizes.
        """
        shapes = [x.shape if isinstance(x, np.ndarray) else () for x in inputs]
        found = self.placer.at(self.binder.values(shapes))
        if found.impossible:
            self._refuse(found)
        return found

    def observe(self, inputs: Sequence[Any], states: StateStore, observer: Observer) -> list[Any]:
        """Run once and tell `observer` of every step, kernel steps one by one."""
        frame = self.pool.acquire(self.placement(inputs))
        watched = self.sequence(self.plan.steps, observer)
        try:
            return self._call(frame, inputs, states, watched)
        finally:
            self.pool.release(frame)

    def _call(self, frame: Frame, inputs: Sequence[Any], states: StateStore, run: Run) -> list[Any]:
        states.check()
        if self._poison:
            frame.arena.fill(0xFF)
        frame.begin(inputs, states)
        if self._poison:
            for array in frame.outputs:
                if array is not None:
                    array.reshape(-1).view(np.uint8).fill(0xFF)
        with self._guard(states):
            run(frame)
            outputs = [self._output(frame, i) for i in range(len(self.plan.outputs))]
            self._write_states(frame, states)
        return outputs

    @contextmanager
    def _guard(self, states: StateStore) -> Iterator[None]:
        """Mark the states when a call fails that may have changed them."""
        try:
            yield
        except BaseException as error:
            if self._changes_states:
                states.damaged = error.what if isinstance(error, GeError) else type(error).__name__
            raise

    def _output(self, frame: Frame, index: int) -> Any:
        output, array = self.plan.outputs[index], frame.outputs[index]
        return output.handed(owned(get(frame.slots[output.value])) if array is None else array)

    def _write_states(self, frame: Frame, states: StateStore) -> None:
        writes = []
        for state in self.plan.states:
            if state.write >= 0 and not state.in_place:
                value = get(frame.slots[state.write])
                of_state = self.layouts.kinds[state.write] == "state"
                writes.append((state.name, np.array(value) if of_state else value))
        for name, value in writes:
            if value.shape != states[name].shape:
                raise SizeBoundError(
                    f"the state {name!r} would become {list(value.shape)}", expected=str(states[name].type)
                )
        for name, value in writes:
            states[name].set(value)

    # Preparing steps

    def sequence(self, steps: Sequence[Step], observer: Observer | None = None) -> Run:
        """One function for a list of steps; neighbouring kernel steps go to the backend together."""
        runs: list[Run] = []
        steps = [s for s in steps if not isinstance(s, ViewStep) or self._view(s) is not None]
        at = 0
        while at < len(steps):
            step = steps[at]
            if isinstance(step, KernelStep):
                end = at + 1
                while observer is None and end < len(steps) and isinstance(steps[end], KernelStep):
                    end += 1
                series = [s for s in steps[at:end] if isinstance(s, KernelStep)]
                runs.append(_watched(step, self._kernels.prepare(self.plan, series), observer))
                at = end
                continue
            prepared = self._prepare(step, observer)
            if prepared is not None:
                runs.append(_watched(step, prepared, observer))
            at += 1

        def run(frame: Frame) -> None:
            for function in runs:
                function(frame)

        return run

    def _prepare(self, step: Step, observer: Observer | None) -> Run | None:
        if isinstance(step, HostStep):
            return host_function(self.plan, step)
        if isinstance(step, ViewStep):
            return self._view(step)
        if isinstance(step, CopyStep):
            return copy_function(self.layouts, step.source, step.target, step)
        if isinstance(step, AllocStep):
            return _alloc(step)
        if isinstance(step, FreeStep):
            return self._free(step)
        if isinstance(step, BindStep):
            return _bind(step)
        if isinstance(step, CompareStep):
            return _compare(step)
        if isinstance(step, IfStep):
            return prepare_if(self.plan, step, lambda steps: self.sequence(steps, observer))
        assert isinstance(step, LoopStep)
        return prepare_loop(self.layouts, step, lambda steps: self.sequence(steps, observer))

    def _view(self, step: ViewStep) -> Run | None:
        """Nothing, where the frame holds the view already."""
        if self.plan.values[step.value].view and self.layouts.kinds[step.value] != "dynamic":
            return None

        def look(frame: Frame) -> None:
            frame.look(step.value, step.source)

        return look

    def _free(self, step: FreeStep) -> Run:
        members = self.layouts.of_buffer[step.buffer]

        def free(frame: Frame) -> None:
            for i in members:
                frame.slots[i] = None

        return free


def _watched(step: Step, run: Run, observer: Observer | None) -> Run:
    if observer is None:
        return run

    def watched(frame: Frame) -> None:
        observer.before(step, frame)
        started = time.perf_counter()
        run(frame)
        observer.after(step, frame, time.perf_counter() - started)

    return watched


def copy_function(layouts: Layouts, source: int, target: int, step: Step) -> Run:
    """Copy one value to another; a target whose place is open takes the source as it is where that is safe."""
    plan, kind = layouts.plan, layouts.kinds[target]
    if kind in ("dynamic", "object") or not plan.values[target].view:
        lasting = layouts.kinds[source] in ("dynamic", "object", "constant", "input")

        def take(frame: Frame) -> None:
            if kind == "arena" and plan.place_of(source) == plan.place_of(target):
                frame.slots[target] = frame.slots[source]
            else:
                frame.take(target, get(frame.slots[source]), shared=not lasting)

        return take

    def copy(frame: Frame) -> None:
        value, slot = get(frame.slots[source]), frame.slots[target]
        if value.shape != slot.shape:
            raise SizeBoundError(
                f"%{plan.values[source].name} has shape {list(value.shape)}",
                where=step.loc,
                expected=f"{list(slot.shape)} of %{plan.values[target].name}",
            )
        put(slot, value)

    return copy


def _alloc(step: AllocStep) -> Run:
    def alloc(frame: Frame) -> None:
        frame.open(step.value)

    return alloc


def _bind(step: BindStep) -> Run:
    symbol, value, axis = step.symbol, step.value, step.axis

    def bind(frame: Frame) -> None:
        slot = frame.slots[value]
        n = int(get(slot).reshape(())) if axis < 0 else int(slot.shape[axis])
        if n < symbol.lo or (symbol.hi is not None and n > symbol.hi):
            top = "" if symbol.hi is None else f" to {symbol.hi}"
            raise SizeBoundError(
                f"the size {symbol.name} is {n}", where=step.loc, expected=f"{symbol.lo}{top or ' or more'}"
            )
        if frame.env.setdefault(symbol.name, n) != n:
            raise SizeBoundError(
                f"the size {symbol.name} is {n}", where=step.loc, expected=f"{frame.env[symbol.name]}, as before"
            )

    return bind


def _compare(step: CompareStep) -> Run:
    a, b = step.a, step.b

    def compare(frame: Frame) -> None:
        left, right = evaluate(a, frame.env), evaluate(b, frame.env)
        if left != right:
            raise SizeBoundError(f"%{step.name} {contradiction(a, b, left, right)}", where=step.loc)

    return compare
