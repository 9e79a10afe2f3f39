"""Live objects of TensorFlow and Keras: traced into a function, whose graph and captures are read."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import tensorflow as tf

from ge_core.errors import GeError, InputError, ModelImportError
from ge_core.input_spec import InputSpec
from ge_core.ir.constant import Constant
from ge_core.ir.types import TensorType
from ge_core.plugins.asked_shapes import asked_shapes, is_dynamic
from ge_core.signature import Signature

from .element_types import dtype_of
from .program import Program, graph_body
from .source import Input, Source
from .variables import Variable

SHARED_BATCH = "batch"


def read_live(
    model: Any, inputs: Sequence[object] | None, kwargs: Mapping[str, object] | None, dynamic_shapes: object | None
) -> tuple[Source, dict[str, Mapping[int, Any]]]:
    """The source of a live model, and what the caller asks for its inputs' sizes.

    Raises:
        ModelImportError: TensorFlow cannot trace the model.
        InputError: the examples do not fit, or are missing.
    """
    is_keras = _is_keras(model)
    function, parameters, defaults = _traceable(model)
    if hasattr(function, "structured_input_signature"):
        concrete, given = function, None  # traced already; examples change nothing any more
        names = [s.name for s in tf.nest.flatten(concrete.structured_input_signature)]
        asked = asked_shapes(dynamic_shapes, names)
    else:
        given = list(inputs) if inputs is not None else [] if kwargs else defaults
        if given is None:
            raise InputError("the model has no signature of its own", fix="pass examples or InputSpecs of its inputs")
        places = _place_names(parameters, given, kwargs or {})
        asked = asked_shapes(dynamic_shapes, places, {**dict(zip(places, given, strict=False)), **(kwargs or {})})
        args, keywords = _specs(given, kwargs or {}, places, asked)
        concrete = _trace(function, args, keywords)
    source = read_concrete(concrete, _name_of(model), parameters)
    if given is not None:
        _narrow(source, args, keywords)
    shared = {
        declared.name: {0: SHARED_BATCH} | dict(asked.get(declared.name, {}))
        for declared in (source.inputs if is_keras else ())
        if declared.shape and declared.shape[0] is None
    }
    return source, {**asked, **shared}


def _narrow(source: Source, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Give the inputs the shapes that were asked for: TensorFlow may reuse a more general trace."""
    specs = [s for s in tf.nest.flatten((list(args), dict(kwargs))) if isinstance(s, tf.TensorSpec)]
    if len(specs) == len(source.inputs):
        source.inputs = [
            declared if spec.shape.rank is None else Input(declared.name, declared.dtype, tuple(spec.shape.as_list()))
            for declared, spec in zip(source.inputs, specs, strict=True)
        ]


def load_path(path: str) -> Any:
    """The Keras model of a `.keras` or `.h5` file; code in the file (Lambda layers) is refused by Keras' safe mode.

    Raises:
        ModelImportError: Keras refuses the file.
    """
    import keras

    if os.path.isdir(path) or path.endswith(".pb"):
        return tf.saved_model.load(os.path.dirname(path) if path.endswith(".pb") else path)
    try:
        return keras.models.load_model(path, compile=False, safe_mode=True)
    except GeError:
        raise
    except Exception as error:  # what a damaged file raises is not limited to a few types
        text = str(error).strip().splitlines()
        raise ModelImportError(
            f"Keras cannot load {path}: {type(error).__name__}: {text[0] if text else ''}",
            fix="a model with Lambda layers runs code of the file and is not loaded; others: save the file again "
            "with the installed Keras",
        ) from error


def _is_keras(model: object) -> bool:
    keras: Any = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def _name_of(model: Any) -> str:
    name = getattr(model, "name", None) or getattr(model, "__name__", None) or type(model).__name__
    text = name.decode() if isinstance(name, bytes) else str(name)
    return "model" if "lambda" in text else text.removeprefix("__inference_")


def _traceable(model: Any) -> tuple[Any, tuple[str, ...], list[Any] | None]:
    """What can be traced, names of its positional parameters, and its own specification of the inputs."""
    if _is_keras(model):
        return _keras_function(model)
    if hasattr(model, "structured_input_signature"):
        return model, (), None
    if hasattr(model, "get_concrete_function"):
        return model, _parameters(model.python_function), _own_signature(model)
    signatures = getattr(model, "signatures", None)
    if signatures:
        key = "serving_default" if "serving_default" in signatures else next(iter(signatures))
        return signatures[key], (), None
    if not callable(model):
        raise ModelImportError(
            f"TensorFlow cannot call an object of type {type(model).__qualname__}",
            expected="a Keras model, a tf.function, a tf.Module with __call__, or what tf.saved_model.load returns",
        )
    # of a tf.Module the decorated method, which may have a specification of its own
    call = model.__call__ if isinstance(model, tf.Module) else model
    if hasattr(call, "get_concrete_function"):
        return call, _parameters(call.python_function), _own_signature(call)
    return tf.function(call, autograph=True), _parameters(call), None


def _keras_function(model: Any) -> tuple[Any, tuple[str, ...], list[Any] | None]:
    declared = getattr(model, "inputs", None)
    flat = [tf.TensorSpec(t.shape, t.dtype) for t in declared] if declared else None
    takes = inspect.signature(model.call).parameters
    training = {"training": False} if "training" in takes or declared else {}
    several = declared is not None and not _is_single(model)

    def call(*xs: Any) -> Any:
        given = _packed(model, xs) if several else xs[0]
        return model(given, **training) if several or len(xs) == 1 else model(*xs, **training)

    names = tuple(t.name for t in declared) if declared else ()
    return tf.function(call, autograph=False), _identifiers(names), flat


def _is_single(model: Any) -> bool:
    structure = getattr(model, "_inputs_struct", None)
    return structure is None or not isinstance(structure, (list, tuple, dict))


def _packed(model: Any, xs: Sequence[Any]) -> Any:
    return tf.nest.pack_sequence_as(model._inputs_struct, list(xs))


def _identifiers(names: Sequence[str]) -> tuple[str, ...]:
    found = tuple(n.split(":")[0].replace("/", "_") for n in names)
    return found if all(n.isidentifier() for n in found) and len(set(found)) == len(found) else ()


def _parameters(function: Any) -> tuple[str, ...]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in found if p.kind in positional and p.name != "self")


def _own_signature(function: Any) -> list[Any] | None:
    signature = getattr(function, "input_signature", None)
    return None if signature is None else list(signature)


def _place_names(parameters: Sequence[str], given: Sequence[object], kwargs: Mapping[str, object]) -> list[str]:
    """A name for each argument, for `dynamic_shapes`."""
    return [parameters[i] if i < len(parameters) else f"args_{i}" for i in range(len(given))] + list(kwargs)


def _specs(
    given: Sequence[object],
    kwargs: Mapping[str, object],
    places: Sequence[str],
    asked: Mapping[str, Mapping[int, Any]],
) -> tuple[list[Any], dict[str, Any]]:
    """TensorSpecs in place of the examples' tensors."""

    def spec(value: Any, place: str) -> Any:
        return tf.nest.map_structure(lambda leaf: _spec(leaf, place, asked), value)

    args = [spec(value, place) for value, place in zip(given, places, strict=False)]
    return args, {key: spec(value, key) for key, value in kwargs.items()}


def _spec(leaf: Any, place: str, asked: Mapping[str, Mapping[int, Any]]) -> Any:
    if isinstance(leaf, InputSpec):
        shape: Any = [None if not isinstance(size, int) else size for size in leaf.shape]
        return tf.TensorSpec(shape, tf.as_dtype(leaf.dtype.numpy))
    if isinstance(leaf, (tf.TensorSpec, tf.Tensor, tf.Variable)):
        shape, dtype = leaf.shape, leaf.dtype
    elif isinstance(leaf, (np.ndarray, np.generic)) or hasattr(leaf, "__array__"):
        array = np.asarray(leaf)
        shape, dtype = tf.TensorShape(array.shape), tf.as_dtype(array.dtype)
    else:
        return leaf
    wanted = asked.get(place, {})
    if shape.rank is not None and any(not 0 <= axis < shape.rank for axis in wanted):
        raise InputError(f"dynamic_shapes names axis {max(wanted)} of {place!r}", expected=f"below {shape.rank}")
    sizes = None if shape.rank is None else [
        None if is_dynamic(wanted.get(axis)) else size for axis, size in enumerate(shape.as_list())
    ]  # fmt: skip
    return tf.TensorSpec(sizes, dtype)


def _trace(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    try:
        return function.get_concrete_function(*args, **kwargs)
    except GeError:
        raise
    except Exception as error:  # tracing runs the user's code
        text = str(error).strip().splitlines()
        raise ModelImportError(
            f"TensorFlow cannot trace the model: {type(error).__name__}: {text[-1] if text else ''}"
        ) from error


def read_concrete(concrete: Any, name: str, parameters: Sequence[str] = ()) -> Source:
    """The source of a ConcreteFunction."""
    graph = concrete.graph
    proto = graph.as_graph_def()
    captured = list(concrete.captured_inputs)
    placeholders = [t.op.name for t in concrete.inputs]
    own = len(placeholders) - len(captured)
    outputs = [t.name for t in concrete.outputs]
    body = graph_body(proto, placeholders, outputs, [op.name for op in graph.control_outputs], name)
    signature, order = _signature(concrete, own, parameters)
    body.results = tuple(body.results[i] for i in order)
    inputs = [
        Input(n, t.dtype.as_datatype_enum, None if t.shape.rank is None else tuple(t.shape.as_list()))
        for n, t in zip(signature.input_names, concrete.inputs[:own], strict=True)
    ]
    variables = {id(v.handle): v for v in graph.variables}
    return Source(
        name,
        Program(proto.library.function),
        body,
        inputs,
        signature,
        [_capture(outer, variables) for outer in captured],
        places=_Places(graph),
    )


def _signature(concrete: Any, own: int, parameters: Sequence[str]) -> tuple[Signature, list[int]]:
    """The calling convention, and which result of the function each of its output slots is."""
    args, kwargs = concrete.structured_input_signature
    flat = tf.nest.flatten((args, kwargs))
    specs = [s for s in flat if isinstance(s, tf.TypeSpec)]
    if len(specs) != own or not all(isinstance(s, tf.TensorSpec) for s in specs):
        raise ModelImportError("the function takes ragged or sparse tensors", expected="dense tensors")
    names = [t.name for t in concrete.outputs]
    leaves: list[int] = []

    def is_tensor(value: object) -> bool:
        return isinstance(value, (tf.Tensor, tf.TensorSpec)) or hasattr(value, "op")

    structured = concrete.structured_outputs
    signature = Signature.of_call(_plain(args), _plain(kwargs), _plain(structured), is_tensor=is_tensor,
                                  parameters=parameters)  # fmt: skip
    for tensor in _leaves(_plain(structured)):
        leaves.append(names.index(tensor.name) if getattr(tensor, "name", None) in names else len(leaves))
    # slots are numbered in the order of the containers, TensorFlow sorts dicts by key
    ordered = _leaves((_plain(args), _plain(kwargs)))
    places = {id(s): i for i, s in enumerate(specs)}
    positions = [places[id(s)] for s in ordered if id(s) in places]
    if positions != sorted(positions):
        signature = _reordered(signature, positions)
    return signature, leaves


def _reordered(signature: Signature, positions: Sequence[int]) -> Signature:
    """The signature with its input slots in TensorFlow's order."""
    from ge_core.structure import Fields, Items, Slot

    def visit(tree: Any) -> Any:
        if isinstance(tree, Slot):
            return Slot(positions[tree.index])
        if isinstance(tree, Items):
            return Items(tree.kind, tuple(visit(t) for t in tree.items))
        if isinstance(tree, Fields):
            return Fields(tree.kind, tree.names, tuple(visit(t) for t in tree.items), tree.class_path)
        return tree

    names = [""] * len(positions)
    for slot, place in enumerate(positions):
        names[place] = signature.input_names[slot]
    return Signature(
        tuple(names), signature.output_names, visit(signature.args), visit(signature.kwargs), signature.outputs,
        signature.parameters,
    )  # fmt: skip


def _plain(value: Any) -> Any:
    """TensorFlow's own containers (tracking wrappers) as Python's."""
    if isinstance(value, Mapping):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_plain(v) for v in value))
    if isinstance(value, (list, tuple)):
        kind = tuple if isinstance(value, tuple) else list
        return kind(_plain(v) for v in value)
    return value


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [leaf for v in value.values() for leaf in _leaves(v)]
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value] if isinstance(value, (tf.Tensor, tf.TypeSpec)) or hasattr(value, "op") else []


def _capture(outer: Any, variables: Mapping[int, Any]) -> Variable | Constant:
    if outer.dtype == tf.resource:
        variable = variables.get(id(outer))
        if variable is None:
            return Variable(id(outer), "resource", TensorType(dtype_of(1), ()), lambda: _no_variable(outer))
        shape = variable.shape
        if shape.rank is None or None in shape.as_list():
            raise ModelImportError(f"the variable {variable.name} has no fixed shape")
        type = TensorType(dtype_of(variable.dtype.as_datatype_enum), tuple(shape.as_list()))
        name = variable.name.split(":")[0]
        return Variable(id(outer), name, type, lambda: Constant(type, lambda: _read(variable), name))
    if outer.dtype in (tf.string, tf.variant):
        return Variable(id(outer), "capture", TensorType(dtype_of(1), ()), lambda: _no_variable(outer))
    array = np.asarray(outer)
    return Constant.of(array)


def _read(variable: Any) -> np.ndarray:
    """The variable's values, sharing its memory."""
    array: np.ndarray = np.asarray(variable.read_value())
    return array


def _no_variable(outer: Any) -> Constant:
    raise ModelImportError(f"the model reads a resource of type {outer.dtype.name} that is no variable")


class _Places(Mapping[str, tuple[str, int]]):
    """The user's file and line by the names of a graph's operations, looked up when asked.

    The operations of one name scope come from one layer, so that the first one's place stands for all of them.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._scopes: dict[str, tuple[str, int] | None] = {}
        self._place_of = cache(_users_place)  # the operations of a model have few different traces

    def __getitem__(self, name: str) -> tuple[str, int]:
        scope = name.rpartition("/")[0]
        if scope not in self._scopes or not scope:
            self._scopes[scope] = self._found(name)
        place = self._scopes[scope]
        if place is None:
            raise KeyError(name)
        return place

    def _found(self, name: str) -> tuple[str, int] | None:
        try:
            trace = self._graph.get_operation_by_name(name).traceback
        except (KeyError, ValueError):
            return None
        if trace is None:
            return None
        # the user frames are a copy: the operation's own trace lives no longer than the operation
        return self._place_of(trace.get_user_frames())

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


def _users_place(frames: Any) -> tuple[str, int] | None:
    """File and line of the innermost frame that is no library's; what called this frontend is outside of the model."""
    for frame in reversed(frames):
        if "ge_frontend_tensorflow" in frame.filename:
            break
        if not _is_framework(frame.filename):
            return frame.filename, frame.lineno
    return None


@lru_cache(maxsize=4096)
def _is_framework(file: str) -> bool:
    parts = file.replace(os.sep, "/").split("/")
    return "site-packages" in parts or file.startswith("<")
