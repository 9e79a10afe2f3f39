"""Gated activations: SwiGlu and GeGluV2 take both halves of one tensor; other products stay products."""

from __future__ import annotations

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_ascend.prototypes import prototype
from ge_core.ir.graph import Node, Value


@lowering("SwiGLU")
def swiglu(c: LowerCall) -> Out:
    """SwiGlu takes both halves as one tensor; joining them costs more than two operators do."""
    halves = [c.input(0), c.input(1)]
    split = _split(*halves)
    if split is not None and split.outputs == halves and c.attr("alpha") == 1.0:
        whole = split.input(0)
        assert whole is not None
        return c.op("SwiGlu", c.taken(whole), dim=_axis(c, split, whole))
    return c.op("Mul", c.op("Swish", c[0], scale=float(c.attr("alpha"))), c[1])


@lowering("Mul")
def mul(c: LowerCall) -> Out:
    """A product, or GeGluV2 where one half of a tensor is multiplied by Gelu of the other."""
    for side in (0, 1):
        found = _geglu(c, c.input(side), c.input(1 - side))
        if found is not None:
            return found
    return c.op("Mul", c[0], c[1])


def _geglu(c: LowerCall, activated: Value, other: Value) -> Out | None:
    """left * gelu(right), or gelu(left) * right; approximate 1 is the form by tanh, 0 that by erf."""
    gelu, declared = activated.producer, prototype("GeGluV2")
    if gelu is None or gelu.op != "Gelu" or len(activated.uses) != 1:
        return None
    if declared is None or not declared.on(c.engine.chip):
        return None
    gate = gelu.input(0)
    split = None if gate is None else _split(gate, other)
    if split is None or gate is None or not c.input(0).dtype.is_float:
        return None
    whole = split.input(0)
    assert whole is not None
    c.note("form", "a product with Gelu of the other half as GeGluV2")
    tanh = gelu.attrs.get("approximate", "none") == "tanh"
    left = split.outputs[0] is gate
    return c.ops(
        "GeGluV2", c.taken(whole), dim=_axis(c, split, whole), approximate=int(tanh), activate_left=left, count=2
    )[0]


def _split(first: Value, second: Value) -> Node | None:
    """The node that gave both as the two equal halves of one tensor."""
    split = first.producer
    if split is None or split.op != "Split" or split is not second.producer or len(split.outputs) != 2:
        return None
    return split if first.type == second.type and first is not second else None


def _axis(c: LowerCall, split: Node, whole: Value) -> int:
    axis = split.attrs.get("axis", 0)
    if not isinstance(axis, int):
        raise c.refuse("the axis of its split is no number")
    return axis % whole.rank
