"""Where the operands of kernels lie: base pointers, numbered once per plan.

Base 0 is the arena. Constants and prepared constants have one base each and keep their address for the life of the
executable; inputs, outputs and states get theirs with every call, dynamic values in the middle of it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ge_backend_cpu.kernel import Recipe, recipe_of
from ge_core.errors import BackendError
from ge_core.ir.constant import refuse_absent
from ge_core.plan.aligned import aligned_bytes
from ge_core.plan.frame import Layouts
from ge_core.plan.plan import ExecutionPlan, KernelStep

PreparedKey = tuple[tuple[int, ...], str]
"""Constants' indices, and the recipe with its options as text."""


@dataclass(frozen=True)
class External:
    """A base that changes from call to call.

    Attributes:
        kind: "input", "output", "state" (index: its position), "dynamic" (index: the value), or "scratch" (index:
            the buffer of a workspace outside the arena).
    """

    number: int
    kind: str
    index: int


class Places:
    """Bases of one plan.

    Args:
        prepared: the constants that hold what recipes made, by `prepared_key`.
    """

    def __init__(self, layouts: Layouts, prepared: Mapping[PreparedKey, int]) -> None:
        self.plan, self.layouts, self._prepared = layouts.plan, layouts, prepared
        self._numbers: dict[tuple[object, ...], int] = {}
        self._data: list[np.ndarray] = []
        self._waiting: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self.fixed: list[int] = [0]
        self.externals: list[External] = []

    def value(self, value: int) -> tuple[int, bool, int]:
        """Base number of a value, whether its offset in the buffer counts, and the buffer whose start is added.

        Raises:
            BackendError: it has no bytes.
        """
        planned = self.plan.values[value]
        buffer = self.plan.buffers[planned.buffer]
        if buffer.kind == "arena":
            return 0, True, planned.buffer
        if buffer.kind == "constant":
            return self._constant(buffer.index), True, -1
        if buffer.kind in ("input", "output", "state"):
            return self._external(buffer.kind, buffer.index), True, -1
        if buffer.kind == "dynamic":
            return self._external("dynamic", value), False, -1
        raise BackendError(f"%{planned.name} has no bytes that a kernel could read")

    def scratch(self, buffer: int) -> int:
        """Base number of a workspace outside the arena."""
        return self._external("scratch", buffer)

    def prepared(self, step: KernelStep, key: str) -> int:
        """Base number of a step's prepared constant."""
        index = self._prepared.get(prepared_key(self.plan, step, key))
        if index is None:
            raise BackendError(f"%{step.name} lacks its prepared constant {key!r}", where=step.loc)
        return self._constant(index)

    def _constant(self, index: int) -> int:
        name = ("constant", index)
        if name not in self._numbers:
            self._numbers[name] = len(self.fixed)
            self._waiting.append((len(self.fixed), index))
            self.fixed.append(0)
        return self._numbers[name]

    def _external(self, kind: str, index: int) -> int:
        name = (kind, index)
        if name not in self._numbers:
            self._numbers[name] = len(self.fixed)
            self.externals.append(External(len(self.fixed), kind, index))
            self.fixed.append(0)
        return self._numbers[name]

    def bases(self) -> np.ndarray:
        """All base pointers, uint64; 0 where the call has to fill them in.

        Raises:
            GeError: constants are absent, or cannot be read from their file.
        """
        with self._lock:
            if self._waiting:
                self._look_up()
            return np.array(self.fixed, np.uint64)

    def _look_up(self) -> None:
        """Find the constants' bytes, those in files weight by weight: not before the first call."""
        refuse_absent([self.plan.constants[index] for _, index in self._waiting], "be called")
        while self._waiting:
            number, index = self._waiting[-1]
            data = self.layouts.constant(index)
            self._data.append(data)
            self.fixed[number] = data.ctypes.data
            self._waiting.pop()


def prepared_key(plan: ExecutionPlan, step: KernelStep, key: str) -> PreparedKey:
    """What a prepared constant is made from: equal keys are equal bytes.

    Raises:
        BackendError: the step has no such recipe, or an operand is no constant.
    """
    if key not in step.data.get("prepared", {}):
        raise BackendError(f"%{step.name} has no prepared constant {key!r}", where=step.loc)
    recipe = Recipe.from_json(step.data["prepared"][key])
    indices = []
    for i in recipe.inputs:
        value = step.inputs[i] if 0 <= i < len(step.inputs) else -1
        buffer = plan.buffers[plan.values[value].buffer] if value >= 0 else None
        if buffer is None or buffer.kind != "constant":
            raise BackendError(f"%{step.name} prepares operand {i}, which is no constant", where=step.loc)
        indices.append(buffer.index)
    return tuple(indices), json.dumps([recipe.recipe, dict(recipe.options)], sort_keys=True)


def made(recipe: Recipe, operands: Sequence[np.ndarray]) -> np.ndarray:
    """What a recipe makes of some constants: bytes (uint8), at an address on 64 bytes."""
    found = np.ascontiguousarray(recipe_of(recipe.recipe)(*operands, **recipe.options))
    data = aligned_bytes(found.nbytes)
    data[:] = found.reshape(-1).view(np.uint8)
    return data
