"""The public functions: compile, compile_entries, trace, import_model, optimize, load, verify, coverage, export."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ge_core.backend import PlannedBackend, planned
from ge_core.collector import paused
from ge_core.compiler import (
    CORE_OPTIONS,
    CompileRequest,
    EntrySource,
    example_sizes,
    parse_precision,
    parse_switches,
)
from ge_core.compiler import compile_entries as compile_sources
from ge_core.coverage_report import CoverageReport
from ge_core.device_contract import Emulates, Prediction
from ge_core.errors import BackendError, GeError, InputError, ModelImportError, OptionError, UnsupportedError
from ge_core.input_spec import InputSpec
from ge_core.ir.clone import clone_graph
from ge_core.ir.graph import Graph
from ge_core.ir.traverse import walk
from ge_core.listed_sizes import Dim, Listed, listed_in
from ge_core.model import MAIN, CompiledModel, Session
from ge_core.passes.base import PassContext
from ge_core.passes.manager import PassManager
from ge_core.passes.pipeline import optimise
from ge_core.phases import Stopwatch
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.plan import HostStep
from ge_core.plugins import Plugin, check_options, host
from ge_core.signature import Signature
from ge_core.structure import describe
from ge_core.verification import TOLERANCE, VerifyReport, compare, first_divergence

_signatures: WeakKeyDictionary[Graph, Signature] = WeakKeyDictionary()
_listed: WeakKeyDictionary[Graph, Listed] = WeakKeyDictionary()
_notices: set[str] = set()
_notices_lock = threading.Lock()


def compile(
    model: object,
    inputs: object | None = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    framework: str | None = None,
    target: str | None = None,
    dynamic_shapes: object | None = None,
    optimize: str | Collection[str] = "default",
    precision: str = "balanced",
    options: Mapping[str, object] | None = None,
) -> CompiledModel:
    """Compile a model of any framework.

    Args:
        model: a live object of an installed frontend's framework, a path, or a Graph (which stays as it is).
        inputs: positional examples: a tuple or list of tensors, arrays or InputSpecs, or one of these alone.
        kwargs: keyword examples.
        framework: the frontend's name; by default the model is recognised.
        target: by default the first usable one of the catalogue's default targets.
        dynamic_shapes: torch.export's form, or names by input; a `Dim` is a name with the values that it may take.
        optimize: "none", "default", "max" (times alternatives on this machine: docs/cpu.md), or a set out of fusion,
            memory, reorder, dce, fold, layout, select, measure.
        precision: "accuracy", "balanced" or "speed".
        options: see `CORE_OPTIONS`, and what the frontend and the backend read.

    Raises:
        OptionError: an unknown option, or a value it does not take.
        ModelImportError: the model is not recognised, or cannot be imported.
        UnsupportedError: it uses something that is not supported; all of it is listed.
        BackendError: the target cannot compile it.
        PluginError: a plugin is missing or broken.
    """
    with paused():
        wanted = _Wanted.of(model, framework, target, optimize, precision, options)
    watch = Stopwatch()
    imported = _import(model, inputs, kwargs, dynamic_shapes, wanted, watch)
    return compile_sources({MAIN: imported}, wanted.request, watch)


@dataclass(frozen=True)
class EntrySpec:
    """One of several ways to call a model: what `compile` takes for it."""

    model: object
    inputs: object | None = None
    kwargs: Mapping[str, object] | None = None
    dynamic_shapes: object | None = None


def compile_entries(
    entries: Mapping[str, EntrySpec],
    *,
    framework: str | None = None,
    target: str | None = None,
    optimize: str | Collection[str] = "default",
    precision: str = "balanced",
    options: Mapping[str, object] | None = None,
) -> CompiledModel:
    """Compile several ways to call a model, such as the prefill and the decoding of a language model, as one.

    Equal weights are kept once, in memory and in the file. States of one name are one state: what one entry writes,
    the others read. `CompiledModel.entries[name]` calls an entry in the default session, `Session.entry(name, ...)`
    in another one; the model itself calls the first entry.

    Args:
        entries: by name; usually of one model object, with the examples of each kind of call.
        framework, target, optimize, precision, options: as in `compile`, the same for all.

    Raises:
        InputError: there are no entries, or they have different states under one name.
        ModelImportError: the entries belong to different frameworks.
        OptionError, UnsupportedError, BackendError, PluginError: as in `compile`.
    """
    if not entries:
        raise InputError("there are no entries to compile", expected="a table of names and EntrySpecs")
    watch = Stopwatch()
    sources: dict[str, EntrySource] = {}
    wanted: _Wanted | None = None
    for name, spec in entries.items():
        if not isinstance(spec, EntrySpec):
            raise InputError(f"the entry {name!r} is a {type(spec).__qualname__}", expected="an EntrySpec")
        found = _Wanted.of(spec.model, framework, target, optimize, precision, options)
        if wanted is not None and found.request.framework != wanted.request.framework:
            raise ModelImportError(
                f"the entry {name!r} is a model of {found.request.framework or 'ge itself'}",
                expected=f"the framework of the first entry: {wanted.request.framework or 'ge itself'}",
            )
        wanted = wanted or found
        sources[str(name)] = _import(spec.model, spec.inputs, spec.kwargs, spec.dynamic_shapes, found, watch)
    assert wanted is not None
    return compile_sources(sources, wanted.request, watch)


def trace(model: object, *inputs: object, **options: Any) -> CompiledModel:
    """Compile a model by example inputs: `trace(net, x)` is `compile(net, (x,))`; options are those of `compile`."""
    return compile(model, inputs or None, **options)


def import_model(
    model: object,
    inputs: object | None = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    framework: str | None = None,
    dynamic_shapes: object | None = None,
    options: Mapping[str, object] | None = None,
) -> Graph:
    """Import a model without compiling it; the graph shares the weights' memory with the model."""
    plugin = host().recognise(model, framework)
    check_options(options or {}, {}, [plugin])
    imported = plugin.import_model(_model(model), _positional(inputs), kwargs, dynamic_shapes, options or {})
    _signatures[imported.graph] = imported.signature
    _listed[imported.graph] = listed_in(dynamic_shapes, inputs, kwargs)
    return imported.graph


def optimize(graph: Graph, optimize: str | Collection[str] = "default", *, precision: str = "balanced") -> Graph:
    """An optimised copy of a graph."""
    copy = clone_graph(graph)
    optimise(copy, ctx=PassContext(switches=parse_switches(optimize), precision=parse_precision(precision)))
    if graph in _signatures:
        _signatures[copy], _listed[copy] = _signatures[graph], _listed.get(graph, {})
    return copy


def load(
    path: str | os.PathLike[str], *, target: str | None = None, trust: bool = False, rebuild: bool = False
) -> CompiledModel:
    """Open an offline model.

    Args:
        target: compile the file's graph for another target than the one that it was compiled for.
        trust: run the native code in the file. Without it, code that this user did not compile here is replaced
            by compiling the file's graph again.
        rebuild: compile the graph again in any case.

    Raises:
        OfflineModelError: no offline model, damaged, or from a later version.
        PluginError: the target's backend is not installed; says the pip line.
    """
    with paused():
        from ge_core.model_store import load_model

        return load_model(path, target=target, trusted=trust, rebuild=rebuild)


def verify(
    model: object,
    inputs: object | None = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    compiled: CompiledModel | None = None,
    tolerance: float | None = None,
    **options: Any,
) -> VerifyReport:
    """Run the original in its own framework and the compiled model, and compare what they return.

    Args:
        compiled: by default the model is compiled with `options`, as in `compile`.
        tolerance: largest difference as a part of an output's scale; by default one by element type.

    Raises:
        ModelImportError: the model is a Graph or a file, which has no original that could run.
    """
    framework = options.get("framework")
    plugin = host().recognise(model, framework if isinstance(framework, str) else None)
    args, keywords = _positional(inputs) or (), dict(kwargs or {})
    compiled = compiled or compile(model, inputs, kwargs, **options)
    original = plugin.run_original(_model(model), args, keywords)
    _, wanted = describe(original, _is_tensor)
    report = VerifyReport(compiled.target)
    backend = host().backend(compiled.provenance.backend).backend()
    prediction: Prediction | None = None
    if isinstance(backend, Emulates):
        got, prediction = _emulated(compiled, backend, args, keywords)
        report.predicted = prediction.lines(compiled.entries[MAIN].signature.output_names)
    else:
        _, got = describe(compiled(*args, **keywords), _is_tensor)
    if len(wanted) != len(got):
        raise ModelImportError(
            f"the original returns {len(wanted)} tensors, the compiled model {len(got)}",
            fix="compile with examples of the very call that is verified",
        )
    names = compiled.entries[MAIN].signature.output_names
    for i, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
        name = names[i] if len(names) == len(got) else f"output_{i}"
        allowed = tolerance
        if prediction is not None and tolerance is None:
            allowed = max(TOLERANCE.get(str(_array(theirs).dtype), 0.0), _SPREAD * prediction.outputs[i])
        report.outputs.append(compare(name, _array(mine), _array(theirs), allowed))
    if not report.passed and prediction is None:
        imported = plugin.import_model(
            _model(model), args, keywords, options.get("dynamic_shapes"), _frontend_options(plugin, options)
        )
        entry = compiled.entries[MAIN]
        arrays, _ = entry.arrays(entry.signature.flatten(args, keywords))
        report.first_divergence = first_divergence(imported.graph, compiled, arrays)
    return report


_SPREAD = 4.0
"""How far an emulated result may lie beyond the error that rounding predicts: the two round at different places."""


def _emulated(
    compiled: CompiledModel, backend: Emulates, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[list[object], Prediction]:
    """What a target that cannot run here would return, and the error that its element types bring."""
    entry = compiled.entries[MAIN]
    arrays, _ = entry.arrays(entry.signature.flatten(args, kwargs))
    prediction = backend.predict(compiled.artifact, arrays)
    outputs = backend.emulate(compiled.artifact, arrays)
    _, leaves = describe(entry.signature.unflatten(outputs), _is_tensor)
    return list(leaves), prediction


def coverage(
    model: object,
    inputs: object | None = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    framework: str | None = None,
    target: str | None = None,
    dynamic_shapes: object | None = None,
    options: Mapping[str, object] | None = None,
) -> CoverageReport:
    """Which of a model's operators are supported, without compiling it."""
    wanted = _Wanted.of(model, framework, target, "default", "balanced", options)
    request = wanted.request
    report = CoverageReport(request.target, request.framework)
    try:
        imported = _import(model, inputs, kwargs, dynamic_shapes, wanted, Stopwatch()).owned()
    except UnsupportedError as error:
        report.unsupported = list(error.details) or [error.what]
        return report
    graph = imported.graph
    optimise(graph, ctx=PassContext())
    report.operators = dict(Counter(node.op for node in walk(graph)).most_common())
    backend = request.plugin.backend()
    problems = backend.check(graph, request.target, request.backend_options)
    report.unsupported = [str(problem) for problem in problems]
    if backend.kind == "planned" and not problems:
        report.host_operators = _host_operators(graph, planned(backend), request)
    return report


def export(model: object, path: str | os.PathLike[str], *, opset: int | None = None, **options: Any) -> None:
    """Write a model's graph in another framework's form; an `.onnx` file is written by the ONNX frontend.

    Args:
        model: a Graph, a CompiledModel, or whatever `import_model` takes (with its arguments as `options`).
        opset: version of the operators to use.

    Raises:
        PluginError: the frontend that writes files of this kind is not installed, or cannot write.
        UnsupportedError: the graph has something that the form cannot say.
    """
    if isinstance(model, CompiledModel):
        graph = model.graph
    else:
        graph = model if isinstance(model, Graph) else import_model(model, **options)
    host().frontend(_writer_of(path)).export_graph(graph, os.fspath(path), opset)


def _writer_of(path: str | os.PathLike[str]) -> str:
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    writers = {".onnx": "onnx"}
    if suffix not in writers:
        raise InputError(f"no frontend writes {suffix or 'files without a suffix'}", expected=", ".join(writers))
    return writers[suffix]


@dataclass(frozen=True)
class _Wanted:
    """The checked arguments of a compilation."""

    request: CompileRequest
    frontend: Plugin | None

    @staticmethod
    def of(
        model: object,
        framework: str | None,
        target: str | None,
        optimize: str | Collection[str],
        precision: str,
        options: Mapping[str, object] | None,
    ) -> _Wanted:
        switches, accuracy = parse_switches(optimize), parse_precision(precision)
        backend = host().resolve_target(target)
        frontend = None if isinstance(model, Graph) else host().recognise(model, framework)
        options = dict(options or {})
        check_options(options, CORE_OPTIONS, [p for p in (frontend, backend) if p is not None])
        if target is None and backend.name == "reference":
            _tell_once("no fast target is installed: the model runs on the reference target, which is slow. "
                       "pip install ge-backend-cpu makes it fast.")  # fmt: skip
        name = "" if frontend is None else frontend.name
        return _Wanted(CompileRequest(backend, target or backend.name, accuracy, switches, options, name), frontend)


def _import(
    model: object,
    inputs: object | None,
    kwargs: Mapping[str, object] | None,
    dynamic_shapes: object | None,
    wanted: _Wanted,
    watch: Stopwatch,
) -> EntrySource:
    args = _positional(inputs)
    with watch.phase("import"):
        if isinstance(model, Graph):
            if dynamic_shapes is not None:
                raise OptionError(
                    "dynamic_shapes is given for a Graph",
                    expected="a Graph, whose inputs say themselves which sizes are symbols",
                )
            graph, dims = model, _listed.get(model, {})
            signature = _signatures.get(model) or Signature.flat(
                [v.name for v in graph.inputs], [f"output_{i}" for i in range(len(graph.outputs))]
            )
        else:
            assert wanted.frontend is not None
            options = _frontend_options(wanted.frontend, {"options": wanted.request.options})
            imported = wanted.frontend.import_model(_model(model), args, kwargs, dynamic_shapes, options)
            graph, signature = imported.graph, imported.signature
            dims = listed_in(dynamic_shapes, args, kwargs)
    example: dict[str, int] = {}
    if args is not None or kwargs:
        try:
            example = example_sizes(graph, signature.flatten(args or (), kwargs or {}))
        except GeError:
            example = {}  # specs and partial examples say no sizes; the report then takes typical ones
    return EntrySource(graph, signature, example, not isinstance(model, Graph), dims)


def _frontend_options(plugin: Plugin, options: Mapping[str, Any]) -> dict[str, object]:
    given = options.get("options") or {}
    return {key: value for key, value in given.items() if key in plugin.info.options}


def _host_operators(graph: Graph, backend: PlannedBackend, request: CompileRequest) -> dict[str, int]:
    """Operators of the plan's host steps."""
    options = request.backend_options
    PassManager(tuple(backend.passes(request.target, options)), "legalise")(graph, PassContext())
    plan, _ = build_plan(graph, PlanRequest(backend, request.target, options))
    hosts = (plan.node(step.node).op for step in plan.all_steps() if isinstance(step, HostStep))
    return dict(Counter(hosts).most_common())


def _positional(inputs: object | None) -> tuple[object, ...] | None:
    """Positional examples as a tuple: one tensor alone is the only argument."""
    if inputs is None:
        return None
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _model(model: object) -> object:
    """Paths go to frontends as text."""
    return os.fspath(model) if isinstance(model, os.PathLike) else model


def _is_tensor(value: object) -> bool:
    import numpy as np

    return isinstance(value, (np.ndarray, np.generic)) or host().tensor_owner(value) is not None


def _array(tensor: object) -> Any:
    import numpy as np

    if isinstance(tensor, (np.ndarray, np.generic)):
        return np.asarray(tensor)
    array = host().tensor_to_numpy(tensor)
    if array is None:
        raise BackendError(f"a {type(tensor).__qualname__} is no tensor of an installed frontend")
    return array


def _tell_once(text: str) -> None:
    """A notice for a person, once per process."""
    with _notices_lock:
        if text in _notices:
            return
        _notices.add(text)
    print(f"ge: {text}", file=sys.stderr)


__all__: Sequence[str] = [
    "CompiledModel",
    "CoverageReport",
    "Dim",
    "EntrySpec",
    "InputSpec",
    "Session",
    "VerifyReport",
    "compile",
    "compile_entries",
    "coverage",
    "export",
    "import_model",
    "load",
    "optimize",
    "trace",
    "verify",
]
