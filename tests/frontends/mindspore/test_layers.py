"""Layers of mindspore.nn, at several batch sizes and in 16-bit types."""

from __future__ import annotations

import mindspore
import numpy as np
import pytest
from mindspore import Tensor, mint, nn, ops

from tests.frontends.mindspore.agreement import check

RANDOM = np.random.default_rng(3)


def real(*shape: int) -> Tensor:
    return Tensor(RANDOM.standard_normal(shape).astype(np.float32))


class Recurrent(nn.Cell):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def construct(self, x):
        return self.layer(x)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind):
    layer = getattr(nn, kind)(3, 4, 2, batch_first=True, bidirectional=True)
    check(Recurrent(layer), [real(2, 5, 3)], tolerance=1e-5)


class Cells(nn.Cell):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.RNNCell(3, 4)

    def construct(self, x, h):
        return self.lstm(x, (h, h)), self.gru(x, h), self.rnn(x, h)


def test_recurrent_cells():
    check(Cells(), [real(2, 3), real(2, 4)], tolerance=1e-5)


def test_attention():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
    check(nn.TransformerEncoder(layer, 1), [real(2, 5, 8)], tolerance=1e-5)


class Convolutions(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2d(3, 8, 3, stride=2, pad_mode="pad", padding=1, has_bias=True), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(2, 2, pad_mode="same"), nn.Conv2d(8, 8, 3, group=8), nn.LeakyReLU(), nn.GroupNorm(2, 8),
            nn.Conv2dTranspose(8, 4, 2, stride=2), nn.AvgPool2d(2, 2), nn.HSwish(),
        )  # fmt: skip

    def construct(self, x):
        return self.layers(x).mean((2, 3))


def test_convolutions_at_any_batch_size():
    calls = [[real(n, 3, 12, 12)] for n in (2, 1, 5)]
    example = Tensor(shape=[None, 3, 12, 12], dtype=mindspore.float32)
    check(Convolutions(), [example], calls, tolerance=2e-5)


@pytest.mark.parametrize("dtype", [mindspore.float16, mindspore.bfloat16], ids=str)
def test_mixed_precision(dtype):
    cell = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 3)).to_float(dtype)
    if dtype == mindspore.bfloat16:
        cell = Rounded()
    check(cell, [real(2, 4)], tolerance=4e-3 if dtype == mindspore.float16 else 1.6e-2)


class Rounded(nn.Cell):
    def construct(self, x):
        y = ops.cast(x, mindspore.bfloat16)
        return y, ops.cast(y, mindspore.float32)


class Mint(nn.Cell):
    def __init__(self):
        super().__init__()
        self.linear = mint.nn.Linear(4, 8)

    def construct(self, x):
        y = mint.nn.functional.silu(self.linear(x))
        y = mint.matmul(y, mint.transpose(y, -1, -2)) + mint.sum(y, 1, keepdim=True)
        return mint.cat([y, y], -1), mint.mean(y), mint.split(y, 1, -1), mint.permute(y, (1, 0)), mint.flatten(y)


def test_mint():
    check(Mint(), [real(2, 4)], tolerance=1e-5)
