"""Masks of attention: which are causal, which hide nothing, and whether a row may hide everything.

torch and transformers hand over boolean masks built from arange, comparison, `and`, indexing and cumsum; they are
recovered as `is_causal` when that is proven for every size, and stay otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value, constant_of, source_of
from ge_core.passes.matching import Match, Node, NoMatch, attribute, scalar_of
from ge_core.passes.recognise.index_forms import IndexForms, Mask
from ge_core.passes.reshaping import expand
from ge_core.passes.rewrite import Rule, rebuilt, rule
from ge_core.passes.signs import surely_finite

_CAUSAL_ONLY = "past keys or lengths move the diagonal"


@dataclass(frozen=True)
class _Split:
    """A mask as causality and the rest; `rest` None hides nothing more."""

    causal: bool
    rest: Value | None


def is_causal(form: Mask | None, rank: int) -> bool:
    """Whether a mask is exactly key ≤ query."""
    if form is None or form.never or len(form.conditions) != 1:
        return False
    only = form.conditions[0]
    return only.base == 0 and only.coefficients == (0,) * (rank - 2) + (-1, 1)


def hides_nothing(value: Value, forms: IndexForms) -> bool:
    """Whether a mask lets every key through: all true, or all zeros."""
    if value.dtype.kind == "bool":
        form = forms.mask(value)
        return form is not None and not form.conditions and not form.never
    constant = constant_of(value)
    return constant is not None and not constant.array().any()


def _split(value: Value, forms: IndexForms) -> _Split:
    """Take causality out of a boolean mask, through And."""
    if hides_nothing(value, forms):
        return _Split(False, None)
    if is_causal(forms.mask(value), value.rank):
        return _Split(True, None)
    node = source_of(value).producer
    if node is not None and node.op == "And" and value.captured is None:
        parts = []
        for operand in node.inputs:
            assert operand is not None
            # a part of lower rank is aligned at the end, where query and key stand
            parts.append(_split(operand, forms) if operand.rank >= 2 else _Split(False, operand))
        rests = [p.rest for p in parts if p.rest is not None]
        if len(rests) < 2 or rests == list(node.inputs):
            causal = any(p.causal for p in parts)
            if not rests:
                return _Split(causal, None)
            if len(rests) == 1:
                return _Split(causal, rests[0])
    if node is not None and node.op in ("Expand", "Reshape") and value.captured is None:
        inner = node.inputs[0]
        assert inner is not None
        if node.op == "Expand" and inner.rank == value.rank and inner.shape[-2:] == value.shape[-2:]:
            return _split(inner, forms)
    return _Split(False, value)


_ATTENTION = Node("Attention", rest=True)


def _mask_of(m: Match) -> Value:
    mask = m.root.input(3)
    if mask is None:
        raise NoMatch("it has no mask", m.root)
    return mask


@rule(_ATTENTION, explain=True)
def mask_as_causal(m: Match, b: Builder) -> list[Value]:
    """A boolean mask that is (also) key ≤ query becomes is_causal, with what else it hides."""
    node, mask = m.root, _mask_of(m)
    forms = IndexForms()
    m.require(mask.dtype.kind == "bool" and mask.rank >= 2, "the mask is not boolean")
    split = _split(mask, forms)
    m.require(split.rest is not mask, f"%{mask.name} is not proven to be causal")
    if split.causal:
        m.require(all(node.input(i) is None for i in (4, 5, 6)), _CAUSAL_ONLY)
    inputs = list(node.inputs)
    inputs[3] = None if split.rest is None else _whole_last_axis(m, b, split.rest)
    return _again(m, b, inputs, is_causal=int(split.causal or bool(attribute(node, "is_causal"))))


@rule(_ATTENTION, explain=True)
def additive_causal_mask(m: Match, b: Builder) -> list[Value]:
    """Where(causal, 0, −∞ or the most negative number) is is_causal."""
    node, mask = m.root, _mask_of(m)
    m.require(mask.dtype.is_float, "the mask is boolean")
    m.require(all(node.input(i) is None for i in (4, 5, 6)), _CAUSAL_ONLY)
    inputs = list(node.inputs)
    inputs[3] = None
    if hides_nothing(mask, IndexForms()):
        return _again(m, b, inputs)
    m.require(_additive_causal(mask), f"%{mask.name} is not proven to be causal")
    return _again(m, b, inputs, is_causal=1)


def _additive_causal(mask: Value) -> bool:
    constant = constant_of(mask)
    if constant is not None:
        array = constant.array()
        if mask.rank < 2 or array.size == 0 or array.size > 1 << 24:
            return False
        allowed = np.tri(array.shape[-2], array.shape[-1], dtype=np.bool_)
        hidden = array[..., ~allowed]
        return bool((array[..., allowed] == 0).all() and (hidden.size == 0 or hides(float(hidden.max()), mask)))
    node = mask.producer
    if node is None or node.op != "Where":
        return False
    condition, kept, hidden_value = node.inputs
    assert condition is not None
    zero, fill = scalar_of(kept), scalar_of(hidden_value)
    if zero is None or fill is None or condition.rank != mask.rank:
        return False
    return float(zero) == 0 and hides(float(fill), mask) and is_causal(IndexForms().mask(condition), condition.rank)


def hides(number: float, mask: Value) -> bool:
    """Whether adding a number to any ordinary score makes its weight exactly 0."""
    return number <= mask.dtype.min / 4


@rule(_ATTENTION)
def broadcast_mask(m: Match, b: Builder) -> list[Value]:
    """A mask need not be expanded over batch, heads and queries."""
    node, mask = m.root, _mask_of(m)
    producer = mask.producer
    m.require(producer is not None and producer.op == "Expand", "the mask is not expanded")
    assert producer is not None and producer.inputs[0] is not None
    inner = producer.inputs[0]
    m.require(inner.rank == mask.rank and inner.shape[-1] == mask.shape[-1], "the last axis is expanded too")
    inputs = list(node.inputs)
    inputs[3] = inner
    return _again(m, b, inputs)


def _whole_last_axis(m: Match, b: Builder, mask: Value) -> Value:
    """The mask with all keys written out: a shorter one would be padded with hidden keys."""
    keys = m.root.inputs[1].shape[-2]  # type: ignore[union-attr]
    if mask.shape[-1] == keys:
        return mask
    m.require(mask.shape[-1] == 1 and m.root.input(4) is None, "the last axis is not that of the keys")
    m.require(m.expressible((*mask.shape[:-1], keys)), "a size depends on data")
    return expand(b, mask, (*mask.shape[:-1], keys))


def _again(m: Match, b: Builder, inputs: list[Value | None], **attrs: int) -> list[Value]:
    while inputs and inputs[-1] is None:
        inputs.pop()
    made = rebuilt(b, m.root, inputs, **attrs)
    return [made] if isinstance(made, Value) else list(made)


def may_hide_a_whole_row(mask: Value) -> bool:
    """Whether a row of an additive mask may be −∞ throughout, where softmax gives NaN and Attention zeros."""
    constant = constant_of(mask)
    if constant is not None:
        array = constant.array().astype(np.float32)
        return not bool(np.isfinite(array).any(axis=-1).all()) if array.ndim else not bool(np.isfinite(array))
    return not surely_finite(mask)


MASK_RULES: tuple[Rule, ...] = (mask_as_causal, additive_causal_mask, broadcast_mask)
