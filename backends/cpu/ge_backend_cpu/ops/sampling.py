"""Images at fractional coordinates: grids, deformed convolutions, regions of interest."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.windows import windows_of
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import result, source, work
from ge_backend_cpu.loops.expr import compute_kind
from ge_backend_cpu.loops.reading import attribute
from ge_backend_cpu.serial.launch import computes, implemented, launched, operand
from ge_backend_cpu.serial.sampling import BLOCK
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node

POINT = 4000
"""Picoseconds of one element that is sampled from four neighbours, one after the other."""
NARROW = 1 << 28
"""Elements of a plane up to which 32-bit numbers name them."""


def _not_empty(sizes: Sequence[Size]) -> bool:
    return all(dims.less_equal(1, size) is True for size in sizes)


@implementation("GridSample")
def grid_sample(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    image, grid = operand(node, 0), operand(node, 1)
    rank, spatial = image.rank - 2, image.shape[2:]
    same = dims.equal(image.shape[0], grid.shape[0]) is True and grid.shape[-1] == rank
    if not computes(image, grid, node.output) or not same or not _not_empty(spatial):
        return []
    points = dims.product(grid.shape[1:-1])
    values: dict[str, Size] = {"channels": image.shape[1], "points": points}
    values |= {f"size{i}": size for i, size in enumerate(spatial)}
    mode, border = str(attribute(node, "mode")), str(attribute(node, "padding_mode"))
    taps = {"nearest": 1, "linear": 2, "cubic": 4}[mode] ** rank
    launch = launched(
        "grid",
        [(source(0), image.dtype), (source(1), grid.dtype), (result(), node.output.dtype)],
        values, image.shape[0] * dims.ceildiv(points, BLOCK), dims.product(node.output.shape) * (taps * POINT // 8),
        rank=rank, mode=mode, border=border, align=bool(attribute(node, "align_corners")),
        narrow=dims.less_equal(dims.product(spatial), NARROW) is True,
    )  # fmt: skip
    return [implemented(node, [launch])]


@implementation("DeformConv")
def deform_conv(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Columns of samples, then a product with the weights."""
    image, weights, offsets, bias, mask = (node.input(k) for k in range(5))
    assert image is not None and weights is not None and offsets is not None
    rank, out = image.rank - 2, node.output
    group, parts = int(attribute(node, "group")), int(attribute(node, "offset_group"))
    windows = windows_of(node, weights.shape[2:], image.shape[2:])
    taps, places = dims.product(windows.kernel), dims.product(out.shape[2:])
    expected = [(image.shape[1], weights.shape[1] * group), (offsets.shape[1], taps * parts * rank)]
    expected += [(offsets.shape[0], image.shape[0]), *zip(offsets.shape[2:], out.shape[2:], strict=True)]
    if mask is not None:
        expected += [(mask.shape[0], image.shape[0]), (mask.shape[1], taps * parts)]
        expected += list(zip(mask.shape[2:], out.shape[2:], strict=True))
    channels = dims.exact_div(image.shape[1], parts)
    rows = dims.exact_div(weights.shape[0], group)
    fits = all(dims.equal(a, b) is True for a, b in expected)
    if not computes(image) or not fits or not _not_empty(image.shape[2:]) or channels is None or rows is None:
        return []
    kind = compute_kind(image.dtype)
    count = image.shape[0] * image.shape[1] * taps * places
    nbytes = kind.bits // 8
    values: dict[str, Size] = {"channels": channels}
    for i in range(rank):
        values |= {
            f"size{i}": image.shape[2 + i], f"out{i}": out.shape[2 + i], f"kernel{i}": windows.kernel[i],
            f"stride{i}": windows.strides[i], f"begin{i}": windows.begin[i], f"dilation{i}": windows.dilations[i],
        }  # fmt: skip
    operands = [(source(0), image.dtype), (source(2), offsets.dtype)]
    if mask is not None:
        operands.append((source(4), mask.dtype))
    columns = launched(
        "deformed", [*operands, (work(), kind)], values, image.shape[0] * parts * taps, count * POINT, rank=rank
    )
    operands = [(source(1), weights.dtype), (work(), kind)]
    if bias is not None:
        operands.append((source(3), bias.dtype))
    narrow = kind != out.dtype
    start = dims.ceildiv(count * nbytes, 64) * 64
    operands += [(work(start) if narrow else result(), kind), (result(), out.dtype)]
    product = launched(
        "columns_product", operands,
        {"groups": group, "rows": rows, "depth": weights.shape[1] * taps, "places": places},
        image.shape[0] * weights.shape[0], dims.product(out.shape) * weights.shape[1] * taps * 100,
    )  # fmt: skip
    workspace = start + (dims.product(out.shape) * nbytes if narrow else 0)
    return [implemented(node, [columns, product], workspace)]


@implementation("RoiAlign")
def roi_align(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    image, regions, images, out = operand(node, 0), operand(node, 1), operand(node, 2), node.output
    same = dims.equal(regions.shape[0], images.shape[0]) is True and regions.shape[1] == 4
    if not computes(image, regions, images) or not same or not _not_empty(image.shape[2:]):
        return []
    values = {
        "batch": image.shape[0], "channels": image.shape[1], "height": image.shape[2], "width": image.shape[3],
        "bins0": out.shape[2], "bins1": out.shape[3],
    }  # fmt: skip
    ratio = int(attribute(node, "sampling_ratio"))
    launch = launched(
        "roi_align",
        [(source(0), image.dtype), (source(1), regions.dtype), (source(2), images.dtype), (result(), out.dtype)],
        values, regions.shape[0], dims.product(out.shape) * (max(ratio, 2) ** 2 * POINT), uneven=True,
        average=attribute(node, "mode") == "avg", ratio=max(ratio, 0), scale=float(attribute(node, "spatial_scale")),
        aligned=attribute(node, "coordinate_transformation_mode") == "half_pixel",
    )  # fmt: skip
    return [implemented(node, [launch])]


@implementation("MaxRoiPool")
def max_roi_pool(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    image, regions, out = operand(node, 0), operand(node, 1), node.output
    if not computes(image, regions) or regions.shape[1] != 5:
        return []
    values = {
        "batch": image.shape[0], "channels": image.shape[1], "height": image.shape[2], "width": image.shape[3],
        "bins0": out.shape[2], "bins1": out.shape[3],
    }  # fmt: skip
    launch = launched(
        "roi_pool", [(source(0), image.dtype), (source(1), regions.dtype), (result(), out.dtype)], values,
        regions.shape[0], dims.product(out.shape) * 16 * POINT, uneven=True,
        scale=float(attribute(node, "spatial_scale")),
    )  # fmt: skip
    return [implemented(node, [launch])]
