"""Reference kernels of recurrent layers: one matrix product for all inputs, then one per time step.

A sequence that has ended keeps its state and gives zeros; backwards, it starts at its own last element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ge_core.ops.registry import kernel
from ge_core.ops.rnn import Activation, activations, directions
from ge_core.reference.call import Call
from ge_core.reference.precision import narrow, widen

Function = Callable[[np.ndarray], np.ndarray]
# One time step: input part [B, gates*H] and states -> new states, the first of which is the output.
Step = Callable[[np.ndarray, Sequence[np.ndarray]], list[np.ndarray]]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


def function(which: Activation, clip: float | None) -> Function:
    """An activation as a numpy function; its input is clipped to [-clip, clip] first."""
    alpha, beta = which.alpha or 0.0, which.beta or 0.0
    table: dict[str, Function] = {
        "relu": lambda x: np.maximum(x, 0),
        "tanh": np.tanh,
        "sigmoid": sigmoid,
        "affine": lambda x: alpha * x + beta,
        "leakyrelu": lambda x: np.where(x >= 0, x, alpha * x),
        "thresholdedrelu": lambda x: np.where(x >= alpha, x, 0),
        "scaledtanh": lambda x: alpha * np.tanh(beta * x),
        "hardsigmoid": lambda x: np.clip(alpha * x + beta, 0, 1),
        "elu": lambda x: np.where(x >= 0, x, alpha * np.expm1(x)),
        "softsign": lambda x: x / (1 + np.abs(x)),
        "softplus": lambda x: np.logaddexp(x, 0),
    }
    chosen = table[which.name]
    return chosen if clip is None else lambda x: chosen(np.clip(x, -clip, clip))


def _run(
    x: np.ndarray, states: list[np.ndarray], lengths: np.ndarray | None, backwards: bool, step: Step
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Outputs [T, B, H] and final states of one direction."""
    y = np.zeros((len(x), *states[0].shape), states[0].dtype)
    for t in reversed(range(len(x))) if backwards else range(len(x)):
        new = step(x[t], states)
        if lengths is not None:
            active = (t < lengths)[:, None]
            y[t] = np.where(active, new[0], 0)
            states = [np.where(active, n, old) for n, old in zip(new, states, strict=True)]
        else:
            y[t] = new[0]
            states = new
    return y, states


def _layer(
    call: Call,
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None,
    lengths: np.ndarray | None,
    initial: Sequence[np.ndarray | None],
    widths: Sequence[int],
    step: Callable[[int], Step],
    input_bias: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray | None, ...]:
    """All directions of a layer.

    Args:
        initial: initial states as given (layout applies), None for zeros.
        widths: last sizes of the states.
        step: the step function of a direction.
        input_bias: the part of one direction's bias that is added to the input product.
    """
    batch_first = bool(call.attr("layout"))
    x = widen(x.swapaxes(0, 1) if batch_first else x)
    batch = x.shape[1]
    starts = [
        np.zeros((w.shape[0], batch, n), x.dtype) if s is None else widen(s.swapaxes(0, 1) if batch_first else s)
        for s, n in zip(initial, widths, strict=True)
    ]
    outputs, finals = [], []
    for d, backwards in enumerate(directions(call)):
        gates = np.matmul(x, widen(w[d]).T)
        if bias is not None:
            gates += input_bias(widen(bias[d]))
        y, states = _run(gates, [s[d] for s in starts], lengths, backwards, step(d))
        outputs.append(y)
        finals.append(states)
    y = np.stack(outputs, axis=1)
    lasts = [np.stack(parts) for parts in zip(*finals, strict=True)]
    if batch_first:
        y, lasts = y.transpose(2, 0, 1, 3), [s.swapaxes(0, 1) for s in lasts]
    return tuple(narrow(v, call.dtype(i)) if call.wants(i) else None for i, v in enumerate([y, *lasts]))


def _functions(call: Call) -> list[list[Function]]:
    clip = call.attr("clip") if "clip" in call.schema.attributes else None
    return [[function(a, clip) for a in one] for one in activations(call, call.node.op)]


@kernel("RNN")
def rnn(
    call: Call,
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    bias: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    h: np.ndarray | None = None,
) -> tuple[np.ndarray | None, ...]:
    functions = _functions(call)

    def step(d: int) -> Step:
        weights, (f,) = widen(r[d]).T, functions[d]
        return lambda part, states: [f(part + states[0] @ weights)]

    return _layer(call, x, w, bias, lengths, [h], [r.shape[2]], step, lambda b: b.reshape(2, -1).sum(axis=0))


@kernel("GRU")
def gru(
    call: Call,
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    bias: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    h: np.ndarray | None = None,
) -> tuple[np.ndarray | None, ...]:
    functions, size = _functions(call), r.shape[2]
    after = bool(call.attr("linear_before_reset"))

    def step(d: int) -> Step:
        weights, (f, g) = widen(r[d]).T, functions[d]
        gate_weights, hidden_weights = weights[:, : 2 * size], weights[:, 2 * size :]
        hidden_bias = 0 if bias is None else widen(bias[d])[5 * size :]

        def run(part: np.ndarray, states: Sequence[np.ndarray]) -> list[np.ndarray]:
            (old,) = states
            both = f(part[:, : 2 * size] + old @ gate_weights)
            update, reset = both[:, :size], both[:, size:]
            if after:
                hidden = g(part[:, 2 * size :] + reset * (old @ hidden_weights + hidden_bias))
            else:
                hidden = g(part[:, 2 * size :] + (reset * old) @ hidden_weights + hidden_bias)
            return [(1 - update) * hidden + update * old]

        return run

    def input_bias(b: np.ndarray) -> np.ndarray:
        ours, recurrent = b.reshape(2, 3 * size)
        return np.concatenate([ours[: 2 * size] + recurrent[: 2 * size], ours[2 * size :]])

    return _layer(call, x, w, bias, lengths, [h], [size], step, input_bias)


@kernel("LSTM", "ge.LSTM")
def lstm(
    call: Call,
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    bias: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    h: np.ndarray | None = None,
    c: np.ndarray | None = None,
    p: np.ndarray | None = None,
) -> tuple[np.ndarray | None, ...]:
    functions, size = _functions(call), r.shape[1] // 4
    projected = call.node.op == "ge.LSTM" and p is not None
    coupled = call.node.op == "LSTM" and bool(call.attr("input_forget"))

    def step(d: int) -> Step:
        weights, (f, g, out) = widen(r[d]).T, functions[d]
        peep_i = peep_o = peep_f = projection = None
        if p is not None and projected:
            projection = widen(p[d]).T
        elif p is not None:
            peep_i, peep_o, peep_f = widen(p[d]).reshape(3, size)

        def run(part: np.ndarray, states: Sequence[np.ndarray]) -> list[np.ndarray]:
            old, cell = states
            gates = part + old @ weights
            i, o, forget, candidate = (gates[:, k * size : (k + 1) * size] for k in range(4))
            i = f(i if peep_i is None else i + peep_i * cell)
            forget = 1 - i if coupled else f(forget if peep_f is None else forget + peep_f * cell)
            cell = forget * cell + i * g(candidate)
            hidden = f(o if peep_o is None else o + peep_o * cell) * out(cell)
            return [hidden if projection is None else hidden @ projection, cell]

        return run

    widths = [r.shape[2], size]
    return _layer(call, x, w, bias, lengths, [h, c], widths, step, lambda b: b.reshape(2, -1).sum(axis=0))
