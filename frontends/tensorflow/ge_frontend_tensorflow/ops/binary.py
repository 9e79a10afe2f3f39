"""Operators on the elements of two tensors, choices between two, and sums of several."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, Call
from ..complex_pair import ComplexPair
from ..registry import tf_op
from .complex_number import Either, aligned, as_pair, is_complex, product, quotient
from .pointwise import as_bits, unsigned

_BINARY = {
    "LogicalAnd": "And", "LogicalOr": "Or", "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr",
    "BitwiseXor": "BitwiseXor", "Atan2": "ge.Atan2", "NextAfter": "ge.NextAfter", "FloorDiv": "ge.FloorDiv",
    "FloorMod": "ge.FloorMod", "Less": "Less", "LessEqual": "LessOrEqual", "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual",
}  # fmt: skip


@tf_op(
    "LogicalAnd", "LogicalOr", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Atan2", "NextAfter", "FloorDiv", "FloorMod",
    "Less", "LessEqual", "Greater", "GreaterEqual",
)  # fmt: skip
def binary(c: Call, x: Value, y: Value) -> Value:
    """LogicalAnd(x, y) -> z
    LogicalOr(x, y) -> z
    BitwiseAnd(x, y) -> z; T
    BitwiseOr(x, y) -> z; T
    BitwiseXor(x, y) -> z; T
    Atan2(y, x) -> z; T
    NextAfter(x1, x2) -> output; T
    FloorDiv(x, y) -> z; T
    FloorMod(x, y) -> z; T
    Less(x, y) -> z; T
    LessEqual(x, y) -> z; T
    Greater(x, y) -> z; T
    GreaterEqual(x, y) -> z; T
    """
    return c.b.op(_BINARY[c.name], x, y)


@tf_op("AddV2", "Add", complex=True)
def add(c: Call, x: Either, y: Either) -> Either:
    """AddV2(x, y) -> z; T
    Add(x, y) -> z; T
    """
    if is_complex(x, y):
        return ComplexPair(c.b.Add(*aligned(c, x, y)))
    return c.b.Add(x, y)


@tf_op("Sub", complex=True)
def sub(c: Call, x: Either, y: Either) -> Either:
    """Sub(x, y) -> z; T"""
    if is_complex(x, y):
        return ComplexPair(c.b.Sub(*aligned(c, x, y)))
    return c.b.Sub(x, y)


@tf_op("Mul", complex=True)
def mul(c: Call, x: Either, y: Either) -> Either:
    """Mul(x, y) -> z; T"""
    if is_complex(x, y):
        return product(c, as_pair(c, x), as_pair(c, y))
    return c.b.Mul(x, y)


@tf_op("RealDiv", "Div", complex=True)
def real_div(c: Call, x: Either, y: Either) -> Either:
    """RealDiv(x, y) -> z; T
    Div(x, y) -> z; T
    """
    if is_complex(x, y):
        return quotient(c, as_pair(c, x), as_pair(c, y))
    assert isinstance(x, Value)
    return c.b.ge.TruncDiv(x, y) if x.dtype.is_integer else c.b.Div(x, y)


@tf_op("TruncateDiv")
def truncate_div(c: Call, x: Value, y: Value) -> Value:
    """TruncateDiv(x, y) -> z; T"""
    return c.b.ge.TruncDiv(x, y)


@tf_op("TruncateMod", "Mod")
def truncate_mod(c: Call, x: Value, y: Value) -> Value:
    """TruncateMod(x, y) -> z; T
    Mod(x, y) -> z; T
    """
    return c.b.Mod(x, y, fmod=1)


@tf_op("Maximum")
def maximum(c: Call, x: Value, y: Value) -> Value:
    """Maximum(x, y) -> z; T"""
    return c.b.Max([x, y])


@tf_op("Minimum")
def minimum(c: Call, x: Value, y: Value) -> Value:
    """Minimum(x, y) -> z; T"""
    return c.b.Min([x, y])


@tf_op("Pow")
def pow_(c: Call, x: Value, y: Value) -> Value:
    """Pow(x, y) -> z; T"""
    return c.b.Pow(x, y)


@tf_op("SquaredDifference")
def squared_difference(c: Call, x: Value, y: Value) -> Value:
    """SquaredDifference(x, y) -> z; T"""
    return c.b.ge.Square(c.b.Sub(x, y))


@tf_op("Equal", complex=True)
def equal(c: Call, x: Either, y: Either) -> Value:
    """Equal(x, y) -> z; T, incompatible_shape_error"""
    if is_complex(x, y):
        return c.cast(c.b.ReduceMin(c.cast(c.b.Equal(*aligned(c, x, y)), DType.of("int32")), c.b.ints(-1), keepdims=0),
                      BOOL)  # fmt: skip
    return c.b.Equal(x, y)


@tf_op("NotEqual", complex=True)
def not_equal(c: Call, x: Either, y: Either) -> Value:
    """NotEqual(x, y) -> z; T, incompatible_shape_error"""
    return c.b.Not(equal(c, x, y))


@tf_op("ApproximateEqual")
def approximate_equal(c: Call, x: Value, y: Value) -> Value:
    """ApproximateEqual(x, y) -> z; T, tolerance"""
    b = c.b
    tolerance = c.attr("tolerance")
    return b.Less(b.Abs(b.Sub(x, y)), c.like(tolerance, x))


def _zero_where(c: Call, x: Value, y: Value, found: Value) -> Value:
    """0 where x is 0, whatever y is."""
    return c.b.Where(c.b.Equal(x, c.like(0, x)), c.like(0, found), found)


@tf_op("DivNoNan", complex=True)
def div_no_nan(c: Call, x: Either, y: Either) -> Either:
    """DivNoNan(x, y) -> z; T"""
    b = c.b
    if is_complex(x, y):
        raise c.unsupported("complex numbers")
    assert isinstance(y, Value)
    none = b.Equal(y, c.like(0, y))
    return b.Where(none, c.like(0, y), b.Div(x, y))


@tf_op("MulNoNan")
def mul_no_nan(c: Call, x: Value, y: Value) -> Value:
    """MulNoNan(x, y) -> z; T"""
    b = c.b
    return b.Where(b.Equal(y, c.like(0, y)), c.like(0, y), b.Mul(x, y))


@tf_op("Xlogy")
def xlogy(c: Call, x: Value, y: Value) -> Value:
    """Xlogy(x, y) -> z; T"""
    return _zero_where(c, x, y, c.b.Mul(x, c.b.Log(y)))


@tf_op("Xlog1py")
def xlog1py(c: Call, x: Value, y: Value) -> Value:
    """Xlog1py(x, y) -> z; T"""
    return _zero_where(c, x, y, c.b.Mul(x, c.b.ge.Log1p(y)))


@tf_op("Xdivy")
def xdivy(c: Call, x: Value, y: Value) -> Value:
    """Xdivy(x, y) -> z; T"""
    return _zero_where(c, x, y, c.b.Div(x, y))


@tf_op("LeftShift")
def left_shift(c: Call, x: Value, y: Value) -> Value:
    """LeftShift(x, y) -> z; T"""
    bits = unsigned(x.dtype)
    found = c.b.BitShift(as_bits(c, x, bits), as_bits(c, _clamped(c, y), bits), direction="LEFT")
    return as_bits(c, found, x.dtype)


@tf_op("RightShift")
def right_shift(c: Call, x: Value, y: Value) -> Value:
    """RightShift(x, y) -> z; T"""
    y = _clamped(c, y)
    if x.dtype.kind == "int":
        return c.b.ge.ArithmeticShift(x, y)
    return c.b.BitShift(x, y, direction="RIGHT")


def _clamped(c: Call, y: Value) -> Value:
    """A shift by the width or more is one by the width less one, a negative one is none."""
    return c.b.Min([c.b.Max([y, c.like(0, y)]), c.like(y.dtype.bits - 1, y)])


@tf_op("AddN", "AccumulateNV2")
def add_n(c: Call, inputs: Sequence[Value]) -> Value:
    """AddN(inputs...) -> sum; N, T
    AccumulateNV2(inputs...) -> sum; N, T, shape
    """
    total = inputs[0]
    for x in inputs[1:]:
        total = c.b.Add(total, x)
    return total


@tf_op("Select")
def select(c: Call, condition: Value, t: Value, e: Value) -> Value:
    """Select(condition, t, e) -> output; T"""
    if 0 < condition.rank < t.rank:
        condition = c.unsqueeze(condition, *range(condition.rank, t.rank))
    return c.b.Where(condition, t, e)


@tf_op("SelectV2")
def select_v2(c: Call, condition: Value, t: Value, e: Value) -> Value:
    """SelectV2(condition, t, e) -> output; T"""
    return c.b.Where(condition, t, e)
