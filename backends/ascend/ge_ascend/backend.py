"""The backend of all Ascend targets: it lowers, writes AIR, and hands it to CANN where that is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from ge_ascend.aipp import aipp_problem
from ge_ascend.chips import CHIPS, Chip
from ge_ascend.lower.engine import Lowered, lower
from ge_ascend.precision import policy_of
from ge_core.backend import Artifact, Buffer, Options, Problem, TargetInfo
from ge_core.device_contract import FileFinding, Prediction
from ge_core.errors import BackendError, GeError, OptionError
from ge_core.image_input import images, prepend_images
from ge_core.ir.clone import clone_graph
from ge_core.ir.dtype import DTYPES, DType, bfloat16, pack
from ge_core.ir.graph import Graph
from ge_core.model import CompiledModel
from ge_core.plan.plan import ExecutionPlan
from ge_core.plan.states import StateStore

_LARGE = 0.1
"""A predicted error above this part of the scale is explained by values out of the type's range, if there are any."""
_BFLOAT16 = {"float16": "float16", "float32": "float32"}


@dataclass(frozen=True)
class Settings:
    """The checked options of a compilation."""

    chip: Chip
    precision_mode: str | None
    allow_unsure: bool
    bfloat16_as: DType | None
    matmul_v2: bool = False

    @staticmethod
    def of(target: str, options: Options) -> Settings:
        """Check what the user gave.

        Raises:
            OptionError: a value that is not taken.
        """
        mode, half = options.get("precision_mode"), options.get("bfloat16")
        if half is not None and half not in _BFLOAT16:
            raise OptionError(f"bfloat16={half!r}", expected=" or ".join(map(repr, _BFLOAT16)))
        if options.get("via", "air") not in ("air", "onnx"):
            raise OptionError(f"via={options['via']!r}", expected="'air' or 'onnx'")
        return Settings(
            CHIPS[target],
            None if mode is None else str(mode),
            bool(options.get("allow_unsure", False)),
            None if half is None else DType.of(half),
            bool(options.get("matmul_v2", False)),
        )

    def lower(self, graph: Graph) -> Lowered:
        policy = policy_of(self.precision_mode, self.chip)
        return lower(
            graph, self.chip, policy, allow_unsure=self.allow_unsure, bfloat16_as=self.bfloat16_as,
            matmul_v2=self.matmul_v2,
        )  # fmt: skip


class AscendBackend:
    """Whole-graph: CANN plans and generates code.

    Args:
        targets: names of the chips of this family.
    """

    kind: Literal["whole"] = "whole"
    takes_images: Literal[True] = True

    def __init__(self, targets: Sequence[str]) -> None:
        self._names = tuple(targets)
        self._lowered: WeakKeyDictionary[Graph, tuple[Settings, Lowered]] = WeakKeyDictionary()

    def targets(self) -> Sequence[TargetInfo]:
        from ge_ascend.device import figures
        from ge_ascend.executable import device_problem

        problem = device_problem()
        found = []
        for name in self._names:
            chip, numbers = CHIPS[name], figures(name)
            dtypes = frozenset(d for d in DTYPES if d.ge_memory is not None and (chip.bfloat16 or d != bfloat16))
            found.append(
                TargetInfo(
                    name=name,
                    description=f"{chip.soc} and its like, by CANN",
                    dtypes=dtypes,
                    alignment=512,
                    pools={"device": numbers.memory},
                    figures={"memory_bandwidth": numbers.memory_bandwidth, **_peaks(numbers.peak)},
                    copies_weights=True,
                    available=not problem,
                    reason=problem,
                )
            )
        return found

    def check(self, graph: Graph, target: str, options: Options) -> list[Problem]:
        try:
            return self._lower(graph, target, options).problems
        except GeError as error:
            expected = f" (expected {error.expected})" if error.expected else ""
            return [Problem(error.what + expected, fix=error.fix or "")]

    def passes(self, target: str, options: Options) -> Sequence[Any]:
        return ()

    def build(
        self, entries: Mapping[str, ExecutionPlan] | Mapping[str, Graph], target: str, options: Options
    ) -> Artifact:
        from ge_ascend.air.reader import parse_air
        from ge_ascend.air.writer import write_air
        from ge_ascend.check.run import check_air

        artifact = Artifact(target=target)
        places: dict[str, str] = {}
        for name, graph in entries.items():
            if not isinstance(graph, Graph):
                raise BackendError("an Ascend target takes graphs, no plans")
            given, graph = _prepared(graph, options.get("preprocess"), artifact)
            lowered = self._lower(graph, target, options)
            if lowered.problems:
                raise BackendError(str(lowered.problems[0]))
            file = write_air(lowered.program, folder=f"weight/{name}")
            errors = [f for f in check_air(parse_air(file.data), CHIPS[target]) if f.severity == "error"]
            if file.weights:  # they are not beside it yet
                errors = [e for e in errors if e.rule != "file-constant"]
            if errors:
                raise BackendError("the AIR file breaks CANN's rules", details=[str(e) for e in errors[:10]])
            artifact.items[f"{name}.air"] = file.data
            for path, constant in file.weights.items():
                artifact.items[path] = _bytes(constant.array(), constant.type.dtype)
            artifact.graphs[name] = given
            artifact.notes += [line for line in lowered.notes.lines() if line not in artifact.notes]
            places |= {op.name: str(op.loc) for op in lowered.program.ops() if op.source not in ("constant", "input")}
        artifact.metadata |= {"places": places, "mode": policy_of(_mode(options), CHIPS[target]).mode}
        artifact.metadata["options"] = {k: v for k, v in options.items() if isinstance(v, (str, bool, int, float))}
        return artifact

    def load(self, artifact: Artifact, options: Options) -> Any:
        from ge_ascend.executable import DeviceExecutable

        return DeviceExecutable(self, artifact, dict(options))

    def save(self, artifact: Artifact, path: str, options: Options) -> None:
        """Write `.air`, or by ATC `.om`; see `ge_core.device_contract.SavesFiles`."""
        from ge_ascend.saving import save

        save(artifact, path, options)

    def open_file(self, path: str, target: str | None) -> CompiledModel | None:
        """What ATC wrote; see `ge_core.foreign_file.OpensFiles`."""
        from ge_ascend.offline import open_offline

        return open_offline(path, target, self._names, self._names[-1])

    def check_file(self, path: str, target: str) -> list[FileFinding]:
        """See `ge_core.device_contract.ChecksFiles`."""
        from ge_ascend.check.run import check_file

        return check_file(path, target)

    def describe(self, artifact: Artifact, options: Options) -> str:
        """An estimate of time and memory; see `ge_core.device_contract.Describes`."""
        from ge_ascend.device import describe, estimate, figures
        from ge_ascend.saving import DEVICE_MODEL

        if DEVICE_MODEL in artifact.items:
            return "compiled by ATC: its operators and their times are known to CANN's own tools alone"
        parts = []
        given = {**artifact.metadata.get("options", {}), **options}
        for name, graph in artifact.graphs.items():
            lowered = self._lower(graph, artifact.target, given)
            title = f"entry {name}: " if len(artifact.graphs) > 1 else ""
            parts.append(title + describe(estimate(lowered.program, figures(artifact.target))))
            parts.append(_planned_memory(lowered.meaning))
            parts += self._by_precision(graph, artifact.target, given)
        return "\n".join(parts)

    def _by_precision(self, graph: Graph, target: str, options: Options) -> list[str]:
        """The estimate under the precision modes that the chip has and the graph can take."""
        from ge_ascend.device import estimate, figures

        lines = ["  by precision mode:"]
        for mode in ("must_keep_origin_dtype", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16", "force_fp16"):
            try:
                found = Settings.of(target, {**options, "precision_mode": mode}).lower(graph)
            except OptionError:
                continue
            if not found.problems:
                seconds = estimate(found.program, figures(target)).seconds
                lines.append(f"    {mode:24s} {1e3 * seconds:9.3f} ms")
        return lines

    def emulate(self, artifact: Artifact, inputs: Sequence[Any], entry: str = "main") -> list[Any]:
        """What the written file computes, run on this machine; see `ge_core.device_contract.Emulates`."""
        from ge_ascend.saving import stored_graph

        with stored_graph(artifact, entry) as graph:
            found: list[Any] = host_run(graph)(inputs)
        return found

    def predict(self, artifact: Artifact, inputs: Sequence[Any], entry: str = "main") -> Prediction:
        """The emulated results against those of float32, and the operators that contribute most."""
        from ge_ascend.predict import beyond_range, difference, shares

        options = artifact.metadata.get("options", {})
        policy = policy_of(_mode(options), CHIPS[artifact.target])
        graph = artifact.graphs[entry]
        exact = host_run(graph)(inputs)
        got = self.emulate(artifact, inputs, entry)
        errors = tuple(difference(a, b) for a, b in zip(got, exact, strict=True))
        found = shares(graph, inputs, policy, host_run)
        basis = f"every stored tensor rounded as {policy.mode} stores it"
        if policy.low is not None and max(errors, default=0.0) > _LARGE and not graph.states:
            told = beyond_range(graph, inputs, policy.low)
            basis += f"; {told}" if told else ""
        return Prediction(errors, tuple((s.op, s.where, s.error) for s in found), basis)

    def _lower(self, graph: Graph, target: str, options: Options) -> Lowered:
        settings = Settings.of(target, options)
        known = self._lowered.get(graph)
        if known is None or known[0] != settings:
            known = self._lowered[graph] = (settings, settings.lower(graph))
        return known[1]


def _prepared(graph: Graph, wanted: object, artifact: Artifact) -> tuple[Graph, Graph]:
    """The graph as a caller sees it, and the one to lower: without preparing images where AIPP does that."""
    if not wanted:
        return graph, graph
    whole = clone_graph(graph)
    prepend_images(whole, wanted)
    problem = aipp_problem(graph, wanted)
    if problem:
        artifact.notes.append(f"images are prepared by operators, not by AIPP: {problem}")
        return whole, whole
    artifact.metadata["preprocess"] = {name: asdict(image) for name, image in images(wanted).items()}
    return whole, graph


def _planned_memory(meaning: Graph) -> str:
    """Activations by the core's own planner, for the operators of the file at their least sizes."""
    from ge_core.plan.build import PlanRequest, build_plan
    from ge_core.reference.backend import ReferenceBackend
    from ge_core.report import memory_report

    plan, planning = build_plan(clone_graph(meaning), PlanRequest(ReferenceBackend(), "reference", {}))
    found = memory_report(plan, planning.tried)
    return (
        f"  static plan of its operators: {found.arena / 2**20:.1f} MiB, at least {found.lower_bound / 2**20:.1f}, "
        f"without reuse {found.no_reuse / 2**20:.1f}"
    )


def host_run(graph: Graph) -> Any:
    """A graph compiled for the fastest target of this machine, as a function of arrays."""
    import ge_core

    compiled = ge_core.compile(graph, options={"share_weights": True})
    states = compiled.session().states

    def call(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        fresh: StateStore = states
        fresh.reset()
        return compiled.executable.run([np.array(x, order="C") for x in inputs], fresh, "main")

    return call


def _mode(options: Options) -> str | None:
    found = options.get("precision_mode")
    return None if found is None else str(found)


def _peaks(peak: Mapping[str, float]) -> dict[str, float]:
    return {f"peak_{name}": value for name, value in peak.items()}


def _bytes(array: np.ndarray, dtype: DType) -> Buffer:
    return pack(array, dtype)


__all__ = ["AscendBackend", "Settings", "host_run"]
