"""Linear algebra on the last two axes."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import result, source, work
from ge_backend_cpu.loops.reading import attribute
from ge_backend_cpu.serial.launch import computes, implemented, launched, operand
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dtype import float64
from ge_core.ir.graph import Node

STEP = 500
"""Picoseconds of one product in an elimination."""


@implementation("Det", "ge.Cholesky", "ge.Inverse")
def square(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    x = operand(node, 0)
    n = x.shape[-1]
    if not computes(x) or dims.equal(x.shape[-2], n) is not True:
        return []
    count = dims.product(x.shape[:-2])
    cost, area = count * n * n * n * STEP, count * n * n * 8
    operands = [(source(0), x.dtype), (work(), float64), (result(), node.output.dtype)]
    if node.op == "Det":
        return [implemented(node, [launched("determinant", operands, {"n": n}, count, cost)], area)]
    if node.op == "ge.Cholesky":
        upper = bool(attribute(node, "upper"))
        return [implemented(node, [launched("cholesky", operands, {"n": n}, count, cost, upper=upper)], area)]
    launch = launched("solve", operands, {"n": n, "columns": n}, count, cost * 2, repeats_a=False, repeats_b=False)
    return [implemented(node, [launch], area * 2)]


@implementation("ge.Solve")
def solve(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Equal batches, or one matrix or one right-hand side for all."""
    a, b, y = operand(node, 0), operand(node, 1), node.output
    n, columns = a.shape[-1], b.shape[-1]
    if not computes(a, b) or dims.equal(a.shape[-2], n) is not True or dims.equal(b.shape[-2], n) is not True:
        return []
    repeats = []
    for value in (a, b):
        single = dims.product(value.shape[:-2]) == 1
        lead = value.shape[:-2]
        same = len(lead) == y.rank - 2 and all(
            dims.equal(p, q) is True for p, q in zip(lead, y.shape[:-2], strict=True)
        )
        if not single and not same:
            return []
        repeats.append(not same)
    count = dims.product(y.shape[:-2])
    launch = launched(
        "solve", [(source(0), a.dtype), (source(1), b.dtype), (work(), float64), (result(), y.dtype)],
        {"n": n, "columns": columns}, count, count * n * n * (n + columns) * STEP,
        repeats_a=repeats[0], repeats_b=repeats[1],
    )  # fmt: skip
    return [implemented(node, [launch], count * n * (n + columns) * 8)]
