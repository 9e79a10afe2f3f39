"""The reference target as a planned backend: groups of pointwise operators, in-place steps, numpy kernels.

It takes every operator that has a reference kernel, and goes through the same contract as native targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ge_core.backend import Artifact, Group, Implementation, Options, Problem, Refusal, TargetInfo, operands
from ge_core.errors import BackendError
from ge_core.ir import dims
from ge_core.ir.dtype import DTYPES
from ge_core.ir.graph import Graph, Node, source_of
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.ops.pointwise import POINTWISE
from ge_core.ops.registry import DECOMPOSITIONS, KERNELS
from ge_core.passes.legalise import ExpandComposites
from ge_core.plan.build import PlanRequest, replan
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.gears import read_gears
from ge_core.plan.homes import EVERYTHING
from ge_core.plan.lifetimes import CONTROL
from ge_core.plan.plan import ExecutionPlan
from ge_core.plan.profile import StepTime, profile
from ge_core.plan.states import StateStore

TARGET = "reference"
_OVERWRITES_FIRST = frozenset({"ScatterElements", "ScatterND", "TensorScatter", "ge.ScatterReduce", "Scatter"})
"""Operators whose result is their first operand with some elements replaced."""


class ReferenceBackend:
    """The oracle of every other target."""

    kind: Literal["planned"] = "planned"

    def targets(self) -> Sequence[TargetInfo]:
        return [
            TargetInfo(
                name=TARGET,
                description="numpy kernels of our own: complete, slow",
                dtypes=frozenset(DTYPES),
                native=False,
            )
        ]

    def check(self, graph: Graph, target: str, options: Options) -> list[Problem]:
        missing: dict[str, Node] = {}
        for node in walk(graph):
            if KERNELS.get(node.op) is None and DECOMPOSITIONS.get(node.op) is None:
                missing.setdefault(node.op, node)
        return [Problem(f"{op} has no reference kernel", node.loc, node=op) for op, node in missing.items()]

    def passes(self, target: str, options: Options) -> Sequence[Any]:
        return [ExpandComposites(lambda node: KERNELS.get(node.op) is not None)]

    def may_join(self, group: Group, node: Node) -> bool | Refusal:
        if node.op not in POINTWISE:
            return Refusal("not-pointwise", f"{node.op} does not work element by element")
        if any(n.op not in POINTWISE for n in group.nodes):
            return Refusal("not-pointwise", f"{group.nodes[0].op} does not work element by element")
        shape = group.nodes[-1].outputs[0].tensor.shape
        if shape is None or node.outputs[0].tensor.shape != shape:
            return Refusal("other-shape", "the results have different shapes")
        return True

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        if KERNELS.get(node.op) is None or node.op in CONTROL:
            return ()
        return [Implementation(name=f"numpy.{node.op}", in_place=tuple(_in_place(node)))]

    def build(
        self, entries: Mapping[str, ExecutionPlan] | Mapping[str, Graph], target: str, options: Options
    ) -> Artifact:
        artifact = Artifact(target=TARGET, store_plans=False)
        for name, plan in entries.items():
            if not isinstance(plan, ExecutionPlan):
                raise BackendError("the reference target takes plans")
            artifact.graphs[name], artifact.plans[name] = plan.graph, plan
            gears = {symbol: list(sizes) for symbol, sizes in plan.gears.items()}
            artifact.metadata[name] = {"sharing": plan.sharing, "example": dict(plan.example), "gears": gears}
        return artifact

    def load(self, artifact: Artifact, options: Options) -> ReferenceExecutable:
        if artifact.target != TARGET:
            raise BackendError(f"an artifact of the target {artifact.target!r}", expected=TARGET)
        for name, graph in artifact.graphs.items():
            if name not in artifact.plans:
                artifact.plans[name] = self._replan(graph, artifact.metadata.get(name), options)
        return ReferenceExecutable({name: PlanExecutor(plan) for name, plan in artifact.plans.items()})

    def _replan(self, graph: Graph, stored: object, options: Options) -> ExecutionPlan:
        """The plan of a graph from a file, made again: cheaper than checking one that somebody else made."""
        table = stored if isinstance(stored, dict) else {}
        sharing, example = table.get("sharing"), table.get("example")
        known = {k: v for k, v in example.items() if isinstance(v, int)} if isinstance(example, dict) else {}
        gears = read_gears(table.get("gears"), [graph])
        request = PlanRequest(self, TARGET, options, example=known, gears=gears)
        return replan(graph, request, sharing if isinstance(sharing, str) else EVERYTHING)


class ReferenceExecutable:
    """Plans that run by numpy kernels."""

    def __init__(self, executors: Mapping[str, PlanExecutor]) -> None:
        self.executors = dict(executors)

    def run(self, inputs: Sequence[Any], states: StateStore, entry: str = "main") -> list[Any]:
        """See `ge_core.backend.Executable.run`."""
        return self.executors[entry].run(inputs, states)

    def profile(self, inputs: Sequence[Any], states: StateStore, entry: str = "main") -> list[StepTime]:
        """Run once and time every step."""
        return profile(self.executors[entry], inputs, states)


def _in_place(node: Node) -> list[tuple[int, int]]:
    """Operands over which a step may write: those of the result's own shape and element size."""
    if node.op in _OVERWRITES_FIRST:
        return [(0, 0)]
    inner = [n.op for n in node.regions["body"].nodes] if node.op == "ge.Fused" else [node.op]
    if not all(op in POINTWISE for op in inner):
        return []
    pairs = []
    for i, operand in enumerate(operands(node)):
        if operand is None or source_of(operand).constant is not None or not isinstance(operand.type, TensorType):
            continue
        for j, result in enumerate(node.outputs):
            if _same_form(operand.type, result.tensor):
                pairs.append((i, j))
    return pairs


def _same_form(a: TensorType, b: TensorType) -> bool:
    """Whether two types that broadcast together have the same shape and element size."""
    if a.shape is None or b.shape is None or a.rank != b.rank or a.dtype.bits != b.dtype.bits:
        return False
    return dims.equal(a.elements, b.elements) is True
