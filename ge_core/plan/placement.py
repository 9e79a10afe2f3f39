"""Places for the shapes of a call: sizes evaluated, buffers placed again, results kept for shapes seen lately.

A plan with gears is placed once for each gear; a call evaluates its sizes and takes the places of its gear.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ge_core.errors import PlanError
from ge_core.ir.types import TensorType
from ge_core.memory import CompoundBuffer, Effort, MemoryPlan, Rect, place, validate
from ge_core.passes.base import debug_from_environment
from ge_core.plan.gears import GearBox, reach
from ge_core.plan.plan import Buffer, ExecutionPlan
from ge_core.plan.required import contradiction
from ge_core.plan.sizes import SizeTable, names_in, upper_bound

REMEMBERED = 64
"""Shapes whose placement is kept."""


@dataclass(frozen=True)
class Placement:
    """Everything about a plan that depends on the shapes of a call.

    Attributes:
        env: symbol values by name.
        memory: the arena's plan.
        starts: per buffer its offset in the arena, -1 for buffers that are elsewhere.
        sizes: per buffer its bytes (an upper bound where data decide), -1 where unknown.
        shapes: per value its shape, None where a call cannot know it.
        offsets: per value its bytes from the start of its buffer.
        geared: the arena is as large for every shape, so that one serves all.
        impossible: values that nothing may compute, and why: a size is below zero (`shapes` has 0 for it), or sizes
            differ that must be equal; see `ge_core.plan.impossible`.
    """

    env: Mapping[str, int]
    memory: MemoryPlan
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    shapes: tuple[tuple[int, ...] | None, ...]
    offsets: tuple[int, ...]
    geared: bool = False
    impossible: Mapping[int, str] = field(default_factory=dict)

    @property
    def arena(self) -> int:
        """Bytes of the arena."""
        return self.memory.size


class Placer:
    """Places the buffers of one plan; safe to use from several threads."""

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan = plan
        self._names = tuple(s.name for s in plan.symbols)
        self._table = SizeTable(self._names)
        self._shapes = [self._shape(v.type) if v.view else None for v in plan.values]
        self._offsets = [self._table.add(v.offset) for v in plan.values]
        self._required = [(r.value, self._table.add(r.a), self._table.add(r.b)) for r in plan.required]
        self._sizes: list[int | None] = []
        self._rects: list[tuple[tuple[int, int, int, int], ...]] = []
        for buffer in plan.buffers:
            self._add(buffer)
        self._kept: OrderedDict[tuple[int, ...], Placement] = OrderedDict()
        self._box = GearBox(plan.symbols, plan.gears) if plan.gears else None
        self._gears: OrderedDict[tuple[int, ...], MemoryPlan] = OrderedDict()
        self._lock = threading.Lock()

    def at(self, values: Sequence[int], effort: Effort = "fast") -> Placement:
        """The placement for symbol values in the order of `plan.symbols`."""
        key = tuple(values)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        memory = None if self._box is None else self._geared(self._box, key)
        found = self._place(key, memory, effort if key else "default")
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)
        return found

    def keep(self, values: Sequence[int], memory: MemoryPlan) -> Placement:
        """Take a placement that was made before (at compile time) for these symbol values; gears are placed anew."""
        key = tuple(values)
        if self._box is not None:
            return self.at(key)
        self._kept[key] = found = self._place(key, memory, "default")
        return found

    def compound(self, values: Sequence[int], *, outputs: bool = False) -> list[CompoundBuffer]:
        """What the memory planner gets: the buffers of the arena, sizes evaluated.

        Args:
            outputs: with the outputs that are computed in the caller's memory, to see what is live at once.
        """
        return self._compound(values, self._table.evaluate(tuple(values)), ("arena", "output")[: 1 + outputs])

    def _shape(self, type: object) -> tuple[int, ...] | None:
        assert isinstance(type, TensorType) and type.shape is not None
        return tuple(self._table.add(d) for d in type.shape)

    def _add(self, buffer: Buffer) -> None:
        known = buffer.size is not None and names_in([buffer.size]) <= set(self._names)
        self._sizes.append(self._table.add(buffer.size) if known and buffer.size is not None else None)
        if known:
            self._rects.append(
                tuple((self._table.add(e.offset), self._table.add(e.size), e.start, e.end) for e in buffer.extents)
            )
        else:
            self._rects.append(())

    def _compound(
        self, values: Sequence[int], sizes: Sequence[int], kinds: Sequence[str] = ("arena",)
    ) -> list[CompoundBuffer]:
        found = []
        for buffer, known, rects in zip(self.plan.buffers, self._sizes, self._rects, strict=True):
            if buffer.kind not in kinds:
                continue
            if known is not None:
                shape = tuple(Rect(max(sizes[o], 0), max(sizes[n], 0), start, end) for o, n, start, end in rects)
            else:
                shape = self._bounded(buffer, values)
            found.append(CompoundBuffer(buffer.name, shape, buffer.alignment))
        return found

    def _geared(self, box: GearBox, values: tuple[int, ...]) -> MemoryPlan:
        """The plan of the gear that serves some sizes; where all gears are known, all arenas are the largest."""
        gear = box.of(values)
        with self._lock:
            found = self._gears.get(gear)
            if found is None:
                every = box.all()
                for each in every or [gear]:
                    self._gears[each] = place(self._ranged(box, each))
                if every:
                    size = max(memory.size for memory in self._gears.values())
                    for each, memory in self._gears.items():
                        self._gears[each] = replace(memory, size=size)
                while every is None and len(self._gears) > REMEMBERED:
                    self._gears.popitem(last=False)
                found = self._gears[gear]
        return found

    def _ranged(self, box: GearBox, gear: tuple[int, ...]) -> list[CompoundBuffer]:
        """The buffers of the arena, each extent all the bytes that it reaches for sizes of a gear."""
        ranges = box.ranges(gear)
        found = []
        for buffer in self.plan.buffers:
            if buffer.kind != "arena":
                continue
            rects = []
            for extent in buffer.extents:
                span = reach(extent.offset, extent.size, ranges)
                if span is None:
                    raise PlanError(f"the buffer {buffer.name} of {buffer.size} bytes has no upper bound")
                rects.append(Rect(span[0], span[1] - span[0], extent.start, extent.end))
            found.append(CompoundBuffer(buffer.name, tuple(rects), buffer.alignment))
        return found

    def _bounded(self, buffer: Buffer, values: Sequence[int]) -> tuple[Rect, ...]:
        """The extents of a buffer whose size depends on data, at its upper bound."""
        size = self._bound(buffer, values)
        return tuple(Rect(0, size, e.start, e.end) for e in buffer.extents)

    def _bound(self, buffer: Buffer, values: Sequence[int]) -> int:
        assert buffer.size is not None
        size = upper_bound(buffer.size, dict(zip(self._names, values, strict=True)))
        if size is None:
            raise PlanError(f"the buffer {buffer.name} of {buffer.size} bytes has no upper bound")
        return max(size, 0)

    def _place(self, values: tuple[int, ...], memory: MemoryPlan | None, effort: Effort) -> Placement:
        sizes = self._table.evaluate(values)
        if memory is None or debug_from_environment():
            buffers = self._compound(values, sizes)
            memory = memory or place(buffers, effort=effort)
            if debug_from_environment():
                check(buffers, memory)
        starts = tuple(memory.offsets.get(b.name, -1) if b.kind == "arena" else -1 for b in self.plan.buffers)
        known = []
        for buffer, index in zip(self.plan.buffers, self._sizes, strict=True):
            if index is not None:
                known.append(max(sizes[index], 0))
            else:
                known.append(self._bound(buffer, values) if buffer.kind == "arena" else -1)
        shapes = [None if s is None else tuple(sizes[i] for i in s) for s in self._shapes]
        impossible = self._impossible(sizes, shapes)
        return Placement(
            dict(zip(self._names, values, strict=True)),
            memory,
            starts,
            tuple(known),
            tuple(shapes),
            tuple(max(sizes[i], 0) for i in self._offsets),
            self._box is not None,
            impossible,
        )

    def _impossible(self, sizes: Sequence[int], shapes: list[tuple[int, ...] | None]) -> dict[int, str]:
        """What cannot be computed for these sizes, and why; makes negative sizes 0."""
        found: dict[int, str] = {}
        if min(sizes, default=0) < 0:
            for i, shape in enumerate(shapes):
                if shape is not None and min(shape, default=0) < 0:
                    found[i] = f"would have the shape {list(shape)}"
                    shapes[i] = tuple(max(size, 0) for size in shape)
        for required, (value, a, b) in zip(self.plan.required, self._required, strict=True):
            if sizes[a] != sizes[b]:
                found.setdefault(value, contradiction(required.a, required.b, sizes[a], sizes[b]))
        return found


def check(buffers: Sequence[CompoundBuffer], memory: MemoryPlan) -> None:
    """Have the independent validator look at a placement.

    Raises:
        PlanError: it finds something.
    """
    verdicts = validate(buffers, memory)
    if verdicts:
        raise PlanError(
            "the memory plan is not valid",
            details=[f"{v.kind}: {v.buffer} {v.other} {v.detail}" for v in verdicts[:20]],
            fix="this is a fault of ge: please report it with the model",
        )
