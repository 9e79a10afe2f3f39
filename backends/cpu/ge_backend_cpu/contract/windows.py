"""Windows of a node as the planner sees them, and the storage of images with their channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.backend import Storage
from ge_core.errors import BackendError, GeError
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node
from ge_core.ir.types import Layout
from ge_core.ops.schema import Schema, schema
from ge_core.ops.windows import Windows, window_attributes


class NodeAttributes:
    """A node's attributes with the schema's defaults (`ge_core.ops.windows.Attributes`)."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.schema: Schema = schema(node.op)

    def attr(self, name: str, default: Any = None) -> Any:
        value = self.node.attrs.get(name)
        if value is None:
            value = self.schema.attributes[name].default
        return default if value is None else value

    def fail(self, message: str) -> GeError:
        return BackendError(message, where=self.node.loc)


def windows_of(node: Node, kernel: Sequence[Size], spatial: Sequence[Size]) -> Windows:
    """The windows of a convolution or pool, pads of auto_pad included."""
    attributes = NodeAttributes(node)
    return window_attributes(attributes, attributes.fail, kernel, spatial)


def channels_last(rank: int) -> Storage:
    """Storage of [N, C, *spatial] with the channels innermost."""
    return Storage(Layout((0, *range(2, rank), 1)))


def strides_last(sizes: Sequence[Size], channels: Size) -> tuple[Size, ...]:
    """Strides of batch and spatial axes of an image stored channels last, in elements.

    Args:
        sizes: of the spatial axes.
    """
    found: list[Size] = []
    step: Size = channels
    for size in reversed(sizes):
        found.insert(0, step)
        step = step * size
    return (step, *found)


def is_padded(windows: Windows) -> bool:
    """Whether windows may reach beyond the input."""
    return any(dims.less_equal(pad, 0) is not True for pad in (*windows.begin, *windows.end))
