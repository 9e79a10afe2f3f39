"""How the operands of an epilogue lie to a contraction's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ge_backend_cpu.contract.epilogue import Kind
from ge_core.ir import dims
from ge_core.ir.graph import Node
from ge_core.ir.types import Shape

Classify: TypeAlias = Callable[[Shape], Kind | None]
"""How an operand of the epilogue is read, by its shape; None when it cannot be."""


def classifier(core: Node) -> Classify:
    """How operands of the result's shape, or that broadcast to it, are read."""
    result = core.output.shape
    axis = column_axis(core)

    def classify(shape: Shape) -> Kind | None:
        return kind_of(shape, result, axis)

    return classify


def column_axis(core: Node) -> int | None:
    """The axis of the result along which the columns of the product lie."""
    rank = core.output.rank
    if core.op in ("MatMul", "MatMulInteger"):
        right = core.input(1)
        return None if right is None or right.rank == 1 else rank - 1
    return 1


def kind_of(shape: Shape, result: Shape, axis: int | None) -> Kind | None:
    """See `Side.kind`; None when the shape is none of these."""
    if len(shape) > len(result):
        return None
    padded = (*([1] * (len(result) - len(shape))), *shape)
    same = [dims.equal(a, b) is True for a, b in zip(padded, result, strict=True)]
    ones = [a == 1 for a in padded]
    if all(ones):
        return "scalar"
    if axis is not None and same[axis] and all(one for i, one in enumerate(ones) if i != axis):
        return "column"
    if all(same):
        return "full"
    if axis is not None and ones[axis] and all(s for i, s in enumerate(same) if i != axis):
        return "row"
    return None
