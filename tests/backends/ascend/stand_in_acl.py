"""A stand-in for `acl`, CANN's Python interface: a device that interprets the AIR inside of the stand-in ATC's files.

It checks what the real one would: the device is set in the thread of a call, memory is large enough and given back,
gears are compiled ones, and shapes are told where the model takes any. No real device was available.
"""

from __future__ import annotations

import json
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
from ge_ascend.air import import_air, parse_air
from ge_ascend.executable import GEAR_INPUT

from ge_core.ir.dims import Dim
from ge_core.ir.graph import Graph, Value
from ge_core.reference.interpret import interpret

FAILED = 500001


class StandInAcl(types.ModuleType):
    """The calls that the executable makes.

    Attributes:
        memory: what is allocated on the device, by address.
        live: data buffers, datasets and descriptors that were not destroyed, and loaded models.
        gears: what each call chose.
    """

    def __init__(self) -> None:
        super().__init__("acl")
        self.memory: dict[int, bytearray] = {}
        self.live: dict[int, Any] = {}
        self.gears: list[object] = []
        self.device = threading.local()
        self._next = 0
        self.mdl = types.SimpleNamespace(
            load_from_file=self._load, unload=self._drop, create_desc=lambda: self._new({}), destroy_desc=self._drop,
            get_desc=self._describe, get_input_size_by_index=self._input_size,
            get_output_size_by_index=self._output_size, get_input_index_by_name=self._index,
            set_dynamic_batch_size=self._gear, set_input_dynamic_dims=self._gear,
            get_dynamic_batch=lambda desc: ({"batch": self._job(desc)["batches"]}, 0),
            get_input_dynamic_gear_count=lambda desc, index: (len(self._job(desc)["dims"]), 0),
            get_input_dynamic_dims=lambda desc, index, count: (
                [{"name": "", "dimCount": len(d), "dims": d} for d in self._job(desc)["dims"][:count]], 0
            ),
            create_dataset=lambda: self._new({"buffers": [], "shapes": {}, "gear": None}),
            destroy_dataset=self._drop,
            add_dataset_buffer=lambda data, buffer: self.live[data]["buffers"].append(buffer),
            get_dataset_buffer=lambda data, index: self.live[data]["buffers"][index],
            set_dataset_tensor_desc=self._tell, get_dataset_tensor_desc=lambda data, index: (data, index),
            get_cur_output_dims=lambda desc, index: ({"dims": self._job(desc)["results"][index].shape}, 0),
            execute=self._execute,
        )  # fmt: skip
        self.rt = types.SimpleNamespace(
            set_device=self._set_device, malloc=self._malloc, memcpy=self._memcpy, free=self.memory.pop
        )
        self.util = types.SimpleNamespace(numpy_to_ptr=lambda array: array)
        self.destroy_data_buffer = self.destroy_tensor_desc = self._drop

    def init(self) -> int:
        return 100002  # as in a process where torch_npu did it

    def create_data_buffer(self, place: int, size: int) -> int:
        return self._new({"place": place, "size": size})

    def get_data_buffer_addr(self, buffer: int) -> int:
        place: int = self.live[buffer]["place"]
        return place

    def create_tensor_desc(self, dtype: int, shape: list[int], layout: int) -> int:
        assert layout == 2
        return self._new({"dtype": dtype, "shape": shape})

    def get_tensor_desc_num_dims(self, desc: tuple[int, int]) -> int:
        return len(self.live[desc[0]]["shapes"][desc[1]])

    def get_tensor_desc_dim_v2(self, desc: tuple[int, int], axis: int) -> tuple[int, int]:
        return self.live[desc[0]]["shapes"][desc[1]][axis], 0

    def _new(self, thing: Any) -> int:
        self._next += 1
        self.live[self._next] = thing
        return self._next

    def _drop(self, handle: int) -> int:
        del self.live[handle]
        return 0

    def _set_device(self, number: int) -> int:
        self.device.number = number
        return 0

    def _malloc(self, size: int, policy: int) -> tuple[int, int]:
        assert self.device.number == 0 and size > 0
        self._next += 1
        self.memory[self._next] = bytearray(size)
        return self._next, 0

    def _memcpy(self, target: Any, room: int, source: Any, size: int, way: int) -> int:
        if way == 1:
            self.memory[target][:size] = source.tobytes()
        elif size:
            target[...] = np.frombuffer(self.memory[source][:size], target.dtype).reshape(target.shape)
        return 0

    def _load(self, path: str) -> tuple[int, int]:
        first, given, air = Path(path).read_bytes().split(b"\n", 2)
        if not first.startswith(b"IMOD"):
            return 0, FAILED
        job = json.loads(given)
        graph = import_air(parse_air(air)).graph
        batches = [int(n) for n in job.get("--dynamic_batch_size", "").split(",") if n]
        rows = [[int(n) for n in row.split(",")] for row in job.get("--dynamic_dims", "").split(";") if row]
        listed = [_filled(graph, iter(row)) for row in rows]
        return self._new({"graph": graph, "batches": batches, "dims": listed, "results": []}), 0

    def _describe(self, desc: int, model: int) -> int:
        self.live[desc] = self.live[model]
        return 0

    def _job(self, desc: int) -> Any:
        return self.live[desc]

    def _input_size(self, desc: int, index: int) -> int:
        job = self.live[desc]
        values = _values(job["graph"])
        if index == len(values):
            return 8
        top = max(job["batches"], default=0)
        flat = [max(column) for column in zip(*job["dims"], strict=True)]
        shape = [top if isinstance(size, Dim) else size for size in values[index].shape]
        if flat:
            start = sum(len(v.shape) for v in values[:index])
            shape = flat[start : start + len(shape)]
        return int(np.prod(shape)) * values[index].dtype.numpy.itemsize

    def _output_size(self, desc: int, index: int) -> int:
        return 1 << 12

    def _index(self, desc: int, name: str) -> tuple[int, int]:
        job = self.live[desc]
        known = name == GEAR_INPUT and (job["batches"] or job["dims"])
        return (len(_values(job["graph"])), 0) if known else (0, FAILED)

    def _gear(self, model: int, data: int, index: int, gear: Any) -> int:
        job, dataset = self.live[model], self.live[data]
        assert index == len(dataset["buffers"]) - 1
        dataset["gear"] = gear
        self.gears.append(gear)
        return 0 if gear in job["batches"] or (isinstance(gear, dict) and gear["dims"] in job["dims"]) else FAILED

    def _tell(self, data: int, desc: int, index: int) -> tuple[int, int]:
        self.live[data]["shapes"][index] = self.live[desc]["shape"]
        return data, 0

    def _execute(self, model: int, given: int, taken: int) -> int:
        job, data, results = self.live[model], self.live[given], self.live[taken]
        graph: Graph = job["graph"]
        values = _values(graph)
        is_geared = bool(job["batches"] or job["dims"])
        if is_geared != (data["gear"] is not None) or len(data["buffers"]) != len(values) + is_geared:
            return FAILED
        arrays = []
        for index, (value, shape) in enumerate(zip(values, self._shapes(job, data), strict=True)):
            if any(isinstance(size, Dim) for size in value.shape) and not is_geared and index not in data["shapes"]:
                return FAILED
            stored = self.memory[self.live[data["buffers"][index]]["place"]]
            size = int(np.prod(shape)) * value.dtype.numpy.itemsize
            arrays.append(np.frombuffer(bytes(stored[:size]), value.dtype.numpy).reshape(shape))
        count = len(graph.inputs)
        states = {state.name: array for state, array in zip(graph.states, arrays[count:], strict=True)}
        found, after = interpret(graph, arrays[:count], states)
        for state, buffer in zip(graph.states, data["buffers"][count:], strict=False):
            self.memory[self.live[buffer]["place"]][:] = np.asarray(after[state.name]).tobytes()
        job["results"] = found
        for index, (array, buffer) in enumerate(zip(found, results["buffers"], strict=True)):
            array = np.asarray(array)
            if not self.live[buffer]["place"]:
                self.live[buffer]["place"] = self._malloc(max(array.nbytes, 1), 0)[0]
            self.memory[self.live[buffer]["place"]][: array.nbytes] = array.tobytes()
            results["shapes"][index] = array.shape
        return 0

    @staticmethod
    def _shapes(job: Any, data: Any) -> list[tuple[int, ...]]:
        graph, gear = job["graph"], data["gear"]
        if isinstance(gear, dict):
            flat = iter(gear["dims"])
            return [tuple(next(flat) for _ in v.shape) for v in _values(graph)]
        if isinstance(gear, int):
            return [tuple(gear if isinstance(s, Dim) else s for s in v.shape) for v in _values(graph)]
        return [tuple(data["shapes"].get(i, v.shape)) for i, v in enumerate(_values(graph))]


def _values(graph: Graph) -> list[Value]:
    """What a call hands over: inputs, then states."""
    return [*graph.inputs, *(state.read for state in graph.states)]


def _filled(graph: Graph, row: Any) -> list[int]:
    """The sizes of all inputs for one gear."""
    return [next(row) if isinstance(size, Dim) else size for value in graph.inputs for size in value.shape]
