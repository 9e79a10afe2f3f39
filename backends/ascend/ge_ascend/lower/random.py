"""Random numbers whose seed and offset are constant: they are drawn now, and stand in the file."""

from __future__ import annotations

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Graph, constant_of
from ge_core.reference.interpret import interpret

_MOST = 1 << 22
"""Numbers that a file may hold for one operator."""


@lowering("ge.Random")
def random(c: LowerCall) -> Out:
    """The counter's generator by the reference kernel; CANN's generators give other numbers than the model's."""
    given = [constant_of(value) for value in c.node.inputs]
    if any(constant is None for constant in given):
        raise c.refuse("CANN's generators give other numbers than the model's", "pass the random numbers as an input")
    arrays = [constant.array() for constant in given if constant is not None]
    if int(np.prod(arrays[0])) > _MOST:
        raise c.refuse(f"more than {_MOST} constant random numbers", "pass the random numbers as an input")
    alone = Graph("random")
    b = Builder(alone)
    b.outputs(b.ge.Random(*(b.constant(array) for array in arrays), **c.node.attrs))
    (drawn,), _ = interpret(alone, [])
    c.note("form", "random numbers of a constant seed and offset, drawn when the model is compiled")
    return c.const(drawn, c.output_type())
