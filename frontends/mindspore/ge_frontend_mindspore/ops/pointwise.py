"""Arithmetic, comparisons and logic of two or more tensors, element by element, broadcast."""

from __future__ import annotations

from typing import Any

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call, Operand
from ..registry import primitive

_TRUNC, _FLOOR = 1, 2  # MindSpore's RoundingMode

_SIMPLE = {"Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "Muls": "Mul", "Maximum": "Max",
           "Minimum": "Min", "Atan2": "ge.Atan2", "Atan2Ext": "ge.Atan2",
           "NextAfter": "ge.NextAfter"}  # fmt: skip

_COMPARE = {
    "Equal": "Equal", "EqualExt": "Equal", "EqScalar": "Equal", "Greater": "Greater", "GreaterScalar": "Greater",
    "GreaterEqual": "GreaterOrEqual", "GreaterEqualScalar": "GreaterOrEqual", "Less": "Less", "LessScalar": "Less",
    "LessEqual": "LessOrEqual", "LessEqualScalar": "LessOrEqual", "NotEqual": "", "NeScalar": "",
}  # fmt: skip

_LOGIC = {"LogicalAnd": "And", "LogicalOr": "Or", "LogicalXor": "Xor"}

_BITS = {
    "BitwiseAnd": "And", "BitwiseAndTensor": "And", "BitwiseAndScalar": "And",
    "BitwiseOr": "Or", "BitwiseOrTensor": "Or", "BitwiseOrScalar": "Or",
    "BitwiseXor": "Xor", "BitwiseXorTensor": "Xor", "BitwiseXorScalar": "Xor",
}  # fmt: skip


def _scaled(c: Call, other: Operand, alpha: Operand, dtype: DType) -> Value:
    value = c.tensor(other, dtype)
    return value if alpha == 1 else c.b.Mul(value, c.tensor(alpha, dtype))


@primitive(*_SIMPLE)
def simple(c: Call, input: Operand, other: Operand) -> Value:
    """Add(input, other); Sub; Mul; Muls; Maximum; Minimum; Atan2; NextAfter"""
    dtype = c.dtype()
    a, b = c.tensors(dtype, input, other)
    if dtype.kind == "bool":
        return {"Add": c.b.Or, "AddV2": c.b.Or, "Mul": c.b.And, "Muls": c.b.And, "Maximum": c.b.Or,
                "Minimum": c.b.And}[c.op](a, b)  # fmt: skip
    result: Value = c.b.op(_SIMPLE[c.op], a, b)
    return result


@primitive("AddExt", "AddScalar")
def add_ext(c: Call, input: Operand, other: Operand, alpha: Operand) -> Value:
    """AddExt(input, other, alpha=1); AddScalar(input, other, alpha=1): input + alpha * other"""
    dtype = c.dtype()
    if dtype.kind == "bool":
        return c.b.Or(c.tensor(input, dtype), c.tensor(other, dtype)) if alpha else c.tensor(input, dtype)
    return c.b.Add(c.tensor(input, dtype), _scaled(c, other, alpha, dtype))


@primitive("SubExt", "SubScalar")
def sub_ext(c: Call, input: Operand, other: Operand, alpha: Operand) -> Value:
    """SubExt(input, other, alpha=1); SubScalar(input, other, alpha=1): input - alpha * other"""
    return c.b.Sub(c.tensor(input, c.dtype()), _scaled(c, other, alpha, c.dtype()))


@primitive("AddN", "AccumulateNV2")
def add_n(c: Call, x: tuple[Value, ...]) -> Value:
    """AddN()(x): the sum of the tensors in a tuple"""
    total = x[0]
    for more in x[1:]:
        total = c.b.Or(total, more) if total.dtype.kind == "bool" else c.b.Add(total, more)
    return total


@primitive("Div", "RealDiv", "Divs")
def div(c: Call, input: Operand, other: Operand) -> Value:
    """Div(input, other); RealDiv(x, y); Divs(input, other): of integers, the result's type says how"""
    dtype = c.dtype()
    a, b = c.tensors(dtype, input, other)
    return c.b.Div(a, b) if dtype.is_float else c.b.ge.TruncDiv(a, b)


@primitive("DivMod", "DivMods")
def div_mod(c: Call, input: Operand, other: Operand, rounding_mode: int | None) -> Value:
    """DivMod(input, other, rounding_mode=None); DivMods: the quotient, rounded to zero or down"""
    dtype = c.dtype()
    a, b = c.tensors(dtype, input, other)
    if rounding_mode is None:
        return c.b.Div(a, b)
    if rounding_mode == _FLOOR:
        return c.b.ge.FloorDiv(a, b)
    if rounding_mode != _TRUNC:
        raise c.unsupported(f"the rounding mode {rounding_mode}")
    return c.b.ge.TruncDiv(a, b)


@primitive("FloorDiv", "FloorDivScalar")
def floor_div(c: Call, input: Operand, other: Operand) -> Value:
    """FloorDiv(input, other): rounded down"""
    return c.b.ge.FloorDiv(*c.tensors(c.dtype(), input, other))


@primitive("TruncateDiv")
def truncate_div(c: Call, x: Operand, y: Operand) -> Value:
    """TruncateDiv(x, y): rounded to zero"""
    return c.b.ge.TruncDiv(*c.tensors(c.dtype(), x, y))


@primitive("FloorMod", "RemainderTensorTensor", "RemainderTensorScalar", "RemainderScalarTensor")
def floor_mod(c: Call, x: Operand, y: Operand) -> Value:
    """FloorMod(x, y); RemainderTensorTensor(input, other): with the sign of the divisor"""
    return c.b.ge.FloorMod(*c.tensors(c.dtype(), x, y))


@primitive("Mod", "TruncateMod", "FmodTensor", "FmodScalar")
def fmod(c: Call, x: Operand, y: Operand) -> Value:
    """Mod(x, y); TruncateMod(x, y); FmodTensor(input, other): with the sign of the dividend"""
    return c.b.Mod(*c.tensors(c.dtype(), x, y), fmod=1)


@primitive("DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "XLogYScalarOther", "XLogYScalarSelf")
def no_nan(c: Call, x: Operand, y: Operand) -> Value:
    """DivNoNan(x1, x2): 0 where x2 is 0; MulNoNan(x, y): 0 where y is 0; Xdivy(x, y): 0 where x is 0;
    Xlogy(input, other): x log y, 0 where x is 0"""
    dtype = c.dtype()
    a, b = c.tensors(dtype, x, y)
    zero, one = c.tensor(0, dtype), c.tensor(1, dtype)
    if c.op == "MulNoNan":
        return c.b.Where(c.b.Equal(b, zero), zero, c.b.Mul(a, b))
    if c.op == "DivNoNan":
        empty = c.b.Equal(b, zero)
        safe = c.b.Where(empty, one, b)
        quotient = c.b.Div(a, safe) if dtype.is_float else c.b.ge.TruncDiv(a, safe)
        return c.b.Where(empty, zero, quotient)
    empty = c.b.Equal(a, zero)
    if c.op == "Xdivy":
        return c.b.Where(empty, zero, c.b.Div(a, c.b.Where(empty, one, b)))
    found = c.b.Where(empty, zero, c.b.Mul(a, c.b.Log(b)))
    return c.b.Where(c.b.IsNaN(b), b, found) if c.op.startswith("XLog") else found


@primitive("Pow", "PowTensorScalar", "PowScalarTensor")
def power(c: Call, input: Operand, exponent: Operand) -> Value:
    """Pow(input, exponent); PowTensorScalar; PowScalarTensor"""
    return c.b.Pow(*c.tensors(c.dtype(), input, exponent))


@primitive("SquaredDifference")
def squared_difference(c: Call, x: Operand, y: Operand) -> Value:
    """SquaredDifference(x, y): (x - y) squared"""
    return c.b.ge.Square(c.b.Sub(*c.tensors(c.dtype(), x, y)))


@primitive("Hypot")
def hypot(c: Call, x1: Value, x2: Value) -> Value:
    """Hypot(x1, x2): the length of (x1, x2), without overflow"""
    b = c.b
    a, d = b.Abs(c.cast(x1, c.dtype())), b.Abs(c.cast(x2, c.dtype()))
    large, small = b.Max(a, d), b.Min(a, d)
    plain = b.Or(b.Equal(large, 0.0), b.IsInf(large))
    ratio = b.Where(plain, c.tensor(0.0, c.dtype()), b.Div(small, large))
    return b.Mul(large, b.Sqrt(b.Add(b.ge.Square(ratio), 1.0)))


@primitive("LogAddExp", "LogAddExp2")
def log_add_exp(c: Call, input: Value, other: Value) -> Value:
    """LogAddExp(input, other); LogAddExp2(input, other)"""
    a, b = c.tensors(c.dtype(), input, other)
    if c.op == "LogAddExp":
        return c.b.ge.LogAddExp(a, b)
    ln2 = 0.6931471805599453
    return c.b.Div(c.b.ge.LogAddExp(c.b.Mul(a, ln2), c.b.Mul(b, ln2)), ln2)


@primitive("Fmax", "Fmin", ignores=("ignore_nan",))
def fmax(c: Call, x1: Value, x2: Value) -> Value:
    """Fmax(x1, x2); Fmin(x1, x2): a number is taken before NaN"""
    a, b = c.tensors(c.dtype(), x1, x2)
    return c.b.ge.FMax(a, b) if c.op == "Fmax" else c.b.ge.FMin(a, b)


@primitive("Heaviside")
def heaviside(c: Call, x: Value, values: Value) -> Value:
    """Heaviside(x, values): 0 below 0, values at 0, 1 above"""
    dtype, b = c.dtype(), c.b
    x, values = c.tensors(dtype, x, values)
    above = b.Where(b.Greater(x, c.tensor(0, dtype)), c.tensor(1, dtype), c.tensor(0, dtype))
    found = b.Where(b.Equal(x, c.tensor(0, dtype)), values, above)
    return b.Where(b.IsNaN(x), x, found) if dtype.is_float else found


@primitive("Gcd", "Lcm")
def gcd(c: Call, x1: Value, x2: Value) -> Value:
    """Gcd(x1, x2); Lcm(x1, x2): of integers, by Euclid's algorithm in a loop"""
    b, dtype = c.b, c.dtype()
    shape = b.Add(x1, x2).shape
    left, right = (b.Abs(c.expand(c.cast(x, dtype), shape)) for x in (x1, x2))

    def more(r: Any, small: Value) -> Value:
        return r.ReduceMax(r.Cast(r.Not(r.Equal(small, 0)), to="int32"), None, keepdims=0)

    def body(r: Any, i: Value, go: Value, large: Value, small: Value) -> list[Value]:
        done = r.Equal(small, 0)
        rest = r.ge.FloorMod(large, r.Where(done, r.constant(1, dtype), small))
        a, d = r.Where(done, large, small), r.Where(done, small, rest)
        return [r.Greater(more(r, d), 0), a, d]

    found, _ = b.Loop(None, b.Greater(more(b, right), 0), [left, right], body=body)
    if c.op == "Gcd":
        return found
    divisor = b.Where(b.Equal(found, 0), b.constant(1, dtype), found)
    return b.Mul(b.ge.TruncDiv(left, divisor), right)


@primitive(*_COMPARE)
def compare(c: Call, input: Operand, other: Operand) -> Value:
    """Equal(input, other); NotEqual; Greater; GreaterEqual; Less; LessEqual, and with a number"""
    b = c.b
    x, y = c.tensor(input), c.tensor(other)
    if x.dtype != y.dtype:
        dtype = _common(x, y, isinstance(input, Value), isinstance(other, Value))
        x, y = c.cast(x, dtype), c.cast(y, dtype)
    if c.op in ("NotEqual", "NeScalar"):
        return b.Not(b.Equal(x, y))
    result: Value = b.op(_COMPARE[c.op], x, y)
    if c.op == "EqualExt":
        everything = b.ReduceMin(b.Cast(result, to="int32"), None, keepdims=0)
        return b.Cast(everything, to="bool")
    return result


def _common(x: Value, y: Value, x_is_tensor: bool, y_is_tensor: bool) -> DType:
    """The type in which a tensor and a number, or two tensors, are compared."""
    rank = {"bool": 0, "uint": 1, "int": 1, "float": 2}
    a, b = x.dtype, y.dtype
    if x_is_tensor != y_is_tensor:
        tensor, number = (a, b) if x_is_tensor else (b, a)
        return tensor if rank[tensor.kind] >= rank[number.kind] else number
    if rank[a.kind] != rank[b.kind]:
        return a if rank[a.kind] > rank[b.kind] else b
    return a if a.bits >= b.bits else b


@primitive("IsClose")
def is_close(c: Call, input: Value, other: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    """IsClose(input, other, rtol=1e-05, atol=1e-08, equal_nan=True)"""
    b = c.b
    if not input.dtype.is_float:
        input, other = b.Cast(input, to="float64"), b.Cast(other, to="float64")
    allowed = b.Add(b.Mul(b.Abs(other), c.tensor(rtol, other.dtype)), c.tensor(atol, other.dtype))
    near = b.And(b.LessOrEqual(b.Abs(b.Sub(input, other)), allowed), b.ge.IsFinite(b.Add(input, other)))
    found = b.Or(near, b.Equal(input, other))
    return b.Or(found, b.And(b.IsNaN(input), b.IsNaN(other))) if equal_nan else found


@primitive("ApproximateEqual")
def approximate_equal(c: Call, x: Value, y: Value, tolerance: float = 1e-05) -> Value:
    """ApproximateEqual(tolerance=1e-05)(x, y): whether |x - y| < tolerance"""
    return c.b.Less(c.b.Abs(c.b.Sub(x, y)), c.tensor(tolerance, x.dtype))


@primitive(*_LOGIC)
def logic(c: Call, x: Operand, y: Operand) -> Value:
    """LogicalAnd(input, other); LogicalOr; LogicalXor"""
    result: Value = c.b.op(_LOGIC[c.op], *c.tensors(DType.of("bool"), x, y))
    return result


@primitive(*_BITS)
def bits(c: Call, x: Operand, y: Operand) -> Value:
    """BitwiseAnd(x, y); BitwiseOr; BitwiseXor"""
    dtype = c.dtype()
    name = _BITS[c.op] if dtype.kind == "bool" else f"Bitwise{_BITS[c.op]}"
    result: Value = c.b.op(name, *c.tensors(dtype, x, y))
    return result


@primitive("LeftShift", "RightShift")
def shift(c: Call, x1: Value, x2: Value) -> Value:
    """LeftShift(x1, x2); RightShift(input_x, input_y): a count is held to the width of the type"""
    dtype, b = c.dtype(), c.b
    x, count = c.tensors(dtype, x1, x2)
    if dtype.kind == "int":
        count = b.Max(count, c.tensor(0, dtype))
    count = b.Min(count, c.tensor(dtype.bits - 1, dtype))
    return b.BitShift(x, count, direction="LEFT" if c.op == "LeftShift" else "RIGHT")


@primitive("Addcdiv", "AddcdivExt", "Addcmul", "AddcmulExt")
def addc(c: Call, input: Value, tensor1: Value, tensor2: Value, value: Operand) -> Value:
    """Addcdiv(input, x1, x2, value): input + value * x1 / x2; Addcmul(...): input + value * x1 * x2"""
    dtype, b = c.dtype(), c.b
    x, first, second, factor = c.tensors(dtype, input, tensor1, tensor2, value)
    inner = b.Mul(first, second) if "mul" in c.op else b.Div(first, second)
    return b.Add(x, b.Mul(inner, factor))


@primitive("Lerp", "LerpScalar")
def lerp(c: Call, input: Value, end: Value, weight: Operand) -> Value:
    """Lerp(input, end, weight); LerpScalar: input + weight * (end - input)"""
    dtype = c.dtype()
    x, y, w = c.tensors(dtype, input, end, weight)
    return c.b.Add(x, c.b.Mul(w, c.b.Sub(y, x)))


@primitive("ClampScalar", "ClampTensor")
def clamp(c: Call, input: Value, min: Operand | None, max: Operand | None) -> Value:
    """ClampScalar(input, min=None, max=None); ClampTensor"""
    dtype, x = c.dtype(), input
    if min is not None:
        x = c.b.Max(c.cast(x, dtype), c.tensor(min, dtype))
    return c.cast(x, dtype) if max is None else c.b.Min(c.cast(x, dtype), c.tensor(max, dtype))


@primitive("Select", "SelectV2")
def select(c: Call, condition: Value, input: Operand, other: Operand) -> Value:
    """Select(condition, input, other)"""
    dtype = c.dtype()
    return c.b.Where(c.cast(condition, DType.of("bool")), c.tensor(input, dtype), c.tensor(other, dtype))


@primitive("MaskedFill", "MaskedFillScalar")
def masked_fill(c: Call, input_x: Value, mask: Value, value: Operand) -> Value:
    """MaskedFill(input_x, mask, value)"""
    return c.b.Where(mask, c.tensor(value, input_x.dtype), input_x)


@primitive("SquareSumAll")
def square_sum_all(c: Call, x: Value, y: Value) -> tuple[Value, Value]:
    """SquareSumAll(x, y): the sums of all squares"""
    return c.b.ReduceSumSquare(x, None, keepdims=0), c.b.ReduceSumSquare(y, None, keepdims=0)


@primitive("EqualCount")
def equal_count(c: Call, x: Value, y: Value) -> Value:
    """EqualCount(x, y): how many elements are equal, as a vector of one number"""
    total = c.b.ReduceSum(c.b.Cast(c.b.Equal(x, y), to="int64"), None, keepdims=0)
    return c.reshape(c.cast(total, c.dtype()), (1,))
