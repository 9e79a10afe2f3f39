"""From a MindSpore cell or a MindIR file to a graph and its signature."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ge_core.collector import paused
from ge_core.errors import InputError, ModelImportError, OptionError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim
from ge_core.ir.graph import Graph, Value
from ge_core.ir.types import TensorType
from ge_core.plugins.asked_shapes import Asked, AskedSizes, asked_shapes
from ge_core.plugins.frontend import ImportedModel
from ge_core.signature import Signature

from .convert import Converter
from .findings import report
from .literals import MONAD, Described
from .model_file import ModelFile, read_model
from .program import Program
from .scan import scan
from .values import Result
from .written import Written

_RECURSION = 20_000


class _Leaf:
    """A tensor in the structure of arguments or results."""


def import_model(
    model: object,
    inputs: Sequence[object] | None = None,
    kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: object | None = None,
    options: Mapping[str, object] | None = None,
) -> ImportedModel:
    """Import a cell or a file.

    Args:
        model: a mindspore.nn.Cell, or the path of a `.mindir` file.
        inputs, kwargs: example arguments of a cell; a `Tensor(shape=[None, ...])` has sizes that may change. For a
            file they are checked against its inputs.
        dynamic_shapes: by argument name or position, for each axis a name, a size, or torch.export's Dim. The sizes
            that a file fixes stay fixed.
        options: none are known.

    Raises:
        UnsupportedError: once, with every operator and form that is not supported.
        ModelImportError: MindSpore cannot export the cell, or the file is damaged.
        InputError: examples or dynamic shapes do not fit the model.
    """
    for key in options or {}:
        raise OptionError(f"the MindSpore frontend knows no option {key!r}", expected="no options")
    if isinstance(model, (str, os.PathLike)):
        return _import_file(read_model(model), inputs or (), kwargs or {}, dynamic_shapes)
    return _import_cell(model, inputs, kwargs, dynamic_shapes)


def _import_file(
    file: ModelFile, inputs: Sequence[object], kwargs: Mapping[str, object], dynamic_shapes: object
) -> ImportedModel:
    with _converting():
        importer = _Importer(file, {})
        names = [_plain(importer.program, name) for name, _ in importer.inputs]
        examples = {**dict(zip(names, inputs, strict=False)), **kwargs}
        asked = asked_shapes(dynamic_shapes, names, examples)
        arguments = [
            importer.argument(said, name, asked.get(name, {}))
            for name, (_, said) in zip(names, importer.inputs, strict=True)
        ]
        _check_examples(importer.graph, names, inputs, kwargs)
        outputs = importer.convert(arguments)
        args = [_leaves(a) for a in arguments]
    signature = Signature.of_call(args, {}, outputs, is_tensor=_is_leaf, parameters=names)
    return ImportedModel(importer.graph, signature)


def _import_cell(
    model: Any, inputs: Sequence[object] | None, kwargs: Mapping[str, object] | None, dynamic_shapes: object
) -> ImportedModel:
    from .cells import Exported, Leaf, export

    if not hasattr(model, "construct"):
        raise ModelImportError(
            f"{type(model).__qualname__} is no MindSpore cell", expected="a mindspore.nn.Cell or a .mindir file"
        )
    parameters = list(inspect.signature(model.construct).parameters)
    given = {**dict(zip(parameters, inputs or (), strict=False)), **(kwargs or {})}
    asked = asked_shapes(dynamic_shapes, parameters, given)
    found: Exported = export(model, inputs, kwargs, asked)
    with _converting():
        importer = _Importer(found.file, found.live)
        by_leaf: dict[Any, Result] = {}
        arguments = []
        tensors = list(_tensors_of(found.order, found.parameters, Leaf))
        if len(tensors) != len(importer.inputs):
            raise ModelImportError(
                f"{found.file.name} takes {len(tensors)} tensors, and MindSpore's export {len(importer.inputs)}",
                fix="pass tensors as plain arguments of construct",
            )
        # the graph's inputs stand in the order of the call, not of construct's parameters
        said_of = {leaf: (name, said) for (leaf, name), (_, said) in zip(tensors, importer.inputs, strict=True)}
        for leaf in _leaves_in((found.args, tuple(found.kwargs.values())), Leaf):
            name, said = said_of[leaf]
            by_leaf[leaf] = importer.argument(said, name, asked.get(name, {}))
        arguments = [by_leaf[leaf] for leaf, _ in tensors]
        outputs = importer.convert(arguments)
    signature = Signature.of_call(
        found.args,
        found.kwargs,
        outputs,
        is_tensor=lambda x: isinstance(x, (Leaf, _Leaf)),
        parameters=found.parameters,
    )
    return ImportedModel(importer.graph, signature)


class _Importer:
    """One model while it is imported.

    Args:
        file: the model.
        live: loads parameters of a live cell by name.
    """

    def __init__(self, file: ModelFile, live: Mapping[str, Callable[[], np.ndarray]]) -> None:
        self.program = Program(file)
        self.graph = Graph("main")
        self._b = Builder(self.graph)
        self._sizes = AskedSizes(self.graph)
        written = Written(self.program)
        found = scan(self.program, written)
        if found:
            raise report(found, file.name)
        self._converter = Converter(self.graph, self.program, written, live)

    @property
    def inputs(self) -> list[tuple[str, Any]]:
        """The main function's inputs that are no tokens, with what the file says of them."""
        return [(name, said) for name, said in self.program.main.inputs if said is not MONAD]

    def argument(self, said: Any, name: str, asked: Mapping[int, Asked]) -> Result:
        """A graph input for one of the main function's inputs, several for a tuple."""
        if isinstance(said, tuple):
            return tuple(self.argument(s, f"{name}_{k}", {}) for k, s in enumerate(said))
        if not isinstance(said, Described) or said.dtype is None or said.dtype.kind == "complex":
            kind = "complex numbers" if isinstance(said, Described) and said.dtype else "no tensor"
            raise UnsupportedError(f"the input {name} is {kind}, which is not supported")
        if said.sizes is None:
            raise UnsupportedError(
                f"the input {name} has an unknown rank", fix="export the model with a shape in the example"
            )
        if any(axis >= len(said.sizes) or axis < 0 for axis in asked):
            raise InputError(f"dynamic_shapes names an axis of {name!r} beyond its {len(said.sizes)} axes")
        shape = [
            self._sizes.of(None if size < 0 else size, asked.get(k), f"axis {k} of {name!r}", f"{name}_{k}")
            for k, size in enumerate(said.sizes)
        ]
        return self._b.input(name, said.dtype, shape)

    def convert(self, arguments: Sequence[Result]) -> object:
        """Convert the model; the structure of what it returns, with a leaf for each of the graph's outputs."""
        given = iter(arguments)
        every = [MONAD if said is MONAD else next(given) for _, said in self.program.main.inputs]
        result = self._converter.run(self._b, every)
        if self._converter.failures:
            raise report(self._converter.failures, self.program.name)
        values: list[Value] = []
        tree = self._structure(result, values)
        self._b.outputs(*values)
        return tree

    def _structure(self, x: Result, values: list[Value]) -> object:
        if isinstance(x, tuple):
            return tuple(self._structure(e, values) for e in x)
        if isinstance(x, Dim):
            x = self._b.scalar(x)
        if isinstance(x, Value):
            values.append(x)
            return _Leaf()
        if x is None or isinstance(x, (bool, int, float, str)):
            return x
        raise UnsupportedError(f"the model returns {type(x).__name__}, which is not supported")


class _converting:  # noqa: N801 - a context manager
    """Pause the collector, and leave room for functions that call each other deep down."""

    def __enter__(self) -> None:
        self._paused = paused()
        self._paused.__enter__()
        self._limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._limit, _RECURSION))

    def __exit__(self, *error: Any) -> None:
        sys.setrecursionlimit(self._limit)
        self._paused.__exit__(*error)


def _plain(program: Program, name: str) -> str:
    return name.removeprefix(f"{program.main.name}:")


def _leaves(x: Result) -> object:
    return tuple(_leaves(e) for e in x) if isinstance(x, tuple) else _Leaf()


def _is_leaf(x: object) -> bool:
    return isinstance(x, _Leaf)


def _tensors_of(order: Sequence[object], names: Sequence[str], kind: type) -> Iterator[tuple[Any, str]]:
    """The tensors among arguments with their names."""
    for k, x in enumerate(order):
        name = names[k] if k < len(names) else f"args_{k}"
        found = list(_leaves_in(x, kind))
        for j, leaf in enumerate(found):
            yield leaf, name if leaf is x else f"{name}_{j}"


def _leaves_in(x: object, kind: type) -> Iterator[Any]:
    if isinstance(x, kind):
        yield x
    elif isinstance(x, (tuple, list)):
        for e in x:
            yield from _leaves_in(e, kind)


def _check_examples(graph: Graph, names: Sequence[str], inputs: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Check examples for a file against its inputs.

    Raises:
        InputError: one is unknown, or of another rank or fixed size.
    """
    if len(inputs) > len(names):
        raise InputError(f"{len(inputs)} examples are given", expected=f"at most {len(names)}: {', '.join(names)}")
    examples = dict(zip(names, inputs, strict=False)) | dict(kwargs)
    for name, example in examples.items():
        if name not in names:
            raise InputError(f"an example is given for {name!r}", expected=f"one of {', '.join(names)}")
        shape = getattr(example, "shape", None)
        declared = next((v.tensor for v in graph.inputs if v.name == name), None)
        if shape is not None and declared is not None and not _fits(declared, tuple(shape)):
            raise InputError(f"the example of {name!r} has the shape {list(shape)}", expected=str(declared))


def _fits(declared: TensorType, shape: Sequence[Any]) -> bool:
    return declared.shape is not None and len(declared.shape) == len(shape) and all(
        not isinstance(a, int) or not isinstance(b, int) or a == b for a, b in zip(declared.shape, shape, strict=True)
    )  # fmt: skip
