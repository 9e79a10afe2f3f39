"""Rules of a valid graph, by stage. The graph is valid before and after each pass and free in between.

| stage | what holds beyond the rules of all |
|---|---|
| imported, optimised, legal | no layouts, no groups, no ge.Relayout |
| selected | groups and layouts are legal |
"""

from __future__ import annotations

from collections.abc import Iterator

from ge_core.errors import GeError, GraphError
from ge_core.ir import dims
from ge_core.ir.dims import Symbol
from ge_core.ir.graph import Block, Graph, Node, Region, Use, Value
from ge_core.ir.traverse import type_symbols
from ge_core.ir.types import compatible
from ge_core.ops.infer import infer_types
from ge_core.ops.schema import schema

STAGES = ("imported", "optimised", "legal", "selected")
_LIMIT = 20


def verify(graph: Graph, stage: str | None = None) -> None:
    """Check a graph against the rules of its stage (or of `stage`).

    Raises:
        GraphError: with one line for each broken rule (at most 20).
    """
    problems: list[str] = []
    for problem in _problems(graph, stage or graph.stage):
        problems.append(problem)
        if len(problems) == _LIMIT:
            break
    if problems:
        raise GraphError(f"graph {graph.name} is not valid", details=problems)


def _problems(graph: Graph, stage: str) -> Iterator[str]:
    if stage not in STAGES:
        yield f"unknown stage {stage}, expected one of {', '.join(STAGES)}"
        return
    check = _Check(graph, stage)
    yield from check.run()


class _Check:
    def __init__(self, graph: Graph, stage: str) -> None:
        self.graph, self.stage = graph, stage
        self.names: set[str] = set()
        self.symbols: dict[str, Symbol] = {}
        self.bound: set[str] = set()

    def run(self) -> Iterator[str]:
        defined: set[Value] = set()
        for value in self.graph.inputs:
            yield from self.define(value, self.graph, defined, binds=True)
        for value in self.graph.constants:
            yield from self.define(value, self.graph, defined)
            yield from self.constant(value)
        for i, state in enumerate(self.graph.states):
            yield from self.define(state.read, self.graph, defined)
            if state.initial.type != state.read.type:
                yield f"state {state.name} is {state.read.type}, its initial data {state.initial.type}"
            if state.write is not None:
                if Use(self.graph, "state", i) not in state.write._uses:
                    yield f"%{state.write.name} does not know that state {state.name} takes it"
                if not compatible(state.write.type, state.read.type):
                    yield f"state {state.name} is {state.read.type}, written with {state.write.type}"
        yield from self.block(self.graph, defined)
        for state in self.graph.states:
            if state.write is not None and state.write not in defined:
                yield f"state {state.name} is written with %{state.write.name}, which the graph does not define"

    def define(self, value: Value, owner: Block, defined: set[Value], binds: bool = False) -> Iterator[str]:
        if value.name in self.names:
            yield f"two values are named %{value.name}"
        self.names.add(value.name)
        defined.add(value)
        if value.owner is not owner:
            yield f"%{value.name} does not belong to the block that defines it"
        for use in value.uses:
            if not _holds(use, value):
                yield f"%{value.name} claims a use by {use.user!r} that does not read it"
        if value.layout is not None and self.stage != "selected":
            yield f"%{value.name} has a layout in a graph that is {self.stage}"
        yield from self.sizes(value, binds)

    def sizes(self, value: Value, binds: bool) -> Iterator[str]:
        for s in type_symbols(value.type):
            if self.symbols.setdefault(s.name, s) != s:
                yield f"symbol {s.name} has two bounds: {_range(s)} and {_range(self.symbols[s.name])}"
            if binds or value.producer is not None or value.owner is not self.graph:
                self.bound.add(s.name)
        for size in value.content or ():
            for s in dims.symbols(size):
                if value.producer is not None and value.producer.op != "ge.Dims":
                    self.bound.add(s.name)
                elif s.name not in self.bound:
                    yield f"%{value.name} uses the size {s.name} before anything defines it"

    def constant(self, value: Value) -> Iterator[str]:
        constant = value.constant
        if constant is None:
            yield f"constant %{value.name} has no data"
        elif constant.type != value.type:
            yield f"constant %{value.name} is {value.type}, its data {constant.type}"

    def block(self, block: Block, defined: set[Value]) -> Iterator[str]:
        for node in block.nodes:
            yield from self.node(node, block, defined)
        for i, value in enumerate(block.outputs):
            if value not in defined:
                yield f"output {i} reads %{value.name}, which is not defined in its block"
            elif Use(block, "output", i) not in value._uses:
                yield f"%{value.name} does not know that it is output {i}"

    def node(self, node: Node, block: Block, defined: set[Value]) -> Iterator[str]:
        at = f"{node!r}" + (f" ({node.loc})" if str(node.loc) else "")
        if node.block is not block:
            yield f"{at} does not know its block"
        for i, value in enumerate(node.inputs):
            if value is None:
                continue
            if value not in defined:
                yield f"{at} reads %{value.name} before it is defined, or from another block"
            if Use(node, "input", i) not in value._uses:
                yield f"%{value.name} does not know that {at} reads it"
        if node.op in ("ge.Fused", "ge.Relayout") and self.stage != "selected":
            yield f"{at} is not legal in a graph that is {self.stage}"
        broken = list(self.schema(node, at))
        yield from broken
        for region in node.regions.values():
            yield from self.region(region, node, defined)
        for value in node.outputs:
            if value.producer is not node:
                yield f"%{value.name} does not know its producer {at}"
            yield from self.define(value, block, defined)
        if not broken:  # a type rule may count on its schema
            yield from self.types(node, at)

    def schema(self, node: Node, at: str) -> Iterator[str]:
        try:
            declared = schema(node.op)
        except GeError as e:
            yield f"{at}: {e.what}"
            return
        top = declared.max_inputs
        if len(node.inputs) < declared.min_inputs or (top is not None and len(node.inputs) > top):
            yield f"{at} has {len(node.inputs)} inputs, expected {declared.min_inputs} to {top}"
        for i, p in enumerate(declared.inputs):
            if p.option == "single" and node.input(i) is None:
                yield f"{at}: input {p.name} is missing"
        for name in node.attrs:
            if name not in declared.attributes or declared.attributes[name].type == "graph":
                yield f"{at} has no attribute {name}"
        for a in declared.attributes.values():
            if a.required and a.name not in node.attrs and a.name not in node.regions:
                yield f"{at}: attribute {a.name} is missing"
        yield from (f"{at} has no region {name}" for name in node.regions if name not in declared.regions)
        if (most := declared.max_outputs) is not None and len(node.outputs) > most:
            yield f"{at} has {len(node.outputs)} outputs, expected at most {most}"

    def region(self, region: Region, node: Node, outer: set[Value]) -> Iterator[str]:
        if region.node is not node:
            yield f"a region of {node!r} does not know its node"
        inner: set[Value] = set()
        for value in region.params:
            yield from self.define(value, region, inner)
        for i, c in enumerate(region.captures):
            if c.outer not in outer:
                yield f"a region of {node!r} captures %{c.outer.name}, which is not visible there"
            elif Use(region, "capture", i) not in c.outer._uses:
                yield f"%{c.outer.name} does not know that a region of {node!r} captures it"
            if c.param.captured is not c:
                yield f"%{c.param.name} does not know its capture"
            if not compatible(c.param.type, c.outer.type):
                yield f"%{c.param.name} is {c.param.type}, captured from {c.outer.type}"
            yield from self.define(c.param, region, inner)
        yield from self.block(region, inner)

    def types(self, node: Node, at: str) -> Iterator[str]:
        try:
            types, _ = infer_types(node)
        except GeError as e:
            yield f"{at}: {e.what}"
            return
        for value, inferred in zip(node.outputs, types, strict=True):
            if not compatible(value.type, inferred):
                yield f"{at}: %{value.name} is {value.type}, its type rule says {inferred}"


def _holds(use: Use, value: Value) -> bool:
    user, i = use.user, use.index
    if use.kind == "input":
        return isinstance(user, Node) and user.input(i) is value
    if use.kind == "capture":
        return isinstance(user, Region) and i < len(user.captures) and user.captures[i].outer is value
    if use.kind == "output":
        return isinstance(user, Block) and i < len(user.outputs) and user.outputs[i] is value
    return isinstance(user, Graph) and i < len(user.states) and user.states[i].write is value


def _range(s: Symbol) -> str:
    return f"[{s.lo}, {'inf' if s.hi is None else s.hi}]"
