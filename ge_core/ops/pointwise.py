"""Pointwise operators: one row each. The numpy reference, the CPU lowering and the CANN expansion derive from it.

A row's expression is over the inputs' names, the attributes' names, literals and the primitives of
`PRIMITIVES`, in call syntax: `select(lt(x, 0), mul(alpha, x), x)`. It is computed elementwise after broadcasting,
in the inputs' element type; floats of 16 bits and less are computed in float32 and rounded once at the end.
`expression_of` (expression.py) gives the parsed expression of a node.

Primitives on integers: add, sub, mul, neg, abs wrap; div truncates (as truncdiv); div, floordiv, floormod, fmod by
zero are an error; shifts by the width or more, or by a negative number, give 0, or for sar of a signed type the
sign; shr shifts in zeros, sar of a signed type the sign. On floats: min and max propagate NaN; round goes to even;
sign keeps NaN; fmod has the sign of the dividend, floormod that of the divisor. On bools: min and max are and, or;
lt and le order false before true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# name -> number of operands. Comparisons and is* give bool; select(cond, a, b).
PRIMITIVES: Mapping[str, int] = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "abs": 1, "sign": 1, "floor": 1, "ceil": 1, "trunc": 1,
    "round": 1, "sqrt": 1, "rsqrt": 1, "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1,
    "acosh": 1, "atanh": 1, "atan2": 2, "erf": 1, "erfc": 1, "erfinv": 1, "lgamma": 1, "digamma": 1, "pow": 2,
    "min": 2, "max": 2, "fmod": 2, "floordiv": 2, "floormod": 2, "truncdiv": 2, "lt": 2, "le": 2, "eq": 2, "ne": 2,
    "and": 2, "or": 2, "xor": 2, "not": 1, "bitand": 2, "bitor": 2, "bitxor": 2, "bitnot": 1, "shl": 2, "shr": 2,
    "sar": 2, "select": 3, "isnan": 1,
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
        variants: conditions to the expression that holds instead, the first match counts. A condition is
            `attribute=value` or `no input`; several are joined by commas.
        fold: for operators with any number of inputs `a`: combines the result so far (`a`) and the next input
            (`b`); then `expression` gets the total as `a` and the number of inputs as `count`.
    """

    name: str
    inputs: tuple[tuple[str, str], ...]
    output: str
    expression: str
    attributes: Mapping[str, float | int | str] = field(default_factory=dict)
    variants: Mapping[str, str] = field(default_factory=dict)
    fold: str | None = None


def _unary(name: str, expression: str, output: str = "T", **attributes: float | int | str) -> Row:
    return Row(name, (("x", "T"),), output, expression, attributes)


def _binary(name: str, expression: str, output: str = "T", **attributes: float | int | str) -> Row:
    return Row(name, (("a", "T"), ("b", "T")), output, expression, attributes)


def _variadic(name: str, fold: str, expression: str = "a") -> Row:
    return Row(name, (("a", "T"),), "T", expression, fold=fold)


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

_SIGMOID = "div(1, add(1, exp(neg(x))))"
_SWISH = "div(x, add(1, exp(neg(mul(alpha, x)))))"
_SOFTPLUS = "add(max(x, 0), log1p(exp(neg(abs(x)))))"

# Names and defaults of attributes are those of ONNX; inputs are in the schema's order under names of our own.
ONNX_POINTWISE: tuple[Row, ...] = (
    _unary("Abs", "abs(x)"),
    _unary("Acos", "acos(x)"),
    _unary("Acosh", "acosh(x)"),
    _unary("Asin", "asin(x)"),
    _unary("Asinh", "asinh(x)"),
    _unary("Atan", "atan(x)"),
    _unary("Atanh", "atanh(x)"),
    _unary("Ceil", "ceil(x)"),
    _unary("Cos", "cos(x)"),
    _unary("Cosh", "cosh(x)"),
    _unary("Erf", "erf(x)"),
    _unary("Exp", "exp(x)"),
    _unary("Floor", "floor(x)"),
    _unary("Log", "log(x)"),
    _unary("Neg", "neg(x)"),
    _unary("Reciprocal", "div(1, x)"),
    _unary("Round", "round(x)"),
    _unary("Sign", "sign(x)"),
    _unary("Sin", "sin(x)"),
    _unary("Sinh", "sinh(x)"),
    _unary("Sqrt", "sqrt(x)"),
    _unary("Tan", "tan(x)"),
    _unary("Tanh", "tanh(x)"),
    _unary("Not", "not(x)"),
    _unary("BitwiseNot", "bitnot(x)"),
    _unary("IsNaN", "isnan(x)", "bool"),
    Row(
        "IsInf", (("x", "T"),), "bool", "isinf(x)", {"detect_negative": 1, "detect_positive": 1},
        {"detect_negative=0,detect_positive=0": "lt(x, x)", "detect_negative=0": "isposinf(x)",
         "detect_positive=0": "isneginf(x)"},
    ),
    _binary("Add", "add(a, b)"),
    _binary("Sub", "sub(a, b)"),
    _binary("Mul", "mul(a, b)"),
    _binary("Div", "div(a, b)"),
    Row("Mod", (("a", "T"), ("b", "T")), "T", "floormod(a, b)", {"fmod": 0}, {"fmod=1": "fmod(a, b)"}),
    # The exponent is computed in the base's type; an integer base with a float exponent in float64, then
    # truncated. An integer power with a negative exponent is 0, except of 1 and -1.
    Row("Pow", (("a", "T"), ("b", "T1")), "T", "pow(a, b)"),
    _binary("And", "and(a, b)"),
    _binary("Or", "or(a, b)"),
    _binary("Xor", "xor(a, b)"),
    _binary("BitwiseAnd", "bitand(a, b)"),
    _binary("BitwiseOr", "bitor(a, b)"),
    _binary("BitwiseXor", "bitxor(a, b)"),
    Row("BitShift", (("a", "T"), ("b", "T")), "T", "shl(a, b)", {"direction": ""},
        {"direction=RIGHT": "sar(a, b)"}),
    _binary("Equal", "eq(a, b)", "bool"),
    _binary("Less", "lt(a, b)", "bool"),
    _binary("LessOrEqual", "le(a, b)", "bool"),
    _binary("Greater", "lt(b, a)", "bool"),
    _binary("GreaterOrEqual", "le(b, a)", "bool"),
    Row("Where", (("cond", "bool"), ("a", "T"), ("b", "T")), "T", "select(cond, a, b)"),
    _variadic("Max", "max(a, b)"),
    _variadic("Min", "min(a, b)"),
    _variadic("Sum", "add(a, b)"),
    _variadic("Mean", "add(a, b)", "div(a, count)"),
    Row(
        "Clip", (("x", "T"), ("lo", "T"), ("hi", "T")), "T", "min(max(x, lo), hi)", {},
        {"no lo,no hi": "x", "no lo": "min(x, hi)", "no hi": "max(x, lo)"},
    ),
    _unary("Relu", "max(x, 0)"),
    _unary("LeakyRelu", "select(lt(x, 0), mul(alpha, x), x)", alpha=0.01),
    Row("PRelu", (("x", "T"), ("slope", "T")), "T", "select(lt(x, 0), mul(slope, x), x)"),
    _unary("ThresholdedRelu", "select(lt(alpha, x), x, 0)", alpha=1.0),
    _unary("Elu", "select(lt(x, 0), mul(alpha, expm1(x)), x)", alpha=1.0),
    _unary(
        "Selu", "mul(gamma, select(lt(x, 0), mul(alpha, expm1(x)), x))",
        alpha=1.6732631921768188, gamma=1.0507010221481323,
    ),
    _unary("Celu", "select(lt(x, 0), mul(alpha, expm1(div(x, alpha))), x)", alpha=1.0),
    _unary(
        "Shrink", "select(lt(x, neg(lambd)), add(x, bias), select(lt(lambd, x), sub(x, bias), 0))",
        bias=0.0, lambd=0.5,
    ),
    _unary("Sigmoid", _SIGMOID),
    _unary("HardSigmoid", "max(0, min(1, add(mul(alpha, x), beta)))", alpha=0.2, beta=0.5),
    # as the standard has it: a sixth of x, not x over six, which takes several times as long as all the rest
    _unary("HardSwish", "mul(x, max(0, min(1, add(mul(x, 0.16666666666666666), 0.5))))"),
    _unary("Softplus", _SOFTPLUS),
    _unary("Softsign", "div(x, add(1, abs(x)))"),
    _unary("Swish", _SWISH, alpha=1.0),
    Row("SwiGLU", (("x", "T"), ("b", "T")), "T", f"mul({_SWISH}, b)", {"alpha": 1.0}),
    _unary("Mish", f"mul(x, tanh({_SOFTPLUS}))"),
    Row(
        "Gelu", (("x", "T"),), "T", "mul(mul(0.5, x), add(1, erf(mul(x, 0.7071067811865476))))",
        {"approximate": "none"},
        {"approximate=tanh": "mul(mul(0.5, x), add(1, tanh(mul(0.7978845608028654, "
                             "add(x, mul(0.044715, mul(x, mul(x, x))))))))"},
    ),
    Row("Identity", (("x", "V"),), "V", "x"),
)  # fmt: skip

POINTWISE: Mapping[str, Row] = {row.name: row for row in (*ONNX_POINTWISE, *GE_POINTWISE)}
