"""Values of images at fractional coordinates: grids, deformed convolutions, regions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import INDEX_OUT_OF_RANGE, SIZE_OUT_OF_BOUND, family
from ge_backend_cpu.serial.code import Array, Code, Num, split
from ge_core.ir.dtype import DType, float64, int32, int64

FAR = float(1 << 30)
"""Coordinates are cut off here, far beyond every image."""
KEYS = -0.75
"""Keys' parameter of cubic interpolation, as ONNX's GridSample has it."""
MOST_SAMPLES = 1 << 16
"""Samples of a bin along one axis: a region that needs more lies far outside of every image."""

BLOCK = 256
"""Points of one work item."""
Tap = tuple[Num, Num | None, Num | None]
"""An element's index along an axis (a safe one), its weight unless that is 1, and whether it counts unless it always
does."""


def _weights(part: Num, mode: str) -> list[tuple[int, Num]]:
    """Offsets and weights of the elements around a point at `part` behind the first."""
    if mode == "linear":
        return [(0, 1.0 - part), (1, part)]
    found = []
    for tap in range(-1, 3):
        t = (part - float(tap)).call("abs")
        if tap in (0, 1):
            weight = ((t * (KEYS + 2)) - (KEYS + 3)) * t * t + 1.0
        else:
            weight = (((t * KEYS) - 5 * KEYS) * t + 8 * KEYS) * t - 4 * KEYS
        found.append((tap, weight))
    return found


def _placed(index: Num, size: Num, border: str, align: bool) -> tuple[Num, Num | None]:
    """An index within the image, and whether it counts (None: always)."""
    inside: Num | None = None
    if border == "zeros":
        inside = (index >= 0) & (index < size)
    elif border == "reflection" and align:
        period = ((size - 1) * 2).max(1)
        index = index.call("abs") % period
        index = (size > 1).choose(index.min(period - index), 0)
    elif border == "reflection":
        index = index.call("floormod", size * 2)
        index = index.min(size * 2 - 1 - index)
    return index.min(size - 1).max(0), inside


def taps(where: Num, size: Num, mode: str, border: str, align: bool, kind: DType) -> list[Tap]:
    """The elements along one axis that take part in the value at a coordinate; indices are of the size's type."""
    where = where.max(-FAR).min(FAR)
    points: list[tuple[Num, Num | None]]
    if mode == "nearest":
        points = [(where.call("round").to(size.kind), None)]
    else:
        low = where.call("floor")
        base, part = low.to(size.kind), where - low
        points = [(base + offset, weight.to(kind)) for offset, weight in _weights(part, mode)]
    found = []
    for index, weight in points:
        place, inside = _placed(index, size, border, align)
        found.append((place, weight, inside))
    return found


def corners(along: Sequence[Sequence[Tap]], sizes: Sequence[Num]) -> list[Tap]:
    """All combinations of taps of the axes: numbers of elements in the plane, and products of weights."""
    found = []
    for corner in itertools.product(*along):
        place, weight, inside = corner[0]
        for (index, factor, within), size in zip(corner[1:], sizes[1:], strict=True):
            place = place * size + index
            weight = weight if factor is None else factor if weight is None else weight * factor
            inside = within if inside is None else inside if within is None else inside & within
        found.append((place, weight, inside))
    return found


def sampled(image: Array, found: Sequence[Tap], kind: DType) -> Num:
    """The sum of the weighted elements that count."""
    total: Num | None = None
    for place, weight, inside in found:
        value = image.gather(place, inside).to(kind)
        value = value if weight is None else value * weight
        total = value if total is None else total + value
    assert total is not None
    return total


@family("serial.grid")
def emit_grid(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Values at the points of a grid.

    Operands: image [batch, channels, *sizes], grid [batch, points, rank] (the innermost axis first), result [batch,
    channels, points]. A work item is `BLOCK` points of one image. With `narrow` numbers of a plane's elements fit into
    int32.
    """
    c = Code(module, symbol, parameters, isa)
    points = c.sizes["points"]
    blocks = (points + BLOCK - 1) // BLOCK
    with c.items() as item:
        batch, block = split(c, item, blocks, blocks)
        last = (block * BLOCK + BLOCK).min(points)
        whole = block * BLOCK + (last - block * BLOCK) // isa.lanes * isa.lanes
        with c.count(block * BLOCK, whole, isa.lanes) as point:
            _grid_points(c, batch, point, isa.lanes)
        with c.count(whole, last) as point:
            _grid_points(c, batch, point, 1)
    c.finish()


def _grid_points(c: Code, batch: Num, point: Num, width: int) -> None:
    """Neighbouring points in all channels."""
    image, grid, result = c.arrays
    rank, mode, border, align = (c.options[name] for name in ("rank", "mode", "border", "align"))
    kind = image.kind if image.dtype.is_float else float64
    numbers = int32 if c.options["narrow"] else int64
    sizes = [c.sizes[f"size{i}"] for i in range(rank)]
    plane = c.integer(1)
    for size in sizes:
        plane = plane * size
    narrow = [size.to(numbers) for size in sizes]
    channels, points = c.sizes["channels"], c.sizes["points"]
    own = grid.moved((batch * points + point) * rank)
    lanes = c.lanes(c.number(0, numbers), width) * rank
    along = []
    for i, size in enumerate(narrow):
        where = own.gather(lanes + (rank - 1 - i))
        where = where.call("isnan").choose(-1.0, where)
        wide = size.to(where.kind)
        where = (where + 1.0) / 2.0 * (wide - 1.0) if align else ((where + 1.0) * wide - 1.0) / 2.0
        along.append(taps(where, size, mode, border, align, kind))
    found = corners(along, narrow)
    with c.count(0, channels) as channel:
        number = batch * channels + channel
        total = sampled(image.moved(number * plane), found, kind)
        result.moved(number * points + point).in_vectors(width)[0] = total.to(result.dtype)


@family("serial.deformed")
def emit_deformed(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The windows of a convolution whose points are moved, as columns.

    Operands: image [batch * parts, channels, *sizes], offsets [batch * parts, taps, rank, places], masks
    [batch * parts, taps, places] unless missing, columns [batch * parts, channels, taps, places]. A work item is one
    tap of one image's part.
    """
    c = Code(module, symbol, parameters, isa)
    image, offsets, *masks, columns = c.arrays
    rank, kind = parameters["rank"], columns.kind
    sizes, outs, kernel = ([c.sizes[f"{what}{i}"] for i in range(rank)] for what in ("size", "out", "kernel"))
    count, places = c.integer(1), c.integer(1)
    plane = c.integer(1)
    for i in range(rank):
        count, places, plane = count * kernel[i], places * outs[i], plane * sizes[i]
    channels = c.sizes["channels"]
    with c.items() as item:
        part, tap = split(c, item, count, count)
        points = split(c, tap, *kernel)
        with c.count(0, places) as place:
            along = []
            for i, at in enumerate(split(c, place, *outs)):
                base = at * c.sizes[f"stride{i}"] - c.sizes[f"begin{i}"] + points[i] * c.sizes[f"dilation{i}"]
                where = offsets[(item * rank + i) * places + place].to(kind) + base.to(kind)
                along.append(taps(where, sizes[i], "linear", "zeros", False, kind))
            found = corners(along, sizes)
            factor = masks[0][item * places + place].to(kind) if masks else None
            with c.count(0, channels) as channel:
                total = sampled(image.moved((part * channels + channel) * plane), found, kind)
                target = ((part * channels + channel) * count + tap) * places + place
                columns[target] = total if factor is None else total * factor
    c.finish()


@family("serial.columns_product")
def emit_columns_product(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Weights [groups, rows, depth] times columns [batch, groups, depth, places], plus a bias of each row.

    Operands: weights, columns, bias unless missing, sums [items, places], result [batch, groups, rows, places]. A
    work item is one row of a group of an image.
    """
    c = Code(module, symbol, parameters, isa)
    weights, columns, *bias, sums, result = c.arrays
    groups, rows, depth, places = (c.sizes[name] for name in ("groups", "rows", "depth", "places"))
    with c.items() as item:
        image, group, row = split(c, item, groups, groups, rows)
        first = bias[0][group * rows + row].to(sums.dtype) if bias else c.number(0.0, sums.kind)
        line = sums.moved(item * places)
        with c.count(0, places) as k:
            line[k] = first
        with c.count(0, depth) as d:
            factor = weights[(group * rows + row) * depth + d].to(sums.dtype)
            source = columns.moved(((image * groups + group) * depth + d) * places)
            with c.count(0, places) as k:
                line[k] = line[k] + source[k] * factor
        if sums.dtype != result.dtype:
            with c.count(0, places) as k:
                result[item * places + k] = line[k].to(result.dtype)
    c.finish()


def image_of(c: Code, number: Num, count: Num) -> Num:
    """The image that a region names; others than [0, count) are an error."""
    wide = number.to(int64)
    c.fail((wide < 0) | (wide >= count), INDEX_OUT_OF_RANGE)
    return wide


@family("serial.roi_align")
def emit_roi_align(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Means, or maxima, of bilinear samples in the bins of regions.

    Operands: image [batch, channels, height, width], regions [n, 4] as x1, y1, x2, y2, images [n], result
    [n, channels, *bins]. A work item is one region. Coordinates in float64.
    """
    c = Code(module, symbol, parameters, isa)
    image, regions, images, result = c.arrays
    average, aligned, ratio = parameters["average"], parameters["aligned"], parameters["ratio"]
    kind = image.kind
    channels, height, width = (c.sizes[name] for name in ("channels", "height", "width"))
    bins = [c.sizes["bins0"], c.sizes["bins1"]]
    with c.items() as item:
        source = image_of(c, images[item], c.sizes["batch"])
        corner = [regions[item * 4 + k].to(float64) * parameters["scale"] - (0.5 if aligned else 0.0) for k in range(4)]
        starts = [corner[1], corner[0]]
        lengths = [corner[3] - corner[1], corner[2] - corner[0]]
        if not aligned:
            lengths = [length.max(1.0) for length in lengths]
        steps = [length / count.to(float64) for length, count in zip(lengths, bins, strict=True)]
        grid = [c.integer(ratio) if ratio else step.call("ceil").to(int64) for step in steps]
        c.fail((grid[0] > MOST_SAMPLES) | (grid[1] > MOST_SAMPLES), SIZE_OUT_OF_BOUND)
        full = (grid[0] > 0) & (grid[1] > 0)
        with c.count(0, bins[0]) as i, c.count(0, bins[1]) as j, c.count(0, channels) as channel:
            start = (source * channels + channel) * height * width
            first = 0.0 if average else float("-inf")
            total = c.variable(c.number(first, kind))
            with c.when(full), c.count(0, grid[0]) as a, c.count(0, grid[1]) as b:
                rows = _bilinear(c, starts[0], i, steps[0], a, grid[0], height)
                columns = _bilinear(c, starts[1], j, steps[1], b, grid[1], width)
                for (y, p), (x, q) in itertools.product(rows, columns):
                    term = image[start + y * width + x] * (p * q).to(kind)
                    total.value = total.value + term if average else total.value.max(term)
            value = total.value
            if average:
                value = value / (grid[0] * grid[1]).max(1).to(kind)
            target = ((item * channels + channel) * bins[0] + i) * bins[1] + j
            result[target] = full.choose(value, 0.0).to(result.dtype)
    c.finish()


def _bilinear(c: Code, start: Num, bin_: Num, step: Num, k: Num, count: Num, size: Num) -> list[tuple[Num, Num]]:
    """Sample k of a bin along one axis: the element before it and the one after; weights 0 far outside."""
    at = start + bin_.to(float64) * step + (k.to(float64) + 0.5) * step / count.to(float64)
    wide = size.to(float64)
    inside = (at >= -1.0) & (at <= wide)
    at = inside.choose(at, 0.0).max(0.0).min(wide - 1.0)
    low = at.call("floor")
    part, place = at - low, low.to(int64).max(0)
    return [(place, inside.choose(1.0 - part, 0.0)), ((place + 1).min(size - 1), inside.choose(part, 0.0))]


@family("serial.roi_pool")
def emit_roi_pool(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Maxima over the bins of regions with whole corners; an empty bin gives 0.

    Operands: image, regions [n, 5] as image, x1, y1, x2, y2, result [n, channels, *bins]. A work item is one region.
    """
    c = Code(module, symbol, parameters, isa)
    image, regions, result = c.arrays
    channels, sizes = c.sizes["channels"], [c.sizes["height"], c.sizes["width"]]
    bins = [c.sizes["bins0"], c.sizes["bins1"]]
    with c.items() as item:
        source = image_of(c, regions[item * 5], c.sizes["batch"])
        corner = []
        for k in range(1, 5):
            scaled = regions[item * 5 + k] * parameters["scale"]
            half = c.number(0.5, scaled.kind).call("copysign", scaled)
            corner.append((scaled + half).call("trunc").max(-FAR).min(FAR).to(int64))
        with c.count(0, bins[0]) as i, c.count(0, bins[1]) as j:
            top, bottom = _bin(c, corner[1], corner[3], i, bins[0], sizes[0])
            left, right = _bin(c, corner[0], corner[2], j, bins[1], sizes[1])
            with c.count(0, channels) as channel:
                start = (source * channels + channel) * sizes[0] * sizes[1]
                best = c.variable(c.number(float("-inf"), image.kind))
                with c.count(top, bottom) as y, c.count(left, right) as x:
                    best.value = best.value.max(image[start + y * sizes[1] + x])
                empty = (top >= bottom) | (left >= right)
                target = ((item * channels + channel) * bins[0] + i) * bins[1] + j
                result[target] = empty.choose(0.0, best.value)
    c.finish()


def _bin(c: Code, start: Num, end: Num, k: Num, count: Num, limit: Num) -> tuple[Num, Num]:
    size = (end - start + 1).max(1)
    low = (k * size) // count + start
    high = ((k + 1) * size + count - 1) // count + start
    return low.max(0).min(limit), high.max(0).min(limit)
