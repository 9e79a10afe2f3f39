"""ConvInteger: 8-bit integers less their zero points, multiplied in pairs of int16 and summed in int32."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.arithmetic import PAIRS, Arithmetic
from ge_backend_cpu.contract.cost import figures
from ge_backend_cpu.contract.pair_image import PairImage
from ge_backend_cpu.contract.plan import Plan, Taps, Walk, multiply, storages
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.contract.sides import classifier
from ge_backend_cpu.contract.site import Collector, site_of
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.contract.windows import NodeAttributes, channels_last, strides_last, windows_of
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Recipe, source
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int16, int32
from ge_core.ir.graph import Node, constant_of

LEAST_COLUMNS = 4
"""Output channels of a group that are worth a panel of 16."""


def suits(group: int, outputs: Size) -> bool:
    """Whether the kernel pays for so many groups and output channels: not where every channel is by itself."""
    return group == 1 or (isinstance(outputs, int) and outputs // group >= LEAST_COLUMNS)


@implementation("ConvInteger", "ge.Fused")
def conv_integer(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A product kernel on a padded copy, for a node with constant weights or a group around one."""
    site = site_of(node)
    if site is None or site.core.op != "ConvInteger":
        return ()
    core = site.core
    x, w, zero, w_zero = (core.input(k) for k in range(4))
    assert x is not None and w is not None
    weights, group = constant_of(w), int(NodeAttributes(core).attr("group"))
    collected = Collector(site, int32, classifier(core)).collect()
    if weights is None or collected is None or not suits(group, w.shape[0]):
        return ()
    if (zero is not None and dims.product(zero.shape) != 1) or (w_zero is not None and constant_of(w_zero) is None):
        return ()
    windows = windows_of(core, w.shape[2:], x.shape[2:])
    plan, rank, pairs = Plan(isa), windows.rank, Arithmetic(PAIRS)
    batch, spatial, out = x.shape[0], x.shape[2:], core.output.shape[2:]
    channels, columns = w.shape[1], dims.floordiv(w.shape[0], group)
    assert isinstance(channels, int)
    run = -(-channels // 2)
    begin = tuple(dims.maximum(a, 0) for a in windows.begin)
    whole = tuple(
        dims.maximum(size + first + dims.maximum(b, 0), 0)
        for size, first, b in zip(spatial, begin, windows.end, strict=True)
    )
    elements = batch * dims.product(whole) * (group * run * 2)
    copy = plan.reserve(elements, int16)
    form = PairImage(x.dtype.name, zero is not None, rank, bool(channels % 2))
    values: dict[str, Size] = {"channels": channels, "groups": group}
    for i in range(rank):
        values |= {f"size{i}": spatial[i], f"begin{i}": begin[i], f"whole{i}": whole[i]}
    offset = () if zero is None else (source(site.places[zero]),)
    plan.launches.append(
        Launch(
            kernel=form.kernel(),
            operands=(source(site.places[x]), copy, *offset),
            params=form.params(values),
            extent=batch * dims.product(whole[:-1]),
            picoseconds=elements * round(4e12 / figures(isa).near),
        )
    )
    inputs = (site.places[w],) if w_zero is None else (site.places[w], site.places[w_zero])
    filters = plan.prepare("panels", Recipe("contract.pair_filters", inputs, {"group": group}))
    steps = strides_last(whole, group * run)
    start: Size = 0
    for first, pad, step in zip(begin, windows.begin, steps[1:], strict=True):
        start = start + (first - pad) * step
    taps = tuple(step * dilation for step, dilation in zip(steps[1:], windows.dilations, strict=True))
    moved = tuple(step * stride for step, stride in zip(steps[1:], windows.strides, strict=True))
    panels = dims.ceildiv(columns, PANEL) * run * dims.product(windows.kernel) * PANEL
    multiply(
        plan,
        Product(a="int32", b="int32", arithmetic=pairs.name, epilogue=collected.epilogue),
        collected,
        copy,
        filters,
        {"m": batch * dims.product(out), "n": columns, "k": run, "start": start, "columns": columns},
        Walk((batch, *out), (steps[0], *moved), strides_last(out, group * columns)),
        Taps(windows.kernel, taps),
        batch=[] if group == 1 else [(group, run, panels, columns)],
    )
    last, number = channels_last(x.rank), site.places[x]
    reads = [site.places[v] for v in (x, zero) if v is not None]
    stored, outputs = storages(site, collected, number, last, last), (last,) * len(node.outputs)
    name = "conv.pairs"
    return (plan.implementation(site, name, True, collected, reads, inputs=tuple(stored), outputs=outputs),)
