"""Attention and transformer layers against torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

from ge_core.errors import UnsupportedError
from ge_frontend_torch.importer import import_model
from tests.frontends.torch.agreement import check, check_all

torch.manual_seed(0)
sdpa = F.scaled_dot_product_attention


def test_masks_and_scales() -> None:
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 6)
    allowed = torch.rand(5, 7) > 0.3
    allowed[:, 0] = True
    check_all(
        [
            lambda q, k, v, m: sdpa(q, k, v), lambda q, k, v, m: sdpa(q, k, v, m),
            lambda q, k, v, m: sdpa(q, k, v, m.float()),
            lambda q, k, v, m: sdpa(q, k, v, m[None, None].expand(2, 4, 5, 7)),
            lambda q, k, v, m: sdpa(q, k, v, m[None].expand(4, 5, 7)), lambda q, k, v, m: sdpa(q, k, v, m[:, :1]),
            lambda q, k, v, m: sdpa(q, k, v, scale=0.3),
            lambda q, k, v, m: sdpa(q, k, v, is_causal=True), lambda q, k, v, m: sdpa(q, q, q, is_causal=True),
            lambda q, k, v, m: sdpa(q[0], k[0], v[0]), lambda q, k, v, m: sdpa(q[0, 0], k[0, 0], v[0, 0], m),
            lambda q, k, v, m: sdpa(q[None], k[None], v[None], m), lambda q, k, v, m: sdpa(q, k[:1], v[:1]),
            lambda q, k, v, m: sdpa(q, k, v, torch.zeros(5, 7, dtype=torch.bool)),
            lambda q, k, v, m: sdpa(q, k[:, :2], v[:, :2], m, enable_gqa=True),
            lambda q, k, v, m: sdpa(q, k[:, :1], v[:, :1], enable_gqa=True),
            lambda q, k, v, m: sdpa(q[0], k[0], v[0], m[None].expand(4, 5, 7)),
        ],
        (q, k, v, allowed),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_element_types(dtype: torch.dtype) -> None:
    q = torch.randn(1, 2, 5, 8).to(dtype)
    check_all([lambda q: sdpa(q, q, q), lambda q: sdpa(q, q, q, torch.zeros(5, 5, dtype=q.dtype))], (q,))


def test_dynamic_lengths() -> None:
    s, t, n = Dim("s", min=2), Dim("t", min=2), Dim("n")
    q, k = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8)
    functions = [
        lambda q, k: sdpa(q, k, k),
        lambda q, k: sdpa(q, q, q, is_causal=True),
        lambda q, k: sdpa(q, k, k, torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()),
    ]
    check_all(functions, (q, k), dynamic=({0: n, 2: s}, {0: n, 2: t}), sizes=(2, 6))


def test_dropout_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="dropout"):
        import_model(lambda q: sdpa(q, q, q, dropout_p=0.5), (torch.randn(1, 2, 3, 4),))


def test_transformer_modules() -> None:
    s, t, n = Dim("s", min=2), Dim("t", min=2), Dim("n", min=2)
    x, y = torch.randn(2, 6, 16), torch.randn(2, 4, 16)
    check(
        nn.Transformer(16, 2, 1, 1, 32, batch_first=True), (x, y), dynamic=({0: n, 1: s}, {0: n, 1: t}), tolerance=1e-5
    )
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu"), 2)
    check(encoder, (x,), dynamic=({0: n, 1: s},), tolerance=1e-5)
    check(nn.TransformerDecoderLayer(16, 2, 32, norm_first=True), (y, torch.randn(3, 4, 16)), tolerance=1e-5)


def test_multihead_attention() -> None:
    class Attend(nn.Module):
        def __init__(self, **options: object) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True, **options)  # type: ignore[arg-type]

        def forward(self, x: torch.Tensor, padding: torch.Tensor, mask: torch.Tensor) -> object:
            first = self.attention(x, x, x, key_padding_mask=padding)
            return first, self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]

    x, padding = torch.randn(2, 5, 16), torch.tensor([[False] * 5, [False, False, False, True, True]])
    mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    check(Attend(), (x, padding, mask), tolerance=1e-5)
    check(Attend(bias=False, add_bias_kv=False), (x, padding, mask.float() * -1e4), tolerance=1e-5)
