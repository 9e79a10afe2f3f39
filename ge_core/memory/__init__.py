"""The static memory planner: from the lives of buffers to their places in one arena."""

from ge_core.memory.buffers import CompoundBuffer, Rect
from ge_core.memory.check import Verdict, validate
from ge_core.memory.plan import MemoryPlan
from ge_core.memory.portfolio import Effort, place
from ge_core.memory.profile import lower_bound
from ge_core.memory.table import read_table, write_table

__all__ = [
    "CompoundBuffer",
    "Effort",
    "MemoryPlan",
    "Rect",
    "Verdict",
    "lower_bound",
    "place",
    "read_table",
    "validate",
    "write_table",
]
