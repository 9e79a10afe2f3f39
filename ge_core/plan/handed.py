"""What a graph's outputs hand out: a value, or the bytes of one that a Squeeze without axes reads.

How many axes such a Squeeze leaves, the sizes of the call decide. As an output it needs no step: what it reads is
handed out without its axes of size 1.
"""

from __future__ import annotations

from ge_core.ir.graph import Graph, Node, Use, Value
from ge_core.ir.types import TensorType


def handed(value: Value) -> Value:
    """The value whose bytes a graph's output hands out."""
    node = value.producer
    return value if node is None or not squeezes_output(node) else _operand(node)


def squeezes_output(node: Node) -> bool:
    """Whether a node is a Squeeze without axes, of a value of known rank, whose result outputs alone read."""
    if node.op != "Squeeze" or node.input(1) is not None:
        return False
    of, result = _operand(node).type, node.output
    if not isinstance(of, TensorType) or of.shape is None:
        return False
    if not isinstance(result.type, TensorType) or result.type.shape is not None:
        return False
    return result.has_uses and all(map(_hands_out, result.uses))


def _operand(node: Node) -> Value:
    value = node.input(0)
    assert value is not None
    return value


def _hands_out(use: Use) -> bool:
    return use.kind == "output" and isinstance(use.user, Graph)
