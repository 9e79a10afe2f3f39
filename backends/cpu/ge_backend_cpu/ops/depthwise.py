"""Depthwise convolutions: one filter per channel."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ge_backend_cpu.contract.arithmetic import arithmetic_of
from ge_backend_cpu.contract.cost import figures
from ge_backend_cpu.contract.depthwise import Depthwise, tile_width
from ge_backend_cpu.contract.plan import Plan, storages
from ge_backend_cpu.contract.site import site_of
from ge_backend_cpu.contract.windows import NodeAttributes, channels_last, windows_of
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Recipe, result, source
from ge_backend_cpu.ops.conv import epilogue
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node

MOST_TAPS = 16
"""Taps along the innermost axis, which are unrolled."""
NARROW = 28
"""Width up to which a row is finished for some channels before the next ones."""


@implementation("Conv", "ge.Fused")
def depthwise(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A kernel for a convolution with as many groups as channels and constant weights, or a group around one."""
    site = site_of(node)
    if site is None or site.core.op != "Conv":
        return ()
    core = site.core
    x, w = core.input(0), core.input(1)
    assert x is not None and w is not None
    weights, sums = site.constant(w), arithmetic_of(core.output.dtype)
    group: int = NodeAttributes(core).attr("group")
    if weights is None or sums is None or group == 1 or w.shape[1] != 1 or w.shape[0] != group:
        return ()
    windows = windows_of(core, w.shape[2:], x.shape[2:])
    collected = epilogue(site, core.input(2))
    kernel = tuple(k for k in windows.kernel if isinstance(k, int))
    if collected is None or len(kernel) < windows.rank or kernel[-1] > MOST_TAPS:
        return ()
    plan = Plan(isa)
    spatial, out = x.shape[2:], core.output.shape[2:]
    form = Depthwise(
        x=x.dtype.name,
        w=weights[1].type.dtype.name,
        arithmetic=sums.name,
        epilogue=collected.epilogue,
        kernel=kernel,
        strides=windows.strides,
        dilations=windows.dilations,
        tile=tile_width(isa, out[-1]),
        across=isinstance(out[-1], int) and out[-1] <= NARROW,
    )
    values: dict[str, Size] = {"channels": group}
    for i in range(windows.rank):
        values |= {f"size{i}": spatial[i], f"out{i}": out[i], f"pad{i}": windows.begin[i]}
    elements = dims.product(core.output.shape)
    taps = math.prod(kernel)
    speed = figures(isa)
    picoseconds = elements * max(taps * speed.multiply_picoseconds(sums.element.bits) * 2, round(8e12 / speed.near))
    zeros = plan.prepare("zeros", Recipe("contract.zeros", (), {"count": 16, "dtype": x.dtype.name}))
    filters = plan.prepare("filters", Recipe("contract.depthwise_filters", (weights[0],)))
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
            picoseconds=picoseconds,
        )
    )
    last, number = channels_last(x.rank), site.places[x]
    inputs, outputs = tuple(storages(site, collected, number, last, last)), (last,) * len(node.outputs)
    return [plan.implementation(site, "depthwise", False, collected, [number], inputs=inputs, outputs=outputs)]
