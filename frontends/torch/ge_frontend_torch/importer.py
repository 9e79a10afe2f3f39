"""From a PyTorch model to a graph and its signature."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, TensorArgument

from ge_core.collector import paused
from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim
from ge_core.ir.graph import Graph, State, Value
from ge_core.plugins.frontend import ImportedModel
from ge_core.signature import Signature

from .aliasing import Writes
from .call_structure import is_marker, leaf, rebuild, slots
from .complex_pair import ComplexPair
from .constants import Weights
from .convert import Converter
from .element_types import from_torch
from .export import Exported, ImportNotice, decompose, export
from .scan import complex_uses, expandable, findings, report, unknown_operators
from .symbols import Symbols

# Expansions of unknown operators may hold unknown operators again.
_EXPANSION_ROUNDS = 4


def import_model(
    model: object,
    inputs: Sequence[object] | None = None,
    kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: object | None = None,
    options: Mapping[str, object] | None = None,
) -> ImportedModel:
    """Import a module or an exported program.

    Args:
        model: an nn.Module, a function of tensors, or an ExportedProgram.
        inputs, kwargs: example arguments: tensors, numpy arrays and whatever else the model's forward takes.
        dynamic_shapes: torch.export's form; a string in it stands for `Dim(string)`.
        options: none are known.

    Raises:
        UnsupportedError: once, with every operator and form that is not supported.
        ModelImportError: torch cannot export the model.
        InputError: the examples do not fit the model.
    """
    exported = export(model, inputs, kwargs, dynamic_shapes)
    exported = supported(exported)
    with paused():
        return import_exported(exported)


def supported(exported: Exported) -> Exported:
    """Phase one: the program with only operators that can be converted.

    Operators without a function of ours are expanded by torch where it knows how.

    Raises:
        UnsupportedError: with all operators that are left.
    """
    unknown = unknown_operators(exported.program.graph_module)
    for _ in range(_EXPANSION_ROUNDS):
        table = expandable(unknown)
        # functions of torch that are no operators (of vmap) are gone in the functional form
        if not table and all(isinstance(target, torch._ops.OpOverload) for target in unknown):
            break
        try:
            program = decompose(exported.program, table)
        except ModelImportError:
            break  # what cannot be expanded is reported as it stands
        exported = replace(exported, program=program, writes=Writes(program.graph_module))
        before, unknown = set(unknown), unknown_operators(program.graph_module)
        if set(unknown) == before:
            break
    found = findings(unknown) + complex_uses(exported.program.graph_module)
    if found:
        raise report(found, exported.name)
    return exported


def import_exported(exported: Exported) -> ImportedModel:
    """Phase two: convert a program all of whose operators are known.

    Raises:
        UnsupportedError: with all forms of operators that cannot be converted.
    """
    program = exported.program
    graph = Graph(exported.name)
    b = Builder(graph)
    symbols = Symbols(graph, program.range_constraints)
    weights = Weights(graph, program)
    signature, order = _signature(exported)
    converter = Converter(symbols, exported.writes)
    given = _inputs(b, exported, symbols, weights, signature, order.inputs)
    results = converter.run(b, program.graph, given)
    if converter.failures:
        raise report(converter.failures, exported.name)
    outputs = _outputs(b, exported, weights, results)
    b.outputs(*(_output_value(b, outputs[index]) for index in order.outputs))
    _notice_frozen(exported)
    return ImportedModel(graph, signature)


class _Order:
    """Which of torch's flat inputs and outputs the graph has, in the order of the signature's slots."""

    def __init__(self, inputs: list[int], outputs: list[int]) -> None:
        self.inputs, self.outputs = inputs, outputs


def _signature(exported: Exported) -> tuple[Signature, _Order]:
    """The calling convention, from torch's descriptions of the call's structure."""
    program = exported.program
    spec = program.call_spec
    user_inputs = [s for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT]
    leaves = [leaf(s.arg) for s in user_inputs]
    args, kwargs = rebuild(spec.in_spec, leaves)
    results = [s for s in program.graph_signature.output_specs if s.kind == OutputKind.USER_OUTPUT]
    result_leaves = [leaf(s.arg) for s in results]
    outputs = rebuild(spec.out_spec, result_leaves)
    signature = Signature.of_call(
        args, kwargs, outputs, is_tensor=is_marker, parameters=exported.parameters or _names(user_inputs, args)
    )
    return signature, _Order(slots((args, kwargs), leaves), slots(outputs, result_leaves))


def _names(user_inputs: Sequence[Any], args: Sequence[object]) -> tuple[str, ...]:
    """Names of positional arguments of a program that came exported: those that are one tensor each."""
    if not all(is_marker(a) for a in args):
        return ()
    return tuple(s.arg.name for s in user_inputs[: len(args)])


def _inputs(
    b: Builder,
    exported: Exported,
    symbols: Symbols,
    weights: Weights,
    signature: Signature,
    order: list[int],
) -> list[Any]:
    """What the placeholders stand for; parameters are made when they are first used."""
    program = exported.program
    specs = program.graph_signature.input_specs
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    mutated = set(program.graph_signature.buffers_to_mutate.values())
    user = [i for i, s in enumerate(specs) if s.kind == InputKind.USER_INPUT]
    made: dict[int, Any] = {}
    for name, index in zip(signature.input_names, order, strict=True):
        made[user[index]] = _input(b, placeholders[user[index]], name, _hints(exported, index), symbols)
    given: list[Any] = []
    for i, spec in enumerate(specs):
        if i in made:
            given.append(made[i])
        elif spec.kind == InputKind.USER_INPUT:
            given.append(spec.arg.value if isinstance(spec.arg, ConstantArgument) else None)
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            given.append(_weight(weights, spec.target, spec.target in mutated))
        else:
            raise UnsupportedError(f"the model takes {spec.arg} of kind {spec.kind.name}, which is not supported")
    return given


def _weight(weights: Weights, target: str, mutated: bool) -> Callable[[], Any]:
    return lambda: weights.state(target).read if mutated else weights.constant(target)


def _input(b: Builder, placeholder: Any, name: str, hints: Sequence[str | None], symbols: Symbols) -> Value:
    described = placeholder.meta["val"]
    if not isinstance(described, torch.Tensor):
        raise UnsupportedError(
            f"the input {name} is a Python number that was asked to be dynamic",
            expected="a tensor, or a number that is fixed at import",
            fix="leave the argument out of dynamic_shapes, or pass a tensor of rank 0",
        )
    dtype = from_torch(described.dtype)
    if dtype is None or dtype.kind == "complex":
        raise UnsupportedError(f"the input {name} is {described.dtype}, which is not supported")
    for axis, size in enumerate(described.shape):
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
            hint = hints[axis] if axis < len(hints) else None
            symbols.declare(size.node.expr, hint or f"{name}_{axis}")
    return b.input(name, dtype, [symbols.size(size) for size in described.shape])


def _outputs(b: Builder, exported: Exported, weights: Weights, results: list[Any]) -> list[Any]:
    """The results that the model returns; writes to buffers become the states' new values."""
    program = exported.program
    returned: list[Any] = []
    for spec, result in zip(program.graph_signature.output_specs, results, strict=True):
        if spec.kind == OutputKind.USER_OUTPUT:
            returned.append(result)
        elif spec.kind == OutputKind.BUFFER_MUTATION:
            _write_state(b, weights.state(str(spec.target)), result)
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            warnings.warn(
                f"{exported.name} writes to its input {spec.target}; the imported model leaves its inputs as they are",
                ImportNotice,
                stacklevel=2,
            )
        else:
            raise UnsupportedError(f"the model gives an output of kind {spec.kind.name}, which is not supported")
    return returned


def _write_state(b: Builder, state: State, result: Any) -> None:
    assert isinstance(result, Value)
    b.graph.set_state_write(state, result)


def _output_value(b: Builder, result: Any) -> Value:
    if isinstance(result, Value):
        return result
    if isinstance(result, Dim | int) and not isinstance(result, bool):
        return b.scalar(result)
    what = "complex numbers" if isinstance(result, ComplexPair) else type(result).__name__
    raise UnsupportedError(
        f"the model returns {what}, which is not supported", fix="return real tensors (torch.view_as_real, .abs())"
    )


def _hints(exported: Exported, index: int) -> list[str | None]:
    """Names that the user gave to the dimensions of torch's flat input `index`."""
    specs = _flat_shapes(exported)
    spec = specs[index] if specs is not None and index < len(specs) else None
    if isinstance(spec, dict):
        rank = max(spec, default=-1) + 1
        return [_dim_name(spec.get(axis)) for axis in range(rank)]
    return [_dim_name(dim) for dim in spec] if isinstance(spec, (list, tuple)) else []


def _dim_name(dim: Any) -> str | None:
    name = getattr(dim, "__name__", None)
    return name if isinstance(name, str) and name.isidentifier() else None


def _flat_shapes(exported: Exported) -> list[Any] | None:
    """The entries of `dynamic_shapes` for torch's flat inputs, in their order."""
    shapes = exported.dynamic_shapes
    if shapes is None:
        return None
    count = len([s for s in exported.program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT])
    args, kwargs = exported.program.call_spec.in_spec.unflatten([_LEAF] * count)
    if isinstance(shapes, dict):
        by_position = [shapes.get(name) for name in exported.parameters[: len(args)]]
        by_name = {key: shapes.get(key) for key in kwargs}
    else:
        if args and not exported.parameters and isinstance(shapes[0], (list, tuple)):
            shapes = (*shapes[0], *shapes[1:])  # one entry for all of *args
        by_position, rest = list(shapes[: len(args)]), list(shapes[len(args) :])
        by_name = dict(zip(kwargs, rest, strict=False))
    flat: list[Any] = []
    _gather(args, by_position, flat)
    _gather(kwargs, by_name, flat)
    return flat


_LEAF = object()


def _gather(value: Any, spec: Any, flat: list[Any]) -> None:
    if value is _LEAF:
        flat.append(spec)
    elif isinstance(value, dict):
        for key, item in value.items():
            _gather(item, spec.get(key) if isinstance(spec, dict) else None, flat)
    elif isinstance(value, (list, tuple)):
        inner = spec if isinstance(spec, (list, tuple)) and len(spec) == len(value) else [None] * len(value)
        for item, entry in zip(value, inner, strict=True):
            _gather(item, entry, flat)
    else:
        for _ in torch.utils._pytree.tree_leaves(value):
            flat.append(None)


def _notice_frozen(exported: Exported) -> None:
    """Say which dimensions were asked to be dynamic and came out of torch's tracing as constants."""
    specs = _flat_shapes(exported)
    if specs is None:
        return
    program = exported.program
    user = [s for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT]
    placeholders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    for spec, entry in zip(user, specs, strict=False):
        if not isinstance(spec.arg, TensorArgument) or not entry:
            continue
        shape = placeholders[spec.arg.name].meta["val"].shape
        pairs = entry.items() if isinstance(entry, dict) else enumerate(entry)
        for axis, dim in pairs:
            asked = dim is not None and not isinstance(dim, int) and "STATIC" not in str(dim)
            if asked and isinstance(shape[axis], int):
                warnings.warn(
                    f"dimension {axis} of the input {spec.arg.name} was asked to be dynamic; torch.export fixed it "
                    f"at {shape[axis]} (an example of size 0 or 1 is always fixed; so is a size that the model's "
                    "code compares with a constant)",
                    ImportNotice,
                    stacklevel=2,
                )
