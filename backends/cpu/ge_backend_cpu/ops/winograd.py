"""3 x 3 convolutions of stride 1 or 2 by Winograd's minimal filtering, where their error allows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_backend_cpu.contract.arithmetic import Arithmetic
from ge_backend_cpu.contract.cost import example, figures, overlapped
from ge_backend_cpu.contract.epilogue import Epilogue
from ge_backend_cpu.contract.plan import STREAMED, Plan, Walk, multiply, storages
from ge_backend_cpu.contract.product import Product, panel_hint
from ge_backend_cpu.contract.site import Collected, Site, site_of
from ge_backend_cpu.contract.tile import MANY, PANEL
from ge_backend_cpu.contract.windows import NodeAttributes, channels_last, windows_of
from ge_backend_cpu.contract.winograd import APART, Steps, Winograd
from ge_backend_cpu.contract.winograd_forms import Form, error
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, Recipe, result, source
from ge_backend_cpu.ops.conv import epilogue
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size
from ge_core.ir.dtype import float32
from ge_core.ir.graph import Node

ALLOWED = 2e-5
"""Error of a layer, relative to the largest element of its result."""
LEAST_CHANNELS = 16
"""Channels below which the transforms outweigh what they save."""
ITEMS = 12
"""Work items of one launch that does all steps: each may need room of its own."""
NEAR_BYTES = 1 << 19
"""What the tiles of a block may take in the second-level cache."""
NEAR_WEIGHTS = 1 << 20
"""Bytes of weights that stay in the second-level cache from block to block."""
STREAMED_TILES = 66
"""Tiles of a block that are worth reading other weights for."""
LEAST_TILES = 24
"""Tiles of a work item: with fewer, the weights are read too often."""
FEW_TILES = 64
"""Tiles below which the weights are divided among the threads."""
APART_BYTES = 24 << 20
"""What all tiles may take when every step is a launch of its own, so that the weights are read once."""

_errors: dict[tuple[str, int, int], float] = {}


@implementation("Conv", "ge.Fused")
def winograd(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Kernels for a float32 convolution with constant weights, or a group around one."""
    site = site_of(node)
    if site is None or site.core.op != "Conv":
        return ()
    core = site.core
    x, w = core.input(0), core.input(1)
    assert x is not None and w is not None
    weights = site.constant(w)
    if (
        weights is None
        or core.output.dtype != float32
        or w.shape[2:] != (3, 3)
        or NodeAttributes(core).attr("group") != 1
    ):
        return ()
    windows = windows_of(core, (3, 3), x.shape[2:])
    stride = windows.strides[0]
    if windows.strides not in ((1, 1), (2, 2)) or windows.dilations != (1, 1):
        return ()
    channels = (size for size in w.shape[:2] if isinstance(size, int))
    collected = epilogue(site, core.input(2))
    if collected is None or min(channels) < LEAST_CHANNELS:
        return ()
    return [
        _planned(site, isa, collected, weights[0], windows.begin, form)
        for form in ((Form(4), Form(2)) if stride == 1 else (Form(2, 2),))
        if layer_error(weights[1], form) <= ALLOWED
    ]


def layer_error(weights: Constant, form: Form) -> float:
    """The error of a layer with these weights; infinite when they are not finite, none when they are absent."""
    if weights.residence == "absent":
        return 0.0
    key = weights.digest(), form.outputs, form.stride
    if key not in _errors:
        with np.errstate(all="ignore"):
            found = error(weights.array(), form)
        _errors[key] = found if found == found else float("inf")
    return _errors[key]


def _planned(
    site: Site, isa: Isa, collected: Collected, weights: int, begin: Sequence[Size], form: Form
) -> Implementation:
    x = site.core.input(0)
    assert x is not None
    plan, outputs, stride, points = Plan(isa), form.outputs, form.stride, form.points**2
    n, channels, height, width = x.shape
    columns, out_height, out_width = site.core.output.shape[1:]
    down, along = dims.ceildiv(out_height, outputs), dims.ceildiv(out_width, outputs)
    tiles = n * down * along
    line, out_line = (dims.ceildiv(c, PANEL) * PANEL for c in (channels, columns))
    each = points * (line + out_line) * 4
    weights_bytes = example(points * channels * columns) * 4
    streamed = weights_bytes > NEAR_WEIGHTS
    apart, grain, block = _cut(tiles, example(each), weights_bytes)
    values: dict[str, Size] = {
        "height": height, "width": width, "out_height": out_height, "out_width": out_width, "channels": channels,
        "columns": columns, "line": line, "out_line": out_line, "pad_y": begin[0], "pad_x": begin[1], "down": down,
        "along": along, "tiles": tiles, "grain": grain, "block": block, "plane": block * line + APART,
        "out_plane": block * out_line + APART,
    }  # fmt: skip
    values["area"] = points * (values["plane"] + values["out_plane"])
    zeros = plan.prepare("zeros", Recipe("contract.zeros", (), {"count": PANEL, "dtype": x.dtype.name}))
    filters = plan.prepare(
        "panels", Recipe("contract.winograd_filters", (weights,), {"outputs": outputs, "stride": stride})
    )
    image = source(site.places[x])
    ends = [
        *(source(i) for i in collected.operands), *(result(i) for i in range(len(collected.epilogue.outputs))),
    ]  # fmt: skip
    speed = figures(isa)
    transform = round(1e12 / speed.flops * 4)
    in_time, out_time = (tiles * points * c * transform for c in (line, out_line))
    even = isinstance(channels, int) and channels % 4 == 0
    hint = panel_hint(dims.ceildiv(columns, PANEL), MANY)

    def launch(steps: Steps, operands: Sequence[Operand], time: Size, extent: Size, grain: Size) -> None:
        whole = steps == "all"
        code = Winograd(
            x="float32" if steps == "output" else x.dtype.name,
            epilogue=Epilogue("float32") if steps == "input" else collected.epilogue,
            outputs=outputs, stride=stride, steps=steps, panels=hint if whole else 0, even=even and whole,
        )  # fmt: skip
        plan.launches.append(
            Launch(
                kernel=code.kernel(), operands=tuple(operands), params=code.params({**values, "grain": grain}),
                extent=extent, picoseconds=time,
            )
        )  # fmt: skip

    if apart:
        v = plan.reserve(points * values["plane"], float32)
        y = plan.reserve(points * values["out_plane"], float32)
        launch("input", (image, zeros, v), in_time, tiles, 1)
        sums = Arithmetic("float32")
        product = Product(a="float32", b="float32", arithmetic=sums.name, epilogue=Epilogue("float32"))
        multiply(
            plan, product, Collected(product.epilogue, ()), v, filters, {"m": tiles, "n": out_line, "k": channels},
            Walk((tiles,), (line,), (out_line,)),
            batch=[(points, values["plane"], channels * out_line, values["out_plane"])], outputs=[y],
        )  # fmt: skip
        launch("output", (y, *ends), out_time, tiles, 1)
    else:
        items = dims.ceildiv(tiles, dims.maximum(grain, 1))
        area = plan.reserve((items if isinstance(items, int) else ITEMS) * values["area"], float32)
        whole = points * out_line * channels
        work = whole * tiles * speed.multiply_picoseconds()
        read = whole * dims.ceildiv(tiles, block) * round(4e12 / (speed.far * STREAMED if streamed else speed.near))
        launch("all", (image, zeros, filters, area, *ends), in_time + overlapped(work, read) + out_time, items, grain)
    last, place = channels_last(4), site.places[x]
    inputs, stored = tuple(storages(site, collected, place, last, last)), (last,) * len(site.node.outputs)
    name = f"winograd{outputs}" if stride == 1 else f"winograd{outputs}.stride{stride}"
    return plan.implementation(
        site, name, False, collected, [place], inputs=inputs, outputs=stored, precision="balanced"
    )


def _cut(tiles: Size, each: int, weights: int) -> tuple[bool, Size, Size]:
    """Whether every step is a launch of its own; else the tiles of a work item, and of a block.

    Apart, all tiles are written and read again beyond the second-level cache. In blocks it is the weights that are
    read for each of them, unless they stay in that cache.

    Args:
        each, weights: bytes of a tile's points, and of all weights.
    """
    streamed = weights > NEAR_WEIGHTS
    room = max(NEAR_BYTES // (each * 6) * 6, STREAMED_TILES if streamed else 12)
    least = STREAMED_TILES if streamed else LEAST_TILES
    grain = dims.maximum(dims.ceildiv(tiles, ITEMS), dims.minimum(tiles, least))
    if not isinstance(tiles, int) or not isinstance(grain, int):
        return False, grain, room
    items = -(-tiles // max(grain, 1))
    if streamed and items > 1:
        grain = -(-tiles // (items + items % 2))  # as many for each of two threads
    block = min(room, grain)
    kept = tiles * each
    reads = weights * -(-tiles // max(block, 1))
    if tiles < FEW_TILES or (streamed and kept <= APART_BYTES and 2 * kept <= reads + reads // 4):
        return True, tiles, tiles
    return False, grain, block
