"""Control flow: calls are inlined, choices become If, functions that call themselves at their end become Loop.

A function h that leads back to itself is a loop. Its first round runs in front of the loop up to its choice: between
what leads back to h (the body) and what does not (an exit). The loop carries the arguments of both. A round of the
loop runs the body up to the next call of h, and h up to its choice. A choice inside the body of which one side does
not lead back is a further exit, a `break`: its arguments are carried too, with the number of the exit that was taken.
Behind the loop the exit that was taken goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ge_core.errors import UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value
from ge_core.ir.location import Location

from .branches import Side, join
from .loops import MOST_EXITS, Loop, Round, by_exit
from .memory import Memory, Ref
from .program import Function, Step
from .values import Choice, Closure, Result, as_value, mapped

if TYPE_CHECKING:
    from .convert import Converter

_DEEPEST = 120
_BOOL = DType.of("bool")


class Control:
    """Calls, choices and loops.

    Args:
        converter: converts the functions.
    """

    def __init__(self, converter: Converter) -> None:
        self._converter = converter
        self._program = converter.program
        self._depth = 0

    def call(
        self, b: Builder, target: Closure | Choice, memory: Memory, step: Step, round: Round | None = None
    ) -> Result:
        """The result of a call; what the file says of it tells the types of branches.

        Args:
            round: when given, the call is one of a body's, and its target may lead to the next round.
        """
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise UnsupportedError(
                    f"functions that call each other deeper than {_DEEPEST} are not supported", where=step.location()
                )
            if isinstance(target, Choice):
                return self._choose(b, target, memory, step, round)
            return self._call(b, target, memory, step, round)
        finally:
            self._depth -= 1

    def _call(self, b: Builder, target: Closure, memory: Memory, step: Step, round: Round | None) -> Result:
        active = frozenset() if round is None else round.active
        function = self._function(target)
        if round is not None and function.name in active:
            if function.name != round.header:
                raise UnsupportedError("a jump out of a loop into one around it is not supported")
            return self._again(b, target, memory, round, step)
        if function.name in self._program.reached(function.name, active):
            return self._loop(b, target, memory, step, round)
        inner = round if round is not None and self.comes_back(target, round) else None
        return self._converter.function(b, function, target.arguments, memory, inner)

    def comes_back(self, target: Closure | Choice, round: Round) -> bool:
        """Whether a call can lead to the next round."""
        if isinstance(target, Choice):
            return any(self.comes_back(c, round) for c in target.closures)
        cut = round.active - {round.header}
        return target.function == round.header or round.header in self._program.reached(target.function, cut)

    def tail(self, b: Builder, target: Closure | Choice, memory: Memory, round: Round, step: Step) -> Result:
        """What a body ends with: the next round, an exit, or a choice between them."""
        if isinstance(target, Choice):
            return self._choose(b, target, memory, step, round)
        if self.comes_back(target, round):
            return self.call(b, target, memory, step, round)
        return self._exit(target, memory, round)

    def _function(self, target: Closure) -> Function:
        return self._program.functions[target.function]

    def _choose(self, b: Builder, target: Choice, memory: Memory, step: Step, round: Round | None) -> Result:
        def side(closure: Closure | Choice) -> Side:
            if round is None:
                return lambda inner, held: self.call(inner, closure, held, step)
            return lambda inner, held: self.tail(inner, closure, held, round, step)

        sides = [side(c) for c in target.closures]
        return self.select(b, target.conditions, sides, memory, step.location(), round)

    def select(
        self,
        b: Builder,
        conditions: Sequence[Result],
        sides: Sequence[Side],
        memory: Memory,
        loc: Location,
        round: Round | None,
    ) -> Result:
        """The result of the first side whose condition holds, of the last one when none does.

        Args:
            memory: receives the side's writes.
        """
        if not conditions:
            return sides[0](b, memory)
        condition = conditions[0]
        if isinstance(condition, (bool, int, float)):
            if condition:
                return sides[0](b, memory)
            return self.select(b, conditions[1:], sides[1:], memory, loc, round)
        with b.at(loc):
            truth = self._truth(b, condition)
            rest: Side = lambda inner, held: self.select(inner, conditions[1:], sides[1:], held, loc, round)  # noqa: E731
            return join(b, truth, (sides[0], rest), memory)

    def _truth(self, b: Builder, condition: Result) -> Value:
        value = as_value(b, condition, Memory())
        if value.dtype != _BOOL:
            value = b.Cast(value, to=_BOOL)
        return value if value.tensor.shape == () else b.Reshape(value, b.ints([]))

    # Loops. What a round ends with is a tuple (whether it goes on, the body's arguments, the first exit's, the
    # number of the exit, arguments by exit).

    def _exit(self, target: Closure, memory: Memory, round: Round) -> Result:
        """Leave the loop by an exit of the body."""
        number = round.exits.setdefault(target.function, len(round.exits) + 1)
        if number > MOST_EXITS:
            raise UnsupportedError(f"a loop with more than {MOST_EXITS} ways out is not supported")
        body, leave, further = round.carried
        arguments = tuple(self._portable(x, memory) for x in target.arguments)
        return (False, body, leave, number, by_exit({**further, number: arguments}))

    def _portable(self, x: Result, memory: Memory) -> Result:
        """An argument as it can leave a loop: tensors that the loop itself made are values."""

        def one(part: Result) -> Result:
            return memory.read(part) if isinstance(part, Ref) and part.first is None else part

        return mapped(one, x)

    def _again(self, b: Builder, target: Closure, memory: Memory, round: Round, step: Step) -> Result:
        """The next round: the header up to its choice."""
        goes_on, body, leave = self._head(b, target, memory, round, step)
        return (goes_on, body, leave, 0, by_exit(round.carried[2]))

    def _head(
        self, b: Builder, target: Closure, memory: Memory, round: Round, step: Step
    ) -> tuple[Result, Result, Result]:
        """Run the header up to its choice: whether the loop goes on, the body's arguments, the exit's."""
        function = self._function(target)
        choice = self._converter.head(b, function, target.arguments, memory)
        conditions, closures = choice.conditions, choice.closures
        leads = [self.comes_back(c, round) for c in closures]
        if len(closures) != 2 or leads[0] == leads[1] or not all(isinstance(c, Closure) for c in closures):
            raise UnsupportedError(
                f"the loop {function.name} is not of a form that is supported",
                expected="one condition that decides between another round and the end",
                where=step.location(),
            )
        inside: Any = closures[0 if leads[0] else 1]
        outside: Any = closures[1 if leads[0] else 0]
        condition = conditions[0]
        if not isinstance(condition, bool):
            condition = self._truth(b, condition)
            condition = condition if leads[0] else b.Not(condition)
        elif not leads[0]:
            condition = not condition
        if round.body and (round.body, round.leave) != (inside.function, outside.function):
            raise UnsupportedError(f"the loop {function.name} changes its body", where=step.location())
        round.body, round.leave = inside.function, outside.function
        return condition, inside.arguments, outside.arguments

    def _loop(self, b: Builder, target: Closure, memory: Memory, step: Step, outer: Round | None) -> Result:
        """The result of a function that leads back to itself."""
        active = (frozenset() if outer is None else outer.active) | {target.function}
        round = Round(target.function, active, outer)
        with b.at(step.location()):
            start = self._head(b, target, memory, round, step)
            if start[0] is False:
                return self._leave(b, Closure(round.leave, start[2]), memory, step, outer)
            run: Side = lambda inner, held: self.round(inner, held, round, step)  # noqa: E731
            loop = Loop(run, round, start, memory, step)
            loop.settle(b)
            body, leave, number, further = loop.build(b, memory)
        closures = [Closure(round.leave, leave)]
        closures += [Closure(name, further[k]) for name, k in round.exits.items()]
        numbers = [0, *round.exits.values()]
        with b.at(step.location()):
            conditions = [_equal(b, number, n) for n in numbers[:-1]]
        sides: list[Side] = [
            lambda inner, held, c=c: self._leave(inner, c, held, step, outer)  # type: ignore[misc]
            for c in closures
        ]
        return self.select(b, conditions, sides, memory, step.location(), outer)

    def _leave(self, b: Builder, target: Closure, memory: Memory, step: Step, outer: Round | None) -> Result:
        """Go on behind a loop."""
        return self.call(b, target, memory, step) if outer is None else self.tail(b, target, memory, outer, step)

    def round(self, b: Builder, memory: Memory, round: Round, step: Step) -> Result:
        """Run the body from what the loop carries to the end of the round."""
        return self.call(b, Closure(round.body, round.carried[0]), memory, step, round)


def _equal(b: Builder, number: Result, n: int) -> Result:
    return number == n if isinstance(number, int) else b.Equal(number, n)
