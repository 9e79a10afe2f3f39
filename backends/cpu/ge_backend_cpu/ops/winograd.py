"""3 x 3 convolutions of stride 1 or 2 by Winograd's minimal filtering, where their error allows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

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
from ge_backend_cpu.contract.winograd_forms import Form, error, sampled
from ge_backend_cpu.contract.winograd_late import PANELS, Late, filter_room, fits, out_plane
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

LATE_TILES = 32
"""Tiles above which weights that are transformed in every call are not even looked at."""
LATE_SHARE = 0.74
"""Share of the multiply-adds that are reached between transforms of the weights and sums in memory."""
LATE_OPERATIONS = 5
"""What a point of a line of the weights costs beside its products where the sums stay in registers, in operations."""

_errors: WeakKeyDictionary[Constant, dict[tuple[int, int, bool], float]] = WeakKeyDictionary()
_samples: WeakKeyDictionary[Constant, np.ndarray] = WeakKeyDictionary()


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
    found = []
    for form in (Form(4), Form(2)) if stride == 1 else (Form(2, 2),):
        layer = _Layer(site, isa, collected, weights[0], windows.begin, form)
        if layer_error(weights[1], form) <= ALLOWED:
            found.append(layer.early())
        if layer.has_few_tiles and layer_error(weights[1], form, late=True) <= ALLOWED:
            found.append(layer.late())
    return found


def layer_error(weights: Constant, form: Form, late: bool = False) -> float:
    """The error of a layer with these weights; infinite when they are not finite, none when they are absent.

    Args:
        late: see `error`.
    """
    if weights.residence == "absent":
        return 0.0
    key = form.outputs, form.stride, late
    known = _errors.setdefault(weights, {})
    if key not in known:
        with np.errstate(all="ignore"):
            found = error(_sample(weights), form, late)
        known[key] = found if found == found else float("inf")
    return known[key]


def _sample(weights: Constant) -> np.ndarray:
    """What the errors of a layer are estimated by; derived weights would be computed anew for each of them."""
    found = _samples.get(weights)
    if found is None:
        found = _samples[weights] = sampled(weights.array())
    return found


class _Layer:
    """One convolution in one form.

    Attributes:
        weights: number of the operand.
        sizes: the integers of its kernels, as far as the ways of computing it have them in common.
    """

    def __init__(
        self, site: Site, isa: Isa, collected: Collected, weights: int, begin: Sequence[Size], form: Form
    ) -> None:
        x = site.core.input(0)
        assert x is not None
        self.site, self.isa, self.collected, self.weights, self.form, self.x = site, isa, collected, weights, form, x
        n, self.channels, height, width = x.shape
        self.columns, out_height, out_width = site.core.output.shape[1:]
        down, along = dims.ceildiv(out_height, form.outputs), dims.ceildiv(out_width, form.outputs)
        self.points, self.tiles = form.points**2, n * down * along
        self.line, self.out_line = (dims.ceildiv(c, PANEL) * PANEL for c in (self.channels, self.columns))
        self.even = isinstance(self.channels, int) and self.channels % 4 == 0
        self.sizes: dict[str, Size] = {
            "height": height, "width": width, "out_height": out_height, "out_width": out_width,
            "channels": self.channels, "columns": self.columns, "pad_y": begin[0], "pad_x": begin[1], "down": down,
            "along": along, "tiles": self.tiles,
        }  # fmt: skip
        self.ends = [
            *(source(i) for i in collected.operands), *(result(i) for i in range(len(collected.epilogue.outputs))),
        ]  # fmt: skip
        self.speed = figures(isa)
        transform = round(1e12 / self.speed.flops * 4)
        self.in_time, self.out_time = (self.tiles * self.points * c * transform for c in (self.line, self.out_line))

    def early(self) -> Implementation:
        """From weights that were transformed at build."""
        plan, points, line, out_line, tiles = Plan(self.isa), self.points, self.line, self.out_line, self.tiles
        speed = self.speed
        weights_bytes = example(points * self.channels * self.columns) * 4
        streamed = weights_bytes > NEAR_WEIGHTS
        apart, grain, block = _cut(tiles, example(points * (line + out_line) * 4), weights_bytes)
        values: dict[str, Size] = {
            **self.sizes, "line": line, "out_line": out_line, "grain": grain, "block": block,
            "plane": block * line + APART, "out_plane": block * out_line + APART,
        }  # fmt: skip
        values["area"] = points * (values["plane"] + values["out_plane"])
        options = {"outputs": self.form.outputs, "stride": self.form.stride}
        filters = plan.prepare("panels", Recipe("contract.winograd_filters", (self.weights,), options))
        if apart:
            v = plan.reserve(points * values["plane"], float32)
            y = plan.reserve(points * values["out_plane"], float32)
            self._input(plan, v, values)
            sums = Arithmetic("float32")
            product = Product(a="float32", b="float32", arithmetic=sums.name, epilogue=Epilogue("float32"))
            sizes: dict[str, Size] = {"m": tiles, "n": out_line, "k": self.channels}
            multiply(
                plan, product, Collected(product.epilogue, ()), v, filters, sizes, Walk((tiles,), (line,), (out_line,)),
                batch=[(points, values["plane"], self.channels * out_line, values["out_plane"])], outputs=[y],
            )  # fmt: skip
            code = self._code("output", x="float32")
            self._launch(plan, code, (y, *self.ends), {**values, "grain": 1}, self.out_time, tiles)
        else:
            items = dims.ceildiv(tiles, dims.maximum(grain, 1))
            area = plan.reserve((items if isinstance(items, int) else ITEMS) * values["area"], float32)
            whole = points * out_line * self.channels
            work = whole * tiles * speed.multiply_picoseconds()
            read = whole * dims.ceildiv(tiles, block) * round(4e12 / (speed.far * STREAMED if streamed else speed.near))
            hint = panel_hint(dims.ceildiv(self.columns, PANEL), MANY)
            code = self._code("all", panels=hint, even=self.even)
            operands = (source(self.site.places[self.x]), self._zeros(plan), filters, area, *self.ends)
            time = self.in_time + overlapped(work, read) + self.out_time
            self._launch(plan, code, operands, values, time, items)
        return self._implementation(plan, "")

    @property
    def has_few_tiles(self) -> bool:
        """Whether it may pay to transform the weights in every call."""
        return isinstance(self.tiles, int) and 0 < self.tiles <= LATE_TILES

    def late(self) -> Implementation:
        """From weights as they are; see `contract.winograd_late`."""
        plan, points, tiles, panels = Plan(self.isa), self.points, self.tiles, dims.ceildiv(self.columns, PANEL)
        assert isinstance(tiles, int)
        values: dict[str, Size] = {
            **self.sizes, "line": PANEL, "plane": tiles * PANEL, "step": points * tiles * PANEL, "grain": 1,
            "block": tiles, "out_line": PANELS * PANEL, "out_plane": out_plane(tiles),
            "area": filter_room(self.form.points) + points * out_plane(tiles),
        }  # fmt: skip
        v = plan.reserve(points * tiles * self.line, float32)
        self._input(plan, v, values, blocked=True)
        items = dims.ceildiv(panels, PANELS)
        area = plan.reserve(items * values["area"], float32)
        lines = panels * self.channels
        weights = plan.prepare("taps", Recipe("contract.winograd_taps", (self.weights,)))
        each = self.speed.multiply_picoseconds() * PANEL
        near = fits(self.isa, self.form, tiles)
        work = lines * points * round((tiles + LATE_OPERATIONS if near else tiles / LATE_SHARE) * each)
        read = lines * round(9 * PANEL * 4e12 / (self.speed.far * STREAMED))
        code = self._code("late", x="float32", even=self.even, blocked=True)
        late = Late(**{**vars(code), "tiles": tiles})
        self._launch(plan, late, (v, weights, area, *self.ends), values, overlapped(work, read) + self.out_time, items)
        return self._implementation(plan, ".late")

    def _zeros(self, plan: Plan) -> Operand:
        return plan.prepare("zeros", Recipe("contract.zeros", (), {"count": PANEL, "dtype": self.x.dtype.name}))

    def _input(self, plan: Plan, v: Operand, values: Mapping[str, Size], blocked: bool = False) -> None:
        code = self._code("input", Epilogue("float32"), blocked=blocked)
        operands = (source(self.site.places[self.x]), self._zeros(plan), v)
        self._launch(plan, code, operands, {**values, "grain": 1}, self.in_time, self.tiles)

    def _code(self, steps: Steps, epilogue: Epilogue | None = None, x: str = "", **more: Any) -> Winograd:
        return Winograd(
            x=x or self.x.dtype.name, epilogue=epilogue or self.collected.epilogue, outputs=self.form.outputs,
            stride=self.form.stride, steps=steps, **more,
        )  # fmt: skip

    def _launch(
        self, plan: Plan, code: Winograd, operands: Sequence[Operand], values: Mapping[str, Size], time: Size,
        extent: Size,
    ) -> None:  # fmt: skip
        plan.launches.append(
            Launch(
                kernel=code.kernel(), operands=tuple(operands), params=code.params(values), extent=extent,
                picoseconds=time,
            )
        )  # fmt: skip

    def _implementation(self, plan: Plan, way: str) -> Implementation:
        site, last, place = self.site, channels_last(4), self.site.places[self.x]
        inputs, stored = tuple(storages(site, self.collected, place, last, last)), (last,) * len(site.node.outputs)
        name = f"winograd{self.form.outputs}" if self.form.stride == 1 else f"winograd{self.form.outputs}.stride2"
        return plan.implementation(
            site, name + way, False, self.collected, [place], inputs=inputs, outputs=stored, precision="balanced"
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
