"""Pointwise operators: one row each. The numpy reference, the CPU lowering and the CANN expansion derive from it.

A row's expression is over the inputs' names, the attributes' names, literals and the primitives of
`PRIMITIVES`, in Python call syntax: `select(lt(x, 0), mul(alpha, x), x)`. It is computed elementwise after
broadcasting, in the type `compute` (16-bit floats are computed in float32 and rounded once at the end).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# name -> number of operands. Comparisons and is* give bool; select(cond, a, b); cast_bool(x) is x != 0.
PRIMITIVES: Mapping[str, int] = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "abs": 1, "sign": 1, "floor": 1, "ceil": 1, "trunc": 1,
    "round": 1, "sqrt": 1, "rsqrt": 1, "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1,
    "acosh": 1, "atanh": 1, "atan2": 2, "erf": 1, "erfc": 1, "erfinv": 1, "lgamma": 1, "digamma": 1, "pow": 2, "min": 2, "max": 2,
    "fmod": 2, "floordiv": 2, "floormod": 2, "truncdiv": 2, "lt": 2, "le": 2, "eq": 2, "ne": 2, "and": 2, "or": 2, "xor": 2,
    "not": 1, "bitand": 2, "bitor": 2, "bitxor": 2, "bitnot": 1, "shl": 2, "shr": 2, "sar": 2, "select": 3, "isnan": 1,
    "isinf": 1, "isposinf": 1, "isneginf": 1, "copysign": 2, "nextafter": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One pointwise operator.

    Attributes:
        name: operator name.
        inputs: (name, type variable) pairs; all inputs broadcast.
        output: type variable of the result, or a concrete type such as `bool`.
        expression: see the module.
        attributes: attribute names with defaults, usable in the expression.
    """

    name: str
    inputs: tuple[tuple[str, str], ...]
    output: str
    expression: str
    attributes: Mapping[str, float | int | str] = field(default_factory=dict)


def _unary(name: str, expression: str, output: str = "T", **attributes: float | int | str) -> Row:
    return Row(name, (("x", "T"),), output, expression, attributes)


def _binary(name: str, expression: str, output: str = "T", **attributes: float | int | str) -> Row:
    return Row(name, (("a", "T"), ("b", "T")), output, expression, attributes)


GE_POINTWISE: tuple[Row, ...] = (
    _unary("ge.Expm1", "expm1(x)"),
    _unary("ge.Log1p", "log1p(x)"),
    _unary("ge.Log2", "log2(x)"),
    _unary("ge.Log10", "log10(x)"),
    _unary("ge.Exp2", "exp2(x)"),
    _unary("ge.Rsqrt", "rsqrt(x)"),
    _unary("ge.Square", "mul(x, x)"),
    _unary("ge.Trunc", "trunc(x)"),
    _unary("ge.Erfc", "erfc(x)"),
    _unary("ge.ErfInv", "erfinv(x)"),
    _unary("ge.Lgamma", "lgamma(x)"),
    _unary("ge.Digamma", "digamma(x)"),
    _unary("ge.IsFinite", "not(or(isnan(x), isinf(x)))", "bool"),
    _unary("ge.LogSigmoid", "sub(min(x, 0), log1p(exp(neg(abs(x)))))"),
    _binary("ge.FloorDiv", "floordiv(a, b)"),
    _binary("ge.FloorMod", "floormod(a, b)"),
    _binary("ge.TruncDiv", "truncdiv(a, b)"),
    _binary("ge.Atan2", "atan2(a, b)"),
    _binary("ge.CopySign", "copysign(a, b)"),
    _binary("ge.NextAfter", "nextafter(a, b)"),
    # max and min that prefer the number over NaN (C's fmax, fmin)
    _binary("ge.FMax", "select(isnan(a), b, select(isnan(b), a, max(a, b)))"),
    _binary("ge.FMin", "select(isnan(a), b, select(isnan(b), a, min(a, b)))"),
    _binary(
        "ge.LogAddExp",
        "select(eq(a, b), add(a, 0.6931471805599453), add(max(a, b), log1p(exp(neg(abs(sub(a, b)))))))",
    ),
    # shift right that keeps the sign; shifts of the width or more give 0 or -1
    _binary("ge.ArithmeticShift", "sar(a, b)"),
)
