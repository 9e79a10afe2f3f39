"""Running an offline model on a device, by CANN's Python interface `acl`.

No device was at hand when this was written: it follows the documented calls and is tested with a stand-in.
"""

from __future__ import annotations

import ctypes.util
import tempfile
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_core.backend import Artifact
from ge_core.errors import BackendError, ExecutionError
from ge_core.ir.dtype import DType
from ge_core.plan.states import StateStore

if TYPE_CHECKING:
    from ge_ascend.backend import AscendBackend

_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2
_HUGE_FIRST = 0


def device_problem() -> str:
    """Why no device can be used here; empty when one can."""
    if find_spec("acl") is None:
        return "CANN's Python interface acl is not installed (the toolkit's set_env.sh puts it on the path)"
    if not list(Path("/dev").glob("davinci[0-9]*")) and not ctypes.util.find_library("ascendcl"):
        return "there is no Ascend device (/dev/davinci0) and no driver"
    return ""


class DeviceExecutable:
    """A compiled model on a device; the offline model is made by ATC at the first call."""

    def __init__(self, backend: AscendBackend, artifact: Artifact, options: dict[str, object]) -> None:
        self.backend, self.artifact, self.options = backend, artifact, options
        self._model: AclModel | None = None
        self._lock = threading.Lock()

    def run(self, inputs: Sequence[Any], states: StateStore, entry: str = "main") -> list[Any]:
        """Run on the device; see `ge_core.backend.Executable.run`.

        Raises:
            BackendError: there is no device, no CANN, or the model has states.
        """
        problem = device_problem()
        if problem:
            raise BackendError(
                f"{self.artifact.target} cannot run here: {problem}",
                fix="save the model as .air, or verify it: ge verify emulates the target on this machine",
            )
        if len(states):
            raise BackendError("states are not kept on the device yet", fix="pass them as inputs and outputs")
        with self._lock:
            if self._model is None:
                self._model = self._compiled()
            graph = self.artifact.graphs[entry]
            shapes = [tuple(np.shape(x)) for x in inputs]
            return self._model.run(inputs, [_result(v, graph, shapes) for v in graph.outputs])

    def _compiled(self) -> AclModel:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.om"
            self.backend.save(self.artifact, str(path), self.options)
            return AclModel(path)


def _result(value: Any, graph: Any, shapes: Sequence[tuple[int, ...]]) -> tuple[DType, tuple[int, ...]]:
    """Type and shape of an output for inputs of these shapes."""
    from ge_core.ir import dims
    from ge_core.plan.bind import InputBinder

    binder = InputBinder(graph.inputs)
    env = {s.name: v for s, v in zip(binder.symbols, binder.values(shapes), strict=True)}
    return value.dtype, tuple(dims.evaluate(size, env) for size in value.shape)


class AclModel:
    """An offline model in a device's memory.

    Raises:
        BackendError: the device or the file is refused.
    """

    def __init__(self, path: Path, device: int = 0) -> None:
        import acl  # type: ignore[import-not-found]

        self.acl = acl
        self._ok(acl.init(), "acl.init", allowed=(100002,))  # initialised already
        self._ok(acl.rt.set_device(device), "acl.rt.set_device")
        self.id = self._got(acl.mdl.load_from_file(str(path)), "acl.mdl.load_from_file")
        self.desc = acl.mdl.create_desc()
        self._ok(acl.mdl.get_desc(self.desc, self.id), "acl.mdl.get_desc")

    def run(self, inputs: Sequence[Any], results: Sequence[tuple[DType, tuple[int, ...] | None]]) -> list[np.ndarray]:
        """Copy in, execute, copy out.

        Args:
            results: type and shape of each output; the device tells a shape that is not known.
        """
        acl, held = self.acl, []
        try:
            given, taken = acl.mdl.create_dataset(), acl.mdl.create_dataset()
            for index, array in enumerate(inputs):
                size = acl.mdl.get_input_size_by_index(self.desc, index)
                data = np.ascontiguousarray(array)
                if data.nbytes > size:
                    raise ExecutionError(f"input {index} has {data.nbytes} bytes", expected=f"at most {size}")
                place = self._got(acl.rt.malloc(size, _HUGE_FIRST), "acl.rt.malloc")
                held.append(place)
                self._ok(
                    acl.rt.memcpy(place, size, acl.util.numpy_to_ptr(data), data.nbytes, _HOST_TO_DEVICE),
                    "acl.rt.memcpy",
                )
                acl.mdl.add_dataset_buffer(given, acl.create_data_buffer(place, size))
            places = []
            for index in range(len(results)):
                size = acl.mdl.get_output_size_by_index(self.desc, index)
                place = self._got(acl.rt.malloc(size, _HUGE_FIRST), "acl.rt.malloc")
                held.append(place)
                places.append(place)
                acl.mdl.add_dataset_buffer(taken, acl.create_data_buffer(place, size))
            self._ok(acl.mdl.execute(self.id, given, taken), "acl.mdl.execute")
            return [
                self._out(place, dtype, self._told(index) if shape is None else shape)
                for index, (place, (dtype, shape)) in enumerate(zip(places, results, strict=True))
            ]
        finally:
            for place in held:
                acl.rt.free(place)

    def _told(self, index: int) -> tuple[int, ...]:
        found = self._got(self.acl.mdl.get_cur_output_dims(self.desc, index), "acl.mdl.get_cur_output_dims")
        return tuple(int(size) for size in found["dims"])

    def _out(self, place: int, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
        array = np.empty(shape, dtype.numpy)
        pointer = self.acl.util.numpy_to_ptr(array)
        self._ok(self.acl.rt.memcpy(pointer, array.nbytes, place, array.nbytes, _DEVICE_TO_HOST), "acl.rt.memcpy")
        return array

    @staticmethod
    def _ok(code: int, call: str, allowed: tuple[int, ...] = ()) -> None:
        if code != 0 and code not in allowed:
            raise BackendError(f"{call} failed with code {code}", fix="npu-smi info tells the state of the device")

    def _got(self, answer: tuple[Any, int], call: str) -> Any:
        value, code = answer
        self._ok(code, call)
        return value
