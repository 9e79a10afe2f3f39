"""Operators that look for something: true elements, places in sorted rows, bins, boxes that stay, what must hold."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import result, source, work
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.reading import attribute, sizes
from ge_backend_cpu.serial.launch import computes, implemented, launched, operand
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import float32, int64
from ge_core.ir.graph import Node

SCAN = 1500
"""Picoseconds of one element that a serial loop passes."""


@implementation("ge.Places")
def places(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    mask = operand(node, 0)
    operands = [(source(0), mask.dtype), (result(), int64)]
    values = {"size": mask.shape[0], "count": node.output.shape[0]}
    return [implemented(node, [launched("places", operands, values, 1, mask.shape[0] * SCAN)])]


@implementation("ge.Check")
def check(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    holds = operand(node, 0)
    count = dims.product(holds.shape)
    return [implemented(node, [launched("check", [(source(0), holds.dtype)], {"size": count}, 1, count * SCAN)])]


@implementation("ge.MaskedScatter")
def masked_scatter(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A mask of the data's own shape."""
    data, mask, values = (operand(node, k) for k in range(3))
    same = mask.rank == data.rank and all(dims.equal(a, b) is True for a, b in zip(mask.shape, data.shape, strict=True))
    if not same or not computes(data, values):
        return []
    count = dims.product(data.shape)
    operands = [(source(0), data.dtype), (source(1), mask.dtype), (source(2), values.dtype), (result(), data.dtype)]
    launch = launched("masked_scatter", operands, {"size": count, "room": dims.product(values.shape)}, 1, count * SCAN)
    return [implemented(node, [launch], in_place=[(0, 0)])]


@implementation("ge.SearchSorted")
def search_sorted(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    rows, values = operand(node, 0), operand(node, 1)
    lead = zip(rows.shape[:-1], values.shape[:-1], strict=False)
    if not computes(rows, values) or not all(dims.equal(a, b) is True for a, b in lead):
        return []
    each: Size = values.shape[-1] if values.rank else 1
    count = dims.product(values.shape)
    numbers = {"size": rows.shape[-1], "each": dims.maximum(each, 1), "rows": dims.product(rows.shape[:-1])}
    operands = [(source(0), rows.dtype), (source(1), values.dtype), (result(), int64)]
    right = bool(attribute(node, "right"))
    return [implemented(node, [launched("search", operands, numbers, count, count * 20 * SCAN, right=right)])]


@implementation("ge.BinCount")
def bin_count(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    numbers, weights, out = operand(node, 0), node.input(1), node.output
    try:
        (bins,) = sizes(node.input(2))
    except Unsupported:
        return []
    if not computes(numbers, weights, out):
        return []
    if weights is not None and dims.equal(weights.shape[0], numbers.shape[0]) is not True:
        return []
    rounds = out.dtype.is_float and out.dtype.bits < 32
    wide = float32 if rounds else out.dtype
    operands = [(source(0), numbers.dtype)]
    if weights is not None:
        operands.append((source(1), weights.dtype))
    operands += [(work() if rounds else result(), wide), (result(), out.dtype)]
    values = {"size": numbers.shape[0], "bins": bins}
    launch = launched("bin_count", operands, values, 1, (numbers.shape[0] + bins) * SCAN)
    return [implemented(node, [launch], workspace=bins * 4 if rounds else 0)]


@implementation("ge.KeptBoxes")
def kept_boxes(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    boxes, scores, kept = operand(node, 0), operand(node, 1), node.output
    pairs = (boxes.shape[0], scores.shape[0]), (boxes.shape[1], scores.shape[2])
    if not computes(boxes, scores) or not all(dims.equal(a, b) is True for a, b in pairs):
        return []
    count, items = scores.shape[2], scores.shape[0] * scores.shape[1]
    operands = [(source(0), boxes.dtype), (source(1), scores.dtype)]
    limits = []
    for k, name in ((2, "most"), (3, "overlap"), (4, "least")):
        value = node.input(k)
        if value is not None:
            operands.append((source(k), value.dtype))
            limits.append(name)
    operands += [(work(), int64), (result(), int64)]
    launch = launched(
        "suppress", operands, {"classes": scores.shape[1], "count": count, "kept": kept.shape[2]}, items,
        items * count * 40 * SCAN, uneven=True, limits=limits, center=bool(attribute(node, "center_point_box")),
    )  # fmt: skip
    return [implemented(node, [launch], workspace=items * count * 16)]
