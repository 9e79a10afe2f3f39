"""The shortest way into native code: one function for calls with plain arrays of fixed shapes.

Where a whole call takes a few microseconds, what the interpreter does around it is what it costs: here every look at
an attribute counts. Anything but the usual case is left to `StraightPlan.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ge_backend_cpu.context import Context, address_of, raise_status
from ge_backend_cpu.straight import StraightPlan
from ge_core.ir.types import TensorType

Call: TypeAlias = Callable[[Sequence[Any]], "list[Any] | None"]


def direct_call(plan: StraightPlan) -> Call | None:
    """A function of the arguments that returns the outputs, or None where the arguments are not plain; None where
    the plan is one whose calls need more."""
    if (
        not plan.one_table
        or plan.fixed is None
        or plan.own is None
        or plan.plan.states
        or plan.poisons
        or plan.bound.packed
    ):
        return None
    shapes, placement, table = plan.fixed
    if not table.alone:
        return None
    wanted = []
    for value, shape in zip(plan.plan.input_values, shapes, strict=True):
        assert isinstance(value.type, TensorType)
        wanted.append((value.type.dtype.numpy, shape, np.empty(shape, value.type.dtype.numpy).strides))
    count, outputs_of = len(wanted), plan.own
    inputs, outputs = plan.bound.inputs, plan.bound.outputs
    idle: list[tuple[Context, np.ndarray, int]] = []
    run, team = plan.team.runtime.run, plan.team
    empty, array_type = plan.empty, np.ndarray

    def context() -> tuple[Context, np.ndarray, int]:
        made = Context(plan.places)
        made.use(table)
        made.take_arena(placement.memory.size)
        return made, made.bases, made.address

    def call(args: Sequence[Any]) -> list[Any] | None:
        if len(args) != count:
            return None
        for array, (dtype, shape, strides) in zip(args, wanted, strict=True):
            if type(array) is not array_type or array.dtype is not dtype:
                return None
            if array.shape != shape or array.strides != strides:
                return None
        try:
            own = idle.pop() if idle else context()
        except (IndexError, MemoryError):  # another thread was faster, or the long way is to report it
            return None
        bases = own[1]
        for number, i in inputs:
            bases[number] = address_of(args[i])
        found = [empty(shape, dtype) for shape, dtype in outputs_of]
        for number, i in outputs:
            bases[number] = address_of(found[i])
        code = run(team.address, own[2], True)  # a fork gives the team another address
        idle.append(own)
        if code:
            raise_status(plan.plan, plan.steps, table, code)
        return found

    return call
