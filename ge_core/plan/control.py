"""If and Loop steps as prepared functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ge_core.errors import SizeBoundError
from ge_core.ir import dims
from ge_core.ir.types import TensorType
from ge_core.plan.frame import Frame, Layouts, get, put
from ge_core.plan.impossible import refusal
from ge_core.plan.plan import ExecutionPlan, IfStep, LoopStep, Scanned, Step

Run: TypeAlias = Callable[[Frame], None]
Prepare: TypeAlias = Callable[[Sequence[Step]], Run]


def _truth(slot: Any) -> bool:
    return bool(get(slot).reshape(()))


def prepare_if(plan: ExecutionPlan, step: IfStep, sequence: Prepare) -> Run:
    """Run the branch that the condition chooses."""
    branches = [(sequence(steps), refusal(plan, steps)) for steps in (step.then_steps, step.else_steps)]

    def run(frame: Frame) -> None:
        env = dict(frame.env)
        branch, refuse = branches[0 if _truth(frame.slots[step.condition]) else 1]
        if frame.placement.impossible:
            refuse(frame.placement)
        branch(frame)
        frame.env.clear()  # what a branch defines means nothing outside
        frame.env.update(env)

    return run


def prepare_loop(layouts: Layouts, step: LoopStep, sequence: Prepare) -> Run:
    """Run the body round by round."""
    body, refuse = sequence(step.body), refusal(layouts.plan, step.body)
    loop = _Loop(layouts, step)

    def run(frame: Frame) -> None:
        slots, env = frame.slots, dict(frame.env)
        trips = loop.trips(frame)
        go_on = step.condition < 0 or _truth(slots[step.condition])
        loop.start(frame)
        lines = loop.lines(frame)
        collected: list[list[np.ndarray]] = [[] for _ in step.scan_outputs]
        i = 0
        while go_on and (trips is None or i < trips):
            if frame.placement.impossible:
                refuse(frame.placement)
            loop.open_round(frame, i, lines, go_on)
            body(frame)
            loop.collect(frame, i, trips, collected)
            go_on = step.condition_result < 0 or _truth(slots[step.condition_result])
            loop.carry(frame)
            frame.env.clear()  # each round defines its sizes anew
            frame.env.update(env)
            i += 1
        loop.finish(frame, collected)

    return run


class _Loop:
    """The parts of a round that are not steps of the body."""

    def __init__(self, layouts: Layouts, step: LoopStep) -> None:
        self.layouts, self.step, self.plan = layouts, step, layouts.plan
        self.node = self.plan.node(step.node)

    def trips(self, frame: Frame) -> int | None:
        """The most rounds; None for no limit."""
        step = self.step
        if step.scan_inputs:
            lengths = {frame.slots[s.whole].shape[s.axis] for s in step.scan_inputs}
            if len(lengths) > 1:
                raise SizeBoundError(f"scanned inputs have lengths {sorted(lengths)}", where=step.loc)
            return int(lengths.pop())
        return int(get(frame.slots[step.trip]).reshape(())) if step.trip >= 0 else None

    def start(self, frame: Frame) -> None:
        """First values of the params."""
        for c in self.step.carried:
            self._move(frame, c.initial, c.param)

    def lines(self, frame: Frame) -> list[np.ndarray]:
        """The scanned inputs with the rounds as their first axis, in order."""
        found = []
        for s in self.step.scan_inputs:
            whole = get(frame.slots[s.whole])
            line = whole if s.axis == 0 else np.moveaxis(whole, s.axis, 0)
            found.append(line[::-1] if s.reverse else line)
        return found

    def open_round(self, frame: Frame, i: int, lines: Sequence[np.ndarray], go_on: bool) -> None:
        """Write the params that change from round to round by themselves."""
        step = self.step
        if step.counter >= 0:
            self._write(frame, step.counter, np.array(i, np.int64))
        if step.condition_param >= 0:
            self._write(frame, step.condition_param, np.array(go_on))
        for s, line in zip(step.scan_inputs, lines, strict=True):
            self._write(frame, s.slice, line[i], shared=True)

    def collect(self, frame: Frame, i: int, trips: int | None, collected: list[list[np.ndarray]]) -> None:
        """Take this round's elements of the stacked outputs."""
        for s, elements in zip(self.step.scan_outputs, collected, strict=True):
            element = get(frame.slots[s.slice])
            if not s.direct:
                elements.append(np.array(element))
                continue
            assert trips is not None
            at = trips - 1 - i if s.reverse else i
            whole, place = frame.slots[s.whole], (slice(None),) * s.axis + (at,)
            self._check(element, whole.shape[: s.axis] + whole.shape[s.axis + 1 :], s.slice, s.whole)
            if isinstance(whole, np.ndarray):
                whole[place] = element
            else:
                array = whole.load().copy()
                array[place] = element
                whole.store(array)

    def carry(self, frame: Frame) -> None:
        """Results become the params of the next round."""
        step = self.step
        if not step.staged:
            for c in step.carried:
                self._move(frame, c.result, c.param)
            return
        held = []
        for c in step.carried:
            value = get(frame.slots[c.result])
            held.append(np.array(value) if isinstance(value, np.ndarray) else value)
        for c, value in zip(step.carried, held, strict=True):
            self._write(frame, c.param, value)

    def finish(self, frame: Frame, collected: list[list[np.ndarray]]) -> None:
        """Hand out the carried and the stacked values."""
        for c in self.step.carried:
            self._move(frame, c.param, c.final)
        for s, elements in zip(self.step.scan_outputs, collected, strict=True):
            if not s.direct:
                self._write(frame, s.whole, self._stacked(frame, s, elements))

    def _stacked(self, frame: Frame, s: Scanned, elements: list[np.ndarray]) -> np.ndarray:
        """Elements along a new axis; without any, the declared sizes (0 where no round has told one)."""
        if elements:
            shapes = {e.shape for e in elements}
            if len(shapes) > 1:
                raise SizeBoundError(
                    f"rounds give results of shapes {sorted(map(list, shapes))}", where=self.step.loc,
                    expected="one shape, since they are stacked",
                )  # fmt: skip
            return np.stack(elements[::-1] if s.reverse else elements, axis=s.axis)
        type = self.plan.values[s.whole].type
        assert isinstance(type, TensorType) and type.shape is not None
        known = frame.env.keys()
        shape = [dims.evaluate(d, frame.env) if {x.name for x in dims.symbols(d)} <= known else 0 for d in type.shape]
        shape[s.axis] = 0
        return np.zeros(shape, type.dtype.numpy)

    def _move(self, frame: Frame, source: int, target: int) -> None:
        """Let `target` be what `source` is."""
        kind = self.layouts.kinds[target]
        if self.plan.place_of(source) == self.plan.place_of(target):
            if not self._settled(target):
                frame.slots[target] = frame.slots[source]
            return
        value = get(frame.slots[source])
        if kind in ("dynamic", "object"):
            lasting = self.layouts.kinds[source] in ("dynamic", "object", "constant", "input")
            frame.take(target, value, shared=not lasting)
        else:
            self._write(frame, target, value, source)

    def _settled(self, value: int) -> bool:
        return self.plan.values[value].view and self.layouts.kinds[value] not in ("dynamic", "object")

    def _write(self, frame: Frame, target: int, value: Any, source: int = -1, shared: bool = False) -> None:
        if not self._settled(target):
            frame.take(target, value, shared)
            return
        slot = frame.slots[target]
        self._check(value, slot.shape, source, target)
        put(slot, value)

    def _check(self, value: Any, shape: tuple[int, ...], source: int, target: int) -> None:
        if value.shape != shape:
            name = self.plan.values[source].name if source >= 0 else "a value"
            raise SizeBoundError(
                f"%{name} has shape {list(value.shape)}",
                where=self.step.loc,
                expected=f"{list(shape)} of %{self.plan.values[target].name}",
            )
