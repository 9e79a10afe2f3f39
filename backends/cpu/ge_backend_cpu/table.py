"""Kernel and copy steps of a plan as tables for the native walker.

What depends on the sizes of a call (extents, integers, offsets) is kept as indices into one vector of evaluated
sizes, so that a table for new shapes is a few numpy operations, whatever the number of steps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ge_backend_cpu import walker
from ge_backend_cpu.kernel import Launch, Operand, result, source
from ge_backend_cpu.moves import BLOCK, COPY
from ge_backend_cpu.pace import Pace
from ge_backend_cpu.places import Places
from ge_core.errors import BackendError
from ge_core.ir import dims
from ge_core.ir.dims import Size, Symbol
from ge_core.ir.types import TensorType
from ge_core.plan.placement import Placement
from ge_core.plan.plan import CopyStep, ExecutionPlan, KernelStep
from ge_core.plan.sizes import SizeTable, names_in

SPLIT_FROM = 10_000_000
"""Picoseconds from which a launch is split among threads."""
LEAST_CHUNK = 4_000_000
"""Picoseconds of work below which a part is not worth handing out."""
TEAM_FROM = 50_000_000
"""Picoseconds of a whole table from which the team is called: waking it may take that long."""
UNEVEN_CHUNKS = 8
"""Parts per thread of a launch whose items differ in their time."""
REMEMBERED = 64
"""Tables kept per series of steps."""
COPY_PICOSECONDS = 100
"""Estimated picoseconds per copied byte."""

NativeStep = KernelStep | CopyStep


@dataclass(frozen=True)
class Table:
    """A series of steps for one tuple of sizes.

    Attributes:
        rows: of the walker, without launches that have nothing to do.
        steps: per row the position of its step in the series.
        uneven: rows whose parts are claimed one by one.
        alone: whether the caller walks it without the team.
        scratch: bytes of workspaces that are not in the arena, by buffer.
        params: what the rows point to; kept alive here.
        placement: that the offsets belong to; kept alive so that its identity stays its own.
        pace: of the calls with the team.
    """

    rows: np.ndarray
    steps: np.ndarray
    uneven: int
    alone: bool
    scratch: Mapping[int, int]
    params: np.ndarray
    placement: Placement
    pace: Pace = field(default_factory=Pace)


def plan_symbols(plan: ExecutionPlan) -> dict[str, Symbol]:
    """Every symbol of a plan by name, those that the run binds included."""
    found = {s.name: s for s in plan.symbols}
    for value in plan.values:
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            for size in value.type.shape:
                found.update((s.name, s) for s in dims.symbols(size))
    return found


def launches_of(plan: ExecutionPlan, step: NativeStep, table: Mapping[str, Symbol]) -> list[Launch]:
    """The launches of a step. A copy step has the source as its operand 0.

    Raises:
        BackendError: the step's data is none of this backend's.
    """
    if isinstance(step, KernelStep):
        if "launches" not in step.data:
            raise BackendError(f"the kernel {step.implementation} is not one of this backend", where=step.loc)
        return [Launch.from_json(data, table) for data in step.data["launches"]]
    value = plan.values[step.target]
    assert isinstance(value.type, TensorType)
    nbytes = value.type.nbytes() if value.layout is None else value.layout.nbytes(value.type)
    return [
        Launch(
            kernel=COPY,
            operands=(source(0), result(0)),
            params=(nbytes,),
            extent=dims.ceildiv(nbytes, BLOCK),
            picoseconds=nbytes * COPY_PICOSECONDS,
        )
    ]


@dataclass
class _Columns:
    """What rows and words are made from."""

    functions: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    first_word: list[int] = field(default_factory=list)
    extents: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    barrier: list[bool] = field(default_factory=list)
    uneven: list[bool] = field(default_factory=list)
    fixed: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    buffer: list[int] = field(default_factory=list)

    def word(self, fixed: int = 0, size: int = 0, value: int = -1, buffer: int = -1) -> None:
        self.fixed.append(fixed)
        self.size.append(size)
        self.value.append(value)
        self.buffer.append(buffer)


class Series:
    """Steps that run one after another without the interpreter.

    Args:
        address: where the code of a kernel's symbol lies.
        threads: of the team that walks the tables.

    Attributes:
        externals: the bases that every call has to set for these steps.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        steps: Sequence[NativeStep],
        places: Places,
        address: Callable[[str], int],
        threads: int,
    ) -> None:
        self.plan, self.steps, self.places, self.threads = plan, tuple(steps), places, threads
        self._columns = _Columns()
        symbols = plan_symbols(plan)
        launches = [launches_of(plan, step, symbols) for step in self.steps]
        sizes = {size for found in launches for launch in found for size in _sizes_of(launch)}
        sizes |= {size for step in self.steps if (size := _open_workspace(plan, step)) is not None}
        self.names = tuple(sorted(names_in(sizes)))
        self._sizes = SizeTable(self.names)
        self._sizes.add(0)  # index 0: words without a size
        self._scratch: dict[int, int] = {}
        self._base_words: list[int] = []
        for i, found in enumerate(launches):
            for launch in found:
                self._add(i, launch, address(launch.kernel.symbol))
        self._arrays = {
            name: np.array(getattr(self._columns, name), np.int64)
            for name in ("steps", "first_word", "extents", "times", "fixed", "size", "value", "buffer")
        }
        used = {self._columns.fixed[i] for i in self._base_words}
        self.externals = [external for external in places.externals if external.number in used]
        self._functions = np.array(self._columns.functions, np.uint64)
        self._barrier = np.array(self._columns.barrier, bool)
        self._uneven = np.array(self._columns.uneven, bool)
        self._kept: OrderedDict[tuple[int, tuple[int, ...]], Table] = OrderedDict()

    def _add(self, number: int, launch: Launch, function: int) -> None:
        c = self._columns
        c.functions.append(function)
        c.steps.append(number)
        c.first_word.append(len(c.fixed))
        c.extents.append(self._sizes.add(launch.extent))
        c.times.append(self._sizes.add(launch.picoseconds))
        c.barrier.append(launch.barrier)
        c.uneven.append(launch.uneven)
        for operand in launch.operands:
            self._operand(self.steps[number], operand)
        for param in launch.params:
            c.word(size=self._sizes.add(param))

    def _operand(self, step: NativeStep, operand: Operand) -> None:
        """The two words of an operand: its base, and its offset from there."""
        c, size = self._columns, self._sizes.add(operand.offset)
        self._base_words.append(len(c.fixed))
        if operand.kind == "prepared":
            assert isinstance(step, KernelStep)
            c.word(fixed=self.places.prepared(step, operand.key))
            c.word(size=size)
            return
        if operand.kind == "work":
            assert isinstance(step, KernelStep) and step.workspace >= 0
            buffer = self.plan.buffers[step.workspace]
            if buffer.kind == "dynamic":
                assert buffer.size is not None
                self._scratch[step.workspace] = self._sizes.add(buffer.size)
                c.word(fixed=self.places.scratch(step.workspace))
                c.word(size=size)
                return
            c.word(fixed=0)
            c.word(size=size, buffer=step.workspace)
            return
        value = _value_of(step, operand)
        base, offset_counts, start = self.places.value(value)
        c.word(fixed=base)
        c.word(size=size, value=value if offset_counts else -1, buffer=start)

    def table(self, placement: Placement, env: Mapping[str, int]) -> Table:
        """The table for a placement and the values that symbols have now."""
        values = tuple(env[name] for name in self.names)
        key = (id(placement), values)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self._make(placement, values)
            if len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)
        return found

    def _make(self, placement: Placement, values: tuple[int, ...]) -> Table:
        a = self._arrays
        sizes = np.array(self._sizes.evaluate(values), np.int64)
        offsets = np.array((*placement.offsets, 0), np.int64)  # index -1: nothing to add
        starts = np.array((*placement.starts, 0), np.int64)
        words = a["fixed"] + sizes[a["size"]] + offsets[a["value"]] + starts[a["buffer"]]
        kept = np.flatnonzero(sizes[a["extents"]] > 0)
        rows = np.zeros(len(kept), walker.ROW)
        rows["function"] = self._functions[kept]
        rows["extent"] = sizes[a["extents"]][kept]
        rows["params"] = words.ctypes.data + 8 * a["first_word"][kept]
        times, uneven = sizes[a["times"]][kept], self._uneven[kept]
        barrier = self._barrier[kept]
        rows["chunks"] = self._chunks(rows["extent"], times, uneven, barrier)
        uneven &= rows["chunks"] > 1
        rows["flags"] = walker.UNEVEN * uneven + walker.BARRIER * _barriers(rows, uneven, barrier)
        rows["counter"][uneven] = np.arange(int(uneven.sum()))
        alone = not (rows["chunks"] > 1).any() or int(times.sum()) < TEAM_FROM
        scratch = {buffer: int(sizes[i]) for buffer, i in self._scratch.items()}
        return Table(rows, a["steps"][kept], int(uneven.sum()), bool(alone), scratch, words, placement)

    def _chunks(self, extents: np.ndarray, times: np.ndarray, uneven: np.ndarray, barrier: np.ndarray) -> np.ndarray:
        """Into how many parts each row is split."""
        if self.threads == 1:
            return np.ones(len(extents), np.int64)
        most = np.where(uneven, UNEVEN_CHUNKS, 1) * self.threads
        chunks = np.minimum(np.minimum(extents, most), np.maximum(times // LEAST_CHUNK, 1))
        chunks[times < SPLIT_FROM] = 1
        for i in np.flatnonzero(~barrier):
            # the same items must stay with the same thread
            if i > 0 and extents[i] == extents[i - 1] and not uneven[i] and not uneven[i - 1]:
                chunks[i] = chunks[i - 1]
        return chunks


def _barriers(rows: np.ndarray, uneven: np.ndarray, barrier: np.ndarray) -> np.ndarray:
    """Rows before which all threads meet: not between two that the caller runs alone, nor where items stay put."""
    split = rows["chunks"] > 1
    needed = np.zeros(len(rows), bool)
    needed[1:] = split[1:] | split[:-1]
    apart = np.ones(len(rows), bool)
    for name in ("extent", "chunks"):
        apart[1:] &= rows[name][1:] == rows[name][:-1]
    apart[1:] &= ~uneven[1:] & ~uneven[:-1]
    return needed & (barrier | ~apart)


def _sizes_of(launch: Launch) -> list[Size]:
    return [*launch.params, launch.extent, launch.picoseconds, *(o.offset for o in launch.operands)]


def _open_workspace(plan: ExecutionPlan, step: NativeStep) -> Size | None:
    """The size of a workspace that is not in the arena."""
    if isinstance(step, CopyStep) or step.workspace < 0 or plan.buffers[step.workspace].kind != "dynamic":
        return None
    return plan.buffers[step.workspace].size


def _value_of(step: NativeStep, operand: Operand) -> int:
    """The value of an "in" or "out" operand."""
    if isinstance(step, CopyStep):
        return step.source if operand.kind == "in" else step.target
    values = step.inputs if operand.kind == "in" else step.outputs
    if not 0 <= operand.index < len(values) or values[operand.index] < 0:
        raise BackendError(
            f"the kernel of %{step.name} reads operand {operand.index}, which it has not", where=step.loc
        )
    return values[operand.index]
