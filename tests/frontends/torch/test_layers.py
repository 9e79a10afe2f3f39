"""Convolutions, pools, norms, products, recurrent layers and resizing against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

from ge_core.errors import UnsupportedError
from ge_frontend_torch.importer import import_model
from tests.frontends.torch.agreement import check, check_all

torch.manual_seed(0)


def test_convolutions() -> None:
    x, w, b = torch.randn(2, 4, 9, 8), torch.randn(6, 4, 3, 3), torch.randn(6)
    check_all(
        [
            lambda x, w, b: F.conv2d(x, w, b), lambda x, w, b: F.conv2d(x, w, None, 2, 1),
            lambda x, w, b: F.conv2d(x, w, b, (1, 2), (2, 0), (1, 2)),
            lambda x, w, b: F.conv2d(x, w[:, :2], b, 1, 1, 1, 2),
            lambda x, w, b: F.conv2d(x, w[:4, :1], None, 1, "same", 1, 4),
            lambda x, w, b: F.conv2d(x, w[..., :2], None, padding="same"),
            lambda x, w, b: F.conv2d(x, w, None, padding="valid"), lambda x, w, b: F.conv2d(x[0], w, b),
            lambda x, w, b: F.conv1d(x[..., 0], w[..., 0], b, 2, 1),
            lambda x, w, b: F.conv3d(x[:, :, None], w[:, :, None], b, padding=1),
            lambda x, w, b: F.conv_transpose2d(x, w.transpose(0, 1), b),
            lambda x, w, b: F.conv_transpose2d(x, w.transpose(0, 1), b, 2, 1, 1),
            lambda x, w, b: F.conv_transpose2d(x, w[:4, :2], None, (2, 1), groups=2, dilation=(1, 2)),
            lambda x, w, b: F.conv_transpose1d(x[..., 0], w[:4, :, :, 0], None, 3, 1, 2),
            lambda x, w, b: F.conv_transpose3d(x[:, :, None], w.transpose(0, 1)[:, :, None], b),
            lambda x, w, b: F.unfold(x, 3, padding=1), lambda x, w, b: F.unfold(x, (2, 3), 2, 1, (1, 2)),
            lambda x, w, b: F.fold(F.unfold(x, 2, stride=1), (9, 8), 2),
            lambda x, w, b: F.unfold(x[0], 2), lambda x, w, b: F.conv2d(x.double(), w.double()),
        ],
        (x, w, b),
    )  # fmt: skip
    check(nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), (x,), dynamic=({0: Dim("n")},))
    check(
        nn.Conv2d(4, 6, 3, 2, 1), (x,), dynamic=({0: Dim("n"), 2: Dim("h", min=3), 3: Dim("w", min=3)},), sizes=(3, 10)
    )


POOLS: list[Callable[..., Any]] = [
    lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1),
    lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), lambda x: F.max_pool2d(x, (2, 3), 1, dilation=2),
    lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    lambda x: F.max_pool2d(x[0], 2, return_indices=True), lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True),
    lambda x: F.avg_pool2d(x, 2), lambda x: F.avg_pool2d(x, 3, 2, 1),
    lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    lambda x: F.avg_pool2d(x, 2, 3, ceil_mode=True), lambda x: F.avg_pool2d(x, 2, divisor_override=3),
    lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), lambda x: F.avg_pool2d(x[0], 2),
    lambda x: F.adaptive_avg_pool2d(x, 1), lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    lambda x: F.adaptive_avg_pool2d(x, (None, 4)), lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
    lambda x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True), lambda x: F.adaptive_max_pool2d(x, 1),
    lambda x: F.lp_pool2d(x, 2, 2), lambda x: F.local_response_norm(x, 3),
    lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    lambda x: F.adaptive_avg_pool2d(x[0], (3, 2)),
]  # fmt: skip


def test_pools() -> None:
    x = torch.randn(2, 3, 9, 8)
    check_all(POOLS, (x,))
    lines: list[Callable[..., Any]] = [
        lambda x: F.max_pool1d(x, 2), lambda x: F.max_pool1d(x, 3, 2, 1, ceil_mode=True),
        lambda x: F.avg_pool1d(x, 3, 2, 1), lambda x: F.adaptive_avg_pool1d(x, 4),
        lambda x: F.adaptive_max_pool1d(x, 3), lambda x: F.max_pool1d(x, 2, return_indices=True),
        lambda x: F.adaptive_avg_pool1d(x, 1),
    ]  # fmt: skip
    check_all(lines, (x[..., 0],))
    volumes: list[Callable[..., Any]] = [
        lambda x: F.max_pool3d(x, 2), lambda x: F.avg_pool3d(x, 2, 1, 1),
        lambda x: F.adaptive_avg_pool3d(x, (2, 3, 1)), lambda x: F.max_pool3d(x, 2, return_indices=True),
        lambda x: F.adaptive_max_pool3d(x, 2),
    ]  # fmt: skip
    check_all(volumes, (torch.randn(2, 3, 4, 5, 6),))


def test_pools_of_dynamic_size() -> None:
    x = torch.randn(2, 3, 9, 8)
    pools = [POOLS[0], POOLS[1], POOLS[8], POOLS[9], POOLS[15], POOLS[16]]
    check_all(pools, (x,), dynamic=({0: Dim("n", min=1), 2: Dim("h", min=4), 3: Dim("w", min=4)},), sizes=(4, 11))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms(dtype: torch.dtype) -> None:
    x = torch.randn(2, 4, 5, 3).to(dtype)
    w, b, s = torch.rand(4).to(dtype), torch.randn(4).to(dtype), torch.rand(4).to(dtype) + 0.5
    check_all(
        [
            lambda x, w, b, s: F.batch_norm(x, b, s, w, b), lambda x, w, b, s: F.batch_norm(x, b, s),
            lambda x, w, b, s: F.batch_norm(x[..., 0, 0], b, s, w, b, eps=0.1),
            lambda x, w, b, s: F.layer_norm(x, (3,)),
            lambda x, w, b, s: F.layer_norm(x, (5, 3), x[0, 0], x[1, 0]),
            lambda x, w, b, s: F.layer_norm(x, (3,), w[:3], None, 1e-3),
            lambda x, w, b, s: F.group_norm(x, 2, w, b), lambda x, w, b, s: F.group_norm(x, 4),
            lambda x, w, b, s: F.instance_norm(x), lambda x, w, b, s: F.instance_norm(x, None, None, w, b),
            lambda x, w, b, s: F.rms_norm(x, (3,)), lambda x, w, b, s: F.rms_norm(x, (5, 3), x[0, 0], 1e-4),
            lambda x, w, b, s: F.normalize(x, dim=-1),
            lambda x, w, b, s: torch.native_layer_norm(x, [3], None, None, 1e-5)[0],
            lambda x, w, b, s: F.group_norm(x[..., 0], 2), lambda x, w, b, s: F.instance_norm(x[..., 0]),
        ],
        (x, w, b, s),
    )  # fmt: skip


def test_norm_modules() -> None:
    x = torch.randn(2, 4, 5, 3)
    for module in (
        nn.BatchNorm2d(4),
        nn.InstanceNorm2d(4, affine=True),
        nn.GroupNorm(2, 4),
        nn.BatchNorm2d(4, track_running_stats=False),
    ):
        check(module, (x,), dynamic=({0: Dim("n")},))
    check(nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 3, 2)), (x,))
    check(nn.InstanceNorm1d(4, affine=True, track_running_stats=True), (x[..., 0],))
    check(nn.BatchNorm1d(4), (x[:, :, 0, 0],))


def test_products() -> None:
    a, b, v = torch.randn(2, 3, 4), torch.randn(2, 4, 5), torch.randn(4)
    check_all(
        [
            lambda a, b, v: a @ b, lambda a, b, v: a @ v, lambda a, b, v: v @ b, lambda a, b, v: v @ v,
            lambda a, b, v: a[0] @ b[0], lambda a, b, v: torch.bmm(a, b),
            lambda a, b, v: a @ b[0], lambda a, b, v: a[0] @ b, lambda a, b, v: torch.mm(a[0], b[0]),
            lambda a, b, v: torch.mv(a[0], v), lambda a, b, v: torch.dot(v, v),
            lambda a, b, v: torch.addmm(a[0] @ b[0], a[0], b[0], beta=0.5, alpha=2),
            lambda a, b, v: torch.addmm(b[0, 0], a[0], b[0]),
            lambda a, b, v: torch.baddbmm(a @ b, a, b, beta=0, alpha=3),
            lambda a, b, v: torch.baddbmm(b[:, :1], a, b), lambda a, b, v: torch.addbmm(a[0] @ b[0], a, b),
            lambda a, b, v: torch.addmv(v[:3], a[0], v), lambda a, b, v: torch.outer(v, v),
            lambda a, b, v: torch.addr(v[:, None] * v, v, v), lambda a, b, v: F.linear(a, b[0].t()),
            lambda a, b, v: F.linear(a, b[0].t(), b[0, 0]), lambda a, b, v: F.linear(a[0], b[0].t(), b[0, 0]),
            lambda a, b, v: F.linear(v, b[0].t(), b[0, 0]), lambda a, b, v: F.linear(a, v),
            lambda a, b, v: F.bilinear(a[:, 0], b[:, :, 0], torch.ones(6, 4, 4)),
            lambda a, b, v: torch.inner(a, v),
            lambda a, b, v: torch.inner(a, a), lambda a, b, v: torch.tensordot(a, b, ([2], [1])),
            lambda a, b, v: torch.kron(a[0], b[0]), lambda a, b, v: torch.chain_matmul(a[0], b[0], b[0].t()),
            lambda a, b, v: torch.linalg.multi_dot([a[0], b[0], b[0].t()]),
            lambda a, b, v: torch.cross(a[:, :, :3], a[:, :, 1:], dim=1),
        ],
        (a, b, v),
    )  # fmt: skip
    check_all(
        [
            lambda a, b, v: torch.einsum("bij,bjk->bik", a, b),
            lambda a, b, v: torch.einsum("b i j, b j k -> i k", a, b),
            lambda a, b, v: torch.einsum("...ij,...jk", a, b),
            lambda a, b, v: torch.einsum("bij->bji", a), lambda a, b, v: torch.einsum("ii", a[0, :, :3]),
            lambda a, b, v: torch.einsum("i,j,k->kij", v, v, v),
            lambda a, b, v: torch.einsum("bij,j->bi", a, v),
            lambda a, b, v: torch.einsum("Bij,Bij", a, a),
        ],
        (a, b, v),
    )  # fmt: skip
    check_all([torch.matmul], (torch.arange(6).reshape(2, 3), torch.arange(12).reshape(3, 4)))
    m = torch.randn(2, 3, 3)
    check_all(
        [
            torch.det,
            torch.inverse,
            lambda m: torch.linalg.cholesky(m @ m.mT + torch.eye(3)),
            lambda m: torch.linalg.det(m),
        ],
        (m,),
        tolerance=1e-4,
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_products_in_16_bits(dtype: torch.dtype) -> None:
    a, w, b = torch.randn(2, 3, 8).to(dtype), torch.randn(5, 8).to(dtype), torch.randn(5).to(dtype)
    check_all(
        [
            F.linear,
            lambda a, w, b: F.linear(a[0], w, b),
            lambda a, w, b: torch.addmm(b, a[0], w.t()),
            lambda a, w, b: a @ w.t(),
        ],
        (a, w, b),
    )


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind: str) -> None:
    cls = getattr(nn, kind)
    for options in (
        {},
        {"bias": False},
        {"bidirectional": True, "num_layers": 2},
        {"batch_first": True, "num_layers": 2},
    ):
        layer = cls(5, 4, **options)
        x = torch.randn(6, 3, 5)
        check(layer, (x,), dynamic=({0: Dim("a", min=2), 1: Dim("b", min=2)},), sizes=(2, 7), tolerance=1e-5)
    check(cls(5, 4), (torch.randn(6, 5),), tolerance=1e-5)


def test_recurrent_layers_with_states() -> None:
    x, h, c = torch.randn(6, 3, 5), torch.randn(1, 3, 4), torch.randn(1, 3, 4)
    check(nn.LSTM(5, 4), (x, (h, c)), tolerance=1e-5)
    check(nn.GRU(5, 4), (x, h), tolerance=1e-5)
    check(nn.LSTM(5, 4, 2, proj_size=3, bidirectional=True), (x,), dynamic=({0: Dim("t", min=2)},), tolerance=1e-5)
    check(nn.RNN(5, 4, nonlinearity="relu"), (x,), tolerance=1e-5)
    check(nn.LSTM(5, 4, batch_first=True, dropout=0.5, num_layers=2), (x,), tolerance=1e-5)


def test_recurrent_cells() -> None:
    x, h = torch.randn(3, 5), torch.randn(3, 4)
    check(nn.LSTMCell(5, 4), (x, (h, h)))
    check(nn.GRUCell(5, 4), (x, h))
    check(nn.RNNCell(5, 4, nonlinearity="relu"), (x, h))
    check(nn.RNNCell(5, 4, bias=False), (x,))


RESIZES: list[Callable[..., Any]] = [
    lambda x: F.interpolate(x, scale_factor=2), lambda x: F.interpolate(x, size=(7, 9)),
    lambda x: F.interpolate(x, scale_factor=1.5), lambda x: F.interpolate(x, scale_factor=(0.5, 2)),
    lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    lambda x: F.interpolate(x, size=(3, 9), mode="nearest-exact"),
    lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    lambda x: F.interpolate(x, size=(7, 3), mode="bilinear"),
    lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
    lambda x: F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
    lambda x: F.interpolate(x, size=(1, 1), mode="bilinear", align_corners=True),
    lambda x: F.interpolate(x, size=(1, 3), mode="bilinear"),
    lambda x: F.interpolate(x, size=(9, 4), mode="bicubic"),
    lambda x: F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=True),
    lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True),
    lambda x: F.interpolate(x, size=(9, 9), mode="bilinear", antialias=True),
    lambda x: F.interpolate(x, size=(3, 4), mode="bicubic", antialias=True),
    lambda x: F.interpolate(x, size=(4, 3), mode="area"),
    lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
    lambda x: F.interpolate(x[..., 0], scale_factor=2, mode="linear"),
    lambda x: F.interpolate(x[..., 0], size=7),
    lambda x: F.interpolate(x[:, :, None], size=(2, 3, 4), mode="trilinear"),
    lambda x: F.interpolate(x[:, :, None], scale_factor=2),
]  # fmt: skip


def test_resizing() -> None:
    check_all(RESIZES, (torch.randn(2, 3, 6, 5),), tolerance=1e-5)


def test_resizing_of_dynamic_size() -> None:
    x = torch.randn(2, 3, 6, 5)
    functions = [
        RESIZES[0],
        RESIZES[6],
        RESIZES[7],
        RESIZES[9],
        lambda x: F.interpolate(x, size=(2 * x.shape[2], x.shape[3]), mode="bilinear"),
        lambda x: F.interpolate(x, scale_factor=0.5),
    ]
    check_all(
        functions,
        (x,),
        dynamic=({0: Dim("n", min=1), 2: Dim("h", min=4), 3: Dim("w", min=4)},),
        sizes=(4, 10),
        tolerance=1e-5,
    )


def test_sampling() -> None:
    x, grid, theta = torch.randn(2, 3, 5, 6), torch.rand(2, 4, 4, 2) * 2.4 - 1.2, torch.randn(2, 2, 3)
    modes = [
        (m, p, a)
        for m in ("bilinear", "nearest", "bicubic")
        for p in ("zeros", "border", "reflection")
        for a in (True, False)
    ]
    check_all(
        [lambda x, g, t, o=o: F.grid_sample(x, g, o[0], o[1], o[2]) for o in modes], (x, grid, theta), tolerance=1e-4
    )
    check_all([lambda x, g, t, a=a: F.affine_grid(t, [2, 3, 4, 5], a) for a in (True, False)], (x, grid, theta))


def test_signals() -> None:
    x = torch.randn(2, 32)
    window = torch.hann_window(8)
    check_all(
        [
            lambda x, w: torch.stft(x, 8, 4, window=w, return_complex=True).abs(),
            lambda x, w: torch.view_as_real(torch.stft(x, 16, window=w, win_length=8, return_complex=True)),
            lambda x, w: torch.stft(x[0], 8, 3, window=w, center=False, normalized=True, return_complex=True).abs(),
            lambda x, w: torch.stft(x, 8, window=w, onesided=False, return_complex=True).abs(),
            lambda x, w: torch.fft.rfft(x).abs(), lambda x, w: torch.fft.rfft(x, 20, norm="ortho").real,
            lambda x, w: torch.fft.fft(x).imag, lambda x, w: torch.fft.ifft(torch.fft.fft(x)).real,
            lambda x, w: torch.fft.irfft(torch.fft.rfft(x)),
            lambda x, w: torch.fft.irfft(torch.fft.rfft(x), 31, norm="forward"),
            lambda x, w: torch.fft.rfft(x, dim=0).abs(),
            lambda x, w: torch.fft.fft2(x).abs(), lambda x, w: torch.fft.irfft2(torch.fft.rfft2(x), x.shape),
            lambda x, w: torch.fft.rfft(x).angle()[:, 1:-1].cos(),
            lambda x, w: torch.fft.rfft(x, norm="forward").conj().imag,
        ],
        (x, window),
        tolerance=2e-5,
    )  # fmt: skip


def test_complex_rotation() -> None:
    class Rotary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            angles = torch.arange(6.0)[:, None] * torch.tensor([1.0, 0.1])
            self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
            return torch.view_as_real(pairs * self.turns[: x.shape[1]].unsqueeze(0)).flatten(2)

    check(Rotary(), (torch.randn(2, 6, 4),))


def test_complex_numbers_elsewhere_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"tanh.default on complex numbers"):
        import_model(lambda x: torch.fft.rfft(x).tanh().abs(), (torch.randn(8),))
    with pytest.raises(UnsupportedError, match="returns complex numbers"):
        import_model(torch.fft.rfft, (torch.randn(8),))
