"""From imported graphs to a compiled model, for any target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from ge_core.backend import Backend, Precision, Problem, TargetInfo, planned, problems_error
from ge_core.collector import paused
from ge_core.device_contract import Prepares, TakesImages
from ge_core.errors import GeError, InputError, OptionError
from ge_core.image_input import prepend_images
from ge_core.ir.clone import clone_graph
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Graph
from ge_core.ir.location import UNKNOWN
from ge_core.ir.traverse import values, walk
from ge_core.ir.types import TensorType
from ge_core.ir.verifier import verify as verify_graph
from ge_core.listed_sizes import Listed, with_listed
from ge_core.mapped_memory import leave_in_files
from ge_core.model import CompiledModel, Provenance
from ge_core.passes.base import ALL_SWITCHES, PRECISIONS, SWITCHES, PassContext
from ge_core.passes.manager import PassManager
from ge_core.passes.pipeline import optimise
from ge_core.passes.planned.group import ungroup
from ge_core.phases import Stopwatch
from ge_core.plan.bind import InputBinder
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.gears import narrow, read_gears
from ge_core.plan.plan import ExecutionPlan
from ge_core.plugins import Plugin
from ge_core.report import CompileReport, count_nodes, record_passes, record_plan
from ge_core.signature import Signature

CORE_OPTIONS: Mapping[str, str] = {
    "share_weights": "True: the compiled model reads the weights in the memory of the original, without a copy",
    "preprocess": "images by input name, as ge_core.Image: the model takes them as they come",
    "dims": "the only values of named sizes, such as {'batch': [1, 8]}; ge_core.Dim sets it",
    "gears": "sizes of symbols for which memory is planned at compile time, such as {'batch': [1, 8]}",
    "explain": "True: the report says why rewrites that nearly matched did not apply",
    "stop_after": "do no more than this many rewrites of the graph (for bisecting)",
    "print_after": "names of passes after which the graph is printed to standard error",
    "save_graphs": "a folder that receives the graph after each pass that changed it",
}


@dataclass(frozen=True)
class EntrySource:
    """One entry before compilation.

    Attributes:
        graph: the imported graph.
        example: values of the inputs' symbols, for figures in the report.
        dims: the only values of the symbols that the caller listed.
        is_owned: whether the graph was made for this compilation, which may change it.
    """

    graph: Graph
    signature: Signature
    example: Mapping[str, int] = field(default_factory=dict)
    is_owned: bool = True
    dims: Listed = field(default_factory=dict)

    def owned(self) -> EntrySource:
        """The same with a graph for the compilation alone.

        Raises:
            GraphError: somebody else's graph is not valid.
        """
        if self.is_owned:
            return self
        verify_graph(self.graph)
        return replace(self, graph=clone_graph(self.graph), is_owned=True)


@dataclass(frozen=True)
class CompileRequest:
    """For whom and how.

    Attributes:
        plugin: the backend's plugin.
        optimised: the graphs have been through the core passes already.
    """

    plugin: Plugin
    target: str
    precision: Precision = "balanced"
    switches: frozenset[str] = SWITCHES
    options: Mapping[str, Any] = field(default_factory=dict)
    framework: str = ""
    optimised: bool = False
    notices: tuple[str, ...] = ()

    @property
    def backend_options(self) -> dict[str, Any]:
        """The options that the backend reads."""
        return {key: value for key, value in self.options.items() if key in self.plugin.info.options}


def parse_switches(optimize: str | Collection[str]) -> frozenset[str]:
    """The switches that `optimize` means: "none", "default", "max", or a set of names.

    Raises:
        OptionError: an unknown name; it tells the nearest.
    """
    if isinstance(optimize, str):
        if optimize == "none":
            return frozenset()
        if optimize in ("default", "max"):
            return ALL_SWITCHES if optimize == "max" else SWITCHES
        raise OptionError(
            f"optimize={optimize!r}",
            expected="'none', 'default', 'max', or a set of " + ", ".join(sorted(ALL_SWITCHES)),
            fix=f"optimize={{{optimize!r}}}"
            if optimize in ALL_SWITCHES
            else _nearest(optimize, ["none", "default", "max"]),
        )
    unknown = [name for name in optimize if name not in ALL_SWITCHES]
    if unknown:
        raise OptionError(
            f"unknown optimisation {unknown[0]!r}",
            expected=", ".join(sorted(ALL_SWITCHES)),
            fix=_nearest(str(unknown[0]), sorted(ALL_SWITCHES)),
        )
    return frozenset(optimize)


def parse_precision(precision: str) -> Precision:
    """The precision, checked.

    Raises:
        OptionError: it is none.
    """
    if precision not in PRECISIONS:
        raise OptionError(
            f"precision={precision!r}", expected=", ".join(PRECISIONS), fix=_nearest(precision, PRECISIONS)
        )
    return cast("Precision", precision)


def _nearest(name: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1)
    return f"did you mean {found[0]!r}?" if found else None


@paused()
def compile_entries(
    sources: Mapping[str, EntrySource], request: CompileRequest, watch: Stopwatch | None = None
) -> CompiledModel:
    """Compile named entries over one set of weights and states.

    Raises:
        OptionError: listed sizes that no input has, or that contradict each other.
        BackendError: the target cannot compile them.
        PassError, PlanError: a pass or the planner failed.
    """
    from ge_core import model_cache  # it opens files, of which this module knows nothing

    options = with_listed(request.options, [source.dims for source in sources.values()])
    request = replace(request, options=options)
    watch = watch or Stopwatch()
    backend = request.plugin.backend()
    info = target_info(backend, request.target)
    place: model_cache.Lookup | None = None
    kept: Path | None = None
    if model_cache.serves(request):
        with watch.phase("look up"):
            place = model_cache.lookup(sources, request)
            kept = place.path() if place is not None and place.is_hopeful else None
            known = None if kept is None else _kept(kept, sources, request, watch)
        if known is not None:
            return known
    if not all(source.is_owned for source in sources.values()):
        with watch.phase("import"):
            sources = {name: source.owned() for name, source in sources.items()}
    if isinstance(backend, Prepares):
        backend.prepare([source.graph for source in sources.values()], request.target, request.backend_options)
    if place is not None and kept is None:
        kept = place.path()  # now, since a caller may change the weights afterwards
    report = CompileReport(request.target, request.precision, sorted(request.switches))
    report.notices = [*request.notices, *_absent(source.graph for source in sources.values())]
    weights = WeightCopies(share=bool(request.options.get("share_weights", False)) or info.copies_weights)
    common = CommonData() if len(sources) > 1 else None
    operators: Counter[str] = Counter()
    context = pass_context(request)
    gears = read_gears(request.options.get("gears"), [source.graph for source in sources.values()])
    entries: dict[str, ExecutionPlan] | dict[str, Graph] = {}
    for name, source in sources.items():
        graph = source.graph
        narrow(graph, gears)
        if request.options.get("share_weights", False):
            leave_in_files(graph)
        report.nodes["imported"] = report.nodes.get("imported", 0) + count_nodes(graph)
        weights.mark(graph)
        with watch.phase("optimise"):
            if not request.optimised:
                if "preprocess" in request.options and not isinstance(backend, TakesImages):
                    prepend_images(graph, request.options["preprocess"])
                optimise(graph, ctx=context)
            report.nodes["optimised"] = report.nodes.get("optimised", 0) + count_nodes(graph)
            operators.update(node.op for node in walk(graph))
            problems = unknown_ranks(graph) if backend.kind == "whole" else []
            problems += backend.check(graph, request.target, request.backend_options)
            if problems:
                raise problems_error(problems, request.target)
            PassManager(tuple(backend.passes(request.target, request.backend_options)), "legalise")(graph, context)
            graph.stage = "legal"
        with watch.phase("copy weights"):
            weights.own(graph)
            if common is not None:
                common.take(name, graph)
        if backend.kind == "planned":
            with watch.phase("plan"):
                plan, planning = build_plan(
                    graph,
                    PlanRequest(
                        planned(backend),
                        request.target,
                        request.backend_options,
                        request.switches,
                        request.precision,
                        source.example,
                        gears,
                        begins=True,
                    ),
                    context,
                )
            cast("dict[str, ExecutionPlan]", entries)[name] = plan
            record_plan(report, name, plan, planning)
            report.nodes["selected"] = report.nodes.get("selected", 0) + sum(1 for _ in graph.nodes)
        else:
            cast("dict[str, Graph]", entries)[name] = graph
    report.operators = dict(operators.most_common())
    record_passes(report, context.report)
    with watch.phase("build"):
        artifact = backend.build(entries, request.target, request.backend_options)
        report.notices += artifact.notes
        executable = backend.load(artifact, request.backend_options)
    report.seconds = dict(watch.seconds)
    model = CompiledModel(
        artifact,
        executable,
        artifact.graphs or {name: source.graph for name, source in sources.items()},
        {name: source.signature for name, source in sources.items()},
        _provenance(request),
        report,
    )
    if place is not None and kept is not None:
        model_cache.keep(model, place, kept)
    return model


def _absent(graphs: Iterable[Graph]) -> list[str]:
    """A notice when weights have no values."""
    constants = {v.constant for graph in graphs for v in graph.constants if v.constant is not None}
    count = sum(c.residence == "absent" for c in constants)
    return [f"{count} weights have no values: the model can be looked at, neither called nor saved"] if count else []


def _kept(
    path: Path, sources: Mapping[str, EntrySource], request: CompileRequest, watch: Stopwatch
) -> CompiledModel | None:
    """The model in the cache, called as the sources are; None when there is none."""
    from ge_core import model_cache
    from ge_core.model_store import load_kept

    if not model_cache.found(path):
        return None
    try:
        signatures = {name: source.signature for name, source in sources.items()}
        return load_kept(path, request.plugin, signatures, _provenance(request), watch.seconds)
    except GeError:
        return None


def _provenance(request: CompileRequest) -> Provenance:
    return Provenance(
        request.target,
        request.plugin.name,
        request.framework,
        request.precision,
        tuple(sorted(request.switches)),
        dict(request.options),
    )


def target_info(backend: Backend, target: str) -> TargetInfo:
    """A target's description.

    Raises:
        OptionError: the backend has no such target.
    """
    found = {info.name: info for info in backend.targets()}
    if target not in found:
        raise OptionError(f"the backend has no target {target!r}", expected=", ".join(sorted(found)))
    return found[target]


def unknown_ranks(graph: Graph) -> list[Problem]:
    """What a target that runs nothing on the host cannot take: values whose rank only the data decide."""
    return [
        Problem(
            f"the number of axes of %{v.name} depends on data",
            UNKNOWN if v.producer is None else v.producer.loc,
            "fix the sizes or the shape that it is computed from",
            v.name if v.producer is None else v.producer.op,
        )
        for v in values(graph)
        if isinstance(v.type, TensorType) and v.type.shape is None
    ]


def pass_context(request: CompileRequest) -> PassContext:
    """Options of the core passes."""
    options = request.options
    folder = options.get("save_graphs")
    after = options.get("print_after") or ()
    return PassContext(
        switches=request.switches,
        precision=request.precision,
        explain=bool(options.get("explain", False)),
        stop_after=options.get("stop_after"),
        print_after=frozenset([after] if isinstance(after, str) else after),
        save_to=None if folder is None else Path(folder),
    )


def plain_graph(graph: Graph) -> Graph:
    """A copy of a selected graph without groups, layouts and storage conversions: the optimised graph again."""
    copy = clone_graph(graph)
    ungroup(copy)
    for node in list(walk(copy)):
        if node.op == "ge.Relayout" and node.block is not None:
            source = node.input(0)
            assert source is not None
            node.output.replace_uses(source)
            node.block.nodes.remove(node)
    for value in list(copy.constants):
        if not value.has_uses:  # what a backend prepared from other constants
            copy.remove_constant(value)
    for value in (*copy.constants, *values(copy)):
        value.layout = None
    copy.stage = "optimised"
    return copy


def example_sizes(graph: Graph, leaves: Sequence[object]) -> dict[str, int]:
    """Values of the inputs' symbols for example tensors; empty when those do not tell."""
    shapes = [tuple(getattr(leaf, "shape", ())) for leaf in leaves]
    if not all(isinstance(d, int) for shape in shapes for d in shape):
        return {}
    binder = InputBinder(graph.inputs)
    try:
        found = binder.values(shapes)
    except (GeError, IndexError):
        return {}
    return {s.name: v for s, v in zip(binder.symbols, found, strict=True)}


class WeightCopies:
    """Copies of the constants that share memory with the original model, one at a time, each array once. Data in a file
    stay there.

    Args:
        share: leave them where they are.
    """

    def __init__(self, share: bool) -> None:
        self.share = share
        self._foreign: set[int] = set()
        self._kept: list[Constant] = []
        self._copies: dict[tuple[object, ...], Constant] = {}

    def mark(self, graph: Graph) -> None:
        """Remember the constants of an imported graph; what the passes compute belongs to the model already."""
        if self.share:
            return
        found = [v.constant for v in graph.constants if v.constant is not None]
        found += [state.initial for state in graph.states]
        found = [constant for constant in found if constant.residence == "memory"]
        self._kept += found
        self._foreign.update(map(id, found))

    def own(self, graph: Graph) -> None:
        """Replace the marked constants by copies."""
        for value in graph.constants:
            if value.constant is not None and id(value.constant) in self._foreign:
                value.constant = self._copy(value.constant)
        for state in graph.states:
            if id(state.initial) in self._foreign:
                state.initial = self._copy(state.initial)

    def _copy(self, constant: Constant) -> Constant:
        array = constant.array()
        key: tuple[object, ...] = (array.__array_interface__["data"][0], array.shape, array.strides, str(array.dtype))
        if constant.stored is not None:
            key = (id(constant),)  # the array was made just now, and its address means nothing
        found = self._copies.get(key)
        if found is None:
            found = self._copies[key] = Constant.of(np.array(array, order="C"), constant.type.dtype)
            found.source = constant.source
        return found


class CommonData:
    """Weights and states of several entries: equal weights become one constant, so that they are stored once."""

    def __init__(self) -> None:
        self._constants: dict[tuple[TensorType, Hashable], Constant] = {}
        self._states: dict[str, tuple[str, Constant]] = {}

    def take(self, entry: str, graph: Graph) -> None:
        """Let a graph use what the entries before have.

        Raises:
            InputError: a state has another type or first value than the state of that name in an entry before.
        """
        for value in graph.constants:
            if value.constant is not None:
                key = value.constant.type, value.constant.key()
                value.constant = self._constants.setdefault(key, value.constant)
        for state in graph.states:
            other, first = self._states.setdefault(state.name, (entry, state.initial))
            if first.type != state.initial.type or first.key() != state.initial.key():
                raise InputError(
                    f"the entries {other!r} and {entry!r} have different states {state.name!r}",
                    expected=f"one type and one first value: {first.type} in {other!r}, {state.initial.type} here",
                    fix="give the entries the same model object, or other names to their states",
                )
            state.initial = first


def rebuilt_request(request: CompileRequest, plugin: Plugin, target: str) -> CompileRequest:
    """The request to compile a stored, optimised graph for another target."""
    known = {key: value for key, value in request.options.items() if key in plugin.info.options or key in CORE_OPTIONS}
    return replace(request, plugin=plugin, target=target, options=known, optimised=True)
