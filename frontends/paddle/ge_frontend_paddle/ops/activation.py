"""Activations."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import pd


@pd("relu")
def relu(c: Call, x: Value) -> Value:
    """relu(x) -> out"""
    return c.b.Relu(x)


@pd("relu6")
def relu6(c: Call, x: Value, *, threshold: float = 6.0) -> Value:
    """relu6(x) -> out"""
    return c.b.Clip(x, c.scalar(0, x.dtype), c.scalar(threshold, x.dtype))


@pd("gelu")
def gelu(c: Call, x: Value, *, approximate: bool = False) -> Value:
    """gelu(x, *, approximate=false) -> out"""
    return c.b.Gelu(x, approximate="tanh" if approximate else "none")


@pd("swish")
def swish(c: Call, x: Value, *, beta: float = 1.0) -> Value:
    """swish(x) -> out"""
    return c.b.Swish(x, alpha=float(beta))


@pd("mish")
def mish(c: Call, x: Value, *, lambda_: float = 20.0) -> Value:
    """mish(x, *, lambda) -> out"""
    return c.b.Mish(x)


@pd("hardsigmoid")
def hardsigmoid(c: Call, x: Value, *, slope: float = 0.2, offset: float = 0.5) -> Value:
    """hardsigmoid(x, *, slope=0.2, offset=0.5) -> out"""
    return c.b.HardSigmoid(x, alpha=float(slope), beta=float(offset))


@pd("hardswish")
def hardswish(c: Call, x: Value, *, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0) -> Value:
    """hardswish(x) -> out"""
    if (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return c.b.HardSwish(x)
    b = c.b
    gate = b.Clip(b.Add(x, c.scalar(offset, x.dtype)), c.scalar(0, x.dtype), c.scalar(threshold, x.dtype))
    return b.Mul(x, b.Div(gate, c.scalar(scale, x.dtype)))


@pd("hardtanh")
def hardtanh(c: Call, x: Value, *, t_min: float = 0.0, t_max: float = 24.0) -> Value:
    """hardtanh(x, *, t_min=0, t_max=24) -> out"""
    return c.b.Clip(x, c.scalar(t_min, x.dtype), c.scalar(t_max, x.dtype))


@pd("hardshrink")
def hardshrink(c: Call, x: Value, *, threshold: float = 0.5) -> Value:
    """hardshrink(x, *, threshold=0.5) -> out"""
    b = c.b
    inside = b.And(b.Less(c.scalar(-threshold, x.dtype), x), b.Less(x, c.scalar(threshold, x.dtype)))
    return b.Where(inside, c.scalar(0, x.dtype), x)


@pd("softshrink")
def softshrink(c: Call, x: Value, *, threshold: float = 0.5) -> Value:
    """softshrink(x, *, threshold=0.5) -> out"""
    return c.b.Shrink(x, lambd=float(threshold), bias=float(threshold))


@pd("tanh_shrink")
def tanh_shrink(c: Call, x: Value) -> Value:
    """tanh_shrink(x) -> out"""
    return c.b.Sub(x, c.b.Tanh(x))


@pd("thresholded_relu")
def thresholded_relu(c: Call, x: Value, *, threshold: float = 1.0, value: float = 0.0) -> Value:
    """thresholded_relu(x, *, threshold=1.0, value=0.0) -> out"""
    return c.b.Where(c.b.Less(c.scalar(threshold, x.dtype), x), x, c.scalar(value, x.dtype))


@pd("softplus")
def softplus(c: Call, x: Value, *, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """softplus(x, *, beta=1.0, threshold=20.0) -> out"""
    b = c.b
    if beta == 1 and threshold >= 20:
        return b.Softplus(x)
    steep = b.Mul(x, c.scalar(beta, x.dtype))
    soft = b.Div(b.Softplus(steep), c.scalar(beta, x.dtype))
    return b.Where(b.Less(c.scalar(threshold, x.dtype), steep), x, soft)


@pd("elu")
def elu(c: Call, x: Value, *, alpha: float = 1.0) -> Value:
    """elu(x, *, alpha=1.0f) -> out"""
    return c.b.Elu(x, alpha=float(alpha))


@pd("celu")
def celu(c: Call, x: Value, *, alpha: float = 1.0) -> Value:
    """celu(x, *, alpha=1.0) -> out"""
    return c.b.Celu(x, alpha=float(alpha))


@pd("selu")
def selu(c: Call, x: Value, *, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772) -> Value:
    """selu(x, *, scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717) -> out"""
    return c.b.Selu(x, alpha=float(alpha), gamma=float(scale))


@pd("leaky_relu")
def leaky_relu(c: Call, x: Value, *, negative_slope: float = 0.02) -> Value:
    """leaky_relu(x, *, negative_slope=0.02) -> out"""
    return c.b.LeakyRelu(x, alpha=float(negative_slope))


@pd("rrelu")
def rrelu(c: Call, x: Value, *, lower: float = 0.125, upper: float = 1 / 3, is_test: bool = False) -> tuple[Value]:
    """rrelu(x, *, lower=1.0f/8, upper=1.0f/3, is_test=false) -> out, noise"""
    if not is_test:
        raise c.unsupported("training mode", "call eval() on the layer")
    return (c.b.LeakyRelu(x, alpha=(lower + upper) / 2),)


@pd("prelu")
def prelu(c: Call, x: Value, alpha: Value, *, data_format: str = "NCHW", mode: str = "all") -> Value:
    """prelu(x, alpha, *, data_format="NCHW", mode="all") -> out"""
    if mode == "all":
        slope = c.reshape(alpha, ())
    elif mode == "channel":
        channels = dims.product(alpha.shape)
        last = data_format in ("NHWC", "NLC", "NDHWC")
        slope = c.reshape(alpha, (channels,) if last else (channels, *(1 for _ in range(x.rank - 2))))
    else:
        slope = c.reshape(alpha, x.shape[1:])
    return c.b.PRelu(x, slope)


@pd("maxout")
def maxout(c: Call, x: Value, *, groups: int, axis: int = 1) -> Value:
    """maxout(x, *, groups, axis=1) -> out"""
    at = c.axis(axis, x.rank)
    parts = c.reshape(x, (*x.shape[:at], dims.floordiv(x.shape[at], groups), groups, *x.shape[at + 1 :]))
    return c.b.ReduceMax(parts, c.b.ints(at + 1), keepdims=0)


@pd("swiglu")
def swiglu(c: Call, x: Value, y: Value | None = None) -> Value:
    """swiglu(x, y) -> out"""
    if y is None:
        x, y = c.b.Split(x, axis=x.rank - 1, num_outputs=2)
    return c.b.SwiGLU(x, y)


@pd("softmax", "log_softmax")
def softmax(c: Call, x: Value, *, axis: int = -1) -> Value:
    """softmax(x, *, axis) -> out
    log_softmax(x, *, axis=-1) -> out
    """
    op = "Softmax" if c.name == "softmax" else "LogSoftmax"
    if not x.rank:
        return c.reshape(c.b.op(op, c.reshape(x, (1,)), axis=0), ())
    return c.b.op(op, x, axis=c.axis(axis, x.rank))


@pd("dropout", ignores=("seed", "fix_seed"))
def dropout(
    c: Call, x: Value, seed_tensor: Value | None, p: Value, *, is_test: bool = False, mode: str = "downgrade_in_infer"
) -> tuple[Value]:
    """dropout(x, seed_tensor, p, *, is_test=false, mode="downgrade_in_infer", seed=0, fix_seed=false) -> out, mask"""
    if not is_test:
        raise c.unsupported("training mode", "call eval() on the layer")
    if mode == "upscale_in_train":
        return (x,)
    keep = c.number(p)
    if keep is None:
        raise c.unsupported("a probability that is computed", "give the probability as a number")
    return (c.b.Mul(x, c.scalar(1 - keep, x.dtype)),)
