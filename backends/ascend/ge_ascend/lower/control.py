"""Control flow: regions become graphs of their own, and what they read from outside becomes their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.lower.scope import Scope, bare_symbol
from ge_ascend.meaning.call import Branch
from ge_ascend.net import Net, Op, Out
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size, Symbol
from ge_core.ir.dtype import DType, boolean, float32, int64
from ge_core.ir.graph import Region, Value, constant_of
from ge_core.ir.traverse import symbol_table
from ge_core.ir.types import TensorType


@dataclass(eq=False)
class Feeds:
    """What regions read from outside: captured values and sizes, in the order of the operator's inputs."""

    values: list[Value]
    symbols: list[Symbol]
    outs: list[Out]


def feeds_of(c: LowerCall, regions: Sequence[Region]) -> Feeds:
    found: dict[Value, None] = {}
    for region in regions:
        for capture in region.captures:
            if constant_of(capture.outer) is None:
                found.setdefault(capture.outer)
    values = list(found)
    own = {s.name for v in values for s in _bare(v)}
    own |= {s.name for region in regions for p in region.params for s in _bare(p)}
    needed: dict[str, Symbol] = {}
    for region in regions:
        for name, symbol in symbol_table(region).items():
            if name not in own and c.scope.knows(symbol):
                needed.setdefault(name, symbol)
    symbols = list(needed.values())
    outs = [c.engine.value(c.scope, v, crossing(c, v)) for v in values]
    outs += [c.engine.size(c.scope, dims.symbol(s.name, s.lo, s.hi)) for s in symbols]
    return Feeds(values, symbols, outs)


def _bare(value: Value) -> list[Symbol]:
    if not isinstance(value.type, TensorType) or value.type.shape is None:
        return []
    return [s for s in map(bare_symbol, value.type.shape) if s is not None]


def crossing(c: LowerCall, value: Value) -> DType:
    """The type in which a value enters or leaves a region."""
    if not isinstance(value.type, TensorType):
        raise c.refuse(f"a {value.type} crosses its border")
    wanted = c.engine.mapped(value.dtype, c.node)
    return c.engine.policy.border if wanted == float32 else wanted


class SubGraph:
    """One sub graph, lowered again each time its meaning is asked for; the last one counts."""

    def __init__(self, c: LowerCall, name: str) -> None:
        self.c, self.name = c, c.engine.emitter.name_of(name)
        self.net = Net(self.name)
        c.engine.program.nets.append(self.net)

    def begin(self, b: Builder, arguments: Sequence[Value]) -> tuple[Scope, list[Out]]:
        """A fresh scope with one Data for each argument."""
        self.net.ops, self.net.outputs = [], []
        scope = Scope(self.net, b)
        outs = []
        for index, value in enumerate(arguments):
            op = Op(self.c.engine.emitter.name_of(f"{self.name}_in{index}"), "Data", source="input")
            op.attrs = {"index": index, "_parent_node_index": index}
            op.outs.append(Out(op, 0, "y", b._visible(value)))
            self.net.ops.append(op)
            outs.append(op.outs[0])
        return scope, outs

    def end(self, outputs: Sequence[Out]) -> list[Value]:
        """The results; an argument that is returned as it came passes an operator on the way."""
        self.net.outputs = list(outputs)
        return [out.value for out in outputs]


def bind_feeds(scope: Scope, region: Region, feeds: Feeds, outs: Sequence[Out]) -> None:
    for value, out in zip(feeds.values, outs, strict=False):
        for capture in region.captures:
            if capture.outer is value:
                scope.bind(capture.param, out)
        scope.bind(value, out)
    for symbol, out in zip(feeds.symbols, outs[len(feeds.values) :], strict=True):
        scope.scalars.setdefault(symbol.name, out)


def results_of(c: LowerCall, scope: Scope, region: Region) -> list[Out]:
    return [c.engine.value(scope, v, crossing(c, v)) for v in region.outputs]


@lowering("If")
def if_(c: LowerCall) -> list[Out]:
    regions = [c.node.regions["then_branch"], c.node.regions["else_branch"]]
    feeds = feeds_of(c, regions)
    graphs = [SubGraph(c, f"{c.node.outputs[0].name}_{name}") for name in ("then_branch", "else_branch")]

    def branch(graph: SubGraph, region: Region) -> Branch:
        def run(b: Builder, arguments: Sequence[Value]) -> list[Value]:
            scope, outs = graph.begin(b, arguments)
            # the condition is the operator's input 0
            for op in graph.net.ops:
                op.attrs["_parent_node_index"] = op.attrs["index"] + 1
            bind_feeds(scope, region, feeds, outs)
            c.engine.block(scope, region)
            return graph.end(results_of(c, scope, region))

        return run

    count = len(c.node.outputs)
    return list(
        c.engine.emitter.emit(
            c.scope, "If", [c[0], feeds.outs], {}, count=count, graphs=[g.name for g in graphs],
            branches=[branch(g, r) for g, r in zip(graphs, regions, strict=True)],
        )
    )  # fmt: skip


@lowering("Loop")
def loop(c: LowerCall) -> list[Out]:
    """While over (i, go, carried..., collected..., trip, feeds...).

    What is collected grows by one row a round, or is written row by row where their number is known.
    """
    c.note("unconfirmed", "Loop as While, which no official plugin does for ONNX")
    region = c.node.regions["body"]
    feeds = feeds_of(c, [region])
    trip, condition = c.node.input(0), c.node.input(1)
    carried = [v for v in c.node.inputs[2:] if v is not None]
    scans = region.outputs[1 + len(carried) :]
    first: list[Out] = [c.const(0, int64), c.const(True, boolean) if condition is None else c[1]]
    first += [c.engine.value(c.scope, v, crossing(c, v)) for v in carried]
    rounds = _rounds(c, region)
    for scan in scans:
        rows = [0 if rounds is None else rounds, *scan.shape]
        kind = crossing(c, scan)
        first.append(c.op("Fill", c.ints(rows), c.const(0, kind)))
    fixed = len(first)
    bound = [] if trip is None else [c.reshape(c.cast(c.as_is(0), int64), [])]
    first += [*bound, *feeds.outs]
    names = [SubGraph(c, f"{_name(c)}_{part}") for part in ("cond", "body")]

    def check(b: Builder, arguments: Sequence[Value]) -> list[Value]:
        scope, outs = names[0].begin(b, arguments)
        go = outs[1]
        if bound:
            within = c.engine.emitter.emit(scope, "Less", [outs[0], outs[fixed]], {})[0]
            go = c.engine.emitter.emit(scope, "LogicalAnd", [within, go], {})[0]
        return names[0].end([go])

    def step(b: Builder, arguments: Sequence[Value]) -> list[Value]:
        scope, outs = names[1].begin(b, arguments)
        params = region.params
        scope.bind(params[0], outs[0])
        scope.bind(params[1], outs[1])
        for param, out in zip(params[2:], outs[2:], strict=False):
            scope.bind(param, out)
        bind_feeds(scope, region, feeds, outs[fixed + len(bound) :])
        c.engine.block(scope, region)
        results = results_of(c, scope, region)
        emit = c.engine.emitter.emit
        one = c.engine.emitter.small(scope, np.int64(1))
        (after,) = emit(scope, "Add", [outs[0], one], {})
        grown = []
        for old, row in zip(outs[2 + len(carried) : fixed], results[1 + len(carried) :], strict=True):
            (single,) = emit(scope, "Unsqueeze", [row], {"axes": [0]})
            if rounds is None:
                zero = c.engine.emitter.small(scope, np.int32(0))
                (more,) = emit(scope, "ConcatV2", [[old, single], zero], {"N": 2})
            else:
                more = written_row(c, scope, old, outs[0], single)
            grown.append(more)
        return names[1].end([after, *results[: 1 + len(carried)], *grown, *outs[fixed:]])

    found = c.engine.emitter.emit(
        c.scope, "While", [first], {}, count=len(first), graphs=[g.name for g in names], branches=[check, step]
    )
    return list(found[2:fixed])


def _rounds(c: LowerCall, region: Region) -> Size | None:
    """How many rounds a loop has, where its condition never changes and the number is known or a size of an input."""
    go, found = region.outputs[0], c.content(0) if c.node.input(0) is not None else None
    while go.producer is not None and go.producer.op == "Identity":
        (go,) = go.producer.inputs  # type: ignore[assignment]
    known = constant_of(go)
    endless = go is region.params[1] or (known is not None and bool(known.array().all()))
    start = None if c.node.input(1) is None else constant_of(c.input(1))
    begins = c.node.input(1) is None or (start is not None and bool(start.array().all()))
    if not endless or not begins or found is None or len(found) != 1:
        return None
    size = found[0]
    return size if bare_symbol(size) is not None or (isinstance(size, int) and size >= 0) else None


def written_row(c: LowerCall, scope: Scope, rows: Out, index: Out, row: Out) -> Out:
    """The rows with one of them, [1, ...], written."""
    emit, place = c.engine.emitter.emit, c.engine.emitter.small(scope, np.array([1, 1]))
    (at,) = emit(scope, "Reshape", [index, place], {})
    return emit(scope, "TensorScatterUpdate", [rows, at, row], {})[0]


def _name(c: LowerCall) -> str:
    return c.node.outputs[0].name if c.node.outputs else "loop"
