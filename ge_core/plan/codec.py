"""A plan as JSON data for the offline model, and back; what comes back may be hostile, and is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args

from ge_core.backend import operands
from ge_core.errors import GeError, OfflineModelError
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph, Node, Value, source_of
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.size_text import parse_size
from ge_core.ir.traverse import symbol_table, values, walk
from ge_core.ir.types import Layout, TensorType, Type
from ge_core.memory import MemoryPlan
from ge_core.plan.gears import read_gears
from ge_core.plan.lifetimes import CONTROL
from ge_core.plan.placement import Placer, check
from ge_core.plan.plan import (
    STEP_KINDS,
    Buffer,
    BufferKind,
    Carried,
    ExecutionPlan,
    Extent,
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
)

_NESTED = ("then_steps", "else_steps", "body")
_MOST_DEPTH = 64
_PLACES = frozenset(
    {"source", "target", "value", "condition", "trip", "counter", "condition_param", "condition_result"}
)


def plan_to_json(plan: ExecutionPlan) -> dict[str, Any]:
    """Everything but the graph and the constants' data."""
    locations: dict[Location, int] = {UNKNOWN: 0}
    memory = plan.memory
    types = {name: value.type for name, value in _named(plan.graph).items()}
    return {
        "name": plan.name,
        "buffers": [_buffer_out(b) for b in plan.buffers],
        "values": [_value_out(v, types.get(v.name)) for v in plan.values],
        "kinds": _kinds_out(plan),
        "steps": [_step_out(s, locations) for s in plan.steps],
        "locations": [[x.framework, x.module, x.file, x.line, x.op] for x in locations],
        "symbols": [s.name for s in plan.symbols],
        "inputs": list(plan.inputs),
        "outputs": [[o.value, o.buffer, *([1] if o.squeezed else [])] for o in plan.outputs],
        "states": [[s.name, s.read, s.write, s.in_place] for s in plan.states],
        "end": plan.end,
        "sharing": plan.sharing,
        "example": dict(plan.example),
        "gears": {name: list(sizes) for name, sizes in plan.gears.items()},
        "required": [[r.value, _size_out(r.a), _size_out(r.b)] for r in plan.required],
        "memory": None
        if memory is None
        else [memory.size, dict(memory.offsets), memory.lower_bound, memory.no_reuse, memory.planner],
    }


def plan_from_json(data: object, graph: Graph) -> ExecutionPlan:
    """The plan of `graph` that was stored with it.

    Raises:
        OfflineModelError: it is damaged, or belongs to another graph.
    """
    return read_plan(_GraphReader(data, graph))


def _named(graph: Graph) -> dict[str, Value]:
    """All values of a graph by name."""
    found = {v.name: v for v in (*graph.constants, *(s.read for s in graph.states))}
    found.update((v.name, v) for v in values(graph))
    return found


def damaged_plan(what: str) -> OfflineModelError:
    """The error for a plan that is none."""
    return OfflineModelError(f"the stored plan is damaged: {what}", fix="load the file with rebuild=True")


def _size_out(size: Size | None) -> int | str | None:
    return size if size is None or isinstance(size, int) else str(size)


def _buffer_out(b: Buffer) -> list[Any]:
    extents = [[_size_out(e.offset), _size_out(e.size), e.start, e.end] for e in b.extents]
    return [b.name, b.kind, _size_out(b.size), extents, b.alignment, b.index]


def _value_out(v: PlannedValue, type: Type | None) -> list[Any]:
    """Of values of the graph the place alone; parts of a concat have a type of their own."""
    shape = None
    if type != v.type and isinstance(v.type, TensorType) and v.type.shape is not None:
        shape = [v.type.dtype.name, [_size_out(d) for d in v.type.shape]]
    return [v.name, v.buffer, _size_out(v.offset), v.view, shape]


def _kinds_out(plan: ExecutionPlan) -> dict[str, Any] | None:
    """Types and layouts of all values, and the symbols in them, for those who read the plan without its graph.

    None where a value is no tensor of known rank.
    """
    types: dict[TensorType, int] = {}
    layouts: dict[Layout, int] = {}
    rows = []
    for value in plan.values:
        if not isinstance(value.type, TensorType) or value.type.shape is None:
            return None
        layout = -1 if value.layout is None else layouts.setdefault(value.layout, len(layouts))
        rows.append([types.setdefault(value.type, len(types)), layout])
    return {
        "symbols": [[s.name, s.lo, s.hi] for s in symbol_table(plan.graph).values()],
        "types": [[t.dtype.name, [_size_out(size) for size in t.shape or ()]] for t in types],
        "layouts": [layout.to_json() for layout in layouts],
        "values": rows,
    }


def _step_out(step: Step, locations: dict[Location, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": step.kind}
    for f in fields(step):
        value = getattr(step, f.name)
        if f.name == "loc":
            value = locations.setdefault(value, len(locations))
        elif f.name in _NESTED:
            value = [_step_out(s, locations) for s in value]
        elif isinstance(value, Symbol):
            value = [value.name, value.lo, value.hi]
        elif isinstance(value, Dim):
            value = str(value)
        elif f.name in ("carried", "scan_inputs", "scan_outputs"):
            value = [[getattr(item, g.name) for g in fields(item)] for item in value]
        elif isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, Mapping):
            value = dict(value)
        row[f.name] = value
    return row


def read_plan(reader: PlanReader) -> ExecutionPlan:
    """What a reader finds, checked.

    Raises:
        OfflineModelError: the plan is damaged, or belongs to another graph.
    """
    try:
        plan = reader.plan()
        if plan.memory is not None:
            check(Placer(plan).compound([plan.example[s.name] for s in plan.symbols]), plan.memory)
    except OfflineModelError:
        raise
    except GeError as error:
        raise damaged_plan(error.what) from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise damaged_plan(f"{type(error).__name__}: {error}") from error
    return plan


class PlanReader:
    """Reads a plan as `plan_to_json` gives it; what it says of the graph is left to those who derive from this."""

    def __init__(self, data: object) -> None:
        if not isinstance(data, Mapping):
            raise damaged_plan("it is no table")
        self.data: Mapping[str, Any] = data
        self.symbols: Mapping[str, Symbol] = {}
        self.buffers: list[Buffer] = []
        self.values: list[PlannedValue] = []
        self.locations: list[Location] = []

    def read_tables(self) -> None:
        """Locations, buffers and values, which steps refer to; symbols are known by now."""
        data = self.data
        self.locations = [Location(*_typed(row, (str, str, str, int, str))) for row in data["locations"]]
        self.buffers = [self.buffer(row) for row in data["buffers"]]
        self.values = [self.value(i, row) for i, row in enumerate(data["values"])]

    def plan(self) -> ExecutionPlan:
        """The plan.

        Raises:
            Exception: of any kind, where the data are no plan; see `read_plan`.
        """
        raise NotImplementedError

    def fields(self) -> dict[str, Any]:
        """Fields of the plan that the data alone tell."""
        data = self.data
        self.read_tables()
        return {
            "name": str(data["name"]),
            "buffers": self.buffers,
            "values": self.values,
            "steps": self.steps(data["steps"], 0),
            "symbols": tuple(self.symbols[name] for name in data["symbols"]),
            "inputs": tuple(self.place(i) for i in data["inputs"]),
            "outputs": tuple(PlannedOutput(self.place(v), self.index(b, -1), bool(s)) for v, b, *s in data["outputs"]),
            "states": tuple(self.state(row) for row in data["states"]),
            "end": number(data["end"]),
            "example": {str(k): number(v) for k, v in data["example"].items()},
            "memory": self.memory(data["memory"]),
            "sharing": str(data["sharing"]),
            "required": tuple(
                Required(self.place(v), self.size(a), self.size(b)) for v, a, b in data.get("required", ())
            ),
        }

    def size(self, raw: object) -> Size:
        if isinstance(raw, str):
            return parse_size(raw, self.symbols)
        return number(raw)

    def buffer(self, row: Sequence[Any]) -> Buffer:
        name, kind, size, extents, alignment, index = row
        if kind not in get_args(BufferKind) or not isinstance(name, str):
            raise damaged_plan("a buffer of an unknown kind")
        found = tuple(Extent(self.size(o), self.size(n), number(start), number(end)) for o, n, start, end in extents)
        whole = None if size is None else self.size(size)
        if kind == "arena" and whole is None:
            raise damaged_plan("a buffer of the arena without a size")
        return Buffer(name, kind, whole, found, number(alignment), number(index))

    def value(self, position: int, row: Sequence[Any]) -> PlannedValue:
        name, buffer, offset, view, shape = row
        if not isinstance(name, str) or not isinstance(view, bool):
            raise damaged_plan("a value without a name")
        type, layout = self.kind(position, name, shape)
        return PlannedValue(name, type, layout, self.index(buffer), self.size(offset), view)

    def kind(self, position: int, name: str, shape: Sequence[Any] | None) -> tuple[Type, Layout | None]:
        """Type and layout of a value; `shape` is given where it is not the graph's."""
        raise NotImplementedError

    def state(self, row: Sequence[Any]) -> PlannedState:
        name, read, write, in_place = row
        type = self.values[self.place(read)].type
        if not isinstance(type, TensorType):
            raise damaged_plan("a state that is no tensor")
        return PlannedState(
            str(name), type, self.place(read), -1 if write == -1 else self.place(write), in_place is True
        )

    def gears(self) -> dict[str, list[int]]:
        """Values by symbol name, as they are stored."""
        return {str(name): [number(n) for n in sizes] for name, sizes in self.data.get("gears", {}).items()}

    def memory(self, row: Sequence[Any] | None) -> MemoryPlan | None:
        if row is None:
            return None
        size, offsets, bound, no_reuse, planner = row
        places = {str(k): number(v) for k, v in offsets.items()}
        return MemoryPlan(number(size), places, number(bound), number(no_reuse), str(planner))

    def index(self, raw: object, least: int = 0) -> int:
        """A buffer's number."""
        found = number(raw)
        if not least <= found < len(self.buffers):
            raise damaged_plan(f"there is no buffer {found}")
        return found

    def place(self, raw: object, least: int = 0) -> int:
        """A value's number."""
        found = number(raw)
        if not least <= found < len(self.values):
            raise damaged_plan(f"there is no value {found}")
        return found

    def steps(self, rows: Sequence[Mapping[str, Any]], depth: int) -> tuple[Step, ...]:
        if depth > _MOST_DEPTH:
            raise damaged_plan("steps nested too deeply")
        return tuple(self.step(row, depth) for row in rows)

    def step(self, row: Mapping[str, Any], depth: int) -> Step:
        cls = STEP_KINDS[row["kind"]]
        read: dict[str, Callable[[Any], Any]] = {
            "loc": lambda raw: self.locations[number(raw)],
            "symbol": lambda raw: Symbol(str(raw[0]), number(raw[1]), None if raw[2] is None else number(raw[2])),
            "buffer": self.index,
            "a": self.size,
            "b": self.size,
            "workspace": lambda raw: self.index(raw, -1),
            "inputs": lambda raw: tuple(self.place(i, -1) for i in raw),
            "outputs": lambda raw: tuple(self.place(i) for i in raw),
            "carried": lambda raw: tuple(Carried(*map(self.place, item)) for item in raw),
            "scan_inputs": lambda raw: tuple(map(self.scanned, raw)),
            "scan_outputs": lambda raw: tuple(map(self.scanned, raw)),
            **{name: lambda raw: self.place(raw, -1) for name in _PLACES},
            **{name: lambda raw: self.steps(raw, depth + 1) for name in _NESTED},
        }
        given = {f.name: read.get(f.name, _same)(row[f.name]) for f in fields(cls)}
        step = cls(**given)
        if isinstance(step, (KernelStep, HostStep, IfStep, LoopStep)):
            self.check_node(step)
        return step

    def scanned(self, row: Sequence[Any]) -> Scanned:
        whole, part, axis, reverse, direct = row
        return Scanned(self.place(whole), self.place(part), number(axis), reverse is True, direct is True)

    def check_node(self, step: KernelStep | HostStep | IfStep | LoopStep) -> None:
        """Whether the graph has the step's node."""


class _GraphReader(PlanReader):
    """Holds everything against the graph."""

    def __init__(self, data: object, graph: Graph) -> None:
        super().__init__(data)
        self.graph = graph
        self.symbols = symbol_table(graph)
        self.nodes = tuple(walk(graph))
        self.known = _named(graph)

    def plan(self) -> ExecutionPlan:
        graph, found = self.graph, self.fields()
        if [self.values[i].name for i in found["inputs"]] != [v.name for v in graph.inputs]:
            raise damaged_plan("its inputs are not the graph's")
        if len(found["outputs"]) != len(graph.outputs):
            raise damaged_plan("its outputs are not the graph's")
        if [state.type for state in found["states"]] != [state.initial.type for state in graph.states]:
            raise damaged_plan("its states are not the graph's")
        return ExecutionPlan(
            graph=graph,
            constants=[v.constant for v in graph.constants if v.constant is not None],
            layouts=[v.layout for v in graph.constants],
            gears=read_gears(self.gears(), [graph]),
            **found,
        )

    def kind(self, position: int, name: str, shape: Sequence[Any] | None) -> tuple[Type, Layout | None]:
        if shape is None:
            of_graph = self.known[name]
            return of_graph.type, of_graph.layout
        return TensorType(DType.of(str(shape[0])), tuple(self.size(d) for d in shape[1])), None

    def check_node(self, step: KernelStep | HostStep | IfStep | LoopStep) -> None:
        """The step's node is there, of its kind, and takes and gives what the step says."""
        node: Node = self.nodes[number(step.node)]
        if step.node < 0 or (node.op in CONTROL) != isinstance(step, (IfStep, LoopStep)):
            raise damaged_plan(f"step {step.name[:40]} is no {step.kind} of its node {node.op}")
        if isinstance(step, (KernelStep, HostStep)):
            reads = [None if i < 0 else self.values[i].type for i in step.inputs]
            wanted = [None if v is None else source_of(v).type for v in operands(node)]
            writes = [self.values[i].type for i in step.outputs]
            if reads != wanted or writes != [v.type for v in node.outputs]:
                raise damaged_plan(f"step {step.name[:40]} has other operands than its node {node.op}")


def _same(raw: Any) -> Any:
    return raw


def number(raw: object) -> int:
    """A whole number.

    Raises:
        OfflineModelError: it is none.
    """
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise damaged_plan(f"{str(raw)[:40]!r} is no number")
    return raw


def _typed(row: Sequence[Any], types: Sequence[type]) -> Sequence[Any]:
    if len(row) != len(types) or not all(isinstance(x, t) for x, t in zip(row, types, strict=True)):
        raise damaged_plan("a location of another form")
    return row
