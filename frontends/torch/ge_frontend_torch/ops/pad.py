"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@aten("pad.default")
def pad(c: Call, x: Value, pad: Sequence[Size], mode: str, value: float | None = None) -> Value:
    """pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor"""
    return _pad(c, x, pad, _PAD_MODES[mode], value or 0)


@aten("constant_pad_nd.default")
def constant_pad(c: Call, x: Value, pad: Sequence[Size], value: float) -> Value:
    """constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor"""
    return _pad(c, x, pad, "constant", value)


@aten("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default",
      "replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")  # fmt: skip
def edge_pad(c: Call, x: Value, padding: Sequence[Size]) -> Value:
    """reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor
    reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor
    reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor
    replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor
    replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
    replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor
    """
    return _pad(c, x, padding, "reflect" if c.name.startswith("reflection") else "edge", 0)


def _pad(c: Call, x: Value, pads: Sequence[Size], mode: str, value: float) -> Value:
    """torch's pads count from the last axis, before and after each; a negative one cuts off."""
    b = c.b
    before: list[Size] = [0] * x.rank
    after: list[Size] = [0] * x.rank
    for i in range(len(pads) // 2):
        before[x.rank - 1 - i], after[x.rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    if all(p == 0 for p in (*before, *after)):
        return x
    fill = c.scalar(value, x.dtype) if mode == "constant" else None
    return b.Pad(x, b.ints([*before, *after]), fill, mode=mode)
