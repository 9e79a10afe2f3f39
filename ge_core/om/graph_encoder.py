"""Graphs into GE's ModelDef; the form is described in `vocabulary`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ge_core.errors import OfflineModelError
from ge_core.ir.graph import Block, Graph, Node, Region, State, Value
from ge_core.ir.location import UNKNOWN
from ge_core.ir.types import TensorType
from ge_core.om import vocabulary as words
from ge_core.om.attributes import AttrValue, encode_map
from ge_core.om.descriptors import DescriptorWriter, shape_ranges
from ge_core.om.inout import InOutInfo, TensorInfo
from ge_core.om.message_table import Message
from ge_core.om.messages import field_number, message_class, serialize
from ge_core.om.operator_attributes import write_attributes
from ge_core.om.outline import constant_row
from ge_core.om.tensors import TensorWriter
from ge_core.om.weights import WeightsWriter
from ge_core.om.wire import field
from ge_core.om.writer import Stream

SOC = "ge-cpu"
"""No real device is called so: each refuses our files by name."""

_UNDEFINED_IN_MEMORY = 28


def encode_entries(
    entries: Mapping[str, Graph],
    metadata: Mapping[str, Any],
    *,
    attributes: Mapping[str, AttrValue] | None = None,
    kernels_size: int = 0,
    tasks_size: int = 0,
) -> tuple[bytes, Stream]:
    """MODEL_DEF and WEIGHTS_DATA of named entry graphs over one set of weights.

    Args:
        entries: graphs by name, the main one first. States of one name are one state.
        metadata: JSON values that `decode_entries` gives back.
        attributes: further ModelDef attributes, such as GE's memory_size.
        kernels_size, tasks_size: bytes of TBE_KERNELS and TASK_INFO, which GE's tools print.

    Raises:
        OfflineModelError: no entry, metadata that is no JSON, or a graph that this form cannot hold.
    """
    if not entries:
        raise OfflineModelError("an offline model needs at least one entry graph")
    weights = WeightsWriter()
    tensors = TensorWriter(weights, merge=len(entries) > 1)
    names: set[str] = set(entries)
    graphs: list[bytes] = []
    outline: list[list[Any]] = []
    regions: list[bytes] = []
    for name, graph in entries.items():
        encoder = _GraphEncoder(graph, tensors, names, regions)
        graphs.append(encoder.entry(name))
        outline.append([name, encoder.constants])
    told = not any(row is None for _, rows in outline for row in rows)
    model = message_class("ModelDef")(name=next(iter(entries)), version=1)
    encode_map(
        model.attr,
        {
            words.SOC_VERSION: SOC,
            words.WEIGHT_SIZE: weights.size,
            words.PARTITION_SIZES: [weights.size, kernels_size, 0, tasks_size, 0],
            **(attributes or {}),
            words.FORMAT: words.FORMAT_VERSION,
            words.ENTRIES: list(entries),
            words.METADATA: _json(metadata),
            words.OUTLINE: _json(outline if told else None),
        },
    )
    number = field_number("ModelDef", "graph")
    model_def = serialize(model) + b"".join(field(number, graph) for graph in graphs + regions)
    return model_def, weights.stream()


def describe_inout(graph: Graph) -> InOutInfo:
    """MODEL_INOUT_INFO of a graph."""
    inputs = tuple(_tensor_info(value, value.name) for value in graph.inputs)
    outputs = []
    for i, value in enumerate(graph.outputs):
        node = value.producer
        source, index = (value.name, 0) if node is None else (node.outputs[0].name, node.outputs.index(value))
        outputs.append(_tensor_info(value, f"output_{i}_{source}_{index}"))
    return InOutInfo(inputs, tuple(outputs))


def _tensor_info(value: Value, name: str) -> TensorInfo:
    kind = value.type
    if not isinstance(kind, TensorType):
        return TensorInfo(name, 0, _UNDEFINED_IN_MEMORY, ())
    number = kind.dtype.ge_memory
    dtype = _UNDEFINED_IN_MEMORY if number is None else number
    if kind.shape is None:
        return TensorInfo(name, 0, dtype, (words.UNKNOWN_RANK,))
    sizes = tuple(size if isinstance(size, int) else words.UNKNOWN_DIM for size in kind.shape)
    if kind.is_static:
        nbytes = kind.nbytes()
        assert isinstance(nbytes, int)
        return TensorInfo(name, nbytes, dtype, sizes)
    return TensorInfo(name, 0, dtype, sizes, shape_ranges(kind.shape))


class _GraphEncoder:
    """Encodes one entry graph and its regions.

    Args:
        taken: names of all GraphDefs of the model.
        regions: where the GraphDefs of regions go.
    """

    def __init__(self, graph: Graph, tensors: TensorWriter, taken: set[str], regions: list[bytes]) -> None:
        self.graph, self.tensors, self.taken, self.regions = graph, tensors, taken, regions
        self.descriptors = DescriptorWriter()
        self.op_names: set[str] = set(graph.names.taken)
        self.counts: dict[str, int] = {}
        self.constants: list[Any] = []
        self.edges: dict[Value, str] = {}
        self.depth = 0

    def entry(self, name: str) -> bytes:
        head = message_class("GraphDef")(name=name)
        sources = [self.data(value, words.INPUT, i) for i, value in enumerate(self.graph.inputs)]
        head.input.extend(f"{op.name}:0" for op in sources)
        sources += [self.constant(value) for value in self.graph.constants]
        sources += [self.state(state) for state in self.graph.states]
        ops = self.block(self.graph, name, sources)
        symbols = [[s.name, s.lo, s.hi] for s in self.descriptors.symbols.values()]
        encode_map(
            head.attr,
            {words.STAGE: self.graph.stage, words.GRAPH: self.graph.name, words.SYMBOLS: _json(symbols)},
        )
        return _graph_def(head, ops)

    def region(self, region: Region, name: str, first_capture: int) -> bytes:
        self.depth += 1
        if self.depth >= words.MAX_REGION_DEPTH:
            raise OfflineModelError(f"regions nested deeper than {words.MAX_REGION_DEPTH}")
        head = message_class("GraphDef")(name=name)
        sources = [self.data(value, words.PARAM, i) for i, value in enumerate(region.params)]
        for i, capture in enumerate(region.captures):
            op = self.data(capture.param, words.CAPTURE, len(sources))
            encode_map(op.attr, {words.PARENT_INDEX: first_capture + i})
            sources.append(op)
        head.input.extend(f"{op.name}:0" for op in sources)
        ops = self.block(region, name, sources)
        self.depth -= 1
        return _graph_def(head, ops)

    def block(self, block: Block, name: str, sources: list[Message]) -> list[bytes]:
        """The OpDefs of a block: its sources, its nodes, and NetOutput."""
        ops: list[bytes] = []
        for op in sources:
            op.id = len(ops)
            ops.append(serialize(op))
        for node in block.nodes:
            op = self.node(node, name)
            op.id = len(ops)
            ops.append(serialize(op))
        end = message_class("OpDef")(name=self.fresh("net_output"), type=words.NET_OUTPUT, id=len(ops))
        for i, value in enumerate(block.outputs):
            self.read(end, value)
            if isinstance(block, Region):
                encode_map(end.input_desc[i].attr, {words.PARENT_INDEX: i})
        ops.append(serialize(end))
        return ops

    def data(self, value: Value, role: str, index: int) -> Message:
        described = self.descriptors.of(value)
        op = message_class("OpDef")(name=value.name, type=words.DATA, input_desc=[described], output_desc=[described])
        encode_map(op.attr, {words.INDEX: index, words.ROLE: role})
        return op

    def constant(self, value: Value) -> Message:
        assert value.constant is not None
        op = message_class("OpDef")(name=value.name, type=words.CONST, output_desc=[self.descriptors.of(value)])
        tensor = op.attr[words.VALUE].t
        self.tensors.write(value.constant, tensor, self.descriptors, value.layout)
        self.constants.append(constant_row(value.constant.type, value.layout, tensor))
        return op

    def state(self, state: State) -> Message:
        op = message_class("OpDef")(
            name=state.read.name, type=words.REF_DATA, output_desc=[self.descriptors.of(state.read)]
        )
        encode_map(op.attr, {words.STATE: state.name})
        if state.write is not None:
            encode_map(op.attr, {words.STATE_WRITE: self.edge(state.write)})
        self.tensors.write(state.initial, op.attr[words.VALUE].t, self.descriptors)
        return op

    def node(self, node: Node, block_name: str) -> Message:
        domain, _, kind = node.op.rpartition(".")
        op = message_class("OpDef")(name=self.node_name(node), type=kind)
        encode_map(op.attr, {words.DOMAIN: domain or words.ONNX_DOMAIN})
        if node.loc != UNKNOWN:
            loc = node.loc
            encode_map(op.attr, {words.LOCATION: [loc.framework, loc.module, loc.file, str(loc.line), loc.op]})
        for value in node.inputs:
            self.read(op, value)
        op.output_desc.extend(self.descriptors.of(value) for value in node.outputs)
        write_attributes(node, op.attr, self.descriptors, self.tensors)
        if node.regions:
            encode_map(op.attr, {words.REGIONS: list(node.regions), words.SCHEMA_INPUTS: len(node.inputs)})
        for region_name, region in node.regions.items():
            first_capture = len(op.input)
            for capture in region.captures:
                self.read(op, capture.outer)
            name = self.graph_name(f"{block_name}/{op.name}/{region_name}")
            op.subgraph_name.append(name)
            self.regions.append(self.region(region, name, first_capture))
        return op

    def read(self, op: Message, value: Value | None) -> None:
        """Append an input; its descriptor repeats the element type and shape of the producer."""
        if value is None:
            op.input.append("")
            op.input_desc.add()
        else:
            op.input.append(self.edge(value))
            op.input_desc.append(self.descriptors.plain(value.type))

    def edge(self, value: Value) -> str:
        """GE's name of a value: operator and output index."""
        found = self.edges.get(value)
        if found is None:
            if value.producer is None:
                self.edges[value] = found = f"{value.name}:0"
            else:
                for i, output in enumerate(value.producer.outputs):
                    self.edges[output] = f"{value.producer.outputs[0].name}:{i}"
                found = self.edges[value]
        return found

    def node_name(self, node: Node) -> str:
        """An operator is named after its first output, since nodes have no names."""
        return node.outputs[0].name if node.outputs else self.fresh(node.op)

    def fresh(self, hint: str) -> str:
        name, count = hint, self.counts.get(hint, 0)
        while name in self.op_names:
            count += 1
            name = f"{hint}_{count}"
        self.counts[hint] = count
        self.op_names.add(name)
        return name

    def graph_name(self, hint: str) -> str:
        name, count = hint, 0
        while name in self.taken:
            count += 1
            name = f"{hint}_{count}"
        self.taken.add(name)
        return name


def _graph_def(head: Message, ops: list[bytes]) -> bytes:
    number = field_number("GraphDef", "op")
    return serialize(head) + b"".join(field(number, op) for op in ops)


def _json(value: Any) -> str:
    _check_json(value, "metadata")
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _check_json(value: Any, where: str) -> None:
    """What JSON would silently change (tuples, number keys) is refused."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise OfflineModelError(f"the key {key!r} is no string", where=where)
            _check_json(item, f"{where}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _check_json(item, f"{where}[{i}]")
    elif value is not None and type(value) not in (str, int, float, bool):
        raise OfflineModelError(
            f"a {type(value).__name__} is no JSON value", where=where, expected="dict, list, str, int, float, bool"
        )
