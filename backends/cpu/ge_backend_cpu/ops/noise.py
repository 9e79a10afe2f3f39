"""Random numbers of a counter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import result, source
from ge_backend_cpu.loops.reading import attribute
from ge_backend_cpu.serial.launch import computes, implemented, launched, operand
from ge_backend_cpu.serial.noise import per_block
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.graph import Node

BLOCK = 30_000
"""Picoseconds of four words and what is made of them."""


@implementation("ge.Random")
def random(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    seed, offset, y = operand(node, 1), operand(node, 2), node.output
    if not computes(y, seed, offset):
        return []
    given: dict[str, Any] = {name: attribute(node, name) for name in ("distribution", "low", "high")}
    count = dims.product(y.shape)
    blocks = dims.ceildiv(count, per_block(given, y.dtype))
    launch = launched(
        "noise", [(source(1), seed.dtype), (source(2), offset.dtype), (result(), y.dtype)], {"count": count}, blocks,
        blocks * BLOCK, **given,
    )  # fmt: skip
    return [implemented(node, [launch])]
