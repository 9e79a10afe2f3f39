"""Calls of the walker: contexts, base pointers, statuses."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence

import numpy as np

from ge_backend_cpu import kernel, walker
from ge_backend_cpu.places import Places
from ge_backend_cpu.table import NativeStep, Table
from ge_backend_cpu.team import Team
from ge_core.errors import (
    CheckError,
    DivisionByZeroError,
    ExecutionError,
    GeError,
    IndexRangeError,
    SizeBoundError,
)
from ge_core.ir.dtype import pack
from ge_core.ir.types import TensorType
from ge_core.plan.aligned import aligned_bytes
from ge_core.plan.plan import CopyStep, ExecutionPlan

SLACK = 1 << 20
"""Bytes by which an arena may be larger than needed, beyond twice its size."""

_ERRORS: dict[int, tuple[type[GeError], str]] = {
    kernel.INDEX_OUT_OF_RANGE: (IndexRangeError, "an index is out of range"),
    kernel.DIVISION_BY_ZERO: (DivisionByZeroError, "an integer is divided by zero"),
    kernel.SIZE_OUT_OF_BOUND: (SizeBoundError, "a size is outside its bound"),
    kernel.CHECK_FAILED: (CheckError, "a check failed"),
}


_read_word = ctypes.c_size_t.from_address
_DATA_AT = object.__basicsize__
"""An array object begins with the object's head and then the address of its data: numpy's binary interface."""


def _stated_address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def _read_address(array: np.ndarray) -> int:
    return _read_word(id(array) + _DATA_AT).value


def _address_function() -> Callable[[np.ndarray], int]:
    probe = np.empty(3, np.uint8)
    return _read_address if _read_address(probe) == _stated_address(probe) else _stated_address


address_of = _address_function()
"""Where the data of an array begin; ten times faster than `array.ctypes.data`."""


def status_error(plan: ExecutionPlan, step: NativeStep, status: int) -> GeError:
    """The error that a kernel's status means, with the node and the user's line."""
    kind, what = _ERRORS.get(status, (ExecutionError, f"the kernel returned the status {status}"))
    if isinstance(step, CopyStep):
        return kind(f"copying %{step.name}: {what}", where=step.loc)
    node = plan.node(step.node)
    if status == kernel.CHECK_FAILED and node.attrs.get("message"):
        return kind(f"{node.op} %{step.name}: {node.attrs['message']}", where=step.loc)
    inside = [n for region in node.regions.values() for n in region.nodes]
    return kind(
        f"{node.op} %{step.name}: {what}",
        where=step.loc,
        details=[f"it computes {n.op} ({n.loc})" if str(n.loc) else f"it computes {n.op}" for n in inside],
    )


class Context:
    """What one running call hands to the walker for one series; used again by later calls."""

    __slots__ = ("address", "arena", "bases", "counters", "record", "table")

    def __init__(self, places: Places) -> None:
        self.arena = np.zeros(0, np.uint8)
        self.bases = places.bases()
        self.record = np.zeros(1, walker.CONTEXT)
        self.record["bases"] = self.bases.ctypes.data
        self.address = self.record.ctypes.data
        self.table: Table | None = None
        self.counters = np.zeros(0, np.int64)

    def use(self, table: Table) -> None:
        """Point at a table."""
        if self.table is table:
            return
        self.table = table
        if len(self.counters) < table.uneven:
            self.counters = np.zeros(table.uneven, np.int64)
            self.record["counters"] = address_of(self.counters)
        record = self.record
        record["rows"], record["count"], record["uneven"] = address_of(table.rows), len(table.rows), table.uneven

    def take_arena(self, nbytes: int) -> None:
        """Have an arena of at least so many bytes, and not many more, as base 0."""
        if not nbytes <= len(self.arena) <= 2 * nbytes + SLACK or not len(self.arena):
            self.arena = aligned_bytes(nbytes)
            self.bases[0] = address_of(self.arena)

    def at_row(self, row: int) -> None:
        """Point at one row of the present table, for a profile; `use` another table to leave."""
        assert self.table is not None
        self.record["rows"] = self.table.rows.ctypes.data + row * walker.ROW.itemsize
        self.record["count"] = 1


def walk(team: Team, context: Context, alone: bool) -> int:
    """Run what a context points at; 0, or (row + 1) * 256 + status."""
    if not alone and not team.started:
        team.start()
    return int(team.runtime.run(team.address, context.address, alone))


def walk_table(team: Team, context: Context, table: Table) -> int:
    """Run the table that a context points at, with the team where that pays."""
    if table.alone:
        return walk(team, context, True)
    with_team = table.pace.wants_team()
    started = time.perf_counter()
    code = walk(team, context, not with_team)
    table.pace.note(with_team, time.perf_counter() - started)
    return code


def raise_status(plan: ExecutionPlan, steps: Sequence[NativeStep], table: Table, code: int) -> None:
    """Raise the error of a walk that did not return 0."""
    row, status = (code >> 8) - 1, code & 0xFF
    raise status_error(plan, steps[int(table.steps[row])], status)


def packed_input(plan: ExecutionPlan, index: int, given: np.ndarray) -> np.ndarray:
    """An input as kernels read it: types smaller than a byte come with a byte per element."""
    type = plan.input_values[index].type
    if not isinstance(type, TensorType) or type.dtype.bits >= 8:
        return given
    return np.frombuffer(pack(given, type.dtype), np.uint8)
