"""Recurrent layers, in ONNX's own order of gates."""

from __future__ import annotations

from typing import Any

from ge_ascend.meaning.call import Call, Result, meaning

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
