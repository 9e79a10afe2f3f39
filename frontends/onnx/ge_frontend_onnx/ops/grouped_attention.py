"""GroupQueryAttention and RotaryEmbedding of com.microsoft."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts
from .fused_attention import count_to, merge_heads, split_heads

_MS = "com.microsoft"
_INT64 = DType.of("int64")
_KNOWN = ("causal", "do_rotary", "kv_num_heads", "local_window_size", "num_heads", "rotary_interleaved", "scale",
          "softcap", "smooth_softmax", "k_quant_type", "v_quant_type", "qk_output", "kv_cache_bit_width",
          "sliding_window_cache", "qk_norm_epsilon")  # fmt: skip


@converts("RotaryEmbedding", domain=_MS)
def rotary_embedding(c: Call) -> Results:
    """RotaryEmbedding(T input, M position_ids, T cos_cache, T sin_cache) -> (T output); interleaved, num_heads,
    rotary_embedding_dim, scale
    """
    c.only("interleaved", "num_heads", "rotary_embedding_dim", "scale", "is_packed_batching")
    if c.attr("is_packed_batching", 0) or c.attr("scale", 1.0) != 1.0:
        raise c.unsupported("packed batches or a scale")
    b, x, places = c.b, c.input(0), c.input(1)
    packed = c.rank(x) == 3
    if packed:
        heads = c.attr("num_heads", 0)
        if not heads:
            count = dims.exact_div(x.shape[2], c.input(2).shape[1] * 2)
            if not isinstance(count, int):
                raise c.unsupported("a number of heads that is not known")
            heads = count
        x = split_heads(c, x, heads)
    if c.rank(places) == 1:
        # one number: the place of the first token of every row
        places = b.Add(c.unsqueeze(places, 1), c.unsqueeze(count_to(c, c.size(x, 2)), 0))
    y = rotated(c, x, places, c.input(2), c.input(3), c.attr("interleaved", 0), c.attr("rotary_embedding_dim", 0))
    return merge_heads(c, y) if packed else y


def rotated(c: Call, x: Value, places: Value, cos: Value, sin: Value, interleaved: int, width: int) -> Value:
    """`[batch, heads, sequence, size]` turned by the angles of its places `[batch, sequence]`."""
    b = c.b
    shape = b.Concat([c.size(x, 0), c.size(x, 2)], axis=0)
    # a cache narrower than half a head turns the first part of it alone
    width = width or (2 * cos.shape[1] if isinstance(cos.shape[1], int) else 0)
    full = width == x.shape[3]
    value: Value = b.RotaryEmbedding(
        x, cos, sin, b.Expand(places, shape), interleaved=interleaved, rotary_embedding_dim=0 if full else width
    )
    return value


@dataclass(frozen=True)
class _Cache:
    """The cache after this call.

    Attributes:
        key, value: `[batch, kv heads, length, size]`, new tokens behind the old ones of their row.
        first: `[batch]`, the place of the first new token of each row.
    """

    key: Value
    value: Value
    first: Value


@converts("GroupQueryAttention", domain=_MS)
def group_query_attention(c: Call) -> Results:
    """GroupQueryAttention(T query, T key?, T value?, T past_key?, T past_value?, M seqlens_k, M total_sequence_length,
    T cos_cache?, T sin_cache?, int64 position_ids?, T attention_bias?, ...) -> (T output, T present_key?,
    T present_value?); do_rotary, kv_num_heads, local_window_size, num_heads, rotary_interleaved, scale, softcap

    seqlens_k holds the last valid place of each row. Where all tokens are new, rows begin at place 0; else the new
    ones are the last of their row.
    """
    _check(c)
    q, k, v = _projections(c)
    b = c.b
    ends = c.cast(c.input(5), _INT64)
    if c.rank(ends) != 1:
        ends = c.reshape(ends, (-1,))
    new = c.size(q, 2)
    total = c.cast(c.reshape(c.input(6), ()), _INT64)
    # in the first call all tokens are new, and short rows are filled up behind their end
    first = b.Where(b.Equal(total, c.reshape(new, ())), b.constant(np.int64(0)), b.Sub(b.Add(ends, 1), new))
    first = b.Expand(first, c.size(q, 0))
    if c.attr("do_rotary", 0):
        places = c.optional(9)
        if places is None:
            places = b.Add(c.unsqueeze(first, 1), c.unsqueeze(count_to(c, new), 0))
        turn = (places, c.input(7), c.input(8), c.attr("rotary_interleaved", 0), 0)
        q, k = rotated(c, q, *turn), rotated(c, k, *turn)
    cache = _updated(c, k, v, first, total)
    y = _attended(c, q, cache)
    return [merge_heads(c, y), cache.key, cache.value]


def _check(c: Call) -> None:
    c.only(*_KNOWN)
    if any(c.has(i) for i in range(11, 17)) or c.wants(3):
        raise c.unsupported("sinks, quantised caches, norms of queries and keys, or the scores as an output")
    if c.attr("smooth_softmax", -1) > 0 or c.attr("qk_output", 0) or c.attr("sliding_window_cache", 0):
        raise c.unsupported("a smooth softmax, the scores as an output, or a cache of the window's size")
    if c.has(3) and not (c.wants(1) and c.wants(2)):
        raise c.unsupported("a cache that is read and not given back")
    if not c.attr("causal", 1):
        raise c.unsupported("attention to tokens in the future")


def _projections(c: Call) -> tuple[Value, Value, Value]:
    """Queries, keys and values as `[batch, heads, sequence, size]`."""
    heads, kv_heads = int(c.needed("num_heads")), int(c.needed("kv_num_heads"))
    query, key, value = c.input(0), c.optional(1), c.optional(2)
    if key is not None and value is not None:
        return split_heads(c, query, heads), split_heads(c, key, kv_heads), split_heads(c, value, kv_heads)
    packed = split_heads(c, query, heads + 2 * kv_heads)
    q, k, v = c.b.Split(packed, c.b.ints(heads, kv_heads, kv_heads), axis=1, num_outputs=3)
    return q, k, v


def _updated(c: Call, k: Value, v: Value, first: Value, total: Value) -> _Cache:
    """The cache with the new tokens; it is as long as all tokens, or as the old one where that is longer."""
    if not c.has(3) or not c.has(4):
        return _Cache(k, v, first)
    b = c.b
    old = c.input(3).shape[2]
    length = dims.maximum(_known_size(c, total), old)
    caches = []
    for past, fresh in ((c.input(3), k), (c.input(4), v)):
        more = b.ints([0, 0, 0, 0, 0, 0]) if length == old else b.ints([0, 0, 0, 0, 0, 0, length - old, 0])
        wide = past if length == old else b.Pad(past, more)
        caches.append(b.TensorScatter(wide, fresh, first, axis=2))
    return _Cache(caches[0], caches[1], first)


def _known_size(c: Call, total: Value) -> dims.Size:
    """The number of all tokens, an input of the node, as a size."""
    bound: Value = c.b.ge.BindDim(total)
    assert bound.content is not None
    return bound.content[0]


def _attended(c: Call, q: Value, cache: _Cache) -> Value:
    """Attention of each new token to those up to its own place, within the window where there is one."""
    b = c.b
    row = b.Add(c.unsqueeze(cache.first, 1), c.unsqueeze(count_to(c, c.size(q, 2)), 0))
    row = c.unsqueeze(row, 1, 3)
    column = c.unsqueeze(count_to(c, c.size(cache.key, 2)), 0, 1, 2)
    mask = b.LessOrEqual(column, row)
    window = c.attr("local_window_size", -1)
    if window > 0:
        mask = b.And(mask, b.Greater(column, b.Sub(row, b.constant(np.int64(window)))))
    if c.has(10):
        dtype = q.dtype
        mask = b.Where(mask, c.input(10), c.scalar(-np.inf, dtype))
    attrs = {"scale": c.attrs["scale"]} if c.attr("scale") else {}
    value: Value = b.Attention(q, cache.key, cache.value, mask, softcap=c.attr("softcap", 0.0), **attrs)
    return value
