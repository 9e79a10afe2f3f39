"""Convolutions as products on images with their channels last, without a copy of their windows.

A row of the product is an output pixel, a tap of the kernel one run of input channels; taps beyond the image read
zeros. Few input channels are copied with their padding first, so that a row of the kernel is one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_backend_cpu.contract.arithmetic import Arithmetic, arithmetic_of
from ge_backend_cpu.contract.cost import figures
from ge_backend_cpu.contract.matrix import Matrix
from ge_backend_cpu.contract.pad import MOST_PLANES, Pad
from ge_backend_cpu.contract.plan import Plan, Taps, Walk, multiply, storages
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.contract.sides import classifier
from ge_backend_cpu.contract.site import Collected, Collector, Site, site_of
from ge_backend_cpu.contract.windows import NodeAttributes, channels_last, is_padded, strides_last, windows_of
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, Recipe, source
from ge_core.backend import Implementation, Options, Storage
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.windows import Windows

FEW_CHANNELS = 16
"""Input channels below which a tap is too short a run."""


@implementation("Conv", "ge.Fused")
def conv(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Product kernels for a node that is a convolution, or a group around one."""
    site = site_of(node)
    if site is None or site.core.op != "Conv":
        return ()
    image = _Image.of(site)
    if image is None:
        return ()
    found = [image.implicit(isa)]
    if image.has_short_taps:
        found += [image.copied(isa, planes) for planes in image.planes]
    return [i for i in found if i is not None]


@dataclass(frozen=True)
class _Image:
    """A convolution of channels-last images.

    Attributes:
        weights: number of the operand, element type.
        spatial, out: sizes of the image, and of the result.
        channels: input channels of one group; columns: output channels of one group.
    """

    site: Site
    collected: Collected
    sums: Arithmetic
    weights: tuple[int, DType] | None
    windows: Windows
    group: int
    batch: Size
    spatial: tuple[Size, ...]
    out: tuple[Size, ...]
    channels: int
    columns: Size

    @staticmethod
    def of(site: Site) -> _Image | None:
        core = site.core
        x, w, bias = (core.input(i) for i in range(3))
        assert x is not None and w is not None
        sums = arithmetic_of(core.output.dtype)
        group: int = NodeAttributes(core).attr("group")
        collected = epilogue(site, bias)
        if sums is None or collected is None or not isinstance(w.shape[1], int):
            return None
        found = site.constant(w)
        weights = None if found is None else (found[0], found[1].type.dtype)
        windows = windows_of(core, w.shape[2:], x.shape[2:])
        return _Image(
            site, collected, sums, weights, windows, group, x.shape[0], x.shape[2:], core.output.shape[2:],
            w.shape[1], dims.floordiv(w.shape[0], group),
        )  # fmt: skip

    @property
    def x(self) -> Value:
        value = self.site.core.input(0)
        assert value is not None
        return value

    @property
    def has_short_taps(self) -> bool:
        """Whether a row of the kernel makes a better run than a tap."""
        kernel = self.windows.kernel[-1]
        return self.group == 1 and self.channels < FEW_CHANNELS and self.windows.dilations[-1] == 1 and kernel != 1

    @property
    def planes(self) -> tuple[int, ...]:
        """Ways in which the image may be stored for a copy with its padding, see `Pad`."""
        return (self.channels, 0) if self.channels <= MOST_PLANES else (0,)

    def implicit(self, isa: Isa) -> Implementation | None:
        """One run per tap, read from the image itself."""
        plan = Plan(isa)
        kernel, rank = self.windows.kernel, self.windows.rank
        filters = self._filters(plan)
        whole = self.group * self.channels
        image = self._widened(plan, source(self.site.places[self.x]), whole)
        steps = strides_last(self.spatial, whole)
        padded = is_padded(self.windows)
        start: Size = 0
        for pad, step in zip(self.windows.begin, steps[1:], strict=True):
            start = start - pad * step
        bounds: dict[str, Size] = {}
        taps = []
        for i in range(rank):
            taps.append(steps[i + 1] * self.windows.dilations[i])
            bounds |= {
                f"step{i}": self.windows.strides[i], f"pad{i}": self.windows.begin[i],
                f"dilation{i}": self.windows.dilations[i], f"input{i}": self.spatial[i],
            }  # fmt: skip
        zeros = None
        if padded:
            options = {"count": self.channels, "dtype": self.sums.element.name}
            zeros = plan.prepare("zeros", Recipe("contract.zeros", (), options))
        if not padded and all(k == 1 for k in kernel):
            self._multiply(plan, image, filters, self.channels, start, steps, None, None)
        else:
            reads = Taps(kernel, tuple(taps), bounds if padded else None)
            self._multiply(plan, image, filters, self.channels, start, steps, reads, zeros)
        return self._implementation(plan, "conv", channels_last(self.x.rank))

    def copied(self, isa: Isa, planes: int) -> Implementation | None:
        """One run per row of the kernel, read from a copy with the padding around the image."""
        plan = Plan(isa)
        kernel, rank = self.windows.kernel, self.windows.rank
        pad = Pad(self.x.dtype.name, self.sums.element.name, planes, rank)
        whole = tuple(
            dims.maximum(size + dims.maximum(a, 0) + dims.maximum(b, 0), 0)
            for size, a, b in zip(self.spatial, self.windows.begin, self.windows.end, strict=True)
        )
        begin = tuple(dims.maximum(a, 0) for a in self.windows.begin)
        elements = self.batch * dims.product(whole) * self.channels
        copy = plan.reserve(elements, self.sums.element)
        values: dict[str, Size] = {"channels": self.channels}
        for i in range(rank):
            values |= {f"size{i}": self.spatial[i], f"begin{i}": begin[i], f"whole{i}": whole[i]}
        plan.launches.append(
            Launch(
                kernel=pad.kernel(),
                operands=(source(self.site.places[self.x]), copy),
                params=pad.params(values),
                extent=self.batch * dims.product(whole[:-1]),
                picoseconds=elements * round(8e12 / figures(isa).near),
            )
        )
        filters = self._filters(plan)
        steps = strides_last(whole, self.channels)
        start: Size = 0
        for first, pad_size, step in zip(begin, self.windows.begin, steps[1:], strict=True):
            start = start + (first - pad_size) * step
        taps = None
        if rank > 1:
            moved = tuple(steps[i + 1] * self.windows.dilations[i] for i in range(rank - 1))
            taps = Taps(kernel[:-1], moved)
        run = kernel[-1] * self.channels
        self._multiply(plan, copy, filters, run, start, steps, taps, None)
        stored = Storage() if planes else channels_last(self.x.rank)
        return self._implementation(plan, "conv.planes" if planes else "conv.copied", stored)

    def _widened(self, plan: Plan, image: Operand, channels: Size) -> Operand:
        """The image in the element type of the sums."""
        pixels = self.batch * dims.product(self.spatial)
        matrix = Matrix(image, self.x.dtype, pixels, channels, channels, 1)
        return plan.rows(matrix, (), self.sums).at

    def _filters(self, plan: Plan) -> Operand:
        """The weights in panels [group][panel][tap][channel][16]."""
        if self.weights is not None:
            return plan.prepare("panels", Recipe("contract.filters", (self.weights[0],), {"group": self.group}))
        w = self.site.core.input(1)
        assert w is not None
        run = self.channels * dims.product(self.windows.kernel)
        matrix = Matrix(source(self.site.places[w]), w.dtype, run, self.columns, 1, run, (self.columns * run,))
        return plan.panels(matrix, (self.group,)).at

    def _multiply(
        self,
        plan: Plan,
        image: Operand,
        filters: Operand,
        run: Size,
        start: Size,
        steps: Sequence[Size],
        taps: Taps | None,
        zeros: Operand | None,
    ) -> None:
        """The product. Args: steps: strides of batch and spatial axes in A."""
        whole_columns = self.group * self.columns
        pixels = self.batch * dims.product(self.out)
        b_step = dims.ceildiv(self.columns, 16) * self.channels * dims.product(self.windows.kernel) * 16
        strides = self.windows.strides
        c = strides_last(self.out, whole_columns)
        moved = tuple(step * stride for step, stride in zip(steps[1:], strides, strict=True))
        walk = Walk((self.batch, *self.out), (steps[0], *moved), c)
        if taps is None and all(s == 1 for s in strides) and self._is_dense(steps):
            walk = Walk((pixels,), (steps[-1],), (whole_columns,))
        batch = [] if self.group == 1 else [(self.group, self.channels, b_step, self.columns)]
        stored = self.x.dtype if self.weights is None else self.weights[1]
        product = Product(
            a=self.sums.element.name, b=stored.name, arithmetic=self.sums.name, epilogue=self.collected.epilogue
        )  # fmt: skip
        values: dict[str, Size] = {
            "m": pixels, "n": self.columns, "k": run, "start": start, "columns": self.columns,
        }  # fmt: skip
        multiply(plan, product, self.collected, image, filters, values, walk, taps, zeros, batch)

    def _is_dense(self, steps: Sequence[Size]) -> bool:
        """Whether the pixels that are read lie one behind the other."""
        expected = strides_last(self.out, steps[-1])
        return all(dims.equal(a, b) is True for a, b in zip(expected, steps, strict=True))

    def _implementation(self, plan: Plan, name: str, stored: Storage) -> Implementation:
        site, last = self.site, channels_last(self.x.rank)
        reads = [site.places[self.x]]
        inputs = storages(site, self.collected, reads[0], stored, last)
        if self.weights is None:
            w = site.core.input(1)
            assert w is not None
            reads.append(site.places[w])
            inputs[reads[1]] = channels_last(w.rank)
        outputs = (last,) * len(site.node.outputs)
        return plan.implementation(site, name, False, self.collected, reads, inputs=tuple(inputs), outputs=outputs)


def epilogue(site: Site, bias: Value | None) -> Collected | None:
    """The bias, then what follows the convolution."""
    core = site.core
    collector = Collector(site, core.output.dtype, classifier(core))
    if bias is not None:
        tree = collector.side(bias, "column")
        if tree is None:
            return None
        collector.step(["add", collector.last, tree], core.output.dtype)
    return collector.collect()
