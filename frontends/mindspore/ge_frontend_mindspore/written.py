"""Which values are written in place, and so are places in memory and no plain values."""

from __future__ import annotations

from collections.abc import Iterator

from .program import MAKE_TUPLE, SWITCH_LAYER, Function, Program, Step
from .registry import find

_PASSES_ON = frozenset({"Depend", "Load", "StopGradient"})


class Written:
    """Per function the names of values that are written, directly or by a function that they are handed to.

    Args:
        program: all of its functions are looked at, until nothing is added.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names: dict[str, set[str]] = {name: set() for name in program.functions}
        changed = True
        while changed:
            changed = False
            for function in program.functions.values():
                names = self._names[function.name]
                before = len(names)
                for step in reversed(function.steps):
                    names.update(self._by(function, step, names))
                changed = changed or len(names) != before

    def of(self, function: Function) -> set[str]:
        """The names in a function."""
        return self._names[function.name]

    def views(self) -> list[tuple[Function, Step]]:
        """Steps that make a view of something that is written, or a view that is written."""
        found = []
        for function in self._program.functions.values():
            names = self._names[function.name]
            for step in function.steps:
                known = find(step.op)
                if known is not None and known.view and names & {step.output, *step.operands[:1]}:
                    found.append((function, step))
        return found

    def _by(self, function: Function, step: Step, names: set[str]) -> Iterator[str]:
        """What a step writes, or lets somebody write."""
        if step.primitive is not None:
            known = find(step.op)
            if known is not None and known.writes or step.op in _PASSES_ON and step.output in names:
                yield from step.operands[:1]
            elif step.op == "Partial" and step.operands:
                yield from self._handed(step.operands[0], 0, step.operands[1:])
            return
        for target, bound in closures(self._program, function, step.callee):
            yield from self._handed(target, bound, step.operands)

    def _handed(self, target: str, first: int, operands: tuple[str, ...]) -> Iterator[str]:
        callee = self._program.functions.get(target)
        if callee is not None:
            for (name, _), operand in zip(callee.inputs[first:], operands, strict=False):
                if name in self._names[target]:
                    yield operand


def closures(program: Program, function: Function, name: str) -> list[tuple[str, int]]:
    """The functions that a name may stand for in a function, with the number of arguments bound already."""
    found: list[tuple[str, int]] = []
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in program.functions:
            found.append((name, 0))
            continue
        step = function.producers.get(name)
        if step is None or step.primitive is None:
            continue
        if step.op == "Partial" and step.operands and step.operands[0] in program.functions:
            found.append((step.operands[0], len(step.operands) - 1))
        elif step.op in ("Switch", *SWITCH_LAYER):
            waiting.extend(step.operands[1:])
        elif step.op in (*MAKE_TUPLE, "Depend"):
            waiting.extend(step.operands)
    return found
