"""Elementwise operators of two tensors and more."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, INT32, Call
from ..registry import pd

_SAME = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "elementwise_pow": "Pow", "maximum": "Max", "minimum": "Min",
    "fmax": "ge.FMax", "fmin": "ge.FMin", "nextafter": "ge.NextAfter", "copysign": "ge.CopySign",
    "remainder": "ge.FloorMod", "floor_divide": "ge.FloorDiv", "atan2": "ge.Atan2",
}  # fmt: skip


@pd(*_SAME)
def binary(c: Call, x: Value, y: Value, *, axis: int = -1) -> Value:
    """add(x, y) -> out
    subtract(x, y) -> out
    multiply(x, y) -> out
    elementwise_pow(x, y) -> out
    maximum(x, y) -> out
    minimum(x, y) -> out
    fmax(x, y) -> out
    fmin(x, y) -> out
    nextafter(x, y) -> out
    copysign(x, y) -> out
    remainder(x, y) -> out
    floor_divide(x, y) -> out
    atan2(x, y) -> out
    """
    y = _aligned(c, x, y, axis)
    if c.dtype().kind == "bool":
        return _of_bools(c, x, y)
    kind = c.dtype()
    op = _SAME[c.name]
    if op in ("ge.FMax", "ge.FMin") and not kind.is_float:
        op = op.removeprefix("ge.F")
    return c.b.op(op, c.cast(x, kind), c.cast(y, kind))


def _aligned(c: Call, x: Value, y: Value, axis: int) -> Value:
    """`y` with axes of size 1 behind its own, where a legacy program says at which axis of `x` it begins."""
    behind = x.rank - axis - y.rank
    return c.unsqueeze(y, *range(y.rank, y.rank + behind)) if axis >= 0 and y.rank and behind > 0 else y


def _of_bools(c: Call, x: Value, y: Value) -> Value:
    """Sums and maxima of bools are whether one is true, products and minima whether both are."""
    if c.name in ("add", "maximum", "fmax"):
        return c.b.Or(x, y)
    if c.name in ("multiply", "minimum", "fmin"):
        return c.b.And(x, y)
    raise c.unsupported("bools")


@pd("divide")
def divide(c: Call, x: Value, y: Value, *, axis: int = -1) -> Value:
    """divide(x, y) -> out"""
    y = _aligned(c, x, y, axis)
    kind = c.dtype()
    if kind.is_integer:
        return c.b.ge.TruncDiv(x, y)
    return c.b.Div(c.cast(x, kind), c.cast(y, kind))


@pd("trunc_divide")
def trunc_divide(c: Call, x: Value, y: Value) -> Value:
    """trunc_divide(x, y) -> out"""
    return c.b.ge.TruncDiv(x, y) if x.dtype.is_integer else c.b.ge.Trunc(c.b.Div(x, y))


@pd("heaviside")
def heaviside(c: Call, x: Value, y: Value) -> Value:
    """heaviside(x, y) -> out"""
    b = c.b
    zero, one = c.scalar(0, x.dtype), c.scalar(1, x.dtype)
    steps = b.Where(b.Less(zero, x), one, zero)
    return b.Where(b.Equal(x, zero), y, steps)


_COMPARISONS = {
    "equal": "Equal", "less_than": "Less", "less_equal": "LessOrEqual", "greater_than": "Greater",
    "greater_equal": "GreaterOrEqual",
}  # fmt: skip


@pd(*_COMPARISONS, "not_equal")
def compare(c: Call, x: Value, y: Value, *, axis: int = -1) -> Value:
    """equal(x, y) -> out
    less_than(x, y) -> out
    less_equal(x, y) -> out
    greater_than(x, y) -> out
    greater_equal(x, y) -> out
    not_equal(x, y) -> out
    """
    y = _aligned(c, x, y, axis)
    if x.dtype.kind == "bool" and c.name not in ("equal", "not_equal"):
        x, y = c.cast(x, INT32), c.cast(y, INT32)
    y = c.cast(y, x.dtype)
    if c.name == "not_equal":
        return c.b.Not(c.b.Equal(x, y))
    return c.b.op(_COMPARISONS[c.name], x, y)


@pd("logical_and", "logical_or", "logical_xor")
def logical(c: Call, x: Value, y: Value) -> Value:
    """logical_and(x, y) -> out
    logical_or(x, y) -> out
    logical_xor(x, y) -> out
    """
    return c.b.op(c.name.removeprefix("logical_").capitalize(), c.cast(x, BOOL), c.cast(y, BOOL))


@pd("bitwise_and", "bitwise_or", "bitwise_xor")
def bitwise(c: Call, x: Value, y: Value) -> Value:
    """bitwise_and(x, y) -> out
    bitwise_or(x, y) -> out
    bitwise_xor(x, y) -> out
    """
    name = c.name.removeprefix("bitwise_").capitalize()
    return c.b.op(name if x.dtype.kind == "bool" else f"Bitwise{name}", x, y)


@pd("bitwise_left_shift")
def left_shift(c: Call, x: Value, y: Value, *, is_arithmetic: bool = True) -> Value:
    """bitwise_left_shift(x, y, *, is_arithmetic=true) -> out"""
    return _shift(c, x, y, "LEFT")


@pd("bitwise_right_shift")
def right_shift(c: Call, x: Value, y: Value, *, is_arithmetic: bool = True) -> Value:
    """bitwise_right_shift(x, y, *, is_arithmetic=true) -> out"""
    if is_arithmetic:
        return c.b.ge.ArithmeticShift(x, y)
    return _shift(c, x, y, "RIGHT")


def _shift(c: Call, x: Value, y: Value, direction: str) -> Value:
    """A shift that moves in zeros: on the bits as unsigned integers."""
    b, kind = c.b, x.dtype
    if kind.kind == "uint":
        return b.BitShift(x, y, direction=direction)
    plain = DType.of(f"uint{kind.bits}")
    return b.Cast(b.BitShift(b.Cast(x, to=plain), b.Cast(y, to=plain), direction=direction), to=kind)


@pd("where")
def where(c: Call, condition: Value, x: Value, y: Value) -> Value:
    """where(condition, x, y) -> out"""
    return c.b.Where(c.cast(condition, BOOL), x, y)


@pd("lerp")
def lerp(c: Call, x: Value, y: Value, weight: Value) -> Value:
    """lerp(x, y, weight) -> out"""
    b = c.b
    return b.Add(x, b.Mul(weight, b.Sub(y, x)))


@pd("add_n")
def add_n(c: Call, inputs: Sequence[Value]) -> Value:
    """add_n(inputs) -> out"""
    return inputs[0] if len(inputs) == 1 else c.b.Sum(list(inputs))


@pd("isclose")
def isclose(c: Call, x: Value, y: Value, rtol: Value, atol: Value, *, equal_nan: bool = False) -> Value:
    """isclose(x, y, rtol, atol, *, equal_nan=false) -> out"""
    return _close(c, x, y, rtol, atol, equal_nan)


def _close(c: Call, x: Value, y: Value, rtol: Value, atol: Value, equal_nan: bool) -> Value:
    """|x - y| <= atol + rtol * |y|, or equal; NaN equals NaN when asked. All is near an infinity, as in Paddle."""
    b, wide = c.b, DType.of("float64")
    relative, absolute = (c.cast(c.reshape(v, ()), wide) for v in (rtol, atol))
    left, right = c.cast(x, wide), c.cast(y, wide)
    near = b.LessOrEqual(b.Abs(b.Sub(left, right)), b.Add(absolute, b.Mul(relative, b.Abs(right))))
    same = b.Or(near, b.Equal(left, right))
    if equal_nan:
        same = b.Or(same, b.And(b.IsNaN(left), b.IsNaN(right)))
    return same


def _all(c: Call, x: Value) -> Value:
    b = c.b
    return c.cast(b.ReduceMin(b.Cast(c.flat(x), to=INT32), b.ints(0), keepdims=0), BOOL)


@pd("allclose")
def allclose(c: Call, x: Value, y: Value, rtol: Value, atol: Value, *, equal_nan: bool = False) -> Value:
    """allclose(x, y, rtol, atol, *, equal_nan=false) -> out"""
    return _all(c, _close(c, x, y, rtol, atol, equal_nan))


@pd("equal_all")
def equal_all(c: Call, x: Value, y: Value) -> Value:
    """equal_all(x, y) -> out"""
    if x.rank != y.rank or any(dims.equal(a, b) is False for a, b in zip(x.shape, y.shape, strict=True)):
        return c.b.constant(False)
    return _all(c, c.b.Equal(x, y))
