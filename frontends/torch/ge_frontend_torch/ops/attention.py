"""Scaled dot product attention."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten


@aten("scaled_dot_product_attention.default")
def scaled_dot_product_attention(
    c: Call,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float
    dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
    """
    if dropout_p > 0:
        raise c.unsupported("dropout", "call attention with dropout_p=0.0 when the module is not training")
    if isinstance(scale, Value):
        raise c.unsupported("a scale that depends on a symbolic size", "make the head size static")
    lead = _lead(query, key, value)
    heads = [_four_axes(c, x, lead) for x in (query, key, value)]
    mask = None if attn_mask is None else _mask(c, attn_mask, heads[0].shape, heads[1].shape[2])
    y = c.b.Attention(
        *heads,
        mask,
        is_causal=int(is_causal),
        scale=None if scale is None else float(scale),
        num_outputs=1,
    )
    return c.reshape(y, c.shape())


def _lead(*operands: Value) -> tuple[Size, ...]:
    """The leading axes, all but heads, sequence and size, broadcast over query, key and value."""
    rank = max(x.rank for x in operands)
    lead: list[Size] = [1] * max(rank - 3, 0)
    for x in operands:
        for i, size in enumerate(reversed(x.shape[: max(x.rank - 3, 0)])):
            if size != 1:
                lead[-1 - i] = size
    return tuple(lead)


def _four_axes(c: Call, x: Value, lead: tuple[Size, ...]) -> Value:
    """[N, heads, sequence, size]: axes added in front, leading axes broadcast and merged."""
    heads: Size = x.shape[-3] if x.rank > 2 else 1
    x = c.expand(x, (*lead, heads, *x.shape[-2:]))
    return c.reshape(x, (dims.product(lead), heads, *x.shape[-2:]))


def _mask(c: Call, mask: Value, query: Sequence[Size], keys: Size) -> Value:
    """The mask over [N, heads, queries, keys]: its last axis is never broadcast, since a short one pads."""
    if mask.shape[-1] != keys:
        mask = c.expand(mask, (*mask.shape[:-1], keys))
    if mask.rank <= 4:
        return mask
    whole = c.expand(mask, (*c.shape()[:-3], *mask.shape[-3:]))
    return c.reshape(whole, (query[0], *mask.shape[-3:]))
