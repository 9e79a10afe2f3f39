"""Reference kernels of attention, its linear relatives and rotary embedding."""

from __future__ import annotations

import math

import numpy as np

from ge_core.errors import IndexRangeError
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.norm import softmax_along
from ge_core.reference.precision import narrow, widen

_SCORES = 1 << 24


def split_heads(x: np.ndarray, heads: int | None) -> np.ndarray:
    """[B, S, H*D] as a view [B, H, S, D]; 4-D data as they are."""
    if x.ndim == 4:
        return x
    assert heads is not None
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).swapaxes(1, 2)


def merge_heads(x: np.ndarray) -> np.ndarray:
    """[B, H, S, D] as [B, S, H*D]."""
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


@kernel("Attention")
def attention(
    call: Call,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    past_key: np.ndarray | None = None,
    past_value: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
) -> tuple[np.ndarray, ...]:
    packed = q.ndim == 3
    q = split_heads(q, call.attr("q_num_heads"))
    k, v = (split_heads(x, call.attr("kv_num_heads")) for x in (k, v))
    past = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        k, v = np.concatenate([past_key, k], axis=2), np.concatenate([past_value, v], axis=2)
    batch, heads, queries, size = q.shape
    kv_heads, keys = k.shape[1], k.shape[2]
    if heads % kv_heads:
        raise ValueError(f"{heads} query heads do not share {kv_heads} key heads evenly")
    group = heads // kv_heads
    bias = _bias(call, mask, lengths, past, (heads, queries, keys), widen(q).dtype)
    scale = call.attr("scale")
    scale = 1 / math.sqrt(size) if scale is None else scale
    grouped = (widen(q) * widen(q).dtype.type(scale)).reshape(batch, kv_heads, group, queries, size)
    keys_t = widen(k)[:, :, None].swapaxes(3, 4)
    values = widen(v)[:, :, None]
    y = np.empty((batch, kv_heads, group, queries, v.shape[3]), grouped.dtype)
    shown = np.empty((*y.shape[:4], keys), y.dtype) if call.wants(3) else None
    if bias is not None:
        bias = bias.reshape(len(bias), *((kv_heads, group) if bias.shape[1] > 1 else (1, 1)), *bias.shape[2:])
    step = batch if y[..., 0].size * keys <= _SCORES else 1
    for b in range(0, batch, step):
        part = slice(b, b + step)
        its_bias = bias if bias is None or len(bias) == 1 else bias[part]
        its_shown = None if shown is None else shown[part]
        y[part] = _attend(call, grouped[part], keys_t[part], values[part], its_bias, its_shown)
    y = y.reshape(batch, heads, queries, v.shape[3])
    outputs = [narrow(merge_heads(y) if packed else y, call.dtype()), k, v]
    if shown is not None:
        outputs.append(narrow(shown.reshape(batch, heads, queries, keys), call.dtype(3)))
    return tuple(outputs)


def _attend(
    call: Call, q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | None, shown: np.ndarray | None
) -> np.ndarray:
    """softmax(softcap(q @ k) + bias) @ v; a row whose scores, the bias added, are all -inf gives zeros.

    Args:
        shown: filled with what attribute qk_matmul_output_mode asks for.
    """
    mode, softcap = call.attr("qk_matmul_output_mode"), call.attr("softcap")
    scores = np.matmul(q, k)
    if shown is not None and mode == 0:
        shown[...] = scores
    if softcap > 0:
        scores = np.tanh(scores / scores.dtype.type(softcap)) * scores.dtype.type(softcap)
    if shown is not None and mode == 1:
        shown[...] = scores
    if bias is not None:
        scores += bias
    if shown is not None and mode == 2:
        shown[...] = scores
    precision = call.attr("softmax_precision")
    if precision is not None and precision.numpy != scores.dtype:
        weights = narrow(softmax_along(widen(scores.astype(precision.numpy)), -1), precision).astype(scores.dtype)
    else:
        weights = softmax_along(scores, -1)
    none = np.isneginf(scores).all(axis=-1, keepdims=True)
    if none.any():
        weights = np.where(none, weights.dtype.type(0), weights)
    if shown is not None and mode == 3:
        shown[...] = weights
    return np.matmul(weights, v)


def _bias(
    call: Call,
    mask: np.ndarray | None,
    lengths: np.ndarray | None,
    past: int,
    sizes: tuple[int, int, int],
    dtype: np.dtype,
) -> np.ndarray | None:
    """What is added to the scores: the mask, and -inf where causality, windows or padding forbid a key.

    Returns:
        None, or an array [B or 1, heads or 1, queries or 1, keys].
    """
    _, queries, keys = sizes
    bias: np.ndarray | None = None
    if mask is not None:
        additive = np.where(mask, 0, -np.inf) if mask.dtype == np.bool_ else widen(mask)
        missing = keys - mask.shape[-1]
        if missing:
            additive = np.pad(additive, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=-np.inf)
        bias = additive.astype(dtype).reshape((1,) * (4 - mask.ndim) + additive.shape)
    key = np.arange(keys)
    offset = np.full((1, 1, 1, 1), past) if lengths is None else lengths.reshape(-1, 1, 1, 1) - queries
    position = offset + np.arange(queries)[:, None]
    left, right = call.attr("left_window_size"), call.attr("right_window_size")
    allowed: list[np.ndarray] = []
    if call.attr("is_causal"):
        allowed.append(key <= position)
    if left >= 0:
        allowed.append(position - key <= left)
    if right >= 0:
        allowed.append(key - position <= right)
    if lengths is not None:
        allowed.append(key < lengths.reshape(-1, 1, 1, 1))
    for each in allowed:
        forbidden = np.where(each, dtype.type(0), dtype.type(-np.inf))
        bias = forbidden if bias is None else bias + forbidden
    return bias


@kernel("RotaryEmbedding")
def rotary_embedding(
    call: Call, x: np.ndarray, cos: np.ndarray, sin: np.ndarray, positions: np.ndarray | None = None
) -> np.ndarray:
    data = widen(split_heads(x, call.attr("num_heads")))
    if positions is not None:
        if positions.size and (positions.min() < 0 or positions.max() >= len(cos)):
            raise call.error(
                IndexRangeError, f"positions {positions.min()} to {positions.max()} for a table of {len(cos)}"
            )
        cos, sin = cos[positions], sin[positions]
    cos, sin = widen(cos)[:, None], widen(sin)[:, None]
    rotated = call.attr("rotary_embedding_dim") or data.shape[3]
    y = np.array(data)
    if call.attr("interleaved"):
        a, b = slice(0, rotated, 2), slice(1, rotated, 2)
    else:
        a, b = slice(0, rotated // 2), slice(rotated // 2, rotated)
    y[..., a] = data[..., a] * cos - data[..., b] * sin
    y[..., b] = data[..., a] * sin + data[..., b] * cos
    return narrow(merge_heads(y) if x.ndim == 3 else y, call.dtype())


@kernel("LinearAttention")
def linear_attention(
    call: Call,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    past: np.ndarray | None = None,
    decay: np.ndarray | None = None,
    beta: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    heads, kv_heads = call.attr("q_num_heads"), call.attr("kv_num_heads")
    q, k, v = (widen(split_heads(x, n)) for x, n in ((query, heads), (key, kv_heads), (value, kv_heads)))
    batch, _, length, size = q.shape
    group = heads // kv_heads
    q = q.reshape(batch, kv_heads, group, length, size) * q.dtype.type(call.attr("scale") or 1 / math.sqrt(size))
    shape = (batch, kv_heads, size, v.shape[3])
    state = np.zeros(shape, q.dtype) if past is None else widen(past).astype(q.dtype)
    y = np.empty((batch, kv_heads, group, length, v.shape[3]), q.dtype)
    fade = None if decay is None else np.exp(split_heads(widen(decay), kv_heads))
    rate = None if beta is None else split_heads(widen(beta), beta.shape[2])
    for t in range(length):
        if fade is not None:
            state = state * fade[:, :, t, :, None]
        target = v[:, :, t]
        if rate is not None:
            target = (target - np.einsum("bhk,bhkv->bhv", k[:, :, t], state)) * rate[:, :, t]
        state = state + k[:, :, t, :, None] * target[:, :, None]
        y[:, :, :, t] = np.matmul(q[:, :, :, t], state)
    y = y.reshape(batch, heads, length, v.shape[3])
    return narrow(merge_heads(y), call.dtype()), narrow(state, call.dtype(1))
