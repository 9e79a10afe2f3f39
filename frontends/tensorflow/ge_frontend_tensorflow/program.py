"""TensorFlow's graphs and functions in one form: nodes by name, arguments, results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir.constant import Constant
from ge_core.om.message_table import Message

from .operator_table import described


class Ref(NamedTuple):
    """Result `output` of the node `node`."""

    node: str
    output: int


@dataclass
class Op:
    """One node.

    Attributes:
        inputs: its tensors in order.
        controls: the nodes that must run before it.
        proto: the NodeDef, None for an argument of a function.
    """

    name: str
    op: str
    inputs: tuple[Ref, ...]
    controls: tuple[str, ...]
    proto: Message

    def attr(self, name: str) -> Message | None:
        """The AttrValue, None when the node does not have it."""
        return self.proto.attr.get(name)

    def function(self, name: str) -> str:
        """The name of the function in an attribute."""
        value = self.attr(name)
        return "" if value is None else str(value.func.name)


@dataclass
class Body:
    """A graph or a function.

    Attributes:
        arguments: names of nodes that stand for what is passed in.
        results: what comes out.
        controls: nodes that run although no result needs them.
    """

    name: str
    nodes: dict[str, Op]
    arguments: tuple[str, ...]
    results: tuple[Ref, ...]
    controls: tuple[str, ...]
    argument_indices: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.argument_indices = {name: i for i, name in enumerate(self.arguments)}


ARGUMENT = "_Arg"

_CALLERS = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase", "While",
     "StatelessWhile", "For"}
)  # fmt: skip
_CALLS = ("f", "cond", "body", "then_branch", "else_branch", "branches")
_MAX_DEPTH = 64
_MAX_EXPANDED = 500_000


class Program:
    """The functions of a library, read when they are first asked for.

    Args:
        library: FunctionDefs.

    Attributes:
        constants: what the nodes refer to that have no data of their own.
    """

    def __init__(self, library: Iterable[Message]) -> None:
        self.constants: list[Constant] = []
        self._functions = {f.signature.name: f for f in library}
        self._bodies: dict[str, Body] = {}
        self._sizes: dict[str, int] = {}

    def function(self, name: str) -> Body:
        """The body of a function.

        Raises:
            ModelImportError: there is none of this name, or it is damaged.
        """
        if name not in self._bodies:
            if name not in self._functions:
                raise ModelImportError(f"the model calls the function {name!r}, which it does not hold")
            self._bodies[name] = _function(self._functions[name])
        return self._bodies[name]

    def check_expansion(self, body: Body) -> None:
        """Refuse functions that call themselves and calls that would become too many nodes.

        Raises:
            UnsupportedError: either is so.
        """
        self._expanded(body, ())

    def _expanded(self, body: Body, active: tuple[str, ...]) -> int:
        if body.name in active:
            raise UnsupportedError(f"the function {body.name} calls itself, which is not supported")
        if len(active) > _MAX_DEPTH:
            raise UnsupportedError(f"functions are nested deeper than {_MAX_DEPTH}")
        if body.name in self._sizes:
            return self._sizes[body.name]
        total = len(body.nodes)
        for node in body.nodes.values():
            for name in called(node):
                total += self._expanded(self.function(name), (*active, body.name))
        if total > _MAX_EXPANDED:
            raise UnsupportedError(
                f"{body.name} has more than {_MAX_EXPANDED} nodes when its functions are put in place"
            )
        self._sizes[body.name] = total
        return total


def called(node: Op) -> list[str]:
    """The names of the functions that a node calls."""
    if node.op not in _CALLERS:
        return []
    found: list[str] = []
    for key in _CALLS:
        value = node.attr(key)
        if value is None:
            continue
        if value.func.name:
            found.append(value.func.name)
        found += [f.name for f in value.list.func]
    return found


def graph_body(
    graph: Message, arguments: Sequence[str], results: Sequence[str], controls: Sequence[str] = (), name: str = "model"
) -> Body:
    """The body of a GraphDef.

    Args:
        arguments: names of the nodes that are inputs.
        results: names of results, `node:index` or `node`.

    Raises:
        ModelImportError: a name is used twice, or names nothing.
    """
    nodes = {}
    for proto in graph.node:
        node = proto.name
        if node in nodes:
            raise ModelImportError(f"two nodes are named {node!r}")
        nodes[node] = Op(node, proto.op, *_graph_inputs(proto), proto)
    body = Body(name, nodes, tuple(arguments), tuple(graph_ref(r) for r in results), tuple(controls))
    _check(body)
    return body


def graph_ref(text: str) -> Ref:
    """The result that `node:index` or `node` names."""
    if ":" not in text:
        return Ref(text, 0)
    node, _, index = text.rpartition(":")
    if node and index.isdigit() and len(index) < 10:
        return Ref(node, int(index))
    return Ref(text, 0)


def _graph_inputs(proto: Message) -> tuple[tuple[Ref, ...], tuple[str, ...]]:
    inputs: list[Ref] = []
    controls: list[str] = []
    for text in proto.input:
        if text.startswith("^"):
            controls.append(text[1:])
        else:
            inputs.append(graph_ref(text))
    return tuple(inputs), tuple(controls)


def _function(proto: Message) -> Body:
    name = proto.signature.name
    arguments = [a.name for a in proto.signature.input_arg]
    nodes: dict[str, Op] = {}
    for node in proto.node_def:
        if node.name in nodes or node.name in arguments:
            raise ModelImportError(f"two nodes of the function {name} are named {node.name!r}")
        nodes[node.name] = Op(node.name, node.op, (), (), node)
    places = {node.name: _OutputPlaces(node) for node in proto.node_def}
    for node in proto.node_def:
        op = nodes[node.name]
        op.inputs = tuple(_function_ref(i, places, name) for i in node.input if not i.startswith("^"))
        op.controls = tuple(i[1:] for i in node.input if i.startswith("^") and i[1:] not in arguments)
    results = []
    for out in proto.signature.output_arg:
        if out.name not in proto.ret:
            raise ModelImportError(f"the function {name} does not say what its result {out.name!r} is")
        results.append(_function_ref(proto.ret[out.name], places, name))
    controls = tuple(dict.fromkeys(proto.control_ret.values()))
    body = Body(name, nodes, tuple(arguments), tuple(results), controls)
    _check(body)
    return body


class _OutputPlaces:
    """Where each named result of a node stands among all of its results; computed when it is asked for."""

    def __init__(self, proto: Message) -> None:
        self._proto = proto
        self._places: dict[str, int] | None = None

    def place(self, name: str) -> int | None:
        if self._places is None:
            self._places, at = {}, 0
            known = described(self._proto.op)
            for output in known.outputs if known else ():
                self._places[output.name] = at
                at += count_of(self._proto, output.count) if output.count else 1
            if known is None:
                return 0  # an operator that is not known is refused later, by name
        return self._places.get(name)


def count_of(proto: Message, attribute: str) -> int:
    """How many tensors an argument is that is counted by an attribute.

    Raises:
        ModelImportError: the attribute is missing or negative.
    """
    if attribute not in proto.attr:
        known = described(proto.op)
        default = None if known is None else known.defaults.get(attribute)
        if isinstance(default, int | list):
            return default if isinstance(default, int) else len(default)
        raise ModelImportError(f"{proto.op} {proto.name!r} has no attribute {attribute}")
    value = proto.attr[attribute]
    count = int(value.i) if value.WhichOneof("value") == "i" else len(value.list.type)
    if not 0 <= count <= 1 << 20:
        raise ModelImportError(f"the attribute {attribute} of {proto.op} {proto.name!r} is {count}")
    return count


def _function_ref(text: str, places: Mapping[str, _OutputPlaces], function: str) -> Ref:
    parts = text.split(":")
    if len(parts) == 1:
        return Ref(text, 0)
    place = places[parts[0]].place(parts[1]) if parts[0] in places else None
    if place is None or len(parts) > 3 or (len(parts) == 3 and not (parts[2].isdigit() and len(parts[2]) < 10)):
        raise ModelImportError(f"the function {function} refers to {text!r}, which is not there")
    return Ref(parts[0], place + (int(parts[2]) if len(parts) == 3 else 0))


def _check(body: Body) -> None:
    known = body.nodes.keys() | set(body.arguments)
    for node in body.nodes.values():
        for ref in node.inputs:
            if ref.node not in known:
                raise ModelImportError(f"{node.op} {node.name!r} reads {ref.node!r}, which is not there")
        for control in node.controls:
            if control not in known:
                raise ModelImportError(f"{node.op} {node.name!r} waits for {control!r}, which is not there")
    for name in (*body.arguments, *(r.node for r in body.results), *body.controls):
        if name not in known:
            raise ModelImportError(f"{body.name} has no node {name!r}")


class Needed:
    """Which nodes of a body must be converted, and in which order.

    Args:
        writes: tells whether a node writes a variable.
    """

    def __init__(self, body: Body, writes: Any) -> None:
        self.order: list[Op] = []
        stop = body.argument_indices
        reached = _ordered(body, [*(r.node for r in body.results), *body.controls], stop)
        wanted = {r.node for r in body.results} | {n.name for n in reached if writes(n)}
        for node in reversed(reached):
            if node.name in wanted:
                wanted.update(r.node for r in node.inputs)
        self.order = [n for n in reached if n.name in wanted]


def _ordered(body: Body, roots: Sequence[str], stop: Mapping[str, int]) -> list[Op]:
    """All nodes that lead to the roots, each behind those that it needs.

    Raises:
        ModelImportError: nodes need each other in a circle.
    """
    done: dict[str, bool] = {}  # False while what a node needs is being visited
    order: list[Op] = []
    stack: list[tuple[str, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        name, leaving = stack.pop()
        if name in stop:
            continue
        node = body.nodes[name]
        if leaving:
            done[name] = True
            order.append(node)
            continue
        if name in done:
            continue
        done[name] = False
        stack.append((name, True))
        needs = [*(r.node for r in node.inputs), *node.controls]
        for need in reversed(needs):
            if need not in stop and done.get(need) is False:
                raise ModelImportError(
                    f"the nodes {name!r} and {need!r} of {body.name} need each other",
                    fix="loops of TensorFlow 1 (Enter, NextIteration) are not supported: convert the model with "
                    "control flow v2",
                )
            if need not in done:
                stack.append((need, False))
    return order
