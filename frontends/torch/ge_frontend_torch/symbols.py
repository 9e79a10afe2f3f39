"""torch's symbolic sizes (sympy expressions) as Dims.

sympy objects are walked by the names of their classes; nothing is parsed from text. A size inside a rounding
function may be rational (`FloorToInt(0.5*s0)`): it is kept as numerator over denominator until it is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ge_core.errors import UnsupportedError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim, Size
from ge_core.ir.graph import Graph, Value

# A float factor of a size stands for itself up to this denominator: products with it are exact in double.
_LARGEST_DENOMINATOR = 1 << 10
_UNBOUNDED = 1 << 62

Rational = tuple[Size, int]


class Symbols:
    """The sizes of one exported program.

    Args:
        graph: gives the symbols unique names.
        ranges: torch's ranges by sympy symbol (`ExportedProgram.range_constraints`).
    """

    def __init__(self, graph: Graph, ranges: Mapping[Any, Any]) -> None:
        self._graph, self._ranges = graph, ranges
        self._sizes: dict[Any, Size] = {}
        self._floats: dict[Any, Value] = {}
        self._memo: dict[Any, Size] = {}

    def is_bound(self, symbol: Any) -> bool:
        """Whether a sympy symbol has a Dim."""
        return symbol in self._sizes

    def declare(self, symbol: Any, hint: str) -> Dim:
        """A new Dim, with torch's bounds, for a size that an input has."""
        found = self._sizes.get(symbol)
        if isinstance(found, Dim):
            return found
        lo, hi = self.bounds(symbol)
        made = self._graph.fresh_symbol(hint, max(lo, 0), hi)
        size = dims.symbol(made.name, made.lo, made.hi)
        self._sizes[symbol] = size
        return size

    def bind(self, symbol: Any, size: Size) -> None:
        """Say what a data-dependent symbol of torch's is in the graph."""
        self._sizes[symbol] = size
        self._memo.clear()

    def bind_float(self, symbol: Any, value: Value) -> None:
        """Say which scalar a data-dependent float symbol of torch's is."""
        self._floats[symbol] = value

    def bounds(self, symbol: Any) -> tuple[int, int | None]:
        """torch's bounds of a symbol."""
        found = self._ranges.get(symbol)
        if found is None:
            return 0, None
        lo = int(found.lower) if found.lower.is_Integer and abs(int(found.lower)) < _UNBOUNDED else 0
        hi = int(found.upper) if found.upper.is_Integer and int(found.upper) < _UNBOUNDED else None
        return lo, hi

    def size(self, size: int | torch.SymInt) -> Size:
        """A size of torch's.

        Raises:
            UnsupportedError: the expression is none that a Dim can say.
        """
        return self.expression(size.node.expr) if isinstance(size, torch.SymInt) else int(size)

    def expression(self, expr: Any) -> Size:
        """A sympy expression of integer value as a size."""
        found = self._memo.get(expr)
        if found is None:
            top, bottom = self._rational(expr)
            # torch's sizes are integers, so a denominator that is left divides
            found = top if bottom == 1 else dims.floordiv(top, bottom)
            self._memo[expr] = found
        return found

    def scalar(self, b: Builder, expr: Any) -> Value:
        """The value of an expression over sizes, such as the float `1/s0`, computed in float64."""
        name = type(expr).__name__
        if expr in self._floats:
            return b.Cast(self._floats[expr], to="float64")
        if expr.is_number:
            return b.constant(float(expr), "float64")
        if name in _FLOAT_FUNCTIONS:
            return _FLOAT_FUNCTIONS[name](b, *(self.scalar(b, arg) for arg in expr.args))
        if expr.is_integer:
            return b.Cast(b.scalar(self.expression(expr)), to="float64")
        raise self._refuse(expr)

    def _rational(self, expr: Any) -> Rational:
        name = type(expr).__name__
        if expr.is_Symbol:
            if expr not in self._sizes:
                raise UnsupportedError(
                    f"the size {expr} depends on data in a way that is not supported",
                    fix="avoid the operation that makes this size, or give it a static size",
                )
            return self._sizes[expr], 1
        if expr.is_number:
            return self._number(expr)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](self, *expr.args)
        raise self._refuse(expr)

    def _number(self, expr: Any) -> Rational:
        if expr.is_Rational:
            return int(expr.p), int(expr.q)
        top, bottom = float(expr).as_integer_ratio()
        if bottom > _LARGEST_DENOMINATOR:
            raise UnsupportedError(
                f"a size is multiplied by {float(expr)}, which is not exact in binary",
                expected="a factor such as 2, 0.5 or 0.25",
                fix="give the target size instead of a factor",
            )
        return top, bottom

    def _refuse(self, expr: Any) -> UnsupportedError:
        return UnsupportedError(
            f"the size expression {expr} ({type(expr).__name__}) is not supported",
            fix="make the dimensions in it static",
        )


def _add(s: Symbols, *args: Any) -> Rational:
    top, bottom = s._rational(args[0])
    for arg in args[1:]:
        t, d = s._rational(arg)
        top, bottom = (top + t, bottom) if d == bottom else (top * d + t * bottom, bottom * d)
    return top, bottom


def _mul(s: Symbols, *args: Any) -> Rational:
    top: Size = 1
    bottom = 1
    for arg in args:
        t, d = s._rational(arg)
        top, bottom = top * t, bottom * d
    return top, bottom


def _pow(s: Symbols, base: Any, exponent: Any) -> Rational:
    if not (exponent.is_Integer and int(exponent) >= 0):
        raise s._refuse(base**exponent)
    top, bottom = s._rational(base)
    return dims.product([top] * int(exponent)), bottom ** int(exponent)


def _floor_div(s: Symbols, a: Any, b: Any) -> Rational:
    (at, ad), (bt, bd) = s._rational(a), s._rational(b)
    return dims.floordiv(at * bd, bt * ad), 1


def _ceil_div(s: Symbols, a: Any, b: Any) -> Rational:
    (at, ad), (bt, bd) = s._rational(a), s._rational(b)
    return -1 * dims.floordiv(-1 * at * bd, bt * ad), 1


def _mod(s: Symbols, a: Any, b: Any) -> Rational:
    return dims.mod(s.expression(a), s.expression(b)), 1


def _modular_indexing(s: Symbols, base: Any, divisor: Any, modulus: Any) -> Rational:
    return dims.mod(dims.floordiv(s.expression(base), s.expression(divisor)), s.expression(modulus)), 1


def _true_div(s: Symbols, a: Any, b: Any) -> Rational:
    (at, ad), (bt, bd) = s._rational(a), s._rational(b)
    if not isinstance(bt, int) or bt <= 0:
        raise s._refuse(a / b)
    return at * bd, ad * bt


def _floor(s: Symbols, a: Any) -> Rational:
    top, bottom = s._rational(a)
    return dims.floordiv(top, bottom), 1


def _ceil(s: Symbols, a: Any) -> Rational:
    top, bottom = s._rational(a)
    return -1 * dims.floordiv(-1 * top, bottom), 1


def _trunc(s: Symbols, a: Any) -> Rational:
    top, bottom = s._rational(a)
    if bottom != 1 and (dims.bounds(top)[0] or -1) < 0:
        raise s._refuse(a)
    return dims.floordiv(top, bottom), 1


def _same(s: Symbols, a: Any) -> Rational:
    return s._rational(a)


def _fold(choose: Callable[[Size, Size], Size]) -> Callable[..., Rational]:
    def fold(s: Symbols, *args: Any) -> Rational:
        result = s.expression(args[0])
        for arg in args[1:]:
            result = choose(result, s.expression(arg))
        return result, 1

    return fold


_FUNCTIONS: dict[str, Callable[..., Rational]] = {
    "Add": _add,
    "Mul": _mul,
    "Pow": _pow,
    "PowByNatural": _pow,
    "FloorDiv": _floor_div,
    "CleanDiv": _floor_div,
    "CeilDiv": _ceil_div,
    "Mod": _mod,
    "PythonMod": _mod,
    "ModularIndexing": _modular_indexing,
    "IntTrueDiv": _true_div,
    "FloatTrueDiv": _true_div,
    "FloorToInt": _floor,
    "CeilToInt": _ceil,
    "TruncToInt": _trunc,
    "ToFloat": _same,
    "Max": _fold(dims.maximum),
    "Min": _fold(dims.minimum),
}


def _power(b: Builder, base: Value, exponent: Value) -> Value:
    return b.Pow(base, exponent)


def _nary(op: str) -> Callable[..., Value]:
    def build(b: Builder, *args: Value) -> Value:
        result = args[0]
        for arg in args[1:]:
            result = b.op(op, result, arg)
        return result

    return build


def _unary(op: str) -> Callable[..., Value]:
    def build(b: Builder, x: Value) -> Value:
        return b.op(op, x)

    return build


def _to_float(b: Builder, x: Value) -> Value:
    return x


_FLOAT_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "Add": _nary("Add"),
    "Mul": _nary("Mul"),
    "Pow": _power,
    "FloatPow": _power,
    "FloatTrueDiv": _nary("Div"),
    "IntTrueDiv": _nary("Div"),
    "ToFloat": _to_float,
    "OpaqueUnaryFn_sqrt": _unary("Sqrt"),
    "OpaqueUnaryFn_log": _unary("Log"),
    "OpaqueUnaryFn_exp": _unary("Exp"),
}
