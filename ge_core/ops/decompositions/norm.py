"""Normalisations and softmax as reductions and pointwise operators."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.registry import decomposition
from ge_core.ops.schema import schema


def attribute(node: Node, name: str) -> object:
    """An attribute of a node, else the schema's default."""
    return node.attrs.get(name, schema(node.op).attributes[name].default)


def _number(node: Node, name: str) -> float:
    value = attribute(node, name)
    assert isinstance(value, (int, float))
    return value


def _mean(b: Builder, x: Value, axes: Sequence[int]) -> Value:
    made: Value = b.ReduceMean(x, b.ints(axes), keepdims=1)
    return made


def _stage_one(b: Builder, node: Node) -> Value:
    """The data in the type of the first stage: stash_type, or the data's own type where that is wider."""
    stash = attribute(node, "stash_type")
    assert isinstance(stash, DType)
    x = widened(b, operand(node.inputs, 0))
    return cast(b, x, stash) if stash.bits > x.dtype.bits else x


def _centred(b: Builder, x: Value, axes: Sequence[int], epsilon: float) -> tuple[Value, Value, Value]:
    """x - mean, the mean, and 1 / sqrt(variance + epsilon)."""
    mean = _mean(b, x, axes)
    x = b.Sub(x, mean)
    return x, mean, b.Reciprocal(b.Sqrt(b.Add(_mean(b, b.Mul(x, x), axes), epsilon)))


def per_channel(b: Builder, v: Value, rank: int) -> Value:
    """A vector shaped to broadcast along axis 1."""
    made: Value = b.Unsqueeze(v, b.ints(range(1, rank - 1))) if rank > 2 else v
    return made


@decomposition("BatchNormalization")
def batch_normalization(b: Builder, node: Node) -> Sequence[Value]:
    """(x - mean) * scale / sqrt(var + epsilon) + bias"""
    x, scale, bias, mean, var = (widened(b, operand(node.inputs, i)) for i in range(5))
    factor = b.Div(scale, b.Sqrt(b.Add(var, _number(node, "epsilon"))))
    spread = [cast(b, per_channel(b, v, x.rank), x.dtype) for v in (mean, factor, bias)]
    y = b.Add(b.Mul(b.Sub(x, spread[0]), spread[1]), spread[2])
    return [cast(b, y, node.output.dtype)]


@decomposition("LayerNormalization")
def layer_normalization(b: Builder, node: Node) -> Sequence[Value]:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, over the axes from `axis` on"""
    x = _stage_one(b, node)
    axes = range(int(_number(node, "axis")) % x.rank, x.rank)
    y, mean, inverse = _centred(b, x, axes, _number(node, "epsilon"))
    y = b.Mul(b.Mul(y, inverse), cast(b, operand(node.inputs, 1), y.dtype))
    bias = node.input(2)
    if bias is not None:
        y = b.Add(y, cast(b, bias, y.dtype))
    return [cast(b, v, o.dtype) for v, o in zip((y, mean, inverse), node.outputs, strict=False)]


@decomposition("RMSNormalization")
def rms_normalization(b: Builder, node: Node) -> Sequence[Value]:
    """x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on"""
    x = _stage_one(b, node)
    axes = range(int(_number(node, "axis")) % x.rank, x.rank)
    y = b.Div(x, b.Sqrt(b.Add(_mean(b, b.Mul(x, x), axes), _number(node, "epsilon"))))
    scale = widened(b, operand(node.inputs, 1))
    dtype = y.dtype if y.dtype.bits > scale.dtype.bits else scale.dtype
    return [cast(b, b.Mul(cast(b, y, dtype), cast(b, scale, dtype)), node.output.dtype)]


@decomposition("GroupNormalization")
def group_normalization(b: Builder, node: Node) -> Sequence[Value]:
    x = _stage_one(b, node)
    groups = int(_number(node, "num_groups"))
    y, _, inverse = _centred(b, b.Reshape(x, b.ints(0, groups, -1)), [2], _number(node, "epsilon"))
    y = b.Reshape(b.Mul(y, inverse), b.ints(x.shape))
    scale, bias = (cast(b, per_channel(b, operand(node.inputs, i), x.rank), y.dtype) for i in (1, 2))
    return [cast(b, b.Add(b.Mul(y, scale), bias), node.output.dtype)]


@decomposition("InstanceNormalization")
def instance_normalization(b: Builder, node: Node) -> Sequence[Value]:
    x, scale, bias = (widened(b, operand(node.inputs, i)) for i in range(3))
    y, _, inverse = _centred(b, x, range(2, x.rank), _number(node, "epsilon"))
    y = b.Mul(y, b.Mul(inverse, per_channel(b, scale, x.rank)))
    return [cast(b, b.Add(y, per_channel(b, bias, x.rank)), node.output.dtype)]


@decomposition("LpNormalization")
def lp_normalization(b: Builder, node: Node) -> Sequence[Value]:
    """x / norm; 0 where the norm is 0"""
    x = widened(b, operand(node.inputs, 0))
    axes = b.ints(int(_number(node, "axis")))
    if _number(node, "p") == 1:
        length = b.ReduceSum(b.Abs(x), axes, keepdims=1)
    else:
        length = b.Sqrt(b.ReduceSum(b.Mul(x, x), axes, keepdims=1))
    zero = b.Equal(length, 0.0)
    quotient = b.Div(x, b.Where(zero, b.constant(1.0, x.dtype), length))
    return [cast(b, b.Where(zero, b.constant(0.0, x.dtype), quotient), node.output.dtype)]


@decomposition("MeanVarianceNormalization")
def mean_variance_normalization(b: Builder, node: Node) -> Sequence[Value]:
    """(x - mean) / (standard deviation + 1e-9)"""
    x = widened(b, operand(node.inputs, 0))
    axes = attribute(node, "axes")
    assert isinstance(axes, tuple)
    y = b.Sub(x, _mean(b, x, axes))
    deviation = b.Sqrt(_mean(b, b.Mul(y, y), axes))
    return [cast(b, b.Div(y, b.Add(deviation, 1e-9)), node.output.dtype)]


def _shifted(b: Builder, node: Node) -> tuple[Value, Value]:
    """x - max along the axis, and the axis."""
    x = widened(b, operand(node.inputs, 0))
    axes = b.ints(int(_number(node, "axis")))
    return b.Sub(x, b.ReduceMax(x, axes, keepdims=1)), axes


@decomposition("Softmax")
def softmax(b: Builder, node: Node) -> Sequence[Value]:
    """exp(x - max) / sum(exp(x - max))"""
    x, axes = _shifted(b, node)
    e = b.Exp(x)
    return [cast(b, b.Div(e, b.ReduceSum(e, axes, keepdims=1)), node.output.dtype)]


@decomposition("LogSoftmax")
def log_softmax(b: Builder, node: Node) -> Sequence[Value]:
    """x - max - log(sum(exp(x - max)))"""
    x, axes = _shifted(b, node)
    total = b.Log(b.ReduceSum(b.Exp(x), axes, keepdims=1))
    return [cast(b, b.Sub(x, total), node.output.dtype)]
