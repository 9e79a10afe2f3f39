"""Activation functions."""

from __future__ import annotations

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten
from .pointwise_unary import unary


@aten("relu.default")
def relu(c: Call, x: Value) -> Value:
    """relu(Tensor self) -> Tensor"""
    return unary(c, "Relu", x)


@aten("silu.default")
def silu(c: Call, x: Value) -> Value:
    """silu(Tensor self) -> Tensor"""
    return unary(c, "Swish", x)


@aten("mish.default")
def mish(c: Call, x: Value) -> Value:
    """mish(Tensor self) -> Tensor"""
    return unary(c, "Mish", x)


@aten("hardswish.default")
def hardswish(c: Call, x: Value) -> Value:
    """hardswish(Tensor self) -> Tensor"""
    return unary(c, "HardSwish", x)


@aten("selu.default")
def selu(c: Call, x: Value) -> Value:
    """selu(Tensor self) -> Tensor"""
    # the constants of torch, which are those of ONNX before they were rounded to float32
    return c.b.Selu(x, alpha=1.6732632423543772848170429916717, gamma=1.0507009873554804934193349852946)


@aten("log_sigmoid.default")
def log_sigmoid(c: Call, x: Value) -> Value:
    """log_sigmoid(Tensor self) -> Tensor"""
    return unary(c, "ge.LogSigmoid", x)


@aten("relu6.default")
def relu6(c: Call, x: Value) -> Value:
    """relu6(Tensor self) -> Tensor"""
    return c.b.Clip(x, c.scalar(0, x.dtype), c.scalar(6, x.dtype))


@aten("hardtanh.default")
def hardtanh(c: Call, x: Value, min_val: float, max_val: float) -> Value:
    """hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor"""
    return c.b.Clip(x, c.scalar(min_val, x.dtype), c.scalar(max_val, x.dtype))


@aten("hardsigmoid.default")
def hardsigmoid(c: Call, x: Value) -> Value:
    """hardsigmoid(Tensor self) -> Tensor"""
    return c.b.HardSigmoid(x, alpha=1 / 6, beta=0.5)


@aten("leaky_relu.default")
def leaky_relu(c: Call, x: Value, negative_slope: float) -> Value:
    """leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"""
    return c.b.LeakyRelu(x, alpha=float(negative_slope))


@aten("rrelu.default", ignores=("generator",))
def rrelu(c: Call, x: Value, lower: float, upper: float, training: bool) -> Value:
    """rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator?
    generator=None) -> Tensor
    """
    if training:
        raise c.unsupported("training mode", "call eval() on the module")
    return c.b.LeakyRelu(x, alpha=(float(lower) + float(upper)) / 2)


@aten("elu.default")
def elu(c: Call, x: Value, alpha: float, scale: float, input_scale: float) -> Value:
    """elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"""
    b = c.b
    if scale == 1 and input_scale == 1:
        return b.Elu(x, alpha=float(alpha))
    negative = b.Mul(b.ge.Expm1(b.Mul(x, float(input_scale))), float(alpha) * float(scale))
    return b.Where(b.Greater(x, 0.0), b.Mul(x, float(scale)), negative)


@aten("celu.default")
def celu(c: Call, x: Value, alpha: float) -> Value:
    """celu(Tensor self, Scalar alpha=1.) -> Tensor"""
    return c.b.Celu(x, alpha=float(alpha))


@aten("gelu.default")
def gelu(c: Call, x: Value, approximate: str) -> Value:
    """gelu(Tensor self, *, str approximate="none") -> Tensor"""
    return c.b.Gelu(x, approximate=approximate)


@aten("softplus.default")
def softplus(c: Call, x: Value, beta: float, threshold: float) -> Value:
    """softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"""
    b = c.b
    scaled = x if beta == 1 else b.Mul(x, float(beta))
    soft = b.Softplus(scaled)
    soft = soft if beta == 1 else b.Div(soft, float(beta))
    # from 20 on float32 cannot tell softplus(x) from x
    if threshold >= 20 and x.dtype.bits <= 32:
        return soft
    return b.Where(b.Greater(scaled, float(threshold)), x, soft)


@aten("threshold.default")
def threshold(c: Call, x: Value, threshold: float, value: float) -> Value:
    """threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor"""
    b = c.b
    return b.Where(b.LessOrEqual(x, c.scalar(threshold, x.dtype)), c.scalar(value, x.dtype), x)


@aten("softshrink.default")
def softshrink(c: Call, x: Value, lambd: float) -> Value:
    """softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"""
    # the part of x beyond the bounds; NaN stays, which Shrink takes to 0
    bound = abs(float(lambd))
    return c.b.Sub(x, c.b.Clip(x, c.scalar(-bound, x.dtype), c.scalar(bound, x.dtype)))


@aten("hardshrink.default")
def hardshrink(c: Call, x: Value, lambd: float) -> Value:
    """hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor"""
    # written so that NaN stays, as in torch
    b = c.b
    inside = b.And(b.GreaterOrEqual(x, -float(lambd)), b.LessOrEqual(x, float(lambd)))
    return b.Where(inside, c.scalar(0, x.dtype), x)


@aten("glu.default")
def glu(c: Call, x: Value, dim: int) -> Value:
    """glu(Tensor self, int dim=-1) -> Tensor"""
    a, gate = c.b.Split(x, axis=c.axis(dim, x.rank), num_outputs=2)
    return c.b.Mul(a, c.b.Sigmoid(gate))
