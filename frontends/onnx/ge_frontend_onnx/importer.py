"""From an ONNX model to a graph and its signature."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ge_core.errors import InputError, ModelImportError, OptionError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Graph, Value
from ge_core.plugins.asked_shapes import asked_shapes
from ge_core.plugins.frontend import ImportedModel
from ge_core.plugins.unsupported import Unsupported
from ge_core.signature import Signature

from .convert import Converter
from .external_data import ExternalData
from .findings import report
from .frame import Frame, read_opsets
from .functions import Functions
from .inputs import Inputs
from .model_source import Source, read_source
from .scan import check_opsets, scan
from .scope import Scope
from .symbols import Symbols, plain_names
from .text import check_text
from .weights import Weights

_OPTIONS = ("external_data_root",)


def import_model(
    model: object,
    inputs: Sequence[object] | None = None,
    kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: object | None = None,
    options: Mapping[str, object] | None = None,
) -> ImportedModel:
    """Import an ONNX model of opset 1 to 28.

    The model's own types hold: a dimension with a name is a symbol of that name, one without is a symbol of its
    own. Types of inner values are inferred; those that the model states are not relied on.

    Args:
        model: an onnx.ModelProto, or the path of a `.onnx` file.
        inputs, kwargs: examples by position and by input name; they give a rank to inputs without a shape and
            are checked against the others, but fix no size.
        dynamic_shapes: by input name or position, for each axis a name, a fixed size, or torch.export's Dim; an
            axis that is not named stays as the model has it.
        options: `external_data_root`, the folder that external data may not lie outside of; by default the
            model's own.

    Raises:
        UnsupportedError: once, with every operator and form that is not supported.
        ModelImportError: the file is no ONNX model, or the model is damaged.
        InputError: examples or dynamic shapes do not fit the model.
    """
    root = _root(options or {})
    source = read_source(model)
    check_text(source.proto, source.name)
    return _import(source, inputs or (), kwargs or {}, dynamic_shapes, root)


def _root(options: Mapping[str, object]) -> Path | None:
    for key in options:
        if key not in _OPTIONS:
            raise OptionError(f"the ONNX frontend knows no option {key!r}", expected=", ".join(_OPTIONS))
    root = options.get("external_data_root")
    if root is not None and not isinstance(root, (str, os.PathLike)):
        raise OptionError(f"external_data_root is {root!r}", expected="the path of a folder")
    return None if root is None else Path(root)


def _import(
    source: Source,
    inputs: Sequence[object],
    kwargs: Mapping[str, object],
    dynamic_shapes: object | None,
    root: Path | None,
) -> ImportedModel:
    proto = source.proto
    if not proto.HasField("graph"):
        raise ModelImportError(f"{source.name} holds no graph", expected="an ONNX model")
    # a model from before there were versions of the operators has version 1
    frame = Frame(read_opsets(proto.opset_import, source.name) or {"": 1})
    check_opsets(frame.opsets, source.name)
    functions = Functions(proto.functions, proto.graph.node)
    found = scan(proto.graph.node, frame, functions)
    graph = Graph(proto.graph.name or "main")
    b = Builder(graph)
    wanted = _inputs(proto.graph)
    made = _make_inputs(b, wanted, inputs, kwargs, dynamic_shapes, found)
    if found:
        raise report(found, source.name)
    scope = Scope()
    for info, value in zip(wanted, made.values, strict=True):
        scope.define(info.name, value)
    weights = Weights(ExternalData(source.folder or root, root), source.owned)
    converter = Converter(graph, weights, functions, made.symbols)
    results = converter.run(b, proto.graph, scope, frame)
    if converter.failures:
        raise report(converter.failures, source.name)
    b.outputs(*(r for r in results if r is not None))
    names = [info.name for info in proto.graph.output]
    return ImportedModel(graph, Signature.flat([info.name for info in wanted], names))


class _Made:
    """The graph's inputs, and the sizes that they brought in."""

    def __init__(self, values: list[Value], symbols: Symbols) -> None:
        self.values, self.symbols = values, symbols


def _make_inputs(
    b: Builder,
    wanted: Sequence[Any],
    inputs: Sequence[object],
    kwargs: Mapping[str, object],
    dynamic_shapes: object | None,
    found: list[Unsupported],
) -> _Made:
    names = [info.name for info in wanted]
    symbols = Symbols(b.graph, plain_names(wanted))
    examples = _examples(names, inputs, kwargs)
    maker = Inputs(b, symbols, asked_shapes(dynamic_shapes, names, examples), examples)
    maker.prepare(wanted)
    values = []
    for info in wanted:
        try:
            values.append(maker.make(info))
        except UnsupportedError as error:
            found.append(Unsupported(error.what, error.where or ""))
    return _Made(values, symbols)


def _inputs(graph: Any) -> list[Any]:
    """The inputs that a caller gives: those without an initializer, which is their value."""
    initialized = {tensor.name for tensor in graph.initializer}
    initialized |= {sparse.values.name for sparse in graph.sparse_initializer}
    return [info for info in graph.input if info.name not in initialized]


def _examples(names: Sequence[str], inputs: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    if len(inputs) > len(names):
        raise InputError(f"{len(inputs)} examples are given", expected=f"at most {len(names)}: {', '.join(names)}")
    examples = dict(zip(names, inputs, strict=False))
    for name, example in kwargs.items():
        if name not in names or name in examples:
            raise InputError(
                f"an example is given for {name!r}" + (" twice" if name in examples else ""),
                expected=f"one for each of {', '.join(names)}",
            )
        examples[name] = example
    return examples
