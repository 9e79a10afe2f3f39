"""From a TensorFlow model to a graph and its signature."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ge_core.collector import paused
from ge_core.errors import InputError, ModelImportError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Graph, Value
from ge_core.plugins.asked_shapes import Asked, AskedSizes
from ge_core.plugins.frontend import ImportedModel

from .complex_pair import ComplexPair
from .convert import Converter, Result
from .element_types import dtype_of
from .scan import report, unknown_operators
from .source import Input, Source
from .variables import Store, Variable


def import_model(
    model: object,
    inputs: Sequence[object] | None = None,
    kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: object | None = None,
    options: Mapping[str, object] | None = None,
) -> ImportedModel:
    """Import a live object or a file.

    Args:
        model: a Keras model, a tf.function or concrete function, a tf.Module, what tf.saved_model.load returns, or
            a path: a SavedModel folder, a frozen `.pb`, `.keras`, `.h5` or TFLite file.
        inputs, kwargs: examples (tensors, arrays, TensorSpecs, InputSpecs); None for a model that has a
            specification of its own, whose open sizes then are symbolic.
        dynamic_shapes: by input name or position: names of the axes whose size may change.
        options: `signature` (of a SavedModel), `outputs` (of a frozen graph).

    Raises:
        UnsupportedError: once, with every operator that is not supported.
        ModelImportError: the model is damaged, or TensorFlow refuses it.
        InputError: the examples do not fit the model.
    """
    chosen = dict(options or {})
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        kind = _file_kind(path)
        if kind == "tflite":
            return _import_tflite(path, inputs, dynamic_shapes, chosen)
        if kind in ("saved_model", "graph"):
            from .files import read_file

            source, asked = read_file(path, kind, inputs, dynamic_shapes, chosen)
            with paused():
                return import_source(source, asked)
        from .live import load_path

        model = load_path(path)
    from .live import read_live

    with paused():
        source, asked = read_live(model, inputs, kwargs, dynamic_shapes)
        return import_source(source, asked)


def _import_tflite(
    path: str, inputs: Sequence[object] | None, dynamic_shapes: object | None, options: Mapping[str, object]
) -> ImportedModel:
    importer = import_module(".tflite.importer", __package__)
    found: ImportedModel = importer.import_tflite(path, inputs, dynamic_shapes, options)
    return found


def _file_kind(path: str) -> str:
    """What a path is, by its form: saved_model, graph, keras or tflite.

    Raises:
        ModelImportError: nothing is there, or it is none of these.
    """
    if os.path.isdir(path):
        return "saved_model"
    if not os.path.isfile(path):
        raise ModelImportError(f"there is no file {path}")
    with open(path, "rb") as file:
        head = file.read(8)
    if head[4:8] == b"TFL3" or path.endswith(".tflite"):
        return "tflite"
    if os.path.basename(path) == "saved_model.pb":
        return "saved_model"
    if head[:4] in (b"PK\x03\x04", b"\x89HDF"):
        return "keras"
    if path.endswith((".keras", ".h5", ".hdf5")):
        raise ModelImportError(f"{path} is no Keras file", expected="a zip or HDF5 file", fix="write the file again")
    return "graph"


def import_source(source: Source, asked: Mapping[str, Mapping[int, Any]]) -> ImportedModel:
    """Convert a source.

    Args:
        asked: what the caller says about inputs' axes.

    Raises:
        UnsupportedError: with all operators that are not supported.
    """
    graph = Graph(source.name)
    b = Builder(graph)
    store = Store(b)
    source.program.check_expansion(source.body)
    converter = Converter(source.program, store, source.handles, source.places)
    found = unknown_operators(converter, source.body)
    if found:
        raise report(found, source.name)
    sizes = AskedSizes(graph)
    arguments: list[Result] = [_input(b, sizes, i, asked.get(i.name, {})) for i in source.inputs]
    arguments += [c if isinstance(c, Variable) else _constant(b, c) for c in source.captures]
    store.assign_somewhere(_assigned(converter, source, arguments))
    results = converter.run(b, source.body, arguments)
    b.outputs(*(_output(r, n) for r, n in zip(results, source.signature.output_names, strict=True)))
    store.finish()
    return ImportedModel(graph, source.signature)


def _input(b: Builder, sizes: AskedSizes, declared: Input, asked: Mapping[int, Asked]) -> Value:
    dtype = dtype_of(declared.dtype, f"the input {declared.name}")
    if dtype.kind == "complex":
        raise UnsupportedError(f"the input {declared.name} is {dtype}, which is not supported")
    if declared.shape is None:
        raise UnsupportedError(
            f"the input {declared.name} has an unknown rank", fix="pass an example or an InputSpec of it"
        )
    name, rank = declared.name, len(declared.shape)
    if any(not 0 <= axis < rank for axis in asked):
        raise InputError(f"dynamic_shapes names axis {max(asked)} of {name!r}", expected=f"below {rank}")
    shape = [
        sizes.of(size, asked.get(axis), f"axis {axis} of {name!r}", f"{name}_{axis}")
        for axis, size in enumerate(declared.shape)
    ]
    return b.input(name, dtype, shape)


def _constant(b: Builder, constant: Constant) -> Result:
    if constant.type.dtype.kind == "complex":
        raise UnsupportedError("the model captures a complex tensor, which is not supported")
    return b.graph.add_constant(constant, "captured")


def _assigned(converter: Converter, source: Source, arguments: Sequence[Result]) -> list[Variable]:
    """The variables that the model writes."""
    found = []
    for place in sorted(converter.writes.of_body(source.body, converter.order(source.body)), key=str):
        variable = source.handles.get(place) if isinstance(place, str) else arguments[place]
        if not isinstance(variable, Variable):
            raise UnsupportedError(
                f"{source.name} writes to {place!r}, which is no variable that its file or its captures hold"
            )
        found.append(variable)
    return found


def _output(result: Result, name: str) -> Value:
    if isinstance(result, Value):
        return result
    what = "complex numbers" if isinstance(result, ComplexPair) else f"a {type(result).__name__}"
    raise UnsupportedError(
        f"the model returns {what} as {name}, which is not supported",
        fix="return real tensors (tf.math.real, tf.abs, TensorArray.stack())",
    )
