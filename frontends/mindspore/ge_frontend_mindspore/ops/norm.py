"""Normalisations."""

from __future__ import annotations

from typing import Any

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive

_NHWC = 1  # MindSpore's Format


@primitive("BatchNorm")
def batch_norm(
    c: Call,
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    is_training: bool,
    epsilon: float,
    momentum: float,
    data_format: Any = 0,
) -> tuple[Any, ...]:
    """BatchNorm(is_training=False, epsilon=1e-5, momentum=0.1, data_format='NCHW')(x, scale, bias, mean, variance)"""
    if is_training:
        raise c.unsupported("batch norm in training mode", "call set_train(False) on the model")
    if data_format in (_NHWC, "NHWC"):
        raise c.unsupported("the data format NHWC")
    y = c.b.BatchNormalization(x, scale, bias, mean, variance, epsilon=c.number(epsilon, "epsilon"))
    return y, mean, variance, mean, variance


@primitive("BatchNormExt")
def batch_norm_ext(
    c: Call,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_var: Value,
    training: bool,
    momentum: float,
    epsilon: float,
) -> tuple[Any, ...]:
    """BatchNormExt(input, weight=None, bias=None, running_mean=None, runnning_var=None, training=False, momentum=0.1,
    epsilon=1e-5)"""
    if training:
        raise c.unsupported("batch norm in training mode", "call set_train(False) on the model")
    size = (input.shape[1],)
    scale = c.full(size, 1, running_mean.dtype) if weight is None else weight
    shift = c.full(size, 0, running_mean.dtype) if bias is None else bias
    y = c.b.BatchNormalization(input, scale, shift, running_mean, running_var, epsilon=c.number(epsilon, "epsilon"))
    return y, None, None


@primitive("InstanceNorm", "InstanceNormV2")
def instance_norm(
    c: Call,
    x: Value,
    gamma: Value,
    beta: Value,
    mean: Value,
    variance: Value,
    is_training: bool = True,
    epsilon: float = 1e-05,
    momentum: float = 0.1,
) -> tuple[Any, ...]:
    """InstanceNormV2(is_training=True, momentum=0.1, epsilon=1e-5)(x, gamma, beta, mean, variance)"""
    b, dtype = c.b, DType.of("float32")
    wide = c.cast(x, dtype)
    axes = b.ints(range(2, x.rank))
    if is_training:
        mean = b.ReduceMean(wide, axes, keepdims=1)
        variance = b.ReduceMean(b.ge.Square(b.Sub(wide, mean)), axes, keepdims=1)
    factor = b.ge.Rsqrt(b.Add(variance, c.number(epsilon, "epsilon")))
    y = b.Mul(b.Sub(wide, mean), factor)
    return c.cast(b.Add(b.Mul(y, gamma), beta), x.dtype), None, None


@primitive("LayerNorm", "LayerNormV3")
def layer_norm(
    c: Call,
    input_x: Value,
    gamma: Value,
    beta: Value,
    begin_norm_axis: int,
    begin_params_axis: int,
    epsilon: float,
) -> tuple[Any, ...]:
    """LayerNorm(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)(input_x, gamma, beta)"""
    axis, first = c.axis(begin_norm_axis, input_x.rank), c.axis(begin_params_axis, input_x.rank)
    eps = c.number(epsilon, "epsilon")
    parts = gamma.rank + first == input_x.rank and first == axis
    y, mean, inverse = c.b.LayerNormalization(
        input_x,
        gamma if parts else c.tensor(1, gamma.dtype),
        beta if parts else c.tensor(0, beta.dtype),
        axis=axis,
        epsilon=eps,
        num_outputs=3,
    )
    if not parts:
        y = c.b.Add(c.b.Mul(y, c.cast(gamma, y.dtype)), c.cast(beta, y.dtype))
    # the third result is the variance in LayerNorm, the inverse of the deviation in LayerNormV3
    rest = inverse if c.op == "LayerNormV3" else c.b.Sub(c.b.Reciprocal(c.b.ge.Square(inverse)), eps)
    wanted = [c.cast(v, c.dtype(k)) for k, v in ((1, mean), (2, rest)) if c.results > k]
    return (y, *wanted)


@primitive("LayerNormExt")
def layer_norm_ext(
    c: Call, input: Value, normalized_shape: Any, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Any, ...]:
    """LayerNormExt(input, normalized_shape, weight=None, bias=None, eps=1e-5)"""
    axis = input.rank - len(c.sizes(normalized_shape))
    scale = c.tensor(1, input.dtype) if weight is None else weight
    y, mean, inverse = c.b.LayerNormalization(
        input, scale, bias, axis=axis, epsilon=c.number(eps, "eps"), num_outputs=3
    )
    return y, mean, inverse


@primitive("GroupNorm")
def group_norm(
    c: Call, input: Value, num_groups: int, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Any, ...]:
    """GroupNorm(input, num_groups, weight=None, bias=None, eps=1e-5)"""
    channels = (input.shape[1],)
    scale = c.full(channels, 1, input.dtype) if weight is None else weight
    shift = c.full(channels, 0, input.dtype) if bias is None else bias
    y = c.b.GroupNormalization(input, scale, shift, num_groups=num_groups, epsilon=c.number(eps, "eps"))
    return y, None, None


@primitive("RmsNorm")
def rms_norm(c: Call, x: Value, gamma: Value, epsilon: float) -> tuple[Any, ...]:
    """RmsNorm(x, gamma, epsilon=1e-6)"""
    eps = c.number(epsilon, "epsilon")
    axis = x.rank - gamma.rank
    y = c.b.RMSNormalization(x, gamma, axis=axis, epsilon=eps)
    wide = c.cast(x, DType.of("float32"))
    axes = c.b.ints(range(axis, x.rank))
    inverse = c.b.ge.Rsqrt(c.b.Add(c.b.ReduceMean(c.b.ge.Square(wide), axes, keepdims=1), eps))
    return y, inverse


@primitive("L2Normalize")
def l2_normalize(c: Call, x: Value, axis: Any, epsilon: float) -> Value:
    """L2Normalize(axis=0, epsilon=1e-4)(x): x / sqrt(max(the sum of squares, epsilon))"""
    b = c.b
    total = b.ReduceSumSquare(x, b.ints(c.axes(axis, x.rank)), keepdims=1)
    return b.Div(x, b.Sqrt(b.Max(total, c.tensor(c.number(epsilon, "epsilon"), x.dtype))))


@primitive("LRN", ignores=("norm_region",))
def lrn(c: Call, x: Value, depth_radius: int, bias: float, alpha: float, beta: float) -> Value:
    """LRN(depth_radius=5, bias=1.0, alpha=1.0, beta=0.5)(x): alpha is of each element, not of the whole window"""
    size = 2 * depth_radius + 1
    return c.b.LRN(x, size=size, bias=bias, alpha=alpha * size, beta=beta)


@primitive("Renorm")
def renorm(c: Call, input_x: Value, p: float, dim: int, maxnorm: float) -> Value:
    """Renorm(p, dim, maxnorm)(x): slices along dim are held to a norm"""
    b, x = c.b, input_x
    axes = [k for k in range(x.rank) if k != c.axis(dim, x.rank)]
    total = b.ReduceSum(b.Pow(b.Abs(x), c.tensor(float(p), x.dtype)), b.ints(axes), keepdims=1)
    norm = b.Pow(total, c.tensor(1.0 / float(p), x.dtype))
    limit = c.tensor(float(maxnorm), x.dtype)
    factor = b.Where(b.Greater(norm, limit), b.Div(limit, b.Add(norm, 1e-7)), c.tensor(1.0, x.dtype))
    return b.Mul(x, factor)


@primitive("Dropout", "DropoutExt", "Dropout2D", "Dropout3D", "FuncDropoutExt", "Dropout2dExt",
           ignores=("Seed0", "Seed1", "seed0", "seed1"))  # fmt: skip
def dropout(c: Call, x: Value, keep_prob: Any = 0.5, *rest: Any) -> Any:
    """Dropout(keep_prob=0.5, Seed0=0, Seed1=0)(x); FuncDropoutExt(input, p, training, inplace, seed, offset)"""
    if c.op in ("FuncDropoutExt", "Dropout2dExt") and rest and rest[0] is False:
        return x
    raise c.unsupported("dropout in training mode", "call set_train(False) on the model")
