"""Quantisation as Paddle trains and stores it: round(x / scale * (2^(bits-1) - 1)), and back."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.graph import Value

from ..call import FLOAT32, Call
from ..registry import pd


def _steps(bit_length: int) -> float:
    return float((1 << (bit_length - 1)) - 1)


def _quantised(c: Call, x: Value, scale: Value, bit_length: int, round_type: int) -> Value:
    """Whole numbers; ties to even for round_type 0, away from zero for 1, after clipping to the scale."""
    b, kind = c.b, x.dtype
    count = c.scalar(_steps(bit_length), kind)
    tiny = c.scalar(1e-30, kind)
    inverse = b.Reciprocal(b.Where(b.LessOrEqual(scale, tiny), b.Add(scale, tiny), scale))
    if round_type == 0:
        lowest = c.scalar(-_steps(bit_length) - 1, kind)
        return b.Clip(b.Round(b.Mul(b.Mul(count, inverse), x)), lowest, count)
    clipped = b.Min(b.Max(x, b.Neg(scale)), scale)
    wide = b.Mul(b.Mul(count, inverse), clipped)
    return b.Mul(b.Sign(wide), b.Floor(b.Add(b.Abs(wide), c.scalar(0.5, kind))))


def _largest(c: Call, x: Value, axis: int | None) -> Value:
    """The largest size of an element, of all or for each place of an axis; axes kept."""
    axes = [a for a in range(x.rank) if a != axis]
    return c.b.ReduceMax(c.b.Abs(x), c.b.ints(axes), keepdims=1)


def _along(c: Call, scale: Value, x: Value, axis: int) -> Value:
    """A vector of scales for an axis of x; one scale as a scalar."""
    if axis < 0 or scale.shape == (1,):
        return c.reshape(scale, ())
    return c.reshape(scale, [x.shape[a] if a == axis else 1 for a in range(x.rank)])


@pd("fake_quantize_abs_max", "fake_quantize_dequantize_abs_max")
def fake_quantize_abs_max(c: Call, x: Value, *, bit_length: int = 8, round_type: int = 1) -> tuple[Value, Value]:
    """fake_quantize_abs_max(x, *, bit_length=8, round_type=1) -> out, out_scale
    fake_quantize_dequantize_abs_max(x, *, bit_length=8, round_type=1) -> out, out_scale
    """
    scale = _largest(c, x, None)
    found = _quantised(c, x, scale, bit_length, round_type)
    if "dequantize" in c.name:
        found = c.b.Div(c.b.Mul(found, scale), c.scalar(_steps(bit_length), x.dtype))
    return found, c.reshape(scale, (1,))


@pd("fake_channel_wise_quantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max", ignores=("is_test",))
def fake_channel_wise_quantize_abs_max(
    c: Call, x: Value, *, bit_length: int = 8, round_type: int = 1, quant_axis: int = 0
) -> tuple[Value, Value]:
    """fake_channel_wise_quantize_abs_max(x, *, bit_length=8, round_type=1, quant_axis=0, is_test=false) -> out,
        out_scale
    fake_channel_wise_quantize_dequantize_abs_max(x, *, bit_length=8, round_type=1, quant_axis=0) -> out, out_scale
    """
    scale = _largest(c, x, quant_axis)
    found = _quantised(c, x, scale, bit_length, round_type)
    if "dequantize" in c.name:
        found = c.b.Div(c.b.Mul(found, scale), c.scalar(_steps(bit_length), x.dtype))
    return found, c.reshape(scale, (x.shape[quant_axis],))


@pd("fake_dequantize_max_abs")
def fake_dequantize_max_abs(c: Call, x: Value, scale: Value, *, max_range: float) -> Value:
    """fake_dequantize_max_abs(x, scale, *, max_range) -> out"""
    return c.b.Div(c.b.Mul(x, c.reshape(scale, ())), c.scalar(max_range, x.dtype))


@pd("fake_channel_wise_dequantize_max_abs", ignores=("x_num_col_dims",))
def fake_channel_wise_dequantize_max_abs(
    c: Call, x: Value, scales: Sequence[Value], *, quant_bits: Sequence[int] = (8,), quant_axis: int = 0
) -> Value:
    """fake_channel_wise_dequantize_max_abs(x, scales, *, quant_bits={8}, quant_axis=0, x_num_col_dims=1) -> out"""
    if len(scales) != 1:
        raise c.unsupported("two scales")
    scaled = c.b.Mul(x, _along(c, scales[0], x, quant_axis))
    return c.b.Div(scaled, c.scalar(_steps(quant_bits[0]), x.dtype))


@pd("dequantize_abs_max")
def dequantize_abs_max(c: Call, x: Value, scale: Value, *, max_range: float) -> Value:
    """dequantize_abs_max(x, scale, *, max_range) -> out"""
    return c.b.Div(c.b.Mul(c.cast(x, FLOAT32), c.reshape(scale, ())), c.scalar(max_range, FLOAT32))


@pd("quantize_linear", ignores=("qmin", "qmax"), unread=("in_accum", "in_state"))
def quantize_linear(
    c: Call,
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    in_accum: Value | None = None,
    in_state: Value | None = None,
    *,
    quant_axis: int = 0,
    bit_length: int = 8,
    round_type: int = 0,
    is_test: bool = True,
    only_observer: bool = False,
) -> tuple[Value]:
    """quantize_linear(x, scale, zero_point, in_accum, in_state, *, quant_axis=0, bit_length=8, qmin=-128, qmax=127,
    round_type=0, is_test=true, only_observer=false) -> y, out_state, out_accum, out_scale
    """
    if not is_test:
        raise c.unsupported("training mode", "call eval() on the layer")
    if only_observer:
        return (x,)
    return (_quantised(c, x, _along(c, c.cast(scale, x.dtype), x, quant_axis), bit_length, round_type),)


@pd("dequantize_linear", ignores=("qmin", "qmax", "round_type", "is_test"), unread=("in_accum", "in_state"))
def dequantize_linear(
    c: Call,
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    in_accum: Value | None = None,
    in_state: Value | None = None,
    *,
    quant_axis: int = 0,
    bit_length: int = 8,
    only_observer: bool = False,
) -> tuple[Value]:
    """dequantize_linear(x, scale, zero_point, in_accum, in_state, *, quant_axis=0, bit_length=8, qmin=-128, qmax=127,
    round_type=0, is_test=true, only_observer=false) -> y, out_state, out_accum, out_scale
    """
    if only_observer:
        return (x,)
    kind = c.dtype()
    scaled = c.b.Mul(c.cast(x, kind), _along(c, c.cast(scale, kind), x, quant_axis))
    return (c.b.Div(scaled, c.scalar(_steps(bit_length), kind)),)
