"""Repetitions whose counts only the run knows."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import numbers, operand, unlimited
from ge_backend_cpu.loops.reading import attribute
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value


def _counted_later(node: Node) -> bool:
    x, counts = operand(node, 0), operand(node, 1)
    if counts.content is not None or counts.rank != 1 or x.rank == 0:
        return False
    return counts.shape[0] == 1 or dims.equal(counts.shape[0], x.shape[int(attribute(node, "axis"))]) is True


@expansion("ge.RepeatInterleave", when=_counted_later)
def repeat_interleave(b: Builder, node: Node) -> Sequence[Value]:
    """Slice i stands where the running sum of the counts first exceeds a place."""
    x, counts = operand(node, 0), operand(node, 1)
    axis = int(attribute(node, "axis")) % x.rank
    b.ge.Check(b.GreaterOrEqual(b.ReduceMin(counts, keepdims=0), 0), message="a count of repeats is negative")
    if counts.shape[0] == 1:
        counts = b.Expand(counts, b.ints(x.shape[axis]))
    total = unlimited(b, b.ReduceSum(counts, keepdims=0))
    ends = b.CumSum(counts, b.constant(0, "int64"))
    return [b.Gather(x, b.ge.SearchSorted(ends, numbers(b, total), right=1), axis=axis)]
