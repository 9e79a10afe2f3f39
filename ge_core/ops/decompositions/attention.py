"""Attention, rotary embedding and linear attention in products, softmax and pointwise operators."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, boolean, float32
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.norm import attribute
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.registry import decomposition


def _int(node: Node, name: str) -> int:
    value = attribute(node, name)
    assert isinstance(value, int)
    return value


def _float(node: Node, name: str) -> float:
    value = attribute(node, name)
    assert isinstance(value, (int, float))
    return value


def split_heads(b: Builder, x: Value, heads: Size) -> Value:
    """[B, S, H*D] as [B, H, S, D]; 4-D data as they are."""
    if x.rank == 4:
        return x
    size = _quotient(x.shape[2], heads)
    made: Value = b.Transpose(b.Reshape(x, b.ints(0, 0, heads, size)), perm=[0, 2, 1, 3])
    return made


def merge_heads(b: Builder, x: Value) -> Value:
    """[B, H, S, D] as [B, S, H*D]."""
    width = x.shape[1] * x.shape[3]
    made: Value = b.Reshape(b.Transpose(x, perm=[0, 2, 1, 3]), b.ints(0, 0, width))
    return made


def _quotient(size: Size, count: Size) -> Size:
    exact = dims.exact_div(size, count)
    return dims.floordiv(size, count) if exact is None else exact


@decomposition("Attention")
def attention(b: Builder, node: Node) -> Sequence[Value]:
    """softmax(softcap(q * scale @ k^T) + bias) @ v; query heads that share a key head are an axis of their own"""
    q, k, v = (operand(node.inputs, i) for i in range(3))
    packed = q.rank == 3
    heads_of = [attribute(node, n) for n in ("q_num_heads", "kv_num_heads", "kv_num_heads")]
    q, k, v = (split_heads(b, x, n if isinstance(n, int) else 0) for x, n in zip((q, k, v), heads_of, strict=True))
    past_key, past_value = node.input(4), node.input(5)
    past: Size = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        k, v = b.Concat([past_key, k], axis=2), b.Concat([past_value, v], axis=2)
    heads, kv_heads, size = q.shape[1], k.shape[1], q.shape[3]
    group = _quotient(heads, kv_heads)
    bias = _bias(b, node, past, q.shape[2], k.shape[2])
    scale = attribute(node, "scale")
    wide = widened(b, q)
    if isinstance(scale, float):
        factor = b.constant(scale, wide.dtype)
    elif isinstance(size, int):
        factor = b.constant(1 / math.sqrt(size), wide.dtype)
    else:
        factor = b.Reciprocal(b.Sqrt(b.Cast(b.scalar(size), to=wide.dtype)))
    grouped = b.Reshape(b.Mul(wide, factor), b.ints(0, kv_heads, group, q.shape[2], size))
    keys = b.Unsqueeze(b.Transpose(widened(b, k), perm=[0, 1, 3, 2]), b.ints(2))
    shape = b.ints(q.shape[0], heads, q.shape[2], k.shape[2])
    scores = b.Reshape(b.MatMul(grouped, keys), shape)
    shown = {0: scores}
    softcap = _float(node, "softcap")
    if softcap > 0:
        scores = b.Mul(b.Tanh(b.Div(scores, softcap)), softcap)
    shown[1] = scores
    if bias is not None:
        scores = b.Add(scores, bias)
    shown[2] = scores
    weights = _weights(b, node, scores)
    if bias is not None and _rows_may_be_empty(node):
        masked = b.IsInf(b.ReduceMax(scores, b.ints(-1), keepdims=1), detect_positive=0)
        weights = b.Where(masked, b.constant(0.0, weights.dtype), weights)
    shown[3] = weights
    shared = b.Reshape(weights, b.ints(0, kv_heads, group, q.shape[2], k.shape[2]))
    y = b.MatMul(shared, b.Unsqueeze(cast(b, v, weights.dtype), b.ints(2)))
    y = cast(b, b.Reshape(y, b.ints(0, heads, q.shape[2], v.shape[3])), node.outputs[0].dtype)
    results = [merge_heads(b, y) if packed else y, k, v]
    if len(node.outputs) > 3:
        results.append(cast(b, shown[_int(node, "qk_matmul_output_mode")], node.outputs[3].dtype))
    return results[: len(node.outputs)]


def _weights(b: Builder, node: Node, scores: Value) -> Value:
    precision = attribute(node, "softmax_precision")
    if isinstance(precision, DType) and precision != scores.dtype:
        return cast(b, b.Softmax(b.Cast(scores, to=precision), axis=-1), scores.dtype)
    made: Value = b.Softmax(scores, axis=-1)
    return made


def _rows_may_be_empty(node: Node) -> bool:
    """Causality alone always leaves a query the first key."""
    return node.input(3) is not None or node.input(6) is not None or _int(node, "left_window_size") >= 0


def _bias(b: Builder, node: Node, past: Size, queries: Size, keys: Size) -> Value | None:
    """What is added to the scores: the mask, and -inf where causality, windows or padding forbid a key."""
    dtype = operand(node.inputs, 0).dtype
    dtype = float32 if dtype.bits < 32 else dtype
    mask, lengths = node.input(3), node.input(6)
    zero, forbidden = b.constant(0.0, dtype), b.constant(-math.inf, dtype)
    terms: list[Value] = []
    if mask is not None:
        mask = b.Where(mask, zero, forbidden) if mask.dtype == boolean else cast(b, mask, dtype)
        if dims.equal(mask.shape[-1], keys) is not True:
            ends = b.ints(*[0] * mask.rank, *[0] * (mask.rank - 1), keys - mask.shape[-1])
            mask = b.Pad(mask, ends, forbidden)
        terms.append(mask)
    allowed: list[Value] = []
    left, right = _int(node, "left_window_size"), _int(node, "right_window_size")
    causal = bool(_int(node, "is_causal"))
    key = b.Range(b.scalar(0), b.scalar(keys), b.scalar(1))
    if causal or left >= 0 or right >= 0:
        query = b.Unsqueeze(b.Range(b.scalar(0), b.scalar(queries), b.scalar(1)), b.ints(1))
        if lengths is None:
            position = b.Add(query, b.scalar(past))
        else:
            position = b.Add(query, b.Unsqueeze(b.Sub(lengths, b.scalar(queries)), b.ints(1, 2, 3)))
        if causal:
            allowed.append(b.LessOrEqual(key, position))
        if left >= 0:
            allowed.append(b.LessOrEqual(b.Sub(position, key), b.scalar(left)))
        if right >= 0:
            allowed.append(b.LessOrEqual(b.Sub(key, position), b.scalar(right)))
    if lengths is not None:
        allowed.append(b.Less(key, b.Unsqueeze(lengths, b.ints(1, 2, 3))))
    if allowed:
        together = allowed[0]
        for other in allowed[1:]:
            together = b.And(together, other)
        terms.append(b.Where(together, zero, forbidden))
    if not terms:
        return None
    return terms[0] if len(terms) == 1 else b.Add(terms[0], terms[1])


@decomposition("RotaryEmbedding")
def rotary_embedding(b: Builder, node: Node) -> Sequence[Value]:
    """(x1 cos - x2 sin, x1 sin + x2 cos) of the halves, or of neighbours when interleaved"""
    x = operand(node.inputs, 0)
    heads = attribute(node, "num_heads")
    data = widened(b, split_heads(b, x, heads if isinstance(heads, int) else 0))
    positions = node.input(3)
    cos, sin = (operand(node.inputs, i) for i in (1, 2))
    if positions is not None:
        cos, sin = b.Gather(cos, positions, axis=0), b.Gather(sin, positions, axis=0)
    cos, sin = (b.Unsqueeze(widened(b, t), b.ints(1)) for t in (cos, sin))
    size = data.shape[3]
    rotated: Size = _int(node, "rotary_embedding_dim") or size
    rest = None
    if dims.equal(rotated, size) is not True:
        rest = b.Slice(data, b.ints(rotated), b.ints(size), b.ints(3))
        data = b.Slice(data, b.ints(0), b.ints(rotated), b.ints(3))
    half = dims.floordiv(rotated, 2)
    axis = 4 if attribute(node, "interleaved") else 3
    if axis == 4:
        pairs = b.Reshape(data, b.ints(0, 0, 0, half, 2))
        first, second = (b.Gather(pairs, b.scalar(i), axis=4) for i in (0, 1))
    else:
        first = b.Slice(data, b.ints(0), b.ints(half), b.ints(3))
        second = b.Slice(data, b.ints(half), b.ints(rotated), b.ints(3))
    turned = [
        b.Sub(b.Mul(first, cos), b.Mul(second, sin)),
        b.Add(b.Mul(first, sin), b.Mul(second, cos)),
    ]
    if axis == 4:
        y = b.Concat([b.Unsqueeze(t, b.ints(4)) for t in turned], axis=4)
        y = b.Reshape(y, b.ints(0, 0, 0, rotated))
    else:
        y = b.Concat(turned, axis=3)
    if rest is not None:
        y = b.Concat([y, rest], axis=3)
    return [cast(b, merge_heads(b, y) if x.rank == 3 else y, node.output.dtype)]


@decomposition("LinearAttention")
def linear_attention(b: Builder, node: Node) -> Sequence[Value]:
    """A Scan over the tokens with the state S: S <- decay * S + k (x) (beta * (v - S^T k)); y = scale * q^T S"""
    heads, kv_heads = _int(node, "q_num_heads"), _int(node, "kv_num_heads")
    names = (heads, kv_heads, kv_heads)
    q, k, v = (split_heads(b, widened(b, operand(node.inputs, i)), n) for i, n in enumerate(names))
    past, decay, beta = node.input(3), node.input(4), node.input(5)
    batch, _, length, size = q.shape
    value_size, group = v.shape[3], heads // kv_heads
    if past is None:
        state = b.Expand(b.constant(0.0, q.dtype), b.ints(batch, kv_heads, size, value_size))
    else:
        state = cast(b, past, q.dtype)
    scale = _float(node, "scale")
    if scale:
        q = b.Mul(q, scale)
    elif isinstance(size, int):
        q = b.Mul(q, 1 / math.sqrt(size))
    else:
        q = b.Div(q, b.Sqrt(b.Cast(b.scalar(size), to=q.dtype)))
    scanned = [b.Reshape(q, b.ints(0, kv_heads, group, length, size)), k, v]
    axes = [3, 2, 2]
    if decay is not None:
        scanned.append(b.Exp(split_heads(b, widened(b, decay), kv_heads)))
    if beta is not None:
        scanned.append(split_heads(b, widened(b, beta), beta.shape[2]))
    axes += [2] * (len(scanned) - 3)

    def step(r: Builder, s: Value, query: Value, key: Value, value: Value, *gates: Value) -> list[Value]:
        rest = list(gates)
        if decay is not None:
            s = r.Mul(s, r.Unsqueeze(rest.pop(0), r.ints(3)))
        target = r.Unsqueeze(value, r.ints(2))
        if beta is not None:
            seen = r.MatMul(r.Unsqueeze(key, r.ints(2)), s)
            target = r.Mul(r.Sub(target, seen), r.Unsqueeze(rest.pop(0), r.ints(3)))
        s = r.Add(s, r.Mul(r.Unsqueeze(key, r.ints(3)), target))
        return [s, r.MatMul(query, s)]

    last, y = b.Scan(
        [state, *scanned],
        num_scan_inputs=len(scanned),
        scan_input_axes=axes,
        scan_output_axes=[3],
        body=step,
    )
    y = b.Reshape(y, b.ints(0, heads, length, value_size))
    results = [cast(b, merge_heads(b, y), node.outputs[0].dtype), cast(b, last, node.outputs[1].dtype)]
    return results[: len(node.outputs)]
