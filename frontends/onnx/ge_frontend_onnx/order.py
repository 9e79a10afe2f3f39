"""The nodes of a graph in an order in which every value is made before it is read.

ONNX asks for sorted nodes; exporters and hand-made tools do not always keep to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from ge_core.errors import ModelImportError

from .attributes import subgraphs


def describe(node: Any) -> str:
    """A node in messages: its operator, and its name or what it makes."""
    made = next((name for name in node.output if name), "")
    return f"{node.op_type} {node.name or made!r}".rstrip()


def ordered(nodes: Sequence[Any], taken: Iterable[str] = ()) -> list[Any]:
    """The nodes in order; those that are in order already keep it.

    Args:
        nodes: NodeProtos of one graph.
        taken: names of the graph's inputs and initializers.

    Raises:
        ModelImportError: a name is made twice, or nodes wait for each other in a circle.
    """
    maker: dict[str, int] = {}
    known = set(taken)
    for i, node in enumerate(nodes):
        for name in node.output:
            if not name:
                continue
            if name in maker or name in known:
                other = f"by {describe(nodes[maker[name]])}" if name in maker else "as an input or initializer"
                raise ModelImportError(
                    f"the value {name!r} is made by {describe(node)} and {other}", expected="names that are unique"
                )
            maker[name] = i
    waits = [[maker[name] for name in _reads(node) if name in maker] for node in nodes]
    if all(j < i for i, before in enumerate(waits) for j in before):
        return list(nodes)
    return [nodes[i] for i in _sorted(waits, nodes)]


def _sorted(waits: list[list[int]], nodes: Sequence[Any]) -> list[int]:
    followers: list[list[int]] = [[] for _ in waits]
    missing = [len(before) for before in waits]
    for i, before in enumerate(waits):
        for j in before:
            followers[j].append(i)
    ready = deque(i for i, count in enumerate(missing) if count == 0)
    order: list[int] = []
    while ready:
        i = ready.popleft()
        order.append(i)
        for k in followers[i]:
            missing[k] -= 1
            if missing[k] == 0:
                ready.append(k)
    if len(order) < len(waits):
        left = [describe(nodes[i]) for i, count in enumerate(missing) if count]
        raise ModelImportError(
            f"{len(left)} nodes wait for each other in a circle", details=left[:8], expected="a graph without circles"
        )
    return order


def _reads(node: Any) -> Iterable[str]:
    """The names that a node reads, those in its subgraphs among them."""
    yield from (name for name in node.input if name)
    for graph in subgraphs(node):
        yield from free_names(graph)


def free_names(graph: Any) -> set[str]:
    """The names that a subgraph takes from the graphs around it."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {t.values.name for t in graph.sparse_initializer}
    own.update(name for node in graph.node for name in node.output)
    read = {name for node in graph.node for name in _reads(node)} | {v.name for v in graph.output}
    return read - own
