"""Phase one of an import: everything in the model that is not supported, in one report."""

from __future__ import annotations

from ge_core.plugins.unsupported import Unsupported

from .findings import place
from .program import MAKE_TUPLE, SWITCH_LAYER, TUPLE_ITEM, Program, walk
from .registry import find
from .written import Written

CONTROL = frozenset({"Depend", "Load", "TensorMove", "UpdateState", "Partial", "Switch"})
CONTROL |= MAKE_TUPLE | SWITCH_LAYER | TUPLE_ITEM
"""Primitives that the converter itself knows."""


def scan(program: Program, written: Written) -> list[Unsupported]:
    """One finding for each step that nothing converts."""
    found = []
    for _, step in walk(program):
        if step.primitive is None or step.op in CONTROL:
            continue
        known = find(step.op)
        if known is None:
            found.append(Unsupported(step.op, place(step.location())))
        elif not step.primitive.function_style:
            for name in step.primitive.attributes:
                if name not in known.parameters and name not in known.ignores:
                    found.append(Unsupported(f"{step.op} with the attribute {name}", place(step.location())))
    for _, step in written.views():
        what = f"a tensor that is written while {step.op} makes a view of it"
        found.append(Unsupported(what, place(step.location())))
    return found
