"""Activations."""

from __future__ import annotations

from ge_core.ir.graph import Value

from ..call import Call, Operand
from ..registry import primitive

_TANH = 1  # MindSpore's Approximate


@primitive("ReLU", "ReLUV3")
def relu(c: Call, input: Value) -> Value:
    """ReLU(input)"""
    return c.b.Relu(input)


@primitive("ReLU6")
def relu6(c: Call, x: Value) -> Value:
    """ReLU6(x): min(max(x, 0), 6)"""
    return c.b.Clip(x, 0, 6)


@primitive("Sigmoid")
def sigmoid(c: Call, input: Value) -> Value:
    """Sigmoid(input)"""
    return c.b.Sigmoid(c.cast(input, c.dtype()))


@primitive("Tanh")
def tanh(c: Call, input: Value) -> Value:
    """Tanh(input)"""
    return c.b.Tanh(c.cast(input, c.dtype()))


@primitive("SiLU")
def silu(c: Call, input: Value) -> Value:
    """SiLU(input): x * sigmoid(x)"""
    return c.b.Swish(input)


@primitive("GeLU", "FastGeLU")
def gelu(c: Call, input: Value) -> Value:
    """GeLU(input): by tanh; FastGeLU(x): x / (1 + exp(-1.702 |x|)) * exp(0.851 (x - |x|))"""
    if c.op == "GeLU":
        return c.b.Gelu(input, approximate="tanh")
    b = c.b
    size = b.Abs(input)
    below = b.Add(b.Exp(b.Mul(size, -1.702)), 1.0)
    return b.Mul(b.Div(input, below), b.Exp(b.Mul(b.Sub(input, size), 0.851)))


@primitive("GeluExt")
def gelu_ext(c: Call, input: Value, approximate: int) -> Value:
    """GeluExt(input, approximate='none')"""
    return c.b.Gelu(input, approximate="tanh" if approximate == _TANH else "none")


@primitive("HSigmoid", "HSwish")
def hard_sigmoid(c: Call, input: Value) -> Value:
    """HSigmoid(input): min(max(x / 6 + 1/2, 0), 1); HSwish(input): x times that"""
    if not input.dtype.is_float:
        raise c.unsupported(f"the element type {input.dtype}")
    return c.b.HardSwish(input) if c.op == "HSwish" else c.b.HardSigmoid(input, alpha=1 / 6, beta=0.5)


@primitive("Mish", "MishExt")
def mish(c: Call, x: Value) -> Value:
    """Mish(x): x * tanh(softplus(x))"""
    return c.b.Mish(x)


@primitive("Elu", "EluExt", "CeLU")
def elu(c: Call, input_x: Value, alpha: float) -> Value:
    """Elu(input_x, alpha=1.0); EluExt(input, alpha=1.0); CeLU(x, alpha=1.0)"""
    alpha = c.number(alpha, "alpha")
    return c.b.Celu(input_x, alpha=alpha) if c.op == "CeLU" else c.b.Elu(input_x, alpha=alpha)


@primitive("SeLU", "SeLUExt")
def selu(c: Call, input_x: Value) -> Value:
    """SeLU(input_x)"""
    return c.b.Selu(input_x)


@primitive("LeakyReLUExt", "LeakyReLU")
def leaky_relu(c: Call, input: Value, negative_slope: float) -> Value:
    """LeakyReLUExt(input, negative_slope=0.01)"""
    return c.b.LeakyRelu(input, alpha=c.number(negative_slope, "negative_slope"))


@primitive("PReLU")
def prelu(c: Call, input: Value, weight: Value) -> Value:
    """PReLU(input, weight): one slope, or one for each channel (axis 1)"""
    slope = weight
    if weight.rank == 1 and input.rank > 1 and weight.shape[0] != 1:
        slope = c.reshape(weight, (weight.shape[0], *(1 for _ in range(input.rank - 2))))
    return c.b.PRelu(input, c.cast(slope, input.dtype))


@primitive("Softplus")
def softplus(c: Call, x: Value) -> Value:
    """Softplus(x): log(1 + exp(x))"""
    return c.b.Softplus(x)


@primitive("SoftplusExt")
def softplus_ext(c: Call, input: Value, beta: Operand, threshold: Operand) -> Value:
    """SoftplusExt(input, beta=1, threshold=20): log(1 + exp(beta x)) / beta, x where beta x > threshold"""
    b = c.b
    slope = c.tensor(beta, input.dtype)
    scaled = b.Mul(input, slope)
    curve = b.Div(b.Softplus(scaled), slope)
    return b.Where(b.Greater(scaled, c.tensor(threshold, input.dtype)), input, curve)


@primitive("Softsign")
def softsign(c: Call, x: Value) -> Value:
    """Softsign(x): x / (1 + |x|)"""
    return c.b.Softsign(x)


@primitive("HShrink", "SoftShrink")
def shrink(c: Call, input: Value, lambd: float) -> Value:
    """HShrink(input, lambd=0.5); SoftShrink(input, lambd=0.5)"""
    b, edge = c.b, c.tensor(c.number(lambd, "lambd"), input.dtype)
    if c.op == "HShrink":
        inside = b.LessOrEqual(b.Abs(input), edge)
        return b.Where(inside, c.tensor(0, input.dtype), input)
    return b.Add(b.Max(b.Sub(input, edge), 0), b.Min(b.Add(input, edge), 0))


@primitive("Hardtanh")
def hardtanh(c: Call, input: Value, min_val: Operand, max_val: Operand) -> Value:
    """Hardtanh(input, min_val=-1, max_val=1)"""
    return c.b.Clip(input, c.tensor(min_val, input.dtype), c.tensor(max_val, input.dtype))


@primitive("Threshold")
def threshold(c: Call, input: Value, threshold: Operand, value: Operand) -> Value:
    """Threshold(input, threshold, value): value where not input > threshold"""
    above = c.b.Greater(input, c.tensor(threshold, input.dtype))
    return c.b.Where(above, input, c.tensor(value, input.dtype))


@primitive("LogSigmoid")
def log_sigmoid(c: Call, input: Value) -> tuple[Value, None]:
    """LogSigmoid(input): the result, and a buffer for gradients, which is left out"""
    return c.b.ge.LogSigmoid(input), None


@primitive("Softmax", "LogSoftmax", "LogSoftmaxExt")
def softmax(c: Call, input: Value, axis: object, dtype: int | None = None) -> Value:
    """Softmax(input, axis=-1); LogSoftmax(logits, axis=-1); LogSoftmaxExt(input, dim=None, dtype=None)"""
    x = c.cast(input, c.dtype())
    if axis is None:
        axis = 0 if x.rank in (0, 1, 3) else 1
    axes = c.axes(axis, x.rank)
    if x.rank == 0:
        return c.full((), 1.0 if c.op == "Softmax" else 0.0)
    if len(axes) == 1:
        return c.b.Softmax(x, axis=axes[0]) if c.op == "Softmax" else c.b.LogSoftmax(x, axis=axes[0])
    raise c.unsupported("a softmax over several axes")


@primitive("GLU")
def glu(c: Call, x: Value, axis: int = -1) -> Value:
    """GLU(axis=-1)(x): the first half times the sigmoid of the second"""
    first, second = c.b.Split(x, axis=c.axis(axis, x.rank), num_outputs=2)
    return c.b.Mul(first, c.b.Sigmoid(second))


@primitive("Swiglu")
def swiglu(c: Call, input: Value, dim: int) -> Value:
    """Swiglu(input, dim=-1): the swish of the first half times the second"""
    first, second = c.b.Split(input, axis=c.axis(dim, input.rank), num_outputs=2)
    return c.b.SwiGLU(first, second)
