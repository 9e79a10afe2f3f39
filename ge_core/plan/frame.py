"""The memory of one run: an arena, and the numpy views of all values that lie in it.

A frame is made for one placement and used again by later calls with the same shapes, so that a call makes views of
nothing but its inputs, outputs and states.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.errors import OutOfMemoryError, PlanError, SizeBoundError
from ge_core.ir import dims
from ge_core.ir.types import TensorType
from ge_core.plan.aligned import aligned_bytes
from ge_core.plan.placement import Placement
from ge_core.plan.plan import BufferKind, ExecutionPlan, PlannedValue
from ge_core.plan.states import StateStore
from ge_core.plan.storage import Codec, codec, constant_bytes


class Packed:
    """What stands in a slot for a value that has no numpy view: less than a byte per element, blocks, halos."""

    __slots__ = ("codec", "data", "shape")

    def __init__(self, codec: Codec, data: np.ndarray, shape: tuple[int, ...]) -> None:
        self.codec, self.data, self.shape = codec, data, shape

    def load(self) -> np.ndarray:
        """The logical array (do not write to it)."""
        return self.codec.load(self.data, self.shape)

    def store(self, array: np.ndarray) -> None:
        """Write the logical array."""
        self.codec.store(self.data, self.shape, array)


Slot = Any
"""An array, a Packed, a Python object (sequences, strings), or None while there is no value."""


def opened(place: Codec, data: np.ndarray, shape: tuple[int, ...]) -> Slot:
    """The slot of a value in some bytes."""
    return place.view(data, shape) if place.writable else Packed(place, data, shape)


def put(slot: Slot, array: np.ndarray) -> None:
    """Write an array of the same dtype and shape into a slot's bytes."""
    if isinstance(slot, Packed):
        slot.store(array)
    else:
        np.copyto(slot, array)


def get(slot: Slot) -> Any:
    """The value in a slot as kernels take it."""
    return slot.load() if isinstance(slot, Packed) else slot


class Layouts:
    """What frames of one plan share: codecs, kinds, and the views of constants."""

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan = plan
        self.codecs: list[Codec | None] = []
        self.kinds: list[BufferKind] = []
        for value in plan.values:
            kind = plan.buffers[value.buffer].kind
            self.codecs.append(_codec_of(value) if kind != "object" else None)
            self.kinds.append(kind)
        self._constants: dict[int, np.ndarray] = {}
        self.members: dict[BufferKind, list[int]] = {}
        for i, kind in enumerate(self.kinds):
            if plan.values[i].view and self.codecs[i] is not None:
                self.members.setdefault(kind, []).append(i)
        self.of_buffer: dict[int, list[int]] = {}
        for i, value in enumerate(plan.values):
            self.of_buffer.setdefault(value.buffer, []).append(i)

    def constant(self, index: int) -> np.ndarray:
        """The bytes of a constant, as its kernels read it."""
        if index not in self._constants:
            self._constants[index] = constant_bytes(self.plan.constants[index], self.plan.layouts[index])
        return self._constants[index]


def _codec_of(value: PlannedValue) -> Codec | None:
    type = value.type
    if not isinstance(type, TensorType) or type.dtype.kind == "string":
        return None
    return codec(type.dtype, value.layout)


class Frame:
    """The memory of one run.

    Attributes:
        slots: by value number.
        env: symbol values, data-dependent ones as they become known.
        arena: uint8.
        states: of the session of the present call.
    """

    def __init__(self, layouts: Layouts, placement: Placement, arena: np.ndarray | None = None) -> None:
        plan = layouts.plan
        self.plan, self.layouts, self.placement = plan, layouts, placement
        self.arena = aligned_bytes(placement.arena) if arena is None else arena
        self.slots: list[Slot] = [None] * len(plan.values)
        self.env: dict[str, int] = {}
        self.inputs: Sequence[Any] = ()
        self.outputs: list[np.ndarray | None] = []
        self.states: StateStore | None = None
        for i in layouts.members.get("arena", ()):
            start = placement.starts[plan.values[i].buffer]
            self.slots[i] = self._open(i, self.arena[start:])
        for i, value in enumerate(plan.values):
            buffer = plan.buffers[value.buffer]
            if buffer.kind == "constant":
                self.slots[i] = self._constant(i, buffer.index)
        self._resident = list(self.slots)
        self._per_call = [i for kind in ("input", "output") for i in layouts.members.get(kind, ())]

    def begin(self, inputs: Sequence[Any], states: StateStore) -> None:
        """Take a call's inputs and states, and memory for its outputs."""
        plan, placement = self.plan, self.placement
        self.slots[:] = self._resident
        self.env.clear()
        self.env.update(placement.env)
        self.inputs, self.states = inputs, states
        self.outputs = [None] * len(plan.outputs)
        data: dict[int, np.ndarray] = {}
        for i, output in enumerate(plan.outputs):
            if output.buffer >= 0:
                value = plan.values[output.value]
                shape = placement.shapes[output.value]
                assert isinstance(value.type, TensorType) and shape is not None
                array = self.outputs[i] = np.empty(shape, value.type.dtype.numpy)
                data[output.buffer] = array.reshape(-1).view(np.uint8)
        for slot, given in zip(plan.inputs, inputs, strict=True):
            self.slots[slot] = given
        for i in self._per_call:
            value = plan.values[i]
            if self.slots[i] is not None:
                continue
            buffer = plan.buffers[value.buffer]
            if value.buffer not in data:
                data[value.buffer] = inputs[buffer.index].reshape(-1).view(np.uint8)
            self.slots[i] = self._open(i, data[value.buffer])
        for i in self.layouts.members.get("state", ()):
            name = plan.states[plan.buffers[plan.values[i].buffer].index].name
            self.slots[i] = self._open(i, states[name].data)

    def end(self) -> None:
        """Let go of everything that belongs to the call."""
        self.slots[:] = self._resident
        self.inputs, self.outputs, self.states = (), [], None

    def address(self, value: int) -> int:
        """Where the bytes of a value begin, for native kernels."""
        slot = self.slots[value]
        data = slot.data if isinstance(slot, Packed) else slot
        return int(data.ctypes.data)

    def workspace(self, buffer: int) -> np.ndarray:
        """The bytes of a step's scratch buffer."""
        start = self.placement.starts[buffer]
        return self.arena[start : start + self.placement.sizes[buffer]]

    def shape(self, value: int) -> tuple[int, ...]:
        """A value's shape for the sizes known by now.

        Raises:
            SizeBoundError: one of them is below zero.
        """
        known = self.placement.shapes[value]
        if known is not None:
            return known
        type = self.plan.values[value].type
        assert isinstance(type, TensorType) and type.shape is not None
        shape = tuple(dims.evaluate(d, self.env) for d in type.shape)
        if min(shape, default=0) < 0:
            raise SizeBoundError(
                f"%{self.plan.values[value].name} would have the shape {list(shape)}", expected="larger inputs"
            )
        return shape

    def open(self, value: int, shape: tuple[int, ...] | None = None) -> Slot:
        """Make room for a value whose shape became known during the run, and fill its slot.

        Raises:
            SizeBoundError: it is larger than the bound for which its buffer was placed.
            OutOfMemoryError: there is no memory of that size.
        """
        shape = self.shape(value) if shape is None else shape
        place, planned = self.layouts.codecs[value], self.plan.values[value]
        kind = self.layouts.kinds[value]
        if place is None:
            raise PlanError(f"%{planned.name} has no bytes")
        if kind == "dynamic":
            try:
                data = aligned_bytes(place.nbytes(shape))
            except (MemoryError, ValueError) as error:  # of what can be counted, and beyond
                raise OutOfMemoryError(f"%{planned.name} has shape {list(shape)}", expected="smaller sizes") from error
        elif kind == "arena":
            start, size = self.placement.starts[planned.buffer], self.placement.sizes[planned.buffer]
            if place.nbytes(shape) + self.placement.offsets[value] > size:
                raise SizeBoundError(
                    f"%{planned.name} has shape {list(shape)}", expected=f"{planned.type} in at most {size} bytes"
                )
            data = self.arena[start + self.placement.offsets[value] : start + size]
        else:
            raise PlanError(f"%{planned.name} lies in {kind} memory, whose shape is fixed before a call")
        self.slots[value] = slot = opened(place, data, shape)
        return slot

    def take(self, value: int, result: Any, shared: bool) -> None:
        """Keep a result whose place is not known before: in its bounded place, or as it comes.

        Args:
            shared: whether the result may share memory with something that changes later.
        """
        if self.layouts.kinds[value] == "arena":
            put(self.open(value, tuple(result.shape)), result)
        elif isinstance(result, np.ndarray) and self.layouts.codecs[value] is not None:
            self.slots[value] = (
                np.array(result, order="C") if shared else np.ascontiguousarray(result).reshape(result.shape)
            )
        else:
            self.slots[value] = owned(result) if shared else result

    def look(self, value: int, source: int) -> None:
        """Fill the slot of a view of a value whose place is not known before."""
        planned, place = self.plan.values[value], self.layouts.codecs[value]
        assert place is not None
        slot = self.slots[source]
        data = slot.data if isinstance(slot, Packed) else slot.reshape(-1).view(np.uint8)
        offset = self.placement.offsets[value] - self.placement.offsets[source]
        shape = self.shape(value)
        if offset < 0 or offset + place.nbytes(shape) > len(data):
            raise PlanError(f"%{planned.name} does not lie inside what it views")
        self.slots[value] = opened(place, data[offset:], shape)

    def _open(self, value: int, data: np.ndarray) -> Slot:
        """The slot of a value whose shape the call knows, in the bytes of its buffer."""
        place, shape = self.layouts.codecs[value], self.placement.shapes[value]
        assert place is not None and shape is not None
        offset = self.placement.offsets[value]
        return opened(place, data[offset:], shape)

    def _constant(self, value: int, index: int) -> Slot:
        if self.layouts.codecs[value] is None:
            return self.plan.constants[index].array()
        return self._open(value, self.layouts.constant(index))


def owned(result: Any) -> Any:
    """A result that shares no memory with anything: arrays inside sequences too."""
    if isinstance(result, np.ndarray):
        return np.array(result)
    if isinstance(result, list):
        return [owned(item) for item in result]
    return result


class FramePool:
    """Frames that wait for the next call. Two shapes are kept, so that prefill and decode do not fight over one."""

    KEPT = 2
    SLACK = 1 << 20

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts
        self._idle: list[Frame] = []
        self._lock = threading.Lock()

    def acquire(self, placement: Placement) -> Frame:
        """A frame for a placement that nobody else uses."""
        arena: np.ndarray | None = None
        with self._lock:
            for i, frame in enumerate(self._idle):
                if frame.placement is placement:
                    return self._idle.pop(i)
            if len(self._idle) >= self.KEPT or (placement.geared and self._idle):
                arena = self._idle.pop(0).arena
        if arena is not None and not placement.arena <= len(arena) <= 2 * placement.arena + self.SLACK:
            arena = None
        return Frame(self._layouts, placement, arena)

    def release(self, frame: Frame) -> None:
        """Give a frame back."""
        frame.end()
        with self._lock:
            self._idle.append(frame)
            if len(self._idle) > self.KEPT:
                self._idle.pop(0)

    def held(self) -> int:
        """Bytes of all waiting arenas."""
        with self._lock:
            return sum(len(frame.arena) for frame in self._idle)
