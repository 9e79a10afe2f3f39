"""Rotary embedding: y = x · cos + rotate(x) · sin, where rotate turns [a, b] into [−b, a].

a and b are the two halves of the head, or (interleaved) its even and odd elements. Frameworks write cos and sin over
the whole head, each angle twice; RotaryEmbedding takes one of the two. They are proven equal by following cos and sin
up to the Concat(f, f), the repetition, or the constant that they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node as IrNode
from ge_core.ir.graph import Value, constant_of, source_of
from ge_core.ops.pointwise import POINTWISE
from ge_core.passes.matching import Any_, Match, Node, NoMatch, attribute, ints_of
from ge_core.passes.recognise.index_forms import MOST_READ
from ge_core.passes.reshaping import expand, reshape
from ge_core.passes.rewrite import RewritePass, Rule, rebuilt, rule
from ge_core.passes.shapes import windows
from ge_core.passes.transposes import permutation

X = Any_("x")
_DEPTH = 16

_EARLY, _LATE = (Node("Slice", X, rest=True, name=name) for name in ("early", "late"))
_ROTATED = Node("Concat", Node("Neg", _LATE), _EARLY, name="rotated")


@rule(Node("Add", Node("Mul", X, Any_("cos")), Node("Mul", _ROTATED, Any_("sin"))), single_use=True, explain=True)
def rotary(m: Match, b: Builder) -> Value:
    x = m["x"]
    m.require(x.rank == 4, "the data are not [batch, heads, sequence, size]")
    size = x.shape[3]
    m.require(isinstance(size, int) and size % 2 == 0, "the head has no fixed even size")
    assert isinstance(size, int)
    half = size // 2
    m.require(attribute(m.node("rotated"), "axis") % 4 == 3, "the halves are joined along another axis")
    _is_part(m, m.node("early"), 0, half)
    _is_part(m, m.node("late"), half, size)
    result: Value = b.RotaryEmbedding(x, *_tables(m, b, Halver(m, b, half)))
    return result


_EVEN, _ODD = (Node("Slice", X, rest=True, name=name) for name in ("even", "odd"))
_TURNED = Node(
    "Reshape",
    Node("Concat", Node("Reshape", Node("Neg", _ODD), Any_()), Node("Reshape", _EVEN, Any_()), name="pairs"),
    Any_(),
)


@rule(Node("Add", Node("Mul", X, Any_("cos")), Node("Mul", _TURNED, Any_("sin"))), single_use=True, explain=True)
def rotary_interleaved(m: Match, b: Builder) -> Value:
    x = m["x"]
    m.require(x.rank == 4, "the data are not [batch, heads, sequence, size]")
    size = x.shape[3]
    m.require(isinstance(size, int) and size % 2 == 0, "the head has no fixed even size")
    assert isinstance(size, int)
    pairs = m.node("pairs")
    paired = (*x.shape[:3], size // 2, 2)
    m.require(pairs.output.shape == paired and attribute(pairs, "axis") % 5 == 4, "the elements are not paired", pairs)
    for name, start in (("even", 0), ("odd", 1)):
        cut = windows(m.node(name))
        m.require(set(cut) == {3}, "a Slice cuts another axis", m.node(name))
        m.require((cut[3].start, cut[3].end, cut[3].step) == (start, size, 2), f"not the {name} elements", m.node(name))
    tables = _tables(m, b, Halver(m, b, size // 2, interleaved=True))
    result: Value = b.RotaryEmbedding(x, *tables, interleaved=1)
    return result


def _tables(m: Match, b: Builder, halver: Halver) -> list[Value]:
    tables = [_table(m, b, m[name], halver) for name in ("cos", "sin")]
    m.require(tables[0].dtype == m["x"].dtype == tables[1].dtype, "cos or sin has another type")
    return tables


def _is_part(m: Match, node: IrNode, start: Size, end: Size) -> None:
    cut = windows(node)
    m.require(set(cut) == {3} and cut[3].step == 1, "a Slice cuts another axis", node)
    m.require((cut[3].start, cut[3].end) == (start, end), "the Slices are not the two halves", node)


def _table(m: Match, b: Builder, full: Value, halver: Halver) -> Value:
    """cos or sin [B or 1, 1, S, D] as the cache [B or 1, S, D/2]."""
    x, half = m["x"], halver.half
    shape = m.shape(full)
    aligned = (1,) * (4 - len(shape)) + shape
    m.require(aligned[1] == 1, "cos and sin differ from head to head")
    m.require(aligned[0] in (1, x.shape[0]), "cos and sin have another batch")
    m.require(aligned[3] == 2 * half, "cos and sin are not as wide as the head")
    narrow = halver.of(full)
    sequence = m.shape(x)[2]
    narrow = reshape(b, narrow, (aligned[0], aligned[2], half))
    return narrow if aligned[2] == sequence else expand(b, narrow, (aligned[0], sequence, half))


class Halver:
    """Builds one of two copies, along the last axis, of values that hold everything twice.

    Args:
        half: the width of one copy.
        interleaved: whether equal elements are neighbours; otherwise the two halves are equal.
    """

    def __init__(self, m: Match, b: Builder, half: int, interleaved: bool = False) -> None:
        self.m, self.b, self.half, self.interleaved = m, b, half, interleaved
        self.done: dict[Value, Value] = {}

    def of(self, value: Value, depth: int = _DEPTH) -> Value:
        """The half of a value of width 2·half.

        Raises:
            NoMatch: the halves are not proven to be equal.
        """
        if value not in self.done:
            self.done[value] = self._find(value, depth)
        return self.done[value]

    def _find(self, value: Value, depth: int) -> Value:
        constant = constant_of(value)
        if constant is not None:
            return self._of_constant(constant, value)
        node = value.producer
        if node is None or depth == 0:
            raise NoMatch(f"the copies in %{value.name} are not proven equal", self.m.root)
        doubled = self._of_neighbours(node) if self.interleaved else self._of_halves(node, value)
        if doubled is not None:
            return doubled
        if node.op in POINTWISE or node.op == "Cast":
            parts = [None if v is None else self._part(v, depth) for v in node.inputs]
            result: Value = rebuilt(self.b, node, parts)
            return result
        return self._moved(node, value, depth)

    def _of_halves(self, node: IrNode, value: Value) -> Value | None:
        """f of Concat(f, f)."""
        if node.op != "Concat" or attribute(node, "axis") % value.rank != value.rank - 1:
            return None
        first, second = node.inputs if len(node.inputs) == 2 else (None, None)
        same = first is not None and second is not None and source_of(first) is source_of(second)
        self.m.require(same, "the two halves of the Concat are different values", node)
        assert first is not None
        self.m.require(first.shape[-1] == self.half, "the Concat joins parts of another width", node)
        return first

    def _of_neighbours(self, node: IrNode) -> Value | None:
        """f of RepeatInterleave(f, 2), and of Reshape(Expand(f [..., n, 1] to [..., n, 2]))."""
        source = node.inputs[0] if node.inputs else None
        if source is None:
            return None
        if node.op == "ge.RepeatInterleave":
            last = attribute(node, "axis") % source.rank == source.rank - 1
            return source if last and set(ints_of(node.inputs[1]) or ()) == {2} else None
        wide = source.producer
        if node.op != "Reshape" or wide is None or wide.op != "Expand" or wide.inputs[0] is None:
            return None
        narrow = wide.inputs[0]
        if source.shape[-2:] != (self.half, 2) or narrow.shape != (*source.shape[:-1], 1):
            return None
        shape = (*node.output.shape[:-1], self.half)
        self.m.require(self.m.expressible(shape), "a size depends on data", node)
        return reshape(self.b, narrow, shape)

    def _part(self, v: Value, depth: int) -> Value:
        """An operand of a pointwise operator: its half, or itself where it is broadcast along the last axis."""
        return v if v.rank == 0 or v.shape[-1] == 1 else self.of(v, depth - 1)

    def _moved(self, node: IrNode, value: Value, depth: int) -> Value:
        """Through operators that leave the last axis whole."""
        source = node.inputs[0]
        m = self.m
        m.require(source is not None and source.rank > 0, f"%{value.name} is a {node.op} of nothing", node)
        assert source is not None
        whole = source.shape[-1] == 2 * self.half
        m.require(whole, f"{node.op} changes the last axis", node)
        shape = (*value.shape[:-1], self.half)
        if node.op in ("Reshape", "Unsqueeze", "Squeeze", "Flatten"):
            m.require(m.expressible(shape), "a size depends on data", node)
            return reshape(self.b, self.of(source, depth - 1), shape)
        if node.op == "Expand":
            m.require(m.expressible(shape), "a size depends on data", node)
            return expand(self.b, self.of(source, depth - 1), shape)
        if node.op == "Transpose":
            m.require(permutation(node)[-1] == source.rank - 1, "the last axis moves", node)
            result: Value = rebuilt(self.b, node, [self.of(source, depth - 1)])
            return result
        if node.op == "Gather":
            m.require(attribute(node, "axis") % source.rank != source.rank - 1, "the last axis is picked from", node)
            result = rebuilt(self.b, node, [self.of(source, depth - 1), node.inputs[1]])
            return result
        if node.op == "Slice":
            m.require(source.rank - 1 not in windows(node), "the last axis is cut", node)
            result = rebuilt(self.b, node, [self.of(source, depth - 1), *node.inputs[1:]])
            return result
        raise NoMatch(f"{node.op} may mix the two halves", node)

    def _of_constant(self, constant: Constant, value: Value) -> Value:
        array, half = constant.known(MOST_READ), self.half
        self.m.require(array is not None, f"the elements of the constant %{value.name} are absent")
        assert array is not None
        self.m.require(value.rank > 0 and array.shape[-1] == 2 * half, "a constant has another width")
        one, two = (array[..., 0::2], array[..., 1::2]) if self.interleaved else (array[..., :half], array[..., half:])
        same = np.array_equal(one, two, equal_nan=value.dtype.is_float)
        self.m.require(same, f"the copies in the constant %{value.name} differ")
        return self.b.constant(Constant.of(one, constant.type.dtype), name=value.name)


@rule(
    Node(
        "Concat",
        Node("RotaryEmbedding", Node("Slice", X, rest=True, name="turned"), Any_("cos"), Any_("sin"), name="rotary"),
        Node("Slice", X, rest=True, name="kept"),
    ),
    single_use=True,
    explain=True,
)
def partial_rotary(m: Match, b: Builder) -> Value:
    """Only the first part of the head is turned."""
    x = m["x"]
    m.require(x.rank == 4 and attribute(m.root, "axis") % 4 == 3, "joined along another axis")
    turned, kept, width = windows(m.node("turned")), windows(m.node("kept")), x.shape[3]
    m.require(set(turned) == {3} == set(kept), "a Slice cuts another axis")
    first = turned[3].end
    m.require(turned[3].start == 0 and isinstance(first, int), "the turned part is not in front")
    m.require((kept[3].start, kept[3].end) == (first, width), "the rest is not what follows")
    m.require(turned[3].step == kept[3].step == 1, "a Slice has steps")
    result: Value = rebuilt(b, m.node("rotary"), [x, m["cos"], m["sin"]], rotary_embedding_dim=first)
    return result


@dataclass(frozen=True)
class RecogniseRotary(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (rotary, rotary_interleaved, partial_rotary)
