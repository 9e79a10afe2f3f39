"""Recurrent layers whose state stays in variable tensors from call to call."""

from __future__ import annotations

from ...program import Ref
from ..call import Call
from ..registry import tflite

_TANH = 4
_INPUT, _RECURRENT, _BIAS = (1, 2, 3, 4), (5, 6, 7, 8), (12, 13, 14, 15)  # gates i, f, c, o
_PEEPHOLES, _PROJECTION, _NORMS = (9, 10, 11), (16, 17), (20, 21, 22, 23)
_HIDDEN_STATE, _CELL_STATE = 18, 19


@tflite("UNIDIRECTIONAL_SEQUENCE_LSTM")
def sequence_lstm(c: Call) -> Ref:
    """Data [batch, steps, in], or [steps, batch, in] where time_major says so."""
    x = c.input(0)
    if c.option("time_major", False):
        return _lstm(c, x)
    swapped = c.constant((1, 0, 2))
    return c.node("Transpose", _lstm(c, c.node("Transpose", x, swapped)), swapped)


@tflite("LSTM")
def lstm(c: Call) -> Ref:
    """One step: data [batch, in]."""
    if int(c.option("kernel_type", 0)) or len(c.operator.outputs) != 1:
        raise c.unsupported("the basic kernel")
    y = _lstm(c, c.node("ExpandDims", c.input(0), c.constant(0)))
    return c.node("Squeeze", y, squeeze_dims=[0])


def _lstm(c: Call, x: Ref) -> Ref:
    """y [steps, batch, hidden] of data with the steps first; the states are written."""
    for what, places in (("peepholes", _PEEPHOLES), ("a projection", _PROJECTION), ("normalised gates", _NORMS)):
        if any(c.has(place) for place in places):
            raise c.unsupported(what)
    if int(c.option("fused_activation_function", 0)) != _TANH or float(c.option("cell_clip", 0.0)):
        raise c.unsupported("another activation than tanh, or a clipped cell")
    if any(c.tensor(place).quantised is not None for place in (0, *_INPUT, *_RECURRENT)):
        raise c.unsupported("an integer form")
    weights = [_gates(c, places) for places in (_INPUT, _RECURRENT, _BIAS)]
    hidden, cell = (c.operator.inputs[place] for place in (_HIDDEN_STATE, _CELL_STATE))
    y, h, state = c.nodes("_TfliteLstm", 3, x, *weights, c.body.stored(hidden), c.body.stored(cell))
    c.body.write(hidden, h)
    c.body.write(cell, state)
    return y


def _gates(c: Call, places: tuple[int, ...]) -> Ref:
    """The gates i, f, c, o one behind another in the order i, o, f, c."""
    i, f, new, o = (c.input(place) for place in places)
    return c.node("ConcatV2", i, o, f, new, c.constant(0), N=4)
