"""Running an offline model on a device, by CANN's Python interface `acl`.

No device was at hand when this was written: it follows the documented calls and is tested with a stand-in.
"""

from __future__ import annotations

import ctypes.util
import math
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_core.backend import Artifact
from ge_core.errors import BackendError, ExecutionError, InputError
from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph
from ge_core.plan.states import StateBuffer, StateStore

if TYPE_CHECKING:
    from ge_ascend.backend import AscendBackend

_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2
_HUGE_FIRST = 0
_ND = 2
GEAR_INPUT = "ascend_mbatch_shape_data"
"""The input that ATC adds to a model with gears."""


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
            BackendError: there is no device, or no CANN.
            InputError: sizes between the gears that the model was compiled for.
        """
        problem = device_problem()
        if problem:
            raise BackendError(
                f"{self.artifact.target} cannot run here: {problem}",
                fix="save the model as .air, or verify it: ge verify emulates the target on this machine",
            )
        graph = self.artifact.graphs[entry]
        if graph.states and self.options.get("via") == "onnx":
            raise BackendError("a model made from ONNX does not write its states in place", fix="via='air'")
        shapes = [tuple(np.shape(x)) for x in inputs]
        gear = chosen_gear(graph, self.options.get("gears"), shapes)
        kept = [states[state.name] for state in graph.states]
        with self._lock:
            if self._model is None:
                self._model = self._compiled()
            results = [_result(v, graph, shapes) for v in graph.outputs]
            return self._model.run(inputs, results, kept, gear, is_open=gear is None and _is_open(graph))

    def _compiled(self) -> AclModel:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.om"
            self.backend.save(self.artifact, str(path), self.options)
            return AclModel(path)


def chosen_gear(graph: Any, given: object, shapes: Sequence[tuple[int, ...]]) -> int | list[int] | None:
    """What tells the device which of the compiled sizes a call has: a batch, or the sizes of all inputs one after
    another; None for a model without gears.

    Raises:
        InputError: sizes that are no gear.
    """
    from ge_ascend.atc import is_batch
    from ge_ascend.saving import geared

    declared, gears = geared(graph, given)
    if not gears:
        return None
    pairs = zip(declared.values(), shapes, strict=True)
    actual = [size for shape, sizes in pairs for kind, size in zip(shape, sizes, strict=True) if kind == -1]
    if actual not in gears:
        listed = ", ".join(str(gear[0] if is_batch(declared, gears) else gear) for gear in gears)
        raise InputError(f"the sizes {actual} are no gear of this model", expected=listed)
    return actual[0] if is_batch(declared, gears) else [size for shape in shapes for size in shape]


def _is_open(graph: Graph) -> bool:
    return any(isinstance(size, Dim) for value in graph.inputs for size in value.shape)


def _result(value: Any, graph: Any, shapes: Sequence[tuple[int, ...]]) -> tuple[DType, tuple[int, ...] | None]:
    """Type and shape of an output for inputs of these shapes; None for a shape that data decide."""
    from ge_core.ir import dims
    from ge_core.plan.bind import InputBinder

    binder = InputBinder(graph.inputs)
    env = {s.name: v for s, v in zip(binder.symbols, binder.values(shapes), strict=True)}
    if any(s.name not in env for size in value.shape for s in dims.symbols(size)):
        return value.dtype, None
    return value.dtype, tuple(dims.evaluate(size, env) for size in value.shape)


def device_in_use() -> int:
    """The device that the process works with: that of torch_npu where a program has it loaded, else the first."""
    if "torch_npu" not in sys.modules:
        return 0
    return int(sys.modules["torch"].npu.current_device())


class AclModel:
    """An offline model in a device's memory, until nothing refers to it any more.

    Raises:
        BackendError: the device or the file is refused.
    """

    def __init__(self, path: Path, device: int | None = None) -> None:
        import acl  # type: ignore[import-not-found]

        self.acl, self.device = acl, device_in_use() if device is None else device
        self._ok(acl.init(), "acl.init", allowed=(100002,))  # initialised already, perhaps by torch_npu
        self._ok(acl.rt.set_device(self.device), "acl.rt.set_device")
        self.id = self._got(acl.mdl.load_from_file(str(path)), "acl.mdl.load_from_file")
        weakref.finalize(self, acl.mdl.unload, self.id)
        self.desc = acl.mdl.create_desc()
        weakref.finalize(self, acl.mdl.destroy_desc, self.desc)
        self._ok(acl.mdl.get_desc(self.desc, self.id), "acl.mdl.get_desc")

    def gear(self, batch: int, sizes: Sequence[int]) -> int | list[int] | None:
        """What `run` takes for a call of a model whose gears are known to the device alone.

        Args:
            batch: the first size of the call that is not fixed.
            sizes: those of all inputs, one after another.

        Raises:
            InputError: sizes that are no gear.
        """
        mdl = self.acl.mdl
        if mdl.get_input_index_by_name(self.desc, GEAR_INPUT)[1] != 0:
            return None
        batches = self._got(mdl.get_dynamic_batch(self.desc), "acl.mdl.get_dynamic_batch")["batch"]
        if batches:
            if batch not in batches:
                raise InputError(f"the size {batch} is no gear of this model", expected=", ".join(map(str, batches)))
            return batch
        count = self._got(mdl.get_input_dynamic_gear_count(self.desc, -1), "acl.mdl.get_input_dynamic_gear_count")
        listed = self._got(mdl.get_input_dynamic_dims(self.desc, -1, count), "acl.mdl.get_input_dynamic_dims")
        gears = [list(gear["dims"]) for gear in listed]
        if list(sizes) not in gears:
            shown = "; ".join(",".join(map(str, gear)) for gear in gears)
            raise InputError(f"the sizes {list(sizes)} are no gear of this model", expected=shown)
        return list(sizes)

    def run(
        self,
        inputs: Sequence[Any],
        results: Sequence[tuple[DType, tuple[int, ...] | None]],
        kept: Sequence[StateBuffer] = (),
        gear: int | list[int] | None = None,
        *,
        is_open: bool = False,
    ) -> list[np.ndarray]:
        """Copy in, execute, copy out.

        Args:
            results: type and shape of each output; the device tells a shape that is not known.
            kept: states, which follow the inputs and are written in place.
            gear: see `chosen_gear`.
            is_open: whether the model was compiled for any sizes, or for ranges of them.
        """
        acl, held = self.acl, _Held(self.acl)
        self._ok(acl.rt.set_device(self.device), "acl.rt.set_device")  # of this thread
        try:
            given, taken = held.dataset(), held.dataset()
            stored = []
            for index, array in enumerate([*inputs, *(state.data for state in kept)]):
                data = np.ascontiguousarray(array)
                size = max(data.nbytes, 1) if is_open else acl.mdl.get_input_size_by_index(self.desc, index)
                if data.nbytes > size:
                    raise ExecutionError(f"input {index} has {data.nbytes} bytes", expected=f"at most {size}")
                stored.append(self._buffer(given, size, held))
                self._ok(
                    acl.rt.memcpy(stored[-1], size, acl.util.numpy_to_ptr(data), data.nbytes, _HOST_TO_DEVICE),
                    "acl.rt.memcpy",
                )
                if is_open:
                    self._shape(given, index, data, held)
            if gear is not None:
                self._choose(given, gear, held)
            places = [self._room(taken, index, *result, held, is_open) for index, result in enumerate(results)]
            self._ok(acl.mdl.execute(self.id, given, taken), "acl.mdl.execute")
            for state, place in zip(kept, stored[len(inputs) :], strict=True):
                self._fetch(state.data, place)
            found = []
            for index, (place, (dtype, shape)) in enumerate(zip(places, results, strict=True)):
                if shape is None:
                    shape = self._told_of(taken, index) if is_open else self._told(index)
                if not place:  # the device made room for it
                    place = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(taken, index))
                    held.places.append(place)
                found.append(self._out(place, dtype, shape))
            return found
        finally:
            held.free()

    def _buffer(self, dataset: Any, size: int, held: _Held) -> int:
        """Memory of the device as the next entry of a dataset."""
        place: int = self._got(self.acl.rt.malloc(size, _HUGE_FIRST), "acl.rt.malloc")
        held.places.append(place)
        held.buffers.append(self.acl.create_data_buffer(place, size))
        self.acl.mdl.add_dataset_buffer(dataset, held.buffers[-1])
        return place

    def _room(
        self, dataset: Any, index: int, dtype: DType, shape: tuple[int, ...] | None, held: _Held, is_open: bool
    ) -> int:
        """Memory for an output; none where only the device can know how much."""
        if is_open and shape is None:
            held.buffers.append(self.acl.create_data_buffer(0, 0))
            self.acl.mdl.add_dataset_buffer(dataset, held.buffers[-1])
            return 0
        if is_open and shape is not None:
            return self._buffer(dataset, max(dtype.nbytes(math.prod(shape)), 1), held)
        return self._buffer(dataset, self.acl.mdl.get_output_size_by_index(self.desc, index), held)

    def _shape(self, dataset: Any, index: int, data: np.ndarray, held: _Held) -> None:
        """Tell the shape of an input of a model that takes any."""
        number = DType.of(data.dtype).ge_memory
        held.descs.append(self.acl.create_tensor_desc(number, list(data.shape), _ND))
        found = self.acl.mdl.set_dataset_tensor_desc(dataset, held.descs[-1], index)
        self._got(found, "acl.mdl.set_dataset_tensor_desc")

    def _told_of(self, dataset: Any, index: int) -> tuple[int, ...]:
        """The shape of an output of a model that takes any sizes."""
        desc = self.acl.mdl.get_dataset_tensor_desc(dataset, index)
        count = self.acl.get_tensor_desc_num_dims(desc)
        sizes = [self.acl.get_tensor_desc_dim_v2(desc, axis) for axis in range(count)]
        return tuple(int(self._got(size, "acl.get_tensor_desc_dim_v2")) for size in sizes)

    def _choose(self, dataset: Any, gear: int | list[int], held: _Held) -> None:
        """Name the gear by the input that ATC adds for it."""
        mdl = self.acl.mdl
        index = self._got(mdl.get_input_index_by_name(self.desc, GEAR_INPUT), "acl.mdl.get_input_index_by_name")
        self._buffer(dataset, mdl.get_input_size_by_index(self.desc, index), held)
        if isinstance(gear, int):
            self._ok(mdl.set_dynamic_batch_size(self.id, dataset, index, gear), "acl.mdl.set_dynamic_batch_size")
            return
        dims = {"name": "", "dimCount": len(gear), "dims": gear}
        self._ok(mdl.set_input_dynamic_dims(self.id, dataset, index, dims), "acl.mdl.set_input_dynamic_dims")

    def _told(self, index: int) -> tuple[int, ...]:
        found = self._got(self.acl.mdl.get_cur_output_dims(self.desc, index), "acl.mdl.get_cur_output_dims")
        return tuple(int(size) for size in found["dims"])

    def _out(self, place: int, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
        array = np.empty(shape, dtype.numpy)
        self._fetch(array, place)
        return array

    def _fetch(self, array: np.ndarray, place: int) -> None:
        pointer = self.acl.util.numpy_to_ptr(array)
        self._ok(self.acl.rt.memcpy(pointer, array.nbytes, place, array.nbytes, _DEVICE_TO_HOST), "acl.rt.memcpy")

    @staticmethod
    def _ok(code: int, call: str, allowed: tuple[int, ...] = ()) -> None:
        if code != 0 and code not in allowed:
            raise BackendError(f"{call} failed with code {code}", fix="npu-smi info tells the state of the device")

    def _got(self, answer: tuple[Any, int], call: str) -> Any:
        value, code = answer
        self._ok(code, call)
        return value


class _Held:
    """What a call holds on the device, given back at its end."""

    def __init__(self, acl: Any) -> None:
        self.acl, self.places = acl, list[int]()
        self.buffers, self.datasets, self.descs = list[Any](), list[Any](), list[Any]()

    def dataset(self) -> Any:
        self.datasets.append(self.acl.mdl.create_dataset())
        return self.datasets[-1]

    def free(self) -> None:
        for buffer in self.buffers:
            self.acl.destroy_data_buffer(buffer)
        for dataset in self.datasets:
            self.acl.mdl.destroy_dataset(dataset)
        for desc in self.descs:
            self.acl.destroy_tensor_desc(desc)
        for place in self.places:
            self.acl.rt.free(place)
