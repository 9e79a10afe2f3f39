"""Transposed convolutions as one ordinary convolution per phase of the output.

With stride s, dilation d and begin pad p, output o = s * j + phase gets from tap k the input (o + p - k * d) / s where
that is whole. For one phase those are every P-th tap, P = s / gcd(s, d), from k0 on: the input at
j + (phase + p - k0 * d) / s - t * P * d / s for t = 0, 1, ...
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ge_backend_cpu.contract.arithmetic import arithmetic_of
from ge_backend_cpu.contract.matrix import Matrix
from ge_backend_cpu.contract.plan import Plan, Taps, Walk, multiply, storages
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.contract.site import site_of
from ge_backend_cpu.contract.windows import NodeAttributes, channels_last, strides_last
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Recipe, source
from ge_backend_cpu.ops.conv import epilogue
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node
from ge_core.ops.conv import transposed_windows

MOST_PHASES = 64
"""Products of one node."""


@dataclass(frozen=True)
class Phase:
    """One phase along one axis.

    Attributes:
        first: its first output.
        taps: numbers of the kernel's taps that reach it.
        corner: the input that the first of them reads for j = 0.
        step: distance of the inputs that two neighbouring ones read, at most 0.
    """

    first: int
    taps: tuple[int, ...]
    corner: int
    step: int


def phases(kernel: int, stride: int, dilation: int, begin: int) -> list[Phase]:
    """The phases along one axis."""
    period = stride // math.gcd(stride, dilation)
    found = []
    for first in range(stride):
        taps = tuple(k for k in range(kernel) if (first + begin - k * dilation) % stride == 0)
        corner = (first + begin - taps[0] * dilation) // stride if taps else 0
        found.append(Phase(first, taps, corner, -(period * dilation // stride)))
    return found


@implementation("ConvTranspose", "ge.Fused")
def conv_transpose(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Product kernels for a transposed convolution with constant weights, or a group around one."""
    site = site_of(node)
    if site is None or site.core.op != "ConvTranspose":
        return ()
    core = site.core
    x, w = core.input(0), core.input(1)
    assert x is not None and w is not None
    weights, sums = site.constant(w), arithmetic_of(core.output.dtype)
    attributes = NodeAttributes(core)
    windows, _ = transposed_windows(attributes, attributes.fail, w.shape[2:], x.shape[2:])
    collected = epilogue(site, core.input(2))
    kernel, begin = _known(windows.kernel), _known(windows.begin)
    if weights is None or sums is None or collected is None or kernel is None or begin is None:
        return ()
    if any(side.kind == "row" for side in collected.epilogue.sides):
        return ()
    along = [phases(*n) for n in zip(kernel, windows.strides, windows.dilations, begin, strict=True)]
    if math.prod(map(len, along)) > MOST_PHASES:
        return ()
    plan = Plan(isa)
    group = int(attributes.attr("group"))
    rows, columns = _known(w.shape[:2]) or (0, 0)
    channels = rows // group
    spatial, out = x.shape[2:], core.output.shape[2:]
    pixels = x.shape[0] * dims.product(spatial)
    whole = channels * group
    image = plan.rows(Matrix(source(site.places[x]), x.dtype, pixels, whole, whole, 1), (), sums).at
    zeros = plan.prepare("zeros", Recipe("contract.zeros", (), {"count": channels, "dtype": sums.element.name}))
    a, c = strides_last(spatial, whole), strides_last(out, columns * group)
    product = Product(
        a=sums.element.name, b=weights[1].type.dtype.name, arithmetic=sums.name, epilogue=collected.epilogue
    )  # fmt: skip
    for number, phase in enumerate(itertools.product(*along)):
        taps = [list(p.taps) for p in phase]
        filters = plan.prepare(
            f"panels{number}", Recipe("contract.transposed_filters", (weights[0],), {"group": group, "taps": taps})
        )
        sizes = [
            dims.maximum(dims.ceildiv(size - p.first, stride), 0)
            for size, p, stride in zip(out, phase, windows.strides, strict=True)
        ]
        start: Size = 0
        c_start: Size = 0
        bounds: dict[str, Size] = {}
        for i, p in enumerate(phase):
            start, c_start = start + p.corner * a[i + 1], c_start + p.first * c[i + 1]
            bounds |= {f"step{i}": 1, f"pad{i}": -p.corner, f"dilation{i}": p.step, f"input{i}": spatial[i]}
        b_step = -(-columns // 16) * channels * math.prod(map(len, taps)) * 16
        multiply(
            plan, product, collected, image, filters,
            {
                "m": x.shape[0] * dims.product(sizes), "n": columns, "k": channels, "start": start,
                "c_start": c_start, "columns": columns,
            },
            Walk((x.shape[0], *sizes), a, (c[0], *(step * s for step, s in zip(c[1:], windows.strides, strict=True)))),
            Taps(tuple(map(len, taps)), tuple(p.step * step for p, step in zip(phase, a[1:], strict=True)), bounds),
            zeros,
            [] if group == 1 else [(group, channels, b_step, columns)],
        )  # fmt: skip
    last, place = channels_last(x.rank), site.places[x]
    inputs, outputs = tuple(storages(site, collected, place, last, last)), (last,) * len(node.outputs)
    return [plan.implementation(site, "conv_transpose", False, collected, [place], inputs=inputs, outputs=outputs)]


def _known(sizes: Sequence[Size]) -> tuple[int, ...] | None:
    """Sizes that are all known; None when one is not."""
    found = tuple(size for size in sizes if isinstance(size, int))
    return found if len(found) == len(sizes) else None
