"""Symbol values from the shapes of a call's inputs; contradictions name input and dim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ge_core.errors import InputError
from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.types import TensorType, Type


@dataclass(frozen=True)
class Binding:
    """`symbol` is (size of `axis` of input `index` - shift) / factor."""

    symbol: Symbol
    index: int
    axis: int
    shift: int = 0
    factor: int = 1


@dataclass(frozen=True)
class Check:
    """The size of `axis` of input `index` must be `size`."""

    index: int
    axis: int
    size: Size


class Named(Protocol):
    """An input: a value of a graph or of a plan."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> Type: ...


def bindings(inputs: Sequence[Named]) -> tuple[list[Binding], list[Check]]:
    """How the symbols of some inputs' shapes get their values, and what must hold beyond that.

    A bare symbol binds first; then a size that is a factor times one symbol plus a number.
    """
    bound: dict[Symbol, Binding] = {}
    checks: list[Check] = []
    sizes = [
        (i, axis, size)
        for i, value in enumerate(inputs)
        if isinstance(value.type, TensorType) and value.type.shape is not None
        for axis, size in enumerate(value.type.shape)
    ]
    for pure in (True, False):
        for i, axis, size in sizes:
            linear = _linear(size)
            if linear is not None and linear[0] not in bound and (not pure or linear[1:] == (0, 1)):
                bound[linear[0]] = Binding(linear[0], i, axis, *linear[1:])
    taken = {(b.index, b.axis) for b in bound.values()}
    checks = [Check(i, axis, size) for i, axis, size in sizes if (i, axis) not in taken]
    return list(bound.values()), checks


def _linear(size: Size) -> tuple[Symbol, int, int] | None:
    """(symbol, shift, factor) of factor * symbol + shift; None for everything else."""
    if not isinstance(size, Dim):
        return None
    terms = dict(size.terms)
    shift = terms.pop((), 0)
    if len(terms) != 1:
        return None
    ((monomial, factor),) = terms.items()
    if len(monomial) != 1 or monomial[0][1] != 1 or not isinstance(monomial[0][0], Symbol) or factor <= 0:
        return None
    return monomial[0][0], shift, factor


class InputBinder:
    """Binds the symbols of one graph's inputs; compiled once, used at every call."""

    def __init__(self, inputs: Sequence[Named]) -> None:
        self.names = [v.name for v in inputs]
        self.types = [v.type for v in inputs]
        self.bindings, self.checks = bindings(inputs)
        self.symbols = tuple(b.symbol for b in self.bindings)
        self._fixed = [(c.index, c.axis, c.size) for c in self.checks if isinstance(c.size, int)]
        self._sizes = [c for c in self.checks if isinstance(c.size, Dim)]

    def values(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The symbols' values in the order of `symbols`, for shapes whose ranks are right.

        Raises:
            InputError: a size differs from what its input's shape says; names the input and the dim.
        """
        for index, axis, size in self._fixed:
            if shapes[index][axis] != size:
                raise self._error(index, axis, shapes, f"{size}")
        found = []
        for b in self.bindings:
            n = shapes[b.index][b.axis]
            value, rest = divmod(n - b.shift, b.factor)
            s = b.symbol
            if rest:
                raise self._error(b.index, b.axis, shapes, f"{b.factor}*{s.name}+{b.shift} for a whole {s.name}")
            if value < s.lo or (s.hi is not None and value > s.hi):
                top = "any size" if s.hi is None else str(s.hi)
                raise self._error(b.index, b.axis, shapes, f"{s.name} from {s.lo} to {top}")
            found.append(value)
        if self._sizes:
            env = {s.name: v for s, v in zip(self.symbols, found, strict=True)}
            for c in self._sizes:
                want = dims.evaluate(c.size, env)
                if shapes[c.index][c.axis] != want:
                    raise self._error(c.index, c.axis, shapes, f"{c.size} = {want}{self._sources(c.size, shapes)}")
        return tuple(found)

    def _sources(self, size: Size, shapes: Sequence[tuple[int, ...]]) -> str:
        """Which inputs gave the symbols of a size their values."""
        wanted = dims.symbols(size)
        told = [
            f"{b.symbol.name} is {shapes[b.index][b.axis]} in dim {b.axis} of {self.names[b.index]!r}"
            for b in self.bindings
            if b.symbol in wanted
        ]
        return f", since {' and '.join(told)}" if told else ""

    def _error(self, index: int, axis: int, shapes: Sequence[tuple[int, ...]], expected: str) -> InputError:
        return InputError(
            f"input {self.names[index]!r} has size {shapes[index][axis]} in dim {axis}",
            where=f"shape {list(shapes[index])}, declared {self.types[index]}",
            expected=expected,
        )
