"""Which operators an error of half precision comes from.

A copy of the float32 graph gets one switch per operator that runs in the lower type; a switch that is on rounds the
operator's results, and its weights, to that type. One run per group of switches tells what the group contributes;
the groups that contribute most are halved until they are single operators.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from ml_dtypes import finfo

from ge_ascend.precision import Policy
from ge_core.ir.builder import Builder
from ge_core.ir.clone import clone_graph
from ge_core.ir.dtype import DType, boolean, float32
from ge_core.ir.graph import Block, Graph, Node, Use, Value, constant_of
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.reference.interpret import interpret

Run = Callable[[Graph], Callable[[Sequence[np.ndarray]], list[np.ndarray]]]


@dataclass(frozen=True)
class Share:
    """What one operator contributes: the largest difference as a part of an output's scale."""

    op: str
    where: str
    error: float


def shares(
    graph: Graph, inputs: Sequence[np.ndarray], policy: Policy, run: Run, *, most: int = 10, seconds: float = 20.0
) -> list[Share]:
    """The operators of a float32 graph that contribute most, largest first.

    Args:
        run: makes a graph ready to be called.
        seconds: of runs, at most; when they are spent, groups that are left appear under their first operator.
    """
    if policy.low is None:
        return []
    copy = clone_graph(graph)
    nodes = [n for n in copy.nodes if _rounds(n, policy)]
    if not nodes:
        return []
    told = [(n.op, str(n.loc)) for n in nodes]
    _switched(copy, nodes, policy.low)
    call = run(copy)
    off = np.zeros(len(nodes), np.bool_)
    exact = call([*inputs, off])

    def measured(first: int, last: int) -> float:
        on = off.copy()
        on[first:last] = True
        return max((difference(a, b) for a, b in zip(call([*inputs, on]), exact, strict=True)), default=0.0)

    return _search(len(nodes), measured, told, most, seconds)


def rounded(graph: Graph, policy: Policy) -> Graph:
    """A copy of a float32 graph in which every tensor that the policy stores in its lower type is rounded to it.

    Constants beyond the type become its largest number, as the lowering makes them; results become infinite.
    """
    copy = clone_graph(graph)
    low = policy.low
    if low is None:
        return copy
    made: dict[tuple[Block, Value], Value] = {}
    kept: set[Value] = set()
    for node in list(walk(copy)):
        if node.regions or node.block is None or policy.operand(node, True) != low:
            continue
        before, after = Builder(node.block, node, node.loc), Builder(node.block, node.next, node.loc)
        for slot, value in enumerate(node.inputs):
            if value is not None and _is_wide(value) and value not in kept:
                key = node.block, value
                if key not in made:
                    made[key] = _stored(before, value, low)
                node.set_input(slot, made[key])
        for value in node.outputs:
            if _is_wide(value):
                old = value.uses
                new = _stored(after, value, low)
                value.replace_uses(new, _outside(old, {new.producer, *(i.producer for i in _inner(new))}))
                kept.add(new)
    return copy


def beyond_range(graph: Graph, inputs: Sequence[np.ndarray], low: DType) -> str:
    """What a float32 graph computes outside the range of a lower type, in one line; empty when nothing is.

    Results above its largest number become infinite in it, those below its smallest normal one lose their digits.
    """
    probe = clone_graph(graph)
    watched = [v for node in probe.nodes for v in node.outputs if _is_wide(v)]
    probe.set_outputs(watched)
    large, small = list[tuple[float, Value]](), list[tuple[float, Value]]()
    for value, array in zip(watched, interpret(probe, list(inputs))[0], strict=True):
        most = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
        if most > float(low.max):
            large.append((most, value))
        elif 0.0 < most < float(finfo(low.numpy).smallest_normal):
            small.append((most, value))
    told = []
    if large:
        told.append(f"{len(large)} results up to {max(large, key=_size)[0]:.1e}, first {_named(large[0][1])}")
    if small:
        told.append(f"{len(small)} results of at most {max(small, key=_size)[0]:.1e}, first {_named(small[0][1])}")
    return f"out of the range of {low}: " + "; ".join(told) if told else ""


def _size(found: tuple[float, Value]) -> float:
    return found[0]


def _named(value: Value) -> str:
    node = value.producer
    return "" if node is None else f"{node.op} {node.loc}".rstrip()


def _stored(b: Builder, value: Value, low: DType) -> Value:
    constant = constant_of(value)
    if constant is not None:
        wide = constant.array()
        array = np.where(np.isfinite(wide), np.clip(wide, -float(low.max), float(low.max)), wide)
        return b.constant(array.astype(low.numpy).astype(np.float32))
    result: Value = b.Cast(b.Cast(value, to=low), to=float32)
    return result


def _search(
    count: int, measured: Callable[[int, int], float], told: Sequence[tuple[str, str]], most: int, seconds: float
) -> list[Share]:
    end = time.monotonic() + seconds
    step = max(1, -(-count // 16))
    groups = [(measured(i, min(i + step, count)), i, min(i + step, count)) for i in range(0, count, step)]
    while time.monotonic() < end:
        groups.sort(reverse=True)
        at = next((i for i, (_, a, b) in enumerate(groups[:most]) if b - a > 1), None)
        if at is None:
            break
        _, a, b = groups.pop(at)
        middle = (a + b) // 2
        groups += [(measured(a, middle), a, middle), (measured(middle, b), middle, b)]
    groups.sort(reverse=True)
    found = []
    for error, a, b in groups[:most]:
        op, where = told[a]
        found.append(Share(op if b - a == 1 else f"{op} and {b - a - 1} after it", where, error))
    return [share for share in found if share.error > 0]


def difference(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference as a part of the scale of `want`.

    What is not finite on one side alone counts as 1, and so does another shape: a size may depend on values.
    """
    a, b = np.asarray(got).astype(np.float64), np.asarray(want).astype(np.float64)
    if a.shape != b.shape:
        return 1.0
    if a.size == 0:
        return 0.0
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return 1.0
    scale = float(np.abs(b[finite]).max(initial=0.0))
    return float(np.abs(a - b)[finite].max(initial=0.0)) / max(scale, 1e-30)


def _rounds(node: Node, policy: Policy) -> bool:
    """Whether a node's results are stored in the lower type."""
    floats = [v for v in node.outputs if isinstance(v.type, TensorType) and v.type.dtype == float32]
    return bool(floats) and policy.operand(node, True) == policy.low


def _switched(graph: Graph, nodes: Sequence[Node], low: DType) -> None:
    switches = graph.add_param("switches", TensorType(boolean, (len(nodes),)))
    for index, node in enumerate(nodes):
        before = Builder(graph, node, node.loc)
        on = before.Gather(switches, np.int64(index), axis=0)
        for slot, value in enumerate(node.inputs):
            if value is not None and constant_of(value) is not None and _is_wide(value):
                node.set_input(slot, _rounded(before, on, value, low))
        after = Builder(graph, node.next, node.loc)
        for value in node.outputs:
            if _is_wide(value):
                old = value.uses
                new = _rounded(after, on, value, low)
                made = {new.producer, *(i.producer for i in _inner(new))}
                value.replace_uses(new, _outside(old, made))


def _inner(value: Value) -> list[Value]:
    return [v for v in (value.producer.inputs if value.producer else ()) if v is not None]


def _outside(old: Sequence[Use], made: set[Node | None]) -> Callable[[Use], bool]:
    """Whether a use was there before the rounding, and is not part of it."""
    return lambda use: use in old and use.user not in made


def _is_wide(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype == float32


def _rounded(b: Builder, on: Value, value: Value, low: DType) -> Value:
    top = float(low.max)
    held = b.Clip(value, -top, top)
    result: Value = b.Where(on, b.Cast(b.Cast(held, to=low), to=float32), value)
    return result
