"""The execution plan of one graph: what is done in which order, and in which bytes.

Values are numbered; each lies in a buffer at a byte offset. A buffer is a compound: a rigid set of extents in
time x bytes, so that views, in-place results, concat inputs and split parts are no special cases. Sizes are
expressions over symbols, so that one plan serves all shapes. Steps are plain data; `node` is the position of the
graph's node in `ge_core.ir.traverse.walk` order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from ge_core.errors import PlanError
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size, Symbol
from ge_core.ir.graph import Graph, Node
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.traverse import walk
from ge_core.ir.types import Layout, TensorType, Type
from ge_core.memory import MemoryPlan

BufferKind = Literal["arena", "output", "input", "constant", "state", "dynamic", "object"]
"""Where a buffer's bytes are.

arena: in the arena, at an offset that depends on the shapes of the call.
output: allocated for each call and handed to the caller.
input, constant, state: the caller's, the model's, the session's; never in the arena.
dynamic: allocated when its size becomes known, because no bound is known before.
object: no bytes (sequences, optionals, strings, values of unknown rank); host steps only.
"""


@dataclass(frozen=True)
class Extent:
    """Bytes [offset, offset + size) of a buffer, live in times [start, end)."""

    offset: Size
    size: Size
    start: int
    end: int


@dataclass(frozen=True)
class Buffer:
    """A compound buffer.

    Attributes:
        name: of the value that it is named after; unique in a plan.
        size: bytes of the whole; None when only the run knows (dynamic, object). With data-dependent symbols it
            stands for its upper bound.
        extents: when which bytes are live, of arena and output buffers; those of the arena are placed by them.
        index: of an input, constant, state or output: its position there.
    """

    name: str
    kind: BufferKind
    size: Size | None
    extents: tuple[Extent, ...] = ()
    alignment: int = 64
    index: int = -1


@dataclass(frozen=True)
class PlannedValue:
    """A value and its place.

    Attributes:
        offset: bytes from the start of the buffer.
        view: its shape is known at the start of a call, so that its place is too.
    """

    name: str
    type: Type
    layout: Layout | None
    buffer: int
    offset: Size = 0
    view: bool = True


@dataclass(frozen=True, kw_only=True)
class _Step:
    time: int
    name: str
    loc: Location = UNKNOWN

    kind: ClassVar[str] = ""


@dataclass(frozen=True, kw_only=True)
class KernelStep(_Step):
    """Run one of the target's kernels.

    Attributes:
        inputs: values in the order of `ge_core.backend.operands(node)`, -1 where omitted.
        outputs: values written.
        implementation, data: of the selected Implementation.
        workspace: a buffer for scratch, -1 for none. A dynamic one (its size has no bound before the run) is
            allocated by the backend for the step alone.
    """

    kind: ClassVar[str] = "kernel"
    node: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    implementation: str
    data: Mapping[str, Any] = field(default_factory=dict)
    workspace: int = -1


@dataclass(frozen=True, kw_only=True)
class HostStep(_Step):
    """Run a node by its reference kernel; its dynamic and object outputs are kept as they come."""

    kind: ClassVar[str] = "host"
    node: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ViewStep(_Step):
    """`value` is another shape of the bytes of `source`, or a part of them: no work."""

    kind: ClassVar[str] = "view"
    value: int
    source: int


@dataclass(frozen=True, kw_only=True)
class CopyStep(_Step):
    """Copy a value into another one of the same type; a refused alias, or a state or branch result."""

    kind: ClassVar[str] = "copy"
    source: int
    target: int


@dataclass(frozen=True, kw_only=True)
class AllocStep(_Step):
    """Allocate the dynamic buffer of a value, whose size has become known."""

    kind: ClassVar[str] = "alloc"
    value: int


@dataclass(frozen=True, kw_only=True)
class FreeStep(_Step):
    """Give a dynamic buffer (or object) back."""

    kind: ClassVar[str] = "free"
    buffer: int


@dataclass(frozen=True, kw_only=True)
class BindStep(_Step):
    """A data-dependent size becomes known: the size of `value` along `axis`, or its only element (axis -1)."""

    kind: ClassVar[str] = "bind"
    symbol: Symbol
    value: int
    axis: int


@dataclass(frozen=True, kw_only=True)
class CompareStep(_Step):
    """Two sizes, of which the data decide one, must be equal for the step that follows."""

    kind: ClassVar[str] = "compare"
    a: Size
    b: Size


@dataclass(frozen=True, kw_only=True)
class IfStep(_Step):
    """Run one of two step lists; each ends by putting its results into the values that follow."""

    kind: ClassVar[str] = "if"
    node: int
    condition: int
    then_steps: tuple[Step, ...]
    else_steps: tuple[Step, ...]


@dataclass(frozen=True)
class Carried:
    """A value that goes round a loop.

    Attributes:
        initial: copied to `param` before the first round (no copy when they share their place).
        param: what the body reads; after the loop it holds the result.
        result: what the body computes; copied to `param` after each round.
        final: the node's output; shares the place of `param`.
    """

    initial: int
    param: int
    result: int
    final: int


@dataclass(frozen=True)
class Scanned:
    """An input of which each round takes a slice, or an output to which each round adds one.

    Attributes:
        direct: the output is written round by round, since the number of rounds is known before the first.
    """

    whole: int
    slice: int
    axis: int = 0
    reverse: bool = False
    direct: bool = False


@dataclass(frozen=True, kw_only=True)
class LoopStep(_Step):
    """Run `body` again and again: ONNX Loop and Scan.

    Attributes:
        trip: value of the most rounds, -1 for none. A Scan takes the size of its scanned inputs.
        condition: value that says whether there is a first round, -1 for true.
        counter, condition_param: params of the body, -1 where nothing reads them (Scan has none).
        condition_result: value that says whether there is a next round, -1 for true.
        staged: results are read before any param is written, since some lie in the bytes of other params.

    Sizes that the body binds are bound anew in each round, and mean nothing after the loop.
    """

    kind: ClassVar[str] = "loop"
    node: int
    trip: int
    condition: int
    counter: int
    condition_param: int
    condition_result: int
    carried: tuple[Carried, ...]
    scan_inputs: tuple[Scanned, ...]
    scan_outputs: tuple[Scanned, ...]
    body: tuple[Step, ...]
    staged: bool = False


Step: TypeAlias = (
    KernelStep | HostStep | ViewStep | CopyStep | AllocStep | FreeStep | BindStep | CompareStep | IfStep | LoopStep
)
STEP_KINDS: dict[str, type[Step]] = {
    cls.kind: cls
    for cls in (KernelStep, HostStep, ViewStep, CopyStep, AllocStep, FreeStep, BindStep, CompareStep, IfStep, LoopStep)
}


@dataclass(frozen=True)
class PlannedState:
    """A state: the value that holds it at the start of a call, and the one that replaces it at the end.

    Attributes:
        write: -1 when the graph never changes it.
        in_place: both are the same bytes: a step updates the state where it is. Else `write` is copied at the end,
            after the outputs, so that a call that fails leaves the state as it was.
    """

    name: str
    type: TensorType
    read: int
    write: int = -1
    in_place: bool = False


@dataclass(frozen=True)
class PlannedOutput:
    """A graph output.

    Attributes:
        value: what is handed out.
        buffer: the `output` buffer in which it is computed, -1 when it is copied out.
        squeezed: it is handed out without its axes of size 1.
    """

    value: int
    buffer: int = -1
    squeezed: bool = False

    def handed(self, array: Any) -> Any:
        """The value as the caller gets it."""
        return array.reshape([n for n in array.shape if n != 1]) if self.squeezed else array


@dataclass(frozen=True)
class Required:
    """Two sizes that must be equal where `value` is computed; the inputs' sizes decide whether they are.

    Those that the data decide have a CompareStep.
    """

    value: int
    a: Size
    b: Size


@dataclass(eq=False)
class ExecutionPlan:
    """What runs when a graph is called.

    Attributes:
        graph: the selected graph that the plan belongs to; not part of the stored form.
        symbols: those that the inputs' shapes give a value to, in the order in which they are bound.
        inputs: values of the graph's inputs.
        constants: data of the buffers of kind "constant", by their index; `layouts` says how each is stored.
        end: time after the last step.
        example: symbol values that the reported figures hold for.
        memory: the placement for `example`.
        sharing: the way in which values share bytes, a name of `ge_core.plan.homes.WAYS`.
        gears: values of symbols for which memory is planned once; see `ge_core.plan.gears`.
        required: sizes that must be equal, as far as nothing proves that they are.
    """

    name: str
    graph: Graph
    buffers: list[Buffer]
    values: list[PlannedValue]
    steps: tuple[Step, ...]
    symbols: tuple[Symbol, ...]
    inputs: tuple[int, ...]
    outputs: tuple[PlannedOutput, ...]
    states: tuple[PlannedState, ...]
    constants: list[Constant]
    layouts: list[Layout | None]
    end: int
    example: dict[str, int] = field(default_factory=dict)
    memory: MemoryPlan | None = None
    sharing: str = ""
    gears: dict[str, tuple[int, ...]] = field(default_factory=dict)
    required: tuple[Required, ...] = ()
    _nodes: tuple[Node, ...] | None = field(default=None, repr=False)

    def node(self, index: int) -> Node:
        """The graph's node of a step.

        Raises:
            PlanError: there is none (the plan belongs to another graph).
        """
        if self._nodes is None:
            self._nodes = tuple(walk(self.graph))
        if not 0 <= index < len(self._nodes):
            raise PlanError(f"the plan names node {index}, its graph has {len(self._nodes)}")
        return self._nodes[index]

    @property
    def input_values(self) -> list[PlannedValue]:
        """The values of the graph's inputs, with their names and types."""
        return [self.values[i] for i in self.inputs]

    @property
    def output_types(self) -> list[Type]:
        """Types of the graph's outputs."""
        found: list[Type] = []
        for output in self.outputs:
            type = self.values[output.value].type
            squeezed = output.squeezed and isinstance(type, TensorType)
            found.append(TensorType(type.dtype, None) if squeezed else type)  # type: ignore[union-attr]
        return found

    def all_steps(self) -> Iterator[Step]:
        """Every step, those of branches and bodies after their If or Loop."""
        return _flat(self.steps)

    def place_of(self, value: int) -> tuple[int, Size]:
        """Buffer and offset of a value: equal places are the same bytes."""
        v = self.values[value]
        return v.buffer, v.offset

    def counts(self) -> dict[str, int]:
        """Number of steps by kind."""
        found: dict[str, int] = {}
        for step in self.all_steps():
            found[step.kind] = found.get(step.kind, 0) + 1
        return found


def _flat(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step, IfStep):
            yield from _flat(step.then_steps)
            yield from _flat(step.else_steps)
        elif isinstance(step, LoopStep):
            yield from _flat(step.body)
