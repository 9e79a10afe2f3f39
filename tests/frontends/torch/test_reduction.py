"""Reductions, cumulative operators, sorting and statistics against torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim
from torch.nn import functional as F

from tests.frontends.torch.agreement import check_all

REDUCTIONS: list[Callable[..., Any]] = [
    torch.sum, lambda x: x.sum(1), lambda x: x.sum((0, -1)), lambda x: x.sum(1, keepdim=True),
    lambda x: x.sum(dtype=torch.float64), lambda x: x.sum([]),
    torch.amax, torch.amin, lambda x: x.amax(1), lambda x: x.amin((0, 2), keepdim=True), torch.max, torch.min,
    lambda x: x.max(1), lambda x: x.min(-1, keepdim=True),
    torch.argmax, torch.argmin, lambda x: x.argmax(1), lambda x: x.argmin(-1, keepdim=True),
    lambda x: torch.aminmax(x), lambda x: torch.aminmax(x, dim=1),
    torch.prod, lambda x: x.prod(1), lambda x: x.prod(2, keepdim=True), torch.any, torch.all,
    lambda x: x.any(1), lambda x: x.all(-1, keepdim=True),
    lambda x: torch.any(x, (0, 1)), torch.count_nonzero, lambda x: torch.count_nonzero(x, 1),
    lambda x: x.cumsum(1), lambda x: x.cumsum(-1), lambda x: x.cumprod(2),
    lambda x: x.cummax(1), lambda x: x.cummin(-1), lambda x: x.diff(), lambda x: x.diff(dim=0),
    lambda x: x.diff(n=2, dim=1), lambda x: torch.diff(x, prepend=x[..., :1]),
    lambda x: x[0].trace(),
]  # fmt: skip
ORDERS: list[Callable[..., Any]] = [
    lambda x: x.sort(stable=True), lambda x: x.sort(dim=1, descending=True, stable=True),
    lambda x: x.argsort(dim=0, stable=True), lambda x: torch.msort(x),
    lambda x: x.topk(2), lambda x: x.topk(2, 1, largest=False), lambda x: x.topk(1, 0),
    lambda x: x.kthvalue(2, 1), lambda x: x.kthvalue(1, keepdim=True),
]  # fmt: skip
FLOATS_ONLY: list[Callable[..., Any]] = [
    torch.mean, lambda x: x.mean(1), lambda x: x.mean((0, 2), keepdim=True), torch.var, torch.std,
    lambda x: x.var(1), lambda x: x.std((0, 2)),
    lambda x: x.var(1, unbiased=False, keepdim=True), lambda x: x.var(1, correction=0),
    lambda x: torch.var_mean(x, 1), lambda x: torch.std_mean(x, (0, 1), correction=2),
    lambda x: x.logsumexp(1), lambda x: x.logsumexp((0, 2), keepdim=True), lambda x: x.softmax(1),
    lambda x: x.log_softmax(-1), lambda x: F.softmin(x, 1),
    lambda x: x.norm(), lambda x: x.norm(dim=1), lambda x: x.norm(p=1, dim=(0, 2)),
    lambda x: x.norm(p=3, dim=1, keepdim=True), lambda x: x.norm(p=math.inf, dim=1),
    lambda x: torch.linalg.vector_norm(x, 0, 1), lambda x: torch.linalg.norm(x, dim=1),
    lambda x: x.norm(p=-math.inf, dim=-1), lambda x: torch.linalg.norm(x[0]),
    lambda x: F.normalize(x, dim=1), lambda x: F.cosine_similarity(x, x.flip(0), 1),
    lambda x: torch.nansum(x, 1), lambda x: x.logcumsumexp(1), lambda x: x.cumsum(1, dtype=torch.float64),
    lambda x: torch.softmax(x, 1, dtype=torch.float64), lambda x: torch.cdist(x, x.flip(1)),
    lambda x: F.layer_norm(x, (4,)),
]  # fmt: skip


def distinct(dtype: torch.dtype) -> torch.Tensor:
    """Numbers that every type tells apart."""
    return ((torch.randperm(24, generator=torch.Generator().manual_seed(0)) - 11) / 4).reshape(2, 3, 4).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_floats(dtype: torch.dtype) -> None:
    x = distinct(dtype)
    narrow = dtype in (torch.bfloat16, torch.float16)
    loose = {torch.float16: 4e-3, torch.bfloat16: 2e-2}.get(dtype)
    check_all([*REDUCTIONS, *ORDERS], (x,), tolerance=loose)
    check_all(FLOATS_ONLY if not narrow else FLOATS_ONLY[:24], (x,), tolerance=loose)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.int8])
def test_integers(dtype: torch.dtype) -> None:
    x = (torch.arange(24).reshape(2, 3, 4) * 7 % 11).to(dtype)
    check_all(REDUCTIONS, (x,))
    check_all(ORDERS[:4], (x,))
    check_all([lambda v: v.topk(2)[0], lambda v: v.float().mean(1), lambda v: v.median(1).values], (x,))


def test_bools() -> None:
    x = torch.tensor([[True, False, True], [False, False, False]])
    check_all(
        [
            torch.sum, lambda v: v.sum(1), torch.any, torch.all, lambda v: v.any(1),
            lambda v: v.all(0, keepdim=True), lambda v: v.cumsum(1),
            lambda v: v.amax(1), lambda v: v.max(), lambda v: v.int().argmax(1),
            lambda v: torch.count_nonzero(v, 0), lambda v: v.prod(1), lambda v: v.diff(),
            lambda v: v.sort(dim=1, stable=True),
        ],
        (x,),
    )  # fmt: skip


def test_special_values() -> None:
    x = torch.tensor(
        [[1.0, math.nan, 3.0], [math.inf, -math.inf, 0.0], [-0.0, 0.0, 2.0], [-math.inf, -math.inf, -math.inf]]
    )
    check_all(
        [
            lambda v: v.sum(1), lambda v: v.amax(1), lambda v: v.amin(1), lambda v: v.max(1),
            lambda v: v.min(1), lambda v: v.argmax(1), lambda v: v.argmin(1),
            lambda v: v.mean(1), lambda v: v.logsumexp(1), lambda v: v.softmax(1), lambda v: v.cumsum(1),
            lambda v: v.prod(1), lambda v: torch.nansum(v, 1),
            lambda v: v.sort(dim=1, stable=True), lambda v: v.sort(dim=1, descending=True, stable=True),
            lambda v: v.topk(2, 1)[0], lambda v: v.any(1), lambda v: v.cummax(1),
        ],
        (x,),
    )  # fmt: skip


def test_rank_zero() -> None:
    x = torch.tensor(3.0)
    check_all(
        [
            torch.sum, torch.mean, torch.amax, torch.max, torch.argmax, torch.prod, torch.any,
            lambda v: v.sum(0), lambda v: v.mean(-1, keepdim=True), lambda v: v.max(0),
            lambda v: v.softmax(0), lambda v: v.logsumexp(0), lambda v: v.cumsum(0), lambda v: v.sort(),
            lambda v: v.norm(), lambda v: v.var(unbiased=False), lambda v: v.cummax(0),
        ],
        (x,),
    )  # fmt: skip


def test_empty_tensors() -> None:
    x = torch.zeros(0, 3)
    check_all(
        [
            torch.sum,
            torch.mean,
            torch.prod,
            torch.any,
            torch.all,
            lambda v: v.sum(0),
            lambda v: v.amax(1),
            lambda v: v.mean(0),
            lambda v: v.softmax(1),
        ],
        (x,),
    )


def test_dynamic_sizes() -> None:
    n = Dim("n", min=1)
    functions = [
        lambda x: x.sum(1), lambda x: x.mean(1), lambda x: x.mean(), lambda x: x.var(1, correction=0),
        lambda x: x.var(1), lambda x: x.softmax(1), lambda x: x.amax(1),
        lambda x: x.argmax(1), lambda x: x.cumsum(1), lambda x: x.norm(dim=1),
        lambda x: x.sort(dim=1, stable=True), lambda x: x.logsumexp((0, 1)), lambda x: x.std(),
        lambda x: x.topk(1, 1), lambda x: x.argmax(),
    ]  # fmt: skip
    check_all(functions, (distinct(torch.float32),), dynamic=({1: n},), sizes=(1, 6))
