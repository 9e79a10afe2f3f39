"""Cells of recurrent layers that TensorFlow computes at once."""

from __future__ import annotations

from ge_core.ir.builder import Builder
from ge_core.ir.dims import exact_div
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import tf_op


def _lstm_cell(
    c: Call,
    b: Builder,
    x: Value,
    cell: Value,
    hidden: Value,
    w: Value,
    peephole: tuple[Value, Value, Value],
    bias: Value,
    order: str,
    forget_bias: float,
    clip: float,
) -> list[Value]:
    """One step: i, cs, f, o, ci, co, h. The gates stand in the order that `order` says."""
    gates = b.Add(b.MatMul(b.Concat([x, hidden], axis=1), w), bias)
    size = exact_div(gates.shape[1], 4)
    assert isinstance(size, int)
    parts = dict(zip(order, b.Split(gates, b.ints([size] * 4), axis=1, num_outputs=4), strict=True))
    i_gate, f_gate = parts["i"], b.Add(parts["f"], c.like(forget_bias, x))
    if c.attr("use_peephole"):
        i_gate = b.Add(i_gate, b.Mul(cell, peephole[0]))
        f_gate = b.Add(f_gate, b.Mul(cell, peephole[1]))
    new = b.Tanh(parts["c"])
    i, f = b.Sigmoid(i_gate), b.Sigmoid(f_gate)
    state = b.Add(b.Mul(new, i), b.Mul(cell, f))
    if clip > 0:
        state = b.Clip(state, c.like(-clip, x), c.like(clip, x))
    o_gate = parts["o"]
    if c.attr("use_peephole"):
        o_gate = b.Add(o_gate, b.Mul(state, peephole[2]))
    o, out = b.Sigmoid(o_gate), b.Tanh(state)
    return [i, state, f, o, new, out, b.Mul(o, out)]


@tf_op("LSTMBlockCell")
def lstm_block_cell(
    c: Call, x: Value, cs_prev: Value, h_prev: Value, w: Value, wci: Value, wcf: Value, wco: Value, b: Value
) -> list[Value]:
    """LSTMBlockCell(x, cs_prev, h_prev, w, wci, wcf, wco, b) -> i, cs, f, o, ci, co, h; forget_bias, cell_clip,
    use_peephole, T
    """
    return _lstm_cell(
        c, c.b, x, cs_prev, h_prev, w, (wci, wcf, wco), b, "icfo", c.attr("forget_bias"), c.attr("cell_clip")
    )


@tf_op("BlockLSTM", "BlockLSTMV2")
def block_lstm(
    c: Call,
    seq_len_max: Value,
    x: Value,
    cs_prev: Value,
    h_prev: Value,
    w: Value,
    wci: Value,
    wcf: Value,
    wco: Value,
    b: Value,
) -> list[Value]:
    """BlockLSTM(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b) -> i, cs, f, o, ci, co, h; forget_bias,
        cell_clip, use_peephole, T
    BlockLSTMV2(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b) -> i, cs, f, o, ci, co, h; cell_clip,
        use_peephole, T
    """
    length = c.maybe_sizes(seq_len_max)
    if length is None or length[0] != x.shape[0]:
        raise c.unsupported("a length that is not the input's")
    order = "icfo" if c.name == "BlockLSTM" else "ifco"
    bias = c.attr("forget_bias") if c.name == "BlockLSTM" else 0.0

    def body(r: Builder, cell: Value, hidden: Value, step: Value) -> list[Value]:
        old, c.b = c.b, r
        try:
            found = _lstm_cell(c, r, step, cell, hidden, w, (wci, wcf, wco), b, order, bias, c.attr("cell_clip"))
        finally:
            c.b = old
        return [found[1], found[6], *found]

    results = c.b.Scan([cs_prev, h_prev, x], num_scan_inputs=1, body=body)
    return list(results[2:])


@tf_op("GRUBlockCell")
def gru_block_cell(c: Call, x: Value, h_prev: Value, w_ru: Value, w_c: Value, b_ru: Value, b_c: Value) -> list[Value]:
    """GRUBlockCell(x, h_prev, w_ru, w_c, b_ru, b_c) -> r, u, c, h; T"""
    b = c.b
    both = b.Sigmoid(b.Add(b.MatMul(b.Concat([x, h_prev], axis=1), w_ru), b_ru))
    size = exact_div(both.shape[1], 2)
    assert isinstance(size, int)
    r, u = b.Split(both, b.ints(size, size), axis=1, num_outputs=2)
    new = b.Tanh(b.Add(b.MatMul(b.Concat([x, b.Mul(h_prev, r)], axis=1), w_c), b_c))
    h = b.Add(b.Mul(u, h_prev), b.Mul(b.Sub(c.like(1, x), u), new))
    return [r, u, new, h]
