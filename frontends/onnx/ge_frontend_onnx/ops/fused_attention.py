"""Attention of com.microsoft, on the IR's Attention with a mask of floats that are added to the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts
from .fused_activation import with_bias
from .quantised import dequantised

_MS = "com.microsoft"
_BOOL, _INT64 = DType.of("bool"), DType.of("int64")
_FILTER = -10000.0


@converts("Attention", domain=_MS)
def attention(c: Call) -> Results:
    """Attention(T input, T weights, T bias?, M mask_index?, T past?, T attention_bias?, M past_sequence_length?) ->
    (T output, T present?); mask_filter_value, num_heads, qkv_hidden_sizes, scale, unidirectional
    """
    c.only("do_rotary", "mask_filter_value", "num_heads", "qkv_hidden_sizes", "scale", "unidirectional",
           "past_present_share_buffer")  # fmt: skip
    if c.attr("do_rotary", 0) or c.has(6) or c.attr("past_present_share_buffer", 0):
        raise c.unsupported("rotary embedding or a shared cache in Attention")
    projected = with_bias(c, c.b.MatMul(c.input(0), c.input(1)), c.optional(2))
    return _self_attention(c, projected, c.optional(3), c.optional(4), c.optional(5))


@converts("QAttention", domain=_MS)
def quantised_attention(c: Call) -> Results:
    """QAttention(T1 input, T2 weight, T3 bias, T3 input_scale, T3 weight_scale, T4 mask_index?, T1 input_zero_point?,
    T2 weight_zero_point?, T3 past?) -> (T3 output, T3 present?); Attention's
    """
    if c.attr("do_rotary", 0) or c.attr("past_present_share_buffer", 0):
        raise c.unsupported("rotary embedding or a shared cache in QAttention")
    x, w, bias, x_scale, w_scale, mask, x_zero, w_zero, past = (c.optional(i) for i in range(9))
    c.inputs[:] = [x, x_scale, x_zero, w, w_scale, w_zero]
    projected = with_bias(c, c.b.MatMul(dequantised(c, 0), dequantised(c, 3, axis=-1)), bias)
    return _self_attention(c, projected, mask, past, None)


def _self_attention(
    c: Call, projected: Value, mask: Value | None, past: Value | None, bias: Value | None
) -> list[Value | None]:
    """Attention over projected queries, keys and values that stand one after another in the last axis.

    Args:
        past: keys and values of earlier tokens, `[2, batch, heads, past, size]`.
    """
    b, heads = c.b, int(c.needed("num_heads"))
    sizes = c.attr("qkv_hidden_sizes")
    if sizes:
        parts = b.Split(projected, b.ints(sizes), axis=2, num_outputs=3)
    else:
        parts = b.Split(projected, axis=2, num_outputs=3)
    q, k, v = (split_heads(c, x, heads) for x in parts)
    old: list[Value | None] = [None, None]
    if past is not None:
        old = [b.Gather(past, b.constant(np.int64(i)), axis=0) for i in range(2)]
    scores = _score_mask(c, q, k, old[0], mask, bias)
    y, key, value = _attended(c, q, k, v, scores, old[0], old[1])
    present = None
    if c.wants(1):
        present = b.Concat([c.unsqueeze(key, 0), c.unsqueeze(value, 0)], axis=0)
    return [merge_heads(c, y), present]


@converts("MultiHeadAttention", domain=_MS)
def multi_head_attention(c: Call) -> Results:
    """MultiHeadAttention(T query, T key?, T value?, T bias?, M key_padding_mask?, T attention_bias?, T past_key?,
    T past_value?, M past_sequence_length?, M cache_indirection?) -> (T output, T present_key?, T present_value?,
    QK qk?); mask_filter_value, num_heads, scale, unidirectional
    """
    if c.has(8) or c.has(9) or c.wants(3):
        raise c.unsupported("a shared cache or the scores as an output")
    heads = int(c.needed("num_heads"))
    query, key, value, bias = c.input(0), c.optional(1), c.optional(2), c.optional(3)
    if c.rank(query) == 5:
        q, k, v = (_part(c, query, i) for i in range(3))
    elif key is not None and c.rank(key) == 5:
        q, (k, v) = query, (_part(c, key, i) for i in range(2))
    elif key is not None and value is not None:
        q, k, v = query, key, value
    else:
        raise c.unsupported("a query without key and value")
    if bias is not None:
        width = q.shape[-1] if c.rank(q) == 3 else heads * q.shape[3]
        parts = _bias_parts(c, bias, width)
        q, k, v = (_with_head_bias(c, x, part) for x, part in zip((q, k, v), parts, strict=True))
    q, k, v = (split_heads(c, x, heads) if c.rank(x) == 3 else x for x in (q, k, v))
    past = c.optional(6), c.optional(7)
    if past[0] is not None and not (c.wants(1) and c.wants(2)):
        raise c.unsupported("a cache that is read and not given back")
    scores = _score_mask(c, q, k, past[0], c.optional(4), c.optional(5))
    y, present_key, present_value = _attended(c, q, k, v, scores, *past)
    return [merge_heads(c, y), present_key, present_value]


def _part(c: Call, packed: Value, index: int) -> Value:
    """Part `index` of `[batch, sequence, heads, parts, size]` as `[batch, heads, sequence, size]`."""
    return c.transpose(c.b.Gather(packed, c.b.constant(np.int64(index)), axis=3), 0, 2, 1, 3)


def _bias_parts(c: Call, bias: Value, width: Any) -> list[Value]:
    """The bias of queries, keys and values, one after another in a vector; queries and keys have one width."""
    return [c.slice(bias, 0, 0, width), c.slice(bias, 0, width, width * 2), c.slice(bias, 0, width * 2, bias.shape[0])]


def _with_head_bias(c: Call, x: Value, bias: Value) -> Value:
    if c.rank(x) == 3:
        total: Value = c.b.Add(x, bias)
        return total
    heads, size = x.shape[1], x.shape[3]
    total = c.b.Add(x, c.reshape(bias, (heads, 1, size)))
    return total


def split_heads(c: Call, x: Value, heads: int) -> Value:
    """`[batch, sequence, heads * size]` as `[batch, heads, sequence, size]`."""
    return c.transpose(c.b.Reshape(x, c.b.ints(0, 0, heads, -1)), 0, 2, 1, 3)


def merge_heads(c: Call, x: Value) -> Value:
    """`[batch, heads, sequence, size]` as `[batch, sequence, heads * size]`."""
    value: Value = c.b.Reshape(c.transpose(x, 0, 2, 1, 3), c.b.ints(0, 0, -1))
    return value


def _attended(
    c: Call, q: Value, k: Value, v: Value, scores: Value | None, past_key: Value | None, past_value: Value | None
) -> list[Value]:
    """Attention, and the keys and values with the earlier ones before them."""
    attrs = {"scale": c.attrs["scale"]} if c.attr("scale") else {}
    results: tuple[Value, ...] = c.b.op("Attention", q, k, v, scores, past_key, past_value, num_outputs=3, **attrs)
    return list(results)


def _score_mask(
    c: Call, q: Value, k: Value, past_key: Value | None, mask: Value | None, bias: Value | None
) -> Value | None:
    """What is added to the scores: the caller's bias, the filter value at keys that are masked or in the future."""
    b, dtype = c.b, q.dtype
    filter_value = c.scalar(c.attr("mask_filter_value", _FILTER), dtype)
    zero = c.scalar(0.0, dtype)
    keys, queries = c.size(k, 2), c.size(q, 2)
    before = None if past_key is None else c.size(past_key, 2)
    total = keys if before is None else b.Add(keys, before)
    parts = []
    if mask is not None:
        parts.append(b.Where(_allowed(c, mask, q.shape[0], total), zero, filter_value))
    if c.attr("unidirectional", 0):
        if not dims.equal(q.shape[2], k.shape[2]):
            raise c.unsupported("unidirectional attention over another number of keys than queries")
        row = c.unsqueeze(count_to(c, queries), 1)
        row = row if before is None else b.Add(row, before)
        future = b.Greater(c.unsqueeze(count_to(c, total), 0), row)
        # keys in the future weigh nothing at all, unlike masked ones
        parts.append(b.Where(future, c.scalar(dtype.min, dtype), zero))
    if bias is not None:
        parts.append(bias)
    if not parts:
        return None
    scores = parts[0]
    for part in parts[1:]:
        scores = b.Add(scores, part)
    return scores if c.rank(scores) > 1 else c.unsqueeze(scores, 0)


def _allowed(c: Call, mask: Value, batch: Size, total: Value) -> Value:
    """Which keys a mask allows, as bools that broadcast to `[batch, heads, queries, keys]`.

    The mask is `[batch, keys]`, `[batch, queries, keys]`, or `[batch]` or `[2 * batch]`: where the keys end, and then
    where they begin.
    """
    b, rank = c.b, c.rank(mask)
    if rank == 2:
        return c.unsqueeze(b.Cast(mask, to=_BOOL), 1, 2)
    if rank == 3:
        return c.unsqueeze(b.Cast(mask, to=_BOOL), 1)
    if rank != 1 or not (two := mask.shape[0] == 2 * batch) and mask.shape[0] != batch:
        raise c.unsupported(f"a mask of type {mask.type}")
    place = c.unsqueeze(count_to(c, total), 0)
    limits = c.cast(mask, _INT64)
    allowed = b.Less(place, c.unsqueeze(c.slice(limits, 0, 0, batch), 1))
    if two:
        begins = c.unsqueeze(c.slice(limits, 0, batch, batch * 2), 1)
        allowed = b.And(allowed, b.GreaterOrEqual(place, begins))
    return c.unsqueeze(allowed, 1, 2)


def count_to(c: Call, length: Value) -> Value:
    """0, 1, ... below a length (an int64 vector of one element)."""
    b = c.b
    value: Value = b.Range(b.constant(np.int64(0)), c.reshape(length, ()), b.constant(np.int64(1)))
    return value
