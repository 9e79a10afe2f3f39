"""Normalisations of com.microsoft: with a residual, with embeddings, with channels last."""

from __future__ import annotations

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts
from .fused_activation import with_bias
from .fused_conv import channels_first, channels_last

_MS = "com.microsoft"


@converts("SimplifiedLayerNormalization", domain=_MS)
@converts("SimplifiedLayerNormalization")
def simplified_layer_normalization(c: Call) -> Results:
    """SimplifiedLayerNormalization(T X, V scale) -> (V Y, U inv_std_var?); axis, epsilon: x * scale / rms"""
    if c.wants(1):
        raise c.unsupported("the statistics of the rows")
    x, scale = c.input(0), c.input(1)
    y = c.b.RMSNormalization(x, scale, axis=c.attr("axis", -1), epsilon=c.attr("epsilon", 1e-5))
    return y


@converts("SkipLayerNormalization", domain=_MS)
def skip_layer_normalization(c: Call) -> Results:
    """SkipLayerNormalization(T input, T skip, T gamma, T beta?, T bias?) -> (T output, U mean?, U inv_std_var?,
    T input_skip_bias_sum?); epsilon: the normalised sum of input, skip and bias
    """
    total = _residual(c, bias=4)
    epsilon = c.attr("epsilon", 1e-12)
    return _outputs(c, c.b.LayerNormalization(total, c.input(2), c.optional(3), axis=-1, epsilon=epsilon), total)


@converts("SkipSimplifiedLayerNormalization", domain=_MS)
def skip_simplified_layer_normalization(c: Call) -> Results:
    """SkipSimplifiedLayerNormalization(T input, T skip, T gamma, T bias?) -> (T output, U mean?, U inv_std_var?,
    T input_skip_bias_sum?); epsilon: the sum of input, skip and bias over its root mean square
    """
    total = _residual(c, bias=3)
    return _outputs(c, c.b.RMSNormalization(total, c.input(2), axis=-1, epsilon=c.attr("epsilon", 1e-12)), total)


def _residual(c: Call, bias: int) -> Value:
    return with_bias(c, c.b.Add(c.input(0), c.input(1)), c.optional(bias))


def _outputs(c: Call, y: Value, total: Value) -> list[Value | None]:
    if c.wants(1) or c.wants(2):
        raise c.unsupported("the statistics of the rows")
    return [y, None, None, total]


@converts("EmbedLayerNormalization", domain=_MS)
def embed_layer_normalization(c: Call) -> Results:
    """EmbedLayerNormalization(T1 input_ids, T1 segment_ids?, T word_embedding, T position_embedding,
    T segment_embedding?, T gamma, T beta, T1 mask?, T1 position_ids?) -> (T output, T1 mask_index?, T embedding_sum?);
    epsilon, mask_index_type
    """
    b, ids = c.b, c.input(0)
    total = b.Gather(c.input(2), ids)
    table = c.input(3)
    total = b.Add(
        total, b.Gather(table, c.input(8)) if c.has(8) else b.Slice(table, b.ints(0), c.size(ids, 1), b.ints(0))
    )
    if c.has(4) and c.has(1):
        total = b.Add(total, b.Gather(c.input(4), c.input(1)))
    y = b.LayerNormalization(total, c.input(5), c.input(6), axis=-1, epsilon=c.attr("epsilon", 1e-12))
    index = None
    if c.wants(1):
        if c.has(7):
            index = b.ReduceSum(c.input(7), b.ints(1), keepdims=0)
        else:
            index = b.Expand(b.constant(0, ids.dtype), c.size(ids, 0))
    return [y, index, total]


@converts("GroupNorm", domain=_MS)
def group_norm(c: Call) -> Results:
    """GroupNorm(T X, M gamma, M beta) -> (T Y); activation, channels_last, epsilon, groups"""
    return _group_norm(c, c.input(0))


@converts("SkipGroupNorm", domain=_MS)
def skip_group_norm(c: Call) -> Results:
    """SkipGroupNorm(T X, M gamma, M beta, T skip, T bias?) -> (T Y, T S?); GroupNorm's: of S = X + skip + bias"""
    total, skip = c.input(0), c.input(3)
    if c.rank(skip) == 2:
        skip = c.unsqueeze(skip, 1, 2)
    total = with_bias(c, c.b.Add(total, skip), c.optional(4))
    return [_group_norm(c, total), total]


def _group_norm(c: Call, x: Value) -> Value:
    last, b = c.attr("channels_last", 1), c.b
    activation = int(c.needed("activation"))
    scale, bias = (c.cast(c.input(i), x.dtype) for i in (1, 2))
    inner = channels_first(c, x) if last else x
    y = b.GroupNormalization(inner, scale, bias, num_groups=c.needed("groups"), epsilon=c.attr("epsilon", 1e-5))
    y = channels_last(c, y) if last else y
    if activation not in (0, 1):
        raise c.error(f"has the activation {activation}", expected="0 (none) or 1 (SiLU)")
    value: Value = b.Swish(y) if activation else y
    return value
