"""What a compilation did, as plain data: kept by the model, written into its file, shown to a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypedDict

from ge_core.errors import OfflineModelError
from ge_core.ir import dims
from ge_core.ir.graph import Graph, Node
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.json_form import misfit
from ge_core.passes.report import PassReport, node_name
from ge_core.plan.alias import stored_bytes
from ge_core.plan.aligned import ALIGNMENT
from ge_core.plan.build import PlanReport
from ge_core.plan.lifetimes import CONTROL
from ge_core.plan.plan import ExecutionPlan, HostStep
from ge_core.plan.views import viewed


class GroupRow(TypedDict):
    """A fusion group in a report."""

    name: str
    operators: list[str]
    where: str


class SelectionRow(TypedDict):
    """A node for which there was a choice: seconds of the chosen implementation and of the next best one."""

    node: str
    chosen: str
    cost: float
    others: int
    next_cost: float


class WhyNotRow(TypedDict):
    """An edge that no group crosses."""

    producer: str
    node: str
    code: str
    reason: str
    where: str


ConversionRow = TypedDict("ConversionRow", {"value": str, "to": str, "for": str, "where": str})
"""An inserted Cast or Relayout: of which value, to what, for which node."""


class HostStepRow(TypedDict):
    """A step that runs by a reference kernel on a target that has none."""

    node: str
    operator: str
    reason: str
    where: str


MOST_LISTED = 2000
"""Entries of each list that are kept."""


@dataclass
class MemoryReport:
    """The activations of one entry at `example` sizes, in bytes.

    Attributes:
        arena: what a call needs beside inputs, outputs, weights and states.
        lower_bound: no plan of the same buffers is smaller; ratio is arena / lower_bound.
        outputs: graph outputs that are computed in memory of the caller's own.
        no_reuse: all results of all steps, if no byte were used twice.
        constants, states: weights, and states of one session.
        tried: arena bytes by way of sharing.
    """

    arena: int = 0
    lower_bound: int = 0
    ratio: float = 1.0
    outputs: int = 0
    no_reuse: int = 0
    constants: int = 0
    states: int = 0
    planner: str = ""
    example: dict[str, int] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)

    @property
    def saved(self) -> float:
        """The part of `no_reuse` that the plan saves."""
        return 1 - (self.arena + self.outputs) / self.no_reuse if self.no_reuse else 0.0


@dataclass
class CompileReport:
    """A compilation.

    Attributes:
        nodes: number of nodes by stage (imported, optimised, selected).
        operators: number of nodes by operator in the optimised graph.
        rewrites: number of rewrites by pass and rule.
        groups: fusion groups: name, operators, where.
        why_not: edges that no group crosses: producer, node, code, reason, where.
        selections: chosen implementations where there was a choice.
        conversions: inserted Casts and Relayouts.
        host_steps: steps that run by reference kernels on a target that has none: node, operator, reason, where.
        memory: by entry.
        seconds: by phase.
        notices: what a person should know.
    """

    target: str = ""
    precision: str = ""
    switches: list[str] = field(default_factory=list)
    nodes: dict[str, int] = field(default_factory=dict)
    operators: dict[str, int] = field(default_factory=dict)
    rewrites: dict[str, int] = field(default_factory=dict)
    groups: list[GroupRow] = field(default_factory=list)
    why_not: list[WhyNotRow] = field(default_factory=list)
    selections: list[SelectionRow] = field(default_factory=list)
    conversions: list[ConversionRow] = field(default_factory=list)
    host_steps: list[HostStepRow] = field(default_factory=list)
    memory: dict[str, MemoryReport] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """A few lines for a person."""
        steps = " -> ".join(f"{count} {stage}" for stage, count in self.nodes.items())
        lines = [f"target {self.target}: operators {steps}"]
        fused = Counter(" + ".join(group["operators"]) for group in self.groups)
        lines += [f"fused: {names}" + (f" ({n} times)" if n > 1 else "") for names, n in fused.most_common(8)]
        if self.host_steps:
            names = Counter(step["operator"] for step in self.host_steps).most_common(8)
            lines.append("host steps: " + ", ".join(f"{n} {op}" for op, n in names))
        for entry, memory in self.memory.items():
            sizes = ", ".join(f"{name}={value}" for name, value in memory.example.items())
            lines.append(
                f"memory of {entry}{f' at {sizes}' if sizes else ''}: arena {readable(memory.arena)} "
                f"({memory.ratio:.3f} of the lower bound {readable(memory.lower_bound)}), "
                f"outputs {readable(memory.outputs)}, weights {readable(memory.constants)}; without reuse "
                f"{readable(memory.no_reuse)}: {100 * memory.saved:.1f} % saved"
            )
        total = sum(self.seconds.values())
        if total:
            lines.append(
                f"time {total:.2f} s: " + ", ".join(f"{name} {took:.2f}" for name, took in self.seconds.items())
            )
        return "\n".join([*lines, *(f"note: {notice}" for notice in self.notices)])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @staticmethod
    def from_json(data: object) -> CompileReport:
        """The report in a file's metadata.

        Raises:
            OfflineModelError: it is no report.
        """
        wrong = misfit(data, CompileReport, "the report")
        if wrong is not None or not isinstance(data, Mapping):
            raise OfflineModelError(f"the stored report is damaged: {wrong}")
        known = {f.name for f in fields(CompileReport)}
        report = CompileReport(**{name: value for name, value in data.items() if name in known})
        report.memory = {
            entry: MemoryReport(**{f.name: row[f.name] for f in fields(MemoryReport) if f.name in row})
            for entry, row in data.get("memory", {}).items()
        }
        return report


def readable(size: int) -> str:
    """Bytes for a person: 512 B, 3.2 MiB."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def count_nodes(graph: Graph) -> int:
    """Number of nodes of a graph, those in groups and regions included, the groups themselves not."""
    return sum(1 for node in walk(graph) if node.op != "ge.Fused")


def record_passes(report: CompileReport, passes: PassReport) -> None:
    """Add what the core passes did."""
    counts = Counter(f"{r.pass_name}/{r.rule}" for r in passes.trail)
    report.rewrites = dict(counts.most_common())


def record_plan(report: CompileReport, entry: str, plan: ExecutionPlan, planning: PlanReport) -> None:
    """Add one entry's plan: groups, selections, host steps, memory."""
    for node in walk(plan.graph):
        if node.op == "ge.Fused":
            inner = [n.op for n in node.regions["body"].nodes]
            report.groups.append({"name": node_name(node), "operators": inner, "where": str(node.loc)})
    for refused in planning.why_not:
        report.why_not.append(
            {
                "producer": node_name(refused.producer),
                "node": node_name(refused.node),
                "code": refused.code,
                "reason": refused.reason,
                "where": str(refused.node.loc),
            }
        )
    for node, (others, next_cost) in planning.selection.rejected.items():
        chosen = planning.selection.chosen[node]
        report.selections.append(
            {
                "node": node_name(node),
                "chosen": chosen.name,
                "cost": chosen.cost,
                "others": others,
                "next_cost": next_cost,
            }
        )
    for conversion in planning.conversions:
        report.conversions.append(
            {
                "value": conversion.value.name,
                "to": conversion.wanted,
                "for": node_name(conversion.node),
                "where": str(conversion.node.loc),
            }
        )
    for step in plan.all_steps():
        if isinstance(step, HostStep):
            report.host_steps.append(
                {
                    "node": step.name,
                    "operator": plan.node(step.node).op,
                    "reason": step.reason,
                    "where": str(step.loc),
                }
            )
    for rows in (report.groups, report.why_not, report.selections, report.conversions, report.host_steps):
        del rows[MOST_LISTED:]
    report.memory[entry] = memory_report(plan, planning.tried)


def memory_report(plan: ExecutionPlan, tried: Mapping[str, int]) -> MemoryReport:
    """The figures of a plan at its example sizes."""
    memory = plan.memory
    assert memory is not None
    held = [plan.buffers[o.buffer].size for o in plan.outputs if o.buffer >= 0]
    return MemoryReport(
        arena=memory.size,
        lower_bound=memory.lower_bound,
        ratio=memory.ratio,
        outputs=sum(_aligned(_at(size, plan.example)) for size in held),
        no_reuse=sum(_aligned(_at(size, plan.example)) for size in _results(plan.graph)),
        constants=sum(c.nbytes for c in plan.constants if c.type.dtype.kind != "string"),
        states=sum(s.initial.nbytes for s in plan.graph.states),
        planner=memory.planner,
        example=dict(plan.example),
        tried=dict(tried),
    )


def _results(graph: Graph) -> list[dims.Size | None]:
    """Bytes of all results that steps compute, views not counted."""
    found: list[dims.Size | None] = []
    for node in walk(graph):
        if _inside_group(node) or viewed(node) is not None:
            continue
        found += [stored_bytes(v) for v in node.outputs if isinstance(v.type, TensorType)]
    return found


def _inside_group(node: Node) -> bool:
    owner = getattr(node.block, "node", None)
    return owner is not None and owner.op not in CONTROL


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _at(size: dims.Size | None, env: Mapping[str, int]) -> int:
    """A size at given symbol values; data-dependent symbols count at their upper bound, or not at all."""
    if size is None:
        return 0
    known = dims.substitute(size, {s: env[s.name] for s in dims.symbols(size) if s.name in env})
    top = dims.bounds(known)[1]
    return max(top or 0, 0)
