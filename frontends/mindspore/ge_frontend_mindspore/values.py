"""What names of a model stand for while it is converted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from .call import number_type
from .memory import Memory, Ref

# A tensor, a number, a text, None, a token, a place in memory, a closure, or a tuple of such.
Result: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Closure:
    """A function with its first arguments."""

    function: str
    arguments: tuple[Result, ...]

    def given(self, arguments: Sequence[Result]) -> Closure:
        """With further arguments."""
        return Closure(self.function, (*self.arguments, *arguments)) if arguments else self


@dataclass(frozen=True, eq=False)
class Choice:
    """One of several closures, as a value says.

    Attributes:
        conditions: for each closure but the last, what makes it the one; the first that holds counts.
        closures: closures, or further choices.
    """

    conditions: tuple[Result, ...]
    closures: tuple[Closure | Choice, ...]

    def given(self, arguments: Sequence[Result]) -> Choice:
        """With further arguments for whichever it is."""
        return Choice(self.conditions, tuple(c.given(arguments) for c in self.closures)) if arguments else self


def same(a: Result, b: Result) -> bool:
    """Whether two results are one and the same without computing anything."""
    if a is b:
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Closure) and isinstance(b, Closure):
        return a.function == b.function and same(a.arguments, b.arguments)
    if isinstance(a, (bool, int, float, str, Dim)):
        return type(a) is type(b) and a == b
    return False


def is_tensor(x: Result) -> bool:
    """Whether a result is a tensor, a number, or a place that holds one."""
    return isinstance(x, (Value, Ref, bool, int, float, Dim))


def as_value(b: Builder, x: Result, memory: Memory, dtype: DType | None = None) -> Value:
    """A tensor, number or place as a value.

    Args:
        dtype: of numbers; by default the type in which MindSpore makes tensors of them.
    """
    if isinstance(x, Ref):
        return memory.read(x)
    if isinstance(x, Value):
        return x
    if isinstance(x, Dim):
        value = b.scalar(x)
        return value if dtype is None or dtype == value.dtype else b.Cast(value, to=dtype)
    return b.constant(x, dtype or number_type(x))


def mapped(function: Callable[[Result], Result], x: Result) -> Result:
    """A result with a function applied to all that is no tuple."""
    if isinstance(x, tuple):
        return tuple(mapped(function, e) for e in x)
    return function(x)
