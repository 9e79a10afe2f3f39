"""What contractions take: seconds from operations and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ge_backend_cpu.isa import Isa, host
from ge_core.ir import dims
from ge_core.ir.dims import Size


@dataclass(frozen=True)
class Figures:
    """One core's speed.

    Attributes:
        flops: float32 operations per second of a product in registers.
        near: bytes per second from the second-level cache.
        far: bytes per second from memory.
        launch: seconds of a launch beside its work.
    """

    flops: float
    near: float
    far: float
    launch: float = 3e-7

    def multiply_picoseconds(self, bits: int = 32) -> int:
        """One multiplication and addition."""
        return max(round(2e12 / self.flops * max(bits, 32) / 32), 1)


REACHED = 0.9
"""Share of the machine's multiply-adds that products reach."""


@lru_cache(maxsize=16)
def figures(isa: Isa) -> Figures:
    """The figures for an instruction set: this machine's as measured once; for another one, what two multiply-adds
    per cycle give at 2.5 GHz, a little less."""
    if isa != host():
        return Figures(flops=isa.lanes * 8.5e9, near=5e10, far=1.5e10)
    from ge_backend_cpu.probe import machine

    best = machine()
    return Figures(flops=best.flops * REACHED, near=best.near, far=best.far)


def overlapped(work: Size, read: Size) -> Size:
    """Time of work while what it needs next is read: the longer one, and a fourth of the other for what is not met."""
    return dims.maximum(work, read) + dims.floordiv(dims.minimum(work, read), 4)


def example(size: Size) -> int:
    """A size where it is not known: 16 for every symbol, within its bounds."""
    if isinstance(size, int):
        return size
    values = {}
    for symbol in dims.symbols(size):
        value = max(symbol.lo, 16)
        values[symbol.name] = value if symbol.hi is None else min(value, symbol.hi)
    return dims.evaluate(size, values)


def least(size: Size) -> int:
    """The lower bound of a size, at least 0."""
    return size if isinstance(size, int) else max(dims.bounds(size)[0] or 0, 0)
