"""Transposed convolutions whose weights only the run knows: one product for all windows, which are then added up."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.windows import NodeAttributes
from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import operand
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value
from ge_core.ops.conv import transposed_windows


def _known_windows(node: Node) -> bool:
    """Whether kernel and pads are numbers, as Col2Im's attributes must be."""
    x, w = operand(node, 0), operand(node, 1)
    attributes = NodeAttributes(node)
    windows, _ = transposed_windows(attributes, attributes.fail, w.shape[2:], x.shape[2:])
    return all(isinstance(n, int) for n in (*windows.kernel, *windows.begin, *windows.end))


@expansion("ConvTranspose", when=_known_windows)
def conv_transpose(b: Builder, node: Node) -> Sequence[Value]:
    x, w, bias = operand(node, 0), operand(node, 1), node.input(2)
    attributes = NodeAttributes(node)
    group = int(attributes.attr("group"))
    windows, _ = transposed_windows(attributes, attributes.fail, w.shape[2:], x.shape[2:])
    batch, spatial, out = x.shape[0], x.shape[2:], node.output.shape
    channels: Size = dims.floordiv(x.shape[1], group)
    rows = w.shape[1] * dims.product(w.shape[2:])
    weights = b.Transpose(b.Reshape(w, b.ints(group, channels, rows)), perm=[0, 2, 1])
    columns = b.MatMul(weights, b.Reshape(x, b.ints(batch, group, channels, dims.product(spatial))))
    blocks = b.Reshape(columns, b.ints(batch, rows * group, dims.product(spatial)))
    y = b.Col2Im(
        blocks, b.ints(*out[2:]), b.ints(*windows.kernel), strides=list(windows.strides),
        dilations=list(windows.dilations), pads=[*windows.begin, *windows.end],
    )  # fmt: skip
    if bias is not None:
        y = b.Add(y, b.Reshape(bias, b.ints(bias.shape[0], *(1 for _ in spatial))))
    return [y]
