"""Pointwise operators."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.meaning.pointwise import BINARY, UNARY
from ge_ascend.net import Out
from ge_core.ir.dtype import float32, int32, int64

_NOT_ALONE = {"TensorMove", "Invert", "Mish", "Selu", "IsInf", "TruncateDiv", "RealDiv", "LogicalAnd", "LogicalOr",
              "BitwiseAnd", "BitwiseOr", "BitwiseXor", "FloorMod", "Mul"}  # fmt: skip
"""Operators of the tables of meanings that are not emitted for every use of their IR operator."""


def _unary(c: LowerCall, type: str) -> Out:
    return c.op(type, c[0])


def _binary(c: LowerCall, type: str) -> Out:
    return c.op(type, c[0], c[1])


for _type, _op in UNARY.items():
    if _type not in _NOT_ALONE:
        lowering(_op)(partial(_unary, type=_type))
for _type, _op in BINARY.items():
    if _type not in _NOT_ALONE:
        lowering(_op)(partial(_binary, type=_type))


@lowering("Exp")
def exp(c: LowerCall) -> Out:
    return c.op("Exp", c[0])


@lowering("Log")
def log(c: LowerCall) -> Out:
    return c.op("Log", c[0])


@lowering("ge.Exp2")
def exp2(c: LowerCall) -> Out:
    return c.op("Exp", c[0], base=2.0)


@lowering("ge.Log2")
def log2(c: LowerCall) -> Out:
    return c.op("Log", c[0], base=2.0)


@lowering("ge.Log10")
def log10(c: LowerCall) -> Out:
    return c.op("Log", c[0], base=10.0)


@lowering("ge.ErfInv")
def erfinv(c: LowerCall) -> Out:
    return c.op("Erfinv", c[0])


@lowering("Div")
def div(c: LowerCall) -> Out:
    """Floats as reals; integers toward zero."""
    return c.op("RealDiv" if c.input(0).dtype.is_float else "TruncateDiv", c[0], c[1])


@lowering("ge.TruncDiv")
def trunc_div(c: LowerCall) -> Out:
    if c.input(0).dtype.is_integer:
        return c.op("TruncateDiv", c[0], c[1])
    return c.op("Trunc", c.op("RealDiv", c[0], c[1]))


@lowering("Mod")
def mod(c: LowerCall) -> Out:
    """fmod=0: the sign of the divisor; fmod=1: of the dividend."""
    return c.op("Mod" if c.attr("fmod") else "FloorMod", c[0], c[1])


@lowering("ge.FloorMod")
def floor_mod(c: LowerCall) -> Out:
    return c.op("FloorMod", c[0], c[1])


@lowering("And")
def and_(c: LowerCall) -> Out:
    return c.op("LogicalAnd", c[0], c[1])


@lowering("Or")
def or_(c: LowerCall) -> Out:
    return c.op("LogicalOr", c[0], c[1])


@lowering("Xor")
def xor(c: LowerCall) -> Out:
    return c.op("NotEqual", c[0], c[1])


@lowering("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(c: LowerCall) -> Out:
    """No plugin confirms the operators of integers; bool has logical ones."""
    if c.input(0).dtype.kind == "bool":
        kinds = {"BitwiseAnd": "LogicalAnd", "BitwiseOr": "LogicalOr", "BitwiseXor": "NotEqual"}
        return c.op(kinds[c.node.op], c[0], c[1])
    if c.may_use(c.node.op):
        return c.op(c.node.op, c[0], c[1])
    return _bits(c)


@lowering("BitwiseNot")
def bitwise_not(c: LowerCall) -> Out:
    """-1 - x for signed integers, max - x for unsigned ones."""
    dtype = c.input(0).dtype
    if dtype.kind == "bool":
        return c.op("LogicalNot", c[0])
    if c.may_use("BitwiseNot"):
        return c.op("Invert", c[0])
    return c.op("Sub", c.const(-1 if dtype.kind == "int" else dtype.max, dtype), c[0])


def _bits(c: LowerCall) -> Out:
    """Bit by bit in a signed type that holds all: the sum of 2^k * f(bit k of a, bit k of b).

    The top bit of a signed type counts negative, as rounding down makes it of a negative number's bits.
    """
    dtype = c.input(0).dtype
    if dtype.name == "uint64":
        raise c.refuse("on uint64 only with an operator that no plugin confirms", "allow_unsure=True")
    whole = int32 if dtype.bits <= 16 or dtype == int32 else int64
    a, b = (c.cast(v, whole) for v in (c[0], c[1]))
    two = c.const(2, whole)
    total: Out | None = None
    for k in range(dtype.bits):
        x, y = (c.op("FloorMod", v, two) for v in (a, b))
        if c.node.op == "BitwiseAnd":
            bit = c.op("Mul", x, y)
        elif c.node.op == "BitwiseOr":
            bit = c.op("Maximum", x, y)
        else:
            bit = c.cast(c.op("NotEqual", x, y), whole)
        weight = -(1 << k) if k == dtype.bits - 1 and dtype.kind == "int" else 1 << k
        part = c.op("Mul", bit, c.const(weight, whole))
        total = part if total is None else c.op("Add", total, part)
        a, b = (c.op("FloorDiv", v, two) for v in (a, b))
    assert total is not None
    return c.cast(total, dtype)


@lowering("BitShift", "ge.ArithmeticShift")
def shift(c: LowerCall) -> Out:
    left = c.node.op == "BitShift" and c.attr("direction") == "LEFT"
    return c.op("LeftShift" if left else "RightShift", c[0], c[1])


@lowering("IsInf")
def is_inf(c: LowerCall) -> Out:
    """IsInf finds both signs; one sign alone by a comparison with zero."""
    negative, positive = c.attr("detect_negative"), c.attr("detect_positive")
    found = c.op("IsInf", c[0])
    if negative and positive:
        return found
    if not negative and not positive:
        return c.op("LogicalAnd", found, c.op("LogicalNot", found))
    return c.op("LogicalAnd", found, c.op("Less" if negative else "Greater", c[0], 0.0))


@lowering("Pow")
def power(c: LowerCall) -> Out:
    """The exponent in the base's type, unless an integer has a real power."""
    base, exponent = c[0], c[1]
    if base.value.dtype.is_integer and exponent.value.dtype.is_float:
        found = c.op("Pow", c.cast(base, float32), c.cast(exponent, float32))
        return c.cast(c.op("Trunc", found), base.value.dtype)
    return c.op("Pow", base, c.cast(exponent, base.value.dtype))


def _chain(c: LowerCall, type: str) -> Out:
    return reduce(lambda a, b: c.op(type, a, b), c.all())


@lowering("Max")
def maximum(c: LowerCall) -> Out:
    return _chain(c, "LogicalOr" if c.input(0).dtype.kind == "bool" else "Maximum")


@lowering("Min")
def minimum(c: LowerCall) -> Out:
    return _chain(c, "LogicalAnd" if c.input(0).dtype.kind == "bool" else "Minimum")


@lowering("Sum")
def total(c: LowerCall) -> Out:
    return _chain(c, "Add")


@lowering("Mean")
def mean(c: LowerCall) -> Out:
    count = len(c.all())
    return c.op("RealDiv", _chain(c, "Add"), float(count)) if count > 1 else c[0]


@lowering("Where")
def where(c: LowerCall) -> Out:
    return c.op("SelectV2", c[0], c[1], c[2])


@lowering("Clip")
def clip(c: LowerCall) -> Out:
    """ClipByValue needs both bounds; one alone is Maximum or Minimum."""
    low, high = c.get(1), c.get(2)
    if low is not None and high is not None:
        return c.op("ClipByValue", c[0], low, high)
    if low is not None:
        return c.op("Maximum", c[0], low)
    return c[0] if high is None else c.op("Minimum", c[0], high)


@lowering("Cast")
def cast(c: LowerCall) -> Out:
    """Casts between types that become one are nothing."""
    source, target = c.input(0).dtype, c.attr("to")
    wanted = c.output_type()
    out = c.as_is(0)
    if source.is_float and target.is_integer:
        out = c.cast(out, float32) if out.value.dtype != float32 and target.bits > 16 else out
    return c.cast(out, wanted)


@lowering("Swish")
def swish(c: LowerCall) -> Out:
    return c.op("Swish", c[0], scale=float(c.attr("alpha")))


@lowering("Gelu")
def gelu(c: LowerCall) -> Out:
    """Gelu is the tanh form; GeluV2 says which, and is the mapping of one plugin only."""
    if c.attr("approximate") == "tanh":
        return c.op("Gelu", c[0])
    if c.may_use("Gelu (opset 20)"):
        return c.op("GeluV2", c[0], approximate="none")
    x = c[0]
    inner = c.op("Add", c.op("Erf", c.op("Mul", x, 0.7071067811865476)), 1.0)
    return c.op("Mul", c.op("Mul", x, 0.5), inner)


@lowering("LeakyRelu")
def leaky_relu(c: LowerCall) -> Out:
    return c.op("LeakyRelu", c[0], negative_slope=float(c.attr("alpha")))


@lowering("Elu")
def elu(c: LowerCall) -> Out:
    return c.op("Elu", c[0], alpha=float(c.attr("alpha")))


@lowering("Celu")
def celu(c: LowerCall) -> Out:
    return c.op("CeluV2", c[0], alpha=float(c.attr("alpha")))


@lowering("Selu")
def selu(c: LowerCall) -> Out:
    """Selu has the standard factors; others by Elu."""
    alpha, gamma = float(c.attr("alpha")), float(c.attr("gamma"))
    if abs(alpha - 1.6732632) < 1e-6 and abs(gamma - 1.050701) < 1e-6:
        return c.op("Selu", c[0])
    return c.op("Mul", c.op("Elu", c[0], alpha=alpha), gamma)


@lowering("Shrink")
def shrink(c: LowerCall) -> Out:
    return c.op("Shrink", c[0], lambd=float(c.attr("lambd")), bias=float(c.attr("bias")))


@lowering("HardSigmoid")
def hard_sigmoid(c: LowerCall) -> Out:
    return c.op("HardSigmoid", c[0], alpha=float(c.attr("alpha")), beta=float(c.attr("beta")))


@lowering("ThresholdedRelu")
def thresholded_relu(c: LowerCall) -> Out:
    return c.op("ThresholdedRelu", c[0], alpha=float(c.attr("alpha")))


@lowering("Mish")
def mish(c: LowerCall) -> Out:
    return c.op("Mish", c[0])


@lowering("PRelu")
def prelu(c: LowerCall) -> Out:
    """PRelu takes one slope, or one per channel; other forms by a choice."""
    slope, rank = c.shape(1), c.rank(0)
    rest = slope[-(rank - 1) :] if len(slope) == rank else slope
    if len(rest) == rank - 1 and all(size == 1 for size in rest[1:]) and all(s == 1 for s in slope[: -(rank - 1)]):
        return c.op("PRelu", c[0], c.reshape(c[1], [-1]))
    return c.op("SelectV2", c.op("Less", c[0], 0.0), c.op("Mul", c[0], c[1]), c[0])


@lowering("ge.FMax", "ge.FMin")
def number_first(c: LowerCall) -> Out:
    """The number wins over NaN."""
    a, b = c[0], c[1]
    both = c.op("Maximum" if c.node.op == "ge.FMax" else "Minimum", a, b)
    return c.op("SelectV2", c.op("IsNan", a), b, c.op("SelectV2", c.op("IsNan", b), a, both))


@lowering("ge.LogAddExp")
def log_add_exp(c: LowerCall) -> Out:
    """max + log1p(exp(-|a - b|)); equal operands, infinities too, give a + log 2"""
    a, b = c[0], c[1]
    far = c.op("Log1p", c.op("Exp", c.op("Neg", c.op("Abs", c.op("Sub", a, b)))))
    return c.op(
        "SelectV2", c.op("Equal", a, b), c.op("Add", a, float(np.log(2))), c.op("Add", c.op("Maximum", a, b), far)
    )


@lowering("ge.CopySign")
def copy_sign(c: LowerCall) -> Out:
    """The sign of zero by the sign of its reciprocal."""
    a, b = c.op("Abs", c[0]), c[1]
    below = c.op("LogicalOr", c.op("Less", b, 0.0), c.op("Less", c.op("Reciprocal", b), 0.0))
    return c.op("SelectV2", below, c.op("Neg", a), a)
