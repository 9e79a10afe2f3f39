"""The family "moves": plain copies of bytes, for copy steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_core.ir.dtype import DType

BLOCK = 1 << 14
"""Bytes of one work item."""

COPY = Kernel("moves.copy", {"block": BLOCK})
"""Operands: source, target; params: bytes. Work items are blocks of `BLOCK` bytes, the last one may be shorter."""


@family("moves.copy")
def emit_copy(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Copy whole vectors, then bytes."""
    from ge_backend_cpu.emit import Function  # the kernel's name is needed by models from files, its generator is not

    f = Function(module, symbol, isa, 2, ("bytes",))
    source, target = f.operands
    byte, step = DType.of("uint8"), 4 * isa.lanes
    start = f.mul(f.lo, parameters["block"])
    end = f.minimum(f.mul(f.hi, parameters["block"]), f.params["bytes"])
    whole = f.add(start, f.mul(f.div(f.maximum(f.sub(end, start), 0), step), step))
    with f.loop(start, whole, step) as loop:
        f.store(f.load(source, loop.index, byte, step), target, loop.index, byte)
    with f.loop(whole, end) as loop:
        f.store(f.load(source, loop.index, byte), target, loop.index, byte)
    f.finish()
