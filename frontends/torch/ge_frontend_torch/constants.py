"""Parameters and buffers of an exported program as constants and states of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir.constant import Constant, Residence
from ge_core.ir.graph import Graph, State, Value
from ge_core.ir.types import TensorType

from .complex_pair import ComplexPair
from .element_types import from_torch
from .tensors import to_numpy


class Weights:
    """The tensors of a program. Constants share the module's memory; tied ones are one constant.

    Args:
        graph: gets the constants and states, each on its first use.
        program: the exported program.
    """

    def __init__(self, graph: Graph, program: torch.export.ExportedProgram) -> None:
        self._graph, self._program = graph, program
        self._values: dict[Any, Value] = {}
        self._states: dict[str, State] = {}

    def tensor(self, target: str) -> torch.Tensor:
        """The tensor of a parameter, buffer or constant by its dotted name."""
        for table in (self._program.state_dict, self._program.constants):
            found = table.get(target)
            if isinstance(found, torch.Tensor):
                return found
        raise ModelImportError(f"the exported program has no tensor {target}")

    def constant(self, target: str) -> Value | ComplexPair:
        """The constant of a parameter or buffer."""
        tensor = self.tensor(target)
        if tensor.is_complex():
            return ComplexPair(self._constant(torch.view_as_real(tensor.resolve_conj()), target))
        return self._constant(tensor, target)

    def _constant(self, tensor: torch.Tensor, target: str) -> Value:
        key = _memory(tensor)
        if key not in self._values:
            self._values[key] = self._graph.add_constant(lazy_constant(tensor, target), target)
        return self._values[key]

    def state(self, target: str) -> State:
        """The state of a buffer that the model writes; it starts from a copy of what the buffer holds now."""
        if target not in self._states:
            initial = lazy_constant(self.tensor(target).detach().clone(), target)
            self._states[target] = self._graph.add_state(target, initial)
        return self._states[target]


def lazy_constant(tensor: torch.Tensor, name: str) -> Constant:
    """A constant on the tensor's memory; one without values (meta, fake) fails when its data is asked for.

    Raises:
        UnsupportedError: the element type or the storage is not supported.
    """
    dtype = from_torch(tensor.dtype)
    if dtype is None or tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        raise UnsupportedError(
            f"the parameter {name} is {tensor.dtype} with layout {tensor.layout}",
            expected="a dense tensor of real numbers, integers or booleans",
        )
    shape = tuple(int(d) for d in tensor.shape)
    residence: Residence = "absent" if _has_no_values(tensor) else "memory"
    return Constant(TensorType(dtype, shape), _loader(tensor, name), name, residence)


def _loader(tensor: torch.Tensor, name: str) -> Callable[[], np.ndarray]:
    def load() -> np.ndarray:
        if _has_no_values(tensor):
            raise ModelImportError(
                f"the parameter {name} has no values: the model is on the meta device or was made of fake tensors",
                fix="load the weights into the module (load_state_dict with assign=True) and import it again",
            )
        array = to_numpy(tensor)
        assert array is not None
        return array

    return load


def _has_no_values(tensor: torch.Tensor) -> bool:
    return tensor.is_meta or isinstance(tensor, FakeTensor)


def _memory(tensor: torch.Tensor) -> tuple[object, ...]:
    """Equal for two tensors exactly when they are the same view of the same memory."""
    if _has_no_values(tensor):
        place: object = tensor.untyped_storage()._cdata
    else:
        place = tensor.data_ptr() or id(tensor)
    return place, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
