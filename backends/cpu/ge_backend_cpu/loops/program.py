"""A scheduled loop nest as data: what the generator of the family "loops" turns into code.

Integers of a program are numbers or references to the launch's integers ("p3"), so that a program is the same for
all shapes. Values, axes and addresses are numbered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

Number: TypeAlias = int | str
"""A number, or "p<k>" for integer k of the launch."""


@dataclass(frozen=True)
class Address:
    """An element: const + sum of coefficient times axis + sum of coefficient times value."""

    axes: tuple[tuple[int, Number], ...]
    values: tuple[tuple[int, Number], ...]
    const: Number


@dataclass(frozen=True)
class Let:
    """Value `id` is `op` of other values; see `ge_backend_cpu.loops.expr.Expr` for the operators.

    Attributes:
        kind: element type of the operands (for the result of a primitive see `vmath.TESTS`).
        data: const: the number; load: [operand, address, masked]; index: address; check: limit;
            cast: [from, to, saturate]; running: the result of an open sweep.
    """

    id: int
    op: str
    kind: str
    args: tuple[int, ...] = ()
    data: Any = None


@dataclass(frozen=True)
class Store:
    """Write a value of `kind` to an element of an operand."""

    operand: int
    address: int
    value: int
    kind: str


@dataclass(frozen=True)
class Accumulate:
    """Add a value to a result of the sweep; `place` is the index along the axis of an arg reduction."""

    result: int
    value: int
    place: int = -1


@dataclass(frozen=True)
class Loop:
    """Run the body for every place on an axis, several at once when it is the vector axis.

    Attributes:
        unroll: vectors of one round.
    """

    axis: int
    vector: bool
    unroll: int
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Result:
    """A reduction of a sweep.

    Attributes:
        op: sum, prod, max, min; argmax, argmin (first place) or lastmax, lastmin.
        kind: element type of what is reduced.
    """

    id: int
    op: str
    kind: str


@dataclass(frozen=True)
class Sweep:
    """Loops that reduce into results; they are values after it."""

    results: tuple[Result, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Stage:
    """Bring a transposed operand's tile into a scratch operand, row by row (see `staging`).

    Attributes:
        source, address: where the tile comes from; its elements are contiguous along the axis `rows`.
        target: scratch operand, which is then read as if it were the whole: place (row, column) at
            row * staging.COLUMNS + column.
        rows, columns: axes of which the work item has a block each.
    """

    source: int
    address: int
    target: int
    rows: int
    columns: int


@dataclass(frozen=True)
class Items:
    """Run the body for each work item."""

    body: tuple[Statement, ...]


Statement: TypeAlias = Let | Store | Accumulate | Loop | Sweep | Stage | Items


@dataclass(frozen=True)
class Range:
    """An axis that work items are numbered by.

    Attributes:
        block: 0, or how many places of the axis one item takes.
    """

    axis: int
    block: int = 0


@dataclass(frozen=True)
class Program:
    """A kernel.

    Attributes:
        operands: element types.
        scratch: (element type, elements) of the local buffers, which are operands after the others.
        params: number of the launch's integers.
        sizes: of the axes.
        items: axes that are divided into work items, the last one varies fastest.
        addresses: by number.
        body: the statements, one of them Items.
        lane_bytes: vectors have as many elements of that size as fit into a register; 0 makes scalars.
    """

    operands: tuple[str, ...]
    scratch: tuple[tuple[str, int], ...]
    params: int
    sizes: tuple[Number, ...]
    items: tuple[Range, ...]
    addresses: tuple[Address, ...]
    body: tuple[Statement, ...]
    lane_bytes: int

    def to_json(self) -> dict[str, Any]:
        return {"program": _plain(self)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Program:
        program = _built(data["program"])
        assert isinstance(program, Program)
        return program


_CLASSES = {c.__name__: c for c in (Address, Let, Store, Accumulate, Loop, Result, Sweep, Stage, Items, Range, Program)}


def _plain(value: Any) -> Any:
    """Dataclasses as lists that begin with the class's name."""
    if is_dataclass(value):
        return [f"@{type(value).__name__}", *(_plain(getattr(value, f.name)) for f in fields(value))]
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def _built(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    if value and isinstance(value[0], str) and value[0][:1] == "@":
        return _CLASSES[value[0][1:]](*map(_built, value[1:]))
    return tuple(map(_built, value))


def statements(body: Sequence[Statement]) -> list[Statement]:
    """All statements, those inside loops after them."""
    found: list[Statement] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, (Loop, Sweep, Items)):
            found += statements(statement.body)
    return found
