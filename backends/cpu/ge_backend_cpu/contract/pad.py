"""Images with zeros around them, channels last: what a convolution with few input channels reads.

    out[n, y, x, c] = in[n, c, y - begin_y, x - begin_x], 0 beyond the image

With few channels the taps along the innermost axis and the channels are one run of the product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ge_backend_cpu.convert import compute_type
from ge_backend_cpu.emit import Function, constant, vector
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_backend_cpu.vmath import cast
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType

FAMILY = "contract.pad"
MOST_PLANES = 4
"""Channels that are interleaved in registers."""


@dataclass(frozen=True)
class Pad:
    """What the code of a padded copy depends on.

    Attributes:
        source, target: element types.
        planes: channels of an image stored plane by plane; 0 for channels last.
        axes: spatial axes.
    """

    source: str
    target: str
    planes: int
    axes: int

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order: channels; sizes of the image, zeros before it, sizes with zeros.

        Work items are rows of the output: places of the batch and of all spatial axes but the last.
        """
        return ("channels", *(f"{name}{i}" for i in range(self.axes) for name in ("size", "begin", "whole")))

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@family(FAMILY, lean=True)
def emit_pad(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: image, target."""
    pad = Pad(**parameters)
    f = Function(module, symbol, isa, 2, pad.names())
    _Copier(f, pad, pad.planes or f.params["channels"]).kernel()


class Bordered:
    """A copy with zeros around the image: rows are what differs.

    Args:
        pixel: elements of a pixel of the copy.
    """

    def __init__(self, f: Function, pad: Pad, pixel: Value) -> None:
        self.f, self.pad, self.pixel = f, pad, pixel
        self.types = DType.of(pad.source), DType.of(pad.target)
        self.zero = constant(compute_type(self.types[1]), 0)
        self.zeros = constant(vector(compute_type(self.types[1]), self.f.lanes), 0)

    def kernel(self) -> None:
        f, p, last = self.f, self.f.params, self.pad.axes - 1
        with f.loop(f.lo, f.hi) as item:
            rest = item.index
            inside: Any = True
            places: list[Value] = []
            for axis in range(last - 1, -1, -1):
                whole = f.div(rest, p[f"whole{axis}"])
                place = f.sub(f.sub(rest, f.mul(whole, p[f"whole{axis}"])), p[f"begin{axis}"])
                there = f.b.icmp_unsigned("<", place, p[f"size{axis}"])
                inside = there if inside is True else f.b.and_(inside, there)
                places.insert(0, place)
                rest = whole
            line = f.mul(p[f"whole{last}"], self.pixel)
            target = f.at(f.operands[1], f.mul(item.index, line), self.types[1])
            begin, size = f.mul(p[f"begin{last}"], self.pixel), f.mul(p[f"size{last}"], self.pixel)

            def image(rest: Value = rest, places: Sequence[Value] = places, target: Value = target) -> list[Value]:
                self._zeros(target, 0, begin)
                self.row(rest, places, target, begin)
                self._zeros(target, f.add(begin, size), line)
                return []

            def border(target: Value = target, line: Value = line) -> list[Value]:
                self._zeros(target, 0, line)
                return []

            f.choose(inside, image, border)
        f.finish()

    def _zeros(self, target: Value, start: Value, stop: Value) -> None:
        f, dtype = self.f, self.types[1]
        whole = f.add(start, f.mul(f.div(f.maximum(f.sub(stop, start), 0), f.lanes), f.lanes))
        with f.loop(start, whole, f.lanes) as at:
            f.store(self.zeros, target, at.index, dtype)
        with f.loop(whole, stop) as at:
            f.store(self.zero, target, at.index, dtype)

    def row(self, batch: Value, places: Sequence[Value], target: Value, begin: Value) -> None:
        """Copy the row of an image at some places of the outer axes."""
        raise NotImplementedError

    def first_pixel(self, batch: Value, places: Sequence[Value]) -> Value:
        """Number of the first pixel of a row in images stored one behind the other."""
        f, p = self.f, self.f.params
        for axis, place in enumerate(places):
            batch = f.add(f.mul(batch, p[f"size{axis}"]), place)
        return f.mul(batch, p[f"size{self.pad.axes - 1}"])


class _Copier(Bordered):
    def row(self, batch: Value, places: Sequence[Value], target: Value, begin: Value) -> None:
        f, p, last = self.f, self.f.params, self.pad.axes - 1
        if not self.pad.planes:
            source = f.at(f.operands[0], f.mul(self.first_pixel(batch, places), self.pixel), self.types[0])
            self._copy(source, target, begin, f.mul(p[f"size{last}"], self.pixel))
            return
        row = self.first_pixel(0, places)
        plane = p[f"size{last}"]
        for axis in range(last):
            plane = f.mul(plane, p[f"size{axis}"])
        first = f.mul(batch, self.pad.planes)
        sources = [
            f.at(f.operands[0], f.add(f.mul(f.add(first, c), plane), row), self.types[0])
            for c in range(self.pad.planes)
        ]
        self._interleave(sources, target, begin, p[f"size{last}"])

    def _converted(self, value: Value) -> Value:
        source, target = self.types
        return value if source == target else cast(self.f, value, source, target)

    def _copy(self, source: Value, target: Value, begin: Value, count: Value) -> None:
        f = self.f
        whole = f.mul(f.div(count, f.lanes), f.lanes)
        for start, stop, width in ((0, whole, f.lanes), (whole, count, 1)):
            with f.loop(start, stop, width) as at:
                value = self._converted(f.load(source, at.index, self.types[0], width))
                f.store(value, target, f.add(begin, at.index), self.types[1])

    def _interleave(self, sources: Sequence[Value], target: Value, begin: Value, count: Value) -> None:
        """Vectors of all planes become as many vectors of neighbouring pixels."""
        f, width, planes = self.f, self.f.lanes, len(sources)
        whole = f.mul(f.div(count, width), width)
        with f.loop(0, whole, width) as at:
            values = [self._converted(f.load(s, at.index, self.types[0], width)) for s in sources]
            to = f.add(begin, f.mul(at.index, planes))
            for j in range(planes):
                picks = [divmod(j * width + i, planes) for i in range(width)]
                made = values[0]
                for c in range(1, planes):
                    mask = [width + pixel if plane == c else i for i, (pixel, plane) in enumerate(picks)]
                    if c == 1:
                        mask = [pixel if plane == 0 else m for m, (pixel, plane) in zip(mask, picks, strict=True)]
                    made = f.shuffle(made, values[c], mask)
                f.store(made, target, f.add(to, j * width), self.types[1])
        with f.loop(whole, count) as at:
            for c, source in enumerate(sources):
                value = self._converted(f.load(source, at.index, self.types[0]))
                f.store(value, target, f.add(begin, f.add(f.mul(at.index, planes), c)), self.types[1])
