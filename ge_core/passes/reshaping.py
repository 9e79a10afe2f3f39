"""Building the normal form of Reshape: the whole target shape as a constant or `ge.Dims`."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value, source_of


def reshape(b: Builder, x: Value, shape: Sequence[Size]) -> Value:
    """`x` in another shape of as many elements; `x` itself when it has that shape."""
    if x.tensor.shape == tuple(shape):
        return x
    result: Value = b.Reshape(x, b.ints(shape), allowzero=1 if may_be_empty(shape) else None)
    return result


def expand(b: Builder, x: Value, shape: Sequence[Size]) -> Value:
    """`x` broadcast to `shape`; `x` itself when it has that shape."""
    if x.tensor.shape == tuple(shape):
        return x
    result: Value = b.Expand(x, b.ints(shape))
    return result


def may_be_empty(shape: Sequence[Size]) -> bool:
    """Whether a size may be 0, which Reshape would read as "copy" without allowzero."""
    return any((dims.bounds(size)[0] or 0) <= 0 for size in shape)


def is_written_out(node: Node, index: int, shape: Sequence[Size]) -> bool:
    """Whether input `index` is a constant or `ge.Dims` that says `shape` element by element."""
    value = node.input(index)
    if value is None or value.content != tuple(shape):
        return False
    source = source_of(value)
    return source.constant is not None or (source.producer is not None and source.producer.op == "ge.Dims")
