"""A backend with every optional part: its device halves all results, and its files are text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ge_core.backend import Artifact, Options, TargetInfo
from ge_core.device_contract import FileFinding, Prediction
from ge_core.errors import BackendError
from ge_core.plugins import PluginInfo, hookimpl
from ge_core.reference.backend import ReferenceBackend, ReferenceExecutable

GE_PLUGIN_API = 1
TARGET = "toydevice"


@hookimpl
def ge_plugin_info() -> PluginInfo:
    return PluginInfo(
        name=TARGET, kind="backend", api=1, description="for tests", options={"loss": "what the device loses"}
    )


@hookimpl
def ge_backend() -> ToyDevice:
    return ToyDevice()


class ToyDevice(ReferenceBackend):
    """The reference target under another name, with results that lose a part."""

    def targets(self) -> Sequence[TargetInfo]:
        return [TargetInfo(name=TARGET), TargetInfo(name=f"{TARGET}_b")]

    def build(self, entries: Any, target: str, options: Options) -> Artifact:
        artifact = super().build(entries, target, options)
        artifact.target = TARGET
        artifact.metadata["loss"] = options.get("loss", 0.5)
        artifact.notes.append("the device loses a part")
        return artifact

    def load(self, artifact: Artifact, options: Options) -> ReferenceExecutable:
        return super().load(Artifact("reference", {}, artifact.metadata, artifact.graphs, artifact.plans), options)

    def save(self, artifact: Artifact, path: str, options: Options) -> None:
        if not path.endswith(".toy"):
            raise BackendError(f"{path} is no .toy file")
        Path(path).write_text(f"loss {options.get('loss', 0.5)}")

    def check_file(self, path: str, target: str) -> list[FileFinding]:
        good = Path(path).read_text().startswith("loss")
        return [] if good else [FileFinding("error", "no-loss", path, "it says no loss", "write it again")]

    def describe(self, artifact: Artifact, options: Options) -> str:
        return f"loses {artifact.metadata['loss']}"

    def emulate(self, artifact: Artifact, inputs: Sequence[Any], entry: str = "main") -> list[Any]:
        from ge_core.plan.states import StateStore

        found = self.load(artifact, {}).run(inputs, StateStore(()), entry)
        return [value * (1 - artifact.metadata["loss"]) for value in found]

    def predict(self, artifact: Artifact, inputs: Sequence[Any], entry: str = "main") -> Prediction:
        loss = artifact.metadata["loss"]
        count = len(artifact.graphs[entry].outputs)
        return Prediction((loss,) * count, (("Add", "at net.py:1", loss),), "guessed")
