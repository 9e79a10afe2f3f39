"""Deformable convolutions."""

from __future__ import annotations

from ge_ascend.meaning.call import Call, Result, meaning
from ge_ascend.meaning.matmul import onnx_pads
from ge_core.ir.graph import Value


@meaning("DeformableConv2D")
def deformable_conv(c: Call) -> Result:
    """DeformableConv2D(x, filter, offsets, bias; strides, pads [top, bottom, left, right], dilations, groups,
    deformable_groups, modulated) of layout NCHW

    The channels of offsets are how far all elements of all windows move along the width, then along the height, then
    the factors of the samples, each [deformable_groups, elements of a window].
    """
    if c.formats.get("x", c.attr("data_format")) != "NCHW" or not c.attr("modulated"):
        raise c.error("only channels first, with factors, is supported")
    b, offsets = c.b, c["offsets"]
    batch, channels, *places = offsets.shape
    count = c.attr("deformable_groups") * int(c["filter"].shape[2]) * int(c["filter"].shape[3])  # type: ignore[arg-type]
    if channels != 3 * count:
        raise c.error(f"offsets have {channels} channels, expected {3 * count}")
    across, down, factors = b.Split(offsets, axis=1, num_outputs=3)
    pairs = b.Concat([b.Unsqueeze(part, b.ints(2)) for part in (down, across)], axis=2)
    result: Value = b.DeformConv(
        c["x"], c["filter"], b.Reshape(pairs, b.ints(batch, 2 * count, *places)), c.get("bias"), factors,
        strides=tuple(c.attr("strides")[2:]), pads=tuple(onnx_pads(list(c.attr("pads")))),
        dilations=tuple(c.attr("dilations")[2:]), group=c.attr("groups"), offset_group=c.attr("deformable_groups"),
    )  # fmt: skip
    return result
