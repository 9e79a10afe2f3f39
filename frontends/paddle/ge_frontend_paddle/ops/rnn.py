"""Recurrent layers: a stack of layers becomes one LSTM, GRU or RNN node for each layer.

Gates stand in another order: Paddle's LSTM has input, forget, cell, output, ONNX's input, output, forget, cell;
Paddle's GRU has reset, update, candidate, ONNX's update, reset, candidate (with linear_before_reset, as in Paddle).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir.graph import Value

from ..call import INT32, Call
from ..registry import pd

_ORDER = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN": [0]}


def _gates(c: Call, stacked: Value, op: str, hidden: int, parts: int = 1) -> Value:
    """Weights or biases [directions, parts * gates * hidden, ...] with the gates of each part in ONNX's order."""
    order = _ORDER[op]
    size = len(order) * hidden
    if stacked.shape[1] != parts * size:
        raise c.unsupported("weights whose size does not fit the number of gates")
    if len(order) == 1:
        return stacked
    rows = [np.arange(gate * hidden, (gate + 1) * hidden) + part * size for part in range(parts) for gate in order]
    return c.b.Gather(stacked, c.b.constant(np.concatenate(rows)), axis=1)


def _stacked(c: Call, parts: Sequence[Value]) -> Value:
    """One tensor with a first axis of directions."""
    return c.concat([c.unsqueeze(part, 0) for part in parts], 0)


@pd("rnn", ignores=("dropout_prob", "seed", "input_size"), unread=("dropout_state_in",))
def rnn(
    c: Call,
    x: Value,
    pre_state: Sequence[Value],
    weight_list: Sequence[Value],
    sequence_length: Value | None = None,
    dropout_state_in: Value | None = None,
    *,
    is_bidirec: bool = False,
    hidden_size: int = 100,
    num_layers: int = 1,
    mode: str = "RNN_TANH",
    is_test: bool = False,
) -> tuple[Value | None, Value | None, list[Value]]:
    """rnn(x, pre_state, weight_list, sequence_length, dropout_state_in, *, dropout_prob=0.0, is_bidirec=false,
    input_size=10, hidden_size=100, num_layers=1, mode="RNN_TANH", seed=0, is_test=false) -> out,
    dropout_state_out, state, reserve
    """
    if not is_test and c.op.attributes.get("dropout_prob", 0) > 0 and num_layers > 1:
        raise c.unsupported("training mode", "call eval() on the layer")
    count = 2 if is_bidirec else 1
    cells = num_layers * count
    if len(weight_list) != 4 * cells:
        raise c.unsupported(f"{len(weight_list)} weights for {num_layers} layers")
    weights, biases = weight_list[: 2 * cells], weight_list[2 * cells :]
    lengths = None if sequence_length is None else c.cast(sequence_length, INT32)
    length, batch = x.shape[:2]
    finals: list[list[Value]] = []
    for layer in range(num_layers):
        first = layer * count
        initial = [s if num_layers == 1 else c.slice(s, 0, first, first + count) for s in pre_state]
        pairs = [(weights[2 * (first + d) :][:2], biases[2 * (first + d) :][:2]) for d in range(count)]
        y, *last = _layer(c, mode, x, initial, pairs, hidden_size, lengths)
        x = c.reshape(c.transpose(y, [0, 2, 1, 3]), (length, batch, count * hidden_size))
        finals.append(list(last))
    states = [c.concat(list(parts), 0) for parts in zip(*finals, strict=True)]
    return x, None, states


def _layer(
    c: Call,
    mode: str,
    x: Value,
    initial: Sequence[Value],
    pairs: Sequence[tuple[Sequence[Value], Sequence[Value]]],
    hidden: int,
    lengths: Value | None,
) -> list[Value]:
    """All directions of one layer: output [T, D, N, H] and its final states."""
    b = c.b
    op = mode if mode in ("LSTM", "GRU") else "RNN"
    w = _gates(c, _stacked(c, [weight[0] for weight, _ in pairs]), op, hidden)
    r = _gates(c, _stacked(c, [weight[1] for weight, _ in pairs]), op, hidden)
    bias = _gates(c, _stacked(c, [b.Concat(list(parts), axis=0) for _, parts in pairs]), op, hidden, 2)
    attrs: dict[str, Any] = {
        "hidden_size": hidden, "direction": "bidirectional" if len(pairs) == 2 else "forward",
    }  # fmt: skip
    if op == "LSTM":
        return list(b.LSTM(x, w, r, bias, lengths, *initial, num_outputs=3, **attrs))
    if op == "GRU":
        return list(b.GRU(x, w, r, bias, lengths, *initial, linear_before_reset=1, num_outputs=2, **attrs))
    if mode not in ("RNN_TANH", "RNN_RELU"):
        raise c.unsupported(f"the mode {mode}")
    activations = ["Tanh" if mode == "RNN_TANH" else "Relu"] * len(pairs)
    return list(b.RNN(x, w, r, bias, lengths, *initial, activations=activations, num_outputs=2, **attrs))
