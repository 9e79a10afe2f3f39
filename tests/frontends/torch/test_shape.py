"""Views, permutations, joins, splits and pads against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim
from torch.nn import functional as F

from tests.frontends.torch.agreement import check, check_all

X = torch.arange(24.0).reshape(2, 3, 4)

VIEWS: list[Callable[..., Any]] = [
    lambda x: x.view(6, 4), lambda x: x.reshape(-1), lambda x: x.reshape(2, -1), lambda x: x.flatten(),
    lambda x: x.flatten(1),
    lambda x: x.flatten(0, 1), lambda x: x.unflatten(2, (2, 2)), lambda x: x.unflatten(-1, (-1, 1)),
    lambda x: x.ravel(),
    lambda x: x.view_as(x.reshape(x.shape)), lambda x: x.unsqueeze(0), lambda x: x.unsqueeze(-1),
    lambda x: x.unsqueeze(1).squeeze(1),
    lambda x: x[None].squeeze(), lambda x: x.squeeze(0), lambda x: x[:, :1].squeeze(-2),
    lambda x: x[:, :1, :1].squeeze((1, 2)),
    lambda x: x.permute(2, 0, 1), lambda x: x.permute(0, -1, 1), lambda x: x.transpose(0, 2),
    lambda x: x.transpose(-1, -2),
    lambda x: x[0].t(), lambda x: x.mT, lambda x: x.swapaxes(0, 1), lambda x: x.movedim(0, 2),
    lambda x: x.movedim((0, 1), (2, 0)),
    lambda x: x.expand(5, 2, 3, 4), lambda x: x[:, :1].expand(-1, 6, -1), lambda x: x[:, :1].expand_as(x),
    lambda x: x.broadcast_to(2, 2, 3, 4),
    lambda x: x.repeat(1, 2, 1), lambda x: x.repeat(2, 1, 1, 3), lambda x: x.tile(2), lambda x: x.tile(1, 2, 1, 1),
    lambda x: x.repeat_interleave(2), lambda x: x.repeat_interleave(3, dim=1), lambda x: x.flip(0),
    lambda x: x.flip(1, -1),
    lambda x: torch.fliplr(x), lambda x: x.roll(1), lambda x: x.roll(-1, 1), lambda x: x.roll((1, 2), (0, 2)),
    lambda x: x.roll(7, 2),
    lambda x: x.unfold(2, 2, 1), lambda x: x.unfold(1, 2, 2), lambda x: x.unfold(0, 2, 1),
    lambda x: torch.atleast_2d(x), lambda x: torch.rot90(x),
    lambda x: x.diagonal(), lambda x: x.diagonal(1, 1, 2), lambda x: x.diagonal(-1, 1, 2), lambda x: x.tril(),
    lambda x: x.triu(1), lambda x: x.tril(-1),
    lambda x: x.as_strided((2, 2), (1, 4), 3), lambda x: torch.diag_embed(x),
    lambda x: x.swapdims(0, 1).contiguous().view(-1),
]  # fmt: skip

SLICES: list[Callable[..., Any]] = [
    lambda x: x[1], lambda x: x[-1], lambda x: x[:, 1], lambda x: x[..., -2], lambda x: x[:, 1:], lambda x: x[:, :-1],
    lambda x: x[:, -2:], lambda x: x[:, ::2], lambda x: x[:, 1:100], lambda x: x[..., 3:1],
    lambda x: x[..., 1::2], lambda x: x[1, 2, 3],
    lambda x: x.narrow(1, 1, 2), lambda x: x.select(1, -1), lambda x: x[:, None, 1:, ..., None], lambda x: x[5:],
]  # fmt: skip

JOINS: list[Callable[..., Any]] = [
    lambda x: torch.cat([x, x]), lambda x: torch.cat([x, x[:, :, :1]], -1), lambda x: torch.cat([x, x.int()], 1),
    lambda x: torch.cat([torch.zeros(0), x]), lambda x: torch.stack([x, x], 1), lambda x: torch.stack([x, x], -1),
    lambda x: torch.hstack([x, x]), lambda x: torch.vstack([x, x]), lambda x: torch.dstack([x, x]),
    lambda x: x.split(2, 1), lambda x: x.split([1, 3], -1), lambda x: x.chunk(2), lambda x: x.chunk(3, 2),
    lambda x: x.unbind(), lambda x: x.unbind(-1),
    lambda x: torch.tensor_split(x, 3, 2), lambda x: torch.tensor_split(x, (1, 2), 1),
    lambda x: torch.broadcast_tensors(x, x[:1], x[0]),
    lambda x: torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
    lambda x: torch.meshgrid(x[0, 0], x[0, :, 0], indexing="xy"),
    lambda x: torch.cartesian_prod(x[0, 0], x[0, :, 0]), lambda x: torch.block_diag(x[0], x[1]),
]  # fmt: skip


def test_views() -> None:
    check_all(VIEWS, (X,))


def test_slices() -> None:
    check_all(SLICES, (X,))


def test_joins_and_splits() -> None:
    check_all(JOINS, (X,))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float16, torch.bfloat16])
def test_other_element_types(dtype: torch.dtype) -> None:
    check_all([*VIEWS, *SLICES, *JOINS[4:12]], ((X % 3).to(dtype),))


def test_rank_zero() -> None:
    x = torch.tensor(2.0)
    check_all(
        [
            lambda v: v.reshape(1, 1), lambda v: v.unsqueeze(0), lambda v: v.squeeze(), lambda v: v.expand(3),
            lambda v: v.flatten(),
            lambda v: torch.stack([v, v]), lambda v: v.repeat(2),
            lambda v: v.repeat_interleave(2),
            lambda v: v.transpose(0, -1), lambda v: v.t(),
        ],
        (x,),
    )  # fmt: skip


def test_empty_tensors() -> None:
    check_all(JOINS[:9], (torch.zeros(2, 0, 4),))
    check_all(
        [lambda v: v.reshape(0, 8), lambda v: v.flip(0), lambda v: v.transpose(1, 2), lambda v: v.roll(1, 1)],
        (torch.zeros(2, 0, 4),),
    )


PADS: list[Callable[..., Any]] = [
    lambda x: F.pad(x, (1, 2)), lambda x: F.pad(x, (1, 2, 3, 0), value=1.5), lambda x: F.pad(x, (-1, 1, 0, -1)),
    lambda x: F.pad(x, (1, 1), mode="reflect"), lambda x: F.pad(x, (1, 2), mode="replicate"),
    lambda x: F.pad(x, (2, 1), mode="circular"),
    lambda x: F.pad(x, (0, 0, 0, 0)),
]  # fmt: skip


def test_pads() -> None:
    check_all(PADS, (X,))
    planes: list[Callable[..., Any]] = [
        lambda x: F.pad(x, (1, 1, 2, 2), mode="reflect"), lambda x: F.pad(x, (1, 1, 2, 0), mode="replicate"),
        lambda x: F.pad(x, (1, 1, 2, 2), mode="circular"), lambda x: F.pixel_shuffle(x, 2),
        lambda x: F.pixel_unshuffle(x, 3),
        lambda x: F.pixel_shuffle(x[0], 2), lambda x: F.pixel_unshuffle(x[0], 2), lambda x: F.channel_shuffle(x, 2),
    ]  # fmt: skip
    check_all(planes, (torch.randn(2, 4, 6, 6),))
    check_all([lambda x: F.pad(x, (1, 1), value=3)], (torch.arange(4),))
    check_all([lambda x: F.pad(x, (1, 1), value=True)], (torch.tensor([True, False]),))


def test_dynamic_sizes() -> None:
    n, m = Dim("n", min=1), Dim("m", min=1)
    functions: list[Callable[..., Any]] = [
        lambda x: x.reshape(x.shape[0], -1), lambda x: x.flatten(0, 1), lambda x: x.view(-1, 2, 2),
        lambda x: x.permute(2, 1, 0),
        lambda x: x.unsqueeze(1).expand(-1, 5, -1, -1), lambda x: x.expand(2, *x.shape),
        lambda x: torch.cat([x, x], 1),
        lambda x: x.repeat(2, 1, 1), lambda x: x[:, -1],
        lambda x: x[-1:],
        lambda x: x.flip(1), lambda x: x.split(2, 2), lambda x: x.roll(1, 0), lambda x: F.pad(x, (0, 0, 1, 2)),
        lambda x: x.repeat_interleave(2, 1),
        lambda x: x.view(x.shape[0], x.shape[1], 2, 2).transpose(1, 2).reshape(x.shape[0], 2, -1),
        lambda x: x.mT, lambda x: x.triu(),
        lambda x: x.new_zeros(x.shape[0], 2 * x.shape[1] + 1), lambda x: torch.arange(x.shape[1]),
        lambda x: torch.ones(x.shape[1], x.shape[0]),
        lambda x: x.shape[0] * x.shape[1], lambda x: torch.full((x.shape[0],), x.shape[1]), lambda x: x.tile(1, 3, 1),
        lambda x: x.unfold(2, 2, 2),
        lambda x: torch.stack([x, x]),
    ]  # fmt: skip
    imported = check_all(functions, (X,), dynamic=({0: n, 1: m},), sizes=(1, 6))
    assert [str(s) for s in imported.graph.inputs[0].shape] == ["n", "m", "4"]


def test_dynamic_slices() -> None:
    m = Dim("m", min=4)
    functions: list[Callable[..., Any]] = [
        lambda x: x[:, 1:], lambda x: x[:, :-2], lambda x: x[:, ::2],
        lambda x: x[:, -1],
        lambda x: torch.arange(0, x.shape[1], 2), lambda x: x[:, 1:-1] + x[:, 2:],
    ]  # fmt: skip
    check_all(functions, (torch.randn(2, 6),), dynamic=({1: m},), sizes=(4, 9))


def test_sizes_that_torch_relates() -> None:
    n = Dim("n", min=2)
    imported = check(
        lambda x, y: (x + y[: x.shape[0]], y.view(2, -1)),
        (torch.randn(3, 4), torch.randn(6, 4)),
        dynamic=({0: n}, {0: 2 * n}),
    )
    assert str(imported.graph.inputs[1].shape[0]) == "2*n"


CREATION: list[Callable[..., Any]] = [
    lambda x: torch.zeros(2, 3), lambda x: torch.ones(2, dtype=torch.int32), lambda x: torch.full((2, 2), 7),
    lambda x: torch.full((2,), 1.5),
    lambda x: torch.full((1,), True), lambda x: torch.zeros_like(x),
    lambda x: torch.ones_like(x, dtype=torch.bool), lambda x: torch.full_like(x, 3),
    lambda x: x.new_zeros(2), lambda x: x.new_ones(2, 2), lambda x: x.new_full((2,), 4),
    lambda x: torch.arange(5), lambda x: torch.arange(1, 10, 3),
    lambda x: torch.arange(0, 1, 0.1), lambda x: torch.arange(5.0), lambda x: torch.arange(10, 0, -2),
    lambda x: torch.arange(3, dtype=torch.float16),
    lambda x: torch.linspace(0, 1, 7), lambda x: torch.linspace(-3, 5, 1),
    lambda x: torch.linspace(0, 10, 5, dtype=torch.int64), lambda x: torch.eye(3),
    lambda x: torch.eye(2, 4, dtype=torch.int32), lambda x: torch.tril_indices(3, 4),
    lambda x: torch.triu_indices(3, 3, 1),
    lambda x: torch.tensor([1.0, 2.0]) * x[0, 0, :2], lambda x: torch.scalar_tensor(3.0),
    lambda x: torch.hann_window(8), lambda x: torch.hamming_window(9),
    lambda x: torch.blackman_window(8, periodic=False), lambda x: torch.hann_window(1),
    lambda x: F.one_hot(torch.arange(4) % 3, 5),
    lambda x: torch.logspace(0, 2, 3), lambda x: x.new_tensor(2.0) + x, lambda x: torch.empty(2, 0),
    lambda x: torch.vander(x[0, 0], 3),
]  # fmt: skip


def test_creation() -> None:
    check_all(CREATION, (X,))
