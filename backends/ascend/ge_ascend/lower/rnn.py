"""Recurrent layers."""

from __future__ import annotations

from typing import Any

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.dtype import int32


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
    return list(c.ops("CommonLSTM", *_operands(c, 8), count=3, **attrs))[: len(c.node.outputs)]


@lowering("GRU")
def gru(c: LowerCall) -> list[Out]:
    attrs = _attributes(c) | {"linear_before_reset": c.attr("linear_before_reset")}
    return list(c.ops("CommonGRU", *_operands(c, 6), count=2, **attrs))[: len(c.node.outputs)]
