"""Which variable of a SavedModel is which tensor of its checkpoint: what its own restoring code says.

The graph that restores variables reads tensors by name (RestoreV2) and assigns them to handles, directly or in a
function that is given the handles. Optimizer slots and other objects play no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .program import Body, Op, Program, Ref, called

_PASSES_ON = frozenset({"Identity", "NoOp", "Cast"})
_ASSIGNS = frozenset({"AssignVariableOp", "Assign"})
_HANDLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
_MAX_DEPTH = 16


def restored_names(program: Program, body: Body) -> dict[str, str]:
    """Names of tensors in the checkpoint by the names of the graph's variables (nodes)."""
    found: dict[str, str] = {}
    _collect(program, body, [], found, 0)
    for copy, original in _copies(body):
        if copy in found:
            found.setdefault(original, found[copy])
    return found


def _copies(body: Body) -> list[tuple[str, str]]:
    """Pairs of variables of which the first starts with the value of the second.

    A model that is saved without having been exported has both: its functions read the second, the checkpoint
    restores the first.
    """
    pairs = []
    for node in body.nodes.values():
        if node.op != "AssignVariableOp" or len(node.inputs) < 2:
            continue
        copy, value = _handle(body, node.inputs[0], []), body.nodes.get(_source(body, node.inputs[1]).node)
        if copy is not None and value is not None and value.op == "ReadVariableOp" and value.inputs:
            original = _handle(body, value.inputs[0], [])
            if original is not None:
                pairs.append((copy, original))
    return pairs


def _collect(program: Program, body: Body, given: Sequence[str | None], found: dict[str, str], depth: int) -> None:
    if depth > _MAX_DEPTH or not _restores(program, body, set()):
        return
    for node in body.nodes.values():
        if node.op in _ASSIGNS and len(node.inputs) > 1:
            handle = _handle(body, node.inputs[0], given)
            name = _restored(body, node.inputs[1])
            if handle is not None and name is not None:
                found.setdefault(handle, name)
            continue
        for function in called(node):
            inner = program.function(function)
            handles = [_handle(body, ref, given) for ref in node.inputs]
            _collect(program, inner, handles, found, depth + 1)


def _restores(program: Program, body: Body, seen: set[str]) -> bool:
    """Whether a body reads a checkpoint, itself or in a function that it calls."""
    seen.add(body.name)
    if any(node.op == "RestoreV2" for node in body.nodes.values()):
        return True
    names = {f for node in body.nodes.values() for f in called(node)} - seen
    return any(_restores(program, program.function(name), seen) for name in sorted(names) if name not in seen)


def _source(body: Body, ref: Ref) -> Ref:
    for _ in range(len(body.nodes)):
        node = body.nodes.get(ref.node)
        if node is None or node.op not in _PASSES_ON or not node.inputs:
            break
        ref = node.inputs[0]
    return ref


def _handle(body: Body, ref: Ref, given: Sequence[str | None]) -> str | None:
    """The name of the variable that a handle stands for."""
    ref = _source(body, ref)
    place = body.argument_indices.get(ref.node)
    if place is not None:
        return given[place] if place < len(given) else None
    node = body.nodes[ref.node]
    return node.name if node.op in _HANDLES else None


def _restored(body: Body, ref: Ref) -> str | None:
    """The name under which a value is in the checkpoint."""
    ref = _source(body, ref)
    node = body.nodes.get(ref.node)
    if node is None or node.op != "RestoreV2" or len(node.inputs) < 2:
        return None
    names = _texts(body, node.inputs[1])
    return names[ref.output] if ref.output < len(names) else None


def _texts(body: Body, ref: Ref) -> list[str]:
    node: Op | None = body.nodes.get(_source(body, ref).node)
    value = None if node is None or node.op != "Const" else node.attr("value")
    return [] if value is None else [t.decode("utf-8", "replace") for t in value.tensor.string_val]
