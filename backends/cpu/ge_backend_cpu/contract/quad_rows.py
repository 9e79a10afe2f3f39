"""Rows of a product of bytes one behind the other: what few rows with long runs are multiplied from.

    out[m, t, k] = in[row(m) + tap(t) + k]

Then all panels pass by all rows, and each panel is read from memory once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.contract.walk import places_of
from ge_backend_cpu.emit import Function
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int32

FAMILY = "contract.quad_rows"


@dataclass(frozen=True)
class QuadRows:
    """What the code of a copy depends on.

    Attributes:
        walk, taps, loose: see `Product`.
    """

    walk: int
    taps: int
    loose: bool

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order, in quads: the run, the first row's place, distance of the copies, sizes and
        strides of the walk and of the taps. Work items are rows."""
        walk = (f"{name}{i}" for i in range(self.walk) for name in ("size", "a"))
        return ("k", "start", "line", *walk, *(f"{name}{i}" for i in range(self.taps) for name in ("taps", "tap")))

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@family(FAMILY, lean=True)
def emit_quad_rows(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: image, target."""
    form = QuadRows(**parameters)
    f = Function(module, symbol, isa, 2, form.names())
    p = f.params
    sizes = [p[f"size{i}"] for i in range(form.walk)]
    with f.loop(f.lo, f.hi) as item:
        offset = p["start"]
        for i, place in enumerate(places_of(f, sizes, item.index)):
            offset = f.add(offset, f.mul(place, p[f"a{i}"]))
        target = f.at(f.operands[1], f.mul(item.index, p["line"]), int32)
        copy_row(f, form.taps, f.operands[0], offset, target, run_copy(f, form.loose))
    f.finish()


Copy = Callable[[Value, Value], None]
"""`copy(source, target)` moves one run."""


def copy_row(
    f: Function, taps: int, image: Value, offset: Value, target: Value, copy: Copy, axis: int = 0, number: Value = 0
) -> None:
    """Copy the taps of one row as one run. Args: axis, number: of the next axis of taps, and of the tap so far."""
    p = f.params
    if axis == taps:
        copy(f.at(image, offset, int32), f.at(target, f.mul(number, p["k"]), int32))
        return
    size = p[f"taps{axis}"]
    with f.loop(0, size) as tap:
        further = f.add(offset, f.mul(tap.index, p[f"tap{axis}"]))
        copy_row(f, taps, image, further, target, copy, axis + 1, f.add(f.mul(number, size), tap.index))


def run_copy(f: Function, loose: bool) -> Copy:
    """Copies runs of `k` quads. What is written beyond one, the next one writes over."""

    def copy(source: Value, target: Value) -> None:
        k, half = f.params["k"], PANEL // 2
        if loose:

            def short() -> list[Value]:
                f.store(f.load(source, 0, int32, half), target, 0, int32)
                return []

            def long() -> list[Value]:
                with f.loop(0, k, PANEL) as at:
                    f.store(f.load(source, at.index, int32, PANEL), target, at.index, int32)
                return []

            f.choose(f.compare("<=", k, half), short, long)
            return
        whole = f.mul(f.div(k, PANEL), PANEL)
        with f.loop(0, whole, PANEL) as at:
            f.store(f.load(source, at.index, int32, PANEL), target, at.index, int32)
        with f.when(f.lt(whole, k)):
            f.store(f.load_part(source, whole, int32, PANEL, f.sub(k, whole)), target, whole, int32)

    return copy
