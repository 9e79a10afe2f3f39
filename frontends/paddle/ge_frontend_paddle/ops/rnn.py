"""Recurrent layers: a stack of layers becomes one LSTM, GRU or RNN node for each layer.

Gates stand in another order: Paddle's LSTM has input, forget, cell, output, ONNX's input, output, forget, cell;
Paddle's GRU has reset, update, candidate, ONNX's update, reset, candidate (with linear_before_reset, as in Paddle).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir.constant import Constant
from ge_core.ir.graph import Value, constant_of
from ge_core.ir.types import TensorType

from ..call import INT32, Call
from ..registry import pd

_ORDER = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN": [0]}


def _rows(op: str, hidden: int, parts: int) -> np.ndarray | None:
    """Where ONNX's rows of a weight or bias stand in Paddle's; None when they stand in the same places."""
    order = _ORDER[op]
    if len(order) == 1:
        return None
    size = len(order) * hidden
    return np.concatenate(
        [np.arange(gate * hidden, (gate + 1) * hidden) + part * size for part in range(parts) for gate in order]
    )


def _packed(c: Call, op: str, hidden: int, directions: Sequence[Sequence[Value]]) -> Value:
    """Weights or biases [directions, parts * gates * hidden, ...] with the gates of each part in ONNX's order.

    Parameters become one constant that is put together when it is read; tensors that the model computes are put
    together by nodes.

    Args:
        directions: for each direction the parts that stand behind each other: one weight, or two biases.
    """
    size = len(_ORDER[op]) * hidden
    for part in (part for parts in directions for part in parts):
        if part.shape[0] != size:
            raise c.unsupported("weights whose size does not fit the number of gates")
    rows = _rows(op, hidden, len(directions[0]))
    found = [[constant_of(part) for part in parts] for parts in directions]
    constants = [[part for part in parts if part is not None] for parts in found]
    if constants == found:
        return c.b.constant(_packed_constant(constants, rows))
    joined = [c.unsqueeze(c.concat(parts, 0), 0) for parts in directions]
    stacked = c.concat(joined, 0)
    return stacked if rows is None else c.b.Gather(stacked, c.b.constant(rows), axis=1)


def _packed_constant(directions: Sequence[Sequence[Constant]], rows: np.ndarray | None) -> Constant:
    def load() -> np.ndarray:
        stacked = np.stack([np.concatenate([part.array() for part in parts]) for parts in directions])
        return stacked if rows is None else np.take(stacked, rows, axis=1)

    first = directions[0][0].type
    assert first.shape is not None
    shape = (len(directions), first.shape[0] * len(directions[0]), *first.shape[1:])
    return Constant(TensorType(first.dtype, shape), load, directions[0][0].source)


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
    finals: list[list[Value]] = []
    for layer in range(num_layers):
        first = layer * count
        initial = [s if num_layers == 1 else c.slice(s, 0, first, first + count) for s in pre_state]
        pairs = [(weights[2 * (first + d) :][:2], biases[2 * (first + d) :][:2]) for d in range(count)]
        y, *last = _layer(c, mode, x, initial, pairs, hidden_size, lengths)
        if is_bidirec:  # a 0 keeps the length, and the batch
            x = c.b.Reshape(c.transpose(y, [0, 2, 1, 3]), c.b.ints(0, 0, count * hidden_size))
        else:
            x = c.squeeze(y, 1)
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
    w = _packed(c, op, hidden, [weight[:1] for weight, _ in pairs])
    r = _packed(c, op, hidden, [weight[1:] for weight, _ in pairs])
    bias = _packed(c, op, hidden, [parts for _, parts in pairs])
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
