"""torch.export's graph of a model, for inference and at the level of composite operators.

The graph is the one that torch.export returns; `run_decompositions({})` is called only when a write in it cannot be
read as a pure operation. torch's default decompositions are never run: they take attention, linear layers and
recurrent layers apart.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor

from ge_core.errors import InputError, ModelImportError
from ge_core.input_spec import InputSpec

from .aliasing import Writes
from .element_types import to_torch
from .recurrent import recurrent_operators
from .tensors import from_numpy


class ImportNotice(UserWarning):
    """Something about the import that a person should know and that is no error."""


@dataclass(frozen=True)
class Exported:
    """An exported program whose graph has only writes that can be read as pure operations.

    Attributes:
        program: torch's program.
        writes: what its in-place operators rename.
        parameters: names of the positional parameters of the model's forward, as far as known.
        dynamic_shapes: as given, by torch's rules; None when the program came exported.
        name: the model's class name.
    """

    program: torch.export.ExportedProgram
    writes: Writes
    parameters: tuple[str, ...]
    dynamic_shapes: Any
    name: str


def export(
    model: object,
    inputs: Sequence[object] | None,
    kwargs: Mapping[str, object] | None,
    dynamic_shapes: object | None,
) -> Exported:
    """Export a model, or take one that is exported.

    Args:
        model: an nn.Module, a function of tensors, or an ExportedProgram.
        inputs, kwargs: example arguments; none for an ExportedProgram.
        dynamic_shapes: torch.export's form; a string in it stands for `Dim(string)`.

    Raises:
        ModelImportError: torch cannot export the model.
        InputError: examples are missing, or given where they are fixed already.
    """
    if isinstance(model, torch.export.ExportedProgram):
        if dynamic_shapes is not None:
            raise InputError(
                "dynamic_shapes is given for a program that is exported already",
                fix="pass dynamic_shapes to torch.export.export",
            )
        return functional(Exported(model, Writes(model.graph_module), (), None, "ExportedProgram"))
    module = _as_module(model)
    if dynamic_shapes is None:
        dynamic_shapes = _shapes_of_specs(inputs, kwargs)
    args, keywords = examples(module, inputs, kwargs)
    parameters = _parameters(module)
    shapes = _normal_shapes(dynamic_shapes, parameters, args, keywords)
    program = trace(module, args, keywords, shapes)
    _remove_dropout(program)
    name = type(model).__name__ if isinstance(model, torch.nn.Module) else getattr(model, "__name__", "main")
    return functional(Exported(program, Writes(program.graph_module), parameters, shapes, name))


def trace(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> torch.export.ExportedProgram:
    """torch.export of a module in eval mode.

    Raises:
        ModelImportError: torch refuses; the cause is chained.
    """
    with evaluating(module), _whole_operators(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
        except Exception as error:  # noqa: BLE001 - anything the user's forward raises arrives here
            raise _export_failed(module, error) from error


def _remove_dropout(program: torch.export.ExportedProgram) -> None:
    """Let the users of a dropout that does nothing read its input.

    In eval mode dropout returns its input itself; torch's functional form makes a copy of it, and then a write to
    one is not seen in the other.
    """
    for node in list(program.graph.nodes):
        idle = node.op == "call_function" and node.target is torch.ops.aten.dropout.default
        if idle and not node.args[2]:
            node.replace_all_uses_with(node.args[0])
            program.graph_signature.replace_all_uses(node.name, node.args[0].name)
            program.graph.erase_node(node)


def functional(exported: Exported) -> Exported:
    """The program with writes resolved by torch where they cannot be read as pure operations."""
    if exported.writes.pure:
        return exported
    program = decompose(exported.program, {})
    return replace(exported, program=program, writes=Writes(program.graph_module))


def decompose(
    program: torch.export.ExportedProgram, table: Mapping[Any, Callable[..., Any]]
) -> torch.export.ExportedProgram:
    """The program in functional form, with only the operators of `table` expanded.

    Raises:
        ModelImportError: torch fails to do so.
    """
    with _whole_operators(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return program.run_decompositions(dict(table))
        except Exception as error:  # noqa: BLE001 - torch raises any kind here
            raise ModelImportError(
                f"torch cannot bring the exported program into functional form: {_first_line(error)}",
                fix="write the model without in-place operations on views, inputs or buffers",
            ) from error


@contextmanager
def evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Eval mode inside, what was before afterwards; one notice when the module was training."""
    training = [m for m in module.modules() if m.training]
    # a wrapper that was never switched says nothing about the layers inside it
    if any(not list(m.children()) for m in training):
        warnings.warn(
            f"{type(module).__name__} is in training mode; it is imported as in eval mode and left as it was",
            ImportNotice,
            stacklevel=2,
        )
    for m in training:
        m.training = False
    try:
        yield
    finally:
        for m in training:
            m.training = True


# What is switched while torch traces is global: one trace at a time.
_tracing = threading.RLock()


@contextmanager
def _whole_operators() -> Iterator[None]:
    """Keep attention and recurrent layers as the operators that torch documents, whatever mode the caller is in."""
    with _tracing:
        fast_path = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            with recurrent_operators():
                yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast_path)


def _as_module(model: object) -> torch.nn.Module:
    if isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        raise ModelImportError(
            "TorchScript models are not supported",
            expected="an nn.Module, or an ExportedProgram",
            fix="pass the module that was scripted or traced",
        )
    if isinstance(model, str):
        raise ModelImportError(
            f"reading the file {model} is not supported",
            expected="an nn.Module, or an ExportedProgram",
            fix="load it with torch (torch.export.load runs code of the file: only when you trust it) and pass "
            "the object",
        )
    if isinstance(model, torch.nn.Module):
        return model
    if callable(model):
        return _Function(model)
    raise ModelImportError(f"an object of type {type(model).__qualname__} is no PyTorch model")


class _Function(torch.nn.Module):
    """A plain function as a module; it keeps the function's signature, which a builtin one does not have."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.training = False
        self._function = function
        try:
            inspect.signature(function)
        except ValueError:
            return
        self.forward = function  # type: ignore[method-assign]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def examples(
    module: torch.nn.Module, inputs: Sequence[object] | None, kwargs: Mapping[str, object] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The example arguments as tensors on the kind of device that the module is on.

    Raises:
        InputError: there are none and the module's forward needs some.
    """
    if inputs is None and kwargs is None:
        needed = [
            p.name
            for p in inspect.signature(module.forward).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        if needed:
            raise InputError(
                f"{type(module).__name__} needs example inputs",
                expected=f"tensors for {', '.join(needed)}",
                fix="pass inputs=(...) with tensors of the shapes and dtypes that the model takes",
            )
    convert = _to_device(module)
    tree = torch.utils._pytree
    args = tuple(tree.tree_map(convert, tuple(inputs or ())))
    return args, dict(tree.tree_map(convert, dict(kwargs or {})))


def _to_device(module: torch.nn.Module) -> Callable[[object], object]:
    """Makes an example fit: arrays and specs become tensors, and all follow a module on meta or of fakes."""
    first = next(iter(module.parameters()), None)
    mode = first.fake_mode if isinstance(first, FakeTensor) else None

    def convert(value: object) -> object:
        if isinstance(value, np.ndarray | np.generic):
            value = from_numpy(np.asarray(value), None)
        elif isinstance(value, InputSpec):
            value = _sample(value)
        if not isinstance(value, torch.Tensor):
            return value
        if mode is not None and not isinstance(value, FakeTensor):
            return mode.from_tensor(value)
        return value.to("meta") if first is not None and first.is_meta and mode is None else value

    return convert


def _sample(spec: InputSpec) -> torch.Tensor:
    """A tensor of zeros as a spec describes it; a size without a number is one that torch takes as dynamic."""
    sizes = [size if isinstance(size, int) else _SAMPLE_SIZE for size in spec.shape]
    return torch.zeros(sizes, dtype=to_torch(spec.dtype))


# torch fixes dimensions whose example size is 0 or 1
_SAMPLE_SIZE = 4


def _shapes_of_specs(inputs: Sequence[object] | None, kwargs: Mapping[str, object] | None) -> Any:
    """The dynamic_shapes that specs among the examples say; None when all sizes are numbers."""
    named = False

    def entry(value: object) -> Any:
        nonlocal named
        if isinstance(value, InputSpec):
            free = {
                axis: torch.export.Dim.AUTO if size is None else str(size)
                for axis, size in enumerate(value.shape)
                if not isinstance(size, int)
            }
            named = named or bool(free)
            return free or None
        if isinstance(value, Mapping):
            return {key: entry(item) for key, item in value.items()}
        return [entry(item) for item in value] if isinstance(value, (list, tuple)) else None

    by_position = tuple(entry(value) for value in inputs or ())
    by_name = tuple(entry(value) for value in (kwargs or {}).values())
    return (*by_position, *by_name) if named else None


def _parameters(module: torch.nn.Module) -> tuple[str, ...]:
    """Names of the parameters that may be given by position, as far as they are plain."""
    names: list[str] = []
    for p in inspect.signature(module.forward).parameters.values():
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            break
        names.append(p.name)
    return tuple(names)


def _normal_shapes(shapes: Any, parameters: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`dynamic_shapes` as torch wants it: an entry for each argument that is given, and `Dim`s for names."""
    if shapes is None:
        return None
    made: dict[str, Any] = {}

    def dimension(spec: Any) -> Any:
        if isinstance(spec, str):
            return made.setdefault(spec, torch.export.Dim(str(spec)))
        if isinstance(spec, dict):
            return {key: dimension(value) for key, value in spec.items()}
        if type(spec) in (list, tuple):
            return type(spec)(dimension(value) for value in spec)
        return spec

    shapes = dimension(shapes)
    given = [*parameters[: len(args)], *kwargs]
    if isinstance(shapes, dict) and set(shapes) - set(given) <= set(parameters):
        shapes = {name: shapes.get(name) for name in given} if len(args) <= len(parameters) else shapes
    return shapes


def _export_failed(module: torch.nn.Module, error: Exception) -> ModelImportError:
    return ModelImportError(
        f"torch.export cannot trace {type(module).__name__}: {type(error).__name__}: {_first_line(error)}",
        expected="a model whose forward can be traced with the given examples",
        details=_lines(error)[1:],
        fix=_advice(str(error)),
    )


def _advice(message: str) -> str:
    if "not a known type" in message or "Unsupported input type" in message:
        return (
            "take and return tensors in plain containers (a Hugging Face model: pass use_cache=False), or register "
            "the class with torch.utils._pytree.register_pytree_node"
        )
    return "see the chained error; torch.export.draft_export(model, args) lists all that stands in the way"


def _lines(error: BaseException) -> list[str]:
    """torch's message without its advice on how to call torch.export."""
    text = str(error).split("The error above occurred")[0]
    return [line.strip() for line in text.strip().splitlines() if line.strip()][:12]


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
