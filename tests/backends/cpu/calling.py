"""Calls one kernel on arrays, without a plan."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ge_backend_cpu.compile import compiled
from ge_backend_cpu.image import Mapped
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel


@lru_cache(maxsize=256)
def _mapped(kernel: Kernel, isa: Isa) -> Mapped:
    return Mapped(compiled([kernel], isa, workers=0)[kernel.symbol])


def call(
    kernel: Kernel, isa: Isa, operands: Sequence[np.ndarray], params: Sequence[int] = (), lo: int = 0, hi: int = 1
) -> int:
    """Run work items [lo, hi); every operand has a base of its own. Returns the status."""
    word = ctypes.c_int64
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, word, word)
    function = kind(_mapped(kernel, isa).address(kernel.symbol))
    words = np.array([w for k in range(len(operands)) for w in (k, 0)] + list(params), np.int64)
    bases = np.array([a.ctypes.data for a in operands], np.uint64)
    return int(function(words.ctypes.data, bases.ctypes.data, lo, hi))
