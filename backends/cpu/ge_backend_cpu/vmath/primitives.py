"""The primitives of pointwise rows (`ge_core.ops.pointwise.PRIMITIVES`) on values in registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ge_backend_cpu import convert
from ge_backend_cpu.emit import I16, I32, Function, constant, vector, width_of
from ge_backend_cpu.integers import I64, Value
from ge_backend_cpu.kernel import DIVISION_BY_ZERO
from ge_backend_cpu.vmath import remainder
from ge_backend_cpu.vmath.base import Kit
from ge_backend_cpu.vmath.double import Double
from ge_backend_cpu.vmath.integers import Integers
from ge_backend_cpu.vmath.single import Single
from ge_core.errors import BackendError
from ge_core.ir.dtype import DType

Check = Callable[[Value, int], None]
"""`check(condition, status)`: the kernel shall return the status if the condition holds in a lane that counts."""

TESTS = frozenset({"lt", "le", "eq", "ne", "and", "or", "xor", "not", "isnan", "isinf", "isposinf", "isneginf"})
"""Primitives that give bools."""

_ROUNDING = frozenset({"floor", "ceil", "trunc", "round"})
_INTEGER = {
    "truncdiv": "truncdiv", "div": "truncdiv", "fmod": "fmod", "floordiv": "floordiv", "floormod": "floormod",
    "shl": "shl", "shr": "shr", "sar": "sar", "pow": "pow", "neg": "neg", "abs": "abs", "sign": "sign",
    "min": "smaller", "max": "larger",
}  # fmt: skip
_ARITHMETIC = {"add": ("add", "fadd"), "sub": ("sub", "fsub"), "mul": ("mul", "fmul")}
_BITWISE = {"bitand": "and_", "bitor": "or_", "bitxor": "xor", "and": "and_", "or": "or_", "xor": "xor"}
_COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_FUNCTIONS = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "atan2", "erf", "erfc", "erfinv", "lgamma", "digamma", "pow", "sqrt",
    "abs", "neg", "floor", "trunc", "round", "copysign", "exp_nonpositive",
})  # fmt: skip


class Primitives:
    """Applies primitives in one kernel.

    Args:
        check: is told of integer divisions by zero.
    """

    def __init__(self, f: Function, check: Check) -> None:
        self.f, self.b, self.check = f, f.b, check

    def apply(self, name: str, kind: DType, arguments: list[Value]) -> Value:
        """A primitive on values of one element type, in its compute type (see `convert.compute_type`).

        Args:
            kind: of the operands; for `select` of the second and third.

        Returns:
            A value of the same kind; of bool for the tests.

        Raises:
            BackendError: the type has no such operation.
        """
        if name == "select":
            return self.b.select(*arguments)
        if kind.kind == "bool":
            return self._on_bools(name, arguments)
        if name in ("and", "or", "xor", "not"):
            return self._on_bools(name, [self._truth(kind, a) for a in arguments])
        if name == "nextafter":
            return self._next_after(kind, *arguments)
        return self._on_floats(name, arguments) if kind.is_float else self._on_integers(name, kind, arguments)

    def _truth(self, kind: DType, x: Value) -> Value:
        zero = constant(x.type, 0)
        return self.b.fcmp_unordered("!=", x, zero) if kind.is_float else self.b.icmp_unsigned("!=", x, zero)

    # Floats

    def _on_floats(self, name: str, arguments: list[Value]) -> Value:
        m = kit(self.f, arguments[0])
        if name in _ARITHMETIC:
            return getattr(self.b, _ARITHMETIC[name][1])(*arguments)
        if name in _COMPARE:
            return m.compare(_COMPARE[name], *arguments)
        if name in _FUNCTIONS:
            return getattr(m, name)(*arguments)
        if name in ("fmod", "floormod", "floordiv"):
            return getattr(remainder, name)(m, *arguments)
        if name in _FLOATS:
            return _FLOATS[name](m, *arguments)
        raise BackendError(f"floats have no {name}")

    def _next_after(self, kind: DType, x: Value, y: Value) -> Value:
        """The neighbour of x towards y in the element type itself."""
        m = kit(self.f, x)
        raw, width = convert.narrow(self.f, x, kind), width_of(x)
        integer = vector({16: I16, 32: I32, 64: I64}[kind.bits], width)
        bits = self.b.bitcast(raw, integer)
        one, zero = constant(integer, 1), constant(integer, 0)
        away = self.b.xor(m.compare("<", x, y), m.compare("<", x, m.c(0.0)))
        moved = self.b.select(away, self.b.add(bits, one), self.b.sub(bits, one))
        least = m.copysign(m.c(1.0), y)
        sign = self.b.icmp_signed("<", self.b.bitcast(convert.narrow(self.f, least, kind), integer), zero)
        top = constant(integer, -(1 << (kind.bits - 1)))
        moved = self.b.select(m.compare("==", x, m.c(0.0)), self.b.or_(self.b.select(sign, top, zero), one), moved)
        value = convert.widen(self.f, self.b.bitcast(moved, raw.type), kind)
        value = m.select(m.compare("==", x, y), y, value)
        return m.select(m.or_(m.is_nan(x), m.is_nan(y)), m.add(x, y), value)

    # Integers

    def _on_integers(self, name: str, kind: DType, arguments: list[Value]) -> Value:
        signed = kind.kind == "int"
        if name in _ROUNDING:
            return arguments[0]
        if name in _COMPARE:
            compare = self.b.icmp_signed if signed else self.b.icmp_unsigned
            return compare(_COMPARE[name], *arguments)
        if name in ("isnan", "isinf", "isposinf", "isneginf"):
            return self.b.icmp_unsigned("!=", arguments[0], arguments[0])
        if name in _BITWISE:
            return getattr(self.b, _BITWISE[name])(*arguments)
        if name == "bitnot":
            return self._fit(kind, self.b.not_(arguments[0]))
        if name in _ARITHMETIC:
            return self._fit(kind, getattr(self.b, _ARITHMETIC[name][0])(*arguments))
        if name in _INTEGER:
            bits = arguments[0].type.element.width if width_of(arguments[0]) > 1 else arguments[0].type.width
            integers = Integers(self.f, bits, signed, lambda zero: self.check(zero, DIVISION_BY_ZERO))
            return self._fit(kind, getattr(integers, _INTEGER[name])(*arguments))
        raise BackendError(f"integers have no {name}")

    def _fit(self, kind: DType, x: Value) -> Value:
        """Types smaller than a byte are computed in i8: wrap."""
        if kind.bits >= 8:
            return x
        if kind.kind == "uint":
            return self.b.and_(x, constant(x.type, int(kind.max)))
        unused = constant(x.type, 8 - kind.bits)
        return self.b.ashr(self.b.shl(x, unused), unused)

    # Bools

    def _on_bools(self, name: str, arguments: list[Value]) -> Value:
        b, one = self.b, constant(arguments[0].type, 1)
        if name in ("not", "bitnot"):
            return b.xor(arguments[0], one)
        if name in ("abs", "sign", *_ROUNDING):
            return arguments[0]
        x, y = arguments
        if name in ("and", "min", "mul", "bitand"):
            return b.and_(x, y)
        if name in ("or", "max", "add", "bitor"):
            return b.or_(x, y)
        if name in ("xor", "ne", "bitxor"):
            return b.xor(x, y)
        if name == "eq":
            return b.xor(b.xor(x, y), one)
        if name == "lt":
            return b.and_(b.xor(x, one), y)
        if name == "le":
            return b.or_(b.xor(x, one), y)
        raise BackendError(f"bools have no {name}")


def kit(f: Function, value: Any) -> Kit:
    """The functions for a float value's type and width."""
    from ge_backend_cpu.emit import DOUBLE

    width = width_of(value)
    element = value.type.element if width > 1 else value.type
    return Double(f, width) if element == DOUBLE else Single(f, width)


def _sign(m: Kit, x: Value) -> Value:
    one = m.select(m.compare(">", x, m.c(0.0)), m.c(1.0), m.c(0.0))
    signed = m.select(m.compare("<", x, m.c(0.0)), m.c(-1.0), one)
    return m.select(m.is_nan(x), x, signed)


def _minimum(m: Kit, x: Value, y: Value) -> Value:
    return m.select(m.is_nan(x), x, m.smaller(x, y))


def _maximum(m: Kit, x: Value, y: Value) -> Value:
    return m.select(m.is_nan(x), x, m.larger(x, y))


_FLOATS: dict[str, Callable[..., Value]] = {
    "div": lambda m, x, y: m.div(x, y),
    "truncdiv": lambda m, x, y: m.trunc(m.div(x, y)),
    "ceil": lambda m, x: m.f.intrinsic("ceil", x),
    "rsqrt": lambda m, x: m.div(m.c(1.0), m.sqrt(x)),
    "sign": _sign,
    "min": _minimum,
    "max": _maximum,
    "isnan": lambda m, x: m.is_nan(x),
    "isinf": lambda m, x: m.is_inf(x),
    "isposinf": lambda m, x: m.compare("==", x, m.c(float("inf"))),
    "isneginf": lambda m, x: m.compare("==", x, m.c(float("-inf"))),
}
