"""What is in a file of CANN: an offline model that its compiler wrote, or a graph (AIR) that is given to it.

Names and texts of such a file may be anything, so that they are shown with their unprintable characters replaced.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ge_core.errors import OfflineModelError
from ge_core.ir.dtype import DTYPES
from ge_core.om import header as headers
from ge_core.om.attributes import decode
from ge_core.om.container import Group, PartitionType, open_container
from ge_core.om.header import Header
from ge_core.om.inout import InOutInfo, TensorInfo
from ge_core.om.kernels import unpack_kernels
from ge_core.om.message_table import Message
from ge_core.om.messages import parse
from ge_core.om.seal import PAD_ATTRIBUTE, SEAL_ATTRIBUTE
from ge_core.regular_file import open_regular
from ge_core.report import readable

MEMORY = (
    "memory_size", "zero_copy_memory_size", "p2p_memory_size", "session_scope_memory_size", "host_memory_size",
    "host_svm_size", "weight_size", "variable_size",
)  # fmt: skip
"""Attributes of MODEL_DEF that count bytes."""
COUNTS = ("stream_num", "event_num", "label_num", "notify_num")
ORIGIN = (
    "soc_version", "arch_type", "target_type", "core_type", "framework_type", "atc_version", "opp_version",
    "atc_cmdline", "host_env_os", "host_env_cpu",
)  # fmt: skip
_KINDS = {
    headers.IR_MODEL: "IR model", headers.STANDARD: "standard model", headers.TINY: "tiny model",
    headers.FLOW: "flow model", headers.LITE: "lite model", headers.BUNDLE: "bundle",
}  # fmt: skip
_BY_PROTO = {d.ge_proto: d.name for d in DTYPES if d.ge_proto is not None}
_BY_MEMORY = {d.ge_memory: d.name for d in DTYPES if d.ge_memory is not None}
_MEMORY_OF_PROTO = {d.ge_proto: d.ge_memory for d in DTYPES if d.ge_proto is not None and d.ge_memory is not None}
_SHOWN_OPERATORS, _SHOWN_TEXT = 12, 400


@dataclass(frozen=True)
class ForeignOperator:
    """An operator of a compiled graph.

    Attributes:
        inputs: (source operator:output, type) of each connected input.
        outputs: (type, offset in the memory of the model or None) of each output.
        stream: the stream that it runs on.
        workspace: bytes of scratch memory.
    """

    name: str
    type: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, int | None], ...]
    stream: int
    workspace: int

    def line(self) -> str:
        """One line for a person."""
        given = ", ".join(f"{source} {kind}".rstrip() for source, kind in self.inputs)
        made = ", ".join(kind if at is None else f"{kind} at {at}" for kind, at in self.outputs)
        scratch = f", {readable(self.workspace)} of workspace" if self.workspace else ""
        return f"{self.name} = {self.type}({given}) -> {made or 'nothing'}  [stream {self.stream}{scratch}]"


@dataclass(frozen=True)
class ForeignModel:
    """One group of the file: a graph with its sub graphs, as it was compiled.

    Attributes:
        partitions: (name, bytes) in the order of the file.
        attributes: of MODEL_DEF, decoded; those that have no plain value are left out.
        graphs: operators by graph, the root first.
        kernels: compiled kernels by name, with their bytes.
        tasks: how many tasks the device is given.
    """

    partitions: tuple[tuple[str, int], ...]
    attributes: Mapping[str, Any]
    graphs: Mapping[str, tuple[ForeignOperator, ...]]
    kernels: Mapping[str, int]
    tasks: int

    def operators(self) -> Counter[str]:
        """Number of operators by type."""
        return Counter(op.type for ops in self.graphs.values() for op in ops)


@dataclass(frozen=True)
class ForeignDescription:
    """A file's content, where it holds no graph in the form of ge.

    Attributes:
        header: of the container; None for an AIR file, which is a message alone.
    """

    path: str
    bytes: int
    header: Header | None
    models: tuple[ForeignModel, ...]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    def summary(self) -> str:
        """Lines for a person."""
        lines = [f"{self.path}: {readable(self.bytes)}, {self._kind()}"]
        if self.header is not None:
            header = self.header
            kind = _KINDS.get(header.modeltype, f"model of type {header.modeltype}")
            lines.append(
                f"header: {kind} {_text(header.name)!r}, version {header.version:#x}, {header.ops} operators stated"
                + (", sizes known at run time only" if header.is_unknow_model else "")
            )
        for index, model in enumerate(self.models):
            title = f"model {index}: " if len(self.models) > 1 else ""
            if model.partitions:
                parts = ", ".join(f"{name} {readable(size)}" for name, size in model.partitions)
                lines.append(f"{title}partitions: {parts}")
            lines += _model_lines(model)
        lines += [f"  input  {_info(info)}" for info in self.inputs]
        lines += [f"  output {_info(info)}" for info in self.outputs]
        return "\n".join(lines)

    def _kind(self) -> str:
        if self.header is None:
            return "a graph of CANN (AIR)"
        soc = self.models[0].attributes.get("soc_version")
        return "an offline model of CANN that ge did not write" + (f", for {soc}" if soc else "")

    def graph_lines(self) -> list[str]:
        """One line for each operator of each graph."""
        lines: list[str] = []
        for model in self.models:
            for name, ops in model.graphs.items():
                lines.append(f"graph {name}:")
                lines += [f"  {op.line()}" for op in ops]
        return lines

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "path": self.path,
            "bytes": self.bytes,
            "writer": "CANN",
            "version": None if self.header is None else self.header.version,
            "inputs": [_info(info) for info in self.inputs],
            "outputs": [_info(info) for info in self.outputs],
            "models": [
                {
                    "partitions": [{"name": name, "bytes": size} for name, size in model.partitions],
                    "attributes": {name: model.attributes[name] for name in (*MEMORY, *COUNTS, *ORIGIN)
                                   if name in model.attributes},
                    "operators": dict(model.operators()),
                    "graphs": {name: [op.line() for op in ops] for name, ops in model.graphs.items()},
                    "kernels": dict(model.kernels),
                    "tasks": model.tasks,
                }
                for model in self.models
            ],
        }  # fmt: skip


def describe_foreign(path: str | os.PathLike[str]) -> ForeignDescription | None:
    """The content of a file of CANN; None when it is an offline model of ge, even where it is damaged.

    Raises:
        OfflineModelError: no offline model and no AIR file, or damaged.
    """
    if os.fspath(path).endswith(".air"):
        return _air(os.fspath(path))
    container = open_container(path)
    if PartitionType.MODEL_DEF not in container:
        return None
    content = bytes(container[PartitionType.MODEL_DEF])
    if any(mark.encode() in content for mark in (SEAL_ATTRIBUTE, PAD_ATTRIBUTE)):
        return None
    models = tuple(_model(group) for group in container.groups)
    found = InOutInfo((), ())
    if PartitionType.MODEL_INOUT_INFO in container:
        found = InOutInfo.unpack(container[PartitionType.MODEL_INOUT_INFO])
    size = len(container.data)
    return ForeignDescription(container.source, size, container.header, models, found.inputs, found.outputs)


def _air(path: str) -> ForeignDescription:
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError as error:
        raise OfflineModelError(f"the file cannot be read: {error.strerror or error}", where=path) from error
    message = parse("ModelDef", data)
    if not message.graph:
        raise OfflineModelError("the file holds no graph", where=path, expected="an AIR file")
    root = message.graph[0]
    inputs = [TensorInfo(op.name, 0, *_sizes(op.output_desc)) for op in root.op if op.type in ("Data", "RefData")]
    ends = [op for op in root.op if op.type == "NetOutput"]
    outputs = [TensorInfo(f"output_{i}", 0, *_sizes([d])) for op in ends for i, d in enumerate(op.input_desc)]
    model = ForeignModel((), dict(_decoded(message.attr)), _graphs(message), {}, 0)
    return ForeignDescription(path, len(data), None, (model,), tuple(inputs), tuple(outputs))


def _sizes(descriptors: Sequence[Message]) -> tuple[int, tuple[int, ...]]:
    """Element type (the number in memory) and sizes of the first descriptor."""
    if not descriptors:
        return -1, ()
    return _MEMORY_OF_PROTO.get(descriptors[0].dtype, -1), tuple(descriptors[0].shape.dim)


def _graphs(message: Message) -> dict[str, tuple[ForeignOperator, ...]]:
    graphs: dict[str, tuple[ForeignOperator, ...]] = {}
    for graph in message.graph:
        name = _text(graph.name)
        graphs[name if name not in graphs else f"{name}#{len(graphs)}"] = tuple(_operator(op) for op in graph.op)
    return graphs


def _model(group: Group) -> ForeignModel:
    message = parse("ModelDef", group[PartitionType.MODEL_DEF])
    attributes = dict(_decoded(message.attr))
    tasks = 0
    if PartitionType.TASK_INFO in group:
        tasks = len(parse("ModelTaskDef", group[PartitionType.TASK_INFO]).task)
    kernels = unpack_kernels(group.get(PartitionType.TBE_KERNELS))
    return ForeignModel(
        tuple((p.type.name, len(p.data)) for p in group.partitions),
        attributes,
        _graphs(message),
        {_text(name): len(data) for name, data in kernels.items()},
        tasks,
    )


def _decoded(attrs: Mapping[str, Message]) -> Iterator[tuple[str, Any]]:
    for name in sorted(attrs):
        try:
            value = decode(attrs[name])
        except OfflineModelError:
            continue
        if isinstance(value, (bool, int, float, str)):
            yield name, _text(value) if isinstance(value, str) else value
        elif isinstance(value, list) and all(isinstance(item, (int, float, str)) for item in value):
            yield name, [_text(item) if isinstance(item, str) else item for item in value]


def _operator(op: Message) -> ForeignOperator:
    """An operator; an edge is its source's name, a colon and the number of the output, -1 for order alone."""
    edges = [text for text in op.input if not text.endswith(":-1")]
    kinds = [_kind(desc) for desc in op.input_desc]
    inputs = [
        (_text(edge), kinds[slot] if slot < len(kinds) else "") for slot, edge in enumerate(edges) if edge
    ]  # fmt: skip
    places: Sequence[int | None] = list(op.output_i)
    outputs = [
        (_kind(desc), places[index] if index < len(places) else None) for index, desc in enumerate(op.output_desc)
    ]  # fmt: skip
    return ForeignOperator(
        _text(op.name), _text(op.type), tuple(inputs), tuple(outputs), op.stream_id, sum(op.workspace_bytes)
    )


def _kind(desc: Message) -> str:
    sizes = list(desc.shape.dim)
    shape = "*" if sizes == [-2] else ",".join("?" if size < 0 else str(size) for size in sizes)
    layout = f" {_text(desc.layout)}" if desc.layout not in ("", "ND") else ""
    return f"{_BY_PROTO.get(desc.dtype, f'type {desc.dtype}')}[{shape}]{layout}"


def _model_lines(model: ForeignModel) -> list[str]:
    lines = []
    sizes = [f"{name} {readable(model.attributes[name])}" for name in MEMORY if model.attributes.get(name)]
    if sizes:
        lines.append("  memory: " + ", ".join(sizes))
    counts = [f"{model.attributes[name]} {name.removesuffix('_num')}s" for name in COUNTS if name in model.attributes]
    if model.partitions:
        counts += [f"{model.tasks} tasks", f"{len(model.kernels)} kernels"]
        lines.append("  device: " + ", ".join(counts))
    for name in ORIGIN:
        if model.attributes.get(name):
            lines.append(f"  {name}: {model.attributes[name]}")
    found = model.operators()
    shown = ", ".join(f"{count} {op}" for op, count in found.most_common(_SHOWN_OPERATORS))
    more = len(found) - _SHOWN_OPERATORS
    graphs = f" in {len(model.graphs)} graphs" if len(model.graphs) > 1 else ""
    lines.append(f"  operators: {found.total()}{graphs} ({shown}{f', {more} more kinds' if more > 0 else ''})")
    return lines


def _info(info: TensorInfo) -> str:
    shape = ",".join("?" if size < 0 else str(size) for size in info.dims)
    return f"{_text(info.name)}: {_BY_MEMORY.get(info.dtype, f'type {info.dtype}')}[{shape}]"


def _text(text: str) -> str:
    """A text of the file, without what a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in text[:_SHOWN_TEXT])


__all__ = ["ForeignDescription", "ForeignModel", "ForeignOperator", "describe_foreign"]
