"""From a TFLite file to a graph and its signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ge_core.collector import paused
from ge_core.errors import GeError, GraphError, ModelImportError, OptionError, UnsupportedError
from ge_core.plugins.asked_shapes import asked_shapes
from ge_core.plugins.frontend import ImportedModel
from ge_core.plugins.unsupported import Unsupported, unsupported_error
from ge_core.signature import Signature
from ge_core.structure import Fields, Items, Slot, Tree

from .. import program
from ..files import with_examples
from ..importer import import_source
from ..program import Program, Ref
from ..source import Input, Source
from ..variables import Variable
from .call import Body, Call
from .model_file import NUMBERS, ModelFile, Operator, SubGraph, read_model_file
from .registry import find

_MAIN = "main"


def import_tflite(
    path: str,
    inputs: Sequence[object] | None = None,
    dynamic_shapes: object | None = None,
    options: Mapping[str, object] | None = None,
) -> ImportedModel:
    """Import a file.

    Args:
        inputs: examples or InputSpecs; they must fit what the file says.
        dynamic_shapes: names for the sizes that the file leaves open.
        options: `signature`, a key of the file's signatures.

    Raises:
        ModelImportError: the file is damaged.
        UnsupportedError: once, with every operator that is not supported.
    """
    model = read_model_file(path)
    with paused():
        source = _source(model, (options or {}).get("signature"))
        names = [i.name for i in source.inputs]
        asked = asked_shapes(dynamic_shapes, names)
        source.inputs = with_examples(source.inputs, inputs, asked)
        return import_source(source, asked)


class TfliteProgram(Program):
    """The sub graphs as functions, translated when they are first asked for.

    Attributes:
        variables: by the names of the nodes that stand for them.
    """

    def __init__(self, model: ModelFile) -> None:
        super().__init__(())
        self.model = model
        self.variables: dict[str, Variable] = {}

    def function(self, name: str) -> program.Body:
        if name not in self._bodies:
            index = int(name.removeprefix("subgraph_"))
            if index >= len(self.model.graphs):
                raise ModelImportError(f"an operator calls the sub graph {index}, which is not there")
            graph = self.model.graphs[index]
            self._bodies[name] = self.translated(graph, name, graph.inputs, graph.outputs)
        return self._bodies[name]

    def translated(self, graph: SubGraph, name: str, inputs: Sequence[int], outputs: Sequence[int]) -> program.Body:
        """A sub graph as TensorFlow nodes."""
        body = Body(graph, self.constants)
        arguments = []
        for place, index in enumerate(inputs):
            arguments.append(f"input_{place}")
            body.values[index] = Ref(arguments[-1], 0)
        for operator in graph.operators:
            _translate(body, operator)
        results = tuple(body.stored(index) for index in outputs)
        if body.variables and name != _MAIN:
            raise UnsupportedError(f"{name} keeps tensors from call to call, which is not supported in a sub graph")
        self.variables.update(body.variables)
        return program.Body(name, body.nodes, tuple(arguments), results, tuple(body.writes))


def _source(model: ModelFile, asked: object) -> Source:
    unknown = _unknown(model)
    if unknown:
        raise unknown
    index, inputs, outputs = _signature(model, asked) or (0, *_unnamed(model.graphs[0]))
    graph = model.graphs[index]
    found = TfliteProgram(model)
    body = found.translated(graph, _MAIN, list(inputs.values()), list(outputs.values()))
    declared = []
    for name, index in inputs.items():
        tensor = graph.tensors[index]
        declared.append(Input(name, NUMBERS[tensor.dtype.name], tensor.shape))
    convention = _convention(list(inputs), list(outputs), bool(model.signatures))
    return Source("model", found, body, declared, convention, handles=found.variables)


def _unnamed(graph: SubGraph) -> tuple[dict[str, int], dict[str, int]]:
    """Names for the inputs and outputs of a graph without a signature: the tensors' own, or numbered."""
    found = []
    for kind, indices in (("input", graph.inputs), ("output", graph.outputs)):
        names = {_plain(graph.tensors[i].name, f"{kind}_{n}"): i for n, i in enumerate(indices)}
        found.append(names if len(names) == len(indices) else {f"{kind}_{n}": i for n, i in enumerate(indices)})
    return found[0], found[1]


def _convention(inputs: Sequence[str], outputs: Sequence[str], named: bool) -> Signature:
    slots = tuple(Slot(i) for i in range(len(outputs)))
    result: Tree = slots[0] if len(slots) == 1 else Items("tuple", slots)
    if named:
        result = Fields("dict", tuple(outputs), slots)
    return Signature(
        tuple(inputs),
        tuple(outputs),
        Items("tuple", tuple(Slot(i) for i in range(len(inputs)))),
        Fields("dict", (), ()),
        result,
        tuple(inputs),
    )


def _signature(model: ModelFile, asked: object) -> tuple[int, Mapping[str, int], Mapping[str, int]] | None:
    if asked is not None:
        if asked not in model.signatures:
            raise OptionError(
                f"the file has no signature {asked!r}", expected=", ".join(sorted(model.signatures)) or "none"
            )
        return model.signatures[str(asked)]
    return next(iter(model.signatures.values()), None)


def _plain(name: str, otherwise: str) -> str:
    word = "".join(ch if ch.isalnum() and ch.isascii() else "_" for ch in name).strip("_")
    return word or otherwise


def _unknown(model: ModelFile) -> UnsupportedError | None:
    """One error for all operators that nothing translates."""
    found = [
        Unsupported(operator.name, graph.tensors[operator.outputs[0]].name if operator.outputs else "")
        for graph in model.graphs
        for operator in graph.operators
        if find(operator.name) is None
    ]
    register = "ge_frontend_tensorflow.tflite.registry.tflite"
    return unsupported_error(found, "the file", "TFLite", register) if found else None


def _translate(body: Body, operator: Operator) -> None:
    known = find(operator.name)
    assert known is not None  # `_unknown` has refused the others
    tensors = [body.graph.tensors[i] for i in (*operator.inputs, *operator.outputs) if i >= 0]
    alike = len({t.quantised for t in tensors if t.quantised is not None}) <= 1
    stored = known.raw or (known.moves and alike)
    call = Call(body, operator, stored)
    try:
        found = known.function(call)
        results = [found] if isinstance(found, Ref) else list(found)
        if len(results) < len(operator.outputs):
            raise call.unsupported(f"having {len(operator.outputs)} results")
        for index, result in zip(operator.outputs, results, strict=False):
            quantised = body.graph.tensors[index].quantised is not None and not stored
            body.values[index] = body.quantise(index, result) if quantised else result
    except GeError as error:
        if error.where is not None:
            raise
        raise type(error)(
            error.what, where=call.loc, expected=error.expected, fix=error.fix, details=error.details
        ) from error
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise GraphError(
            f"{operator.name} cannot be translated: {type(error).__name__}: {error}",
            where=call.loc,
            fix="if the file is not damaged, this is a fault of the TensorFlow frontend; please report it",
        ) from error
