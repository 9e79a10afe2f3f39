"""Live cells: exported by MindSpore itself into a folder that is gone behind the import."""

from __future__ import annotations

import contextlib
import inspect
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindspore
import numpy as np

from ge_core.errors import InputError, ModelImportError
from ge_core.input_spec import InputSpec
from ge_core.ir.dtype import DType
from ge_core.plugins.asked_shapes import is_dynamic

from .model_file import ModelFile, read_model
from .tensors import from_numpy, to_numpy

Loader = Callable[[], np.ndarray]


class ImportNotice(UserWarning):
    """What an import did that the user might not expect."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """A tensor argument of the example call."""

    tensor: object


@dataclass(frozen=True)
class Exported:
    """A cell as MindSpore exported it.

    Attributes:
        file: the model.
        args: the call's arguments, with a Leaf for each tensor.
        kwargs: those that were given by keyword.
        parameters: names of the arguments of the cell's construct, in order.
        order: the arguments in the order of construct's parameters, defaults filled in.
        live: loads the cell's parameters by name.
    """

    file: ModelFile
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    parameters: tuple[str, ...]
    order: tuple[object, ...]
    live: Mapping[str, Loader]


def export(
    cell: Any, inputs: Sequence[object] | None, kwargs: Mapping[str, object] | None, dynamic: Mapping[str, Any]
) -> Exported:
    """Export a cell in inference mode.

    Args:
        inputs, kwargs: example arguments: tensors, numpy arrays, InputSpecs, numbers and tuples of such.
        dynamic: by argument name what is said about its axes; those whose size may change are unknown to MindSpore.

    Raises:
        ModelImportError: MindSpore cannot export the cell.
        InputError: the examples do not fit the cell's construct.
    """
    signature = inspect.signature(cell.construct)
    names = tuple(
        name for name, p in signature.parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    )
    unknown = [name for name in dynamic if name not in names]
    if unknown:
        raise InputError(f"dynamic_shapes names {unknown[0]!r}", expected=f"one of {', '.join(names)}")
    args = tuple(_example(x, dynamic.get(names[k], {}) if k < len(names) else {}) for k, x in enumerate(inputs or ()))
    by_name = {key: _example(x, dynamic.get(key, {})) for key, x in (kwargs or {}).items()}
    try:
        bound = signature.bind(*args, **by_name)
    except TypeError as error:
        raise InputError(f"the examples do not fit {type(cell).__name__}.construct: {error}") from error
    bound.apply_defaults()
    with tempfile.TemporaryDirectory(prefix="ge_mindspore_") as folder:
        path = Path(folder) / "model.mindir"
        with evaluating(cell):
            _export(cell, _tensors(bound.args), path)
        split = path.with_name("model_graph.mindir")
        file = read_model(path if path.exists() else split)
        file.name = type(cell).__name__
    return Exported(file, args, by_name, names, tuple(bound.args), _live(cell))


def _export(cell: Any, args: Sequence[object], path: Path) -> None:
    try:
        mindspore.export(cell, *args, file_name=str(path.with_suffix("")), file_format="MINDIR")
    except Exception as error:  # MindSpore raises whatever its compiler met
        first = str(error).strip().splitlines()
        raise ModelImportError(
            f"mindspore.export cannot compile {type(cell).__name__}: {type(error).__name__}: "
            f"{' '.join(first[:2])[:300]}",
            fix="make the cell run in mindspore.GRAPH_MODE first",
        ) from error


def _tensors(x: Any) -> Any:
    """Arguments with tensors in place of leaves."""
    if isinstance(x, Leaf):
        return x.tensor
    return type(x)(_tensors(e) for e in x) if isinstance(x, (tuple, list)) else x


def _live(cell: Any) -> dict[str, Loader]:
    """Loads each parameter from the memory of the cell."""

    def loader(parameter: Any) -> Loader:
        def load() -> np.ndarray:
            array = to_numpy(parameter)
            assert array is not None
            return array

        return load

    return {parameter.name: loader(parameter) for _, parameter in cell.parameters_and_names()}


def _example(x: object, dynamic: Mapping[int, Any]) -> object:
    """An example as MindSpore takes it, tensors as leaves: with None for the sizes that are to be unknown."""
    if isinstance(x, (tuple, list)):
        return type(x)(_example(e, {}) for e in x)
    if isinstance(x, InputSpec):
        dtype = _mindspore_type(DType.of(x.dtype))
        shape = [d if isinstance(d, int) and not is_dynamic(dynamic.get(k)) else None for k, d in enumerate(x.shape)]
        return Leaf(_placeholder(shape, dtype))
    if isinstance(x, np.ndarray | np.generic):
        x = from_numpy(np.asarray(x), None)
    if not isinstance(x, mindspore.Tensor):
        return x
    rank = len(x.shape)
    for axis in dynamic:
        if not 0 <= axis < rank:
            raise InputError(f"dynamic_shapes names axis {axis} of a tensor of rank {rank}")
    shape = [None if is_dynamic(dynamic.get(k)) else d for k, d in enumerate(x.shape)]
    return Leaf(_placeholder(shape, x.dtype) if None in shape else x)


def _placeholder(shape: Sequence[int | None], dtype: Any) -> object:
    if None not in shape:
        return from_numpy(np.zeros([d for d in shape if d is not None], mindspore.dtype_to_nptype(dtype)), None)
    return mindspore.Tensor(shape=list(shape), dtype=dtype)


def _mindspore_type(dtype: DType) -> Any:
    found = getattr(mindspore, "bool_" if dtype.name == "bool" else dtype.name, None)
    if found is None:
        raise InputError(f"MindSpore has no element type {dtype}")
    return found


@contextlib.contextmanager
def evaluating(cell: Any) -> Iterator[None]:
    """Put a cell and those in it into inference mode, and back; one notice when it was training."""
    training = [c for _, c in cell.cells_and_names() if c.training]
    if cell.training:
        warnings.warn(
            f"{type(cell).__name__} is in training mode; it is imported for inference", ImportNotice, stacklevel=3
        )
    try:
        for c in training:
            c.training = False
        yield
    finally:
        for c in training:
            c.training = True
