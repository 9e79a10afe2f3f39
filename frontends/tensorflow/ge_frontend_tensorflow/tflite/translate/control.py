"""Sub graphs that are called, chosen or repeated."""

from __future__ import annotations

from collections.abc import Sequence

from ...program import Ref
from ..call import Call, Function
from ..registry import tflite


def _function(c: Call, option: str) -> Function:
    return Function(f"subgraph_{int(c.option(option, 0))}")


@tflite("IF", raw=True)
def if_(c: Call) -> Sequence[Ref]:
    count = len(c.operator.outputs)
    types = [c.type_of(c.tensor(i)) for i in range(1, len(c.operator.inputs))]
    return c.nodes(
        "If",
        count,
        *c.inputs(),
        Tin=types,
        Tout=[c.type_of(c.out(i)) for i in range(count)],
        then_branch=_function(c, "then_subgraph_index"),
        else_branch=_function(c, "else_subgraph_index"),
    )


@tflite("WHILE", raw=True)
def while_(c: Call) -> Sequence[Ref]:
    count = len(c.operator.outputs)
    return c.nodes(
        "While",
        count,
        *c.inputs(),
        T=[c.type_of(c.tensor(i)) for i in range(count)],
        cond=_function(c, "cond_subgraph_index"),
        body=_function(c, "body_subgraph_index"),
    )


@tflite("CALL", raw=True)
def call(c: Call) -> Sequence[Ref]:
    count = len(c.operator.outputs)
    return c.nodes(
        "PartitionedCall",
        count,
        *c.inputs(),
        Tin=[c.type_of(c.tensor(i)) for i in range(len(c.operator.inputs))],
        Tout=[c.type_of(c.out(i)) for i in range(count)],
        f=_function(c, "subgraph"),
    )
