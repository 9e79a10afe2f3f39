"""Softmax and normalisations, in their inference forms."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.loops.expr import Expr, compute_kind
from ge_backend_cpu.loops.index import Affine
from ge_backend_cpu.loops.reading import attribute, required
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.rules.reduce import converted, mapped, mean, named
from ge_backend_cpu.loops.tensor import Tensor, Tracer
from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node


def stage_one(t: Tracer, x: Tensor, stash: DType) -> Tensor:
    """The data in the type of the statistics: stash_type where that is wider than what the data is computed in."""
    return t.converted(x, stash) if stash.bits > compute_kind(x.dtype).bits else x


def minus(t: Tracer, x: Tensor, y: Tensor) -> Tensor:
    return named(t, "sub", x, y)


def inverse_deviation(t: Tracer, square: Tensor, epsilon: float) -> Tensor:
    """1 / sqrt(square + epsilon)"""
    kind = compute_kind(square.dtype)

    def function(v: Expr) -> Expr:
        root = t.space.apply("sqrt", t.space.apply("add", v, t.space.const(epsilon, kind)))
        return t.space.apply("div", t.space.const(1, kind), root)

    return mapped(t, square, function)


def centred(t: Tracer, x: Tensor, over: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """x - mean, the mean, and 1 / sqrt(variance + epsilon)."""
    average = mean(t, x, over)
    centre = minus(t, x, average)
    variance = mean(t, named(t, "mul", centre, centre), over)
    return centre, average, inverse_deviation(t, variance, epsilon)


def affine(t: Tracer, y: Tensor, scale: Tensor | None, bias: Tensor | None) -> Tensor:
    """y * scale + bias with operands that broadcast; in y's type."""
    kind = compute_kind(y.dtype)

    def combine(value: Expr, factor: Expr | None, addend: Expr | None) -> Expr:
        if factor is not None:
            value = t.space.apply("mul", value, t.space.cast(factor, kind))
        return value if addend is None else t.space.apply("add", value, t.space.cast(addend, kind))

    return t.pointwise(y.dtype, y.shape, [y, scale, bias], combine)


def per_channel(t: Tracer, v: Tensor, rank: int) -> Tensor:
    """A vector over dim 1 in the form that broadcasts to a rank."""
    size = dims.product(v.shape)
    if rank == 1:
        return t.reshape(v, (size,))
    return t.reshape(v, (1, size, *(1,) * (rank - 2)))


@rule("Softmax", "LogSoftmax")
def softmax(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """exp(x - max) / sum(exp(x - max)), or its logarithm, along an axis."""
    data = required(x[0])
    if data.rank == 0:
        return [t.full(1 if node.op == "Softmax" else 0, data.dtype, ())]
    over = (int(attribute(node, "axis")) % data.rank,)
    shifted = minus(t, data, t.reduce("max", data, over))
    e = named(t, "exp_nonpositive", shifted)
    total = t.reduce("sum", e, over)
    if node.op == "LogSoftmax":
        return [minus(t, shifted, named(t, "log", total))]
    kind = compute_kind(data.dtype)
    inverse = mapped(t, total, lambda v: t.space.apply("div", t.space.const(1, kind), v))
    return [named(t, "mul", e, inverse)]


@rule("LayerNormalization")
def layer_normalization(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias; also the mean and the inverse deviation."""
    data, scale, bias = required(x[0]), x[1], x[2] if len(x) > 2 else None
    over = range(int(attribute(node, "axis")) % data.rank, data.rank)
    wide = stage_one(t, data, attribute(node, "stash_type"))
    centre, average, inverse = centred(t, wide, over, attribute(node, "epsilon"))
    y = affine(t, named(t, "mul", centre, inverse), scale, bias)
    outputs = [y, average, inverse][: len(node.outputs)]
    return [converted(t, found, v.dtype) for found, v in zip(outputs, node.outputs, strict=True)]


@rule("RMSNormalization")
def rms_normalization(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """x / sqrt(mean(x^2) + epsilon) * scale"""
    data = required(x[0])
    over = range(int(attribute(node, "axis")) % data.rank, data.rank)
    wide = stage_one(t, data, attribute(node, "stash_type"))
    inverse = inverse_deviation(t, mean(t, named(t, "mul", wide, wide), over), attribute(node, "epsilon"))
    return [converted(t, affine(t, named(t, "mul", wide, inverse), x[1], None), node.output.dtype)]


@rule("GroupNormalization")
def group_normalization(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Each group of channels of each sample by its own mean and variance; scale and bias per channel."""
    data, groups = required(x[0]), int(attribute(node, "num_groups"))
    wide = stage_one(t, data, attribute(node, "stash_type"))
    count = dims.floordiv(data.shape[1], groups)
    split = t.reshape(wide, (data.shape[0], groups, count, *data.shape[2:]))
    centre, _, inverse = centred(t, split, range(2, split.rank), attribute(node, "epsilon"))
    y = t.reshape(named(t, "mul", centre, inverse), data.shape)
    scale, bias = (per_channel(t, required(v), data.rank) for v in (x[1], x[2]))
    return [converted(t, affine(t, y, scale, bias), node.output.dtype)]


@rule("InstanceNormalization")
def instance_normalization(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Each channel of each sample by its own mean and variance; scale and bias per channel."""
    data = required(x[0])
    centre, _, inverse = centred(t, data, range(2, data.rank), attribute(node, "epsilon"))
    scale, bias = (per_channel(t, required(v), data.rank) for v in (x[1], x[2]))
    factor = affine(t, inverse, scale, None)
    y = t.pointwise(data.dtype, data.shape, [centre, factor], lambda v, f: t.space.apply("mul", v, f))
    return [converted(t, affine(t, y, None, bias), node.output.dtype)]


@rule("BatchNormalization")
def batch_normalization(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """(x - mean) * scale / sqrt(variance + epsilon) + bias by channel."""
    data = required(x[0])
    scale, bias, average, variance = (per_channel(t, required(v), max(data.rank, 1)) for v in x[1:5])
    factor = affine(t, inverse_deviation(t, variance, attribute(node, "epsilon")), scale, None)
    kind = compute_kind(data.dtype)

    def combine(v: Expr, m: Expr, f: Expr, addend: Expr) -> Expr:
        parts = [t.space.cast(p, kind) for p in (m, f, addend)]
        scaled = t.space.apply("mul", t.space.apply("sub", v, parts[0]), parts[1])
        return t.space.apply("add", scaled, parts[2])

    y = t.pointwise(data.dtype, data.shape, [data, average, factor, bias], combine)
    return [converted(t, y, node.output.dtype)]


@rule("LpNormalization")
def lp_normalization(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """x divided by the length of its vectors along an axis; vectors of length 0 stay 0."""
    data = required(x[0])
    over = (int(attribute(node, "axis")) % data.rank,)
    if int(attribute(node, "p")) == 1:
        length = t.reduce("sum", mapped(t, data, lambda v: t.space.apply("abs", v)), over)
    else:
        length = named(t, "sqrt", t.reduce("sum", named(t, "mul", data, data), over))
    kind = compute_kind(data.dtype)

    def divided(v: Expr, size: Expr) -> Expr:
        zero = t.space.apply("eq", size, t.space.const(0, kind))
        ratio = t.space.apply("div", v, t.space.apply("select", zero, t.space.const(1, kind), size))
        return t.space.apply("select", zero, t.space.const(0, kind), ratio)

    return [t.pointwise(data.dtype, data.shape, [data, length], divided)]


@rule("MeanVarianceNormalization")
def mean_variance_normalization(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """(x - mean) / (deviation + 1e-9) over some axes."""
    data = required(x[0])
    over = sorted({int(a) % data.rank for a in attribute(node, "axes")})
    centre = minus(t, data, mean(t, data, over))
    deviation = named(t, "sqrt", mean(t, named(t, "mul", centre, centre), over))
    kind = compute_kind(data.dtype)
    bottom = mapped(t, deviation, lambda v: t.space.apply("add", v, t.space.const(1e-9, kind)))
    return [named(t, "div", centre, bottom)]


@rule("LRN")
def lrn(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """x / (bias + alpha / size * sum of squares of neighbouring channels)^beta"""
    data, size = required(x[0]), int(attribute(node, "size"))
    kind = compute_kind(data.dtype)
    first = (size - 1) // 2
    window = (*data.shape, size)
    before = [0] * data.rank
    before[1] = first
    padded = (data.shape[0], data.shape[1] + size - 1, *data.shape[2:])
    square = t.pad(named(t, "mul", data, data), padded, before, t.full(0, data.dtype, ()))

    def shifted(index: tuple[Affine, ...], mask: Expr | None) -> Expr:
        return square.at((index[0], index[1] + index[-1], *index[2:-1]), mask)

    total = t.squeeze(t.reduce("sum", Tensor(data.dtype, window, shifted), (data.rank,)), (data.rank,))
    alpha, beta, bias = (float(attribute(node, name)) for name in ("alpha", "beta", "bias"))

    def combine(v: Expr, s: Expr) -> Expr:
        apply, const = t.space.apply, t.space.const
        base = apply("add", const(bias, kind), apply("mul", const(alpha / size, kind), s))
        return apply("div", v, apply("pow", base, const(beta, kind)))

    return [t.pointwise(data.dtype, data.shape, [data, total], combine)]
