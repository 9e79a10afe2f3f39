"""Transposes that cancel, merge, or move towards the outputs until they meet another.

A Transpose moves below an operator that works element by element, or along axes that can be renamed, when it has no
other reader; below a binary operator when both operands come from the same Transpose. Moving never makes more of
them, so it ends. Exact bit for bit, except that a reduction may add in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node as IrNode
from ge_core.ir.graph import Value, constant_of
from ge_core.ops.pointwise import POINTWISE
from ge_core.passes.matching import Any_, Match, Node, NoMatch, attribute, ints_of
from ge_core.passes.reshaping import reshape
from ge_core.passes.rewrite import RewritePass, Rule, rebuilt, rule

X = Any_("x")


def permutation(node: IrNode) -> tuple[int, ...]:
    """The permutation of a Transpose; by default the axes reversed."""
    perm = node.attrs.get("perm")
    if perm is None:
        return tuple(reversed(range(node.output.rank)))
    assert isinstance(perm, tuple)
    return tuple(int(p) for p in perm)  # type: ignore[arg-type]


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    return tuple(perm.index(i) for i in range(len(perm)))


@rule(Node("Transpose", X))
def keeps_order(m: Match, b: Builder) -> Value:
    """A Transpose that moves nothing, or only axes of size 1, is a Reshape or nothing."""
    perm, x = permutation(m.root), m["x"]
    if perm == tuple(range(len(perm))):
        return x
    shape = m.shape(x)
    moved = [p for p in perm if shape[p] != 1]
    m.require(moved == sorted(moved), "axes change their order")
    return reshape(b, x, m.shape(m.root.output))


@rule(Node("Transpose", X))
def explicit_permutation(m: Match, b: Builder) -> Value:
    m.require("perm" not in m.root.attrs, "the permutation is given")
    result: Value = b.Transpose(m["x"], perm=permutation(m.root))
    return result


@rule(Node("Transpose", Node("Transpose", X, name="inner")))
def transpose_twice(m: Match, b: Builder) -> Value:
    first, second = permutation(m.node("inner")), permutation(m.root)
    merged = tuple(first[p] for p in second)
    if merged == tuple(range(len(merged))):
        return m["x"]
    result: Value = b.Transpose(m["x"], perm=merged)
    return result


@rule(Node("Transpose", Any_("c", lambda v: constant_of(v) is not None, "a constant")))
def transposed_constant(m: Match, b: Builder) -> Value:
    """A view of the data; nothing is copied."""
    constant, perm = constant_of(m["c"]), permutation(m.root)
    assert constant is not None
    turned = Constant.derived(
        m.root.output.tensor, [constant], lambda: constant.array().transpose(perm), constant.source
    )
    return b.constant(turned, name=m["c"].name)


@rule(Node("Reshape", Node("Transpose", Node("Reshape", X, Any_()), name="t"), Any_()), single_use=True)
def without_unit_axes(m: Match, b: Builder) -> Value:
    """Between two Reshapes, axes of size 1 need not take part."""
    node = m.node("t")
    assert node.inputs[0] is not None
    shape, perm = m.shape(node.inputs[0]), permutation(node)
    kept = [axis for axis, size in enumerate(shape) if size != 1]
    m.require(len(kept) < len(shape), "no axis has size 1")
    narrow = reshape(b, m["x"], [shape[axis] for axis in kept])
    order = [kept.index(axis) for axis in perm if axis in kept]
    turned: Value = narrow if order == sorted(order) else b.Transpose(narrow, perm=order)
    return reshape(b, turned, m.shape(m.root.output))


_UNARY = "|".join(sorted(name for name, row in POINTWISE.items() if len(row.inputs) == 1 and not row.fold)) + "|Cast"
_BINARY = "|".join(
    sorted({name for name, row in POINTWISE.items() if len(row.inputs) > 1 or row.fold} - {"PRelu", "Clip"})
)


@rule(Node(f"{_UNARY}|Clip", Node("Transpose", X, name="t"), rest=True), single_use=True)
def below_unary(m: Match, b: Builder) -> Value:
    perm = permutation(m.node("t"))
    m.require(_meets_transpose(m.root, perm), "no other Transpose follows")
    inner: Value = rebuilt(b, m.root, [m["x"], *m.root.inputs[1:]])
    result: Value = b.Transpose(inner, perm=perm)
    return result


def _meets_transpose(node: IrNode, perm: tuple[int, ...] | None = None, depth: int = 12) -> bool:
    """Whether, through plain readers, some Transpose or an operator with a transposed operand follows.

    Args:
        perm: the permutation that would come to stand behind `node`, when it is known: a reduction that makes it
            disappear counts too.
    """
    if depth == 0:
        return False
    for use in node.outputs[0].uses[:8]:
        user = use.user
        if not isinstance(user, IrNode) or user.regions:
            continue
        if user.op == "Transpose" or (perm is not None and _absorbs(user, perm)):
            return True
        kept = perm if user.outputs and user.outputs[0].tensor.rank == node.outputs[0].tensor.rank else None
        if user.op in _MOVABLE and user.outputs and _meets_transpose(user, kept, depth - 1):
            return True
        if len(user.inputs) > 1 and any(
            v is not None and v.producer is not None and v.producer is not node and v.producer.op == "Transpose"
            for v in user.inputs
        ):
            return True
    return False


_MOVABLE = frozenset(f"{_UNARY}|{_BINARY}|Clip|Concat|Softmax|Pad|ReduceMean|ReduceSum|ReduceMax|ReduceMin".split("|"))


def _absorbs(node: IrNode, perm: tuple[int, ...]) -> bool:
    """Whether a reduction leaves the axes of a tensor with this permutation in their order."""
    if node.op not in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin") or attribute(node, "keepdims"):
        return False
    axes = None if node.input(1) is None else ints_of(node.inputs[1])
    if not axes:
        return False
    rest = [p for i, p in enumerate(perm) if i not in {a % len(perm) for a in axes}]
    return rest == sorted(rest)


@rule(Node(_BINARY, rest=True))
def below_broadcast(m: Match, b: Builder) -> Value:
    """op(T(x), T(y), c) = T(op(x, y, T⁻¹(c))) with constants and scalars turned back."""
    node = m.root
    rank = node.output.rank
    turned = [v for v in node.inputs if v is not None and v.producer is not None and v.producer.op == "Transpose"]
    m.require(turned and all(v.rank == rank for v in turned), "no operand of full rank is transposed")
    perms = {permutation(v.producer) for v in turned if v.producer is not None}
    m.require(len(perms) == 1, "the operands are transposed differently")
    m.require(any(_only_reader(v, node) for v in turned), "every Transpose has other readers")
    perm = perms.pop()
    m.require(len(turned) > 1 or _meets_transpose(node, perm), "no other Transpose follows")
    operands = [v if v is None else _turned_back(m, b, v, perm, rank, v in turned) for v in node.inputs]
    inner: Value = rebuilt(b, node, operands)
    result: Value = b.Transpose(inner, perm=perm)
    return result


def _only_reader(value: Value, node: IrNode) -> bool:
    return all(use.user is node for use in value.uses)


def _turned_back(m: Match, b: Builder, value: Value, perm: tuple[int, ...], rank: int, transposed: bool) -> Value:
    if transposed:
        assert value.producer is not None and value.producer.inputs[0] is not None
        return value.producer.inputs[0]
    if value.rank == 0:
        return value
    m.require(constant_of(value) is not None, f"%{value.name} is not transposed and no constant")
    full: tuple[Size, ...] = (1,) * (rank - value.rank) + value.shape
    aligned = reshape(b, value, full)
    back = inverse(perm)
    shape = tuple(full[p] for p in back)
    if [p for p in back if full[p] != 1] == sorted(p for p in back if full[p] != 1):
        return reshape(b, aligned, shape)
    result: Value = b.Transpose(aligned, perm=back)
    return result


@rule(Node("Concat", rest=True))
def below_concat(m: Match, b: Builder) -> Value:
    node = m.root
    producers = [v.producer for v in node.inputs if v is not None]
    m.require(
        all(p is not None and p.op == "Transpose" for p in producers)
        and len({permutation(p) for p in producers if p is not None}) == 1,
        "the parts are not transposed alike",
    )
    m.require(all(_only_reader(v, node) for v in node.inputs if v is not None), "a Transpose has other readers")
    first = producers[0]
    assert first is not None
    perm = permutation(first)
    axis = perm[attribute(node, "axis") % len(perm)]
    inner: Value = rebuilt(b, node, [p.inputs[0] for p in producers if p is not None], axis=axis)
    result: Value = b.Transpose(inner, perm=perm)
    return result


@rule(Node("Softmax|LogSoftmax", Node("Transpose", X, name="t")), single_use=True)
def below_softmax(m: Match, b: Builder) -> Value:
    perm = permutation(m.node("t"))
    m.require(_meets_transpose(m.root), "no other Transpose follows")
    axis = perm[attribute(m.root, "axis") % len(perm)]
    inner: Value = rebuilt(b, m.root, [m["x"]], axis=axis)
    result: Value = b.Transpose(inner, perm=perm)
    return result


@rule(Node("ReduceMean|ReduceSum|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2",
           Node("Transpose", X, name="t"), Any_("axes")), single_use=True)  # fmt: skip
def below_reduction(m: Match, b: Builder) -> Value:
    node = m.root
    perm, axes = permutation(m.node("t")), ints_of(m["axes"])
    m.require(axes, "the axes are unknown")
    renamed = sorted(perm[a % len(perm)] for a in axes or ())
    keep = attribute(node, "keepdims")
    rest = [p for p in perm if p not in renamed]
    if not keep and rest == sorted(rest):
        result: Value = rebuilt(b, node, [m["x"], b.constant(np.array(renamed, np.int64))])
        return result
    m.require(_meets_transpose(node), "no other Transpose follows")
    inner: Value = rebuilt(b, node, [m["x"], b.constant(np.array(renamed, np.int64))])
    after = perm if keep else tuple(sorted(rest).index(p) for p in rest)
    result = b.Transpose(inner, perm=after)
    return result


@rule(Node("Pad", Node("Transpose", X, name="t"), Any_("pads"), rest=True), single_use=True)
def below_pad(m: Match, b: Builder) -> Value:
    node = m.root
    perm, pads = permutation(m.node("t")), m["pads"].content
    if node.input(3) is not None or pads is None:
        raise NoMatch("the pads are unknown or name axes", node)
    m.require(m.expressible(pads), "a pad depends on data")
    m.require(_meets_transpose(node, perm), "no other Transpose follows")
    rank, back = len(perm), inverse(perm)
    turned = [pads[p] for p in back] + [pads[rank + p] for p in back]
    inner: Value = rebuilt(b, node, [m["x"], b.ints(turned), *node.inputs[2:]])
    result: Value = b.Transpose(inner, perm=perm)
    return result


MERGING_RULES = (keeps_order, explicit_permutation, transpose_twice, transposed_constant, without_unit_axes)
SINKING_RULES = (below_unary, below_broadcast, below_concat, below_softmax, below_reduction, below_pad)


@dataclass(frozen=True)
class MergeTransposes(RewritePass):
    """Only cancels and merges; part of the canonical form. Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return MERGING_RULES


@dataclass(frozen=True)
class SinkTransposes(RewritePass):
    """Cancels, merges and moves. Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (*MERGING_RULES, *SINKING_RULES)
