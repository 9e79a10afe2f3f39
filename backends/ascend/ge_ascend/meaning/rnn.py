"""Recurrent layers: in ONNX's own order of gates, and the operators for one direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value

_PORTS = ("x", "w", "r", "b", "sequence_lens", "initial_h")


def _attributes(c: Call, *more: str) -> dict[str, Any]:
    found: dict[str, Any] = {name: c.attr(name) for name in ("direction", "hidden_size", *more)}
    if c.attr("clip") >= 0:
        found["clip"] = c.attr("clip")
    for name in ("activations", "activation_alpha", "activation_beta"):
        if c.attr(name):
            found[name] = tuple(c.attr(name))
    return found


@meaning("CommonLSTM")
def lstm(c: Call) -> Result:
    """CommonLSTM(x, w, r, b, sequence_lens, initial_h, initial_c, p; hidden_size, direction, ...) -> y, y_h, y_c"""
    operands = [c.get(port) for port in (*_PORTS, "initial_c", "p")]
    return list(c.b.LSTM(*operands, num_outputs=3, **_attributes(c, "input_forget")))


@meaning("CommonGRU")
def gru(c: Call) -> Result:
    """CommonGRU(x, w, r, b, sequence_lens, initial_h; hidden_size, direction, linear_before_reset) -> y, y_h"""
    operands = [c.get(port) for port in _PORTS]
    return list(c.b.GRU(*operands, num_outputs=2, **_attributes(c, "linear_before_reset")))


_USUAL: dict[str, object] = {
    "cell_type": "LSTM", "direction": "UNIDIRECTIONAL", "cell_depth": 1, "use_peephole": False, "keep_prob": 1.0,
    "num_proj": 0, "time_major": True, "activation": "tanh", "forget_bias": 0.0,
}  # fmt: skip


def _usual(c: Call) -> None:
    """Refuse what the operators declare and no chip takes, and what is not known exactly."""
    for name, value in _USUAL.items():
        if name in c.specs and c.attr(name) != value:
            raise c.error(f"{name}={c.attr(name)!r} is not supported")
    if c.attr("cell_clip") >= 0 or c.get("seq_length") is not None or c.get("mask") is not None:
        raise c.error("clipped states and sequences of several lengths are not supported")


@meaning("DynamicRNN")
def dynamic_rnn(c: Call) -> Result:
    """DynamicRNN(x [T, B, I], w [I + H, 4 H], b [4 H], init_h, init_c [1, B, H]; gate_order) -> y, output_h, output_c,
    and for training i, j, f, o, tanhc: an LSTM over the steps whose gates stand in the order i, j, f, o or i, f, j, o.
    """
    _usual(c)
    b, x, w = c.b, c["x"], c["w"]
    order = {"ijfo": (0, 3, 2, 1), "ifjo": (0, 3, 1, 2)}.get(c.attr("gate_order"))
    if order is None:
        raise c.error(f"gate_order={c.attr('gate_order')!r} is not supported")
    hidden, size = w.shape[1] // 4, x.shape[2]
    if not isinstance(hidden, int) or not isinstance(size, int):
        raise c.error("weights of a size that is known at run time only")
    onnx = _gates(b, w, order)  # i, o, f, c
    w_input, w_hidden = b.Split(onnx, b.ints(size, hidden), axis=0, num_outputs=2)
    bias = _gates(b, c["b"], order)
    both = b.Concat([bias, b.Expand(b.constant(0.0, bias.dtype), b.ints(4 * hidden))], axis=0)
    rows = [b.Unsqueeze(v, b.ints(0)) for v in (_turned(b, w_input), _turned(b, w_hidden), both)]
    states = [c.get("init_h"), c.get("init_c")]
    y, _, _ = b.LSTM(x, *rows, None, *states, num_outputs=3, hidden_size=hidden, direction="forward")
    steps: Value = b.Squeeze(y, b.ints(1))
    found = [steps, steps, _cells(b, b.Add(b.MatMul(x, w_input), bias), w_hidden, states, hidden)]
    return found if c.attr("is_training") else found + [_nothing(b, steps)] * 5


def _cells(b: Builder, gates: Value, recurrence: Value, states: Sequence[Value | None], hidden: int) -> Value:
    """The cell after each step, which LSTM tells of the last one alone."""

    def body(r: Builder, h: Value, cell: Value, row: Value) -> list[Value]:
        i, o, f, g = r.Split(r.Add(row, r.MatMul(h, recurrence)), axis=-1, num_outputs=4)
        after = r.Add(r.Mul(r.Sigmoid(f), cell), r.Mul(r.Sigmoid(i), r.Tanh(g)))
        return [r.Mul(r.Sigmoid(o), r.Tanh(after)), after, after]

    zeros = b.Expand(b.constant(0.0, gates.dtype), b.ints(gates.shape[1], hidden))
    first = [zeros if state is None else b.Squeeze(state, b.ints(0)) for state in states]
    result: Value = b.Scan(*first, gates, num_scan_inputs=1, body=body)[2]
    return result


@meaning("DynamicGRUV2")
def dynamic_gru(c: Call) -> Result:
    """DynamicGRUV2(x [T, B, I], weight_input [I, 3 H], weight_hidden [H, 3 H], bias_input, bias_hidden [3 H], init_h;
    gate_order, reset_after) -> y, output_h, and for training update, reset, new, hidden_new"""
    _usual(c)
    if c.attr("gate_order") not in ("zrh", "rzh"):
        raise c.error(f"gate_order={c.attr('gate_order')!r} is not supported")
    b, order = c.b, (0, 1, 2) if c.attr("gate_order") == "zrh" else (1, 0, 2)
    sides = [_gates(b, c[port], order) for port in ("weight_input", "weight_hidden")]
    hidden = c["weight_hidden"].shape[0]
    if not isinstance(hidden, int):
        raise c.error("weights of a size that is known at run time only")
    zeros = b.Expand(b.constant(0.0, c["x"].dtype), b.ints(3 * hidden))
    given = [c.get(port) for port in ("bias_input", "bias_hidden")]
    biases = [zeros if v is None else _gates(b, c.cast(v, c["x"].dtype), order) for v in given]
    rows = [b.Unsqueeze(v, b.ints(0)) for v in (*(_turned(b, side) for side in sides), b.Concat(biases, axis=0))]
    y, _ = b.GRU(
        c["x"], *rows, None, c.get("init_h"), num_outputs=2, hidden_size=hidden, direction="forward",
        linear_before_reset=int(c.attr("reset_after")),
    )  # fmt: skip
    steps: Value = b.Squeeze(y, b.ints(1))
    return [steps, steps] if c.attr("is_training") else [steps, steps] + [_nothing(b, steps)] * 4


def _gates(b: Builder, value: Value, order: Sequence[int]) -> Value:
    """The parts along the last axis in another order."""
    parts = b.Split(value, axis=-1, num_outputs=len(order))
    result: Value = b.Concat([parts[i] for i in order], axis=-1)
    return result


def _turned(b: Builder, value: Value) -> Value:
    result: Value = b.Transpose(value, perm=[1, 0])
    return result


def _nothing(b: Builder, like: Value) -> Value:
    """Stands for a result that is written for training only."""
    result: Value = b.Expand(b.constant(0.0, like.dtype), b.ints(*like.shape))
    return result
