"""Masks of attention: which are causal, which hide nothing, and whether a row may hide everything.

torch and transformers hand over boolean masks built from arange, comparison, `and`, indexing and cumsum; they are
recovered as `is_causal` when that is proven for every size, and stay otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value, constant_of
from ge_core.passes.matching import Match, Node, attribute, scalar_of
from ge_core.passes.recognise.index_forms import MOST_READ, IndexForms, Mask
from ge_core.passes.reshaping import expand
from ge_core.passes.rewrite import Rule, rebuilt, rule
from ge_core.passes.signs import surely_finite


@dataclass(frozen=True)
class Limits:
    """Which keys a query may see, in Attention's terms: key ≤ query, and how far back and ahead (−1: no limit)."""

    causal: bool = False
    left: int = -1
    right: int = -1

    def meet(self, other: Limits) -> Limits:
        """Both limits together."""
        return Limits(self.causal or other.causal, _nearer(self.left, other.left), _nearer(self.right, other.right))


def _nearer(a: int, b: int) -> int:
    return max(a, b) if -1 in (a, b) else min(a, b)


@dataclass(frozen=True)
class _Split:
    """A mask as limits and the rest; `rest` None hides nothing more."""

    limits: Limits
    rest: Value | None


def limits_of(form: Mask | None, rank: int) -> Limits | None:
    """The limits that a mask consists of: conditions key − query ≤ r and query − key ≤ l; None for any other mask."""
    if form is None or form.never or (rank < 2 and form.conditions):
        return None
    found = Limits()
    lead = (0,) * (rank - 2)
    for condition in form.conditions:
        if not isinstance(condition.base, int) or condition.base > 0:
            return None
        reach = -condition.base
        if condition.coefficients == (*lead, -1, 1):
            found = found.meet(Limits(causal=True) if reach == 0 else Limits(right=reach))
        elif condition.coefficients == (*lead, 1, -1):
            found = found.meet(Limits(left=reach))
        else:
            return None
    return found


def hides_nothing(value: Value, forms: IndexForms) -> bool:
    """Whether a mask lets every key through: all true, or all zeros."""
    if value.dtype.kind == "bool":
        form = forms.mask(value)
        return form is not None and not form.conditions and not form.never
    constant = constant_of(value)
    array = None if constant is None else constant.known(MOST_READ)
    return array is not None and not array.any()


def _split(value: Value, forms: IndexForms) -> _Split:
    """Take the limits out of a boolean mask, through And."""
    limits = limits_of(forms.mask(value), value.rank)
    if limits is not None:
        return _Split(limits, None)
    nothing = _Split(Limits(), value)
    node = value.producer
    if node is None:
        return nothing
    if node.op == "Expand":
        inner = node.inputs[0]
        same = inner is not None and inner.rank == value.rank and inner.shape[-2:] == value.shape[-2:]
        return _split(inner, forms) if same and inner is not None else nothing
    if node.op != "And":
        return nothing
    # a part of lower rank is aligned at the end, where query and key stand
    parts = [_split(v, forms) for v in node.inputs if v is not None]
    rests = [p.rest for p in parts if p.rest is not None]
    if len(rests) == 2:
        return nothing
    return _Split(parts[0].limits.meet(parts[1].limits), rests[0] if rests else None)


_ATTENTION = Node("Attention", rest=True)


def _mask_of(m: Match) -> Value:
    mask = m.root.input(3)
    m.applies(mask is not None, "it has no mask")
    assert mask is not None
    return mask


def _covers_every_key(m: Match, mask: Value) -> None:
    """A mask that is shorter than the keys hides those beyond it."""
    key, past = m.root.inputs[1], m.root.input(4)
    assert key is not None
    keys = key.shape[-2] if past is None else key.shape[-2] + past.shape[-2]
    m.require(mask.rank > 0 and mask.shape[-1] == keys, "the mask may be shorter than the keys")


@rule(_ATTENTION, explain=True)
def mask_as_causal(m: Match, b: Builder) -> list[Value]:
    """A boolean mask that is (also) key ≤ query becomes is_causal, with what else it hides."""
    mask = _mask_of(m)
    forms = IndexForms()
    m.applies(mask.dtype.kind == "bool", "the mask is not boolean")
    _covers_every_key(m, mask)
    split = _split(mask, forms)
    m.require(split.rest is not mask, f"%{mask.name} is not proven to be causal")
    rest = None if split.rest is None else _whole_last_axis(m, b, split.rest)
    return _limited(m, b, split.limits, rest)


def _limited(m: Match, b: Builder, limits: Limits, mask: Value | None) -> list[Value]:
    """The same Attention under more limits, with another mask."""
    node = m.root
    if limits != Limits():
        m.require(all(node.input(i) is None for i in (4, 5, 6)), "past keys or lengths move the diagonal")
    own = Limits(
        bool(attribute(node, "is_causal")), attribute(node, "left_window_size"), attribute(node, "right_window_size")
    )
    both = own.meet(limits)
    attrs = {
        name: size for name, size in (("left_window_size", both.left), ("right_window_size", both.right)) if size >= 0
    }
    inputs = list(node.inputs)
    inputs[3] = mask
    return _again(m, b, inputs, is_causal=int(both.causal), **attrs)


@rule(_ATTENTION, explain=True)
def additive_causal_mask(m: Match, b: Builder) -> list[Value]:
    """Where(causal, 0, −∞ or the most negative number) is is_causal."""
    mask = _mask_of(m)
    m.applies(mask.dtype.is_float, "the mask is boolean")
    _covers_every_key(m, mask)
    limits = Limits() if hides_nothing(mask, IndexForms()) else additive_limits(mask)
    m.require(limits is not None, f"%{mask.name} is not proven to be causal")
    assert limits is not None
    if limits.left >= 0:
        # without a key in reach a row would be hidden wholly, which finite numbers do not do
        queries, keys = (m.root.inputs[i].shape[-2] for i in (0, 1))  # type: ignore[union-attr]
        m.require(queries == keys, "there may be more queries than keys")
    return _limited(m, b, limits, None)


def additive_limits(mask: Value) -> Limits | None:
    """The limits of Where(limits, 0, very negative), or of a constant that is that."""
    constant = constant_of(mask)
    if constant is not None:
        array = constant.known(MOST_READ)
        if array is None or mask.rank < 2 or array.size == 0 or array.size > 1 << 24:
            return None
        allowed = np.tri(array.shape[-2], array.shape[-1], dtype=np.bool_)
        hidden = array[..., ~allowed]
        causal = (array[..., allowed] == 0).all() and (hidden.size == 0 or hides(float(hidden.max()), mask))
        return Limits(causal=True) if causal else None
    node = mask.producer
    if node is None or node.op != "Where":
        return None
    condition, kept, hidden_value = node.inputs
    assert condition is not None
    zero, fill = scalar_of(kept), scalar_of(hidden_value)
    if zero is None or fill is None or condition.rank != mask.rank:
        return None
    if float(zero) != 0 or not hides(float(fill), mask):
        return None
    return limits_of(IndexForms().mask(condition), condition.rank)


def hides(number: float, mask: Value) -> bool:
    """Whether adding a number to any ordinary score makes its weight exactly 0."""
    return number <= mask.dtype.min / 4


@rule(_ATTENTION)
def broadcast_mask(m: Match, b: Builder) -> list[Value]:
    """A mask need not be expanded over batch, heads and queries."""
    node, mask = m.root, _mask_of(m)
    producer = mask.producer
    m.applies(producer is not None and producer.op == "Expand", "the mask is not expanded")
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
        known = constant.known(MOST_READ)
        if known is None:
            return True
        array = known.astype(np.float32)
        return not bool(np.isfinite(array).any(axis=-1).all()) if array.ndim else not bool(np.isfinite(array))
    return not surely_finite(mask)


MASK_RULES: tuple[Rule, ...] = (mask_as_causal, additive_causal_mask, broadcast_mask)
