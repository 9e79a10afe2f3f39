"""Rounding to few levels, as training for integers does, and conversions to and from integers."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import tf_op

_FLOAT = DType.of("float32")


def _nudged(c: Call, low: Value, high: Value) -> tuple[Value, Value, Value]:
    """Least, largest and step of a range that is moved so that 0 is one of its levels."""
    b = c.b
    least = 1.0 if c.attr("narrow_range") else 0.0
    most = float(2 ** c.attr("num_bits") - 1)
    step = b.Div(b.Sub(high, low), c.number(most - least, _FLOAT))
    place = b.Sub(c.number(least, _FLOAT), b.Div(low, step))
    # half away from zero; the place is positive where it is not clipped
    rounded = b.Floor(b.Add(place, c.number(0.5, _FLOAT)))
    zero = b.Clip(rounded, c.number(least, _FLOAT), c.number(most, _FLOAT))
    return b.Mul(b.Sub(c.number(least, _FLOAT), zero), step), b.Mul(b.Sub(c.number(most, _FLOAT), zero), step), step


def _faked(c: Call, x: Value, low: Value, high: Value) -> Value:
    b = c.b
    first, last, step = _nudged(c, low, high)
    inside = b.Min([b.Max([x, first]), last])
    inverse = b.Div(c.number(1, _FLOAT), step)
    levels = b.Floor(b.Add(b.Mul(b.Sub(inside, first), inverse), c.number(0.5, _FLOAT)))
    empty = b.Equal(low, high)
    return b.Where(empty, c.number(0, _FLOAT), b.Add(b.Mul(levels, step), first))


@tf_op("FakeQuantWithMinMaxArgs")
def fake_quant_args(c: Call, inputs: Value) -> Value:
    """FakeQuantWithMinMaxArgs(inputs) -> outputs; min, max, num_bits, narrow_range"""
    return _faked(c, inputs, c.number(c.attr("min"), _FLOAT), c.number(c.attr("max"), _FLOAT))


@tf_op("FakeQuantWithMinMaxVars")
def fake_quant_vars(c: Call, inputs: Value, min: Value, max: Value) -> Value:
    """FakeQuantWithMinMaxVars(inputs, min, max) -> outputs; num_bits, narrow_range"""
    return _faked(c, inputs, min, max)


@tf_op("FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_per_channel(c: Call, inputs: Value, min: Value, max: Value) -> Value:
    """FakeQuantWithMinMaxVarsPerChannel(inputs, min, max) -> outputs; num_bits, narrow_range"""
    return _faked(c, inputs, min, max)


@tf_op("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
def quantize_and_dequantize(c: Call, input: Value, input_min: Value, input_max: Value) -> Value:
    """QuantizeAndDequantizeV2(input, input_min, input_max) -> output; signed_input, num_bits, range_given, T,
        round_mode, narrow_range, axis
    QuantizeAndDequantizeV4(input, input_min, input_max) -> output; signed_input, num_bits, range_given, T,
        round_mode, narrow_range, axis
    """
    return _through_levels(c, input, input_min, input_max, c.attr("num_bits"))


@tf_op("QuantizeAndDequantizeV3")
def quantize_and_dequantize_v3(c: Call, input: Value, input_min: Value, input_max: Value, num_bits: Value) -> Value:
    """QuantizeAndDequantizeV3(input, input_min, input_max, num_bits) -> output; signed_input, range_given, T,
    narrow_range, axis
    """
    return _through_levels(c, input, input_min, input_max, c.whole(num_bits, "a number of bits"))


def _through_levels(c: Call, x: Value, low: Value, high: Value, bits: int) -> Value:
    b = c.b
    known = c.known.attributes
    axis = c.attr("axis") if "axis" in known else -1
    narrow = c.attr("narrow_range") if "narrow_range" in known else False
    signed = c.attr("signed_input")
    if not c.attr("range_given"):
        axes = None if axis == -1 else b.ints([i for i in range(x.rank) if i != axis])
        low, high = (b.op(op, x, axes, keepdims=0) for op in ("ReduceMin", "ReduceMax"))
    if axis != -1:
        shape = [1] * x.rank
        low, high = (c.reshape(v, [*shape[:axis], x.shape[axis], *shape[axis + 1 :]]) for v in (low, high))
    least = (-(2 ** (bits - 1)) + int(narrow)) if signed else 0
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    zero = c.like(0, x)
    # the factor that fits both ends; an end of the other sign does not count
    largest = c.like(x.dtype.max, x)
    above = b.Greater(high, zero)
    scale = b.Where(above, b.Div(c.like(most, x), b.Where(above, high, c.like(1, x))), largest)
    if least:
        below = b.Less(low, zero)
        scale = b.Min([scale, b.Where(below, b.Div(c.like(least, x), b.Where(below, low, c.like(-1, x))), largest)])
    inverse = b.Div(c.like(1, x), scale)
    if c.attr("range_given"):
        x = b.Min([b.Max([x, b.Mul(c.like(least, x), inverse)]), b.Mul(c.like(most, x), inverse)])
    scaled = b.Mul(x, scale)
    if "round_mode" in known and c.attr("round_mode") == "HALF_UP":
        rounded = b.Floor(b.Add(scaled, c.like(0.5, x)))
    else:
        rounded = b.Round(scaled)
    return b.Mul(rounded, inverse)


@tf_op("Dequantize")
def dequantize(c: Call, input: Value, min_range: Value, max_range: Value) -> Value:
    """Dequantize(input, min_range, max_range) -> output; T, mode, narrow_range, axis, dtype"""
    b = c.b
    mode, axis = c.attr("mode"), c.attr("axis")
    dtype = input.dtype
    x = c.cast(input, _FLOAT)
    low, high = min_range, max_range
    if axis != -1:
        shape = [1] * input.rank
        low, high = (c.reshape(v, [*shape[:axis], input.shape[axis], *shape[axis + 1 :]]) for v in (low, high))
    steps = float(dtype.max) - float(dtype.min)
    if mode == "MIN_COMBINED":
        offset = (steps + 1) / 2 if dtype.kind == "int" else 0.0
        scale = b.Div(b.Sub(high, low), c.number(steps, _FLOAT))
        found = b.Add(b.Mul(b.Add(x, c.number(offset, _FLOAT)), scale), low)
    elif mode == "MIN_FIRST":
        scale = b.Div(b.Sub(high, low), c.number(steps, _FLOAT))
        start = b.Mul(b.Round(b.Div(low, scale)), scale)
        found = b.Add(b.Mul(b.Sub(x, c.number(float(dtype.min), _FLOAT)), scale), start)
    else:
        narrow = int(c.attr("narrow_range"))
        by_max = b.Div(high, c.number(float(dtype.max), _FLOAT))
        scale = by_max if dtype.kind == "uint" else b.Max(
            [b.Div(low, c.number(float(dtype.min) + narrow, _FLOAT)), by_max]
        )  # fmt: skip
        found = b.Mul(x, scale)
    return c.cast(found, c.dtype("dtype"))


@tf_op("QuantizeV2")
def quantize_v2(c: Call, input: Value, min_range: Value, max_range: Value) -> list[Value]:
    """QuantizeV2(input, min_range, max_range) -> output, output_min, output_max; T, mode, round_mode, narrow_range,
    axis, ensure_minimum_range
    """
    b = c.b
    dtype = c.dtype("T")
    if c.attr("mode") != "SCALED" or c.attr("axis") != -1:
        raise c.unsupported(f"the mode {c.attr('mode')}")
    floor = float(dtype.min) + int(c.attr("narrow_range"))
    zero = c.number(0, _FLOAT)
    largest = c.number(np.finfo(np.float32).max, _FLOAT)
    by_max = b.Where(b.Greater(max_range, zero), b.Div(c.number(float(dtype.max), _FLOAT), max_range), largest)
    scale = by_max
    if dtype.kind == "int":
        by_min = b.Where(b.Less(min_range, zero), b.Div(c.number(floor, _FLOAT), min_range), largest)
        scale = b.Min([by_min, by_max])
    scaled = b.Mul(input, scale)
    if c.attr("round_mode") == "HALF_TO_EVEN":
        rounded = b.Round(scaled)
    else:
        half = c.number(0.5, _FLOAT)
        rounded = b.Mul(b.Sign(scaled), b.Floor(b.Add(b.Abs(scaled), half)))
    inside = b.Clip(rounded, c.number(floor, _FLOAT), c.number(float(dtype.max), _FLOAT))
    low = b.Div(c.number(floor if dtype.kind == "int" else 0.0, _FLOAT), scale)
    high = b.Div(c.number(float(dtype.max), _FLOAT), scale)
    return [c.cast(inside, dtype), low, high]
