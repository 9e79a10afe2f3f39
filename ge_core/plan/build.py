"""From a legal graph to the best execution plan: group, select, relayout, order, place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ge_core.backend import Options, PlannedBackend, Precision, TargetInfo
from ge_core.collector import paused
from ge_core.device_contract import BeginsEarly
from ge_core.errors import PlanError
from ge_core.ir.dims import Symbol
from ge_core.ir.graph import Graph, Node
from ge_core.ir.traverse import walk
from ge_core.passes.base import SWITCHES, PassContext
from ge_core.passes.planned.group import GroupNodes, WhyNot
from ge_core.passes.planned.relayout import Conversion, insert_conversions
from ge_core.passes.planned.select import Selection, Selector
from ge_core.plan.alias import Aliases
from ge_core.plan.bind import bindings
from ge_core.plan.emit import Emission, emit, needed_before_known
from ge_core.plan.gears import Gears
from ge_core.plan.homes import EVERYTHING, NOTHING, WAYS, find_homes
from ge_core.plan.lifetimes import lifetimes
from ge_core.plan.placement import Placer
from ge_core.plan.plan import ExecutionPlan
from ge_core.plan.reorder import reorder
from ge_core.plan.required import RequiredSizes, required_sizes

COMPARED = 4000
"""Nodes up to which several ways of sharing are planned and the smallest arena wins."""


@dataclass
class PlanReport:
    """What planning did, for the report.

    Attributes:
        why_not: edges that no group crosses.
        selection: the chosen implementations.
        conversions: inserted ge.Relayout and Cast nodes.
        tried: arena bytes by way of sharing, the chosen one first.
    """

    why_not: list[WhyNot] = field(default_factory=list)
    selection: Selection = field(default_factory=Selection)
    conversions: list[Conversion] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PlanRequest:
    """For whom a plan is made, and how.

    Attributes:
        switches: which of fusion, select, measure, reorder and memory are on; see `ge_core.passes.base`.
        example: symbol values that figures are given for; unknown ones get a value within their bounds.
        gears: see `ge_core.plan.gears`; figures are given for the largest ones.
        begins: whether the plan is to be built, so that the backend is told at once what was chosen (`BeginsEarly`).
    """

    backend: PlannedBackend
    target: str
    options: Options = field(default_factory=dict)
    switches: Collection[str] = SWITCHES
    precision: Precision = "balanced"
    example: Mapping[str, int] = field(default_factory=dict)
    gears: Gears = field(default_factory=dict)
    begins: bool = False

    @property
    def info(self) -> TargetInfo:
        """The target's own description."""
        found = [t for t in self.backend.targets() if t.name == self.target]
        return found[0] if found else TargetInfo(name=self.target)


def build_plan(graph: Graph, request: PlanRequest, ctx: PassContext | None = None) -> tuple[ExecutionPlan, PlanReport]:
    """Plan a legal graph; the graph is changed in place and its stage becomes "selected".

    Raises:
        PlanError: no plan exists.
    """
    with paused():
        return _build(graph, request, ctx)


def _build(graph: Graph, request: PlanRequest, ctx: PassContext | None) -> tuple[ExecutionPlan, PlanReport]:
    ctx = ctx or PassContext(switches=frozenset(request.switches), precision=request.precision)
    report = PlanReport()
    graph.stage = "selected"
    if "fusion" in request.switches:
        GroupNodes(request.backend, report.why_not)(graph, ctx)
    selector = Selector(
        request.backend,
        request.target,
        request.options,
        request.precision,
        "select" in request.switches,
        float(request.info.figures.get("bytes_per_second", 1e10)),
        "measure" in request.switches,
    )
    report.selection = selector.run(graph)
    report.conversions = insert_conversions(graph, report.selection)
    _implement_conversions(report, request)
    if request.begins and isinstance(request.backend, BeginsEarly):
        chosen = report.selection.chosen
        chosen.update(
            zip(chosen, request.backend.chosen([*chosen.values()], request.target, request.options), strict=True)
        )
    if "reorder" in request.switches:
        reorder(graph, report.selection.chosen)
    return _smallest(graph, request, report), report


def _implement_conversions(report: PlanReport, request: PlanRequest) -> None:
    chosen = report.selection.chosen
    for conversion in report.conversions:
        node = conversion.value.producer
        if node is not None and node not in chosen:
            offered = request.backend.implementations(node, request.target, request.options)
            if offered:
                chosen[node] = min(offered, key=lambda i: i.cost)


def _smallest(graph: Graph, request: PlanRequest, report: PlanReport) -> ExecutionPlan:
    """The plan with the smallest arena among the ways of sharing; ties go to the one that copies least."""
    best: ExecutionPlan | None = None
    required = required_sizes(graph)
    for name in _ways(graph, request):
        plan = plan_selected(graph, request, report.selection, name, required)
        assert plan.memory is not None
        report.tried[name] = plan.memory.size
        if best is None or best.memory is None or plan.memory.size < best.memory.size:
            best = plan
    assert best is not None
    return best


def _ways(graph: Graph, request: PlanRequest) -> list[str]:
    if "memory" not in request.switches:
        return [NOTHING]
    if sum(1 for _ in walk(graph)) > COMPARED:
        return [EVERYTHING]
    concats = any(node.op == "Concat" for node in walk(graph))
    return [name for name, way in WAYS.items() if name != NOTHING and (concats or way.concats)]


def replan(graph: Graph, request: PlanRequest, sharing: str) -> ExecutionPlan:
    """The plan of a graph that was selected and ordered before (it comes from a file); the graph stays as it is.

    Args:
        sharing: the way that was the best one then.

    Raises:
        PlanError: there is no such way.
    """
    selection = Selector(request.backend, request.target, request.options, request.precision).run(graph)
    return plan_selected(graph, request, selection, sharing)


def plan_selected(
    graph: Graph,
    request: PlanRequest,
    selection: Selection,
    sharing: str = EVERYTHING,
    required: RequiredSizes | None = None,
) -> ExecutionPlan:
    """The plan of a selected graph in its present order, with one way of sharing bytes, placed for the example.

    Args:
        required: what `required_sizes` says of the graph, for those who plan it several times.

    Raises:
        PlanError: there is no such way of sharing, or a size that nothing defines.
    """
    if sharing not in WAYS:
        raise PlanError(f"unknown way of sharing {sharing[:40]!r}", expected=", ".join(WAYS))
    call_symbols = [b.symbol for b in bindings(graph.inputs)[0]]
    lives = lifetimes(graph)
    aliases = Aliases(graph, lives, {s.name for s in call_symbols})

    def in_place(node: Node) -> Sequence[tuple[int, int]]:
        chosen = selection.chosen.get(node)
        return () if chosen is None else chosen.in_place

    homes = find_homes(graph, lives, aliases, in_place, WAYS[sharing])
    plan = emit(
        Emission(
            graph,
            lives,
            aliases,
            homes,
            selection.chosen,
            selection.reasons,
            call_symbols,
            request.info.alignment,
            reuse=sharing != NOTHING,
            required=required_sizes(graph) if required is None else required,
        )
    )
    needed_before_known(plan)
    plan.sharing = sharing
    plan.gears = {s.name: request.gears[s.name] for s in plan.symbols if s.name in request.gears}
    example = {**request.example, **{name: sizes[-1] for name, sizes in plan.gears.items()}}
    placer = Placer(plan)
    for least in _LEAST:  # a plan for sizes that are too small for a window would tell nothing
        plan.example = {s.name: example_value(s, example, least) for s in plan.symbols}
        found = placer.at([plan.example[s.name] for s in plan.symbols], "default")
        if not found.impossible:
            break
    plan.memory = found.memory
    return plan


_LEAST = (16, 256, 4096, 65536)
"""Sizes that are tried for symbols without an example."""


def example_value(symbol: Symbol, given: Mapping[str, int], least: int = _LEAST[0]) -> int:
    """The given value of a symbol, else one within its bounds, `least` if they allow it."""
    if symbol.name in given:
        return given[symbol.name]
    wanted = max(symbol.lo, least)
    return wanted if symbol.hi is None else min(wanted, symbol.hi)
