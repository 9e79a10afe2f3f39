"""Constants as kernels read them: packed at build, once, and stored so.

What a recipe makes becomes a constant of the graph too, so that it lies in the file and costs nothing at load. Where
the recipe is a layout of a constant that nothing else reads, there is no second one: the constant is kept in it.

Weights that lie in a file are packed when the model is called for the first time, or one after another while it is
saved; absent ones never, so that such a model is compiled and planned, but not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ge_backend_cpu.kernel import Recipe, recipe_layout
from ge_backend_cpu.places import PreparedKey, made, prepared_key
from ge_core.errors import BackendError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import uint8
from ge_core.ir.types import Layout, TensorType
from ge_core.plan.plan import ExecutionPlan, KernelStep
from ge_core.plan.storage import constant_bytes, static_shape, stored_constant


def pack_weights(plans: Mapping[str, ExecutionPlan], share: bool = False) -> dict[str, Any]:
    """Keep the constants of some plans in their layouts and add the prepared ones, in place.

    Args:
        share: constants that stay as they are go on sharing memory with the original model; else they are copied.

    Returns:
        For the artifact's metadata: per entry, the constant that each prepared key became.
    """
    packer, found = _Packer(), {}
    for name, plan in plans.items():
        rows = packer.run(plan).items()
        found[name] = [[list(indices), text, index] for (indices, text), index in rows]
        if not share:
            packer.own(plan)
    return found


class _Packer:
    """Equal wishes of several entries give the same constants."""

    def __init__(self) -> None:
        self._packed: dict[tuple[Constant, Layout], Constant] = {}
        self._made: dict[tuple[tuple[Constant, ...], str], Constant] = {}
        self._copies: dict[tuple[object, ...], Constant] = {}
        self._originals: list[Constant] = []

    def run(self, plan: ExecutionPlan) -> dict[PreparedKey, int]:
        wishes = {key: (step, recipe) for key, step, recipe in _prepared(plan)}
        found = self._kept_as_prepared(plan, wishes)
        for key, (step, recipe) in wishes.items():
            if key not in found:
                found[key] = len(plan.constants)
                constant = self._prepared(plan, key, recipe)
                plan.graph.add_constant(constant, f"{step.name}_prepared")
                plan.constants.append(constant)
                plan.layouts.append(None)
        for index, value in enumerate(plan.graph.constants):
            layout = plan.layouts[index]
            if layout is not None and not layout.is_row_major:
                value.layout = layout
                plan.constants[index] = value.constant = self._stored(plan.constants[index], layout)
        return found

    def own(self, plan: ExecutionPlan) -> None:
        """Copy what still lies in the original model's memory: constants, and the first values of states."""
        mine = {id(constant) for constant in (*self._packed.values(), *self._made.values())}
        for index, value in enumerate(plan.graph.constants):
            constant, layout = plan.constants[index], plan.layouts[index]
            packed = layout is not None and not layout.is_row_major  # from a file, and then no view of it
            if id(constant) not in mine and not packed:
                plan.constants[index] = value.constant = self._copied(constant)
        for state in plan.graph.states:
            state.initial = self._copied(state.initial)

    def _copied(self, constant: Constant) -> Constant:
        if constant.residence != "memory":
            return self._apart(constant)
        array = constant.array()
        key: tuple[object, ...] = (array.__array_interface__["data"][0], array.shape, array.strides, str(array.dtype))
        if constant.stored is not None:
            key = (id(constant),)  # the array was made just now, and its address means nothing
        if key not in self._copies:
            made = Constant.of(np.array(array, order="C"), constant.type.dtype)
            made.source = constant.source
            self._copies[key] = made
            self._originals.append(constant)  # else its memory, and so its key, could come again
        return self._copies[key]

    def _apart(self, constant: Constant) -> Constant:
        """A constant outside of memory, that is copied when it is used, since its file may change after that."""
        if (id(constant),) not in self._copies:
            self._copies[id(constant),] = Constant(
                constant.type, lambda: np.array(constant.array(), order="C"), constant.source, constant.residence
            )
            self._originals.append(constant)
        return self._copies[id(constant),]

    def _kept_as_prepared(self, plan: ExecutionPlan, wishes: Mapping[PreparedKey, Any]) -> dict[PreparedKey, int]:
        """Give layouts to constants that one recipe alone reads, where the recipe is a layout."""
        found: dict[PreparedKey, int] = {}
        wanted = [index for indices, _ in wishes for index in indices]
        direct = _read_directly(plan)
        for key, (_, recipe) in wishes.items():
            indices, _ = key
            if len(indices) != 1 or indices[0] in direct or wanted.count(indices[0]) > 1:
                continue
            (index,) = indices
            layout = recipe_layout(recipe, plan.constants[index].type)
            if layout is not None and plan.layouts[index] is None:
                plan.layouts[index] = layout
                found[key] = index
        return found

    def _prepared(self, plan: ExecutionPlan, key: PreparedKey, recipe: Recipe) -> Constant:
        sources = tuple(plan.constants[i] for i in key[0])
        name = sources, key[1]
        if name not in self._made:
            if all(constant.residence == "memory" for constant in sources):
                self._made[name] = Constant.of(made(recipe, [c.array() for c in sources]))
            else:
                self._made[name] = _made_later(recipe, sources)
        return self._made[name]

    def _stored(self, constant: Constant, layout: Layout) -> Constant:
        if constant.residence != "memory":
            return constant  # its bytes are made in this layout when they are used
        key = (constant, layout)
        if key not in self._packed:
            data = constant_bytes(constant, layout)
            self._packed[key] = stored_constant(constant.type, layout, data, constant.source)
        return self._packed[key]


def _made_later(recipe: Recipe, sources: Sequence[Constant]) -> Constant:
    """A prepared constant that is made when it is used; how large it is, zeros in place of the data tell."""
    zeros = [np.broadcast_to(np.zeros((), c.type.dtype.numpy), static_shape(c.type)) for c in sources]
    size = made(recipe, zeros).nbytes
    type = TensorType(uint8, (size,))
    return Constant.derived(type, sources, lambda: made(recipe, [c.array() for c in sources]), sources[0].source)


def _prepared(plan: ExecutionPlan) -> Iterator[tuple[PreparedKey, KernelStep, Recipe]]:
    """Every prepared constant that a step of a plan reads."""
    for step in plan.all_steps():
        if isinstance(step, KernelStep):
            for name, data in step.data.get("prepared", {}).items():
                yield prepared_key(plan, step, name), step, Recipe.from_json(data)


def _read_directly(plan: ExecutionPlan) -> set[int]:
    """Constants that something reads as they are: a host step, a copy, a launch, the caller."""
    values = {o.value for o in plan.outputs} | {s.write for s in plan.states}
    for step in plan.all_steps():
        if isinstance(step, KernelStep):
            launches = step.data.get("launches", ())
            values |= {step.inputs[o[1]] for launch in launches for o in launch["operands"] if o[0] == "in"}
        else:
            values |= set(_mentioned(step))
    buffers = {plan.values[v].buffer for v in values if v >= 0}
    return {plan.buffers[b].index for b in buffers if plan.buffers[b].kind == "constant"}


_VALUE_FIELDS = frozenset(
    {"inputs", "outputs", "value", "source", "target", "condition", "trip", "counter", "condition_param",
     "condition_result", "initial", "param", "result", "final", "whole", "slice"}
)  # fmt: skip


def _mentioned(step: Any) -> Iterator[int]:
    """The values that a step other than a kernel names."""
    for name, field in vars(step).items():
        if name in _VALUE_FIELDS:
            yield from field if isinstance(field, tuple) else (field,)
        elif name in ("carried", "scan_inputs", "scan_outputs"):
            for item in field:
                yield from _mentioned(item)


def prepared_weights(plan: ExecutionPlan, rows: Any) -> dict[PreparedKey, int]:
    """The constants that prepared keys became, from an artifact's metadata.

    Raises:
        BackendError: the metadata are damaged.
    """
    try:
        found = {(tuple(map(int, indices)), str(text)): int(index) for indices, text, index in rows}
    except (TypeError, ValueError) as error:
        raise BackendError("the artifact's metadata are damaged", fix="load the file with rebuild=True") from error
    if not all(0 <= index < len(plan.constants) for index in found.values()):
        raise BackendError("the artifact's metadata name constants that are not there")
    return found
