"""DynamicQuantizeLSTM of com.microsoft: an LSTM whose inputs are rounded to 8 bits before each product."""

from __future__ import annotations

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts
from .quantised import rounded

_MS = "com.microsoft"
_DEFAULT = ("Sigmoid", "Tanh", "Tanh")


@converts("DynamicQuantizeLSTM", domain=_MS)
def dynamic_quantize_lstm(c: Call) -> Results:
    """DynamicQuantizeLSTM(T X, T2 W, T2 R, T B?, T1 sequence_lens?, T initial_h?, T initial_c?, T P?, T W_scale,
    T2 W_zero_point, T R_scale, T2 R_zero_point) -> (T Y?, T Y_h?, T Y_c?); direction, hidden_size

    The whole input is rounded at once, the state at each step. Gates stand in the order i, o, f, c.
    """
    c.only("activations", "direction", "hidden_size", "input_forget")
    directions = {"forward": (0,), "reverse": (1,), "bidirectional": (0, 1)}.get(c.attr("direction", "forward"))
    if directions is None:
        raise c.error(f"has the direction {c.attrs['direction']!r}")
    if c.has(4) or c.has(7) or c.attr("input_forget", 0):
        raise c.unsupported("sequence lengths, peepholes, or coupled gates")
    if tuple(c.attr("activations", _DEFAULT * len(directions))) != _DEFAULT * len(directions):
        raise c.unsupported(f"the activations {c.attrs['activations']}")
    b, x = c.b, rounded(c, c.input(0))
    weights, recurrence = _dense(c, 1, 8, 9), _dense(c, 2, 10, 11)
    results = [
        _one_direction(c, x, _row(b, weights, i), _row(b, recurrence, i), i, backward)
        for i, backward in enumerate(directions)
    ]
    # [sequence, directions, batch, hidden], and the last states by direction
    y = b.Concat([c.unsqueeze(r[0], 1) for r in results], axis=1)
    last_h, last_c = (b.Concat([c.unsqueeze(r[k], 0) for r in results], axis=0) for k in (1, 2))
    return [y, last_h, last_c]


def _dense(c: Call, index: int, scale: int, zero: int) -> Value:
    """`[directions, inputs, 4 * hidden]` as floats; scales are by direction, or by column of a direction."""
    b, dtype = c.b, c.input(0).dtype
    steps, zeros = c.input(scale), b.Cast(c.input(zero), to=dtype)
    steps, zeros = (c.unsqueeze(s, 1) if c.rank(s) == 2 else c.unsqueeze(s, 1, 2) for s in (steps, zeros))
    value: Value = b.Mul(b.Sub(b.Cast(c.input(index), to=dtype), zeros), steps)
    return value


def _row(b: Builder, x: Value, index: int) -> Value:
    value: Value = b.Gather(x, b.constant(np.int64(index)), axis=0)
    return value


def _one_direction(c: Call, x: Value, w: Value, r: Value, index: int, backward: int) -> tuple[Value, Value, Value]:
    """The states of every step, the last one, and the last cell.

    i, o, f = sigmoid of x·w + h·r + b; cell' = f * cell + i * tanh(...); h' = o * tanh(cell')
    """
    b = c.b
    hidden = r.shape[0]
    gates = b.MatMul(x, w)
    if c.has(3):
        bias = _row(b, c.input(3), index)
        halves = b.Split(bias, axis=0, num_outputs=2)
        gates = b.Add(gates, b.Add(*halves))
    starts = []
    for i in (5, 6):
        if c.has(i):
            starts.append(_row(b, c.input(i), index))
        else:
            shape = b.Concat([c.size(x, 1), b.ints(hidden)], axis=0)
            starts.append(b.Expand(b.constant(0.0, x.dtype), shape))

    def step(inner: Builder, h: Value, cell: Value, gate: Value) -> list[Value]:
        y, scale, zero = inner.DynamicQuantizeLinear(h)
        total = inner.Add(gate, inner.MatMul(inner.DequantizeLinear(y, scale, zero), r))
        i, o, f, g = inner.Split(total, axis=1, num_outputs=4)
        new = inner.Add(inner.Mul(inner.Sigmoid(f), cell), inner.Mul(inner.Sigmoid(i), inner.Tanh(g)))
        out = inner.Mul(inner.Sigmoid(o), inner.Tanh(new))
        return [out, new, inner.Identity(out)]

    last_h, last_c, y = b.Scan(
        starts, [gates], num_scan_inputs=1, body=step, scan_input_directions=[backward],
        scan_output_directions=[backward],
    )  # fmt: skip
    return y, last_h, last_c
