"""Recurrent layers. Data [time, batch, features]."""

from __future__ import annotations

from typing import Any

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive


@primitive("LSTM", ignores=("dropout",))
def lstm(
    c: Call,
    x: Value,
    h: Value,
    c0: Value,
    w: Value,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    has_bias: bool,
    bidirectional: bool,
    proj_size: int = 0,
) -> tuple[Any, ...]:
    """LSTM(input_size, hidden_size, num_layers, has_bias, bidirectional, dropout, proj_size=0)(x, h, c, w)

    All weights stand in one row: for each direction those of the input (gates i, f, g, o), then for each those of
    the state, then for each one bias.
    """
    if num_layers != 1 or proj_size:
        raise c.unsupported("several layers in one operator, or a projection,")
    b, directions = c.b, 2 if bidirectional else 1
    flat = c.reshape(w, (c.count(w, range(w.rank)),))
    gates = 4 * hidden_size
    sizes = [gates * input_size] * directions + [gates * hidden_size] * directions
    sizes += [gates] * (directions if has_bias else 0)
    parts = b.Split(flat, b.ints(sizes), axis=0, num_outputs=len(sizes))

    def stacked(k: int, columns: int) -> Value:
        found = [_gates(c, c.reshape(parts[k * directions + d], (4, hidden_size, columns))) for d in range(directions)]
        return found[0] if directions == 1 else b.Concat(found, axis=0)

    bias = None
    if has_bias:
        rows = []
        for d in range(directions):
            row = _gates(c, c.reshape(parts[2 * directions + d], (4, hidden_size, 1)))
            row = c.reshape(row, (1, gates))
            rows.append(b.Concat([row, c.full((1, gates), 0, row.dtype)], axis=1))
        bias = rows[0] if directions == 1 else b.Concat(rows, axis=0)
    y, y_h, y_c = b.LSTM(
        x, stacked(0, input_size), stacked(1, hidden_size), bias, None, h, c0, hidden_size=hidden_size,
        direction="bidirectional" if bidirectional else "forward", num_outputs=3,
    )  # fmt: skip
    steps, batch = x.shape[:2]
    out = c.reshape(b.Transpose(y, perm=[0, 2, 1, 3]), (steps, batch, directions * hidden_size))
    return out, y_h, y_c, None, None


def _gates(c: Call, w: Value) -> Value:
    """Gates i, f, g, o in ONNX's order i, o, f, g, as [1, 4 * hidden, columns]."""
    i, f, g, o = c.b.Split(w, axis=0, num_outputs=4)
    joined = c.b.Concat([i, o, f, g], axis=0)
    hidden, columns = w.shape[1:]
    return c.reshape(joined, (1, 4 * hidden, columns))
