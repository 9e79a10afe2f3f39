"""A loop: finds what it has to carry, then builds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ge_core.errors import UnsupportedError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph, Value
from ge_core.ir.types import TensorType, Type

from .branches import HOLE, Side, blank, dtype_of, kind
from .memory import Memory, Ref
from .program import Step
from .values import Result, as_value, is_tensor, mapped, same

_MOST_TRIALS = 64
MOST_EXITS = 8
_BOOL, _INT64 = DType.of("bool"), DType.of("int64")


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


class Loop:
    """One loop: finds what it has to carry, then builds it.

    Args:
        run: converts a round from what `round` carries to its end.
        start: whether the first round runs, the body's arguments and the first exit's.
        memory: what places hold in front of the loop.
    """

    def __init__(
        self, run: Side, round: Round, start: tuple[Result, Result, Result], memory: Memory, step: Step
    ) -> None:
        self._run, self._round, self._step = run, round, step
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
        return (*self._start, 0, by_exit(self._blank))

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
        goes_on, *result = self._run(r, memory)
        held.update(result=tuple(result), memory=memory, before=before, carried=(body, leave, number, further))
        values = [self._final(r, path, tuple(result), memory) for path in self._paths()]
        values += [memory.read(place) for place in self._places]
        go = r.constant(goes_on, _BOOL) if isinstance(goes_on, bool) else goes_on
        return [go, *values]

    def _final(self, r: Builder, path: tuple[int, ...], result: Result, memory: Memory) -> Value:
        found = _at(result, path)
        dtype = dtype_of(_at(self._tree(), path))
        if found is HOLE:
            return blank(r, as_value(r, _at(self._tree(), path), self._memory).tensor)
        return as_value(r, found, memory, dtype)

    def _learn(self, b: Builder, held: dict[str, Any]) -> None:
        """Take into what the loop carries all that a round on trial changed."""
        body, leave, number, further = held["carried"]
        before = (body, leave, number, by_exit(further))
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
                f"a loop in which {kind(a)} becomes {kind(b)} is not supported", where=self._step.location()
            )
        self._slots.add(path)


def by_exit(further: dict[int, Result]) -> tuple[Result, ...]:
    """Arguments of further exits by their numbers, as a tuple that has a place for each possible one."""
    return tuple(further.get(k, HOLE) for k in range(1, MOST_EXITS + 1))


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


def _blank_of(b: Builder, x: Result, memory: Memory) -> Result:
    """What stands for an argument of an exit until the exit is taken."""
    if isinstance(x, Ref):
        x = memory.read(x) if x.first is None else x
    if not isinstance(x, Value):
        return x
    known = _input_symbols(b.graph)
    if x.tensor.shape is not None and any(not dims.symbols(size) <= known for size in x.tensor.shape):
        raise UnsupportedError("a loop that is left with a tensor of a size that it finds itself is not supported")
    return blank(b, x.tensor)


def _input_symbols(graph: Graph) -> frozenset[dims.Symbol]:
    found = [dims.symbols(size) for value in graph.inputs for size in value.tensor.shape or ()]
    return frozenset[dims.Symbol]().union(*found)
