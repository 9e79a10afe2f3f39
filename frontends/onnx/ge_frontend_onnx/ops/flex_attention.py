"""Attention with subgraphs for scores and probabilities (ai.onnx.preview)."""

from __future__ import annotations

import math

from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts


@converts("FlexAttention", domain="ai.onnx.preview")
def flex_attention(c: Call) -> Results:
    """FlexAttention(T1 Q, T1 K, T1 V) -> (T1 Y); prob_mod, scale, score_mod, softmax_precision

    y = prob_mod(softmax(score_mod(q @ kᵀ * scale))) @ v, computed in the softmax's element type
    """
    c.only("prob_mod", "scale", "score_mod", "softmax_precision")
    b = c.b
    q, k, v = (c.input(i) for i in range(3))
    if not c.rank(q) == c.rank(k) == c.rank(v) == 4:
        raise c.error("needs inputs of rank 4")
    wide = c.dtype_attr("softmax_precision") or DType.of("float64" if q.dtype.bits == 64 else "float32")
    heads, depth = q.shape[1], q.shape[3]
    if "scale" in c.attrs:
        scale: Value = c.scalar(c.attrs["scale"], wide)
    elif isinstance(depth, int):
        scale = c.scalar(1 / math.sqrt(depth) if depth else 1.0, wide)
    else:
        scale = b.Reciprocal(b.Sqrt(b.Cast(b.scalar(depth), to=wide)))
    key, value = (repeat_heads(c, x, heads) for x in (k, v))
    scores = b.Mul(b.MatMul(c.cast(q, wide), b.Transpose(c.cast(key, wide), perm=[0, 1, 3, 2])), scale)
    scores = _modified(c, "score_mod", scores)
    weights = _modified(c, "prob_mod", b.Softmax(scores, axis=-1))
    return c.cast(b.MatMul(weights, c.cast(value, wide)), q.dtype)


def repeat_heads(c: Call, x: Value, heads: dims.Size) -> Value:
    """`[batch, h, ...]` as `[batch, heads, ...]`: each head stands for heads / h following ones."""
    batch, own, *rest = x.shape
    group = dims.exact_div(heads, own)
    if group is None:
        raise c.error(f"{heads} heads of the query are no multiple of the key's {own}")
    if group == 1:
        return x
    b = c.b
    wide = b.Expand(b.Unsqueeze(x, b.ints(2)), b.ints(batch, own, group, *rest))
    value: Value = b.Reshape(wide, b.ints(batch, heads, *rest), allowzero=1)
    return value


def _modified(c: Call, name: str, x: Value) -> Value:
    proto = c.attr(name)
    if proto is None:
        return x
    results = c.converter.subgraph(c, c.b, proto, [x])
    if len(results) != 1:
        raise c.error(f"{name} gives {len(results)} values", expected="one")
    return results[0]
