"""The backend contract: what the core asks of a target, and what the two hand each other.

A *planned* backend judges fusion groups (`may_join`), offers implementations among which the core selects, and
turns the core's ExecutionPlan into code (`build`). A *whole-graph* backend gets the legal graph. Both give an
Artifact, plain data that goes into a file, and turn it into an Executable in any later process.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union, runtime_checkable

from ge_core.errors import BackendError
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph, Node, Value
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.types import Layout

if TYPE_CHECKING:
    import numpy as np

    from ge_core.plan.plan import ExecutionPlan
    from ge_core.plan.states import StateStore

Buffer: TypeAlias = Union[bytes, bytearray, memoryview, "np.ndarray"]
Options: TypeAlias = Mapping[str, object]
Precision = Literal["accuracy", "balanced", "speed"]
PrecisionClass = Literal["exact", "accurate", "balanced", "fast"]
"""How far an implementation's result may lie from the exact one: `exact` is bit-equal to the reference; `accurate`
keeps float32 accumulation and no re-association beyond a blocked sum; `balanced` stays under 2e-5 of the output's
scale; `fast` trades more (half or int8 weights)."""

ALLOWED: Mapping[Precision, tuple[PrecisionClass, ...]] = {
    "accuracy": ("exact", "accurate"),
    "balanced": ("exact", "accurate", "balanced"),
    "speed": ("exact", "accurate", "balanced", "fast"),
}
"""The precision classes that selection may use under the user's `precision`."""


@dataclass(frozen=True, kw_only=True)
class TargetInfo:
    """What the core and a person may know of a target without opening a device.

    Attributes:
        name: the name that `compile(target=...)` takes.
        dtypes: element types that the target's kernels take; values of others are refused or run on the host.
        alignment: bytes to which buffers are aligned.
        pools: memory pools in order of preference, name to capacity in bytes (None: no limit known).
        figures: what a cost model or a report may use (peak operations and bytes per second, cache sizes).
        copies_weights: `build` packs or copies every constant, so that the core need not copy them before.
        native: an artifact's items are code that this machine would execute, so that those of a file need the user's
            trust. Only the backend can say otherwise, never the file.
        available: whether the target can run here; `reason` says why not and what to install.
    """

    name: str
    description: str = ""
    dtypes: frozenset[DType] = frozenset()
    alignment: int = 64
    pools: Mapping[str, int | None] = field(default_factory=lambda: {"memory": None})
    figures: Mapping[str, float | str] = field(default_factory=dict)
    copies_weights: bool = False
    native: bool = True
    available: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Problem:
    """One thing that keeps a target from compiling a graph: what, where in the user's model, what to do."""

    what: str
    loc: Location = UNKNOWN
    fix: str = ""
    node: str = ""

    def __str__(self) -> str:
        where = f" ({self.loc})" if str(self.loc) else ""
        return f"{self.what}{where}" + (f": {self.fix}" if self.fix else "")


@dataclass(frozen=True)
class Refusal:
    """Why a node did not join a group; shown in the report. `code` is short and stable (`too-many-inputs`)."""

    code: str
    reason: str = ""

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Group:
    """A fusion group while it grows: nodes of one block in topological order, not yet one `ge.Fused` node."""

    nodes: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Value, ...]:
        """Values that the group reads from outside, in order of first use, each once."""
        own = set(self.nodes)
        found = {v: None for n in self.nodes for v in operands(n) if v is not None and v.producer not in own}
        return tuple(found)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """Values that something outside the group reads, in order of definition."""
        own = set(self.nodes)
        return tuple(v for n in self.nodes for v in n.outputs if any(u.user not in own for u in v.uses))


def operands(node: Node) -> list[Value | None]:
    """All values that a node reads: its inputs (None where omitted), then the captures of its regions in order.

    The inputs of a KernelStep or HostStep are these, in this order.
    """
    found: list[Value | None] = list(node.inputs)
    for region in node.regions.values():
        found += [capture.outer for capture in region.captures]
    return found


@dataclass(frozen=True)
class Storage:
    """How one operand is stored: None means row-major, and the graph's own element type."""

    layout: Layout | None = None
    dtype: DType | None = None


ROW_MAJOR = Storage()


@dataclass(frozen=True, kw_only=True)
class Implementation:
    """One way in which a target can run a node (a `ge.Fused` group or a single operator).

    Attributes:
        name: names the kernel, unique per node; goes into plans, reports and files.
        inputs: storage of each operand in the order of `operands(node)`; missing entries are row-major.
        outputs: storage of each output; missing entries are row-major.
        workspace: bytes of scratch memory that live for this step alone.
        in_place: pairs (operand index, output index): the kernel reads that operand only at the place that it
            writes at the same moment (or before it writes anything), so that both may be the same bytes. The
            operand's bytes must be at least the output's.
        cost: estimated seconds at the plan's example sizes; only compared with other costs of the same target.
        precision: see PrecisionClass.
        data: the backend's own parameters, JSON-able; handed back in the KernelStep.
    """

    name: str
    inputs: tuple[Storage, ...] = ()
    outputs: tuple[Storage, ...] = ()
    workspace: Size = 0
    in_place: tuple[tuple[int, int], ...] = ()
    cost: float = 0.0
    precision: PrecisionClass = "exact"
    data: Mapping[str, Any] = field(default_factory=dict)

    def input(self, index: int) -> Storage:
        return self.inputs[index] if index < len(self.inputs) else ROW_MAJOR

    def output(self, index: int) -> Storage:
        return self.outputs[index] if index < len(self.outputs) else ROW_MAJOR


@dataclass
class Artifact:
    """A compiled model as data; no live objects of a device, a compiler or a framework.

    Attributes:
        target: name of the target.
        items: named bytes of the backend (`kernels/x86-64-v3`); read-only.
        metadata: JSON-able facts of the backend.
        graphs: the graph of each entry as it is stored: for a planned backend the selected one, whose constants
            are the weights. A whole-graph backend may keep the weights in its items and leave this empty.
        plans: the plan of each entry (planned backends).
        store_plans: whether the plans go into the file; else `load` gets none and makes them again.
        native: whether an item holds code that this machine would execute.
        notes: what the backend chose on its own account, for the report.
    """

    target: str
    items: dict[str, Buffer] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    graphs: MutableMapping[str, Graph] = field(default_factory=dict)
    plans: dict[str, ExecutionPlan] = field(default_factory=dict)
    store_plans: bool = True
    native: bool = False
    notes: list[str] = field(default_factory=list)


@runtime_checkable
class Executable(Protocol):
    """A loaded artifact. Several threads may call `run` at once, each with its own session."""

    def run(self, inputs: Sequence[Any], states: StateStore, entry: str = "main") -> list[Any]:
        """Run one entry.

        Args:
            inputs: C-contiguous numpy arrays in the order of the graph's inputs, of the declared dtypes and
                ranks (checked by the caller); sizes are checked here, when symbols are bound. Never written to.
            states: the session's state buffers; updated in place.

        Returns:
            Arrays that belong to the caller: never overwritten by a later call, never views of an input,
            a state or a constant.

        Raises:
            InputError: sizes that contradict the shapes; names the input and the dim.
            ExecutionError: a step returned a status; names the node and the user's line.
        """
        ...


class Backend(Protocol):
    """A target family. Heavy imports belong inside the methods."""

    @property
    def kind(self) -> Literal["planned", "whole"]:
        """Whether the core plans for it; an attribute of the class does."""
        ...

    def targets(self) -> Sequence[TargetInfo]:
        """The targets of this family; opens no device."""
        ...

    def check(self, graph: Graph, target: str, options: Options) -> list[Problem]:
        """Everything that keeps this graph from being compiled, at once; raises nothing."""
        ...

    def passes(self, target: str, options: Options) -> Sequence[Any]:
        """Legalising passes (`ge_core.passes` Pass objects), run in order after the core's."""
        ...

    def build(
        self, entries: Mapping[str, ExecutionPlan] | Mapping[str, Graph], target: str, options: Options
    ) -> Artifact:
        """Compile the entries (usually one, "main"): plans for a planned backend, graphs for a whole one.

        Raises:
            BackendError: it cannot.
        """
        ...

    def load(self, artifact: Artifact, options: Options) -> Executable:
        """Make an artifact ready to run."""
        ...


class PlannedBackend(Backend, Protocol):
    """A backend that leaves grouping, selection, order and placement to the core."""

    def may_join(self, group: Group, node: Node) -> bool | Refusal:
        """Whether the group may grow by `node`, a consumer of one of its values. The core keeps it acyclic."""
        ...

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        """The kernels for a node (a `ge.Fused` group or a single operator); none makes it a host step."""
        ...


@runtime_checkable
class Merges(Protocol):
    """A planned backend that lets groups become one where a node reads several of them."""

    def may_merge(self, parts: tuple[Group, Group], together: Group) -> bool | Refusal:
        """Whether two groups may be one; `together` has the nodes of both in order. The core keeps it acyclic."""
        ...


@runtime_checkable
class Measures(Protocol):
    """A planned backend that can time its kernels on this machine: what the switch "measure" asks for."""

    def measured(
        self, node: Node, offered: Sequence[Implementation], target: str, options: Options
    ) -> Sequence[Implementation]:
        """The same implementations, in the same order, with measured costs; as they were where it cannot measure."""
        ...


def planned(backend: Backend) -> PlannedBackend:
    """The backend as a planned one.

    Raises:
        BackendError: it is a whole-graph backend.
    """
    if backend.kind != "planned":
        raise BackendError("a whole-graph backend takes no plan")
    return backend  # type: ignore[return-value]


def problems_error(problems: Sequence[Problem], target: str) -> BackendError:
    """The error that reports all problems of a check at once."""
    return BackendError(
        f"the target {target!r} cannot compile this model: {len(problems)} problem{'s' if len(problems) > 1 else ''}",
        details=[str(p) for p in problems],
        fix="change these places, or compile for another target (target='reference' runs everything, slowly)",
    )


__all__ = [
    "ALLOWED",
    "ROW_MAJOR",
    "Artifact",
    "Backend",
    "Executable",
    "Group",
    "Implementation",
    "Measures",
    "Merges",
    "Options",
    "PlannedBackend",
    "Precision",
    "PrecisionClass",
    "Problem",
    "Refusal",
    "Storage",
    "TargetInfo",
    "operands",
    "planned",
    "problems_error",
]
