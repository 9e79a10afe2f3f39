"""SavedModel folders and GraphDef files, read without TensorFlow."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ge_core.errors import InputError, ModelImportError, OptionError
from ge_core.input_spec import InputSpec
from ge_core.ir.types import TensorType
from ge_core.om.message_table import Message
from ge_core.om.wire import MAX_BYTES
from ge_core.plugins.asked_shapes import asked_shapes
from ge_core.signature import Signature
from ge_core.structure import Fields, Items, Slot

from .checkpoint import Checkpoint
from .element_types import dtype_of
from .messages import parse
from .program import Program, Ref, graph_body, graph_ref
from .restored import restored_names
from .source import Input, Source
from .variables import Variable

_DEFAULT_SIGNATURE = "serving_default"
_NO_RESULT = frozenset({"NoOp", "Const", "Placeholder", "Assert", "PlaceholderWithDefault", "CheckNumerics"})
Asked = dict[str, Mapping[int, Any]]


def read_file(
    path: str,
    kind: str,
    inputs: Sequence[object] | None,
    dynamic_shapes: object | None,
    options: Mapping[str, object],
) -> tuple[Source, Asked]:
    """The source of a file, and what the caller asks for its inputs' sizes.

    Args:
        kind: "saved_model" or "graph".

    Raises:
        ModelImportError: the file is damaged, or is none of these.
        OptionError: an option names nothing in the file.
    """
    source = _saved_model(path, options) if kind == "saved_model" else _frozen(path, options)
    names = [i.name for i in source.inputs]
    asked = asked_shapes(dynamic_shapes, names)
    source.inputs = with_examples(source.inputs, inputs, asked)
    return source, asked


def with_examples(declared: Sequence[Input], examples: Sequence[object] | None, asked: Asked) -> list[Input]:
    """The inputs of a file with what examples or specifications say about them.

    Raises:
        InputError: an example does not fit.
    """
    given = [*(examples or ()), *([None] * len(declared))][: len(declared)]
    return [_with_example(d, e, asked) for d, e in zip(declared, given, strict=True)]


def _with_example(declared: Input, example: object, asked: Asked) -> Input:
    """The input with what an example or specification says about it.

    Raises:
        InputError: the example does not fit.
    """
    shape = getattr(example, "shape", None)
    if example is None or shape is None:
        return declared
    given = tuple(shape)
    old = declared.shape
    if old is None:
        old = (None,) * len(given)
    fits = len(old) == len(given) and all(
        a is None or not isinstance(b, int) or a == b for a, b in zip(old, given, strict=True)
    )
    if not fits:
        raise InputError(f"the example of {declared.name!r} has the shape {list(given)}", expected=str(list(old)))
    if isinstance(example, InputSpec):
        said = {axis: size for axis, size in enumerate(given) if size is not None and old[axis] is None}
        asked[declared.name] = {**said, **asked.get(declared.name, {})}
    return Input(declared.name, declared.dtype, old)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                raise ModelImportError(f"{path} is larger than protobuf's limit of {MAX_BYTES} bytes")
            if os.fstat(file.fileno()).st_size == 0:
                raise ModelImportError(f"{path} is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                return bytes(mapped)
    except OSError as error:
        raise ModelImportError(f"{path} cannot be read: {error.strerror}") from error


# --- SavedModel ---------------------------------------------------------------------------------------------------


def _saved_model(path: str, options: Mapping[str, object]) -> Source:
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    file = os.path.join(folder, "saved_model.pb")
    if not os.path.isfile(file):
        raise ModelImportError(f"{folder} is no SavedModel: it has no saved_model.pb")
    saved = parse("SavedModel", _read(file), file)
    if not saved.meta_graphs:
        raise ModelImportError(f"{file} holds no graph")
    meta = next((m for m in saved.meta_graphs if "serve" in m.meta_info_def.tags), saved.meta_graphs[0])
    name, signature = _signature(meta, options)
    program = Program(meta.graph_def.library.function)
    inputs, nodes = [], []
    for key in sorted(signature.inputs):
        info = signature.inputs[key]
        nodes.append(graph_ref(info.name).node)
        inputs.append(Input(key, int(info.dtype), _shape(info.tensor_shape)))
    outputs = sorted(signature.outputs)
    body = graph_body(meta.graph_def, nodes, [signature.outputs[k].name for k in outputs], (), name)
    variables = _variables(program, body, os.path.join(folder, "variables", "variables"))
    return Source(_model_name(folder), program, body, inputs, _named(inputs, outputs), handles=variables)


def _model_name(folder: str) -> str:
    word = os.path.basename(os.path.abspath(folder))
    return "".join(ch if ch.isalnum() and ch.isascii() else "_" for ch in word) or "model"


def _signature(meta: Message, options: Mapping[str, object]) -> tuple[str, Message]:
    known = {key: value for key, value in meta.signature_def.items() if not key.startswith("__")}
    known = {key: value for key, value in known.items() if value.outputs}
    asked = options.get("signature")
    if asked is not None:
        if asked not in known:
            raise OptionError(f"the SavedModel has no signature {asked!r}", expected=", ".join(sorted(known)) or "none")
        return str(asked), known[asked]
    if _DEFAULT_SIGNATURE in known:
        return _DEFAULT_SIGNATURE, known[_DEFAULT_SIGNATURE]
    if len(known) != 1:
        raise ModelImportError(
            f"the SavedModel has {len(known)} signatures",
            expected=f"one, or one named {_DEFAULT_SIGNATURE}",
            fix='name one: options={"signature": ...}' if known else "save the model with a signature",
        )
    return next(iter(known.items()))


def _named(inputs: Sequence[Input], outputs: Sequence[str]) -> Signature:
    """A calling convention of named inputs and a dict of results."""
    names = tuple(i.name for i in inputs)
    return Signature(
        names,
        tuple(outputs),
        Items("tuple", tuple(Slot(i) for i in range(len(names)))),
        Fields("dict", (), ()),
        Fields("dict", tuple(outputs), tuple(Slot(i) for i in range(len(outputs)))),
        names,
    )


def _shape(proto: Message) -> tuple[int | None, ...] | None:
    if proto.unknown_rank:
        return None
    return tuple(None if d.size < 0 else int(d.size) for d in proto.dim)


def _variables(program: Program, body: Any, prefix: str) -> dict[str, Variable]:
    """The graph's variables by the names of their handles' nodes."""
    handles = [n for n in body.nodes.values() if n.op in ("VarHandleOp", "VariableV2", "Variable")]
    if not handles:
        return {}
    checkpoint = Checkpoint(prefix)
    stored = restored_names(program, body)
    found = {}
    for node in handles:
        shared = node.attr("shared_name")
        key = stored.get(
            node.name, shared.s.decode("utf-8", "replace") if shared is not None and shared.s else node.name
        )
        if key in checkpoint:
            found[node.name] = _variable(checkpoint, node.name, key)
    return found


def _variable(checkpoint: Checkpoint, name: str, key: str) -> Variable:
    entry = checkpoint.type(key) if _is_known(checkpoint, key) else None
    if entry is None:
        # a variable of text or of another kind that the model's results may never read
        return Variable(name, name, TensorType(dtype_of(1), ()), lambda: checkpoint.constant(key))
    return Variable(name, name, entry, lambda: checkpoint.constant(key))


def _is_known(checkpoint: Checkpoint, key: str) -> bool:
    try:
        checkpoint.type(key)
    except ModelImportError:
        return False
    return True


# --- frozen graphs ------------------------------------------------------------------------------------------------


def _frozen(path: str, options: Mapping[str, object]) -> Source:
    graph = parse("GraphDef", _read(path), path)
    if not graph.node:
        raise ModelImportError(f"{path} is no GraphDef with nodes", fix="for a SavedModel give its folder")
    placeholders = [n for n in graph.node if n.op == "Placeholder"]
    inputs = [
        Input(_identifier(n.name), int(n.attr["dtype"].type) if "dtype" in n.attr else 1,
              _shape(n.attr["shape"].shape) if "shape" in n.attr else None)
        for n in placeholders
    ]  # fmt: skip
    results = _results(graph, options)
    body = graph_body(graph, [n.name for n in placeholders], results)
    names = [_identifier(str(r).removesuffix(":0")) for r in results]
    used = {r.node for n in body.nodes.values() for r in n.inputs}
    inputs, body.arguments = _used_inputs(inputs, body.arguments, used | {r.node for r in body.results})
    body.argument_indices = {name: i for i, name in enumerate(body.arguments)}
    name = os.path.splitext(os.path.basename(path))[0]
    signature = Signature.flat([i.name for i in inputs], names)
    return Source(_identifier(name), Program(graph.library.function), body, inputs, signature)


def _used_inputs(
    inputs: Sequence[Input], arguments: Sequence[str], used: set[str]
) -> tuple[list[Input], tuple[str, ...]]:
    kept = [(i, a) for i, a in zip(inputs, arguments, strict=True) if a in used]
    return [i for i, _ in kept], tuple(a for _, a in kept)


def _identifier(name: str) -> str:
    return "".join(ch if ch.isalnum() and ch.isascii() else "_" for ch in name) or "x"


def _results(graph: Message, options: Mapping[str, object]) -> list[str]:
    """The results that the caller asks for, by default those of nodes that nothing reads."""
    asked = options.get("outputs")
    if asked is not None:
        names = [part.strip() for part in asked.split(",")] if isinstance(asked, str) else [str(a) for a in asked]  # type: ignore[attr-defined]
        known = {n.name for n in graph.node}
        for name in names:
            if graph_ref(name).node not in known:
                raise OptionError(f"the graph has no node {name!r}")
        return names
    read = {_base(i) for n in graph.node for i in n.input}
    found = [n.name for n in graph.node if n.name not in read and n.op not in _NO_RESULT]
    if not found:
        raise ModelImportError("the graph has no result", fix='name one: options={"outputs": ...}')
    return found


def _base(text: str) -> str:
    ref: Ref = graph_ref(text.removeprefix("^"))
    return ref.node
