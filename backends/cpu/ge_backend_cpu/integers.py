"""Integers of a kernel under construction: Python ints as long as they are known, i64 values of LLVM after that.

What is known now costs nothing at run time, and what a block has computed once it does not compute again: LLVM's time
grows with its input.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from ge_backend_cpu import llvm_ir as ir

I64 = ir.IntType(64)

Value: TypeAlias = Any
"""A value of LLVM (`llvm_ir.Value`)."""
Int: TypeAlias = Any
"""A Python int, or an i64 value."""
Truth: TypeAlias = Any
"""A Python bool, or an i1 value."""


@lru_cache(maxsize=4096)
def _integer(x: int) -> Value:
    return ir.Constant(I64, x)


class Integers:
    """Arithmetic where a builder stands.

    Attributes:
        b: the builder of instructions.
    """

    def __init__(self, b: ir.Builder) -> None:
        self.b = b
        self._made: dict[tuple[Any, ...], Value] = {}
        self._place: Value = None
        # sums and products with a known integer: how each was made
        self._linear: dict[Value, tuple[str, Value, int]] = {}

    def _once(self, name: str, x: Any, y: Any, make: Callable[[], Value]) -> Value:
        """What `make` computes from x and y alone; one copy of it in a block."""
        if self.b.block is not self._place:
            self._place, self._made = self.b.block, {}
        key = (name, x, y)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make()
        return found

    def i(self, x: Int) -> Value:
        """An integer as an i64 value."""
        return _integer(x) if isinstance(x, int) else x

    def add(self, x: Int, y: Int) -> Int:
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if isinstance(y, int) and y == 0:
            return x
        if isinstance(x, int) and x == 0:
            return y
        if isinstance(x, int):
            x, y = y, x
        found = self._once("add", x, y, lambda: self.b.add(self.i(x), self.i(y), flags=("nsw",)))
        if isinstance(y, int):
            self._linear[found] = "add", x, y
        return found

    def sub(self, x: Int, y: Int) -> Int:
        if isinstance(x, int) and isinstance(y, int):
            return x - y
        if isinstance(y, int) and y == 0:
            return x
        return self._once("sub", x, y, lambda: self.b.sub(self.i(x), self.i(y), flags=("nsw",)))

    def mul(self, x: Int, y: Int) -> Int:
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        for a, other in ((x, y), (y, x)):
            if isinstance(a, int) and a in (0, 1):
                return other if a else 0
        if isinstance(x, int):
            x, y = y, x
        if isinstance(y, int) and x in self._linear and self._linear[x][0] == "mul":
            _, x, before = self._linear[x]
            y *= before
        found = self._once("mul", x, y, lambda: self.b.mul(self.i(x), self.i(y), flags=("nsw",)))
        if isinstance(y, int):
            self._linear[found] = "mul", x, y
        return found

    def div(self, x: Int, y: Int) -> Int:
        """x // y for x >= 0 and y > 0."""
        if isinstance(x, int) and isinstance(y, int):
            return x // y
        if isinstance(y, int) and y == 1:
            return x
        return self._once("div", x, y, lambda: self.b.udiv(self.i(x), self.i(y)))

    def rem(self, x: Int, y: Int) -> Int:
        """x % y for x >= 0 and y > 0."""
        if isinstance(x, int) and isinstance(y, int):
            return x % y
        return 0 if isinstance(y, int) and y == 1 else self.b.urem(self.i(x), self.i(y))

    def ceildiv(self, x: Int, y: Int) -> Int:
        """x / y rounded up, for x >= 0 and y > 0."""
        return self.div(self.add(x, self.sub(y, 1)), y)

    def minimum(self, x: Int, y: Int) -> Int:
        if isinstance(x, int) and isinstance(y, int):
            return min(x, y)
        return self.b.select(self.lt(x, y), self.i(x), self.i(y))

    def maximum(self, x: Int, y: Int) -> Int:
        if isinstance(x, int) and isinstance(y, int):
            return max(x, y)
        return self.b.select(self.lt(x, y), self.i(y), self.i(x))

    def compare(self, sign: str, x: Int, y: Int) -> Truth:
        """x `sign` y, signed; a Python bool when both are known."""
        if isinstance(x, int) and isinstance(y, int):
            return {"<": x < y, "<=": x <= y, "==": x == y, "!=": x != y, ">": x > y, ">=": x >= y}[sign]
        return self.b.icmp_signed(sign, self.i(x), self.i(y))

    def lt(self, x: Int, y: Int) -> Truth:
        return self.compare("<", x, y)

    def eq(self, x: Int, y: Int) -> Truth:
        return self.compare("==", x, y)
