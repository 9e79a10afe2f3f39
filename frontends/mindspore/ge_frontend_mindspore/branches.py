"""Choices: two sides, converted into regions, and what they give as the outputs of one If."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ge_core.errors import UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Region, Value
from ge_core.ir.types import TensorType

from .call import number_type
from .memory import Memory
from .values import Closure, Result, as_value, is_tensor, mapped, same

Side = Callable[[Builder, Memory], Result]


class _Hole:
    """Stands for what a side of a choice leaves open: any value will do, since nobody reads it."""


HOLE = _Hole()


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


def join(b: Builder, truth: Value, sides: Sequence[Side], memory: Memory) -> Result:
    """The result of the first side where a condition holds, of the second where not: one If.

    It has an output for each part in which the sides' results differ, and for each place that one of them writes.

    Args:
        truth: the condition, of rank 0.
        sides: two of them.
        memory: receives the writes.
    """
    made = [_Branch(b, side, memory) for side in sides]
    outputs: list[tuple[Value, Value]] = []
    result = _merge(made, made[0].result, made[1].result, outputs)
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

    def filled(x: Result) -> Result:
        if isinstance(x, Closure):
            return Closure(x.function, mapped(filled, x.arguments))
        return values[x.index] if isinstance(x, _Slot) else x

    return mapped(filled, result)


def _merge(made: Sequence[_Branch], a: Result, b: Result, outputs: list[tuple[Value, Value]]) -> Result:
    """What two branches give as one: parts that differ become slots of `outputs`."""
    if same(a, b):
        return a
    if a is HOLE or b is HOLE:
        if isinstance(a, tuple) or isinstance(b, tuple):
            whole = b if a is HOLE else a
            holes = mapped(lambda _: HOLE, whole)
            return _merge(made, holes if a is HOLE else a, holes if b is HOLE else b, outputs)
        k = 0 if b is HOLE else 1
        given = (a, b)[k]
        if not is_tensor(given):
            return given
        value = as_value(made[k].builder, given, made[k].memory)
        other = blank(made[1 - k].builder, value.tensor)
        outputs.append((value, other) if k == 0 else (other, value))
        return _Slot(len(outputs) - 1)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_merge(made, x, y, outputs) for x, y in zip(a, b, strict=True))
    if isinstance(a, Closure) and isinstance(b, Closure) and a.function == b.function:
        return Closure(a.function, _merge(made, a.arguments, b.arguments, outputs))
    if not (is_tensor(a) and is_tensor(b)):
        raise UnsupportedError(f"branches that give {kind(a)} and {kind(b)} are not supported")
    left = as_value(made[0].builder, a, made[0].memory, dtype_of(b))
    right = as_value(made[1].builder, b, made[1].memory, left.dtype)
    if left.dtype != right.dtype:
        raise UnsupportedError(f"branches that give {left.dtype} and {right.dtype} are not supported")
    outputs.append((left, right))
    return _Slot(len(outputs) - 1)


def dtype_of(x: Result) -> DType | None:
    """The type in which a result is a tensor."""
    if isinstance(x, Value):
        return x.dtype
    return number_type(x) if isinstance(x, (bool, int, float, Dim)) else None


def blank(b: Builder, type: TensorType) -> Value:
    """A tensor of zeros of a type.

    Raises:
        UnsupportedError: the rank is unknown.
    """
    if type.shape is None:
        raise UnsupportedError("a value of unknown rank that only one side of a choice gives is not supported")
    zero = b.constant(0, type.dtype)
    return b.Expand(zero, b.ints(type.shape)) if type.shape else zero


def kind(x: Result) -> str:
    """What a result is, for messages."""
    if isinstance(x, tuple):
        return f"{len(x)} values"
    return "a tensor" if is_tensor(x) else "a function" if isinstance(x, Closure) else repr(x)
