"""Opening an offline model that ATC wrote: inputs and outputs from its description, its bytes kept as they are.

Nothing of ge stands in such a file. Its graph here has no nodes: the outputs are stood in for by constants that are
never read, so that types, names and sizes are known; calling it needs the device.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_ascend.chips import CHIPS
from ge_ascend.executable import GEAR_INPUT
from ge_ascend.meaning.call import dtype_of_number
from ge_ascend.saving import DEVICE_MODEL
from ge_core.backend import Artifact
from ge_core.errors import BackendError, OfflineModelError
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size, symbol
from ge_core.ir.graph import Graph
from ge_core.ir.types import TensorType
from ge_core.model import CompiledModel, Provenance
from ge_core.om import InOutInfo, PartitionType, TensorInfo, open_container
from ge_core.om.attributes import decode
from ge_core.om.messages import parse
from ge_core.plan.states import StateStore
from ge_core.report import CompileReport
from ge_core.signature import Signature

if TYPE_CHECKING:
    from ge_ascend.executable import AclModel


def target_of(soc: str) -> str | None:
    """The target of a chip as ATC names it (Ascend310P3, Ascend910B1, Ascend910_9391, ...)."""
    if soc.startswith("Ascend310P"):
        return "ascend310p"
    if soc.startswith("Ascend910_9"):
        return "ascend910_93"
    if soc.startswith("Ascend910B") and soc != "Ascend910B":
        return "ascend910b"
    return "ascend910a" if soc.startswith("Ascend910") else None


def open_offline(path: str, target: str | None, known: Sequence[str], backend: str) -> CompiledModel | None:
    """A file of ATC as a compiled model; None when it is for none of these targets.

    Args:
        target: what the user names; by default the file's own chip decides.
        known: targets of the backend.

    Raises:
        OfflineModelError: the file is damaged, or is for another target than the user names.
    """
    container = open_container(path)
    if PartitionType.MODEL_DEF not in container:
        return None
    attrs = parse("ModelDef", container[PartitionType.MODEL_DEF]).attr
    soc = decode(attrs["soc_version"]) if "soc_version" in attrs else ""
    own = target_of(soc) if isinstance(soc, str) else None
    own = own or (target if target in CHIPS else None)
    if own is None or own not in known:
        return None
    if target not in (None, own):
        raise OfflineModelError(
            f"{path} was compiled by ATC for {soc}; it holds no graph that another target could take",
            fix=f"load it for {own}, or compile the model, or its .air file, for {target}",
        )
    found = InOutInfo((), ())
    if PartitionType.MODEL_INOUT_INFO in container:
        found = InOutInfo.unpack(container[PartitionType.MODEL_INOUT_INFO])
    graph = _described(found, path)
    artifact = Artifact(target=own, items={DEVICE_MODEL: container.data}, graphs={"main": graph})
    names = [[value.name for value in graph.inputs], [info.name for info in found.outputs]]
    inputs = [tuple(info.dims) for info in found.inputs if info.name != GEAR_INPUT]
    executable = OfflineExecutable(own, Path(path), inputs, [_known(info) for info in found.outputs])
    report = CompileReport(target=own, notices=[f"compiled by ATC for {soc or own}; only the device runs it"])
    provenance = Provenance(own, backend)
    return CompiledModel(artifact, executable, artifact.graphs, {"main": Signature.flat(*names)}, provenance, report)


def _described(found: InOutInfo, source: str) -> Graph:
    graph = Graph("main")
    for info in found.inputs:
        if info.name != GEAR_INPUT:  # which ATC adds to a model with gears
            graph.add_param(info.name, _type(info))
    outputs = []
    for info in found.outputs:

        def unread(name: str = info.name) -> Any:
            raise BackendError(f"the output {name} is computed by the device alone", where=source)

        outputs.append(graph.add_constant(Constant(_type(info), unread, source), info.name))
    graph.set_outputs(outputs)
    return graph


def _type(info: TensorInfo) -> TensorType:
    sizes: list[Size] = []
    for axis, size in enumerate(info.dims):
        low, high = info.ranges[axis] if len(info.ranges) == len(info.dims) else (0, -1)
        name = f"{''.join(c if c.isalnum() else '_' for c in info.name)}_{axis}"
        sizes.append(size if size >= 0 else symbol(name, max(low, 0), None if high < 0 else high))
    return TensorType(dtype_of_number(info.dtype), tuple(sizes))


def _known(info: TensorInfo) -> tuple[Any, tuple[int, ...] | None]:
    return dtype_of_number(info.dtype), None if min(info.dims, default=0) < 0 else tuple(info.dims)


class OfflineExecutable:
    """Runs a file of ATC on the device; it is loaded there at the first call."""

    def __init__(
        self,
        target: str,
        path: Path,
        declared: Sequence[tuple[int, ...]],
        results: Sequence[tuple[Any, tuple[int, ...] | None]],
    ) -> None:
        self.target, self.path, self.results = target, path, list(results)
        self._open = next(((i, d.index(-1)) for i, d in enumerate(declared) if -1 in d), None)
        self._model: AclModel | None = None
        self._lock = threading.Lock()

    def run(self, inputs: Sequence[Any], states: StateStore, entry: str = "main") -> list[Any]:
        """Run on the device; see `ge_core.backend.Executable.run`.

        Raises:
            BackendError: there is no device or no CANN; says which.
            InputError: sizes that are no gear of the model.
        """
        from ge_ascend.executable import AclModel, device_problem

        problem = device_problem()
        if problem:
            raise BackendError(
                f"{os.fspath(self.path)} runs on {self.target} alone: {problem}",
                fix="run it on a host with the device; this machine runs the model's .air file with target='cpu'",
            )
        with self._lock:
            if self._model is None:
                self._model = AclModel(self.path)
            if self._open is None:
                return list(self._model.run(inputs, self.results))
            index, axis = self._open
            sizes = [size for x in inputs for size in np.shape(x)]
            gear = self._model.gear(np.shape(inputs[index])[axis], sizes)
            return list(self._model.run(inputs, self.results, gear=gear, is_open=gear is None))


__all__ = ["OfflineExecutable", "open_offline", "target_of"]
