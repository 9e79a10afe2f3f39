"""Depthwise convolutions: one filter per channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ge_backend_cpu.contract.arithmetic import Arithmetic, arithmetic_of
from ge_backend_cpu.contract.cost import figures
from ge_backend_cpu.contract.depthwise import Depthwise, tile_width
from ge_backend_cpu.contract.plan import Plan, storages
from ge_backend_cpu.contract.sides import classifier
from ge_backend_cpu.contract.site import Collected, Collector, Site, site_of
from ge_backend_cpu.contract.windows import NodeAttributes, channels_last, windows_of
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Recipe, result, source
from ge_backend_cpu.ops.conv import epilogue
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, float32, int32
from ge_core.ir.graph import Node

MOST_TAPS = 16
"""Taps along the innermost axis, which are unrolled."""
SHORT_TERMS = 258
"""Products of two differences of 8-bit numbers that float32 sums exactly."""
NARROW = 28
"""Width up to which a row is finished for some channels before the next ones."""


@implementation("Conv", "ConvInteger", "ge.Fused")
def depthwise(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A kernel for a convolution with as many groups as channels and constant weights, or a group around one."""
    site = site_of(node)
    if site is None or site.core.op not in ("Conv", "ConvInteger"):
        return ()
    core = site.core
    x, w = core.input(0), core.input(1)
    assert x is not None and w is not None
    weights = site.constant(w)
    group: int = NodeAttributes(core).attr("group")
    if weights is None or group == 1 or w.shape[1] != 1 or w.shape[0] != group:
        return ()
    windows = windows_of(core, w.shape[2:], x.shape[2:])
    read = _bytes(site) if core.op == "ConvInteger" else _floats(site, weights)
    kernel = tuple(k for k in windows.kernel if isinstance(k, int))
    if read is None or len(kernel) < windows.rank or kernel[-1] > MOST_TAPS:
        return ()
    plan, collected = Plan(isa), read.collected
    spatial, out = x.shape[2:], core.output.shape[2:]
    tile = tile_width(isa, out[-1], kernel[-1])
    row = tuple(size for size in (spatial[-1], windows.begin[-1]) if isinstance(size, int))
    form = Depthwise(
        x=x.dtype.name,
        w=read.weights.name,
        arithmetic=read.sums.name,
        epilogue=collected.epilogue,
        kernel=kernel,
        strides=windows.strides,
        dilations=windows.dilations,
        tile=tile,
        across=isinstance(out[-1], int) and out[-1] <= NARROW,
        exact=isinstance(out[-1], int) and out[-1] % tile == 0,
        line=row if out[-1] == tile and len(row) == 2 else (),
        zero=read.zeros.recipe == "contract.points",
    )
    values: dict[str, Size] = {"channels": group}
    for i in range(windows.rank):
        values |= {f"size{i}": spatial[i], f"out{i}": out[i], f"pad{i}": windows.begin[i]}
    elements = dims.product(core.output.shape)
    taps = math.prod(kernel)
    speed = figures(isa)
    each = taps * speed.multiply_picoseconds(read.sums.element.bits) * 2
    zeros, filters = plan.prepare("zeros", read.zeros), plan.prepare("filters", read.filters)
    plan.launches.append(
        Launch(
            kernel=form.code(),
            operands=(
                source(site.places[x]),
                filters,
                zeros,
                *(source(i) for i in collected.operands),
                *(result(i) for i in range(len(collected.epilogue.outputs))),
            ),
            params=form.params(values),
            extent=x.shape[0] * dims.product(out[:-1]),
            picoseconds=elements * max(each, round(8e12 / speed.near)),
        )
    )
    last, number = channels_last(x.rank), site.places[x]
    inputs, outputs = tuple(storages(site, collected, number, last, last)), (last,) * len(node.outputs)
    exact, name = core.op == "ConvInteger", "depthwise.bytes" if core.op == "ConvInteger" else "depthwise"
    return [plan.implementation(site, name, exact, collected, [number], inputs=inputs, outputs=outputs)]


@dataclass(frozen=True)
class _Read:
    """What is multiplied, and how.

    Attributes:
        sums: their arithmetic; weights: element type of the prepared ones.
        filters, zeros: recipes of the weights and of what taps beyond the image read.
    """

    collected: Collected
    sums: Arithmetic
    weights: DType
    filters: Recipe
    zeros: Recipe


def _floats(site: Site, weights: tuple[int, Constant]) -> _Read | None:
    """The operands of a Conv."""
    core = site.core
    sums, collected = arithmetic_of(core.output.dtype), epilogue(site, core.input(2))
    if sums is None or collected is None:
        return None
    filters = Recipe("contract.depthwise_filters", (weights[0],))
    zeros = Recipe("contract.zeros", (), {"count": 16, "dtype": core.inputs[0].dtype.name})  # type: ignore[union-attr]
    return _Read(collected, sums, weights[1].type.dtype, filters, zeros)


def _bytes(site: Site) -> _Read | None:
    """The operands of a ConvInteger of few taps, whose sums float32 holds; zero points are constants."""
    core = site.core
    x, w, zero, w_zero = (core.input(k) for k in range(4))
    assert x is not None and w is not None
    terms = dims.product(w.shape[2:])
    if not isinstance(terms, int) or terms > SHORT_TERMS or (zero is not None and dims.product(zero.shape) != 1):
        return None
    if any(v is not None and site.constant(v) is None for v in (zero, w_zero)):
        return None
    readers = {use.user for use in core.output.uses}
    casts = all(isinstance(n, Node) and n.op == "Cast" and n.output.dtype == float32 for n in readers)
    inside = site.node is not core and readers <= set(site.after)
    collected = Collector(site, float32 if casts and inside else int32, classifier(core)).collect()
    if collected is None:
        return None
    inputs = tuple(site.places[v] for v in (w, w_zero) if v is not None)
    zeros = Recipe("contract.zeros", (), {"count": 16, "dtype": x.dtype.name})
    if zero is not None:
        zeros = Recipe("contract.points", (site.places[zero],), {"count": 16})
    filters = Recipe("contract.depthwise_centred", inputs)
    return _Read(collected, Arithmetic("float32"), float32, filters, zeros)
