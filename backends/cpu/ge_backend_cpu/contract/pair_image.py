"""Images of 8-bit integers as products of pairs read them: less their zero point, int16, zeros around, channels last.

    out[n, y, x, g, c] = in[n, y - begin_y, x - begin_x, g, c] - zero, 0 beyond the image and for the odd channel

A group's channels are filled up to an even number, so that two neighbours are one element of the product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ge_backend_cpu.contract.pad import Bordered, Pad
from ge_backend_cpu.contract.pairs import pair_panels
from ge_backend_cpu.emit import I16, Function, constant, vector, width_of
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family, recipe
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int16

FAMILY = "contract.pair_image"
WIDTH = 16
"""Elements that are widened at a time."""


@recipe("contract.pair_filters")
def pair_filters(weights: np.ndarray, zero: np.ndarray | None = None, *, group: int) -> np.ndarray:
    """Weights [o, i / group, *kernel] less their zero points (one, or one for each o) as pairs
    [group, panel, tap * pairs of i, 16, 2]."""
    out, channels = weights.shape[:2]
    wide = weights.astype(np.int16).reshape(out, channels, -1)
    if zero is not None:
        wide = wide - zero.astype(np.int16).reshape(-1, 1, 1)
    even = np.zeros((out, channels + channels % 2, wide.shape[2]), np.int16)
    even[:, :channels] = wide
    split = even.reshape(group, out // group, *even.shape[1:]).transpose(0, 3, 2, 1)
    run = even.shape[1] * even.shape[2]
    return pair_panels(np.ascontiguousarray(split), shape=[group, run, out // group])


@dataclass(frozen=True)
class PairImage:
    """What the code of a copy depends on.

    Attributes:
        source: element type, of 8 bits.
        zero: whether a zero point is subtracted.
        axes: spatial axes.
        odd: whether a group has an odd number of channels.
    """

    source: str
    zero: bool
    axes: int
    odd: bool

    @property
    def pad(self) -> Pad:
        return Pad(self.source, "int16", 0, self.axes)

    def names(self) -> tuple[str, ...]:
        """The kernel's integers: those of `Pad`, where `channels` are those of a group, then the number of groups."""
        return (*self.pad.names(), "groups")

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@family(FAMILY, lean=True)
def emit_pair_image(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: image, target, zero point if there is one."""
    form = PairImage(**parameters)
    f = Function(module, symbol, isa, 3 if form.zero else 2, form.names())
    _Pairs(f, form).kernel()


class _Pairs(Bordered):
    def __init__(self, f: Function, form: PairImage) -> None:
        self.odd, self.channels = form.odd, f.params["channels"]
        self.line = f.add(self.channels, 1) if form.odd else self.channels
        super().__init__(f, form.pad, f.mul(f.params["groups"], self.line))
        self.offset = self._widened(f.load(f.operands[2], 0, self.types[0])) if form.zero else None

    def row(self, batch: Value, places: Sequence[Value], target: Value, begin: Value) -> None:
        f, p = self.f, self.f.params
        runs = f.mul(p[f"size{self.pad.axes - 1}"], p["groups"])
        first = f.mul(f.mul(self.first_pixel(batch, places), p["groups"]), self.channels)
        source = f.at(f.operands[0], first, self.types[0])
        to = f.at(target, begin, int16)
        if not self.odd:
            self._copy(source, to, f.mul(runs, self.channels))
            return
        with f.loop(0, runs) as run:
            own = f.at(to, f.mul(run.index, self.line), int16)
            self._copy(f.at(source, f.mul(run.index, self.channels), self.types[0]), own, self.channels)
            f.store(constant(I16, 0), own, self.channels, int16)

    def _copy(self, source: Value, target: Value, count: Value) -> None:
        f, dtype = self.f, self.types[0]
        whole = f.mul(f.div(count, WIDTH), WIDTH)
        for start, stop, width in ((0, whole, WIDTH), (whole, count, 1)):
            offset = None if self.offset is None else f.splat(self.offset, width)
            with f.loop(start, stop, width) as at:
                value = self._widened(f.load(source, at.index, dtype, width))
                f.store(value if offset is None else f.b.sub(value, offset), target, at.index, int16)

    def _widened(self, value: Value) -> Value:
        kind = vector(I16, width_of(value))
        return self.f.b.zext(value, kind) if self.types[0].kind == "uint" else self.f.b.sext(value, kind)
