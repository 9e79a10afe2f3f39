"""Running extremes and logarithms of sums along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import result, source
from ge_backend_cpu.loops.reading import attribute
from ge_backend_cpu.ops.selecting import SCAN
from ge_backend_cpu.serial.launch import computes, implemented, launched, operand
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dtype import int64
from ge_core.ir.graph import Node


@implementation("ge.CumMax", "ge.CumMin", "ge.LogCumSumExp")
def running(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A row of a scalar is the scalar itself."""
    x = operand(node, 0)
    if not computes(x):
        return []
    shape = x.shape or (1,)
    axis = int(attribute(node, "axis")) % len(shape)
    step, rows = dims.product(shape[axis + 1 :]), dims.product(shape[:axis]) * dims.product(shape[axis + 1 :])
    values = {"size": shape[axis], "step": step}
    operands = [(source(0), x.dtype), (result(), node.outputs[0].dtype)]
    if node.op == "ge.LogCumSumExp":
        launch = launched("log_sums", operands, values, rows, rows * shape[axis] * 20 * SCAN)
        return [implemented(node, [launch], in_place=[(0, 0)])]
    operands.append((result(1), int64))
    greatest = node.op == "ge.CumMax"
    launch = launched(
        "extremes", operands, values, rows, rows * shape[axis] * SCAN, greatest=greatest, contiguous=step == 1
    )
    return [implemented(node, [launch], in_place=[(0, 0)])]
