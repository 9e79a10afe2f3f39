"""Control flow: calls are inlined, choices become If, functions that call themselves at their end become Loop.

A function h that leads back to itself is a loop. Its first round runs in front of the loop up to its choice: between
what leads back to h (the body) and what does not (an exit). The loop carries the arguments of both. A round of the
loop runs the body up to the next call of h, and h up to its choice. A choice inside the body of which one side does
not lead back is a further exit, a `break`: its arguments are carried too, with the number of the exit that was taken.
Behind the loop the exit that was taken goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ge_core.errors import UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Region, Value
from ge_core.ir.location import Location
from ge_core.ir.types import TensorType, Type

from .call import number_type
from .memory import Memory, Ref
from .program import Function, Step
from .values import Choice, Closure, Result, as_value, is_tensor, mapped, same

if TYPE_CHECKING:
    from .convert import Converter

_DEEPEST = 120
_MOST_TRIALS = 64
_MOST_EXITS = 8
_BOOL, _INT64 = DType.of("bool"), DType.of("int64")

Side = Callable[[Builder, Memory], Result]


class _Hole:
    """Stands for what a side of a choice leaves open: any value will do, since nobody reads it."""


HOLE = _Hole()


@dataclass(eq=False)
class Round:
    """A round of a loop while it is converted.

    Attributes:
        header: the function that the next round begins with.
        active: the headers of this loop and of those around it.
        exits: the closures that leave the loop, by the function's name, in the order in which they are found.
        carried: what the loop carries at the start of the round: the body's arguments, the first exit's, and by
            exit the arguments of the further ones.
    """

    header: str
    active: frozenset[str]
    outer: Round | None
    exits: dict[str, int] = field(default_factory=dict)
    carried: tuple[Result, Result, dict[int, Result]] = ((), (), {})
    body: str = ""
    leave: str = ""
    first: bool = True


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
            made = [_Branch(b, side, memory) for side in (sides[0], rest)]
            return self._join(b, truth, made, memory, round)

    def _truth(self, b: Builder, condition: Result) -> Value:
        value = as_value(b, condition, Memory())
        if value.dtype != _BOOL:
            value = b.Cast(value, to=_BOOL)
        return value if value.tensor.shape == () else b.Reshape(value, b.ints([]))

    def _join(self, b: Builder, truth: Value, made: Sequence[_Branch], memory: Memory, round: Round | None) -> Result:
        """One If of two branches: an output for each part in which their results differ, and for each write."""
        outputs: list[tuple[Value, Value]] = []
        result = self._merge(made, made[0].result, made[1].result, outputs)
        places = list(dict.fromkeys(r for branch in made for r in branch.memory.written(memory)))
        first = len(outputs)
        for place in places:
            outputs.append((made[0].memory.read(place), made[1].memory.read(place)))
        if not outputs:
            for branch in made:
                branch.region.drop()
            return result
        for k, branch in enumerate(made):
            branch.builder.outputs(*(pair[k] for pair in outputs))
        found = b.If(truth, then_branch=made[0].region, else_branch=made[1].region, num_outputs=len(outputs))
        values = found if isinstance(found, tuple) else (found,)
        for place, value in zip(places, values[first:], strict=True):
            memory.write(place, value)
        return mapped(lambda x: values[x.index] if isinstance(x, _Slot) else x, result)

    def _merge(self, made: Sequence[_Branch], a: Result, b: Result, outputs: list[tuple[Value, Value]]) -> Result:
        """What two branches give as one: parts that differ become slots of `outputs`."""
        if same(a, b):
            return a
        if a is HOLE or b is HOLE:
            if isinstance(a, tuple) or isinstance(b, tuple):
                whole = b if a is HOLE else a
                holes = mapped(lambda _: HOLE, whole)
                return self._merge(made, holes if a is HOLE else a, holes if b is HOLE else b, outputs)
            k = 0 if b is HOLE else 1
            given = (a, b)[k]
            if not is_tensor(given):
                return given
            value = as_value(made[k].builder, given, made[k].memory)
            blank = _blank(made[1 - k].builder, value.tensor)
            outputs.append((value, blank) if k == 0 else (blank, value))
            return _Slot(len(outputs) - 1)
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple(self._merge(made, x, y, outputs) for x, y in zip(a, b, strict=True))
        if isinstance(a, Closure) and isinstance(b, Closure) and a.function == b.function:
            return Closure(a.function, self._merge(made, a.arguments, b.arguments, outputs))
        if not (is_tensor(a) and is_tensor(b)):
            raise UnsupportedError(f"branches that give {_kind(a)} and {_kind(b)} are not supported")
        left = as_value(made[0].builder, a, made[0].memory, _dtype_of(b))
        right = as_value(made[1].builder, b, made[1].memory, left.dtype)
        if left.dtype != right.dtype:
            raise UnsupportedError(f"branches that give {left.dtype} and {right.dtype} are not supported")
        outputs.append((left, right))
        return _Slot(len(outputs) - 1)

    # Loops. What a round ends with is a tuple (whether it goes on, the body's arguments, the first exit's, the
    # number of the exit, arguments by exit).

    def _exit(self, target: Closure, memory: Memory, round: Round) -> Result:
        """Leave the loop by an exit of the body."""
        number = round.exits.setdefault(target.function, len(round.exits) + 1)
        if number > _MOST_EXITS:
            raise UnsupportedError(f"a loop with more than {_MOST_EXITS} ways out is not supported")
        body, leave, further = round.carried
        arguments = tuple(self._portable(x, memory) for x in target.arguments)
        return (False, body, leave, number, _by_exit({**further, number: arguments}))

    def _portable(self, x: Result, memory: Memory) -> Result:
        """An argument as it can leave a loop: tensors that the loop itself made are values."""

        def one(part: Result) -> Result:
            return memory.read(part) if isinstance(part, Ref) and part.first is None else part

        return mapped(one, x)

    def _again(self, b: Builder, target: Closure, memory: Memory, round: Round, step: Step) -> Result:
        """The next round: the header up to its choice."""
        goes_on, body, leave = self._head(b, target, memory, round, step)
        return (goes_on, body, leave, 0, _by_exit(round.carried[2]))

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
            loop = _Loop(self, round, start, memory, step)
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


class _Branch:
    """One side of a choice, converted into a region."""

    def __init__(self, b: Builder, side: Side, memory: Memory) -> None:
        self.memory = memory.copy()
        self.builder: Builder = b
        self.result: Result = None

        def body(inner: Builder) -> list[Value]:
            self.builder = inner
            self.result = side(inner, self.memory)
            return []

        self.region: Region = b.region([], body)


@dataclass(frozen=True)
class _Slot:
    index: int


class _Loop:
    """One loop: finds what it has to carry, then builds it.

    Args:
        start: whether the first round runs, the body's arguments and the first exit's.
        memory: what places hold in front of the loop.
    """

    def __init__(
        self, control: Control, round: Round, start: tuple[Result, Result, Result], memory: Memory, step: Step
    ) -> None:
        self._control, self._round, self._step = control, round, step
        self._condition = start[0]
        self._start: Result = (start[1], start[2])
        self._blank: dict[int, Result] = {}
        self._memory = memory
        self._slots: set[tuple[int, ...]] = set()
        self._places: list[Ref] = []

    def settle(self, b: Builder) -> None:
        """Convert rounds on trial until nothing is added to what the loop carries."""
        for _ in range(_MOST_TRIALS):
            before = (len(self._slots), len(self._places), len(self._blank))
            held = self._trial(b)
            self._learn(b, held)
            if before == (len(self._slots), len(self._places), len(self._blank)):
                return
        raise UnsupportedError("a loop that carries too much is not supported", where=self._step.location())

    def _trial(self, b: Builder) -> dict[str, Any]:
        held: dict[str, Any] = {}
        b.region(self._params(b), lambda r, *state: self._outputs(r, state, held)).drop()
        return held

    def build(self, b: Builder, memory: Memory) -> tuple[Result, Result, Result, dict[int, Result]]:
        """The loop; what it carries at its end."""
        init = [self._initial(b, path) for path in self._paths()]
        init += [self._memory.read(place) for place in self._places]
        condition = self._condition
        if isinstance(condition, bool):
            condition = b.constant(condition, _BOOL)
        if not init:
            raise UnsupportedError("a loop that changes nothing is not supported", where=self._step.location())
        held: dict[str, Any] = {}
        found = b.Loop(None, condition, init, body=lambda r, i, go, *state: self._outputs(r, (i, go, *state), held))
        values = list(found) if isinstance(found, tuple) else [found]
        for place, value in zip(self._places, values[len(init) - len(self._places) :], strict=True):
            memory.write(place, value)
        (body, leave), number, further = self._carried(values)
        return body, leave, number, further

    def _paths(self) -> list[tuple[int, ...]]:
        return sorted(self._slots)

    def _tree(self) -> Result:
        """What the loop starts with: arguments, the number of the exit, arguments of further exits."""
        return (*self._start, 0, _by_exit(self._blank))

    def _params(self, b: Builder) -> list[tuple[str, Type]]:
        params: list[tuple[str, Type]] = [("i", TensorType(_INT64, ())), ("cond", TensorType(_BOOL, ()))]
        params += [("s", self._initial(b, path).type) for path in self._paths()]
        return params + [("p", self._memory.read(place).type) for place in self._places]

    def _initial(self, b: Builder, path: tuple[int, ...]) -> Value:
        return as_value(b, _at(self._tree(), path), self._memory)

    def _carried(self, state: Sequence[Value]) -> tuple[tuple[Result, Result], Result, dict[int, Result]]:
        tree = self._tree()
        for path, value in zip(self._paths(), state, strict=False):
            tree = _with(tree, path, value)
        body, leave, number, further = tree
        return (body, leave), number, dict(enumerate(further, 1))

    def _outputs(self, r: Builder, state: Sequence[Value], held: dict[str, Any]) -> list[Value]:
        carried = list(state[2:])
        memory = self._memory.copy()
        count = len(self._slots)
        for place, value in zip(self._places, carried[count:], strict=True):
            memory.write(place, value)
        (body, leave), number, further = self._carried(carried)
        self._round.carried = (body, leave, {k: v for k, v in further.items() if v is not HOLE})
        before = memory.copy()
        goes_on, *result = self._control.round(r, memory, self._round, self._step)
        held.update(result=tuple(result), memory=memory, before=before, carried=(body, leave, number, further))
        values = [self._final(r, path, tuple(result), memory) for path in self._paths()]
        values += [memory.read(place) for place in self._places]
        go = r.constant(goes_on, _BOOL) if isinstance(goes_on, bool) else goes_on
        return [go, *values]

    def _final(self, r: Builder, path: tuple[int, ...], result: Result, memory: Memory) -> Value:
        found = _at(result, path)
        dtype = _dtype_of(_at(self._tree(), path))
        if found is HOLE:
            return _blank(r, as_value(r, _at(self._tree(), path), self._memory).tensor)
        return as_value(r, found, memory, dtype)

    def _learn(self, b: Builder, held: dict[str, Any]) -> None:
        """Take into what the loop carries all that a round on trial changed."""
        body, leave, number, further = held["carried"]
        before = (body, leave, number, _by_exit(further))
        result = held["result"]
        for k, arguments in enumerate(result[3], 1):
            if k not in self._blank and arguments is not HOLE:
                self._blank[k] = mapped(lambda x: _blank_of(b, x, held["memory"]), arguments)
        self._compare(before, result, (), held)
        for place in held["memory"].written(held["before"]):
            if self._memory.knows(place) and place not in self._places:
                self._places.append(place)

    def _compare(self, a: Result, b: Result, path: tuple[int, ...], held: dict[str, Any]) -> None:
        if same(a, b) or a is HOLE or b is HOLE or path in self._slots:
            return
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            for k, (x, y) in enumerate(zip(a, b, strict=True)):
                self._compare(x, y, (*path, k), held)
            return
        if not (is_tensor(a) and is_tensor(b)):
            raise UnsupportedError(
                f"a loop in which {_kind(a)} becomes {_kind(b)} is not supported", where=self._step.location()
            )
        self._slots.add(path)


def _by_exit(further: dict[int, Result]) -> tuple[Result, ...]:
    return tuple(further.get(k, HOLE) for k in range(1, _MOST_EXITS + 1))


def _at(tree: Result, path: Sequence[int]) -> Result:
    for k in path:
        if tree is HOLE or k >= len(tree):
            return HOLE
        tree = tree[k]
    return tree


def _with(tree: Result, path: Sequence[int], value: Result) -> Result:
    if not path:
        return value
    return tuple(_with(x, path[1:], value) if k == path[0] else x for k, x in enumerate(tree))


def _dtype_of(x: Result) -> DType | None:
    if isinstance(x, Value):
        return x.dtype
    return number_type(x) if isinstance(x, (bool, int, float, Dim)) else None


def _blank(b: Builder, type: TensorType) -> Value:
    """A tensor of zeros of a type; its sizes are read where it is built."""
    zero = b.constant(0, type.dtype)
    return b.Expand(zero, b.ints(_outside(type.shape))) if type.shape else zero


def _blank_of(b: Builder, x: Result, memory: Memory) -> Result:
    if isinstance(x, Ref):
        x = memory.read(x) if x.first is None else x
    return _blank(b, x.tensor) if isinstance(x, Value) else x


def _outside(shape: Sequence[Size] | None) -> Sequence[Size]:
    if shape is None:
        raise UnsupportedError("a value of unknown rank that leaves a loop is not supported")
    return shape


def _equal(b: Builder, number: Result, n: int) -> Result:
    return number == n if isinstance(number, int) else b.Equal(number, n)


def _kind(x: Result) -> str:
    if isinstance(x, tuple):
        return f"{len(x)} values"
    return "a tensor" if is_tensor(x) else "a function" if isinstance(x, Closure) else repr(x)
