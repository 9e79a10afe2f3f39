"""Recurrent layers that CANN has no certain operator for, as scans over the steps.

What the inputs give to all steps is one product before the scan; a step adds what its state gives.

RNN:  h' = f(W x + R h + Wb + Rb)
LSTM: i, o, f, c = W x + R h + Wb + Rb;  C = sigmoid(f) C + sigmoid(i) tanh(c);  h = P (sigmoid(o) tanh(C))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.errors import BackendError
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value

Step = Callable[[Builder, Value, Sequence[Value]], list[Value]]


@lowering("RNN", "ge.LSTM")
def recurrent(c: LowerCall) -> list[Out]:
    return c.expand(_expanded)


def _expanded(b: Builder, node: Node) -> list[Value]:
    lstm = node.op == "ge.LSTM"
    x, w, r = (_given(node, i) for i in range(3))
    if node.input(4) is not None:
        raise BackendError(f"{node.op}: sequences of several lengths")
    if node.attrs.get("layout"):
        raise BackendError(f"{node.op}: batches first")
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[
        str(node.attrs.get("direction", "forward"))
    ]
    parts = []
    for d, back in enumerate(directions):
        weights = [b.Transpose(_slice(b, v, d), perm=[1, 0]) for v in (w, r)]
        bias = None if node.input(3) is None else _bias(b, _slice(b, _given(node, 3), d))
        size = weights[1].shape[0]
        width = node.attrs["hidden_size"]
        initial = [_initial(b, node, 5, d, x, size)]
        if lstm:
            initial.append(_initial(b, node, 6, d, x, width))
            given = node.input(7)
            projection = None if given is None else b.Transpose(_slice(b, given, d), perm=[1, 0])
            step = _lstm(weights[1], projection)
        else:
            step = _rnn(weights[1], _activation(node, d))
        gates = b.MatMul(x, weights[0])
        parts.append(_run(b, gates if bias is None else b.Add(gates, bias), initial, step, int(back)))
    y = b.Concat([b.Unsqueeze(p[0], b.ints(1)) for p in parts], axis=1)
    last = [b.Concat([b.Unsqueeze(p[1 + i], b.ints(0)) for p in parts], axis=0) for i in range(2 if lstm else 1)]
    return [y, *last][: len(node.outputs)]


def _run(b: Builder, gates: Value, initial: Sequence[Value], step: Step, back: int) -> tuple[Value, ...]:
    """All states of the first kind, in the order of the inputs, and the last state of each kind."""

    def body(inner: Builder, *given: Value) -> list[Value]:
        after = step(inner, given[-1], given[:-1])
        return [*after, after[0]]

    found = b.Scan(
        *initial, gates, num_scan_inputs=1, scan_input_directions=[back], scan_output_directions=[back], body=body
    )
    *last, collected = found
    return (collected, *last)


def _rnn(recurrence: Value, activation: str) -> Step:
    def step(b: Builder, gates: Value, state: Sequence[Value]) -> list[Value]:
        return [b.op(activation, _with_state(b, gates, state[0], recurrence))]

    return step


def _lstm(recurrence: Value, projection: Value | None) -> Step:
    def step(b: Builder, gates: Value, state: Sequence[Value]) -> list[Value]:
        i, o, f, g = b.Split(_with_state(b, gates, state[0], recurrence), axis=-1, num_outputs=4)
        cell = b.Add(b.Mul(b.Sigmoid(f), state[1]), b.Mul(b.Sigmoid(i), b.Tanh(g)))
        hidden = b.Mul(b.Sigmoid(o), b.Tanh(cell))
        if projection is not None:
            hidden = b.MatMul(hidden, projection)
        return [hidden, cell]

    return step


def _with_state(b: Builder, gates: Value, h: Value, recurrence: Value) -> Value:
    result: Value = b.Add(gates, b.MatMul(h, recurrence))
    return result


def _bias(b: Builder, both: Value) -> Value:
    first, second = b.Split(both, axis=0, num_outputs=2)
    result: Value = b.Add(first, second)
    return result


def _activation(node: Node, direction: int) -> str:
    given = node.attrs.get("activations") or ("Tanh",) * 2
    found = str(given[direction])  # type: ignore[index]
    if found not in ("Tanh", "Relu", "Sigmoid") or node.attrs.get("clip"):
        raise BackendError(f"{node.op}: the activation {found}, or a clipped one")
    return found


def _initial(b: Builder, node: Node, index: int, direction: int, x: Value, width: object) -> Value:
    if node.input(index) is not None:
        return _slice(b, _given(node, index), direction)
    result: Value = b.Expand(b.constant(0.0, x.dtype), b.ints(x.shape[1], width))  # type: ignore[arg-type]
    return result


def _slice(b: Builder, value: Value, direction: int) -> Value:
    result: Value = b.Gather(value, np.int64(direction), axis=0)
    return result


def _given(node: Node, index: int) -> Value:
    value = node.input(index)
    if value is None:
        raise BackendError(f"{node.op} lacks its input {index}")
    return value
