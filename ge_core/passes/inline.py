"""Moves the nodes of a region into the block around it."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.graph import Node, Region, Value


def inline_region(region: Region, before: Node, arguments: Sequence[Value]) -> list[Value]:
    """Move all nodes of `region` in front of a node of the surrounding block.

    Args:
        before: the node to insert before, usually the region's own.
        arguments: values of the surrounding block for the region's params.

    Returns:
        The values that the region's outputs are now.
    """
    block = before.block
    assert block is not None
    for param, argument in zip(region.params, arguments, strict=True):
        param.replace_uses(argument)
    for capture in list(region.captures):
        capture.param.replace_uses(capture.outer)
    region.remove_unused_captures()
    outputs = list(region.outputs)
    region.set_outputs(())
    while (node := region.nodes.first) is not None:
        region.nodes.unlink(node)
        block.nodes.insert_before(before, node)
    return outputs
