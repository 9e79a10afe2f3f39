"""Constants as kernels read them: packed at build, once, and stored so; what recipes make becomes a constant too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.places import PreparedKey, prepare, prepared_key
from ge_core.errors import BackendError
from ge_core.ir.graph import Constant
from ge_core.ir.types import Layout
from ge_core.plan.plan import ExecutionPlan, KernelStep
from ge_core.plan.storage import constant_bytes, stored_constant


def pack_weights(plans: Mapping[str, ExecutionPlan]) -> dict[str, Any]:
    """Keep the constants of some plans in their layouts and add the prepared ones, in place.

    Returns:
        For the artifact's metadata: per entry, the constant that each prepared key became.
    """
    packed: dict[tuple[Constant, Layout], Constant] = {}
    made: dict[tuple[tuple[Constant, ...], str], Constant] = {}
    found: dict[str, Any] = {}
    for name, plan in plans.items():
        _pack(plan, packed)
        rows = _add_prepared(plan, made).items()
        found[name] = [[list(indices), text, index] for (indices, text), index in rows]
    return found


def _pack(plan: ExecutionPlan, packed: dict[tuple[Constant, Layout], Constant]) -> None:
    for index, (value, layout) in enumerate(zip(plan.graph.constants, plan.layouts, strict=True)):
        if layout is None or layout.is_row_major:
            continue
        constant = plan.constants[index]
        key = (constant, layout)
        if key not in packed:
            packed[key] = stored_constant(constant.type, layout, constant_bytes(constant, layout), constant.source)
        plan.constants[index] = value.constant = packed[key]


def _add_prepared(
    plan: ExecutionPlan, made: dict[tuple[tuple[Constant, ...], str], Constant]
) -> dict[PreparedKey, int]:
    found: dict[PreparedKey, int] = {}
    for step in plan.all_steps():
        if not isinstance(step, KernelStep):
            continue
        for name in step.data.get("prepared", {}):
            key = prepared_key(plan, step, name)
            if key in found:
                continue
            sources = tuple(plan.constants[i] for i in key[0]), key[1]
            if sources not in made:
                made[sources] = Constant.of(prepare(plan, step, name))
            found[key] = len(plan.constants)
            plan.graph.add_constant(made[sources], f"{step.name}_prepared")
            plan.constants.append(made[sources])
            plan.layouts.append(None)
    return found


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
