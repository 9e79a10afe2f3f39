"""Shapes that older opsets have no form for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import TensorType
from ge_core.ops.decompositions.precision import operand
from ge_core.passes.reshaping import may_be_empty

from .lowerings import lowers
from .sizes import Sizes


@lowers("Reshape")
def reshape(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 14 a 0 copies a size of the input: said by -1 where one size may be 0, else an empty tensor apart."""
    x, shape = operand(node.inputs, 0), operand(node.inputs, 1)
    content = shape.content
    if content is not None and 0 in content:
        return [_empty(b, x, shape)]
    if content is not None and -1 not in content:
        old = x.type.shape if isinstance(x.type, TensorType) else None
        empty = [i for i, n in enumerate(content) if may_be_empty([n])]
        if all(old is not None and i < len(old) and old[i] == content[i] for i in empty):
            return [b.Reshape(x, shape)]  # where it is 0, the size that is copied is 0 too
        if len(empty) == 1:
            return [b.Reshape(x, b.ints([-1 if i in empty else n for i, n in enumerate(content)]))]
    none = b.Equal(b.ReduceMin(shape, keepdims=0), np.int64(0))
    return [b.If(none, then_branch=lambda r: [_empty(r, x, shape)], else_branch=lambda r: [r.Reshape(x, shape)])]


def _empty(b: Builder, x: Value, shape: Value) -> Value:
    made: Value = b.Expand(b.constant(0, x.dtype), shape)
    return made
