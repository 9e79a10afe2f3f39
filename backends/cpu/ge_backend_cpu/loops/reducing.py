"""Accumulators of reductions: sums, products, extremes, and the places of extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ge_backend_cpu import convert
from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import Function, constant, vector
from ge_backend_cpu.integers import I64, Value
from ge_backend_cpu.vmath import Primitives
from ge_backend_cpu.vmath.base import float_constant
from ge_core.ir.dtype import DType

Part: TypeAlias = tuple[Value, ...]
"""A value; for an arg reduction a value and its place."""

_COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


class Sum:
    """One reduction while its sweep runs.

    Args:
        op: see `program.Result`.
        width, rounds: lanes, and vectors that are accumulated apart.

    Attributes:
        parts: the accumulators.
        lossy: whether long sums lose digits, so that they go by way of partial sums.
    """

    def __init__(self, f: Function, op: str, kind: DType, width: int, rounds: int) -> None:
        self.f, self.op, self.kind, self.width = f, op, kind, width
        self.is_arg = op not in _COMBINE
        self.lossy = op == "sum" and kind.name == "float32"
        self.type = vector(convert.compute_type(kind), width)
        self._primitives = Primitives(f, lambda condition, status: None)
        self.parts: list[Part] = [self._start()] * rounds

    def _start(self) -> Part:
        if not self.is_arg:
            return (constant(self.type, self._neutral()),)
        # place -1 loses against everything
        return constant(self.type, 0), constant(vector(I64, self.width), -1)

    def _neutral(self) -> float | int:
        kind, element = self.kind, convert.compute_type(self.kind)
        if self.op in ("sum", "prod"):
            return int(self.op == "prod")
        low = self.op == "max"
        if kind.kind == "bool":
            return int(not low)
        if kind.is_float:
            return float_constant(element, float("-inf") if low else float("inf"))
        return int(kind.min if low else kind.max)

    def fresh(self) -> list[Part]:
        """New accumulators, as many as there are."""
        return [self._start()] * len(self.parts)

    def add_to(self, totals: Sequence[Part]) -> None:
        """Make the accumulators those of both."""
        self.parts = [self._merged(a, b) for a, b in zip(totals, self.parts, strict=True)]

    def take(self, values: Sequence[Value], places: Sequence[Value | None], mask: Value | None) -> None:
        """Add one value to each accumulator; where a mask does not hold nothing is added."""
        parts = []
        for part, value, place in zip(self.parts, values, places, strict=True):
            if not self.is_arg:
                if mask is not None:
                    value = self.f.b.select(mask, value, constant(self.type, self._neutral()))
                parts.append((self._combined(part[0], value),))
                continue
            assert place is not None
            better = self._better((value, place), part)
            if mask is not None:
                better = self.f.b.and_(better, mask)
            parts.append(
                tuple(self.f.b.select(better, new, old) for new, old in zip((value, place), part, strict=True))
            )
        self.parts = parts

    def _combined(self, a: Value, b: Value) -> Value:
        return self._primitives.apply(_COMBINE[self.op], self.kind, [a, b])

    def _merged(self, a: Part, b: Part) -> Part:
        if not self.is_arg:
            return (self._combined(a[0], b[0]),)
        better = self._better(b, a)
        return tuple(self.f.b.select(better, y, x) for x, y in zip(a, b, strict=True))

    def _better(self, new: Part, old: Part) -> Value:
        """Whether a value and place win: the extreme (NaN before all), then the first or last place."""
        b, apply = self.f.b, self._primitives.apply
        (value, place), (best, held) = new, old
        order = [best, value] if self.op.endswith("max") else [value, best]
        wins = apply("lt", self.kind, order)
        equal = apply("eq", self.kind, [value, best])
        if self.kind.is_float:
            nan, nan_held = b.fcmp_unordered("uno", value, value), b.fcmp_unordered("uno", best, best)
            equal = b.or_(equal, b.and_(nan, nan_held))
            wins = b.and_(b.or_(wins, nan), b.xor(nan_held, constant(nan_held.type, 1)))
        zero = constant(place.type, 0)
        later = b.icmp_signed(">", place, held) if self.op.startswith("last") else b.icmp_signed("<", place, held)
        valid = b.icmp_signed(">=", place, zero)
        empty = b.icmp_signed("<", held, zero)
        return b.and_(valid, b.or_(empty, b.or_(wins, b.and_(equal, later))))

    def lanes(self) -> Value | list[Value]:
        """The results lane by lane; a scalar in scalar code."""
        found = [part[-1] for part in self.parts]
        return found if self.width > 1 else found[0]

    def across(self) -> Value:
        """The one result of all lanes and accumulators."""
        total = self.parts[0]
        for part in self.parts[1:]:
            total = self._merged(total, part)
        width = self.width
        while width > 1:
            half = width // 2
            low, high = (tuple(self._half(v, start, half) for v in total) for start in (0, half))
            total, width = self._merged(low, high), half
        return total[-1]

    def _half(self, value: Value, start: int, count: int) -> Value:
        if count == 1:
            return self.f.b.extract_element(value, ir.Constant(ir.IntType(32), start))
        return self.f.shuffle(value, value, range(start, start + count))
