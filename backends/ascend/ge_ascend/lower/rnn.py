"""Recurrent layers.

| layer | 910B, 910_93 | otherwise |
|---|---|---|
| LSTM of plain gates, float16 or float32 | DynamicRNN for each direction | CommonLSTM |
| GRU of plain gates, float16 | DynamicGRUV2 for each direction | CommonGRU |

GE makes the left form of the right one itself (its rules CommonLSTMFusionPass and GRUFusionPass), for one direction and
for gates that reset after the product alone; the weights are arranged here as these rules arrange them:
w = [W'; R'] with the gates i, c, f, o ("ijfo") for the LSTM, W' and R' with z, r, h for the GRU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import float16, float32, int32
from ge_core.ir.graph import constant_of

_IJFO = (0, 3, 2, 1)
"""Where the gates i, j (that is c), f, o stand among ONNX's i, o, f, c."""


def _attributes(c: LowerCall) -> dict[str, Any]:
    if c.attr("layout"):
        raise c.refuse("batches first")
    found: dict[str, Any] = {"hidden_size": c.attr("hidden_size"), "direction": c.attr("direction")}
    for name in ("activations", "activation_alpha", "activation_beta"):
        if c.attr(name):
            found[name] = list(c.attr(name))
    if c.attr("clip") is not None:
        found["clip"] = float(c.attr("clip"))
    return found


def _operands(c: LowerCall, count: int) -> list[Out | None]:
    found: list[Out | None] = [c.get(i) for i in range(count)]
    if found[4] is not None:
        found[4] = c.cast(found[4], int32)
    return found


@lowering("LSTM")
def lstm(c: LowerCall) -> list[Out]:
    attrs = _attributes(c) | {"input_forget": c.attr("input_forget") or 0}
    states = [c.node.input(i) is not None for i in (5, 6)]
    peepholes = c.node.input(7) is not None or attrs["input_forget"]
    if _plain(c, ["Sigmoid", "Tanh", "Tanh"]) and not peepholes and states[0] == states[1]:
        return _directions(c, _dynamic_rnn, 3)
    return list(c.ops("CommonLSTM", *_operands(c, 8), count=3, **attrs))[: len(c.node.outputs)]


@lowering("GRU")
def gru(c: LowerCall) -> list[Out]:
    attrs = _attributes(c) | {"linear_before_reset": c.attr("linear_before_reset")}
    half = c.output_type() == float16 == c[0].value.dtype
    if _plain(c, ["Sigmoid", "Tanh"]) and half and c.attr("linear_before_reset"):
        return _directions(c, _dynamic_gru, 2)
    return list(c.ops("CommonGRU", *_operands(c, 6), count=2, **attrs))[: len(c.node.outputs)]


def _plain(c: LowerCall, activations: list[str]) -> bool:
    """Whether the layer has the usual activations, constant weights, and sequences of one length."""
    count = 2 if c.attr("direction") == "bidirectional" else 1
    given = list(c.attr("activations") or activations * count)
    weights = [c.node.input(i) for i in (1, 2, 3)]
    return (
        c.engine.chip.kernels
        and c[0].value.dtype in (float16, float32)
        and given == activations * count
        and c.attr("clip") is None
        and not c.attr("activation_alpha")
        and not c.attr("activation_beta")
        and c.node.input(4) is None
        and all(value is None or constant_of(value) is not None for value in weights)
    )


def _directions(c: LowerCall, layer: Any, count: int) -> list[Out]:
    """One operator for each direction; the steps of the one that goes back are turned round before and after it.

    Args:
        layer: emits it for the steps in order and a number of the direction; gives all states, of each kind.
        count: outputs of the node: all states, and the last one of each kind.
    """
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[c.attr("direction")]
    all_states: list[Out] = []
    last: list[list[Out]] = [[] for _ in range(count - 1)]
    for number, back in enumerate(directions):
        turned = c.op("ReverseV2", c[0], c.ints([0])) if back else c[0]
        kinds = layer(c, turned, number)
        end = c.ints([c.shape()[0] - 1])
        for found, states in zip(last[: len(c.node.outputs) - 1], kinds, strict=False):
            found.append(c.op("GatherV2", states, end, c.const(0, int32)))
        y = c.op("ReverseV2", kinds[0], c.ints([0])) if back else kinds[0]
        all_states.append(c.op("Unsqueeze", y, axes=[1]))
    c.note("form", f"{c.node.op} as an operator for each direction")
    both = len(directions) == 2
    joined = [c.op("ConcatV2", all_states, c.const(1, int32), N=2) if both else all_states[0]]
    joined += [c.op("ConcatV2", ends, c.const(0, int32), N=2) if both else ends[0] for ends in last if ends]
    return joined


def _dynamic_rnn(c: LowerCall, x: Out, number: int) -> list[Out]:
    """DynamicRNN(x, w, b, init_h, init_c) -> y, output_h, output_c of all steps"""
    w, r, bias = (_weights(c, index, number) for index in (1, 2, 3))
    assert w is not None and r is not None
    both = _gates(np.concatenate([w, r], 1).T, 4, _IJFO)
    width = both.shape[1]
    sums = np.zeros(width, w.dtype) if bias is None else bias[:width] + bias[width:]
    found = c.ops(
        "DynamicRNN", x, _kept(c, both, x), _kept(c, _gates(sums, 4, _IJFO), x), None, _state(c, 5, number),
        _state(c, 6, number), is_training=False,
    )  # fmt: skip
    return [found[0], found[2]]


def _dynamic_gru(c: LowerCall, x: Out, number: int) -> list[Out]:
    """DynamicGRUV2(x, weight_input, weight_hidden, bias_input, bias_hidden, init_h) -> y of all steps"""
    w, r, bias = (_weights(c, index, number) for index in (1, 2, 3))
    assert w is not None and r is not None
    sides: list[Out | None] = [None, None]
    if bias is not None:
        sides = [_kept(c, half, x) for half in np.split(bias, 2)]
    found = c.ops(
        "DynamicGRUV2", x, _kept(c, w.T, x), _kept(c, r.T, x), *sides, None, _state(c, 5, number), is_training=False
    )
    return [found[0]]


def _weights(c: LowerCall, index: int, number: int) -> np.ndarray | None:
    """The weights of a direction, as float32 where they are half precision."""
    constant = constant_of(c.node.input(index))
    if constant is None:
        return None
    array: np.ndarray = constant.array()[number]
    return array if array.dtype == np.float64 else array.astype(np.float32)


def _gates(array: np.ndarray, count: int, order: tuple[int, ...]) -> np.ndarray:
    """The gates along the last axis in another order."""
    parts = np.split(array, count, -1)
    return np.concatenate([parts[i] for i in order], -1)


def _kept(c: LowerCall, array: np.ndarray, x: Out) -> Out:
    """Arranged weights as a constant of the file, in the type of the steps."""
    emitter, wanted = c.engine.emitter, x.value.dtype
    return emitter.const(c.scope, emitter.converted(Constant.of(np.ascontiguousarray(array)), wanted), "weights")


def _state(c: LowerCall, index: int, number: int) -> Out | None:
    """A first state of a direction, `[1, batch, hidden]`; None where it is zero."""
    out = c.get(index)
    if out is None or c.shape(index)[0] == 1:
        return out
    return c.op("GatherV2", out, c.ints([number]), c.const(0, int32))
