"""Attention, linear attention and rotary embedding: ONNX's cases, comparison with PyTorch, symbolic sizes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ge_core.errors import IndexRangeError, TypeRuleError
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("case", cases("Attention", "LinearAttention", "RotaryEmbedding"))
def test_onnx(case: Case) -> None:
    check_case(case)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


PAST = [("a", 2, "b", 4), ("a", 2, "b", 4)]
RULES = [
    Rule("Attention", [("a", 4, "b", 6), ("a", 2, 5, 6), ("a", 2, 5, 3)], num_outputs=4),
    Rule("Attention", [("a", 3, 16), ("a", 5, 8), ("a", 5, 8), ("a", 1, 3, 5)], {"q_num_heads": 4, "kv_num_heads": 2}),
    Rule("Attention", [("a", 2, 3, 4), ("a", 2, 3, 4), ("a", 2, 3, 4), None, *PAST], {"is_causal": 1}, num_outputs=4),
    Rule(
        "Attention", [("a", 2, 1, 4), ("a", 2, "b", 4), ("a", 2, "b", 4)] + [None] * 3 + [("a",)], dtypes={6: "int64"}
    ),
    Rule("RotaryEmbedding", [("a", 2, "b", 4), (9, 2), (9, 2), ("a", "b")], {}, {3: "int64"}, {3: 9}),
    Rule(
        "RotaryEmbedding", [("a", "b", 16), ("a", "b", 2), ("a", "b", 2)], {"num_heads": 2, "rotary_embedding_dim": 4}
    ),
    Rule(
        "LinearAttention",
        [("a", "b", 8), ("a", "b", 4), ("a", "b", 6), None, ("a", "b", 2), ("a", "b", 1)],
        {"q_num_heads": 4, "kv_num_heads": 2},
        num_outputs=2,
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


@pytest.mark.parametrize(("mask", "causal"), [(None, False), (None, True), ("bool", False), ("float", False)])
@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)])
def test_against_torch(heads: tuple[int, int], mask: str | None, causal: bool) -> None:
    q, k, v = f32(2, heads[0], 5, 8), f32(2, heads[1], 5, 8), f32(2, heads[1], 5, 6)
    given = None if mask is None else RNG.random((2, 1, 5, 5)) > 0.3 if mask == "bool" else f32(5, 5)
    expected = F.scaled_dot_product_attention(
        *map(torch.from_numpy, (q, k, v)),
        attn_mask=None if given is None else torch.from_numpy(given),
        is_causal=causal,
        scale=0.3,
        enable_gqa=True,
    ).numpy()
    got = run_node("Attention", q, k, v, given, scale=0.3, is_causal=causal)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_batch_too_large_for_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v, mask = f32(3, 4, 5, 8), f32(3, 2, 7, 8), f32(3, 2, 7, 8), f32(3, 4, 5, 7)
    whole = run_node("Attention", q, k, v, mask, num_outputs=4, qk_matmul_output_mode=3)
    monkeypatch.setattr("ge_core.reference.attention._SCORES", 10)
    for a, b in zip(whole, run_node("Attention", q, k, v, mask, num_outputs=4, qk_matmul_output_mode=3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_tokens_one_by_one_give_the_same_as_at_once() -> None:
    q, k, v = f32(2, 4, 6, 8), f32(2, 2, 6, 8), f32(2, 2, 6, 8)
    whole = run_node("Attention", q, k, v, is_causal=1)
    keys, values = f32(2, 2, 0, 8), f32(2, 2, 0, 8)
    for t in range(6):
        part = slice(t, t + 1)
        y, keys, values = run_node(
            "Attention", q[:, :, part], k[:, :, part], v[:, :, part], None, keys, values, is_causal=1, num_outputs=3
        )
        np.testing.assert_allclose(y, whole[:, :, part], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(keys, k)


def test_rows_without_a_key_are_zero() -> None:
    q, k, v = f32(1, 1, 3, 4), f32(1, 1, 2, 4), f32(1, 1, 2, 4)
    mask = np.array([[True, True], [False, False], [True, False]])
    got = run_node("Attention", q, k, v, mask)
    assert not got[0, 0, 1].any()
    np.testing.assert_allclose(got[0, 0, 2], v[0, 0, 0], rtol=1e-6)
    assert not run_node("Attention", q, k[:, :, :0], v[:, :, :0]).any()


def test_the_state_of_linear_attention_carries_over() -> None:
    q, k, v = f32(2, 5, 8), f32(2, 5, 4), f32(2, 5, 6)
    decay, beta = -np.abs(f32(2, 5, 2)), f32(2, 5, 2)
    attrs = {"q_num_heads": 4, "kv_num_heads": 2, "num_outputs": 2}
    whole, end = run_node("LinearAttention", q, k, v, None, decay, beta, **attrs)
    cut = [(x[:, :2], x[:, 2:]) for x in (q, k, v, decay, beta)]
    first, state = run_node("LinearAttention", *(c[0] for c in cut[:3]), None, *(c[0] for c in cut[3:]), **attrs)
    rest, last = run_node("LinearAttention", *(c[1] for c in cut[:3]), state, *(c[1] for c in cut[3:]), **attrs)
    np.testing.assert_allclose(np.concatenate([first, rest], axis=1), whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(last, end, rtol=1e-4, atol=1e-5)


def test_positions_out_of_range_are_errors() -> None:
    with pytest.raises(IndexRangeError, match="0 to 9 for a table of 9"):
        run_node("RotaryEmbedding", f32(1, 1, 2, 4), f32(9, 2), f32(9, 2), np.array([[0, 9]]))


@pytest.mark.parametrize(
    ("shapes", "attrs", "why"),
    [
        ([(1, 4, 2, 8), (1, 3, 2, 8), (1, 3, 2, 8)], {}, "does not divide into 3 heads"),
        ([(1, 4, 2, 8), (1, 4, 2, 6), (1, 4, 2, 8)], {}, "head size"),
        ([(1, 2, 8), (1, 2, 8), (1, 2, 8)], {}, "need q_num_heads"),
        ([(1, 2, 8), (1, 2, 8), (1, 2, 8)], {"q_num_heads": 3, "kv_num_heads": 2}, "does not divide into 3 heads"),
        ([(1, 4, 2, 8)] * 3, {"q_num_heads": 4}, "for 3-D inputs only"),
        ([(1, 4, 2, 8)] * 3 + [(1, 4, 3, 2)], {}, "attn_mask and the expected one differ"),
        ([(1, 4, 2, 8)] * 3 + [(2, 3)], {}, "covers 3 keys, there are 2"),
        ([(1, 4, 2, 8)] * 3, {"left_window_size": -2}, "expected -1 or more"),
    ],
)
def test_refused(shapes: list[tuple[int, ...]], attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        run_node("Attention", *(np.ones(s, np.float32) for s in shapes), **attrs)
