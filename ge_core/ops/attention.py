"""Type rules of attention, its linear relatives and rotary embedding."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import boolean
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import float_dtype, require_choice, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule

Heads = tuple[Size, Size, Size, Size]


def _divided(c: Infer, size: Size, count: Size, what: str) -> Size:
    """size / count, which must be whole."""
    exact = dims.exact_div(size, count)
    if exact is None and isinstance(size, int) and isinstance(count, int):
        raise c.error(f"{what} of {size} does not divide into {count} heads")
    return dims.floordiv(size, count) if exact is None else exact


def _heads(c: Infer, index: int, attribute: str) -> Heads:
    """(batch, heads, sequence, head size) of Q, K or V, which is 4-D, or 3-D with the heads packed in the last axis."""
    shape = c.shape(index)
    count = c.attr(attribute)
    name = c.schema.input(index).name
    if len(shape) == 4:
        if count is not None:
            raise c.error(f"{attribute} is for 3-D inputs only, input {name} is 4-D")
        return shape[0], shape[1], shape[2], shape[3]
    if len(shape) != 3:
        raise c.error(f"input {name} has rank {len(shape)}, expected 3 or 4")
    if count is None or count < 1:
        raise c.error(f"3-D inputs need {attribute} of at least 1")
    return shape[0], count, shape[1], _divided(c, shape[2], count, f"the last size of {name}")


def _same(c: Infer, a: tuple[Size, ...], b: tuple[Size, ...], what: str) -> None:
    for x, y in zip(a, b, strict=True):
        c.merge(x, y, what)


@type_rule("Attention")
def attention(c: Infer) -> list[TensorType]:
    dtype = float_dtype(c, 0, 1, 4)
    value_dtype = float_dtype(c, 2, 5)
    if not c.rank(0) == c.rank(1) == c.rank(2):
        raise c.error("Q, K and V must have the same rank")
    batch, heads, queries, size = _heads(c, 0, "q_num_heads")
    key_batch, kv_heads, keys, key_size = _heads(c, 1, "kv_num_heads")
    value_batch, value_heads, values, value_size = _heads(c, 2, "kv_num_heads")
    _same(c, (key_batch, key_size), (batch, size), "sizes of K and Q (batch, head size)")
    _same(
        c, (value_batch, value_heads, values), (key_batch, kv_heads, keys), "sizes of V and K (batch, heads, sequence)"
    )
    _divided(c, heads, kv_heads, "the number of query heads")
    _check_attention_attributes(c)
    total = keys
    if c.has(4) or c.has(5):
        if not (c.has(4) and c.has(5)):
            raise c.error("past_key and past_value go together")
        if c.has(6):
            raise c.error("nonpad_kv_seqlen does not go with past_key")
        require_rank(c, 4, 4)
        require_rank(c, 5, 4)
        past = c.shape(4)[2]
        _same(c, c.shape(4), (batch, kv_heads, past, size), "a size of past_key and the expected one")
        _same(c, c.shape(5), (batch, kv_heads, past, value_size), "a size of past_value and the expected one")
        total = past + keys
    _check_mask(c, (batch, heads, queries, total))
    if c.has(6):
        require_rank(c, 6, 1)
        c.merge(c.shape(6)[0], batch, "the sizes of nonpad_kv_seqlen and the batch")
    packed = c.rank(0) == 3
    y = (batch, queries, heads * value_size) if packed else (batch, heads, queries, value_size)
    return [
        TensorType(dtype, y),
        TensorType(dtype, (batch, kv_heads, total, size)),
        TensorType(value_dtype, (batch, kv_heads, total, value_size)),
        TensorType(dtype, (batch, heads, queries, total)),
    ]


def _check_attention_attributes(c: Infer) -> None:
    if c.attr("qk_matmul_output_mode") not in (0, 1, 2, 3):
        raise c.error(f"qk_matmul_output_mode is {c.attr('qk_matmul_output_mode')}, expected 0 to 3")
    for name in ("left_window_size", "right_window_size"):
        if c.attr(name) < -1:
            raise c.error(f"{name} is {c.attr(name)}, expected -1 or more")
    precision = c.attr("softmax_precision")
    if precision is not None and not precision.is_float:
        raise c.error(f"softmax_precision is {precision}, expected a floating-point type")


def _check_mask(c: Infer, scores: Heads) -> None:
    if not c.has(3):
        return
    if c.dtype(3) != boolean:
        float_dtype(c, 3)
    mask = c.shape(3)
    if not 0 < len(mask) <= 4:
        raise c.error(f"attn_mask has rank {len(mask)}, expected 1 to 4")
    for size, wanted in zip(mask[:-1], scores[4 - len(mask) : -1], strict=True):
        if size != 1:
            c.merge(size, wanted, "a size of attn_mask and the expected one")
    if dims.less_equal(mask[-1], scores[-1]) is False:
        raise c.error(f"attn_mask covers {mask[-1]} keys, there are {scores[-1]}")


@type_rule("RotaryEmbedding")
def rotary_embedding(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 1, 2)
    x = c.shape(0)
    if len(x) == 4:
        batch, sequence, size = x[0], x[2], x[3]
    elif len(x) == 3:
        heads = c.attr("num_heads")
        if not heads:
            raise c.error("3-D data need num_heads")
        batch, sequence, size = x[0], x[1], _divided(c, x[2], heads, "the last size of X")
    else:
        raise c.error(f"data of rank {len(x)}, expected 3 or 4")
    rotated: Size = c.attr("rotary_embedding_dim") or size
    half = _divided(c, rotated, 2, "the rotated part")
    for index in (1, 2):
        cache = c.shape(index)
        require_rank(c, index, 2 if c.has(3) else 3)
        c.merge(cache[-1], half, f"the last size of {c.schema.input(index).name} and half the rotated size")
        if not c.has(3):
            for size, wanted in zip(cache[:2], (batch, sequence), strict=True):
                if size != 1:
                    c.merge(size, wanted, "a size of the caches and the data's")
    if c.has(3):
        require_rank(c, 3, 2)
        c.broadcast((batch, sequence), c.shape(3))
    return TensorType(dtype, x)


@type_rule("LinearAttention")
def linear_attention(c: Infer) -> list[TensorType]:
    dtype = float_dtype(c, 0, 1, 2)
    rule = require_choice(c, "update_rule", ("linear", "gated", "delta", "gated_delta"))
    for index, name, needed in ((4, "decay", rule.startswith("gated")), (5, "beta", rule.endswith("delta"))):
        if c.has(index) != needed:
            raise c.error(f"update_rule {rule} {'needs' if needed else 'takes no'} {name}")
    for index in (0, 1, 2, 4, 5):
        if c.has(index):
            require_rank(c, index, 3)
    heads, kv_heads = c.attr("q_num_heads"), c.attr("kv_num_heads")
    if kv_heads < 1 or heads < 1 or heads % kv_heads:
        raise c.error(f"{heads} query heads do not share {kv_heads} key heads evenly")
    batch, length, width = c.shape(0)
    size = _divided(c, width, heads, "the last size of query")
    value_size = _divided(c, c.shape(2)[2], kv_heads, "the last size of value")
    _same(c, c.shape(1), (batch, length, size * kv_heads), "a size of key and the expected one")
    _same(c, c.shape(2)[:2], (batch, length), "sizes of value and query")
    state = (batch, kv_heads, size, value_size)
    state_dtype = dtype
    if c.has(3):
        state_dtype = float_dtype(c, 3)
        require_rank(c, 3, 4)
        _same(c, c.shape(3), state, "a size of past_state and the expected one")
    return [TensorType(dtype, (batch, length, value_size * heads)), TensorType(state_dtype, state)]
