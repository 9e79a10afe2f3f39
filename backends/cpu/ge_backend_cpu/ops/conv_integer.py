"""ConvInteger: 8-bit integers less their zero points, summed in int32.

By dot products of four bytes where the instruction set has them and the weights are int8; else by pairs of int16.
"""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.arithmetic import PAIRS, QUADS, Arithmetic
from ge_backend_cpu.contract.cost import figures
from ge_backend_cpu.contract.dot import has_dots
from ge_backend_cpu.contract.pad import MOST_PLANES
from ge_backend_cpu.contract.pair_image import PairImage
from ge_backend_cpu.contract.plan import Plan, Taps, Walk, multiply, storages
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.contract.quad_image import QuadImage
from ge_backend_cpu.contract.quad_rows import QuadRows
from ge_backend_cpu.contract.quads import fits
from ge_backend_cpu.contract.sides import classifier
from ge_backend_cpu.contract.site import Collected, Collector, Site, site_of
from ge_backend_cpu.contract.span import LEAST_SPAN, TILE_ROWS, TILES, lie_ready, lines_of, ready_line, span_of
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.contract.windows import NodeAttributes, channels_last, is_padded, strides_last, windows_of
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, Recipe, source
from ge_backend_cpu.ops.matmul_integer import zero_of
from ge_core.backend import Implementation, Options, Storage
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int8, int16, int32
from ge_core.ir.graph import Node, constant_of
from ge_core.ops.windows import Windows

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
    if has_dots(isa) and fits(weights, constant_of(w_zero)):
        few = group == 1 and isinstance(w.shape[1], int) and w.shape[1] <= MOST_PLANES
        return tuple(_quads(site, collected, windows, isa, planes) for planes in ((False, True) if few else (False,)))
    plan, rank, pairs = Plan(isa), windows.rank, Arithmetic(PAIRS)
    batch, spatial, out = x.shape[0], x.shape[2:], core.output.shape[2:]
    channels, columns = w.shape[1], dims.floordiv(w.shape[0], group)
    assert isinstance(channels, int)
    run = -(-channels // 2)
    begin = tuple(dims.maximum(a, 0) for a in windows.begin)
    whole = _bordered(spatial, begin, windows)
    elements = batch * dims.product(whole) * (group * run * 2)
    copy = plan.reserve(elements, int16)
    form = PairImage(x.dtype.name, zero is not None, rank, bool(channels % 2))
    _copy(plan, site, form, begin, whole, copy, elements * round(4e12 / figures(isa).near))
    inputs = (site.places[w],) if w_zero is None else (site.places[w], site.places[w_zero])
    filters = plan.prepare("panels", Recipe("contract.pair_filters", inputs, {"group": group}))
    steps = strides_last(whole, group * run)
    start = _first_window(begin, windows, steps)
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


def _bordered(spatial: Sequence[Size], begin: Sequence[Size], windows: Windows) -> tuple[Size, ...]:
    """Sizes of an image with what is around it."""
    return tuple(
        dims.maximum(size + first + dims.maximum(last, 0), 0)
        for size, first, last in zip(spatial, begin, windows.end, strict=True)
    )


def _first_window(begin: Sequence[Size], windows: Windows, steps: Sequence[Size]) -> Size:
    """Where the first window lies in an image with what is around it: inside of it where padding is negative."""
    start: Size = 0
    for first, pad, step in zip(begin, windows.begin, steps[1:], strict=True):
        start = start + (first - pad) * step
    return start


def _copy(
    plan: Plan,
    site: Site,
    form: PairImage | QuadImage,
    begin: Sequence[Size],
    whole: Sequence[Size],
    target: Operand,
    picoseconds: Size,
) -> None:
    """A launch that copies the image with what is around it."""
    x, w, zero = (site.core.input(k) for k in range(3))
    assert x is not None and w is not None
    values: dict[str, Size] = {"channels": w.shape[1], "groups": int(NodeAttributes(site.core).attr("group"))}
    for i, size in enumerate(x.shape[2:]):
        values |= {f"size{i}": size, f"begin{i}": begin[i], f"whole{i}": whole[i]}
    offset = () if zero is None else (source(site.places[zero]),)
    plan.launches.append(
        Launch(
            kernel=form.kernel(),
            operands=(source(site.places[x]), target, *offset),
            params=form.params(values),
            extent=x.shape[0] * dims.product(whole[:-1]),
            picoseconds=picoseconds,
        )
    )


def _quads(site: Site, collected: Collected, windows: Windows, isa: Isa, planes: bool) -> Implementation:
    """By dot products of bytes, from the image itself where nothing is around it and its channels are whole quads.

    Args:
        planes: whether the image is stored plane by plane.
    """
    core = site.core
    x, w, zero, w_zero = (core.input(k) for k in range(4))
    assert x is not None and w is not None
    plan, rank, group = Plan(isa), windows.rank, int(NodeAttributes(core).attr("group"))
    batch, spatial, out = x.shape[0], x.shape[2:], core.output.shape[2:]
    channels, columns = w.shape[1], dims.floordiv(w.shape[0], group)
    assert isinstance(channels, int)
    quads = -(-channels // 4)
    begin = tuple(dims.maximum(a, 0) for a in windows.begin)
    whole = spatial
    image = source(site.places[x])
    copied = planes or is_padded(windows) or channels % 4 != 0 or x.dtype == int8
    if copied:
        whole = _bordered(spatial, begin, windows)
        elements = batch * dims.product(whole) * (group * quads)
        image = plan.reserve(elements + PANEL, int32)
        form = QuadImage(x.dtype.name, zero is not None, rank, channels if channels % 4 or planes else 0, planes)
        _copy(plan, site, form, begin, whole, image, elements * round(6e12 / figures(isa).near))
    inputs = (site.places[w],) if w_zero is None else (site.places[w], site.places[w_zero])
    filters = plan.prepare("panels", Recipe("contract.quad_filters", inputs, {"group": group}))
    steps = strides_last(whole, group * quads)
    start = _first_window(begin, windows, steps)
    kernel, dilated = windows.kernel, tuple(s * d for s, d in zip(steps[1:], windows.dilations, strict=True))
    run: Size = quads
    if group == 1 and (windows.dilations[-1] == 1 or kernel[-1] == 1):
        run, kernel, dilated = quads * kernel[-1], kernel[:-1], dilated[:-1]
    depth = quads * dims.product(windows.kernel)
    panel = (lines_of(depth) + 1) * PANEL
    moved = tuple(step * stride for step, stride in zip(steps[1:], windows.strides, strict=True))
    walk = Walk((batch, *out), (steps[0], *moved), strides_last(out, group * columns))
    if _is_dense(out, steps) and all(stride == 1 for stride in windows.strides):
        walk = Walk((batch * dims.product(out),), (steps[-1],), (group * columns,))
    taps, pixels = Taps(kernel, dilated) if any(k != 1 for k in kernel) else None, batch * dims.product(out)
    span, ready = span_of(depth), group == 1 and isa.has(TILES) and lie_ready(pixels, depth)
    if ready:
        assert isinstance(pixels, int) and isinstance(depth, int)
        image, a_step = _ready(plan, image, walk, taps, run, start, pixels, depth, copied)
        walk, taps, run, start, span = Walk((pixels,), (a_step,), (columns,)), None, depth, 0, LEAST_SPAN
    product = Product(
        a="int32", b="int32", arithmetic=QUADS, epilogue=collected.epilogue, zero=zero_of(x.dtype, zero),
        span=span, loose=copied, ready=ready,
    )  # fmt: skip
    multiply(
        plan,
        product,
        collected,
        image,
        filters,
        {"m": pixels, "n": columns, "k": run, "start": start, "columns": columns, "panel": panel},
        walk,
        taps,
        batch=[] if group == 1 else [(group, quads, dims.ceildiv(columns, PANEL) * panel, columns)],
        point=source(site.places[zero]) if zero is not None and product.reads_zero else None,
    )
    last, number = channels_last(x.rank), site.places[x]
    reads = [site.places[v] for v in (x, zero) if v is not None]
    image_storage = Storage() if planes else last
    stored, outputs = storages(site, collected, number, image_storage, last), (last,) * len(site.node.outputs)
    name = "conv.quads"
    return plan.implementation(site, name, True, collected, reads, inputs=tuple(stored), outputs=outputs)


def _ready(
    plan: Plan,
    image: Operand,
    walk: Walk,
    taps: Taps | None,
    run: Size,
    start: Size,
    rows: int,
    quads: int,
    loose: bool,
) -> tuple[Operand, int]:
    """The rows of the product one behind the other in whole tiles, and their distance."""
    line, taps = ready_line(quads), taps or Taps((), ())
    target = plan.reserve((-(-rows // TILE_ROWS) * TILE_ROWS + 1) * line, int32)
    form = QuadRows(len(walk.sizes), len(taps.counts), loose)
    values: dict[str, Size] = {"k": run, "start": start, "line": line}
    for i, (size, step) in enumerate(zip(walk.sizes, walk.a, strict=True)):
        values |= {f"size{i}": size, f"a{i}": step}
    for i, (size, step) in enumerate(zip(taps.counts, taps.steps, strict=True)):
        values |= {f"taps{i}": size, f"tap{i}": step}
    plan.launches.append(
        Launch(
            kernel=form.kernel(),
            operands=(image, target),
            params=form.params(values),
            extent=rows,
            picoseconds=rows * quads * round(6e12 / figures(plan.isa).near),
        )
    )
    return target, line


def _is_dense(out: Sequence[Size], steps: Sequence[Size]) -> bool:
    """Whether the pixels that are read lie one behind the other."""
    expected = strides_last(out, steps[-1])
    return all(dims.equal(a, b) is True for a, b in zip(expected, steps, strict=True))
