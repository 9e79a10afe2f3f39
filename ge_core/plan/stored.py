"""A plan of a file whose graph stays in the file until somebody asks for it: running needs none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ge_core.ir.constant import Constant
from ge_core.ir.dims import Symbol
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph
from ge_core.ir.types import Layout, TensorType, Type
from ge_core.plan.codec import PlanReader, damaged_plan, number, read_plan
from ge_core.plan.plan import ExecutionPlan

StoredConstant = tuple[Constant, Layout | None]


class StoredPlan(ExecutionPlan):
    """A plan whose graph is decoded when it is first read.

    Args:
        decode: gives the graph; called at most once, unless it fails.
        fields: all other fields of a plan.
    """

    def __init__(self, decode: Callable[[], Graph], **fields: Any) -> None:
        super().__init__(graph=None, **fields)  # type: ignore[arg-type]
        self._decode = decode
        del self.graph

    def __getattr__(self, name: str) -> Any:
        if name != "graph":
            raise AttributeError(name)
        self.graph = self._decode()
        return self.graph


def plan_of_outline(data: object, decode: Callable[[], Graph], constants: Sequence[StoredConstant]) -> ExecutionPlan:
    """The plan that was stored, by somebody whose word is taken for it that it belongs to the graph beside it.

    Args:
        decode: gives that graph.
        constants: of the graph, in its order, with the layouts in which they are stored.

    Raises:
        OfflineModelError: it is damaged.
    """
    return read_plan(_OutlineReader(data, decode, constants))


def has_outline(data: object) -> bool:
    """Whether a stored plan can be read without its graph."""
    return isinstance(data, dict) and data.get("kinds") is not None


class _OutlineReader(PlanReader):
    def __init__(self, data: object, decode: Callable[[], Graph], constants: Sequence[StoredConstant]) -> None:
        super().__init__(data)
        self.decode, self.constants = decode, constants

    def plan(self) -> ExecutionPlan:
        kinds = self.data["kinds"]
        self.symbols = {
            str(name): Symbol(str(name), number(lo), None if hi is None else number(hi))
            for name, lo, hi in kinds["symbols"]
        }
        self.types = [TensorType(DType.of(str(t)), tuple(self.size(d) for d in shape)) for t, shape in kinds["types"]]
        self.layouts = [Layout.from_json(row) for row in kinds["layouts"]]
        return StoredPlan(
            self.decode,
            constants=[constant for constant, _ in self.constants],
            layouts=[layout for _, layout in self.constants],
            gears={name: tuple(sizes) for name, sizes in self.gears().items()},
            **self.fields(),
        )

    def kind(self, position: int, name: str, shape: Sequence[Any] | None) -> tuple[Type, Layout | None]:
        type, layout = map(number, self.data["kinds"]["values"][position])
        if not 0 <= type < len(self.types) or not -1 <= layout < len(self.layouts):
            raise damaged_plan(f"the value {name[:40]} has a type that is not there")
        return self.types[type], None if layout < 0 else self.layouts[layout]
