"""Which operators only look at the bytes of an operand: reshapes, and contiguous parts."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.graph import Node, Value
from ge_core.plan.alias import before, is_plain

RESHAPES = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})


def viewed(node: Node) -> list[tuple[Value, Value, Size]] | None:
    """For a node that needs no work: (output, operand, byte offset) of each output; None for all others.

    A view is only taken where the sizes prove that it is one for every binding of the symbols.
    """
    if node.op in RESHAPES or node.op == "Transpose":
        return _reshape(node)
    if node.op == "Split":
        return _split(node)
    if node.op == "Slice":
        return _slice(node)
    return None


def concat_parts(node: Node) -> list[tuple[Value, Size]] | None:
    """The inputs of a Concat that are contiguous in its output, with their byte offsets; None for all others."""
    if node.op != "Concat" or not all(v is not None and is_plain(v) for v in (*node.inputs, *node.outputs)):
        return None
    if not _contiguous(node, node.output):
        return None
    parts: list[tuple[Value, Size]] = []
    at: Size = 0
    for value in node.inputs:
        assert value is not None
        parts.append((value, at))
        at = at + value.tensor.nbytes()
    return parts if dims.equal(at, node.output.tensor.nbytes()) is True else None


def _reshape(node: Node) -> list[tuple[Value, Value, Size]] | None:
    source, out = node.input(0), node.output
    if source is None or not is_plain(source) or not is_plain(out) or source.dtype != out.dtype:
        return None
    if node.op == "Transpose" and not _keeps_order(node, source):
        return None
    if dims.equal(source.tensor.elements, out.tensor.elements) is not True:
        return None
    return [(out, source, 0)]


def _keeps_order(node: Node, source: Value) -> bool:
    """Whether a Transpose moves only axes of size 1."""
    order = node.attrs.get("perm", tuple(reversed(range(source.rank))))
    assert isinstance(order, tuple)
    wide = [a for a in order if source.shape[int(a)] != 1]  # type: ignore[arg-type]
    return wide == sorted(wide)  # type: ignore[type-var]


def _contiguous(node: Node, value: Value) -> bool:
    """Whether all sizes before the node's axis are 1, so that its parts are runs of bytes."""
    axis = node.attrs.get("axis", 0)
    assert isinstance(axis, int)
    return all(d == 1 for d in value.shape[: axis % max(value.rank, 1)])


def _split(node: Node) -> list[tuple[Value, Value, Size]] | None:
    source = node.input(0)
    if source is None or not all(is_plain(v) for v in (source, *node.outputs)):
        return None
    if not _contiguous(node, source):
        return None
    found: list[tuple[Value, Value, Size]] = []
    at: Size = 0
    for value in node.outputs:
        found.append((value, source, at))
        at = at + value.tensor.nbytes()
    return found if dims.equal(at, source.tensor.nbytes()) is True else None


def _slice(node: Node) -> list[tuple[Value, Value, Size]] | None:
    source, out = node.input(0), node.output
    if source is None or not is_plain(source) or not is_plain(out):
        return None
    lists = [None if v is None else v.content for v in (node.input(i) for i in range(1, 5))]
    starts = lists[0]
    if starts is None or (node.input(3) is not None and lists[2] is None):
        return None
    if node.input(4) is not None and (lists[3] is None or any(s != 1 for s in lists[3])):
        return None
    axes = lists[2] if lists[2] is not None else tuple(range(len(starts)))
    begin: dict[int, Size] = {}
    for axis, start in zip(axes, starts, strict=True):
        if isinstance(axis, Dim):
            return None
        begin[axis % source.rank] = start
    cut = [i for i, (a, b) in enumerate(zip(source.shape, out.shape, strict=True)) if dims.equal(a, b) is not True]
    if not cut:
        return [(out, source, 0)] if dims.equal(source.tensor.elements, out.tensor.elements) is True else None
    axis = cut[0]
    if len(cut) > 1 or any(d != 1 for d in source.shape[:axis]) or axis not in begin:
        return None
    start = begin[axis]
    if dims.less_equal(0, start) is not True:
        start = start + source.shape[axis]
    if not before(0, start) or not before(start + out.shape[axis], source.shape[axis]):
        return None
    inner = dims.product(source.shape[axis + 1 :]) * (source.dtype.bits // 8)
    return [(out, source, start * inner)]
