"""Reference kernels of quantisation."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType, float32
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.cast import convert, widened
from ge_core.reference.precision import narrow, widen


def saturated(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Whole numbers clipped to the range of an integer type and stored in it; NaN gives 0."""
    return convert(np.clip(values, dtype.min, dtype.max), dtype)


def requantise(values: np.ndarray, zero_point: np.ndarray | None, dtype: DType, saturate: bool = True) -> np.ndarray:
    """round(values, half to even) + zero_point, saturated. Floats are rounded to their type instead."""
    if dtype.is_float:
        shifted = values if zero_point is None else values + widened(zero_point)
        return convert(shifted, dtype, saturate=saturate)
    whole = np.rint(values).astype(np.float64)
    return saturated(whole if zero_point is None else whole + widened(zero_point), dtype)


def _spread(values: np.ndarray, x: np.ndarray, axis: int, block: int) -> np.ndarray:
    """Scales or zero points, shaped to broadcast with the data."""
    if values.size == 1:
        return values.reshape(())
    if not block:
        return values.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    index = np.arange(x.shape[axis]) // block
    spread = np.take(values, index, axis=axis)
    if spread.shape != x.shape:
        raise ValueError(f"scales of shape {list(values.shape)} do not cover data of shape {list(x.shape)}")
    return spread


@kernel("QuantizeLinear")
def quantize_linear(call: Call, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None = None) -> np.ndarray:
    axis, block = call.attr("axis"), call.attr("block_size")
    number = call.attr("precision")
    precision = DType.of_onnx(number) if number else DType.of(scale.dtype)
    if precision.bits < 16:
        precision = float32
    factor = _spread(narrow(widen(scale), precision), x, axis, block)
    quotient = narrow(widen(convert(x, precision)) / widen(factor), precision)
    zero = None if zero_point is None else _spread(zero_point, x, axis, block)
    return requantise(widen(quotient), zero, call.dtype(), bool(call.attr("saturate")))


@kernel("DequantizeLinear")
def dequantize_linear(call: Call, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None = None) -> np.ndarray:
    axis, block = call.attr("axis"), call.attr("block_size")
    wide = widened(x)
    if wide.dtype.kind in "iu":
        wide = wide.astype(np.int64)
    if zero_point is not None:
        wide = wide - _spread(widened(zero_point), x, axis, block).astype(wide.dtype)
    arithmetic = np.float64 if call.dtype().bits == 64 else np.float32
    factor = _spread(widen(scale), x, axis, block)
    return narrow(wide.astype(arithmetic) * factor.astype(arithmetic), call.dtype())


@kernel("DynamicQuantizeLinear")
def dynamic_quantize_linear(call: Call, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high = min(x.min(initial=0), 0), max(x.max(initial=0), 0)
    scale = np.asarray((high - low) / np.float32(255), np.float32)
    divisor = scale if scale else np.float32(1)
    zero = np.rint(np.clip(-low / divisor, 0, 255))
    y = requantise(x / divisor, np.asarray(zero), call.dtype(0))
    return y, scale, np.asarray(zero, np.uint8)
