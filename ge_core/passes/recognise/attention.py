"""Attention: scores, scale, mask, softmax and weighted sum as one operator; shared key heads; causal masks.

Attention: softmax(scale · q kᵀ + mask) v, per batch and head. Results differ by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node as IrNode
from ge_core.ir.graph import Value, constant_of
from ge_core.passes.matching import (
    Any_,
    Either,
    Match,
    Node,
    NoMatch,
    Pattern,
    Scalar,
    attribute,
    ints_of,
    maybe,
    scalar_of,
)
from ge_core.passes.recognise.index_forms import IndexForms
from ge_core.passes.recognise.masks import MASK_RULES, Limits, hides, limits_of, may_hide_a_whole_row
from ge_core.passes.reshaping import expand, reshape
from ge_core.passes.rewrite import RewritePass, Rule, rebuilt, rule

_Q = Either(Node("Mul", Any_("q"), Scalar("q_factor")), Node("Div", Any_("q"), Scalar("q_divisor")), Any_("q"))
_K = Either(Node("Mul", Any_("kt"), Scalar("k_factor")), Any_("kt"))
_PRODUCT = Node("MatMul", _Q, _K)
_SCALED = Either(Node("Mul", _PRODUCT, Scalar("factor")), Node("Div", _PRODUCT, Scalar("divisor")), _PRODUCT)
_CAPPED = Either(
    Node("Mul", Node("Tanh", Either(Node("Div", _SCALED, Scalar("cap")), Node("Mul", _SCALED, Scalar("per_cap")))),
         Scalar("uncap")),
    _SCALED,
)  # fmt: skip
_BIASED = Either(Node("Add", _CAPPED, Any_("bias")), _CAPPED)
_MASKED = Either(
    Node("Add", _BIASED, Any_("mask")),
    Node("Where", Any_("keep"), _BIASED, Scalar("fill")),
    Node("Where", Any_("hide"), Scalar("fill"), _BIASED),
    _BIASED,
)
_WEIGHTS: Pattern = Node("Softmax", maybe("Cast", _MASKED), name="softmax")


@rule(Node("MatMul", maybe("Cast", _WEIGHTS), Any_("v")), single_use=True, explain=True)
def attention(m: Match, b: Builder) -> Value:
    softmax = m.node("softmax")
    q, v = m["q"], m["v"]
    rank = q.rank
    m.require(rank in (3, 4) and v.rank == rank, "the operands have other ranks than 3 or 4")
    m.require(attribute(softmax, "axis") % rank == rank - 1, "the softmax is not over the last axis", softmax)
    k = _keys(m, b)
    m.require(q.shape[:-2] == k.shape[:-2] == v.shape[:-2], "batch and heads of q, k and v differ")
    m.require(k.shape[-2] == v.shape[-2], "k and v have other lengths")
    m.require(q.dtype == k.dtype == v.dtype and q.dtype.is_float, "q, k and v have other types")
    mask, causal = _mask(m, b)
    heads = [_four_axes(m, b, x) for x in (q, k, v)]
    y: Value = b.Attention(*heads, mask, scale=_scale(m), is_causal=int(causal), softcap=_softcap(m), num_outputs=1)
    return y if rank == 4 else reshape(b, y, m.shape(m.root.output))


def _scale(m: Match) -> float:
    scale = 1.0
    for name in ("q_factor", "k_factor", "factor"):
        scale *= m.scalar(name) if name in m else 1.0
    for name in ("q_divisor", "divisor"):
        scale /= m.scalar(name) if name in m else 1.0
    m.require(np.isfinite(scale), "the scale is not finite")
    return scale


def _softcap(m: Match) -> float | None:
    """cap · tanh(scores / cap)."""
    if "uncap" not in m:
        return None
    cap = m.scalar("uncap")
    inner = m.scalar("cap") if "cap" in m else 1 / m.scalar("per_cap")
    m.require(cap > 0 and abs(inner - cap) <= 1e-6 * cap, "the scores are divided and multiplied by different caps")
    return cap


def _keys(m: Match, b: Builder) -> Value:
    """The keys, of which the product reads the transpose."""
    kt = m["kt"]
    m.require(kt.rank == m["q"].rank, "q and k have different ranks")
    transposed = kt.producer is not None and kt.producer.op == "Transpose"
    m.require(transposed or constant_of(kt) is not None, f"%{kt.name} is no transposed tensor")
    perm = [*range(kt.rank - 2), kt.rank - 1, kt.rank - 2]
    result: Value = b.Transpose(kt, perm=perm)
    return result


def _four_axes(m: Match, b: Builder, x: Value) -> Value:
    if x.rank == 4:
        return x
    batch, length, size = m.shape(x)
    return reshape(b, x, (batch, 1, length, size))


def _mask(m: Match, b: Builder) -> tuple[Value | None, bool]:
    """What is added to the scores, and whether causality is part of it."""
    masks: list[Value] = []
    causal = False
    if "bias" in m:
        masks.append(_additive(m, b, m["bias"]))
    if "mask" in m:
        masks.append(_additive(m, b, m["mask"]))
    if "keep" in m or "hide" in m:
        condition = m["keep"] if "keep" in m else b.Not(m["hide"])
        fill = m.scalar("fill")
        if fill == -np.inf or hides(fill, m["fill"]):
            causal = limits_of(IndexForms().mask(condition), condition.rank) == Limits(causal=True)
        if not causal:
            masks.append(_filled(m, b, condition, fill))
    if not masks:
        return None, causal
    mask = masks[0] if len(masks) == 1 else b.Add(masks[0], masks[1])
    return mask, causal


def _filled(m: Match, b: Builder, condition: Value, fill: float) -> Value:
    """0 where a score is kept, and a number that replaces any score where it is not."""
    m.require(fill == -np.inf or hides(fill, m["fill"]), f"scores are filled with {fill}, which may still count")
    m.require(fill != -np.inf, "a row that is hidden wholly gives NaN, which Attention would not")
    zero, low = (b.constant(np.asarray(x, m["q"].dtype.numpy)) for x in (0.0, fill))
    return _additive(m, b, b.Where(condition, zero, low))


def _additive(m: Match, b: Builder, mask: Value) -> Value:
    """A mask over [batch, heads, queries, keys] that may be added by Attention."""
    keys = m["kt"].shape[-1]
    m.require(mask.dtype == m["q"].dtype, "the mask has another type")
    m.require(not may_hide_a_whole_row(mask), f"%{mask.name} may hide a whole row, which gives NaN here")
    m.require(0 < mask.rank <= m["q"].rank, "the mask has another rank")
    if mask.shape[-1] != keys:
        m.require(mask.shape[-1] == 1, "the mask has another number of keys")
        mask = expand(b, mask, (*m.shape(mask)[:-1], *m.shape(m["kt"])[-1:]))
    if m["q"].rank == 3 and mask.rank == 3:
        batch, queries, width = m.shape(mask)
        mask = reshape(b, mask, (batch, 1, queries, width))
    return mask


def _repeated(value: Value | None) -> tuple[Value, int] | None:
    """(x, n) when a value [B, H·n, S, D] is x [B, H, S, D] with each head n times."""
    node = None if value is None else value.producer
    if node is None or value is None:
        return None
    if node.op == "ge.RepeatInterleave":
        x, repeats = node.inputs[0], ints_of(node.inputs[1])
        assert x is not None
        if attribute(node, "axis") % x.rank == 1 and repeats and len(set(repeats)) == 1 and x.rank == 4:
            return x, repeats[0]
        return None
    if node.op != "Reshape" or node.inputs[0] is None:
        return None
    return _expanded(node.inputs[0].producer, value)


def _expanded(node: IrNode | None, value: Value) -> tuple[Value, int] | None:
    """Reshape(Expand(Reshape(x))), with a new axis of heads after the heads."""
    if node is None or node.op != "Expand" or node.inputs[0] is None or node.output.rank != 5:
        return None
    inner = node.inputs[0].producer
    if inner is None or inner.op not in ("Reshape", "Unsqueeze") or inner.inputs[0] is None:
        return None
    x = inner.inputs[0]
    wide, narrow = node.output.shape, inner.output.shape
    if x.rank != 4 or len(narrow) != 5:
        return None
    batch, heads, length, size = x.shape
    count = wide[2]
    if not isinstance(count, int) or narrow != (batch, heads, 1, length, size):
        return None
    if wide != (batch, heads, count, length, size) or value.shape != (batch, heads * count, length, size):
        return None
    return x, count


@rule(Node("Attention", rest=True), explain=True)
def grouped_heads(m: Match, b: Builder) -> list[Value]:
    """Key and value heads that are repeated for each query head are read where they are."""
    node = m.root
    k, v = _repeated(node.inputs[1]), _repeated(node.inputs[2])
    m.applies(k is not None or v is not None, "no heads are repeated")
    if k is None or v is None:
        raise NoMatch(f"only the {'values' if k is None else 'keys'} have repeated heads", node)
    m.require(k[1] == v[1], "keys and values are repeated differently")
    m.require(len(node.outputs) == 1 and node.input(4) is None, "the keys are returned, or continue past ones")
    made: Value = rebuilt(b, node, [node.inputs[0], k[0], v[0], *node.inputs[3:]])
    return [made]


@rule(Node("Attention", rest=True))
def scaled_queries(m: Match, b: Builder) -> list[Value]:
    """A factor on the queries, before heads are split, joins the scale."""
    node, q = m.root, m.root.inputs[0]
    assert q is not None
    chain: list[IrNode] = []
    while (at := q.producer) is not None and at.op in ("Reshape", "Transpose") and q.use_count == 1 and len(chain) < 4:
        chain.append(at)
        assert at.inputs[0] is not None
        q = at.inputs[0]
    m.applies(at is not None and at.op == "Mul" and q.use_count == 1, "the queries are not scaled")
    assert at is not None
    x, factor = at.inputs if scalar_of(at.inputs[1]) is not None else at.inputs[::-1]
    number = scalar_of(factor)
    m.applies(number is not None and x is not None and x.tensor.shape == q.tensor.shape, "the queries are not scaled")
    assert x is not None and node.inputs[0] is not None
    scale = attribute(node, "scale")
    size = node.inputs[0].shape[-1] if node.inputs[0].rank == 4 else None
    m.require(scale is not None or isinstance(size, int), "the scale depends on a size")
    own = float(scale) if scale is not None else 1 / math.sqrt(size)  # type: ignore[arg-type]
    for each in reversed(chain):
        x = rebuilt(b, each, [x, *each.inputs[1:]])
    made = rebuilt(b, node, [x, *node.inputs[1:]], scale=own * float(number))
    return [made] if isinstance(made, Value) else list(made)


@dataclass(frozen=True)
class RecogniseAttention(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (attention, grouped_heads, scaled_queries, *MASK_RULES)
