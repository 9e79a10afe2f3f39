"""Data movement as Reshape, Transpose, Pad and Cast."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import operand
from ge_core.ops.registry import decomposition


@decomposition("DepthToSpace")
def depth_to_space(b: Builder, node: Node) -> Sequence[Value]:
    """Blocks of channels become blocks of the plane; mode DCR has the block before the depth, CRD after it."""
    x, block = operand(node.inputs, 0), node.attrs["blocksize"]
    assert isinstance(block, int)
    n, _, h, w = x.shape
    depth = node.output.shape[1]
    if node.attrs.get("mode", "DCR") == "DCR":
        parts = b.Transpose(b.Reshape(x, b.ints(n, block, block, depth, h, w)), perm=[0, 3, 4, 1, 5, 2])
    else:
        parts = b.Transpose(b.Reshape(x, b.ints(n, depth, block, block, h, w)), perm=[0, 1, 4, 2, 5, 3])
    return [b.Reshape(parts, b.ints(node.output.shape))]


@decomposition("SpaceToDepth")
def space_to_depth(b: Builder, node: Node) -> Sequence[Value]:
    """Blocks of the plane become blocks of channels, before the depth in mode DCR, after it in CRD."""
    x, block = operand(node.inputs, 0), node.attrs["blocksize"]
    assert isinstance(block, int)
    n, depth = x.shape[:2]
    h, w = node.output.shape[2:]
    perm = [0, 3, 5, 1, 2, 4] if node.attrs.get("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    parts = b.Transpose(b.Reshape(x, b.ints(n, depth, h, block, w, block)), perm=perm)
    return [b.Reshape(parts, b.ints(node.output.shape))]


@decomposition("CenterCropPad")
def center_crop_pad(b: Builder, node: Node) -> Sequence[Value]:
    """One Pad: half of what is missing goes before the data, negative halves crop; both halves round towards 0."""
    x = operand(node.inputs, 0)
    begin: list[Size] = []
    end: list[Size] = []
    for size, wanted in zip(x.shape, node.output.shape, strict=True):
        extra = wanted - size
        grown, cut = dims.maximum(extra, 0), dims.maximum(-1 * extra, 0)
        first = dims.floordiv(grown, 2) - dims.floordiv(cut, 2)
        begin.append(first)
        end.append(extra - first)
    return [b.Pad(x, b.ints(*begin, *end))]


@decomposition("CastLike")
def cast_like(b: Builder, node: Node) -> Sequence[Value]:
    attributes = {k: v for k, v in node.attrs.items() if k in ("saturate", "round_mode")}
    return [b.Cast(operand(node.inputs, 0), to=node.output.dtype, **attributes)]
