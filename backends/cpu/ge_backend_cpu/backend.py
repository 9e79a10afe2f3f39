"""The backend object: targets, judgement of groups, implementations, compilation, loading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from ge_backend_cpu import implementations
from ge_backend_cpu.early import Early
from ge_backend_cpu.isa import Isa, host, processor, supported_platform, wanted
from ge_backend_cpu.kernel import Kernel
from ge_backend_cpu.outlook import Outlook
from ge_core.backend import Artifact, Group, Implementation, Options, Problem, Refusal, TargetInfo, operands
from ge_core.errors import BackendError, GeError
from ge_core.ir.dtype import DTYPES
from ge_core.ir.graph import Graph, Node, constant_of
from ge_core.ir.traverse import type_symbols, walk
from ge_core.ir.types import TensorType, Type
from ge_core.ops.registry import DECOMPOSITIONS, KERNELS
from ge_core.plan.plan import CopyStep, ExecutionPlan, KernelStep

if TYPE_CHECKING:
    import numpy as np

TARGET = "cpu"
_LOADING = tuple(f"ge_backend_cpu.{name}" for name in ("executable", "image", "team", "weights"))


class CpuBackend:
    """Native code for this machine's processor (`ge_core.backend.PlannedBackend`)."""

    kind: Literal["planned"] = "planned"
    _outlook = Outlook()
    _early = Early()

    def targets(self) -> Sequence[TargetInfo]:
        reason = supported_platform()
        figures: dict[str, float | str] = {}
        if not reason:
            try:
                figures["isa"] = str(wanted()[0])
            except GeError as error:
                reason = error.what
        return [
            TargetInfo(
                name=TARGET,
                description="native code for this machine's processor",
                dtypes=frozenset(d for d in DTYPES if d.kind not in ("complex", "string")),
                figures=figures,
                copies_weights=True,
                available=not reason,
                reason=reason,
            )
        ]

    def check(self, graph: Graph, target: str, options: Options) -> list[Problem]:
        problems = []
        if reason := supported_platform():
            problems.append(Problem(reason, fix="use target='reference'"))
        try:
            wanted(options.get("isa"))
        except GeError as error:
            problems.append(Problem(error.what, fix=error.expected or ""))
        missing: dict[str, Node] = {}
        for node in walk(graph):
            if KERNELS.get(node.op) is None and DECOMPOSITIONS.get(node.op) is None:
                missing.setdefault(node.op, node)
        problems += [Problem(f"{op} has no kernel", node.loc, node=op) for op, node in missing.items()]
        return problems

    def prepare(self, graphs: Sequence[Graph], target: str, options: Options) -> None:
        """Start the compiling processes where the kernels are not likely to be in the cache."""
        from ge_backend_cpu.compile import start_workers, worker_count

        self._early.forget()
        workers = worker_count(options.get("workers"))
        if workers and not self._outlook.is_known(graphs, _cache(options)):
            start_workers(workers)

    def chosen(
        self, implementations: Sequence[Implementation], target: str, options: Options
    ) -> Sequence[Implementation]:
        """Begin with the kernels (`ge_core.device_contract.BeginsEarly`)."""
        from ge_backend_cpu.compile import worker_count
        from ge_backend_cpu.sharing import shared

        found = shared(implementations)
        launches = [launch for i in found for launch in i.data.get("launches", ())]
        kernels = [Kernel(launch["family"], launch["parameters"]) for launch in launches]
        workers = worker_count(options.get("workers"))
        self._early.begin(kernels, wanted(options.get("isa")), workers, _cache(options))
        return found

    def stamp(self, target: str, options: Options) -> str | None:
        """See `ge_core.device_contract.KeepsModels`."""
        from ge_backend_cpu.cache import generator_version
        from ge_backend_cpu.figures import figures_stamp
        from ge_backend_cpu.team import thread_count

        cache = _cache(options)
        if cache is None or supported_platform():
            return None
        levels = ",".join(map(str, wanted(options.get("isa"))))
        threads = thread_count(options.get("num_threads"))
        return f"{generator_version()} {levels} on {host()} {processor()} {threads} {figures_stamp(cache)}"

    def fingerprint(self, secret: bytes, data: Sequence[np.ndarray]) -> bytes:
        """See `ge_core.device_contract.KeepsModels` and `ge_backend_cpu.fingerprint`."""
        from ge_backend_cpu.fingerprint import fingerprint

        # what a compiled model is loaded with comes next
        return fingerprint(secret, data, _import_loading)

    def passes(self, target: str, options: Options) -> Sequence[Any]:
        # they need the generators, which a model from a file does without
        from ge_backend_cpu.contract.dot import has_dots
        from ge_backend_cpu.expand import registry as expansions
        from ge_backend_cpu.expand.carried import CarryBytes
        from ge_backend_cpu.expand.quantised import IntegerProducts
        from ge_backend_cpu.expand.unread import LeaveOutUnread
        from ge_backend_cpu.expand.unsigned import UnsignedActivations
        from ge_core.passes.legalise import ExpandComposites

        isa = wanted(options.get("isa"))[0]

        def has_kernel(node: Node) -> bool:
            return _tensors_alone(node) and not _sized_late(node) and implementations.covers(node, isa, options)

        composites = ExpandComposites(lambda node: has_kernel(node) or _reduces_late(node))
        return [
            composites,
            CarryBytes(),
            *([UnsignedActivations()] if has_dots(isa) else []),
            IntegerProducts(has_dots(isa)),
            ExpandComposites(lambda node: not expansions.applies(node) or has_kernel(node), expansions.rule),
            composites,  # of what the expansions gave sizes
            LeaveOutUnread(),
        ]

    def may_join(self, group: Group, node: Node) -> bool | Refusal:
        return implementations.may_join(group, node)

    def may_merge(self, parts: tuple[Group, Group], together: Group) -> bool | Refusal:
        """See `ge_core.backend.Merges`."""
        from ge_backend_cpu.contract.site import may_merge as dequantises
        from ge_backend_cpu.groups import may_merge

        return dequantises(parts) or may_merge(parts, together)

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        if not _tensors_alone(node):
            return ()
        return implementations.offers(node, wanted(options.get("isa"))[0], options)

    def measured(
        self, node: Node, offered: Sequence[Implementation], target: str, options: Options
    ) -> Sequence[Implementation]:
        """See `ge_core.backend.Measures`."""
        from ge_backend_cpu.measure import measured

        return measured(self, node, offered, target, wanted(options.get("isa"))[0], options, _cache(options))

    def build(
        self, entries: Mapping[str, ExecutionPlan] | Mapping[str, Graph], target: str, options: Options
    ) -> Artifact:
        from ge_backend_cpu.compile import worker_count
        from ge_backend_cpu.image import joined, pack_image
        from ge_backend_cpu.weights import pack_weights

        artifact = Artifact(target=TARGET, native=True)
        for name, plan in entries.items():
            if not isinstance(plan, ExecutionPlan):
                raise BackendError("the cpu target takes plans")
            artifact.graphs[name], artifact.plans[name] = plan.graph, plan
        kernels, levels = plan_kernels(artifact.plans.values()), wanted(options.get("isa"))
        workers, cache = worker_count(options.get("workers")), _cache(options)
        coming = self._early.take(levels, workers, cache)
        for one in coming:
            one.add(kernels)
        try:  # the worker processes compile while the weights are packed here
            artifact.metadata["prepared"] = pack_weights(artifact.plans, bool(options.get("share_weights")))
            for one in coming:
                code = joined(one.codes(kernels).values())
                artifact.items[f"kernels/{one.isa}"] = pack_image(str(one.isa), code)
        finally:
            for one in coming:
                one.close()
        artifact.metadata["isa"] = [str(isa) for isa in levels]
        self._outlook.remember(cache)
        return artifact

    def load(self, artifact: Artifact, options: Options) -> Any:
        from ge_backend_cpu.executable import CpuExecutable, Entry
        from ge_backend_cpu.image import Mapped, read_image
        from ge_backend_cpu.team import team_of, thread_count
        from ge_backend_cpu.weights import prepared_weights

        if artifact.target != TARGET:
            raise BackendError(f"an artifact of the target {artifact.target!r}", expected=TARGET)
        code = Mapped(read_image(artifact.items[f"kernels/{best_level(artifact)}"]).code)
        team = team_of(thread_count(options.get("num_threads")))
        prepared = artifact.metadata.get("prepared", {})
        entries = {
            name: Entry(plan, code.address, team, prepared_weights(plan, prepared.get(name, ())))
            for name, plan in artifact.plans.items()
        }
        return CpuExecutable(entries, code)


def plan_kernels(plans: Iterable[ExecutionPlan]) -> list[Kernel]:
    """The distinct kernels of some plans, those of copy steps included."""
    from ge_backend_cpu.table import launches_of, plan_symbols

    found: dict[Kernel, None] = {}
    for plan in plans:
        symbols = plan_symbols(plan)
        for step in plan.all_steps():
            if isinstance(step, CopyStep) and not _has_bytes(plan.values[step.target].type):
                continue
            if isinstance(step, (KernelStep, CopyStep)):
                found.update((launch.kernel, None) for launch in launches_of(plan, step, symbols))
    return list(found)


def _import_loading() -> None:
    for name in _LOADING:
        import_module(name)


def best_level(artifact: Artifact) -> Isa:
    """The highest instruction set of an artifact that this machine executes.

    Raises:
        BackendError: it has none.
    """
    levels = [Isa.of(name.removeprefix("kernels/")) for name in artifact.items if name.startswith("kernels/")]
    usable = [isa for isa in levels if isa.runs_here]
    if not usable:
        raise BackendError(
            "this machine executes none of the artifact's instruction sets",
            expected=", ".join(map(str, levels)) or "at least one",
            fix="compile the model again on this machine",
        )
    return max(usable, key=lambda isa: (isa.rank, len(isa.extras)))


def _cache(options: Options) -> Any:
    from ge_backend_cpu.cache import Cache

    return None if options.get("cache") is False else Cache()


def _reduces_late(node: Node) -> bool:
    """Whether a reduction gets its axes in the call: then none of its steps has sizes that kernels could take."""
    axes = node.input(1) if node.op.startswith("Reduce") else None
    return axes is not None and axes.content is None and constant_of(axes) is None


def _sized_late(node: Node) -> bool:
    """Whether a result has a size that the node itself finds out: then no kernel can write it."""
    from ge_core.passes.rewrite import defined_sizes  # models from files do without

    symbols = {s for v in node.outputs for s in type_symbols(v.type)}
    return bool(symbols) and not symbols.isdisjoint(defined_sizes(node))


def _tensors_alone(node: Node) -> bool:
    """Whether kernels can take a node."""
    return all(_has_bytes(v.type) for v in [*operands(node), *node.outputs] if v is not None)


def _has_bytes(type: Type) -> bool:
    """Whether a value is a tensor of known rank: sequences, optionals and unknown ranks have no bytes of their own."""
    return isinstance(type, TensorType) and type.shape is not None
