"""What TFLite files have and TensorFlow has no operator for; `tflite` makes nodes of these names."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import tf_op


@tf_op("_TfliteConstant")
def constant(c: Call) -> Value:
    """_TfliteConstant() -> output; index"""
    return c.b.graph.add_constant(c.converter.program.constants[c.attr("index")], c.node.name)


def _parameters(c: Call, x: Value, dtype: DType) -> tuple[Value, Value | None, int]:
    """Scale, zero point (None for 0) and axis of DequantizeLinear and QuantizeLinear."""
    scales = np.array(c.attr("scale"), np.float32)
    zeros = np.array(c.attr("zero_point"))
    if len(scales) == 1:
        scales, zeros = scales.reshape(()), zeros.reshape(())
    zero = c.b.constant(zeros.astype(dtype.numpy)) if zeros.any() else None
    return c.b.constant(scales), zero, c.attr("axis") if x.rank else 0


@tf_op("_TfliteDequantize")
def dequantize(c: Call, x: Value) -> Value:
    """_TfliteDequantize(x) -> output; scale, zero_point, axis"""
    scale, zero, axis = _parameters(c, x, x.dtype)
    inputs = [x, scale] if zero is None else [x, scale, zero]
    return c.b.DequantizeLinear(*inputs, axis=axis)


@tf_op("_TfliteQuantize")
def quantize(c: Call, x: Value) -> Value:
    """_TfliteQuantize(x) -> output; scale, zero_point, axis, dtype"""
    dtype = c.dtype("dtype")
    scale, zero, axis = _parameters(c, x, dtype)
    if zero is None:
        return c.b.QuantizeLinear(x, scale, axis=axis, output_dtype=dtype)
    return c.b.QuantizeLinear(x, scale, zero, axis=axis)


@tf_op("_TfliteLstm")
def lstm(c: Call, x: Value, w: Value, r: Value, b: Value, h: Value, cell: Value) -> list[Value]:
    """_TfliteLstm(x, w, r, b, h, c) -> y, h_last, c_last

    x [steps, batch, in], w [4 hidden, in], r [4 hidden, hidden], b [4 hidden] with the gates i, o, f, c.
    """
    g = c.b
    hidden = r.shape[1]
    assert isinstance(hidden, int)
    bias = c.unsqueeze(g.Concat([b, c.full((4 * hidden,), 0, b.dtype)], axis=0), 0)
    y, h_last, c_last = g.LSTM(
        x,
        c.unsqueeze(w, 0),
        c.unsqueeze(r, 0),
        bias,
        None,
        c.unsqueeze(h, 0),
        c.unsqueeze(cell, 0),
        hidden_size=hidden,
        num_outputs=3,
    )
    return [c.squeeze(y, 1), c.squeeze(h_last, 0), c.squeeze(c_last, 0)]
