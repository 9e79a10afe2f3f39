"""What one core of this machine does at best: multiply-adds per second, bytes per second from cache and memory.

Measured with two small kernels and kept in the user's cache, for profiles and for cost models.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple
from functools import lru_cache
from typing import Any

import numpy as np

from ge_backend_cpu.cache import Cache
from ge_backend_cpu.compile import compiled
from ge_backend_cpu.emit import FLOAT, Function, constant, vector
from ge_backend_cpu.figures import Machine, figures_key, read_figures, use_figures
from ge_backend_cpu.image import Mapped, joined
from ge_backend_cpu.isa import Isa, host
from ge_backend_cpu.kernel import Kernel, family
from ge_core.ir.dtype import DType
from ge_core.plan.aligned import aligned_bytes

F32 = DType.of("float32")
MULTIPLY_ADD = Kernel("probe.multiply_add", {})
"""Operand: a result; work items are rounds of independent multiply-adds on all registers but a few."""
READ = Kernel("probe.read", {"vectors": 8})
"""Operands: data, a result; work items are blocks of eight vectors."""

_NEAR, _FAR = 1 << 18, 1 << 26
"""Bytes that stay in the second-level cache, and bytes that no cache below the last holds."""
_SECONDS = 0.005
"""Per measurement and round, of which the best part counts."""
_PAUSE = 0.01
"""Seconds between two rounds, in which other work comes to an end."""
ROUNDS = 4
LOOKS = 3
"""How often a machine is measured; later processes take what is in the cache."""
APART = 3600.0
"""Seconds between two looks."""
MUCH = 1.25
"""How much faster a look must be to replace figures: less than that costs no decision worth having."""


@family("probe.multiply_add")
def emit_multiply_add(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """acc = acc * a + b in as many accumulators as there are registers, less four."""
    f = Function(module, symbol, isa, 1)
    a, b = (f.splat(f.load(f.operands[0], k, F32)) for k in range(2))
    zero = constant(vector(FLOAT, isa.lanes), 0.0)
    with f.loop(f.lo, f.hi, carry=[zero] * _accumulators(isa)) as loop:
        loop.next = [f.fma(value, a, b) for value in loop.values]
    total = zero
    for value in loop.values:
        total = f.b.fadd(total, value)
    f.store(total, f.operands[0], 0, F32)
    f.finish()


@family("probe.read")
def emit_read(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    f = Function(module, symbol, isa, 2)
    count, zero = parameters["vectors"], constant(vector(FLOAT, isa.lanes), 0.0)
    with f.loop(f.lo, f.hi, carry=[zero] * count) as loop:
        start = f.mul(loop.index, count * isa.lanes)
        parts = [f.load(f.operands[0], f.add(start, k * isa.lanes), F32, isa.lanes) for k in range(count)]
        loop.next = [f.b.fadd(value, part) for value, part in zip(loop.values, parts, strict=True)]
    total = zero
    for value in loop.values:
        total = f.b.fadd(total, value)
    f.store(total, f.operands[1], 0, F32)
    f.finish()


def _accumulators(isa: Isa) -> int:
    return isa.registers - 4


@lru_cache(maxsize=1)
def machine() -> Machine:
    """This machine's figures: from the user's cache, else measured (0.2 s).

    Other work on the machine makes a measurement too low, never too high: so the figures are looked at again a few
    times, in later processes, and those that were much too low are replaced. Then they stay, and equal models give
    equal files.
    """
    cache, key = Cache(), figures_key()
    found, looks, last = read_figures(cache.get(key))
    if looks < LOOKS and not 0 <= time.time() - last < APART:
        new = measure(host())
        found = new if found is None else faster(found, new)
        kept = {**asdict(found), "looks": looks + 1, "last": time.time()}
        cache.put(key, json.dumps(kept).encode())
    assert found is not None
    use_figures(found)
    return found


def faster(old: Machine, new: Machine) -> Machine:
    """The old figures, but the new ones where the old ones are much lower: the machine was busy."""
    pairs = zip(astuple(old), astuple(new), strict=True)
    return Machine(*(b if b > MUCH * a else a for a, b in pairs))


Work = tuple[Callable[[], object], float]
"""A call, and the operations or bytes of it."""


def works(isa: Isa) -> tuple[Work, Work, Work]:
    """Multiply-adds in registers, reads from the second-level cache, reads from memory; one thread."""
    codes = compiled([MULTIPLY_ADD, READ], isa, workers=0, cache=Cache())
    code = Mapped(joined(codes.values()))
    out = np.zeros(64, np.float32)
    data = aligned_bytes(_FAR)
    data.fill(0)
    multiply, read = _Callable(code, MULTIPLY_ADD, [out]), _Callable(code, READ, [data, out])
    block = READ.parameters["vectors"] * isa.lanes * 4
    rounds, blocks = 40_000, _FAR // block

    def near() -> None:
        for _ in range(16):
            read(_NEAR // block)

    return (
        (lambda: multiply(rounds), rounds * _accumulators(isa) * isa.lanes * 2),
        (near, 16 * _NEAR),
        (lambda: read(blocks), _FAR),
    )


def measure(isa: Isa) -> Machine:
    """Measure now, on one thread: the best of several short rounds with pauses between them."""
    kinds = works(isa)
    best = [0.0] * len(kinds)
    for round in range(ROUNDS):
        if round:
            time.sleep(_PAUSE)
        best = [max(rate, _rate(*work)) for rate, work in zip(best, kinds, strict=True)]
    return Machine(*(float(f"{rate:.1e}") for rate in best))


def _rate(call: Callable[[], object], amount: float) -> float:
    """The best amount per second.

    The thread's own time counts, so that other work on the machine does so only as far as it shares caches, memory or
    the clock.
    """
    best, end = float("inf"), time.thread_time() + _SECONDS
    while time.thread_time() < end or best == float("inf"):
        started = time.thread_time()
        call()
        best = min(best, time.thread_time() - started)
    return amount / best


class _Callable:
    """A kernel on some operands, which it keeps alive with its code."""

    def __init__(self, code: Mapped, kernel: Kernel, operands: Sequence[np.ndarray]) -> None:
        word = ctypes.c_int64
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, word, word)
        self.function = kind(code.address(kernel.symbol))
        self.words = np.array([w for k in range(len(operands)) for w in (k, 0)], np.int64)
        self.bases = np.array([a.ctypes.data for a in operands], np.uint64)
        self.kept = code, operands

    def __call__(self, items: int) -> int:
        """Run so many work items."""
        return int(self.function(self.words.ctypes.data, self.bases.ctypes.data, 0, items))
