"""Pointwise operators."""

from __future__ import annotations

import math
from functools import partial, reduce

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.graph import Value

UNARY = {
    "Abs": "Abs", "Acos": "Acos", "Acosh": "Acosh", "Asin": "Asin", "Asinh": "Asinh", "Atan": "Atan",
    "Atanh": "Atanh", "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh", "Erf": "Erf", "Floor": "Floor", "Neg": "Neg",
    "Reciprocal": "Reciprocal", "Relu": "Relu", "Round": "Round", "Sigmoid": "Sigmoid", "Sign": "Sign",
    "Sin": "Sin", "Sinh": "Sinh", "Softplus": "Softplus", "Softsign": "Softsign", "Sqrt": "Sqrt", "Tan": "Tan",
    "Tanh": "Tanh", "HardSwish": "HardSwish", "IsNan": "IsNaN", "LogicalNot": "Not", "Invert": "BitwiseNot",
    "Expm1": "ge.Expm1", "Log1p": "ge.Log1p", "Rsqrt": "ge.Rsqrt", "Square": "ge.Square", "Trunc": "ge.Trunc",
    "Erfc": "ge.Erfc", "IsFinite": "ge.IsFinite", "IsInf": "IsInf", "LogSigmoid": "ge.LogSigmoid", "Mish": "Mish",
    "Identity": "Identity", "TensorMove": "Identity", "Selu": "Selu",
}  # fmt: skip
"""Operators of one input whose meaning is one operator of the IR; the port may be x or input_x."""

BINARY = {
    "Add": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div", "TruncateDiv": "Div", "FloorDiv": "ge.FloorDiv",
    "FloorMod": "Mod", "Atan2": "ge.Atan2", "LogicalAnd": "And", "LogicalOr": "Or", "BitwiseAnd": "BitwiseAnd",
    "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor", "Equal": "Equal", "Less": "Less",
    "LessEqual": "LessOrEqual", "Greater": "Greater", "GreaterEqual": "GreaterOrEqual",
    "NextAfter": "ge.NextAfter",
}  # fmt: skip
"""Operators of inputs x1 and x2 whose meaning is one operator of the IR."""


def _unary(c: Call, op: str) -> Value:
    result: Value = c.b.op(op, c["x"] if "x" in c.inputs else c["input_x"])
    return result


def _binary(c: Call, op: str) -> Value:
    result: Value = c.b.op(op, c["x1"], c["x2"])
    return result


for _type, _op in UNARY.items():
    meaning(_type)(partial(_unary, op=_op))
for _type, _op in BINARY.items():
    meaning(_type)(partial(_binary, op=_op))


@meaning("Erfinv")
def erfinv(c: Call) -> Result:
    result: Value = c.b.ge.ErfInv(c["input_x"])
    return result


@meaning("Div")
def div(c: Call) -> Result:
    """Div(x1, x2): as reals for floats, toward zero for integers."""
    result: Value = c.b.Div(c["x1"], c["x2"])
    return result


@meaning("NotEqual")
def not_equal(c: Call) -> Result:
    """NotEqual(x1, x2)"""
    result: Value = c.b.Not(c.b.Equal(c["x1"], c["x2"]))
    return result


@meaning("Mod", "TruncateMod")
def mod(c: Call) -> Result:
    """Mod(x1, x2): the remainder with the sign of the dividend."""
    result: Value = c.b.Mod(c["x1"], c["x2"], fmod=1)
    return result


@meaning("Pow")
def power(c: Call) -> Result:
    """Pow(x1, x2): the result has the type of x1."""
    result: Value = c.b.Pow(c["x1"], c["x2"])
    return result


@meaning("Maximum")
def maximum(c: Call) -> Result:
    result: Value = c.b.Max(c["x1"], c["x2"])
    return result


@meaning("Minimum")
def minimum(c: Call) -> Result:
    result: Value = c.b.Min(c["x1"], c["x2"])
    return result


@meaning("AddN", "AccumulateNV2")
def add_n(c: Call) -> Result:
    """AddN(x0, x1, ...; N)"""
    parts = c.dynamic("x")
    result: Value = reduce(lambda a, b: c.b.Add(a, b), parts)
    return result


@meaning("LeftShift")
def left_shift(c: Call) -> Result:
    result: Value = c.b.BitShift(c["x"], c["y"], direction="LEFT")
    return result


@meaning("RightShift")
def right_shift(c: Call) -> Result:
    """RightShift(x, y): keeps the sign."""
    result: Value = c.b.BitShift(c["x"], c["y"], direction="RIGHT")
    return result


@meaning("SelectV2")
def select(c: Call) -> Result:
    """SelectV2(condition, then, else)"""
    result: Value = c.b.Where(c["condition"], c["then"], c["else"])
    return result


@meaning("ClipByValue")
def clip(c: Call) -> Result:
    """ClipByValue(x, clip_value_min, clip_value_max)"""
    result: Value = c.b.Min(c.b.Max(c["x"], c["clip_value_min"]), c["clip_value_max"])
    return result


@meaning("Cast")
def cast(c: Call) -> Result:
    """Cast(x; dst_type): the number is that of the in-memory enumeration."""
    result: Value = c.b.Cast(c["x"], to=c.dtype_attr("dst_type"))
    return result


@meaning("Exp")
def exp(c: Call) -> Result:
    """Exp(x; base, scale, shift): base ** (scale * x + shift); base -1 is e."""
    x = _scaled(c)
    base = c.attr("base")
    if base == 2.0:
        result: Value = c.b.ge.Exp2(x)
        return result
    result = c.b.Exp(x if base == -1.0 else c.b.Mul(x, math.log(base)))
    return result


@meaning("Log")
def log(c: Call) -> Result:
    """Log(x; base, scale, shift): log of scale * x + shift; base -1 is e."""
    x = _scaled(c)
    base = c.attr("base")
    if base in (2.0, 10.0):
        result: Value = c.b.op(f"ge.Log{int(base)}", x)
        return result
    result = c.b.Log(x)
    return result if base == -1.0 else c.b.Div(result, math.log(base))


def _scaled(c: Call) -> Value:
    x = c["x"]
    if c.attr("scale") != 1.0:
        x = c.b.Mul(x, c.attr("scale"))
    return x if c.attr("shift") == 0.0 else c.b.Add(x, c.attr("shift"))


@meaning("Muls")
def muls(c: Call) -> Result:
    """Muls(x; value)"""
    result: Value = c.b.Mul(c["x"], np.asarray(c.attr("value")).astype(c["x"].dtype.numpy))
    return result


@meaning("Adds")
def adds(c: Call) -> Result:
    """Adds(x; value)"""
    result: Value = c.b.Add(c["x"], np.asarray(c.attr("value")).astype(c["x"].dtype.numpy))
    return result


@meaning("Power")
def scaled_power(c: Call) -> Result:
    """Power(x; power, scale, shift): (scale * x + shift) ** power"""
    result: Value = c.b.Pow(_scaled(c), c.attr("power"))
    return result


@meaning("Swish")
def swish(c: Call) -> Result:
    """Swish(x; scale): x * sigmoid(scale * x)"""
    result: Value = c.b.Swish(c["x"], alpha=c.attr("scale"))
    return result


@meaning("Gelu")
def gelu(c: Call) -> Result:
    """Gelu(x): the tanh form."""
    result: Value = c.b.Gelu(c["x"], approximate="tanh")
    return result


@meaning("GeluV2")
def gelu_v2(c: Call) -> Result:
    """GeluV2(x; approximate)"""
    result: Value = c.b.Gelu(c["x"], approximate=c.attr("approximate"))
    return result


@meaning("LeakyRelu")
def leaky_relu(c: Call) -> Result:
    """LeakyRelu(x; negative_slope)"""
    result: Value = c.b.LeakyRelu(c["x"], alpha=c.attr("negative_slope"))
    return result


@meaning("Elu")
def elu(c: Call) -> Result:
    """Elu(x; alpha, scale, input_scale): scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1))"""
    if c.attr("input_scale") != 1.0:
        raise c.error(f"input_scale {c.attr('input_scale')} is not supported")
    y = c.b.Elu(c["x"], alpha=c.attr("alpha"))
    return y if c.attr("scale") == 1.0 else c.b.Mul(y, c.attr("scale"))


@meaning("CeluV2")
def celu(c: Call) -> Result:
    """CeluV2(x; alpha)"""
    result: Value = c.b.Celu(c["x"], alpha=c.attr("alpha"))
    return result


@meaning("Shrink")
def shrink(c: Call) -> Result:
    """Shrink(input_x; lambd, bias)"""
    result: Value = c.b.Shrink(c["input_x"], lambd=c.attr("lambd"), bias=c.attr("bias"))
    return result


@meaning("HardSigmoid")
def hard_sigmoid(c: Call) -> Result:
    """HardSigmoid(input_x; alpha, beta)"""
    result: Value = c.b.HardSigmoid(c["input_x"], alpha=c.attr("alpha"), beta=c.attr("beta"))
    return result


@meaning("ThresholdedRelu")
def thresholded_relu(c: Call) -> Result:
    """ThresholdedRelu(x; alpha)"""
    result: Value = c.b.ThresholdedRelu(c["x"], alpha=c.attr("alpha"))
    return result


@meaning("PRelu")
def prelu(c: Call) -> Result:
    """PRelu(x, weight): weight has one element, or one for each channel (axis 1)."""
    weight = c["weight"]
    if weight.rank == 1 and c["x"].rank > 2:
        weight = c.b.Reshape(weight, c.b.ints(-1, *[1] * (c["x"].rank - 2)))
    result: Value = c.b.PRelu(c["x"], weight)
    return result


@meaning("SwiGlu")
def swiglu(c: Call) -> Result:
    """SwiGlu(x; dim): swish(first half) * second half along dim"""
    x = c["x"]
    left, right = c.b.Split(x, axis=c.attr("dim"), num_outputs=2)
    result: Value = c.b.Mul(c.b.Swish(left), right)
    return result


@meaning("GeGluV2")
def geglu(c: Call) -> Result:
    """GeGluV2(x; dim, approximate, activate_left) -> the product, gelu of the activated half

    approximate 1 is the form by tanh, 0 that by erf; the right half is activated unless activate_left says otherwise.
    """
    left, right = c.b.Split(c["x"], axis=c.attr("dim"), num_outputs=2)
    gate, other = (left, right) if c.attr("activate_left") else (right, left)
    gelu = c.b.Gelu(gate, approximate="tanh" if c.attr("approximate") else "none")
    return [c.b.Mul(other, gelu), gelu]
