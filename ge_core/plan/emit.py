"""Turns an ordered graph with its alias classes into buffers, values and steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ge_core.backend import Implementation, operands
from ge_core.errors import PlanError
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Dim, Size, Symbol, symbols
from ge_core.ir.graph import Block, Graph, Node, Region, Value, source_of
from ge_core.ir.location import Location
from ge_core.ir.traverse import walk
from ge_core.ir.types import Layout, TensorType
from ge_core.plan.alias import AliasClass, Aliases, stored_bytes
from ge_core.plan.handed import handed
from ge_core.plan.homes import Homes, loop_values
from ge_core.plan.lifetimes import CONTROL, Lifetimes, always_goes_on, carried_count, filled_in_place, merged
from ge_core.plan.plan import (
    AllocStep,
    BindStep,
    Buffer,
    Carried,
    CompareStep,
    CopyStep,
    ExecutionPlan,
    Extent,
    FreeStep,
    HostStep,
    IfStep,
    KernelStep,
    LoopStep,
    PlannedOutput,
    PlannedState,
    PlannedValue,
    Required,
    Scanned,
    Step,
    ViewStep,
)
from ge_core.plan.required import RequiredSizes
from ge_core.plan.sizes import has_bound, names_in
from ge_core.plan.views import concat_parts, viewed


@dataclass(frozen=True)
class Emission:
    """What the steps are made from.

    Attributes:
        selection: the implementation of each node that has one; the others are host steps.
        reasons: why a node has none, for the report.
        reuse: False gives each buffer its bytes for the whole call.
        required: sizes that must be equal where a node runs.
    """

    graph: Graph
    lives: Lifetimes
    aliases: Aliases
    homes: Homes
    selection: Mapping[Node, Implementation]
    reasons: Mapping[Node, str]
    call_symbols: Sequence[Symbol]
    alignment: int = 64
    reuse: bool = True
    required: RequiredSizes = field(default_factory=dict)


def emit(parts: Emission) -> ExecutionPlan:
    """The plan of a graph.

    Raises:
        PlanError: a size is needed before anything can know it.
    """
    return _Emitter(parts).plan()


class _Emitter:
    def __init__(self, parts: Emission) -> None:
        self.parts, self.lives, self.aliases = parts, parts.lives, parts.aliases
        self.buffers: list[Buffer] = []
        self.values: list[PlannedValue] = []
        self.number: dict[Value, int] = {}
        self.buffer_of: dict[AliasClass, int] = {}
        self.node_index = {node: i for i, node in enumerate(walk(parts.graph))}
        self.known = {s.name for s in parts.call_symbols}
        self.names: set[str] = set()
        self.required: list[Required] = []

    def plan(self) -> ExecutionPlan:
        graph = self.parts.graph
        homes = self._outputs()
        for found in self.aliases.classes():
            if all(value.producer in self.parts.homes.idle for value in found.members):
                found.kind = "object"
            self._buffer(found)
        for value in self.lives.spans:
            if value.captured is None:
                self._value(value)
        given = [(i, v, handed(v)) for i, v in enumerate(graph.outputs)]
        outputs = tuple(
            PlannedOutput(self.of(of), self.buffer_of[self.aliases.of[of]] if homes.get(of) == i else -1, of is not v)
            for i, v, of in given
        )
        steps = self.block(graph)
        constants: list[Constant] = []
        layouts: list[Layout | None] = []
        for value in graph.constants:
            assert value.constant is not None
            constants.append(value.constant)
            layouts.append(value.layout)
        return ExecutionPlan(
            name=graph.name,
            graph=graph,
            buffers=self.buffers,
            values=self.values,
            steps=steps,
            symbols=tuple(self.parts.call_symbols),
            inputs=tuple(self.of(v) for v in graph.inputs),
            outputs=outputs,
            states=tuple(self._states()),
            constants=constants,
            layouts=layouts,
            end=self.lives.end + 1,
            required=tuple(self.required),
        )

    def of(self, value: Value | None) -> int:
        """The number of a value; captures have that of what they capture."""
        return -1 if value is None else self.number[source_of(value)]

    # Buffers and values

    def _outputs(self) -> dict[Value, int]:
        """Graph outputs that are computed in the caller's memory: the first output of a class that it covers."""
        homes: dict[Value, int] = {}
        for i, value in enumerate(map(handed, self.parts.graph.outputs)):
            found = self.aliases.of[value]
            plain = value.layout is None or value.layout.is_row_major
            whole = isinstance(value.type, TensorType) and value.type.dtype.bits >= 8 and plain
            if found.kind == "arena" and whole and self.aliases.covers(value) and self.aliases.is_known(value):
                found.kind, found.index = "output", i
                homes[value] = i
        return homes

    def _buffer(self, found: AliasClass) -> None:
        self.buffer_of[found] = len(self.buffers)
        extents = self._extents(found) if found.kind in ("arena", "output") else ()
        name = self._fresh(found.root.name)
        size = None if found.kind == "object" else found.size
        self.buffers.append(Buffer(name, found.kind, size, extents, self.parts.alignment, found.index))

    def _fresh(self, name: str) -> str:
        base, n = name, 0
        while name in self.names:
            n += 1
            name = f"{base}.{n}"
        self.names.add(name)
        return name

    def _extents(self, found: AliasClass) -> tuple[Extent, ...]:
        assert found.size is not None
        if not self.parts.reuse:
            return (Extent(0, found.size, 0, self.lives.end + 1),)
        spans: dict[tuple[Size, Size], list[tuple[int, int]]] = {}
        for member, offset in found.members.items():
            size = stored_bytes(member)
            if size is not None:
                spans.setdefault((offset, size), []).extend(self.lives.spans[member])
        return tuple(
            Extent(offset, size, start, end) for (offset, size), times in spans.items() for start, end in merged(times)
        )

    def _value(self, value: Value) -> int:
        found, offset = self.aliases.place(value)
        self.number[value] = len(self.values)
        known = self.aliases.is_known(value)
        self.values.append(PlannedValue(value.name, value.type, value.layout, self.buffer_of[found], offset, known))
        return self.number[value]

    def _part(self, whole: Value, part: Value, offset: Size) -> int:
        """A value for the bytes of a concat's output that hold a copy of `part`."""
        place = self.values[self.of(whole)]
        self.values.append(
            replace(place, name=f"{whole.name}.{part.name}", type=part.type, offset=place.offset + offset)
        )
        return len(self.values) - 1

    def _states(self) -> list[PlannedState]:
        found = []
        for state in self.parts.graph.states:
            write = state.write
            if write is None or write is state.read:
                found.append(PlannedState(state.name, state.initial.type, self.of(state.read)))
                continue
            same = self.aliases.place(write) == self.aliases.place(state.read)
            found.append(PlannedState(state.name, state.initial.type, self.of(state.read), self.of(write), same))
        return found

    # Steps

    def block(self, block: Block) -> tuple[Step, ...]:
        """The steps of a block's nodes; dynamic buffers are freed after their last use."""
        steps: list[Step] = []
        dying = self._dying(block)
        for node in block.nodes:
            steps += self.node(node)
            for found in dying.get(node, ()):
                number = self.buffer_of[found]
                steps.append(FreeStep(time=self.lives.last(node), name=self.buffers[number].name, buffer=number))
        return tuple(steps)

    def _dying(self, block: Block) -> dict[Node, list[AliasClass]]:
        """Dynamic classes of a block by the node after which nothing reads them."""
        mine = [c for c in self.aliases.classes() if c.kind in ("dynamic", "object") and c.root.owner is block]
        idle = self.parts.homes.idle
        mine = [
            c
            for c in mine
            if c.root.producer is not None and c.root.producer not in idle and c.dies <= self.lives.closes(block)
        ]
        if not mine:
            return {}
        nodes = list(block.nodes)
        times = [self.lives.last(node) for node in nodes]
        found: dict[Node, list[AliasClass]] = {}
        for c in mine:
            found.setdefault(nodes[bisect_left(times, c.dies - 1)], []).append(c)
        return found

    def node(self, node: Node) -> list[Step]:
        if node in self.parts.homes.idle:
            return []
        if node in self.parts.homes.views:
            return self._views(node)
        if node in self.parts.homes.joined:
            return self._concat(node)
        if node.op == "If":
            steps = self._if(node)
        elif node.op in CONTROL:
            steps = self._loop(node)
        else:
            steps = self._leaf(node)
        return steps + self._binds(node.outputs, self.lives.last(node), node.loc)

    def _common(self, node: Node, time: int | None = None) -> dict[str, Any]:
        name = node.outputs[0].name if node.outputs else node.op
        return {"time": self.lives.time[node] if time is None else time, "name": name, "loc": node.loc}

    def _views(self, node: Node) -> list[Step]:
        found = viewed(node)
        assert found is not None
        steps: list[Step] = []
        for value, source, _ in found:
            steps.append(ViewStep(**self._common(node), value=self.of(value), source=self.of(source)))
        return steps

    def _concat(self, node: Node) -> list[Step]:
        parts = concat_parts(node)
        assert parts is not None
        steps: list[Step] = []
        for (value, offset), at_home in zip(parts, self.parts.homes.joined[node], strict=True):
            if not at_home:
                target = self._part(node.output, value, offset)
                steps.append(CopyStep(**self._common(node), source=self.of(value), target=target))
        return steps

    def _leaf(self, node: Node) -> list[Step]:
        common = self._common(node)
        reason = self.parts.reasons.get(node, "")
        steps, unknown = self._require(node)
        if unknown:
            reason = reason or "sizes that must be equal depend on its own data"
        for value in node.outputs:
            found = self.aliases.of[value]
            if not self._shape_known(value):
                reason = reason or "the size of its result depends on data"
            elif found.kind == "dynamic":
                steps.append(AllocStep(time=common["time"], name=value.name, loc=node.loc, value=self.of(value)))
        if any(isinstance(v, Value) and self.aliases.of[v].kind == "object" for v in (*operands(node), *node.outputs)):
            reason = reason or "it works on values that have no bytes"
        chosen = self.parts.selection.get(node)
        inputs = tuple(self.of(v) for v in operands(node))
        outputs = tuple(self.of(v) for v in node.outputs)
        index = self.node_index[node]
        if chosen is None or reason:
            steps = [step for step in steps if not isinstance(step, CompareStep)]  # the reference kernel compares
            steps.append(HostStep(**common, node=index, inputs=inputs, outputs=outputs, reason=reason))
            return steps
        steps.append(
            KernelStep(
                **common,
                node=index,
                inputs=inputs,
                outputs=outputs,
                implementation=chosen.name,
                data=chosen.data,
                workspace=self._workspace(node, chosen.workspace),
            )
        )
        return steps

    def _require(self, node: Node) -> tuple[list[Step], bool]:
        """Note the sizes that must be equal for a node.

        Returns:
            The steps that compare those which the call does not know when it starts; whether some are unknown still
            when the node is to run.
        """
        steps: list[Step] = []
        for pair in dict.fromkeys(self.parts.required.get(node, ())):
            names = names_in(pair)
            if names <= self.aliases.known:
                self.required.append(Required(self.of(node.outputs[0]), *pair))
            elif names <= self.known:
                steps.append(CompareStep(**self._common(node), a=pair[0], b=pair[1]))
            else:
                return [], True
        return steps, False

    def _workspace(self, node: Node, size: Size) -> int:
        if size == 0:
            return -1
        now = self.lives.time[node]
        name = self._fresh(f"{self._common(node)['name']}.workspace")
        if has_bound(size, self.aliases.known):
            extent = Extent(0, size, now, now + 1) if self.parts.reuse else Extent(0, size, 0, self.lives.end + 1)
            self.buffers.append(Buffer(name, "arena", size, (extent,), self.parts.alignment))
        else:
            self.buffers.append(Buffer(name, "dynamic", size, (), self.parts.alignment))
        return len(self.buffers) - 1

    def _shape_known(self, value: Value) -> bool:
        if not isinstance(value.type, TensorType):
            return True
        return value.type.shape is not None and names_in(value.type.shape) <= self.known

    def _binds(self, values: Sequence[Value], time: int, loc: Location) -> list[Step]:
        """Bind the symbols that some values' shapes, or a scalar's content, give a value to."""
        steps: list[Step] = []
        for value in values:
            sizes: list[tuple[int, Size]] = []
            if isinstance(value.type, TensorType) and value.type.shape is not None:
                sizes += enumerate(value.type.shape)
            if value.content is not None and len(value.content) == 1:
                sizes.append((-1, value.content[0]))
            for axis, size in sizes:
                symbol = bare_symbol(size)
                if symbol is not None and symbol.name not in self.known:
                    self.known.add(symbol.name)
                    steps.append(
                        BindStep(time=time, name=value.name, loc=loc, symbol=symbol, value=self.of(value), axis=axis)
                    )
        return steps

    # Control flow

    def _if(self, node: Node) -> list[Step]:
        lists = []
        for name in ("then_branch", "else_branch"):
            region = node.regions[name]
            before = set(self.known)
            steps = list(self.block(region))
            time = self.lives.closing[region]
            for result, out in zip(region.outputs, node.outputs, strict=True):
                if not self._at_home(result, out):
                    steps.append(
                        CopyStep(time=time, name=out.name, loc=node.loc, source=self.of(result), target=self.of(out))
                    )
            self.known = before
            lists.append(tuple(steps))
        return [
            IfStep(
                **self._common(node),
                node=self.node_index[node],
                condition=self.of(node.input(0)),
                then_steps=lists[0],
                else_steps=lists[1],
            )
        ]

    def _at_home(self, result: Value, out: Value) -> bool:
        """Whether a result needs no copy: the same bytes, and a shape that is the same in every run."""
        same = self.aliases.place(result) == self.aliases.place(out)
        return same and self.values[self.of(out)].view and self.values[self.of(result)].view

    def _loop(self, node: Node) -> list[Step]:
        body = node.regions["body"]
        before = set(self.known)
        opening = self.lives.opening[body]
        steps = self._binds(body.params, opening, node.loc) + list(self.block(body))
        self.known = before
        return [self._loop_step(node, body, tuple(steps))]

    def _loop_step(self, node: Node, body: Region, steps: tuple[Step, ...]) -> LoopStep:
        is_loop = node.op == "Loop"
        count = carried_count(node)
        params, results = loop_values(node)
        first = 2 if is_loop else 0
        carried = []
        for i, (param, result) in enumerate(zip(params, results, strict=True)):
            carried.append(
                Carried(self.of(node.input(first + i)), self.of(param), self.of(result), self.of(node.outputs[i]))
            )
        staged = any(
            self.aliases.of[result] is self.aliases.of[param]
            for i, result in enumerate(results)
            for j, param in enumerate(params)
            if i != j
        )
        slices = () if is_loop else _scan_inputs(node, count)
        stacked = body.outputs[(1 if is_loop else 0) + count :]
        axes = () if is_loop else _ints(node, "scan_output_axes", len(stacked))
        reverse = () if is_loop else _ints(node, "scan_output_directions", len(stacked))
        direct = filled_in_place(node)
        outputs = []
        for k, value in enumerate(stacked):
            out = node.outputs[count + k]
            axis = (axes[k] % out.rank) if axes else 0
            written = direct and self.values[self.of(out)].view
            outputs.append(Scanned(self.of(out), self.of(value), axis, bool(reverse and reverse[k]), written))
        goes_on = not is_loop or always_goes_on(node)
        return LoopStep(
            **self._common(node),
            node=self.node_index[node],
            trip=self.of(node.input(0)) if is_loop else -1,
            condition=-1 if goes_on else self.of(node.input(1)),
            counter=self.of(body.params[0]) if is_loop else -1,
            condition_param=self.of(body.params[1]) if is_loop else -1,
            condition_result=-1 if goes_on else self.of(body.outputs[0]),
            carried=tuple(carried),
            scan_inputs=tuple(
                Scanned(self.of(node.input(count + k)), self.of(body.params[count + k]), axis, rev)
                for k, (axis, rev) in enumerate(slices)
            ),
            scan_outputs=tuple(outputs),
            body=steps,
            staged=staged,
        )


def _scan_inputs(node: Node, carried: int) -> list[tuple[int, bool]]:
    """Axis and direction of each scanned input."""
    values = node.inputs[carried:]
    axes, reverse = (_ints(node, f"scan_input_{what}", len(values)) for what in ("axes", "directions"))
    found = []
    for value, axis, backwards in zip(values, axes, reverse, strict=True):
        assert value is not None
        found.append((axis % value.rank, bool(backwards)))
    return found


def _ints(node: Node, name: str, count: int) -> tuple[int, ...]:
    given = node.attrs.get(name, (0,) * count)
    assert isinstance(given, tuple)
    return tuple(int(x) for x in given)  # type: ignore[arg-type]


def bare_symbol(size: Size) -> Symbol | None:
    """The symbol that a size is, None for a number or an expression."""
    if not isinstance(size, Dim):
        return None
    found = symbols(size)
    if len(found) != 1:
        return None
    (symbol,) = found
    return symbol if size.terms == ((((symbol, 1),), 1),) else None


def needed_before_known(plan: ExecutionPlan) -> None:
    """Refuse a plan in which a data-dependent size is never bound.

    Raises:
        PlanError: it names the value and the size.
    """
    bound = {s.name for s in plan.symbols}
    bound |= {step.symbol.name for step in plan.all_steps() if isinstance(step, BindStep)}
    for value in plan.values:
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            missing = names_in(value.type.shape) - bound
            if missing:
                raise PlanError(
                    f"nothing gives the size {sorted(missing)[0]} of %{value.name} ({value.type}) a value",
                    fix="let an input's shape, or ge.BindDim, define it",
                )
