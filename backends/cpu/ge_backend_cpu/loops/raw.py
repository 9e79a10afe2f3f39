"""Small floats that are only moved, or lose or change their sign, go as the integers that they are stored as.

Nothing is converted then, and a vector holds as many of them as it can.
"""

from __future__ import annotations

import numpy as np

from ge_backend_cpu.loops.expr import Expr, Space
from ge_core.ir.dtype import DType

SIGNED = frozenset({"float16", "bfloat16"})
"""Types whose sign is their highest bit, and nothing else."""


def stored_form(space: Space, value: Expr, dtype: DType) -> Expr | None:
    """The stored bits of a value of a small float type, as an unsigned integer of as many bits; None where the value
    is computed with."""
    if not dtype.is_float or dtype.bits not in (8, 16):
        return None
    return _Bits(space, dtype).of(value)


class _Bits:
    def __init__(self, space: Space, dtype: DType) -> None:
        self.space, self.dtype, self.kind = space, dtype, DType.of(f"uint{dtype.bits}")
        self._known: dict[Expr, Expr | None] = {}

    def of(self, value: Expr) -> Expr | None:
        if value not in self._known:
            self._known[value] = self._made(value)
        return self._known[value]

    def _made(self, value: Expr) -> Expr | None:
        space, kind = self.space, self.kind
        if value.op == "const":
            bits = np.array(value.data[0]).astype(self.dtype.numpy).view(kind.numpy)
            return space.const(int(bits), kind)
        if value.op == "load":
            operand, name, at, masked = value.data
            if name != self.dtype.name:
                return None
            return space.load(operand, kind, at, value.args[-1] if masked else None)
        if value.op == "select":
            parts = [self.of(part) for part in value.args[1:]]
            if parts[0] is None or parts[1] is None:
                return None
            return space.apply("select", value.args[0], *(p for p in parts if p is not None))
        if value.op in ("abs", "neg") and self.dtype.name in SIGNED:
            inner = self.of(value.args[0])
            sign = 1 << (self.dtype.bits - 1)
            if inner is None:
                return None
            if value.op == "abs":
                return space.apply("bitand", inner, space.const(sign - 1, kind))
            return space.apply("bitxor", inner, space.const(sign, kind))
        return None
