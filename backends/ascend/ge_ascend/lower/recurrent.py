"""Recurrent layers that CANN has no certain operator for, as loops over the steps.

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

_BACK = -(2**63)
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
        weights = [_slice(b, v, d) for v in (w, r)]
        bias = None if node.input(3) is None else _bias(b, _slice(b, _given(node, 3), d))
        size = weights[1].shape[1]
        width = node.attrs["hidden_size"]
        initial = [_initial(b, node, 5, d, x, size)]
        if lstm:
            initial.append(_initial(b, node, 6, d, x, width))
            projection = None if node.input(7) is None else _slice(b, _given(node, 7), d)
            step = _lstm(weights, bias, projection)
        else:
            step = _rnn(weights, bias, _activation(node, d))
        parts.append(_run(b, _reversed(b, x) if back else x, initial, step, back))
    y = b.Concat([b.Unsqueeze(p[0], b.ints(1)) for p in parts], axis=1)
    last = [b.Concat([b.Unsqueeze(p[1 + i], b.ints(0)) for p in parts], axis=0) for i in range(2 if lstm else 1)]
    return [y, *last][: len(node.outputs)]


def _run(b: Builder, x: Value, initial: Sequence[Value], step: Step, back: bool) -> tuple[Value, ...]:
    """All states of the first kind, in the order of x, and the last state of each kind."""

    def body(inner: Builder, i: Value, go: Value, *state: Value) -> list[Value]:
        after = step(inner, inner.Gather(x, i, axis=0), state)
        return [inner.Identity(go), *after, after[0]]

    found = b.Loop(b.scalar(x.shape[0]), np.bool_(True), list(initial), body=body)
    *last, collected = found
    return (_reversed(b, collected) if back else collected, *last)


def _rnn(weights: Sequence[Value], bias: Value | None, activation: str) -> Step:
    def step(b: Builder, x: Value, state: Sequence[Value]) -> list[Value]:
        return [b.op(activation, _gates(b, x, state[0], weights, bias))]

    return step


def _lstm(weights: Sequence[Value], bias: Value | None, projection: Value | None) -> Step:
    def step(b: Builder, x: Value, state: Sequence[Value]) -> list[Value]:
        i, o, f, g = b.Split(_gates(b, x, state[0], weights, bias), axis=-1, num_outputs=4)
        cell = b.Add(b.Mul(b.Sigmoid(f), state[1]), b.Mul(b.Sigmoid(i), b.Tanh(g)))
        hidden = b.Mul(b.Sigmoid(o), b.Tanh(cell))
        if projection is not None:
            hidden = b.MatMul(hidden, b.Transpose(projection, perm=[1, 0]))
        return [hidden, cell]

    return step


def _gates(b: Builder, x: Value, h: Value, weights: Sequence[Value], bias: Value | None) -> Value:
    total = b.Add(*(b.MatMul(v, b.Transpose(w, perm=[1, 0])) for v, w in zip((x, h), weights, strict=True)))
    result: Value = total if bias is None else b.Add(total, bias)
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


def _reversed(b: Builder, x: Value) -> Value:
    result: Value = b.Slice(x, b.ints(-1), b.constant(np.array([_BACK])), b.ints(0), b.ints(-1))
    return result


def _given(node: Node, index: int) -> Value:
    value = node.input(index)
    if value is None:
        raise BackendError(f"{node.op} lacks its input {index}")
    return value
