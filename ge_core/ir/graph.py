"""The graph: SSA values, nodes in a linked list, regions with captures, constants and states.

Insertion, removal and use updates are O(1). A value knows its producer and its uses; a use is a node input, a
capture of a region, an output of a graph or region, or the write of a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ge_core.errors import GraphError, UnknownRankError
from ge_core.ir.constant import Constant, Content, content_of
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.dtype import DType
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.node_list import NodeList
from ge_core.ir.types import Layout, TensorType, Type

AttrScalar: TypeAlias = int | float | str | bytes | bool | DType | Dim
Attr: TypeAlias = AttrScalar | tuple[AttrScalar, ...] | Constant


class Value:
    """One SSA value. `producer` is the node that makes it; None for inputs, params, constants and states.

    Attributes:
        content: up to 64 integers and Dims known at compile time: the elements of this int tensor (row-major).
        constant: its data when the value is a constant of the graph.
        captured: the capture that brings it into its region when it is a capture's param.
        layout: storage layout, None until the graph is selected.
    """

    __slots__ = ("_uses", "captured", "constant", "content", "layout", "name", "owner", "producer", "type")

    def __init__(self, name: str, type: Type, producer: Node | None = None, owner: Block | None = None) -> None:
        self.name, self.type, self.producer, self.owner = name, type, producer, owner
        self.content: Content | None = None
        self.constant: Constant | None = None
        self.captured: Capture | None = None
        self.layout: Layout | None = None
        self._uses: dict[Use, None] = {}

    @property
    def uses(self) -> tuple[Use, ...]:
        """All uses in the order in which they were added."""
        return tuple(self._uses)

    @property
    def has_uses(self) -> bool:
        return bool(self._uses)

    @property
    def use_count(self) -> int:
        return len(self._uses)

    @property
    def tensor(self) -> TensorType:
        """The type of a tensor value.

        Raises:
            GraphError: the value is a sequence or optional.
        """
        if not isinstance(self.type, TensorType):
            raise GraphError(f"value {self.name} is {self.type}, expected a tensor")
        return self.type

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[Size, ...]:
        """The shape; an unknown rank raises UnknownRankError."""
        shape = self.tensor.shape
        if shape is None:
            raise UnknownRankError(f"value {self.name} has unknown rank")
        return shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    def replace_uses(self, new: Value, where: Callable[[Use], bool] | None = None) -> None:
        """Make every use (or every use that `where` accepts) read `new` instead."""
        if new is self:
            return
        for use in list(self._uses):
            if where is None or where(use):
                use.set(new)

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


class Use(NamedTuple):
    """One place that reads a value.

    `user` is a Node (kind "input"), a Region (kinds "capture", "output"), or a Graph (kinds "output", "state");
    `index` is the position there.
    """

    user: Node | Block
    kind: str
    index: int  # type: ignore[assignment]  # hides a method of tuples that nobody needs

    def set(self, value: Value | None) -> None:
        """Point this use at another value."""
        if self.kind == "input":
            assert isinstance(self.user, Node)
            self.user.set_input(self.index, value)
        elif self.kind == "capture":
            assert isinstance(self.user, Region) and value is not None
            self.user.set_capture(self.index, value)
        elif self.kind == "output":
            assert isinstance(self.user, Block) and value is not None
            self.user.set_output(self.index, value)
        else:
            assert isinstance(self.user, Graph)
            self.user.set_state_write(self.user.states[self.index], value)


class Node:
    """One operation. `op` is an ONNX operator name, or `ge.Name` for our own domain.

    Attributes:
        inputs: the schema's inputs; None is an omitted optional one.
        attrs: name to int, float, str, bytes, DType, Dim, tuples of those, or a tensor (Constant).
        regions: name to Region (If: then_branch, else_branch; Loop, Scan, ge.Fused: body).
        block: the Graph or Region that holds the node.
    """

    __slots__ = ("_inputs", "attrs", "block", "loc", "next", "op", "outputs", "prev", "regions")

    def __init__(
        self,
        op: str,
        inputs: Sequence[Value | None] = (),
        attrs: Mapping[str, Attr] | None = None,
        loc: Location = UNKNOWN,
    ) -> None:
        self.op, self.loc = op, loc
        self.attrs: dict[str, Attr] = dict(attrs or {})
        self.outputs: list[Value] = []
        self.regions: dict[str, Region] = {}
        self.block: Block | None = None
        self.prev: Node | None = None
        self.next: Node | None = None
        self._inputs: list[Value | None] = []
        for v in inputs:
            self.append_input(v)

    @property
    def inputs(self) -> tuple[Value | None, ...]:
        return tuple(self._inputs)

    @property
    def output(self) -> Value:
        """The only output."""
        if len(self.outputs) != 1:
            raise GraphError(f"{self.op} has {len(self.outputs)} outputs, expected one", where=self.loc)
        return self.outputs[0]

    def input(self, index: int) -> Value | None:
        """Input `index`, None when it is omitted."""
        return self._inputs[index] if index < len(self._inputs) else None

    def set_input(self, index: int, value: Value | None) -> None:
        old = self._inputs[index]
        if old is not None:
            del old._uses[Use(self, "input", index)]
        self._inputs[index] = value
        if value is not None:
            value._uses[Use(self, "input", index)] = None

    def append_input(self, value: Value | None) -> None:
        self._inputs.append(None)
        self.set_input(len(self._inputs) - 1, value)

    def set_inputs(self, values: Sequence[Value | None]) -> None:
        """Replace the whole input list."""
        for i in range(len(self._inputs)):
            self.set_input(i, None)
        self._inputs.clear()
        for v in values:
            self.append_input(v)

    def add_region(self, name: str, region: Region) -> Region:
        region.node = self
        self.regions[name] = region
        return region

    def __repr__(self) -> str:
        outs = ", ".join(f"%{v.name}" for v in self.outputs)
        ins = ", ".join("_" if v is None else f"%{v.name}" for v in self._inputs)
        return f"{outs} = {self.op}({ins})"


class Block:
    """What graphs and regions share: params, nodes and outputs."""

    def __init__(self) -> None:
        self.params: list[Value] = []
        self.nodes = NodeList(self)
        self._outputs: list[Value] = []

    @property
    def graph(self) -> Graph:
        """The graph that holds this block."""
        raise NotImplementedError

    @property
    def outputs(self) -> tuple[Value, ...]:
        return tuple(self._outputs)

    def set_output(self, index: int, value: Value) -> None:
        del self._outputs[index]._uses[Use(self, "output", index)]
        self._outputs[index] = value
        value._uses[Use(self, "output", index)] = None

    def set_outputs(self, values: Iterable[Value]) -> None:
        """Replace the whole output list."""
        for i, old in enumerate(self._outputs):
            del old._uses[Use(self, "output", i)]
        self._outputs = list(values)
        for i, value in enumerate(self._outputs):
            value._uses[Use(self, "output", i)] = None

    def add_param(self, name: str, type: Type) -> Value:
        """A new input of the graph, or a new formal parameter of the region."""
        value = Value(self.graph.fresh_name(name), type, None, self)
        self.params.append(value)
        return value

    def remove_param(self, value: Value) -> None:
        if value.has_uses:
            raise GraphError(f"cannot remove %{value.name}: it is still used")
        self.params.remove(value)


@dataclass(eq=False)
class Capture:
    """An outer value made visible inside a region as `param`."""

    outer: Value
    param: Value


class Region(Block):
    """A nested graph of If, Loop, Scan or ge.Fused. Only params and captures bring values in.

    Args:
        graph: the graph that the region belongs to.
        outer: the block for which it is built, until its node stands in one.
    """

    def __init__(self, graph: Graph, outer: Block | None = None) -> None:
        self._graph = graph
        self._building_in = outer
        self.captures: list[Capture] = []
        self._param_of: dict[Value, Value] = {}
        self.node: Node | None = None
        super().__init__()

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def outer(self) -> Block | None:
        """The block around the region; while the region is built, the block it is built for."""
        if self.node is not None and self.node.block is not None:
            return self.node.block
        return self._building_in

    def capture(self, outer: Value) -> Value:
        """The param through which `outer` is visible here; made on first use."""
        found = self._param_of.get(outer)
        if found is not None:
            return found
        param = Value(self._graph.fresh_name(outer.name), outer.type, None, self)
        param.content = outer.content
        return self.adopt_capture(outer, param)

    def adopt_capture(self, outer: Value, param: Value) -> Value:
        """Capture `outer` as the given fresh param (used by readers of graphs)."""
        param.captured = Capture(outer, param)
        self.captures.append(param.captured)
        self._param_of.setdefault(outer, param)
        outer._uses[Use(self, "capture", len(self.captures) - 1)] = None
        return param

    def set_capture(self, index: int, outer: Value) -> None:
        c = self.captures[index]
        del c.outer._uses[Use(self, "capture", index)]
        if self._param_of.get(c.outer) is c.param:
            del self._param_of[c.outer]
        c.outer = outer
        self._param_of.setdefault(outer, c.param)
        outer._uses[Use(self, "capture", index)] = None

    def remove_unused_captures(self) -> bool:
        """Drop the captures whose param nothing reads; whether there were any."""
        kept = [c for c in self.captures if c.param.has_uses]
        if len(kept) == len(self.captures):
            return False
        for i, c in enumerate(self.captures):
            del c.outer._uses[Use(self, "capture", i)]
        self.captures = kept
        self._param_of = {}
        for i, c in enumerate(kept):
            self._param_of.setdefault(c.outer, c.param)
            c.outer._uses[Use(self, "capture", i)] = None
        return True

    def drop(self) -> None:
        """Release everything that the region reads from outside and inside."""
        self.set_outputs(())
        for node in reversed(self.nodes):
            self.nodes.remove(node)
        for i, c in enumerate(self.captures):
            del c.outer._uses[Use(self, "capture", i)]
        self.captures.clear()
        self._param_of.clear()


@dataclass(eq=False)
class State:
    """A mutable buffer that a session keeps between calls (a KV cache).

    Attributes:
        read: the value at the start of a call.
        write: the value at the end of a call, None when the graph never changes it.
        initial: data at the start of a session.
    """

    name: str
    read: Value
    write: Value | None
    initial: Constant


@dataclass
class Names:
    """Fresh names: unique per graph, never reused."""

    taken: dict[str, int] = field(default_factory=dict)

    def fresh(self, hint: str) -> str:
        base = hint or "v"
        if base not in self.taken:
            self.taken[base] = 0
            return base
        while True:
            self.taken[base] += 1
            name = f"{base}_{self.taken[base]}"
            if name not in self.taken:
                self.taken[name] = 0
                return name


class Graph(Block):
    """A whole model or one entry of it.

    Attributes:
        name: name of the graph.
        constants: values with data, in order of creation.
        states: mutable buffers.
        stage: the stage whose rules hold: imported, optimised, legal, selected.
    """

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.constants: dict[Value, None] = {}
        self.states: list[State] = []
        self.stage = "imported"
        self.names = Names()
        self.symbol_names = Names()
        super().__init__()

    @property
    def graph(self) -> Graph:
        return self

    @property
    def inputs(self) -> list[Value]:
        return self.params

    def fresh_name(self, hint: str) -> str:
        return self.names.fresh(hint)

    def fresh_symbol(self, hint: str = "u", lo: int = 0, hi: int | None = None) -> Symbol:
        """A new data-dependent size."""
        return Symbol(self.symbol_names.fresh(hint), lo, hi)

    def add_constant(self, constant: Constant, name: str = "c") -> Value:
        value = Value(self.fresh_name(name), constant.type, None, self)
        value.constant = constant
        value.content = content_of(constant)
        self.constants[value] = None
        return value

    def remove_constant(self, value: Value) -> None:
        if value.has_uses:
            raise GraphError(f"cannot remove constant %{value.name}: it is still used")
        del self.constants[value]

    def add_state(self, name: str, initial: Constant) -> State:
        read = Value(self.fresh_name(name), initial.type, None, self)
        state = State(name, read, None, initial)
        self.states.append(state)
        return state

    def set_state_write(self, state: State, value: Value | None) -> None:
        use = Use(self, "state", self.states.index(state))
        if state.write is not None:
            del state.write._uses[use]
        state.write = value
        if value is not None:
            value._uses[use] = None

    def remove_state(self, state: State) -> None:
        """Drop a state that nothing reads."""
        if state.read.has_uses:
            raise GraphError(f"cannot remove state {state.name}: it is still read")
        writes = [s.write for s in self.states]
        for s in self.states:
            self.set_state_write(s, None)
        kept = [(s, w) for s, w in zip(self.states, writes, strict=True) if s is not state]
        self.states = [s for s, _ in kept]
        for s, w in kept:
            self.set_state_write(s, w)


def source_of(value: Value) -> Value:
    """The value outside all regions that a capture's param stands for; any other value itself."""
    while value.captured is not None:
        value = value.captured.outer
    return value


def constant_of(value: Value | None) -> Constant | None:
    """The data of a value when it is a constant, seen through captures."""
    return None if value is None else source_of(value).constant
