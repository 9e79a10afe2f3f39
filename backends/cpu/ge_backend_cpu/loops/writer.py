"""Writes a program: places each expression in the outermost loop in which all that it needs is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ge_backend_cpu.loops.expr import COSTS, Expr
from ge_backend_cpu.loops.index import Affine, Axis
from ge_backend_cpu.loops.program import (
    Accumulate,
    Address,
    Items,
    Let,
    Loop,
    Number,
    Program,
    Range,
    Result,
    Stage,
    Statement,
    Store,
    Sweep,
)
from ge_core.ir import dims
from ge_core.ir.dims import Size

STAGED = 2.5
"""Relative cost of reading an operand by way of a transposed tile."""


class Scope:
    """A body under construction.

    Attributes:
        axes: those that have a value in it.
        rounds: how often it runs.
        along: the vector axis, if it is inside of a vector loop.
        ids: expressions whose values were computed in it.
    """

    def __init__(self, axes: frozenset[Axis], rounds: Size, along: Axis | None) -> None:
        self.axes, self.rounds, self.along = axes, rounds, along
        self.statements: list[Statement] = []
        self.ids: dict[Expr, int] = {}


class Writer:
    """A program under construction.

    Args:
        merged: axes that another axis has taken in.
        operands: the program's numbers of operands and local buffers, by those that expressions know them by.
        lane_bytes: see Program.
        unroll: vectors of one round of a vector loop.

    Attributes:
        params: the integers of the launch.
        picoseconds: estimate of the whole.
        staged: local buffers that hold tiles of transposed operands.
    """

    def __init__(self, merged: Mapping[Axis, Axis], operands: Mapping[int, int], lane_bytes: int, unroll: int) -> None:
        self.merged, self.operands, self.lane_bytes, self.unroll = merged, operands, lane_bytes, unroll
        self.staged: set[int] = set()
        self.params: list[Size] = []
        self.picoseconds: Size = 0
        self._axes: dict[Axis, int] = {}
        self._sizes: list[Number] = []
        self._addresses: dict[Address, int] = {}
        self._known: dict[Affine, tuple[tuple[tuple[int, Number], ...], Number]] = {}
        self._scopes: list[Scope] = [Scope(frozenset(), 1, None)]
        self._next = 0

    # Axes and integers

    def number(self, size: Size) -> Number:
        """A size as the program has it: small constants stand in the code, others are integers of the launch."""
        if isinstance(size, int) and size in (-1, 0, 1):
            return size
        self.params.append(size)
        return f"p{len(self.params) - 1}"

    def whole(self, axis: Axis) -> Size:
        """The size of an axis with all that it has taken in."""
        return dims.product([axis.size, *(a.size for a, inner in self.merged.items() if inner is axis)])

    def axis(self, axis: Axis) -> int:
        """The number of an axis."""
        if axis not in self._axes:
            self._axes[axis] = len(self._sizes)
            self._sizes.append(self.number(self.whole(axis)))
        return self._axes[axis]

    def address(self, at: Affine) -> int:
        """The number of an address; its expressions must have values."""
        if at not in self._known:
            axes = tuple(
                (self.axis(v), self.number(c)) for v, c in at.terms if isinstance(v, Axis) and v not in self.merged
            )
            self._known[at] = axes, self.number(at.const)
        axes, const = self._known[at]
        values = tuple((self.value(v), self.number(c)) for v, c in at.terms if isinstance(v, Expr))
        found = Address(axes, values, const)
        return self._addresses.setdefault(found, len(self._addresses))

    # Scopes

    @property
    def here(self) -> Scope:
        return self._scopes[-1]

    def _push(self, axes: Sequence[Axis], rounds: Size, along: Axis | None = None) -> Scope:
        taken = [a for a, inner in self.merged.items() if inner in axes]
        scope = Scope(self.here.axes | set(axes) | set(taken), self.here.rounds * rounds, along or self.here.along)
        self._scopes.append(scope)
        return scope

    @contextmanager
    def scope(self, outer: Sequence[Axis]) -> Iterator[None]:
        """The loop over work items."""
        scope = self._push(outer, dims.product([self.whole(a) for a in outer]))
        yield
        self._scopes.pop()
        self.here.statements.append(Items(tuple(scope.statements)))

    @contextmanager
    def loop(self, axis: Axis, vector: bool) -> Iterator[None]:
        """The loop over an axis."""
        number = self.axis(axis)
        wide = vector and self.lane_bytes > 0
        scope = self._push([axis], self.whole(axis), axis if wide else None)
        yield
        self._scopes.pop()
        self.here.statements.append(Loop(number, wide, self.unroll if wide else 1, tuple(scope.statements)))

    @contextmanager
    def nest(self, axes: Sequence[Axis], across: bool) -> Iterator[None]:
        """Loops over axes, from the outermost; with `across` the last one is the vector axis."""
        if not axes:
            yield
            return
        with self.loop(axes[0], across and len(axes) == 1), self.nest(axes[1:], across):
            yield

    @contextmanager
    def sweep(self, results: Sequence[Expr]) -> Iterator[None]:
        """A sweep that reduces; without results nothing of its own."""
        if not results:
            yield
            return
        numbers = {r: self._number() for r in results}
        scope = self._push([], 1)
        scope.ids.update(numbers)
        yield
        self._scopes.pop()
        made = tuple(Result(numbers[r], _operation(r), r.args[0].kind.name) for r in results)
        self.here.statements.append(Sweep(made, tuple(scope.statements)))
        self.here.ids.update(numbers)

    def accumulate(self, result: Expr, body: Expr) -> None:
        """Add a value to a reduction."""
        value = self.value(body)
        place = -1
        if result.op == "arg":
            place = self._let(self.here, "index", "int64", (), self.address(Affine.axis(result.data[1][0])))
        self.here.statements.append(Accumulate(self._id(result), value, place))

    def running(self, result: Expr) -> int:
        """The number of a value: a reduction as far as its sweep has come, in a loop of that sweep."""
        return self._let(self.here, "running", result.kind.name, (), self._id(result))

    def converted(self, value: int, source: str, to: str) -> int:
        """A value that is no expression, converted."""
        return value if source == to else self._let(self.here, "cast", source, (value,), (source, to, True))

    # Values

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _let(self, scope: Scope, op: str, kind: str, args: tuple[int, ...], data: object, price: float = 1) -> int:
        number = self._number()
        scope.statements.append(Let(number, op, kind, args, data))
        self.picoseconds = self.picoseconds + scope.rounds * int(COSTS.get(op, 30) * price)
        return number

    def _depth(self, expr: Expr) -> int | None:
        """The scope that has an expression's value."""
        return next((k for k, scope in enumerate(self._scopes) if expr in scope.ids), None)

    def _id(self, expr: Expr) -> int:
        depth = self._depth(expr)
        assert depth is not None, expr
        return self._scopes[depth].ids[expr]

    def value(self, expr: Expr) -> int:
        """The number of an expression's value; computes it if it is not yet known here."""
        if self._depth(expr) is None:
            for part in self._missing(expr):
                self._place(part)
        return self._id(expr)

    def _missing(self, expr: Expr) -> list[Expr]:
        """What must be computed for an expression, operands first."""
        found: set[Expr] = set()
        stack = [expr]
        while stack:
            e = stack.pop()
            if e not in found and self._depth(e) is None:
                found.add(e)
                stack += e.args
        return sorted(found, key=lambda e: e.uid)

    def _place(self, expr: Expr) -> None:
        assert expr.op not in ("reduce", "arg"), "a reduction is used before its sweep"
        depth = next(k for k, scope in enumerate(self._scopes) if expr.axes <= scope.axes)
        depth = max([depth, *(d for a in expr.args if (d := self._depth(a)) is not None)])
        scope = self._scopes[depth]
        args = tuple(self._id(a) for a in expr.args)
        kind, data, price = expr.kind.name, expr.data, 1.0
        if expr.op == "const":
            data = expr.data[1]
        elif expr.op == "load":
            operand, dtype, at, masked = expr.data
            args = args[-1:] if masked else ()
            price = 1.0 if scope.along is None else stride_price(at, scope.along)
            price = STAGED if operand < 0 and operand in self.staged else price
            kind, data = dtype, (self.operands[operand], self.address(at), masked)
        elif expr.op == "index":
            args, data = (), self.address(expr.data)
        elif expr.op == "check":
            data = self.number(expr.data)
        elif expr.op == "within":
            data = None
        elif expr.op not in ("cast", "select"):
            kind = expr.args[0].kind.name
        scope.ids[expr] = self._let(scope, expr.op, kind, args, data, price)

    def stage(self, load: Expr, scratch: int, rows: Axis, columns: Axis) -> None:
        """Bring the tile that a load reads into a local buffer; see program.Stage."""
        operand, _, at, _ = load.data
        numbers = self.operands[operand], self.address(at), self.operands[scratch]
        self.here.statements.append(Stage(*numbers, self.axis(rows), self.axis(columns)))

    def store(self, operand: int, at: Affine, value: int, kind: object) -> None:
        """Write a value."""
        statement = Store(self.operands[operand], self.address(at), value, str(kind))
        self.here.statements.append(statement)
        price = 1.0 if self.here.along is None else stride_price(at, self.here.along)
        self.picoseconds = self.picoseconds + self.here.rounds * int(COSTS["load"] * price)

    def program(self, operands: Sequence[str], scratch: Sequence[tuple[str, int]], items: Sequence[Range]) -> Program:
        """The finished program."""
        return Program(
            tuple(operands), tuple(scratch), len(self.params), tuple(self._sizes), tuple(items),
            tuple(self._addresses), tuple(self._scopes[0].statements), self.lane_bytes,
        )  # fmt: skip


def stride_price(at: Affine, axis: Axis) -> float:
    """Relative cost of reading or writing along an axis: contiguous, the same element, or scattered."""
    coefficient = at.coefficient(axis)
    if any(isinstance(v, Expr) and axis in v.axes for v, _ in at.terms):
        return 8.0
    if coefficient == 0:
        return 0.3
    return 1.0 if coefficient == 1 else 1.5 if coefficient == -1 else 8.0


def _operation(result: Expr) -> str:
    if result.op == "reduce":
        return str(result.data[0])
    op, _, last = result.data
    return f"{'last' if last else 'arg'}{op}"
