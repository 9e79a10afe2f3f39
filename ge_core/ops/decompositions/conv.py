"""Stateful convolution as Concat, Conv and Slice."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.errors import GraphError
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.registry import decomposition


@decomposition("CausalConvWithState")
def causal_conv_with_state(b: Builder, node: Node) -> Sequence[Value]:
    """The past state (or zeros) and the data, convolved channel by channel; the last elements are the new state.

    Raises:
        GraphError: the number of channels, which are the groups of the convolution, is symbolic.
    """
    x, w = (operand(node.inputs, i) for i in (0, 1))
    bias, past = node.input(2), node.input(3)
    n, channels, length = x.shape
    memory = w.shape[2] - 1
    channels = channels if isinstance(channels, int) else w.shape[0]
    if not isinstance(channels, int):
        raise GraphError(f"the number of channels is {channels}", where=node.loc, expected="a known number")
    if past is None:
        past = b.Expand(b.constant(0.0, x.dtype), b.ints(n, channels, memory))
    whole = b.Concat([past, x], axis=2)
    operands = [widened(b, v) for v in (whole, w, bias) if v is not None]
    y = b.Conv(*operands, group=channels)
    if node.attrs.get("activation", "none") != "none":
        y = b.Swish(y)
    state = b.Slice(whole, b.ints(length), b.ints(length + memory), b.ints(2))
    return [cast(b, y, x.dtype), state][: len(node.outputs)]
