"""Control flow that Paddle makes out of Python, and tensor arrays in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
from paddle import nn
from paddle.static import InputSpec

from tests.frontends.paddle.agreement import check
from tests.frontends.paddle.variants.data import f32

X = InputSpec([None, 4], "float32", "x")
N = InputSpec([1], "int64", "n")


class Loop(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any, n: Any) -> Any:
        i = paddle.zeros([1], "int64")
        while i < n:
            x = paddle.tanh(self.linear(x))
            i = i + 1
            if paddle.sum(x) > 3.0:
                break
        if paddle.mean(x) > 0:  # noqa: SIM108  Paddle rewrites the statement
            y = x * 2
        else:
            y = x - 1
        return y, i


def test_a_loop_with_a_way_out_and_a_branch() -> None:
    for count in (0, 1, 5):
        check(Loop(), [X, N], [f32(2, 4), np.array([count])], [f32(3, 4, seed=1), np.array([count])])
