"""A compiled model: called like the original, saved to a file, with sessions that keep its states."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ge_core.backend import Artifact, Executable
from ge_core.errors import BackendError, InputError, OutOfMemoryError
from ge_core.input_spec import InputSpec
from ge_core.ir.graph import Graph, State
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type
from ge_core.listed_sizes import ListedSizes, read_dims
from ge_core.plan.states import StateStore
from ge_core.report import CompileReport
from ge_core.signature import Signature
from ge_core.structure import Slot

if TYPE_CHECKING:
    from ge_core.plan.plan import ExecutionPlan
    from ge_core.plan.profile import StepTime
    from ge_core.plugins import Plugin

    Owner: TypeAlias = tuple[Plugin, object]

MAIN = "main"


@dataclass(frozen=True)
class Provenance:
    """Where a model comes from and how it was compiled; goes into its file.

    Attributes:
        target, backend: the target and the plugin that compiled for it.
        framework: the frontend that read the model; empty for a graph.
        options: what the user gave as `options`, as far as it is plain data.
    """

    target: str
    backend: str
    framework: str = ""
    precision: str = "balanced"
    switches: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


class CompiledModel:
    """A model ready to run; several threads may call it at once.

    It takes and returns tensors of the caller's framework, in the structure that the original model has: numpy
    arrays in give numpy arrays out.

    Attributes:
        provenance: target, options, origin.
        entries: the named entries; calling the model calls the first one.
    """

    def __init__(
        self,
        artifact: Artifact,
        executable: Executable,
        graphs: Mapping[str, Graph],
        signatures: Mapping[str, Signature],
        provenance: Provenance,
        report: CompileReport | Callable[[], CompileReport],
    ) -> None:
        self.artifact, self.executable = artifact, executable
        self.provenance, self._report = provenance, report
        self.entries: dict[str, Entry] = {name: Entry(self, name, graphs, signatures[name]) for name in graphs}
        self._main = next(iter(self.entries.values()))
        self._session = Session(self)
        self._plain: Graph | None = None

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the main entry in the model's default session.

        Raises:
            InputError: arguments that do not fit; names the argument and the dim.
            ExecutionError: a step failed; names the node and the user's line.
        """
        return self._session.run(self._main, args, kwargs)

    @property
    def report(self) -> CompileReport:
        """What the compilation did."""
        if not isinstance(self._report, CompileReport):
            self._report = self._report()
        return self._report

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """Names, types and shapes of the main entry's inputs."""
        return self._main.inputs

    @property
    def outputs(self) -> tuple[InputSpec, ...]:
        """Names, types and shapes of the main entry's outputs."""
        return self._main.outputs

    @property
    def graph(self) -> Graph:
        """The optimised graph of the main entry, without groups and layouts."""
        if self._plain is None:
            from ge_core.compiler import plain_graph

            self._plain = plain_graph(self._main.graph)
        return self._plain

    @property
    def plan(self) -> ExecutionPlan | None:
        """The execution plan of the main entry; None for targets that plan by themselves."""
        return self.artifact.plans.get(self._main.name)

    @property
    def target(self) -> str:
        return self.provenance.target

    def session(self) -> Session:
        """A session with states of its own."""
        return Session(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the offline model, whole or not at all.

        Raises:
            OfflineModelError: it cannot be written there.
        """
        from ge_core.model_store import save_model

        save_model(self, path)

    def profile(self, *args: object, **kwargs: object) -> list[StepTime]:
        """Run the main entry once, in a fresh session, and time every step."""
        return self.session().profile(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CompiledModel for {self.target}: {', '.join(map(str, self.inputs))}>"


class Entry:
    """One way to call a model: a graph with a signature.

    Args:
        graphs: of all entries; that of a stored model is decoded when somebody asks for it.

    Attributes:
        is_single: whether it returns one tensor, in no structure.
        direct: the executable's shortest way to run it on arrays, which returns None where they are not plain.
    """

    def __init__(self, model: CompiledModel, name: str, graphs: Mapping[str, Graph], signature: Signature) -> None:
        self.model, self.name, self._graphs, self.signature = model, name, graphs, signature
        self._plan = model.artifact.plans.get(name)
        self.input_types = tuple(v.type for v in (self.graph.inputs if self._plan is None else self._plan.input_values))
        outputs = len(self.graph.outputs if self._plan is None else self._plan.outputs)
        listed = read_dims(model.provenance.options.get("dims"))
        self._listed = ListedSizes(signature.input_names, self.input_types, listed)
        self._plain = None if self._listed else _plain_inputs(self.input_types, signature)
        direct = getattr(model.executable, "direct", None)
        self.direct = None if direct is None or self._plain is None else direct(name)
        self.is_single = signature.outputs == Slot(0)
        if len(signature.input_names) != len(self.input_types) or len(signature.output_names) != outputs:
            raise InputError(
                f"entry {name!r} has {len(self.input_types)} inputs and {outputs} outputs",
                expected=f"{len(signature.input_names)} and {len(signature.output_names)}, as its signature says",
            )

    @property
    def graph(self) -> Graph:
        """The graph as it is stored: for a planned target the selected one."""
        return self._graphs[self.name]

    @property
    def states(self) -> Sequence[State]:
        """The states of the graph."""
        return () if self._plan is not None and not self._plan.states else self.graph.states

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run this entry in the model's default session."""
        return self.model._session.run(self, args, kwargs)

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        return _specs(self.signature.input_names, self.input_types)

    @property
    def outputs(self) -> tuple[InputSpec, ...]:
        types = [v.type for v in self.graph.outputs] if self._plan is None else self._plan.output_types
        return _specs(self.signature.output_names, types)

    def plain(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Sequence[Any] | None:
        """The arguments themselves where they are arrays that need no look at the signature, the usual and quick
        case; None for all others, right or wrong."""
        wanted = self._plain
        if kwargs or wanted is None or len(args) != len(wanted):
            return None
        for array, (dtype, rank) in zip(args, wanted, strict=True):
            if type(array) is not np.ndarray or array.dtype is not dtype or array.ndim != rank:
                return None
            if not array.flags.c_contiguous:
                return None
        return args

    def owned(self, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[list[np.ndarray], Owner] | None:
        """The arrays of tensors of one framework, and whose they are, where these arrays would be `plain`."""
        wanted = self._plain
        if kwargs or not wanted or len(args) != len(wanted):
            return None
        import ge_core.plugins

        first = args[0]
        plugin = ge_core.plugins.host().tensor_owner(first)
        if plugin is None:
            return None
        found = []
        for tensor, (dtype, rank) in zip(args, wanted, strict=True):
            array = plugin.tensor_to_numpy(tensor) if type(tensor) is type(first) else None
            if array is None or array.dtype != dtype or array.ndim != rank or not array.flags.c_contiguous:
                return None
            found.append(array)
        return found, (plugin, first)

    def arrays(self, leaves: Sequence[object]) -> tuple[list[Any], Owner | None]:
        """The call's tensors as C-contiguous arrays, checked, and whose tensors they were."""
        found: list[Any] = []
        owner: Owner | None = None
        for name, type, leaf in zip(self.signature.input_names, self.input_types, leaves, strict=True):
            given, owner = _argument(name, type, leaf, owner)
            found.append(given)
        self._listed.check(found)
        return found, owner


class Session:
    """The states of one use of a model (a conversation's caches); several sessions are independent.

    Attributes:
        state: the states' values by name; reading copies, writing replaces.
    """

    def __init__(self, model: CompiledModel) -> None:
        self.model = model
        self.states = StateStore(state for entry in model.entries.values() for state in entry.states)
        self.state: MutableMapping[str, np.ndarray] = _StateValues(self.states)
        self._lock = threading.Lock() if len(self.states) else nullcontext()

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the main entry in this session."""
        return self.run(self.model._main, args, kwargs)

    def entry(self, name: str, *args: object, **kwargs: object) -> Any:
        """Run another entry in this session.

        Raises:
            InputError: there is no such entry.
        """
        if name not in self.model.entries:
            raise InputError(f"there is no entry {name!r}", expected=", ".join(self.model.entries))
        return self.run(self.model.entries[name], args, kwargs)

    def reset(self) -> None:
        """All states back to their first values."""
        with self._lock:
            self.states.reset()

    def save(self) -> dict[str, np.ndarray]:
        """All states' values, for `restore`."""
        with self._lock:
            return dict(self.state)

    def restore(self, values: Mapping[str, np.ndarray]) -> None:
        """Replace states by saved values."""
        with self._lock:
            for name, value in values.items():
                self.states[name].set(value)
            if set(values) == set(self.states):
                self.states.damaged = ""

    def run(self, entry: Entry, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        """Run an entry on arguments of its signature.

        Raises:
            InputError: the arguments do not fit.
            ExecutionError: a step failed, or there is not enough memory.
        """
        if entry.direct is not None and not kwargs:
            outputs = entry.direct(args)
            if outputs is not None:
                return outputs[0] if entry.is_single else entry.signature.unflatten(outputs)
        owner: Owner | None = None
        arrays = entry.plain(args, kwargs)
        if arrays is None:
            arrays, owner = entry.owned(args, kwargs) or entry.arrays(entry.signature.flatten(args, kwargs))
        try:
            outputs = None if owner is None or entry.direct is None else entry.direct(arrays)
            if outputs is None:
                with self._lock:
                    outputs = self.model.executable.run(arrays, self.states, entry.name)
        except MemoryError as error:
            if isinstance(error, OutOfMemoryError):
                raise
            shapes = [list(array.shape) if isinstance(array, np.ndarray) else "a list" for array in arrays]
            raise OutOfMemoryError(
                f"not enough memory: {error or 'an allocation failed'}",
                where=f"entry {entry.name!r} with inputs of shapes {', '.join(map(str, shapes))}",
                fix="pass smaller inputs, or give the process more memory",
            ) from error
        if owner is not None:
            plugin, like = owner
            outputs = [_to_tensor(plugin, output, like) for output in outputs]
        return outputs[0] if entry.is_single else entry.signature.unflatten(outputs)

    def profile(self, *args: object, **kwargs: object) -> list[StepTime]:
        """Run the main entry once and time every step.

        Raises:
            BackendError: the target does not tell.
        """
        entry = self.model._main
        arrays, _ = entry.arrays(entry.signature.flatten(args, kwargs))
        measure = getattr(self.model.executable, "profile", None)
        if measure is None:
            raise BackendError(f"the target {self.model.target!r} does not time its steps")
        with self._lock:
            times: list[StepTime] = measure(arrays, self.states, entry.name)
        return times


class _StateValues(MutableMapping[str, np.ndarray]):
    """The values of a session's states as a mapping."""

    def __init__(self, states: StateStore) -> None:
        self._states = states

    def __getitem__(self, name: str) -> np.ndarray:
        return self._states[name].array()

    def __setitem__(self, name: str, value: np.ndarray) -> None:
        self._states[name].set(value)

    def __delitem__(self, name: str) -> None:
        raise InputError(f"the state {name!r} belongs to the model and cannot be removed")

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)


def _plain_inputs(types: Sequence[Type], signature: Signature) -> list[tuple[np.dtype, int]] | None:
    """Element types and ranks of a model that takes nothing but tensors, one per argument and in order."""
    if signature.kwargs.names or signature.args.items != tuple(map(Slot, range(len(types)))):
        return None
    found = []
    for type in types:
        if not isinstance(type, TensorType) or type.shape is None:
            return None
        found.append((type.dtype.numpy, len(type.shape)))
    return found


def _specs(names: Sequence[str], types: Sequence[Type]) -> tuple[InputSpec, ...]:
    specs = []
    for name, type in zip(names, types, strict=True):
        while not isinstance(type, TensorType):
            type = type.element
        specs.append(InputSpec(type.shape or (), type.dtype, name))
    return tuple(specs)


def _argument(name: str, declared: Type, leaf: object, owner: Owner | None) -> tuple[Any, Owner | None]:
    """One input of a call, checked: an array, a list of arrays for a sequence, None for an optional that is empty.

    Returns:
        it, and whose tensors they are as far as that is known by now.

    Raises:
        InputError: it is something else.
    """
    if isinstance(declared, OptionalType):
        return (None, owner) if leaf is None else _argument(name, declared.element, leaf, owner)
    if isinstance(declared, SequenceType):
        if not isinstance(leaf, (list, tuple)):
            raise InputError(f"input {name!r} is {_kind(leaf)}", expected=f"a list of tensors ({declared})")
        items = []
        for i, item in enumerate(leaf):
            array, owner = _argument(f"{name}[{i}]", declared.element, item, owner)
            items.append(array)
        return items, owner
    array, new_owner = _to_array(leaf, owner, declared)
    if leaf is None:
        raise InputError(f"input {name!r} is missing", expected=f"a tensor: {declared}")
    if array is None:
        raise InputError(f"input {name!r} is {_kind(leaf)}", expected=f"a tensor: {declared}")
    return _checked(name, declared, array), owner or new_owner


def _to_array(leaf: object, owner: Owner | None, declared: TensorType) -> tuple[np.ndarray | None, Owner | None]:
    """A tensor of any kind as an array, and whose it is; None for what is no tensor."""
    if isinstance(leaf, np.ndarray):
        return leaf, None
    if isinstance(leaf, np.generic):
        return np.asarray(leaf), None
    if isinstance(leaf, (bool, int, float)):
        return (np.asarray(leaf).astype(declared.dtype.numpy), None) if declared.rank == 0 else (None, None)
    if owner is not None and type(leaf) is type(owner[1]):
        return owner[0].tensor_to_numpy(leaf), None
    import ge_core.plugins

    plugin = ge_core.plugins.host().tensor_owner(leaf)
    return (None, None) if plugin is None else (plugin.tensor_to_numpy(leaf), (plugin, leaf))


def _checked(name: str, declared: TensorType, array: np.ndarray) -> np.ndarray:
    wanted = declared.dtype.numpy
    if array.dtype != wanted:
        if declared.dtype.kind == "string" and array.dtype.kind in "USO":
            return array.astype(object)
        raise InputError(
            f"input {name!r} has element type {array.dtype}",
            expected=f"{declared.dtype}",
            fix=f"convert it first, for example {name}.astype({str(wanted)!r}) or {name}.to(...)",
        )
    if declared.shape is not None and array.ndim != len(declared.shape):
        raise InputError(
            f"input {name!r} has shape {list(array.shape)}, which is rank {array.ndim}",
            expected=f"rank {len(declared.shape)}: {declared}",
        )
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _to_tensor(plugin: Plugin, output: Any, like: object) -> Any:
    if output is None:
        return None
    if isinstance(output, list):
        return [_to_tensor(plugin, item, like) for item in output]
    return plugin.tensor_from_numpy(output, like)


def _kind(leaf: object) -> str:
    return "None" if leaf is None else f"a {type(leaf).__module__}.{type(leaf).__qualname__}"
