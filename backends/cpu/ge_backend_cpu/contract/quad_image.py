"""Images of 8-bit integers as products of bytes read them: the zero point around, whole quads of channels last.

    out[n, y, x, g, c] = in[n, y - begin_y, x - begin_x, g, c], the zero point beyond the image

int8 become uint8 with 128 added. What fills a group's channels up meets weights of 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ge_backend_cpu.contract.pad import Bordered, Pad
from ge_backend_cpu.contract.quads import copy_bytes, interleaved, offset_bytes
from ge_backend_cpu.emit import I8, Function, constant
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_core.ir.dims import Size

FAMILY = "contract.quad_image"
FEW = 16
"""Channels up to which the bytes of a pixel are moved one by one."""


@dataclass(frozen=True)
class QuadImage:
    """What the code of a copy depends on.

    Attributes:
        source: element type.
        zero: whether the zero point is an operand; it is 0 otherwise.
        axes: spatial axes.
        channels: of a group where they are filled up to whole quads; 0 where they are that many already.
        planes: whether the image is stored plane by plane, of at most four channels.
    """

    source: str
    zero: bool
    axes: int
    channels: int
    planes: bool = False

    @property
    def pad(self) -> Pad:
        return Pad(self.source, self.source, 0, self.axes)

    def names(self) -> tuple[str, ...]:
        """The kernel's integers: those of `Pad`, where `channels` are those of a group, then the number of groups."""
        return (*self.pad.names(), "groups")

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@family(FAMILY, lean=True)
def emit_quad_image(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: image, target, zero point if there is one."""
    form = QuadImage(**parameters)
    f = Function(module, symbol, isa, 3 if form.zero else 2, form.names())
    _Quads(f, form).kernel()


class _Quads(Bordered):
    def __init__(self, f: Function, form: QuadImage) -> None:
        self.form, self.channels = form, f.params["channels"]
        self.line = -(-form.channels // 4) * 4 if form.channels else self.channels
        super().__init__(f, form.pad, f.mul(f.params["groups"], self.line))
        raw = f.load(f.operands[2], 0, self.types[0]) if form.zero else constant(I8, 0)
        self.zero = offset_bytes(f, raw, self.types[0])
        self.zeros = f.splat(self.zero, f.lanes)

    def row(self, batch: Value, places: Sequence[Value], target: Value, begin: Value) -> None:
        f, p, dtype = self.f, self.f.params, self.types[0]
        if self.form.planes:
            self._interleave(batch, places, f.at(target, begin, dtype))
            return
        runs = f.mul(p[f"size{self.pad.axes - 1}"], p["groups"])
        first = f.mul(f.mul(self.first_pixel(batch, places), p["groups"]), self.channels)
        source, to = f.at(f.operands[0], first, dtype), f.at(target, begin, dtype)
        if not self.form.channels:
            copy_bytes(f, source, to, f.mul(runs, self.channels), dtype)
            return
        with f.loop(0, runs) as run:
            own = f.at(to, f.mul(run.index, self.line), dtype)
            values = f.at(source, f.mul(run.index, self.channels), dtype)
            if self.form.channels > FEW:
                copy_bytes(f, values, own, self.channels, dtype)
            else:
                for i in range(self.form.channels):
                    f.store(offset_bytes(f, f.load(values, i, dtype), dtype), own, i, dtype)
            for i in range(self.form.channels, self.line):
                f.store(self.zero, own, i, dtype)

    def _interleave(self, batch: Value, places: Sequence[Value], target: Value) -> None:
        """A row of all planes becomes pixels of four bytes."""
        f, p, dtype = self.f, self.f.params, self.types[0]
        last = self.pad.axes - 1
        plane, row, size = p[f"size{last}"], self.first_pixel(0, places), p[f"size{last}"]
        for axis in range(last):
            plane = f.mul(plane, p[f"size{axis}"])
        first = f.mul(batch, self.form.channels)
        sources = [
            f.at(f.operands[0], f.add(f.mul(f.add(first, c), plane), row), dtype) for c in range(self.form.channels)
        ]
        whole = f.mul(f.div(size, FEW), FEW)
        filled = [f.splat(self.zero, FEW)] * (4 - len(sources))
        with f.loop(0, whole, FEW) as at:
            rows = [offset_bytes(f, f.load(source, at.index, dtype, FEW), dtype) for source in sources]
            f.store(interleaved(f, [*rows, *filled]), target, f.mul(at.index, 4), dtype)
        with f.loop(whole, size) as rest:
            for i in range(4):
                value = self.zero
                if i < len(sources):
                    value = offset_bytes(f, f.load(sources[i], rest.index, dtype), dtype)
                f.store(value, target, f.add(f.mul(rest.index, 4), i), dtype)
