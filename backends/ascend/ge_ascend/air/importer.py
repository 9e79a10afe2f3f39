"""From an AIR file to a graph of the IR, by the meanings of its operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ge_ascend.air.model import UNKNOWN_RANK, AirGraph, AirModel, AirNode, TensorDesc
from ge_ascend.air.tensors import BY_PROTO, dtype_of, file_constant, tensor
from ge_ascend.meaning import Call, meaning_of
from ge_ascend.meaning.call import Branch
from ge_ascend.prototypes import Prototype, prototype
from ge_core.errors import GeError, ModelImportError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size, Symbol, symbol
from ge_core.ir.graph import Graph, State, Value
from ge_core.ir.location import Location
from ge_core.ir.size_text import parse_size
from ge_core.ir.types import TensorType
from ge_core.plugins.frontend import ImportedModel
from ge_core.signature import Signature

_MOST_DEEP = 16
_MOST_NODES = 200_000
"""Nodes that sub graphs may add: each is imported once for every operator that refers to it."""


def import_air(model: AirModel) -> ImportedModel:
    """The graph of a file with its signature: inputs by their index under the names of their Data.

    Raises:
        UnsupportedError: once, with every operator that is not supported.
        ModelImportError: the file is damaged.
    """
    return _Importer(model).run()


@dataclass(eq=False)
class _Frame:
    """One graph while it is imported."""

    graph: AirGraph
    b: Builder
    arguments: Sequence[Value]
    values: dict[tuple[str, int], Value] = field(default_factory=dict)


class _Importer:
    def __init__(self, model: AirModel) -> None:
        self.model = model
        self.graphs = {graph.name: graph for graph in model.graphs}
        self.depth = 0
        self.left = _MOST_NODES + sum(len(graph.nodes) for graph in model.graphs)
        self.graph = Graph(model.graphs[0].name or "main")
        self.table: dict[str, Symbol] = {}
        self.states: dict[str, State] = {}

    def run(self) -> ImportedModel:
        self._supported()
        root = self.model.graphs[0]
        frame = _Frame(root, Builder(self.graph), ())
        datas = sorted((n for n in root.nodes if n.type == "Data"), key=lambda n: _index(n))
        for node in datas:
            frame.values[node.name, 0] = self._input(frame.b, node)
        for node in root.nodes:
            if node.type in ("RefData", "Variable"):
                frame.values[node.name, 0] = self._state(node)
        outputs = self._walk(frame)
        self.graph.set_outputs(outputs)
        names = [node.name for node in datas]
        return ImportedModel(self.graph, Signature.flat(names, [f"output_{i}" for i in range(len(outputs))]))

    def _supported(self) -> None:
        """Report all operators without a meaning at once."""
        missing: dict[str, str] = {}
        for graph in self.model.graphs:
            for node in graph.nodes:
                if node.type not in _STRUCTURE and meaning_of(node.type) is None:
                    missing.setdefault(node.type, node.name)
        if missing:
            raise UnsupportedError(
                f"{self.model.source} uses {len(missing)} operators that are not supported",
                details=[f"{type} (first {name})" for type, name in missing.items()],
                fix="compile it with ATC, or export the model in another form",
            )

    def _input(self, b: Builder, node: AirNode) -> Value:
        desc = _first(node.output_descs or node.input_descs, node)
        dtype = dtype_of(desc.dtype, node.name)
        return b.input(node.name, dtype, self._shape(desc, node.name))

    def _shape(self, desc: TensorDesc, name: str) -> list[Size]:
        if desc.shape == UNKNOWN_RANK:
            raise ModelImportError(f"the input {name} has an unknown rank", fix="export the model with known ranks")
        sizes: list[Size] = []
        for axis, size in enumerate(desc.shape):
            if size >= 0:
                sizes.append(size)
                continue
            low, high = desc.ranges[axis] if desc.ranges else (0, -1)
            text = desc.sizes[axis] if desc.sizes else f"{name.replace('.', '_')}_{axis}"
            if text.replace("_", "a").isalnum() and not text[0].isdigit():
                known = self.table.setdefault(text, Symbol(text, max(low, 0), None if high < 0 else high))
                sizes.append(symbol(known.name, known.lo, known.hi))
            else:
                sizes.append(parse_size(text, self.table))
        return sizes

    def _state(self, node: AirNode) -> Value:
        desc = _first(node.output_descs or node.input_descs, node)
        kind = TensorType(dtype_of(desc.dtype, node.name), tuple(desc.shape))
        if any(size < 0 for size in desc.shape):
            raise ModelImportError(f"the state {node.name} has the shape {list(desc.shape)}", expected="known sizes")
        stored = node.attrs.get("_ge_initial") or node.attrs.get("value")
        if stored is not None and hasattr(stored, "desc") and stored.data:
            initial = tensor(stored, node.name)
        else:
            initial = Constant.of(np.zeros(desc.shape, kind.dtype.numpy), kind.dtype)
        state = self.graph.add_state(node.name, initial)
        self.states[node.name] = state
        return state.read

    def _walk(self, frame: _Frame) -> list[Value]:
        """Import the nodes of a graph in an order in which inputs come first, and return its results."""
        result: AirNode | None = None
        for node in ordered(frame.graph):
            if node.type == "NetOutput":
                result = node
            elif node.type == "Assign":
                self._assign(frame, node)
            elif (node.name, 0) not in frame.values:
                self._node(frame, node)
        if result is not None:
            return [self._value(frame, source, result) for source in result.inputs if source is not None]
        if not frame.graph.outputs:
            raise ModelImportError(f"the graph {frame.graph.name} has no outputs", expected="a NetOutput")
        return [self._value(frame, source, None) for source in frame.graph.outputs]

    def _assign(self, frame: _Frame, node: AirNode) -> None:
        ref, value = node.inputs[:2]
        state = None if ref is None else self.states.get(ref[0])
        if state is None or value is None:
            raise ModelImportError(f"{node.name} writes to something that is no RefData or Variable of the root graph")
        found = self._value(frame, value, node)
        self.graph.set_state_write(state, found)
        frame.values[node.name, 0] = found

    def _value(self, frame: _Frame, source: tuple[str, int], node: AirNode | None) -> Value:
        if source not in frame.values:
            raise ModelImportError(f"{source[0]}:{source[1]} does not exist", where=None if node is None else node.name)
        return frame.values[source]

    def _node(self, frame: _Frame, node: AirNode) -> None:
        self.left -= 1
        if self.left < 0:
            raise ModelImportError(
                f"its sub graphs stand for more than {_MOST_NODES} operators",
                where=node.name,
                fix="the file is hostile",
            )
        loc = Location("air", op=node.type, module=node.name)
        with frame.b.at(loc):
            try:
                results = self._results(frame, node)
            except UnsupportedError:
                raise
            except GeError as error:
                raise ModelImportError(
                    f"{node.type}: {error.what}", where=node.name, expected=error.expected, fix=error.fix
                ) from error
            except (TypeError, ValueError, KeyError, IndexError, AttributeError, AssertionError) as error:
                # an attribute of another form than the operator declares; the checker names it
                raise ModelImportError(
                    f"{node.type} cannot be understood: {error}", where=node.name, fix="ge check tells what is wrong"
                ) from error
        for index, value in enumerate(results):
            frame.values[node.name, index] = value

    def _results(self, frame: _Frame, node: AirNode) -> list[Value]:
        if node.type == "Data":
            index = node.attrs.get("_parent_node_index", node.attrs.get("index"))
            return [self._argument(frame, node, index)]
        if node.type in ("Const", "Constant"):
            stored = node.attrs.get("value")
            if stored is None or not hasattr(stored, "desc"):
                raise ModelImportError("the attribute value is missing")
            return [frame.b.constant(tensor(stored, node.name), name=node.name)]
        if node.type == "FileConstant":
            return [frame.b.constant(file_constant(node, self.model.folder), name=node.name)]
        declared = prototype(node.type)
        mean = meaning_of(node.type)
        assert declared is not None and mean is not None
        ports = input_ports(node, declared)
        inputs = {p: self._value(frame, s, node) for p, s in zip(ports, node.inputs, strict=False) if s is not None}
        outs = output_ports(node, declared)
        call = Call(
            frame.b,
            node.name,
            node.type,
            inputs,
            node.attrs,
            dtypes={p: BY_PROTO[d.dtype] for p, d in zip(outs, node.output_descs, strict=False) if d.dtype in BY_PROTO},
            formats=_formats(node, ports, outs),
            branches=[self._branch(name, node) for name in node.graphs],
            outputs=len(node.output_descs) or 1,
        )
        found = mean(call)
        return [found] if isinstance(found, Value) else list(found)

    def _argument(self, frame: _Frame, node: AirNode, index: object) -> Value:
        if isinstance(node.attrs.get("index"), int) and node.attrs["index"] < len(frame.arguments):
            index = node.attrs["index"]
        if not isinstance(index, int) or not 0 <= index < len(frame.arguments):
            raise ModelImportError(f"{node.name} asks for argument {index} of {len(frame.arguments)}")
        return frame.b._visible(frame.arguments[index])

    def _branch(self, name: str, node: AirNode) -> Branch:
        graph = self.graphs.get(name)
        if graph is None:
            raise ModelImportError(f"the sub graph {name} does not exist", where=node.name)

        def run(b: Builder, arguments: Sequence[Value]) -> list[Value]:
            if self.depth >= _MOST_DEEP:
                raise ModelImportError(f"sub graphs are nested deeper than {_MOST_DEEP}", where=node.name)
            self.depth += 1
            try:
                return self._walk(_Frame(graph, b, list(arguments)))
            finally:
                self.depth -= 1

        return run


_STRUCTURE = frozenset({"Data", "RefData", "Variable", "Assign", "NetOutput", "Const", "Constant", "FileConstant"})


def ordered(graph: AirGraph) -> list[AirNode]:
    """The nodes of a graph, inputs before users.

    Raises:
        ModelImportError: a name is given twice, an input names nothing, or the nodes form a cycle.
    """
    by_name = {node.name: node for node in graph.nodes}
    if len(by_name) != len(graph.nodes):
        raise ModelImportError(f"the graph {graph.name} has a node name twice")
    needs: dict[str, set[str]] = {}
    users: dict[str, list[str]] = {name: [] for name in by_name}
    for node in graph.nodes:
        sources = {source[0] for source in node.inputs if source is not None} | set(node.controls)
        for source in sources:
            if source not in by_name:
                raise ModelImportError(f"{node.name} reads {source}, which does not exist")
            users[source].append(node.name)
        needs[node.name] = sources
    ready = [node.name for node in graph.nodes if not needs[node.name]]
    order: list[AirNode] = []
    at = 0
    while at < len(ready):
        name = ready[at]
        at += 1
        order.append(by_name[name])
        for user in users[name]:
            needs[user].discard(name)
            if not needs[user]:
                ready.append(user)
    if len(order) != len(graph.nodes):
        left = [node.name for node in graph.nodes if needs[node.name]]
        raise ModelImportError(f"the nodes of {graph.name} form a cycle", details=left[:10])
    return order


def input_ports(node: AirNode, declared: Prototype) -> list[str]:
    """The port of each input slot: as the file names it, else by the prototype's order."""
    known = {port.name for port in declared.inputs}
    named = [name for name in node.input_ports if name]
    if len(named) >= len(node.inputs) and all(n in known or n.rstrip("0123456789") in known for n in named):
        return named
    return _by_order(len(node.inputs), [(p.name, p.kind) for p in declared.inputs])


def output_ports(node: AirNode, declared: Prototype) -> list[str]:
    """The port of each output slot."""
    return _by_order(len(node.output_descs), [(p.name, p.kind) for p in declared.outputs])


def _by_order(count: int, ports: Sequence[tuple[str, str]]) -> list[str]:
    fixed = sum(kind != "d" for _, kind in ports)
    found: list[str] = []
    for name, kind in ports:
        if kind == "d":
            found += [f"{name}{i}" for i in range(max(count - fixed, 0))]
        else:
            found.append(name)
    return found[:count] + [f"#{i}" for i in range(len(found), count)]


def _formats(node: AirNode, inputs: Sequence[str], outputs: Sequence[str]) -> Mapping[str, str]:
    found = {}
    for ports, descs in ((outputs, node.output_descs), (inputs, node.input_descs)):
        for port, desc in zip(ports, descs, strict=False):
            if desc.layout not in ("", "ND"):
                found[port] = desc.layout
    return found


def _index(node: AirNode) -> int:
    found = node.attrs.get("index", 0)
    return found if isinstance(found, int) else 0


def _first(descs: Sequence[TensorDesc], node: AirNode) -> TensorDesc:
    if not descs:
        raise ModelImportError(f"{node.name} has no descriptor of its tensor")
    return descs[0]
