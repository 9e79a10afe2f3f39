"""Whether the writes of an exported graph can be read as pure operations.

`x.relu_()` may be read as `x = x.relu()` when nothing else that shares x's memory is read afterwards. Values that
may share memory form a class: a result joins its inputs unless its operator is known to return fresh memory. An
in-place operator is pure when it rewrites no input, parameter or buffer, and when no other value of its class that
existed before is read after it.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

# Operators without alias annotations in their schema that may still return their input or a view of it. All
# other composite operators without annotations return fresh memory or go through these.
_MAY_RETURN_INPUT = frozenset(
    {
        "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "type_as", "to_dense", "einsum",
        "pad", "broadcast_tensors", "meshgrid", "atleast_1d", "atleast_2d", "atleast_3d", "cartesian_prod",
        "rot90", "lift_fresh", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "_unsafe_view",
    }
)  # fmt: skip


class Writes:
    """In-place operators of a graph module and its sub graphs, and what each of them renames.

    Attributes:
        pure: whether every write can be read as a pure operation.
        renamed: for an in-place node, the nodes whose value is its result from there on.
    """

    def __init__(self, module: torch.fx.GraphModule) -> None:
        self.pure = True
        self.renamed: dict[torch.fx.Node, tuple[torch.fx.Node, ...]] = {}
        for graph in graphs(module):
            if any(_is_mutable(node) for node in graph.nodes):
                self._read(graph)

    def _read(self, graph: torch.fx.Graph) -> None:
        order = {node: i for i, node in enumerate(graph.nodes)}
        shared: dict[torch.fx.Node, set[torch.fx.Node]] = {}  # the class of a node, one set for all of its nodes
        same: dict[torch.fx.Node, list[torch.fx.Node]] = {}  # nodes that are the very same tensor
        for node in graph.nodes:
            inputs = [a for a in node.all_input_nodes if a in shared]
            if node.op in ("placeholder", "get_attr"):
                shared[node], same[node] = {node}, [node]
            elif _is_mutable(node):
                target = _written(node)
                if target is None or not self._may_rename(order, shared, same, node, target):
                    self.pure = False
                    return
                shared[target].add(node)
                shared[node] = shared[target]
                same[target].append(node)
                same[node] = same[target]
                self.renamed[node] = tuple(n for n in same[target] if n is not node)
            else:
                merged = {node}
                for source in inputs if _may_alias(node) else ():
                    merged |= shared[source]
                for member in merged:
                    shared[member] = merged
                same[node] = [node]

    @staticmethod
    def _may_rename(
        order: dict[torch.fx.Node, int],
        shared: dict[torch.fx.Node, set[torch.fx.Node]],
        same: dict[torch.fx.Node, list[torch.fx.Node]],
        write: torch.fx.Node,
        target: torch.fx.Node,
    ) -> bool:
        if target not in shared:
            return False
        for member in shared[target]:
            if member.op != "call_function":
                return False
            if member not in same[target] and any(order[user] > order[write] for user in member.users):
                return False
        return True


def graphs(module: torch.fx.GraphModule) -> list[torch.fx.Graph]:
    """The graph of a module and those of its sub modules (the branches and bodies of control flow)."""
    inner = [m for m in module.modules() if isinstance(m, torch.fx.GraphModule)]
    return [m.graph for m in inner]


def _is_mutable(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _written(node: torch.fx.Node) -> Any:
    """The node that an in-place operator of the form `op_(Tensor(a!) self, ...)` writes; None for other forms."""
    target: Any = node.target
    schema = target._schema
    written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    if len(written) != 1 or written[0] is not schema.arguments[0] or len(schema.returns) != 1:
        return None
    return node.args[0] if node.args and isinstance(node.args[0], torch.fx.Node) else None


def _may_alias(node: torch.fx.Node) -> bool:
    if node.target is operator.getitem:
        return True
    if not isinstance(node.target, torch._ops.OpOverload):
        return not callable(node.target) or isinstance(node.target, torch._ops.HigherOrderOperator)
    schema = node.target._schema
    annotated = any(r.alias_info is not None for r in schema.returns)
    return annotated or schema.name.split("::")[-1] in _MAY_RETURN_INPUT
