"""Graphs from GE's ModelDef; the form is described in `vocabulary`.

Nothing in the bytes is believed: operators are parsed one by one, each name, edge, type, size and count is checked
as it is read, and the IR's verifier has the last word. Constants are views of the weights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ge_core.errors import GeError, OfflineModelError
from ge_core.ir.constant import content_of
from ge_core.ir.dims import Symbol
from ge_core.ir.graph import Block, Graph, Node, Region, State, Value
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.verifier import STAGES, verify
from ge_core.om import vocabulary as words
from ge_core.om.attributes import decode_map
from ge_core.om.descriptors import Description, DescriptorReader
from ge_core.om.message_table import Message
from ge_core.om.messages import field_number, parse
from ge_core.om.operator_attributes import read_attributes
from ge_core.om.seal import PAD_ATTRIBUTE, SEAL_ATTRIBUTE
from ge_core.om.tensors import TensorReader
from ge_core.om.wire import BYTES, fields
from ge_core.om.wire import field as wire_field
from ge_core.ops.infer import infer_types
from ge_core.ops.schema import schema

# A type rule may stumble over what no importer produces; for a file that is damage, not a defect of ours.
_STUMBLES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class DecodedModel:
    """What MODEL_DEF and WEIGHTS_DATA hold.

    Attributes:
        entries: verified graphs by name, the main one first.
        metadata: what the writer stored.
        attributes: the other ModelDef attributes, GE's own names among them.
    """

    entries: dict[str, Graph]
    metadata: dict[str, Any]
    attributes: dict[str, Any] = field(default_factory=dict)


def decode_entries(model_def: bytes | memoryview, weights: bytes | memoryview = b"") -> DecodedModel:
    """Read what `encode_entries` wrote.

    Args:
        weights: WEIGHTS_DATA; the constants are views of it and keep it alive.

    Raises:
        OfflineModelError: damaged, hostile, of another program, or of a later version.
    """
    graphs, attrs = _split_model(memoryview(model_def))
    version = attrs.pop(words.FORMAT, None)
    if not isinstance(version, int):
        raise OfflineModelError("no graph of ge in this file", expected="a model that ge wrote")
    if version != words.FORMAT_VERSION:
        raise OfflineModelError(
            f"the file's form is version {version}",
            expected=f"version {words.FORMAT_VERSION}",
            fix=f"{_reader_of(version, attrs)}, or write the file again from its source model",
        )
    names = attrs.pop(words.ENTRIES, None)
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise OfflineModelError("the file names no entry graphs")
    metadata = _json(attrs.pop(words.METADATA, None), dict, "metadata")
    tensors = TensorReader(memoryview(weights).toreadonly())
    entries = {}
    for name in names:
        if name not in graphs:
            raise OfflineModelError(f"entry {name} has no graph", expected=", ".join(graphs))
        entries[name] = _entry(name, graphs, tensors)
    if graphs:
        raise OfflineModelError(f"graphs that nothing uses: {', '.join(graphs)[:200]}")
    for ours in (PAD_ATTRIBUTE, SEAL_ATTRIBUTE, words.OUTLINE):
        attrs.pop(ours, None)
    return DecodedModel(entries, metadata, attrs)


def _reader_of(version: int, attrs: Mapping[str, Any]) -> str:
    """How to install what reads a form: a later release, or the one that wrote an older form."""
    if version > words.FORMAT_VERSION:
        return "pip install -U ge-engine"
    try:
        writer = json.loads(attrs[words.METADATA])["ge"]
        plain = re.fullmatch(r"\d+(\.\d+){1,3}", writer) is not None
    except (ValueError, TypeError, LookupError, RecursionError):
        plain = False
    return f"pip install ge-engine=={writer}" if plain else "install the release of ge-engine that wrote it"


@dataclass(frozen=True)
class _GraphParts:
    """A GraphDef taken apart: all but the operators, and the bytes of each operator."""

    head: Message
    ops: list[memoryview]


def _split(data: memoryview, message: str, *repeated: str) -> tuple[Message, list[list[memoryview]]]:
    """A message without some of its repeated fields, and these as bytes."""
    numbers = {field_number(message, name): i for i, name in enumerate(repeated)}
    found: list[list[memoryview]] = [[] for _ in repeated]
    head: list[bytes] = []
    for number, kind, value in fields(data):
        if kind == BYTES and isinstance(value, memoryview):
            if number in numbers:
                found[numbers[number]].append(value)
            else:
                head.append(wire_field(number, bytes(value)))
    return parse(message, b"".join(head)), found


def _split_model(data: memoryview) -> tuple[dict[str, _GraphParts], dict[str, Any]]:
    head, (graphs,) = _split(data, "ModelDef", "graph")
    found: dict[str, _GraphParts] = {}
    for graph in graphs:
        inner, (ops,) = _split(graph, "GraphDef", "op")
        if inner.name in found:
            raise OfflineModelError(f"two graphs are named {inner.name[:80]}")
        found[inner.name] = _GraphParts(inner, ops)
    return found, decode_map(head.attr)


def _entry(name: str, graphs: dict[str, _GraphParts], tensors: TensorReader) -> Graph:
    try:
        graph = _EntryReader(graphs, tensors).entry(name)
        verify(graph)
    except OfflineModelError:
        raise
    except GeError as error:
        raise OfflineModelError(
            f"the graph {name} in the file is not valid: {error.what}", where=error.where, details=error.details
        ) from error
    except _STUMBLES as error:
        raise OfflineModelError(f"the graph {name} in the file is not valid: {error}") from error
    return graph


class _EntryReader:
    """Reads one entry graph and its regions; takes each GraphDef that it uses out of `graphs`."""

    def __init__(self, graphs: dict[str, _GraphParts], tensors: TensorReader) -> None:
        self.graphs, self.tensors = graphs, tensors
        self.graph = Graph()
        self.descriptors = DescriptorReader({})
        self.depth = 0

    def entry(self, name: str) -> Graph:
        parts = self.graphs.pop(name)
        attrs = decode_map(parts.head.attr)
        self.graph.name = _text(attrs.get(words.GRAPH), words.GRAPH)
        self.graph.stage = _text(attrs.get(words.STAGE), words.STAGE)
        if self.graph.stage not in STAGES:
            raise OfflineModelError(f"a graph of unknown stage {self.graph.stage[:80]}")
        self.descriptors = DescriptorReader(self.symbols(attrs.get(words.SYMBOLS)))
        _BlockReader(self, self.graph, [], parts).read()
        return self.graph

    def symbols(self, text: Any) -> dict[str, Symbol]:
        table: dict[str, Symbol] = {}
        for item in _json(text, list, words.SYMBOLS):
            if not isinstance(item, list) or len(item) != 3:
                raise OfflineModelError(f"{item!r} is no symbol")
            name, lo, hi = item
            if not isinstance(name, str) or type(lo) is not int or not (hi is None or type(hi) is int):
                raise OfflineModelError(f"{item!r} is no symbol")
            if self.graph.symbol_names.fresh(name) != name:
                raise OfflineModelError(f"two symbols are named {name[:80]}")
            table[name] = Symbol(name, lo, hi)
        return table

    def value(self, name: str, described: Description, producer: Node | None, block: Block) -> Value:
        """A new value, whose name must be new."""
        if self.graph.fresh_name(name) != name or not name:
            raise OfflineModelError(f"two values are named {name[:80]!r}")
        value = Value(name, described.type, producer, block)
        value.content, value.layout = described.content, described.layout
        return value


class _BlockReader:
    """Reads the operators of one GraphDef into a graph or region.

    Args:
        outer: the values that the parent operator reads, by input index: what captures refer to.
    """

    def __init__(self, entry: _EntryReader, block: Block, outer: list[Value | None], parts: _GraphParts) -> None:
        self.entry, self.block, self.outer, self.parts = entry, block, outer, parts
        self.outputs: dict[str, list[Value]] = {}
        self.stated: dict[Value, tuple[int, tuple[int, ...]]] = {}
        self.writes: list[tuple[int, str]] = []
        self.finished = False

    def read(self) -> None:
        for data in self.parts.ops:
            op = parse("OpDef", data)
            try:
                self.op(op)
            except OfflineModelError as error:
                raise OfflineModelError(
                    error.what, where=error.where or f"operator {op.name[:80]}", expected=error.expected, fix=error.fix
                ) from error
        if not self.finished:
            raise OfflineModelError("a graph without outputs", where=self.parts.head.name[:80])
        for index, edge in self.writes:
            graph = self.entry.graph
            graph.set_state_write(graph.states[index], self.lookup(edge))

    def op(self, op: Message) -> None:
        if self.finished:
            raise OfflineModelError("an operator after the outputs")
        if op.input and len(op.input_desc) != len(op.input):
            raise OfflineModelError(f"{len(op.input)} inputs with {len(op.input_desc)} descriptors")
        attrs = decode_map(op.attr)
        if words.DOMAIN in attrs:
            self.node(op, attrs)
        elif op.type == words.DATA:
            self.data(op, attrs)
        elif op.type == words.CONST and isinstance(self.block, Graph):
            self.constant(op, attrs)
        elif op.type == words.REF_DATA and isinstance(self.block, Graph):
            self.state(op, attrs)
        elif op.type == words.NET_OUTPUT:
            self.block.set_outputs([self.operand(op, i) for i in range(len(op.input))])
            self.finished = True
        else:
            raise OfflineModelError(f"an operator of type {op.type[:80]} without a domain does not belong here")

    def new_value(self, op: Message, producer: Node | None, index: int = 0) -> Value:
        """The value of an output descriptor; sources have exactly one."""
        if producer is None and len(op.output_desc) != 1:
            raise OfflineModelError(f"{op.type} with {len(op.output_desc)} outputs")
        described = self.entry.descriptors.read(op.output_desc[index])
        value = self.entry.value(op.output_desc[index].name, described, producer, self.block)
        self.stated[value] = (described.dtype, described.dims)
        outputs = self.outputs.setdefault(op.name, [])
        if len(outputs) != index:
            raise OfflineModelError("two operators have this name")
        outputs.append(value)
        return value

    def data(self, op: Message, attrs: Mapping[str, Any]) -> None:
        value = self.new_value(op, None)
        role = attrs.get(words.ROLE)
        if role == words.CAPTURE and isinstance(self.block, Region):
            index = attrs.get(words.PARENT_INDEX)
            outer = self.outer[index] if type(index) is int and 0 <= index < len(self.outer) else None
            if outer is None:
                raise OfflineModelError(f"a capture of input {index!r}, which the operator outside does not have")
            value.content = None if value.content is None else outer.content
            self.block.adopt_capture(outer, value)
        elif role == words.PARAM and isinstance(self.block, Region):
            value.content = None
            self.block.params.append(value)
        elif role == words.INPUT and isinstance(self.block, Graph):
            self.block.params.append(value)
        else:
            raise OfflineModelError(f"data of role {role!r} does not belong here")

    def constant(self, op: Message, attrs: Mapping[str, Any]) -> None:
        value = self.new_value(op, None)
        value.constant = self.entry.tensors.read(_tensor(op, attrs), self.entry.descriptors, value.layout)
        value.content = content_of(value.constant)
        self.entry.graph.constants[value] = None

    def state(self, op: Message, attrs: Mapping[str, Any]) -> None:
        value = self.new_value(op, None)
        graph = self.entry.graph
        name = _text(attrs.get(words.STATE), words.STATE)
        if any(state.name == name for state in graph.states):
            raise OfflineModelError(f"two states are named {name[:80]}")
        initial = self.entry.tensors.read(_tensor(op, attrs), self.entry.descriptors)
        graph.states.append(State(name, value, None, initial))
        if words.STATE_WRITE in attrs:
            write = _text(attrs[words.STATE_WRITE], words.STATE_WRITE)
            self.writes.append((len(graph.states) - 1, write))

    def node(self, op: Message, attrs: Mapping[str, Any]) -> None:
        domain = _text(attrs[words.DOMAIN], words.DOMAIN)
        kind = op.type if domain == words.ONNX_DOMAIN else f"{domain}.{op.type}"
        declared = schema(kind)
        inputs = [self.operand(op, i) if op.input[i] else None for i in range(len(op.input))]
        count = attrs.get(words.SCHEMA_INPUTS) if words.REGIONS in attrs else len(inputs)
        if type(count) is not int or not 0 <= count <= len(inputs):
            raise OfflineModelError(f"{count!r} of {len(inputs)} inputs")
        node = Node(kind, inputs[:count], None, _location(attrs.get(words.LOCATION)))
        node.attrs = read_attributes(declared, attrs, self.entry.descriptors, self.entry.tensors)
        self.regions(op, attrs, node, inputs)
        self.block.nodes.append(node)
        for i in range(len(op.output_desc)):
            node.outputs.append(self.new_value(op, node, i))
        if any(value.content is not None for value in node.outputs):
            _infer_contents(node)

    def regions(self, op: Message, attrs: Mapping[str, Any], node: Node, inputs: list[Value | None]) -> None:
        names = attrs.get(words.REGIONS, [])
        if not isinstance(names, list) or len(names) != len(op.subgraph_name) or len(set(names)) != len(names):
            raise OfflineModelError(f"{len(op.subgraph_name)} sub graphs for the regions {names!r}")
        for name, graph_name in zip(names, op.subgraph_name, strict=True):
            parts = self.entry.graphs.pop(graph_name, None)
            if parts is None:
                raise OfflineModelError(f"the sub graph {graph_name[:80]} is missing or used twice")
            self.entry.depth += 1
            if self.entry.depth >= words.MAX_REGION_DEPTH:
                raise OfflineModelError(f"regions nested deeper than {words.MAX_REGION_DEPTH}")
            region = node.add_region(_text(name, words.REGIONS), Region(self.entry.graph, self.block))
            _BlockReader(self.entry, region, inputs, parts).read()
            self.entry.depth -= 1

    def operand(self, op: Message, index: int) -> Value:
        """Input `index`, which must be defined before, with the descriptor of its producer."""
        value = self.lookup(op.input[index])
        described = op.input_desc[index]
        if (described.dtype, tuple(described.shape.dim)) != self.stated[value]:
            raise OfflineModelError(f"input {index} is described otherwise than its producer {op.input[index][:80]}")
        return value

    def lookup(self, edge: str) -> Value:
        name, _, index = edge.rpartition(":")
        outputs = self.outputs.get(name, [])
        if not index.isascii() or not index.isdigit() or len(index) > 9 or int(index) >= len(outputs):
            raise OfflineModelError(f"{edge[:80]!r} is not defined before it is read")
        return outputs[int(index)]


def _infer_contents(node: Node) -> None:
    """Shapes are computed from contents: what the file says about them is replaced by what the type rule says."""
    _, contents = infer_types(node)
    for i, value in enumerate(node.outputs):
        if value.content is not None:
            value.content = contents.get(i)


def _tensor(op: Message, attrs: Mapping[str, Any]) -> Message:
    if op.attr[words.VALUE].WhichOneof("value") != "t":
        raise OfflineModelError(f"{op.type} without a tensor")
    return attrs[words.VALUE]


def _location(parts: Any) -> Location:
    if parts is None:
        return UNKNOWN
    if not isinstance(parts, list) or len(parts) != 5 or not all(isinstance(part, str) for part in parts):
        raise OfflineModelError(f"{str(parts)[:80]} is no location")
    framework, module, file, line, op = parts
    if not line.isascii() or not line.isdigit() or len(line) > 9:
        raise OfflineModelError(f"{line[:80]!r} is no line number")
    return Location(framework, module, file, int(line), op)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise OfflineModelError(f"the attribute {what} is {str(value)[:80]!r}", expected="text")
    return value


def _json(text: Any, kind: type, what: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise OfflineModelError(f"the {what} in the file is no JSON") from error
    if not isinstance(value, kind):
        raise OfflineModelError(f"the {what} in the file is a {type(value).__name__}", expected=kind.__name__)
    return value
