"""Drops operators whose results nothing reads: what a fused operator has taken over."""

from __future__ import annotations

from ge_ascend.net import Net, Op, Program

_KEPT = frozenset({"Data", "RefData", "Assign"})
"""The borders of a graph, and what writes into the caller's memory."""


def prune(program: Program) -> None:
    """Drop unread operators of all graphs, and graphs that no operator refers to any more."""
    by_name = {net.name: net for net in program.nets}
    found: list[Net] = []
    waiting = [program.root]
    while waiting:
        net = waiting.pop()
        if net in found:
            continue
        found.append(net)
        net.ops = _read(net)
        waiting += [by_name[name] for op in net.ops for name in op.graphs]
    program.nets = [net for net in program.nets if net in found]


def _read(net: Net) -> list[Op]:
    needed: set[Op] = set()
    waiting = [out.op for out in net.outputs] + [op for op in net.ops if op.type in _KEPT]
    while waiting:
        op = waiting.pop()
        if op not in needed:
            needed.add(op)
            waiting += [out.op for _, out in op.inputs]
    return [op for op in net.ops if op in needed]
