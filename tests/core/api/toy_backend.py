"""A backend whose artifacts hold "native code": `executed` tells which code was run by `load`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ge_core.backend import Artifact, Options, TargetInfo
from ge_core.ir import Graph
from ge_core.plan.plan import ExecutionPlan
from ge_core.plugins import PluginInfo, hookimpl
from ge_core.reference.backend import ReferenceBackend, ReferenceExecutable

GE_PLUGIN_API = 1
TARGET = "toynative"
executed: list[bytes] = []
compiled: list[str] = []


@hookimpl
def ge_plugin_info() -> PluginInfo:
    return PluginInfo(name=TARGET, kind="backend", api=1, description="for tests of trust")


@hookimpl
def ge_backend() -> ToyBackend:
    return ToyBackend()


class ToyBackend(ReferenceBackend):
    """Compiles every entry to the same few bytes."""

    def targets(self) -> Sequence[TargetInfo]:
        return [TargetInfo(name=TARGET)]

    def build(
        self, entries: Mapping[str, ExecutionPlan] | Mapping[str, Graph], target: str, options: Options
    ) -> Artifact:
        artifact = super().build(entries, target, options)
        artifact.target, artifact.native, artifact.store_plans = TARGET, True, True
        artifact.items["kernels/toy"] = b"compiled here"
        compiled.extend(entries)
        return artifact

    def load(self, artifact: Artifact, options: Options) -> ReferenceExecutable:
        executed.append(bytes(artifact.items["kernels/toy"]))
        items = {k: v for k, v in artifact.items.items() if k != "kernels/toy"}
        return super().load(Artifact("reference", items, {}, artifact.graphs, artifact.plans), options)
