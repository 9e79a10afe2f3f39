"""Scalar expressions of a loop nest: what is computed at one place of the domain.

Equal expressions of one `Space` are one object, so that what several outputs share is computed once. Operands come
before the expressions that use them in the order of `uid`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ge_backend_cpu.loops.index import Affine, Axis, Unsupported, _numbers
from ge_backend_cpu.vmath.primitives import TESTS
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, boolean, float32, float64, int8, int64, uint8


def compute_kind(dtype: DType) -> DType:
    """The element type that values of `dtype` are computed in.

    Raises:
        Unsupported: kernels do not know the type.
    """
    if dtype.kind in ("complex", "string"):
        raise Unsupported(f"native kernels do not compute with {dtype}")
    if dtype.is_float and dtype.bits < 32:
        return float32
    if dtype.bits < 8:
        return int8 if dtype.kind == "int" else uint8
    return dtype


class Expr:
    """One value at one place.

    Attributes:
        op: a primitive; or const, load, index, cast, bits, check, within, reduce, arg.
        kind: element type of the value, one that `compute_kind` gives.
        args: operands.
        data: what else it depends on (see the methods of `Space`).
        axes: loop axes that it depends on.
        cost: rough picoseconds of the whole tree, without what reductions in it take.
    """

    __slots__ = ("args", "axes", "cost", "data", "kind", "op", "uid")

    def __init__(self, op: str, kind: DType, args: tuple[Expr, ...], data: Any, axes: frozenset[Axis]) -> None:
        self.op, self.kind, self.args, self.data, self.axes = op, kind, args, data, axes
        self.uid = next(_numbers)
        reduced = op in ("reduce", "arg")
        self.cost: int = 0 if reduced else COSTS.get(op, 30) + sum(a.cost for a in args)

    @property
    def limit(self) -> Size:
        """For an index: the bound of its value."""
        limit: Size = self.data
        return limit

    def __repr__(self) -> str:
        return f"{self.op}#{self.uid}"


# picoseconds of one element in a vector of float32 on one core of about 3 GHz
COSTS: dict[str, int] = {
    "const": 0, "index": 20, "load": 60, "cast": 40, "check": 60, "within": 0, "reduce": 0, "div": 300, "sqrt": 300,
    "exp": 350, "exp_nonpositive": 300, "exp2": 300, "expm1": 400, "log": 450, "log2": 450, "log10": 450,
    "log1p": 900, "tanh": 700, "erf": 450, "sin": 700, "cos": 700, "tan": 3000, "pow": 1200, "atan": 700,
    "asin": 2000, "acos": 2000, "sinh": 2500, "cosh": 2500, "asinh": 3000, "acosh": 3000, "atanh": 2500,
    "atan2": 2500, "erfc": 3000, "erfinv": 20000, "lgamma": 8000, "digamma": 12000, "rsqrt": 600, "fmod": 4000,
    "floormod": 4000, "floordiv": 4000, "truncdiv": 400,
}  # fmt: skip
CHEAP = 700
"""Up to this cost computing a value again is taken to be better than keeping it."""


class Space:
    """Makes expressions.

    Attributes:
        checks: the indices that are checked.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Expr] = {}
        self.checks: list[Expr] = []

    def make(
        self, op: str, kind: DType, args: tuple[Expr, ...] = (), data: Any = None, axes: Iterable[Axis] | None = None
    ) -> Expr:
        """The expression; `axes` are those of the operands unless told."""
        key = (op, kind.name, tuple(a.uid for a in args), data)
        found = self._known.get(key)
        if found is None:
            own = frozenset(axes) if axes is not None else frozenset().union(*(a.axes for a in args))
            found = self._known[key] = Expr(op, kind, args, data, own)
        return found

    def const(self, value: float | int, kind: DType) -> Expr:
        """A number."""
        number = float(value) if kind.is_float else int(value)
        return self.make("const", kind, data=(number, str(number)))

    def load(self, operand: int, dtype: DType, at: Affine, mask: Expr | None = None) -> Expr:
        """Element `at` of an operand; 0 where a mask does not hold (then memory is not touched)."""
        axes, dynamic = axes_of(at)
        if mask is not None:
            axes |= mask.axes
        args = (*dynamic, *(() if mask is None else (mask,)))
        return self.make("load", compute_kind(dtype), args, (operand, dtype.name, at, mask is not None), axes)

    def index(self, at: Affine, kind: DType = int64) -> Expr:
        """An index as a value."""
        if at.is_constant and isinstance(at.const, int):
            return self.const(at.const, kind)
        axes, dynamic = axes_of(at)
        return self.cast(self.make("index", int64, dynamic, at, axes), kind)

    def apply(self, name: str, *args: Expr) -> Expr:
        """A primitive."""
        if name == "select":
            if args[1] is args[2]:
                return args[1]
            return self.make(name, args[1].kind, args)
        return self.make(name, boolean if name in TESTS else args[0].kind, args)

    def cast(self, x: Expr, to: DType, source: DType | None = None, saturate: bool = True) -> Expr:
        """A value converted by the rules of Cast.

        Args:
            to: element type; below 32 bits floats are rounded to it, below 8 bits integers wrapped to it.
            source: of the value, where it is narrower than its kind.
        """
        source = source or x.kind
        if source == to:
            return x
        if x.op == "const" and x.kind.is_float and to in (float32, float64):
            return self.const(float(np.array(x.data[0]).astype(to.numpy)), to)
        return self.make("cast", compute_kind(to), (x,), (source.name, to.name, saturate))

    def check(self, index: Expr, limit: Size) -> Expr:
        """An int64 index that is an error outside of [0, limit)."""
        made = self.make("check", int64, (index,), limit)
        if made not in self.checks:
            self.checks.append(made)
        return made

    def within(self, index: Expr, limit: Size) -> Expr:
        """An int64 index that is known to lie in [0, limit)."""
        return self.make("within", int64, (index,), limit)

    def reduce(self, op: str, body: Expr, axes: tuple[Axis, ...]) -> Expr:
        """The sum, prod, max or min of a body over some axes."""
        kept = body.axes - frozenset(axes)
        return self.make("reduce", body.kind, (body,), (op, axes), kept)

    def arg(self, op: str, body: Expr, axis: Axis, last: bool) -> Expr:
        """The place on the axis of the max or min of a body: the first, or the last one."""
        return self.make("arg", int64, (body,), (op, (axis,), last), body.axes - {axis})


def axes_of(at: Affine) -> tuple[frozenset[Axis], tuple[Expr, ...]]:
    """The axes that an index depends on, and the expressions in it."""
    dynamic = tuple(v for v, _ in at.terms if isinstance(v, Expr))
    own = frozenset(v for v, _ in at.terms if isinstance(v, Axis))
    return own.union(*(d.axes for d in dynamic)), dynamic


def reachable(roots: Iterable[Expr]) -> list[Expr]:
    """All expressions that roots depend on, operands first."""
    found: dict[Expr, None] = {}
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if expr not in found:
            found[expr] = None
            stack += expr.args
    return sorted(found, key=lambda e: e.uid)


__all__ = ["CHEAP", "Expr", "Space", "axes_of", "boolean", "compute_kind", "float64", "reachable"]
