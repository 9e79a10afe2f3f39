"""Dropout at inference, where it hands its input on."""

from __future__ import annotations

import numpy as np

from ge_core.ir.constant import Constant
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts

_FIX = "export the model for inference: in PyTorch after model.eval()"


@converts("Dropout")
def dropout(c: Call) -> Results:
    """Dropout(T data, T1 ratio?, T2 training_mode?) -> (T output, T2 mask?); seed

    A training mode that the caller decides is checked when the model runs; a ratio of 0 drops nothing in any mode.
    """
    x, mode, ratio = c.input(0), c.optional(2), c.constant(1)
    trains = c.constant(2)
    if mode is None or (trains is not None and not trains.any()) or (ratio is not None and not ratio.any()):
        return kept(c, x)
    if trains is not None and (ratio is not None or not c.has(1)):
        raise c.unsupported("training mode", _FIX)
    keeps = c.b.Not(mode)
    if c.has(1):
        keeps = c.b.Or(keeps, c.b.Equal(c.input(1), 0))
    c.b.ge.Check(keeps, message="Dropout in training mode is not supported")
    return kept(c, x)


def kept(c: Call, x: Value) -> list[Value | None]:
    """The input itself, and a mask that keeps every element."""
    mask = None
    if c.wants(1):
        mask = c.b.ConstantOfShape(c.shape_of(x), value=Constant.of(np.ones(1, np.bool_)))
    return [c.b.Identity(x), mask]
