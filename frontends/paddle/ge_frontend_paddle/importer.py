"""From a Paddle layer or inference model to a graph and its signature."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ge_core.collector import paused
from ge_core.errors import InputError, ModelImportError, OptionError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Graph, Value
from ge_core.plugins.asked_shapes import Asked, AskedSizes, asked_shapes
from ge_core.plugins.frontend import ImportedModel
from ge_core.signature import Signature

from .convert import Converter, Scope
from .program import Input, Program
from .scan import report, unknown_operators


@dataclass
class Source:
    """A model as it was read.

    Attributes:
        program: with its inputs and outputs in the signature's order.
        constant: the constant of a parameter by name, None for one that is not there.
        signature: how it is called; None for that of a file.
    """

    program: Program
    constant: Callable[[str], Constant | None]
    signature: Signature | None = None


def import_model(
    model: object,
    inputs: Sequence[object] | None = None,
    kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: object | None = None,
    options: Mapping[str, object] | None = None,
) -> ImportedModel:
    """Import a layer, a static function, or an inference model from its files.

    Args:
        model: a paddle.nn.Layer, a static function, a function of tensors, or the path of an inference model.
        inputs, kwargs: for a layer: InputSpecs or example tensors; a size of None or -1 in a spec is dynamic. For a
            file they are checked against what the file declares.
        dynamic_shapes: by input name or position, for each axis a name, a fixed size, or torch.export's Dim; equal
            names are equal sizes.
        options: none are known.

    Raises:
        UnsupportedError: once, with every operator and form that is not supported.
        ModelImportError: the files are no model, or Paddle cannot trace the layer.
        InputError: the inputs or dynamic shapes do not fit the model.
    """
    for key in options or {}:
        raise OptionError(f"the Paddle frontend knows no option {key!r}", expected="none")
    if isinstance(model, (str, os.PathLike)):
        with paused():
            source = _from_file(model, inputs, kwargs)
            names = [entry.name for entry in source.program.inputs]
            examples = {**dict(zip(names, inputs or (), strict=False)), **(kwargs or {})}
            return import_source(source, asked_shapes(dynamic_shapes, names, examples))
    from .layers import trace

    with paused():
        source, shapes = trace(model, inputs, kwargs, dynamic_shapes)
        return import_source(source, shapes)


def import_source(source: Source, dynamic_shapes: object | None = None) -> ImportedModel:
    """Convert a program that has been read.

    Raises:
        UnsupportedError: with all operators, or with all forms of operators, that cannot be converted.
        ModelImportError: the program is damaged.
    """
    program = source.program
    found = unknown_operators(program)
    if found:
        raise report(found, program.name)
    graph = Graph(program.name)
    b = Builder(graph)
    scope = Scope()
    names = [entry.name for entry in program.inputs]
    _check_inputs(program.inputs)
    asked, sizes = asked_shapes(dynamic_shapes, names), AskedSizes(graph)
    for entry in program.inputs:
        scope.set(entry.number, _input(b, entry, sizes, asked.get(entry.name, {})))
    converter = Converter(_weights(graph, source), program.exact_shapes)
    converter.run(b, program.block, scope)
    if converter.failures:
        raise report(converter.failures, program.name)
    b.outputs(*(_output(scope, number, name) for name, number in program.outputs))
    signature = source.signature or Signature.flat(names, [name for name, _ in program.outputs])
    return ImportedModel(graph, signature)


def _check_inputs(inputs: Sequence[Input]) -> None:
    seen: set[str] = set()
    for entry in inputs:
        if entry.name in seen:
            raise ModelImportError(f"two inputs are named {entry.name!r}", expected="names that are unique")
        seen.add(entry.name)


def _input(b: Builder, entry: Input, sizes: AskedSizes, asked: Mapping[int, Asked]) -> Value:
    name, declared = entry.name, entry.tensor.shape
    dtype = entry.tensor.dtype
    if dtype is None or dtype.kind == "complex":
        raise UnsupportedError(f"the input {name} has the element type {dtype}, which is not supported")
    for axis in asked:
        if not 0 <= axis < len(declared):
            raise InputError(f"dynamic_shapes names axis {axis} of {name!r}", expected=f"0 to {len(declared) - 1}")
    shape = [
        sizes.of(None if size < 0 else size, asked.get(axis), f"axis {axis} of {name!r}", f"{name}_{axis}")
        for axis, size in enumerate(declared)
    ]
    return b.input(name, dtype, shape)


def _weights(graph: Graph, source: Source) -> Callable[[str], Value]:
    made: dict[str, Value] = {}

    def weight(name: str) -> Value:
        if name not in made:
            constant = source.constant(name)
            if constant is None:
                raise ModelImportError(f"the parameter {name!r} has no values", expected="a parameter that is stored")
            made[name] = graph.add_constant(constant, name)
        return made[name]

    return weight


def _output(scope: Scope, number: int, name: str) -> Value:
    found: Any = scope.get(number)
    if not isinstance(found, Value):
        raise UnsupportedError(f"the output {name} is a list of tensors, which is not supported")
    return found


def _from_file(
    path: str | os.PathLike[str], inputs: Sequence[object] | None, kwargs: Mapping[str, object] | None
) -> Source:
    from .files import read_model

    program, parameters = read_model(path)
    if not program.outputs:
        raise ModelImportError(f"{program.name} gives no output", where=str(path))
    _check_examples(program, inputs or (), kwargs or {})
    return Source(program, parameters.get)


def _check_examples(program: Program, inputs: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Check examples' ranks and sizes against the declared inputs, as far as they say them.

    Raises:
        InputError: they do not fit.
    """
    names = [entry.name for entry in program.inputs]
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
    for entry in program.inputs:
        shape = getattr(examples.get(entry.name), "shape", None)
        if shape is None:
            continue
        given, declared = tuple(shape), entry.tensor.shape
        fits = len(given) == len(declared) and all(
            want < 0 or not isinstance(size, int) or size in (want, -1)
            for size, want in zip(given, declared, strict=True)
        )
        if not fits:
            raise InputError(f"the example of {entry.name!r} has the shape {list(given)}", expected=f"{list(declared)}")
