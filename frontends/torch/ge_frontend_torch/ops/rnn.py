"""Recurrent layers: a stack of layers becomes one LSTM, GRU or RNN node for each layer.

Gates stand in another order: torch's LSTM has input, forget, cell, output, ONNX's input, output, forget, cell;
torch's GRU has reset, update, new, ONNX's update, reset, new (with linear_before_reset, as in torch).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_core.ir import dims
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten

_ORDER = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN": [0]}


@dataclass(frozen=True)
class _Stack:
    """The settings of a stack of layers."""

    op: str
    layers: int
    bidirectional: bool
    biases: bool
    batch_first: bool
    activation: str = "Tanh"

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1


def _gates(c: Call, weight: Value, op: str) -> Value:
    """A weight or bias with its gates in ONNX's order."""
    order = _ORDER[op]
    if len(order) == 1:
        return weight
    size = dims.exact_div(weight.shape[0], len(order))
    assert size is not None
    parts = c.reshape(weight, (len(order), size, *weight.shape[1:]))
    return c.reshape(c.b.Gather(parts, c.b.ints(order), axis=0), weight.shape)


def _stacked(c: Call, parts: Sequence[Value]) -> Value:
    """One tensor with a first axis of directions."""
    rows = [c.unsqueeze(part, 0) for part in parts]
    return rows[0] if len(rows) == 1 else c.b.Concat(rows, axis=0)


def _layers(
    c: Call, stack: _Stack, input: Value, states: Sequence[Value], params: Sequence[Value]
) -> tuple[Value, ...]:
    """The last layer's output and the final states of all layers."""
    b, count = c.b, stack.directions
    x = c.transpose(input, [1, 0, 2]) if stack.batch_first else input
    length, batch = x.shape[:2]
    projected = stack.op == "LSTM" and states[0].shape[2] != states[1].shape[2]
    each = 2 + 2 * stack.biases + projected
    finals: list[list[Value]] = []
    for layer in range(stack.layers):
        weights = [params[(layer * count + d) * each :][:each] for d in range(count)]
        first = layer * count
        initial = [s if stack.layers == 1 else c.slice(s, 0, first, first + count) for s in states]
        found = _layer(c, stack, x, initial, weights, projected)
        x = c.reshape(c.transpose(found[0], [0, 2, 1, 3]), (length, batch, count * found[0].shape[3]))
        finals.append(found[1:])
    last = [parts[0] if len(parts) == 1 else b.Concat(parts, axis=0) for parts in map(list, zip(*finals, strict=True))]
    return (c.transpose(x, [1, 0, 2]) if stack.batch_first else x, *last)


def _layer(
    c: Call, stack: _Stack, x: Value, initial: Sequence[Value], weights: Sequence[Sequence[Value]], projected: bool
) -> list[Value]:
    """All directions of one layer: output [T, D, N, H] and its final states."""
    b, op = c.b, stack.op
    w = _stacked(c, [_gates(c, one[0], op) for one in weights])
    r = _stacked(c, [_gates(c, one[1], op) for one in weights])
    bias = None
    if stack.biases:
        bias = _stacked(c, [b.Concat([_gates(c, v, op) for v in one[2:4]], axis=0) for one in weights])
    hidden = dims.exact_div(weights[0][0].shape[0], len(_ORDER[op]))
    attrs: dict[str, Any] = {"hidden_size": hidden, "direction": "bidirectional" if stack.bidirectional else "forward"}
    if op == "LSTM":
        projection = _stacked(c, [one[-1] for one in weights]) if projected else None
        name = "ge.LSTM" if projected else "LSTM"
        return list(b.op(name, x, w, r, bias, None, *initial, projection, num_outputs=3, **attrs))
    if op == "GRU":
        return list(b.GRU(x, w, r, bias, None, *initial, linear_before_reset=1, num_outputs=2, **attrs))
    activations = [stack.activation] * stack.directions
    return list(b.RNN(x, w, r, bias, None, *initial, activations=activations, num_outputs=2, **attrs))


def _check(c: Call, train: bool, dropout: float, num_layers: int) -> None:
    if train and dropout > 0 and num_layers > 1:
        raise c.unsupported("training mode", "call eval() on the module")


@aten("lstm.input", "ge_torch::lstm.default")
def lstm(
    c: Call,
    input: Value,
    hx: Sequence[Value],
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Value, ...]:
    """lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout,
        bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)
    lstm(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool
        train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)
    """
    _check(c, train, dropout, num_layers)
    return _layers(c, _Stack("LSTM", num_layers, bidirectional, has_biases, batch_first), input, hx, params)


@aten("gru.input", "ge_torch::gru.default")
def gru(
    c: Call,
    input: Value,
    hx: Value,
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Value, ...]:
    """gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool
        train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
    gru(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool
        train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
    """
    _check(c, train, dropout, num_layers)
    return _layers(c, _Stack("GRU", num_layers, bidirectional, has_biases, batch_first), input, [hx], params)


@aten("rnn_tanh.input", "rnn_relu.input", "ge_torch::rnn_tanh.default", "ge_torch::rnn_relu.default")
def rnn(
    c: Call,
    input: Value,
    hx: Value,
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Value, ...]:
    """rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout,
        bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
    rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout,
        bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
    rnn_tanh(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool
        train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
    rnn_relu(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool
        train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
    """
    _check(c, train, dropout, num_layers)
    activation = "Relu" if "rnn_relu" in c.name else "Tanh"
    stack = _Stack("RNN", num_layers, bidirectional, has_biases, batch_first, activation)
    return _layers(c, stack, input, [hx], params)


def _linear(c: Call, x: Value, weight: Value, bias: Value | None) -> Value:
    return c.b.Gemm(x, weight, bias, transB=1)


@aten("lstm_cell.default")
def lstm_cell(
    c: Call,
    input: Value,
    hx: Sequence[Value],
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> tuple[Value, Value]:
    """lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) ->
    (Tensor, Tensor)
    """
    b = c.b
    hidden, cell = hx
    gates = b.Add(_linear(c, input, w_ih, b_ih), _linear(c, hidden, w_hh, b_hh))
    i, forget, candidate, out = b.Split(gates, axis=1, num_outputs=4)
    cell = b.Add(b.Mul(b.Sigmoid(forget), cell), b.Mul(b.Sigmoid(i), b.Tanh(candidate)))
    return b.Mul(b.Sigmoid(out), b.Tanh(cell)), cell


@aten("gru_cell.default")
def gru_cell(
    c: Call,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:
    """gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) ->
    Tensor
    """
    b = c.b
    ours = b.Split(_linear(c, input, w_ih, b_ih), axis=1, num_outputs=3)
    old = b.Split(_linear(c, hx, w_hh, b_hh), axis=1, num_outputs=3)
    reset, update = (b.Sigmoid(b.Add(ours[i], old[i])) for i in (0, 1))
    new = b.Tanh(b.Add(ours[2], b.Mul(reset, old[2])))
    return b.Add(new, b.Mul(update, b.Sub(hx, new)))


@aten("rnn_tanh_cell.default", "rnn_relu_cell.default")
def rnn_cell(
    c: Call,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:
    """rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)
        -> Tensor
    rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)
        -> Tensor
    """
    b = c.b
    total = b.Add(_linear(c, input, w_ih, b_ih), _linear(c, hx, w_hh, b_hh))
    return b.Relu(total) if c.name.startswith("rnn_relu") else b.Tanh(total)
