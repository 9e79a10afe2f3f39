"""Quantisation: integers with a scale and a zero point, by tensor, by channel or by block."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.loops.expr import Expr, compute_kind
from ge_backend_cpu.loops.index import divided
from ge_backend_cpu.loops.reading import attribute, required
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Index, Tensor, Tracer, single_index
from ge_core.ir.dtype import DType, float32, float64, int64
from ge_core.ir.graph import Node
from ge_core.ir.types import Shape


def spread(v: Tensor, shape: Shape, axis: int, block: int) -> Tensor:
    """Scales or zero points in the form of the data: one for all, one for each place of an axis, or one for a block."""

    def element(index: Index, mask: Expr | None) -> Expr:
        if v.is_single:
            return v.at(single_index(v.shape), mask)
        if not block:
            return v.at((index[axis],), mask)
        return v.at((*index[:axis], divided(index[axis], block)[0], *index[axis + 1 :]), mask)

    return Tensor(v.dtype, shape, element)


@rule("QuantizeLinear")
def quantize_linear(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """round(x / scale, half to even) + zero point, saturated; floats are rounded to their type instead."""
    data, scale = required(x[0]), required(x[1])
    zero = x[2] if len(x) > 2 else None
    to = node.output.dtype
    number = int(attribute(node, "precision") or 0)
    precision = DType.of_onnx(number) if number else scale.dtype
    if precision.bits < 16:
        precision = float32
    arithmetic = compute_kind(precision)
    axis, block = int(attribute(node, "axis")) % max(data.rank, 1), int(attribute(node, "block_size"))
    factor = spread(scale, data.shape, axis, block)
    point = None if zero is None else spread(zero, data.shape, axis, block)
    apply, saturate = t.space.apply, bool(attribute(node, "saturate"))

    def combine(value: Expr, size: Expr, offset: Expr | None) -> Expr:
        # the operands and their quotient are numbers of the precision, though computed in a wider type
        value, size = (t.space.cast(v, precision) for v in (value, size))
        quotient = t.space.cast(apply("div", value, size), precision)
        if to.is_float:
            shifted = quotient if offset is None else apply("add", quotient, t.space.cast(offset, arithmetic))
            return t.space.cast(shifted, to, None, saturate)
        # what float32 cannot add to exactly is far beyond the range of the result
        exact = float32 if arithmetic == float32 else float64
        whole = t.space.cast(apply("round", quotient), exact)
        if offset is not None:
            whole = apply("add", whole, t.space.cast(offset, exact))
        return t.space.cast(whole, to)

    return [t.pointwise(to, data.shape, [data, factor, point], combine)]


@rule("DequantizeLinear")
def dequantize_linear(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """(x - zero point) * scale"""
    data, scale = required(x[0]), required(x[1])
    zero = x[2] if len(x) > 2 else None
    to = node.output.dtype
    arithmetic = float64 if to.bits == 64 else float32
    axis, block = int(attribute(node, "axis")) % max(data.rank, 1), int(attribute(node, "block_size"))
    factor = spread(scale, data.shape, axis, block)
    point = None if zero is None else spread(zero, data.shape, axis, block)
    # the difference of two integers of up to 16 bits fits into 32
    narrow = data.dtype.is_integer and data.dtype.bits <= 16
    wide = DType.of("int32") if narrow else int64 if data.dtype.is_integer else compute_kind(data.dtype)

    def combine(value: Expr, size: Expr, offset: Expr | None) -> Expr:
        value = t.space.cast(value, wide)
        if offset is not None:
            value = t.space.apply("sub", value, t.space.cast(offset, wide))
        return t.space.apply("mul", t.space.cast(value, arithmetic), t.space.cast(size, arithmetic))

    return [t.pointwise(to, data.shape, [data, factor, point], combine)]
