"""Traces layers and functions with Paddle into programs (`paddle.jit.to_static`, whole graphs)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import paddle

from ge_core.errors import InputError, ModelImportError
from ge_core.input_spec import InputSpec
from ge_core.ir.constant import Constant
from ge_core.ir.types import TensorType
from ge_core.plugins.asked_shapes import asked_shapes, is_dynamic
from ge_core.signature import Signature
from ge_core.structure import flatten

from .element_types import NAME_OF
from .importer import Source
from .live import dtype_of, read_live
from .program import Program
from .tensors import to_numpy


class ImportNotice(UserWarning):
    """Something about an import that a person may want to know; nothing is wrong."""


def trace(
    model: object,
    inputs: Sequence[object] | None,
    kwargs: Mapping[str, object] | None,
    dynamic_shapes: object | None,
) -> tuple[Source, object | None]:
    """Trace a layer, static function or function for inference.

    Returns:
        The program, and `dynamic_shapes` by the names of the forward method's parameters.

    Raises:
        ModelImportError: Paddle cannot trace it, or it is nothing that Paddle can.
        InputError: the inputs are neither tensors, specs nor constants.
    """
    forward, name = _forward(model)
    static = forward if hasattr(forward, "concrete_program") else None
    names = _parameter_names(forward)
    dynamic_shapes = _by_parameter(names, inputs, dynamic_shapes)
    args = {names[i] if i < len(names) else f"input_{i}": value for i, value in enumerate(inputs or ())}
    given = {**args, **(kwargs or {})}
    asked = asked_shapes(dynamic_shapes, list(given), given) if given else {}
    made = {name: _spec(value, name, asked.get(name, {})) for name, value in given.items()}
    specs, keywords = [made[name] for name in args], {name: made[name] for name in kwargs or {}}
    with _inference(model):
        try:
            if static is None:
                static = paddle.jit.to_static(forward, full_graph=True)
            if inputs is None and not kwargs:
                concrete = static.concrete_program
            else:
                concrete = static.get_concrete_program(*specs, **keywords, is_train=False)[0]
        except Exception as error:  # whatever the user's code or Paddle's tracing raises
            raise ModelImportError(
                f"paddle.jit.to_static cannot trace {name}: {type(error).__name__}: {_last_line(error)}",
                fix="make the model traceable with paddle.jit.to_static(model, full_graph=True)",
            ) from error
    return _source(concrete, name, names), asked if given else dynamic_shapes


def _forward(model: object) -> tuple[Any, str]:
    if isinstance(model, paddle.nn.Layer):
        return model.forward, type(model).__name__
    if callable(model):
        return model, str(getattr(model, "__name__", type(model).__name__))
    raise ModelImportError(
        f"the Paddle frontend cannot read a {type(model).__qualname__}",
        expected="a paddle.nn.Layer, a static function, or the path of an inference model",
        fix="save a static program with paddle.static.save_inference_model and pass its path",
    )


@contextmanager
def _inference(model: object) -> Iterator[None]:
    """The model in eval mode; its layers get their modes back."""
    owner = model if isinstance(model, paddle.nn.Layer) else getattr(model, "_class_instance", None)
    layers = [owner, *owner.sublayers()] if isinstance(owner, paddle.nn.Layer) else []
    training = [layer for layer in layers if layer.training]
    if training and training[0] is owner:
        warnings.warn(
            f"{type(owner).__name__} is in training mode; it is imported for inference", ImportNotice, stacklevel=4
        )
    try:
        for layer in training:
            layer.training = False
        yield
    finally:
        for layer in training:
            layer.training = True


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [""])[-1][:300]


def _by_parameter(names: Sequence[str], inputs: Sequence[object] | None, shapes: object | None) -> object | None:
    """`dynamic_shapes` with parameters' names in place of the names that specs have."""
    if not isinstance(shapes, Mapping):
        return shapes
    renamed = {
        str(getattr(value, "name", "")): name
        for value, name in zip(inputs or (), names, strict=False)
        if name not in shapes
    }
    return {renamed.get(key, key): entry for key, entry in shapes.items()}


def _parameter_names(forward: Callable[..., object]) -> list[str]:
    function = getattr(forward, "dygraph_function", forward)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds and p.name != "self"]


def _spec(value: object, name: str, asked: Mapping[int, Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_spec(item, f"{name}_{i}", {}) for i, item in enumerate(value))
    if isinstance(value, dict):
        return {key: _spec(item, f"{name}_{key}", {}) for key, item in value.items()}
    if isinstance(value, InputSpec):
        shape: list[int | None] = [size if isinstance(size, int) else None for size in value.shape]
        return _named(shape, NAME_OF.get(value.dtype, str(value.dtype)), value.name or name, asked)
    if isinstance(value, paddle.static.InputSpec):
        shape = [None if size in (None, -1) else int(size) for size in value.shape]
        return _named(shape, value.dtype, value.name or name, asked)
    if isinstance(value, paddle.Tensor):
        return _named([int(size) for size in value.shape], value.dtype, name, asked)
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return _named(
            list(array.shape), "bfloat16" if str(array.dtype) == "bfloat16" else str(array.dtype), name, asked
        )
    return value


def _named(shape: Sequence[int | None], dtype: Any, name: str, asked: Mapping[int, Any]) -> Any:
    for axis in asked:
        if not 0 <= axis < len(shape):
            raise InputError(f"dynamic_shapes names axis {axis} of {name!r}", expected=f"0 to {len(shape) - 1}")
    sizes = [None if is_dynamic(asked.get(axis)) else size for axis, size in enumerate(shape)]
    return paddle.static.InputSpec(sizes, dtype, name)


def _source(concrete: Any, name: str, parameters: Sequence[str]) -> Source:
    """The program of a traced function, with its parameters and its calling convention."""
    arguments = tuple(a for a in concrete.inputs if not isinstance(a, paddle.nn.Layer))
    results = concrete.outputs
    if isinstance(results, list) and len(results) == 1:
        results = results[0]  # Paddle puts a single tensor into a list
    value = paddle.base.libpaddle.pir.Value
    signature = Signature.of_call(
        arguments,
        {},
        results,
        is_tensor=lambda v: isinstance(v, value),
        parameters=tuple(parameters[: len(arguments)]),
    )
    program = read_live(concrete.main_program, name, _leaves(results))
    program.inputs = _in_order(program, signature, arguments)
    tensors, values = concrete.parameters
    by_name = {t.name: t for t in tensors}
    by_name |= {v.name: t for t, v in zip(tensors, values, strict=True) if v.has_name}
    return Source(program, lambda parameter: _constant(by_name.get(parameter), parameter), signature)


def _in_order(program: Program, signature: Signature, arguments: Sequence[object]) -> list[Any]:
    """The program's inputs in the order of the signature's slots, under the signature's names."""
    found: dict[int, Any] = {}
    flatten(signature.args, arguments, "args", found)
    by_name = {entry.name: entry for entry in program.inputs}
    names = signature.input_names
    return [replace(by_name[found[slot].name], name=name) for slot, name in enumerate(names)]


def _leaves(results: Any) -> list[Any]:
    tree = Signature.of_call((results,), {}, (), is_tensor=lambda v: hasattr(v, "get_defining_op"))
    found: dict[int, Any] = {}
    flatten(tree.args, (results,), "results", found)
    return [found[slot] for slot in range(len(found))]


def _constant(tensor: Any, name: str) -> Constant | None:
    """A parameter on Paddle's memory; taken when its values are asked for."""
    if tensor is None:
        return None
    dtype = dtype_of(tensor.dtype)
    if dtype is None:
        return None

    def load() -> np.ndarray:
        array = to_numpy(tensor)
        assert array is not None
        return array

    return Constant(TensorType(dtype, tuple(int(size) for size in tensor.shape)), load, name)
